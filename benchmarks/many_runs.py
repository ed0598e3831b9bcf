"""The cost of many runs for their readers: `python -m benchmarks.many_runs [1 100 1000]`.

Homes of so many runs: the trained ones of results/records/egsw.tar.xz (two arms of 20 seeds, three benchmarks of 768
verdicts, 60 steps), again and again under other seeds. Seconds of a processor, the commands' start included.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.pages import ROOT
from evals.files import write_json
from evals.notebook import markdown_table
from harness.record.archive import read_archive
from harness.record.find import runs
from harness.record.names import folder_name
from harness.record.record import RECORD, with_sha256

COMMANDS = ("show", "tables paper=egsw", "report paper=egsw only=none tokens=false", "export paper=egsw")


def fill(home: Path, count: int) -> None:
    """Put that many runs into an empty home."""
    trained = [run for run in read_archive(ROOT / "results" / "records" / "egsw.tar.xz") if run.trained]
    for number in range(count):
        again, place = divmod(number, len(trained))
        run = trained[place]
        record = {**run.record, "seed": run.seed + again * len(trained)}
        folder = home / "egsw" / "tiny" / folder_name(record)
        shutil.copytree(run.folder, folder)
        write_json(folder / RECORD, with_sha256(record))


def checking(home: Path) -> tuple[float, float]:
    """(milliseconds to read all records and check all hashes, the same again)."""
    times = []
    for _ in range(2):
        start = time.process_time()
        assert not any(run.damage() for run in runs(home))
        times.append(1000 * (time.process_time() - start))
    return times[0], times[1]


def command(home: Path, words: str) -> tuple[float, float]:
    """(seconds of a processor, GiB of memory) of a command on this home."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"RLVR_HOME": str(home), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "rlvr", *words.split()], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 2**20


def main() -> None:
    rows = []
    for count in map(int, sys.argv[1:] or ("1", "100", "1000")):
        with tempfile.TemporaryDirectory() as folder:
            fill(Path(folder), count)
            first, again = checking(Path(folder))
            spent = [command(Path(folder), words) for words in COMMANDS]
        seconds = [f"{second:.1f}" for second, _ in spent]
        rows.append((f"{count:,}", f"{first:,.0f} ms ({again:,.0f} ms)", *seconds, f"{spent[-1][1]:.1f} GiB"))
    print(markdown_table(("runs", "every hash (again)", *COMMANDS, "memory"), rows))


if __name__ == "__main__":
    main()

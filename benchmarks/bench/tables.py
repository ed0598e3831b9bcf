"""Time and memory of a paper's tables: from a store with hundreds of runs, and from runs of a million samples.

The runs are committed ones, copied under other names and seeds.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench.timing import Row

ROOT = Path(__file__).resolve().parents[2]
PAPER, RUNS, SEEDS, LIMIT_S = "egsw", 500, 10, 60.0
ROWS, PROBLEMS = (1_000, 100_000, 1_000_000), 500  # of the long verdict tables
TABLES = """
from harness.runs.track import Tracker
from harness.tables.tabulate import report
assert report("egsw", Tracker.open()).grids
lines = open("/proc/self/status").read().splitlines()  # ru_maxrss would begin with that of the process before exec
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)
"""


def copies(source: Path, runs: int) -> bytes:
    """An archive of `runs` runs, `SEEDS` of each arm: those of `source` in turn, each group with its own learning
    rate."""
    out = io.BytesIO()
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(out, "w") as made:
        index = [e for e in json.loads(archive.read("index.json")) if e["tags"]["rlvr.arm"] != "base"]
        entries = []
        for number in range(runs):
            group, seed = divmod(number, SEEDS)
            arm = ("grpo", "egsw")[group % 2]
            of_arm = [entry for entry in index if entry["tags"]["rlvr.arm"] == arm]
            entry, rate = of_arm[seed % len(of_arm)], f"{1e-4 + 1e-6 * group:.6f}"
            own = {"rlvr.seed": str(seed), "rlvr.overrides": f"learning_rate={rate}", "rlvr.digest": f"{group:08x}-0"}
            entries.append({**entry, "folder": f"run{number}", "tags": {**entry["tags"], **own}})
            for name in archive.namelist():
                if name.startswith(f"{entry['folder']}/"):
                    data = archive.read(name)
                    if name.endswith("/record.json"):
                        data = json.dumps({**json.loads(data), "overrides": {"learning_rate": rate}}).encode()
                    if name.endswith("/verdicts.parquet"):
                        data = marked(data, number)
                    made.writestr(f"run{number}" + name.removeprefix(entry["folder"]), data)
        made.writestr("index.json", json.dumps(entries))
    return out.getvalue()


def marked(data: bytes, number: int) -> bytes:
    """A verdict file of its own content, which no other run shares: the text of its first answer is a number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(data))
    answers = pa.array([str(number), *table["answer"].to_pylist()[1:]], table["answer"].type)
    out = io.BytesIO()
    pq.write_table(table.set_column(table.column_names.index("answer"), "answer", answers), out)
    return out.getvalue()


def long_table(rows: int, path: Path) -> None:
    """A verdict file of so many responses to PROBLEMS problems, of a few hundred characters each."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from evals.grading.verdicts import schema

    samples, rng = rows // PROBLEMS, np.random.default_rng(0)
    with pq.ParquetWriter(path, schema()) as writer:
        for problem in range(PROBLEMS):
            answers = rng.integers(0, 20, samples)
            columns = {
                "benchmark": ["tiny_short"] * samples,
                "problem_id": [f"p{problem}"] * samples,
                "sample": range(samples),
                "seed": rng.integers(0, 2**60, samples),
                "gold": ["0"] * samples,
                "response": [f"{'so the sum is ' * 20}{number}" for number in range(samples)],
                "tokens": rng.integers(1, 500, samples),
                "finish_reason": ["stop"] * samples,
                "boxed": [True] * samples,
                "answer": [str(answer) for answer in answers],
                "answer_class": answers,
                "verdict": np.where(answers == 0, "correct", "wrong"),
                "reason": [None] * samples,
            }
            writer.write_table(pa.table(columns, schema=schema()))


def memory(rows: int) -> float:
    """Peak MiB of a process that makes the tables of one run with so many responses to a benchmark."""
    from harness.runs.archive import imported

    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{PAPER}.zip"
        path.write_bytes(copies(ROOT / "results" / "records" / f"{PAPER}.zip", 1))
        with imported([path]) as tracker:
            [one] = tracker.arms(PAPER)
            long_table(rows, Path(folder) / "verdicts.parquet")
            tracker.artifact(one.info.run_id, Path(folder) / "verdicts.parquet", "verdicts/tiny_short")
            command = [sys.executable, "-c", TABLES]
            printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return float(printed)


def run(rounds: int) -> Iterator[Row]:
    """Runs once, whatever `rounds` is: filling the store takes longer than reading it."""
    from harness.runs.archive import imported
    from harness.tables.tabulate import report

    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{PAPER}.zip"
        path.write_bytes(copies(ROOT / "results" / "records" / f"{PAPER}.zip", RUNS))
        with imported([path]) as tracker:
            start, busy = time.perf_counter(), time.process_time()
            report(PAPER, tracker)
            seconds, busy = time.perf_counter() - start, time.process_time() - busy
    yield Row(
        f"rlvr tables, {RUNS} runs in the store", "runs/CPU s", RUNS / busy, RUNS / LIMIT_S, f"{LIMIT_S:g} s", 1,
        f"local SQLite store, {RUNS // SEEDS} arms x {SEEDS} seeds, three benchmarks of 48 problems x 16 samples, no "
        f"two verdict files equal: {busy:.1f} s CPU, {seconds:.1f} s wall clock",
    )  # fmt: skip
    least, few, many = (memory(rows) for rows in ROWS)
    yield Row(
        f"rlvr tables, a run of {ROWS[2]:,} rows", "rows/MiB", ROWS[2] / many, ROWS[1] / few, f"{ROWS[1]:,} rows", 1,
        f"peak memory {many:.0f} MiB, with {ROWS[1]:,} rows {few:.0f} MiB, with {ROWS[0]:,} rows {least:.0f} MiB; "
        f"{PROBLEMS} problems, read from a local SQLite store",
    )  # fmt: skip

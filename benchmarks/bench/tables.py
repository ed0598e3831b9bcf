"""The tables of a paper from a store with hundreds of runs: committed runs, copied under other names and seeds."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench.timing import Row

ROOT = Path(__file__).resolve().parents[2]
PAPER, RUNS, SEEDS, LIMIT_S = "egsw", 500, 10, 60.0


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
                    made.writestr(f"run{number}" + name.removeprefix(entry["folder"]), data)
        made.writestr("index.json", json.dumps(entries))
    return out.getvalue()


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
        f"local SQLite store, {RUNS // SEEDS} arms x {SEEDS} seeds, three benchmarks of 48 problems x 16 samples: "
        f"{busy:.1f} s CPU, {seconds:.1f} s wall clock",
    )  # fmt: skip

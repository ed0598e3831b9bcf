"""Memory and time of `rlvr grade` on long files: rows of a few hundred characters, numbers as answers."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench.timing import Row

ROOT = Path(__file__).resolve().parents[2]
LEAST, FEW, MANY, PROBLEMS = 1_000, 100_000, 1_000_000, 500
GRADE = """
import resource, sys, time
from evals.answer_files import grade_file
start = time.process_time()
grade_file(sys.argv[1], out=sys.argv[2], workers=1)
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run(rounds: int) -> Iterator[Row]:
    """Runs once, whatever `rounds` is; each file in its own process."""
    with TemporaryDirectory() as folder:
        of = [_graded(Path(folder), rows) for rows in (LEAST, FEW, MANY)]
    (_, least, _), (_, few, _), (seconds, many, size) = of
    yield Row(
        f"rlvr grade, {MANY:,} rows", "rows/MiB", MANY / many, FEW / few, f"{FEW:,} rows", 1,
        f"peak memory {many:.0f} MiB, with {FEW:,} rows {few:.0f} MiB, with {LEAST:,} rows {least:.0f} MiB; verdicts "
        f"written and scores computed; a file of {size:.0f} MiB, {PROBLEMS} problems; {seconds:.0f} s CPU",
    )  # fmt: skip


def _graded(folder: Path, rows: int) -> tuple[float, float, float]:
    """(CPU seconds, peak MiB, MiB of the file)."""
    source, rng = folder / f"{rows}.jsonl", random.Random(0)
    with source.open("w") as file:
        for number in range(rows):
            gold = number % PROBLEMS
            answer = gold if rng.random() < 0.4 else rng.randrange(50)
            response = "so the sum is " * 20 + rf"\boxed{{{answer}}}"
            row = {"problem_id": f"p{gold}", "answer": str(gold), "response": response, "finish_reason": "stop"}
            file.write(json.dumps(row) + "\n")
    command = [sys.executable, "-c", GRADE, str(source), str(folder / "graded.jsonl")]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    seconds, peak = map(float, printed.split())
    return seconds, peak, source.stat().st_size / 2**20

"""The problems of the study: all ordered pairs of two-digit numbers, shuffled from one seed.

python -m studies.sums FOLDER      # writes train.jsonl (2,000 sums) and sums_test.jsonl (240 others)
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

SIZES = {"train.jsonl": 2000, "sums_test.jsonl": 240}
SEED = 20261127


def problems() -> list[dict[str, str]]:
    """The 8,100 sums a + b with 10 <= a, b <= 99, in a fixed random order."""
    pairs = [(a, b) for a in range(10, 100) for b in range(10, 100)]
    random.Random(SEED).shuffle(pairs)
    return [{"id": f"{a}+{b}", "problem": f"What is {a} + {b}?", "answer": str(a + b)} for a, b in pairs]


def write(folder: Path) -> None:
    """Write the files into `folder`. No sum is in two of them."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = iter(problems())
    for name, size in SIZES.items():
        lines = [json.dumps(next(rows)) + "\n" for _ in range(size)]
        (folder / name).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("error: expected one folder: python -m studies.sums FOLDER")
    write(Path(sys.argv[1]))

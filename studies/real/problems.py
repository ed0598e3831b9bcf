"""The problems of the study: a product and a sum or a difference, in a fixed random order."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

TRAIN, GREEDY, SAMPLED = "train.jsonl", "two_steps.jsonl", "two_steps_sampled.jsonl"
TRAINED, MEASURED, MEASURED_OFTEN = 2000, 500, 250  # problems in the three files
SEED = 20261128


def problems() -> list[dict[str, str]]:
    """Return every a * b + c and every positive a * b - c with 2 <= a <= 9, 2 <= b <= 12 and 1 <= c <= 20, shuffled.

    Returns:
        3,321 rows with id, problem and answer, such as "7*5+3", "7 * 5 + 3 =" and "38".
    """
    rows = []
    for a in range(2, 10):
        for b in range(2, 13):
            for c in range(1, 21):
                for sign, answer in (("+", a * b + c), ("-", a * b - c)):
                    if answer > 0:
                        text = f"{a} * {b} {sign} {c}"
                        rows.append({"id": text.replace(" ", ""), "problem": f"{text} =", "answer": str(answer)})
    random.Random(SEED).shuffle(rows)
    return rows


def files() -> Mapping[str, Sequence[dict[str, str]]]:
    """Return the rows of each file. The sampled problems are the first of the greedy ones, and none is trained on."""
    rows = problems()
    test = rows[TRAINED : TRAINED + MEASURED]
    return {TRAIN: rows[:TRAINED], GREEDY: test, SAMPLED: test[:MEASURED_OFTEN]}


def write(folder: Path) -> None:
    """Write the three files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files().items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

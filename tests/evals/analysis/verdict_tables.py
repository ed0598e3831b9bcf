"""Small verdict tables for the tests of analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from evals.grading.verdicts import Verdict

LETTERS = {
    "c": Verdict.CORRECT,
    "w": Verdict.WRONG,
    "n": Verdict.NO_ANSWER,
    "t": Verdict.TRUNCATED,
    "u": Verdict.UNSCORED,
}


def table(problems: Mapping[str, str], *, train_seed: int | None = None, **columns: Sequence[Any]) -> pd.DataFrame:
    """A row a letter: problem -> its samples' verdicts, "ccwnu" say. Digits are wrong answers of that class.

    A right answer has class 0 and a `w` class 1. The others have none. Columns may be given in the order of the rows.
    """
    rows: list[dict[str, Any]] = []
    for problem, samples in problems.items():
        for number, letter in enumerate(samples):
            verdict = Verdict.WRONG if letter.isdigit() else LETTERS[letter]
            answer = int(letter) if letter.isdigit() else {"c": 0, "w": 1}.get(letter)
            rows.append(
                {
                    "benchmark": "b",
                    "problem_id": problem,
                    "sample": number,
                    "gold": "0",
                    "response": r"so \boxed{0}" if letter == "c" else "so",
                    "tokens": 10 * (number + 1),
                    "finish_reason": "length" if letter == "t" else "stop",
                    "boxed": letter == "c",
                    "answer_class": answer,
                    "verdict": str(verdict),
                }
            )
    made = pd.DataFrame(rows)
    if train_seed is not None:
        made["train_seed"] = train_seed
    return made.assign(**columns)

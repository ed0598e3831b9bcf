"""The form in which copies of a problem and of a gold are equal, and problems with two golds in one file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable


def plain(text: str) -> str:
    """Text in Unicode NFC with each run of white space as one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def plain_answer(text: str) -> str:
    """An answer as `plain`, without surrounding dollar signs, and whole numbers in one form."""
    bare = plain(text).strip("$ ")
    return str(int(float(bare))) if re.fullmatch(r"[+-]?\d{1,15}(\.0+)?", bare) else bare


def two_golds(rows: Iterable[tuple[str, str]]) -> str:
    """The first two rows with one problem and golds of different values, in words. Empty without such rows.

    Args:
        rows: (problem, gold) of each row.
    """
    first: dict[str, tuple[int, str]] = {}
    for number, (problem, gold) in enumerate(rows, 1):
        before, other = first.setdefault(plain(problem), (number, gold))
        if plain_answer(gold) != plain_answer(other) and not _equal(other, gold):
            return f"rows {before} and {number}: one problem has two golds, {other!r} and {gold!r}"
    return ""


def _equal(gold: str, response: str) -> bool:
    """Whether the grader accepts one gold as a response to a problem with the other."""
    from evals.grading import Grader
    from evals.grading.verdicts import Verdict

    (grade,) = Grader().grade_responses([(gold, f"\\boxed{{{response}}}", None)], "boxed_last")
    return grade.verdict is Verdict.CORRECT

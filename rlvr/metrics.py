"""avg@k, pass@k and maj@k of arrays, each with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from evals.grading.verdicts import Verdict
from evals.stats.intervals import ROUGH
from evals.stats.score import Score, bounds_text, meanings, number_text, score, unscored_text
from rlvr.results import Rows

if TYPE_CHECKING:
    from evals.stats.verdict_table import VerdictTable
    from harness.record.run import Run

Samples = Sequence[Sequence[bool | None]]  # [P][n]: was sample n of problem P correct. None: unscored


class Scores(Rows[tuple[str, Score]]):
    """(benchmark, score) pairs. A notebook shows them as a table with 95 % intervals."""

    header = ("benchmark", "metric", "value", "95 % interval", "covers", "problems", "unscored")

    @property
    def caption(self) -> str:  # type: ignore[override]
        without = dict.fromkeys(
            f"{metric.name} of {benchmark}: {metric.why}." for benchmark, metric in self if metric.value is None
        )
        rough = [f"{ROUGH}."] if any(metric.interval and metric.interval.rough for _, metric in self) else []
        return "\n".join((f"{meanings(metric for _, metric in self)}.", *rough, *without))

    def rows(self) -> list[dict[str, object]]:
        """Numbers instead of the texts of `cells`. Fractions for percent."""
        return [{"benchmark": benchmark, **metric.rows()[0]} for benchmark, metric in self]

    def cells(self, row: tuple[str, Score]) -> tuple[str, ...]:
        benchmark, metric = row
        value = number_text(metric.value, metric.factor) + (
            " %" if metric.unit == "%" and metric.value is not None else ""
        )
        covers = metric.interval.covers if metric.interval is not None else ""
        if ends := unscored_text(metric):
            value += f" (unscored{ends})"
        interval = bounds_text(metric.interval, metric.factor)
        return (benchmark, metric.name, value, interval, covers, str(metric.problems), str(metric.unscored))


def ks_of(run: Run, benchmark: str, table: VerdictTable) -> list[int]:
    """The k of pass@k and maj@k that are shown of a run: the protocol's; of graded answers of others, all samples."""
    return run.ks(benchmark) or ([table.n] if table.n and table.n > 1 else [])


def avg_at_k(correct: Samples) -> Score:
    """Mean over problems of the share of correct samples (avg@n for n samples each).

    Args:
        correct: [P][n] booleans, or 1 and 0. None is unscored. Numpy arrays and nested lists work.
    Returns:
        `value` and `interval` (95 %, over problems), both fractions.
    Raises:
        ValueError: no problem, a problem without samples, or anything else than these values.
    """
    return _score(_table(correct), "avg", 1)


def pass_at_k(correct: Samples, k: int) -> Score:
    """Probability that at least one of k samples is correct: 1 - C(n - c, k) / C(n, k)  (arXiv 2107.03374, Eq. 1).

    Args:
        correct: [P][n] booleans, as of `avg_at_k`. k: at most n. A problem with fewer samples has no value and is
            counted in `excluded`.
    Returns:
        As `avg_at_k`.
    """
    return _score(_table(correct), "pass", k)


def maj_at_k(answers: Sequence[Sequence[Hashable]], gold: Sequence[Hashable], k: int) -> Score:
    """Probability that the most frequent answer among k of the n samples is the gold. Ties are split evenly.

    Args:
        answers: [P][n], compared by `==`. None is no answer. gold: [P]. k: at most n.
    Returns:
        As `avg_at_k`.
    Raises:
        ValueError: not one gold for each problem.
    """
    if len(answers) != len(gold):
        raise ValueError(f"gold: expected {len(answers)} (one for each problem), got {len(gold)}")
    correct = [[answer == right for answer in row] for row, right in zip(answers, gold, strict=True)]
    numbers: list[list[int | None]] = []
    for row in answers:
        numbers_of_answers: dict[Hashable, int] = {}
        numbers.append(
            [
                None if answer is None else numbers_of_answers.setdefault(answer, len(numbers_of_answers))
                for answer in row
            ]
        )
    return _score(_table(correct, numbers), "maj", k)


def _score(table: object, metric: str, k: int) -> Score:
    (result,) = score(table, ks=[k], metrics=[metric])
    return result


_CLASSES = {Verdict.CORRECT: 0, Verdict.WRONG: 1, Verdict.UNSCORED: None}


def _verdict(is_correct: object, problem: int, sample: int) -> Verdict:
    """A truth value of any library as 1, 0, or None or NaN."""
    if is_correct is None or is_correct != is_correct:
        return Verdict.UNSCORED
    if isinstance(is_correct, (str, bytes)) or is_correct not in (0, 1):
        raise ValueError(
            f"correct: expected true or false, 1 or 0, or None for an unscored sample, got {is_correct!r} for sample "
            f"{sample} of problem {problem}"
        )
    return Verdict.CORRECT if is_correct else Verdict.WRONG


def _table(correct: Samples, classes: Sequence[Sequence[int | None]] | None = None) -> object:
    """The verdict table (`evals.grading.verdicts`) of an array."""
    import pandas as pd

    if len(correct) and not all(hasattr(row, "__len__") for row in correct):
        raise ValueError("correct: expected a row of samples for each problem, [P][n], got a flat list")
    if len(correct) == 0 or any(len(row) == 0 for row in correct):
        raise ValueError("correct: expected at least one problem and one sample for each, got an empty array")
    rows = [
        {
            "problem_id": str(problem),
            "sample": sample,
            "verdict": str(verdict := _verdict(is_correct, problem, sample)),
            "answer_class": _CLASSES[verdict] if classes is None else classes[problem][sample],
            "boxed": True,
        }
        for problem, samples in enumerate(correct)
        for sample, is_correct in enumerate(samples)
    ]
    return pd.DataFrame(rows).astype({"answer_class": "Int64"})

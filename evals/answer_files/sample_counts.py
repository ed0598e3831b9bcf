"""Reported scores that count samples differently from the average, such as a division by a wrong n."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from evals.answer_files.formats import samples_named

SMALL = 0.05  # points: scores are stated to a tenth


def counting(reported: float, ids: Sequence[str], labels: Sequence[bool], metric: str | None = None) -> str | None:
    """Explains a reported score that is not the average of the labels; None if it is, or without an explanation.
    Nothing is fitted: each rule predicts one value, which must equal the reported one to `SMALL`.

    Args:
        reported: percent. labels: of each sample, of the problem in `ids`. metric: its name, which may say n.
    """
    problems: dict[str, list[bool]] = {}
    for identifier, label in zip(ids, labels, strict=True):
        problems.setdefault(identifier, []).append(label)
    average = 100 * fmean(fmean(own) for own in problems.values())
    counts = {len(own) for own in problems.values()}
    if abs(reported - average) <= SMALL or len(counts) != 1:
        return None
    (count,) = counts
    n = samples_named(metric) if metric else None
    if n is not None and n != count and abs(reported - average * count / n) <= SMALL:
        return f"n and k: divided by n = {n}, with {count} sample{'s' * (count != 1)} a problem"
    if count > 1 and abs(reported - 100 * fmean(any(own) for own in problems.values())) <= SMALL:
        return f"n and k: pass@{count}, not the average"
    if count > 1 and abs(reported - 100 * fmean(own[0] for own in problems.values())) <= SMALL:
        return f"n and k: the first of {count} samples alone"
    return None

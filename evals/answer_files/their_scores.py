"""The scores that the authors' verdicts in a file give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from evals.answer_files.labels import as_label
from evals.answer_files.sample import Sample


@dataclass(frozen=True)
class TheirScore:
    """A mean over problems of the authors' verdicts, and over how many of the file's rows it is.

    Attributes:
        value: of the `labelled` of `rows`. low, high: with every other row incorrect, and correct.
    """

    value: float
    low: float
    high: float
    labelled: int
    rows: int

    def __str__(self) -> str:
        if self.labelled == self.rows:
            return f"{self.value:.4f}"
        labelled = f"{self.labelled} of {self.rows} rows are labelled"
        return f"{self.low:.4f} to {self.high:.4f} ({labelled}; {self.value:.4f} of these)"


def recomputed(samples: Sequence[Sample], threshold: float | None) -> dict[str, TheirScore]:
    """The score of each of the authors' verdicts. None for a name with values that are no verdicts."""
    scores = {}
    for name in sorted({name for sample in samples for name in sample.labels}):
        by_problem: dict[tuple[str, str], list[bool | None]] = {}
        try:
            for sample in samples:
                label = as_label(sample.labels.get(name), threshold)
                by_problem.setdefault(sample.problem_of, []).append(label)
        except ValueError:
            continue
        known = [[label for label in labels if label is not None] for labels in by_problem.values()]
        if any(known):
            low, high = (
                fmean(fmean(missing if label is None else label for label in labels) for labels in by_problem.values())
                for missing in (False, True)
            )
            value = fmean(map(fmean, filter(None, known)))
            scores[name] = TheirScore(value, low, high, sum(map(len, known)), len(samples))
    return scores

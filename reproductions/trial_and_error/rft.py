"""Filters and selections of rejection-sampling fine-tuning (arXiv 2508.07534, section 4.4.1). Pure functions.

Filters take a sample and return it, changed or not, or None to drop it. See `harness.spec.rejection`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from evals.analysis.quality import Kind, redundancy
from evals.grading.extraction import Box, find_boxes
from harness.spec.equation import checked
from harness.spec.ranges import Range
from harness.spec.rejection import Pool, Sample

Ranking = Literal["random", "entropy", "branching"]


def has_box(sample: Sample) -> Sample | None:
    r"""Answer box presence: the response contains a complete, non-empty \boxed{...}."""
    return sample if _first_box(sample.response) is not None else None


def has_digit(sample: Sample) -> Sample | None:
    """Numerical content: the response contains at least one digit."""
    return sample if any(character.isdigit() for character in sample.response) else None


def cut_after_box(sample: Sample) -> Sample | None:
    """Post-answer truncation: removes the text after the first complete box, if there is one."""
    box = _first_box(sample.response)
    if box is None:
        return sample
    return replace(sample, response=sample.response[: box.end].rstrip(".,;:"))  # what follows a box without braces


@checked
def not_redundant(sample: Sample, *, limit: Annotated[float, Range("[0, 1]")], measure: Kind) -> Sample | None:
    """Redundancy check: the 3-gram redundancy is at most `limit`. See `evals.analysis.quality`."""
    return sample if redundancy(sample.response, measure) <= limit else None


@checked
def select(pool: Pool, *, by: Ranking, noise: Annotated[float, Range("[0, 1)")]) -> list[Sample]:
    """The samples to fine-tune on: a share `noise` of incorrect ones, the others correct, chosen by the same ranking.

    Args:
        by: "random". "entropy", the highest mean token entropy. "branching", the highest mean branching factor.
        noise: in [0, 1). With too few correct samples, fewer incorrect ones are taken, so the share stays the same.
    Raises:
        ValueError: noise outside [0, 1), or a sample was not measured.
    """
    n_correct = pool.size - round(pool.size * noise)
    correct = top(pool.correct, n_correct, by, pool.rng)
    incorrect = top(pool.incorrect, round(len(correct) * noise / (1 - noise)), by, pool.rng)
    return correct + incorrect


def top(samples: Sequence[Sample], count: int, by: Ranking, rng: random.Random) -> list[Sample]:
    """The first `count` of a ranking (all of them if there are fewer). Ties, and "random", in the order of `rng`."""
    shuffled = rng.sample(samples, len(samples))
    if by != "random":
        shuffled.sort(key=lambda sample: _rank(sample, by), reverse=True)
    return shuffled[:count]


def _rank(sample: Sample, by: Ranking) -> float:
    value = sample.mean_entropy if by == "entropy" else sample.mean_branching
    if value is None:
        raise ValueError(f"by={by!r}: the response to problem {sample.problem_id!r} was not measured")
    return value


def _first_box(text: str) -> Box | None:
    """The position of the first complete, non-empty box."""
    return next((box for box in find_boxes(text) if box.content.strip()), None)

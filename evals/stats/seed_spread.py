"""How much training seeds differ, where few were run: degrees of freedom, and a declared prior beside their spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]

SEED_SD = 0.10  # of the seeds' means, as a share of the values' width: 10 points of accuracy
SEED_DF = 2.0
"""The declared prior of the seeds' spread: as if two more degrees of freedom had shown a deviation of 10 points.

Assumed, and on purpose more than the seeds of the arms with many of them show (1 to 8 points, results/egsw/aa.md).
Where the seeds of a method truly differ by 20 points, equal methods are told apart too often: results/coverage.md has
how often.
"""

FEW_SEEDS = (
    f"With few training seeds the interval assumes that a method's seeds differ by about {100 * SEED_SD:g} points at "
    "most (standard deviation; results/coverage.md, few seeds)"
)


def seeds_df(variances: Sequence[ArrayLike], counts: Sequence[int]) -> Vector:
    """Degrees of freedom of the seeds' part of a difference: Welch's, from half of each side's, at most min(S) - 1.

    Two sides whose seeds vary alike have min(S) - 1: these never give too narrow an interval with normal seeds,
    whatever the two variances are (Mickey and Brown, Ann. Math. Stat. 37, 1966), and a skew shared by both cancels. The
    more one side carries the variance, as a trained arm does against a base model, the less cancels: few seeds of a
    skewed or bimodal kind lie close together by chance, and Student's t on S - 1 then errs in up to a quarter of cases
    (results/coverage.md). One side alone therefore has (S - 1) / 2.

    Args:
        variances: of the mean, one for each side with several seeds, [...]. counts: their numbers of seeds, S >= 2.
    """
    sides = [np.asarray(variance, dtype=float) for variance in variances]
    most = (min(counts) - 1.0) / (1 if len(sides) > 1 else 2)  # also where no side varies
    return np.minimum(most, _welch(sides, [(count - 1) / 2 for count in counts]))


def _welch(variances: Sequence[Vector], degrees: Sequence[float]) -> Vector:
    """Degrees of freedom of a sum of estimated variances; infinite where all are 0."""
    squares = np.asarray(sum(v**2 / df for v, df in zip(variances, degrees, strict=True)), dtype=float)
    total = np.asarray(sum(variances), dtype=float)
    return np.asarray(np.divide(total**2, squares, out=np.full_like(squares, np.inf), where=squares > 0))


def moderated_seeds(variances: Sequence[ArrayLike], counts: Sequence[int], width: float = 1.0) -> tuple[Vector, Vector]:
    """The seeds' part of a mean with the declared prior: its variance and degrees of freedom.

    Each side's spread s^2 of S seeds becomes (d0 s0^2 + (S - 1) s^2) / (d0 + S - 1) on d0 + S - 1 degrees of freedom;
    the sum of both has Welch's, and at most those of the side with fewer seeds.

    Args:
        variances: of the mean, s^2 / S, one for each side with several seeds, [...]. counts: their S. width: of the
            values' bounds.
    """
    known = [SEED_DF + count - 1 for count in counts]
    sides = [
        (SEED_DF * (SEED_SD * width) ** 2 / count + (count - 1) * np.asarray(variance, dtype=float)) / df
        for variance, count, df in zip(variances, counts, known, strict=True)
    ]
    return np.asarray(sum(sides)), np.minimum(min(known), _welch(sides, known))

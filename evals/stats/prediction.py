"""Does a published value come back? Our measurement against the paper's on the same problems, with both sides' noise.

Problems are fixed, because both sides measure the same ones. The remaining variance is the spread of training seeds and
the noise of samples, ours and the paper's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evals.stats.intervals import MIN_SEEDS, t_quantile

Answer = Literal["comes back", "does not come back", "cannot tell"]


@dataclass(frozen=True)
class Repeat:
    """The prediction for a repetition of the paper's measurement with our arm.

    Attributes:
        mean: our value. own_variance: its variance on these problems.
        paper_variance: the variance of one measurement of the paper.
        df: degrees of freedom of both, S - 1 of our seeds. inf if the variance is a bound and not an estimate.
        unknown: why there is no variance. Then the others are NaN.
    """

    mean: float
    own_variance: float
    paper_variance: float
    df: float
    unknown: str = ""

    def half(self, level: float = 0.95) -> float:
        """Half of the prediction interval for the published value."""
        return t_quantile((1 + level) / 2, self.df) * math.sqrt(self.own_variance + self.paper_variance)


@dataclass(frozen=True)
class Comeback:
    """low, high: the 95 % prediction interval for the published value, or None if unknown. why: of "cannot tell"."""

    answer: Answer
    low: float | None
    high: float | None
    margin: float | None
    why: str = ""


def repeat(
    values: ArrayLike,
    *,
    trained: bool,
    samples: int,
    paper_samples: int,
    paper_seeds: int,
    noise: float | None = None,
    bounded: bool = True,
) -> Repeat:
    """The variances of our mean and of the paper's.

    Several seeds of a trained arm show both the seeds' spread and the samples' noise. An untrained model has only the
    samples' noise: `noise`, or, if unknown, the largest possible for values in 0..1 with this mean.

    Args:
        values: [S, P], ours: training seeds x problems.
        samples, paper_samples: of each problem, ours and the paper's. Fewer samples of theirs scale the variance up.
            More do not scale it down, because the seeds' part remains.
        paper_seeds: how many runs the published value averages. Unused for an untrained model.
        noise: the variance that sampling leaves in one seed's mean over problems.
        bounded: the values lie in 0..1.
    """
    table = np.atleast_2d(np.asarray(values, dtype=float))
    seeds, problems = table.shape
    mean = float(table.mean())
    more = max(1.0, samples / paper_samples)
    if bounded:  # with one more correct and one more incorrect answer, so that 0 and 1 have a variance
        smooth = (mean * problems + 1) / (problems + 2)
        most = smooth * (1 - smooth) / problems
    if not trained:
        variance = noise if noise else most if bounded else math.nan
        if math.isnan(variance):
            return Repeat(mean, math.nan, math.nan, math.nan, "the noise of this metric is not known from one sample")
        return Repeat(mean, variance / seeds, variance * more, math.inf)
    if seeds < MIN_SEEDS:
        few = f"{seeds} of our training seeds: at least {MIN_SEEDS} are needed"
        return Repeat(mean, math.nan, math.nan, math.nan, few)
    variance = float(table.mean(axis=1).var(ddof=1))
    if variance == 0 and bounded:  # seeds that happen to be equal
        variance = most / samples
    return Repeat(mean, variance / seeds, variance * more / paper_seeds, seeds - 1.0)


def come_back(published: float, prediction: Repeat, margin: float | None) -> Comeback:
    """Whether the published value comes back.

    comes back: the true difference lies within the margin (two one-sided tests at 5 %). does not come back: the
    published value lies outside the 95 % prediction interval. cannot tell: neither.

    Args:
        margin: the largest difference that counts as none. None: not declared, so nothing comes back.
    """
    if prediction.unknown:
        return Comeback("cannot tell", None, None, margin, prediction.unknown)
    half = prediction.half()
    low, high = prediction.mean - half, prediction.mean + half
    if margin is not None and abs(published - prediction.mean) + prediction.half(0.9) < margin:
        return Comeback("comes back", low, high, margin)
    if not low <= published <= high:
        return Comeback("does not come back", low, high, margin)
    if margin is None:
        return Comeback("cannot tell", low, high, margin, "there is no margin, because the paper prints no gain")
    return Comeback("cannot tell", low, high, margin, "the noise of both sides is wider than the margin")


def sampling_noise(correct: NDArray[np.int64], scored: NDArray[np.int64]) -> float | None:
    """The variance that sampling leaves in one seed's mean accuracy over problems, from counts [S, P].

    None if a problem has fewer than two scored samples.
    """
    if (scored < 2).any():
        return None
    share = correct / scored
    variance = share * (1 - share) / (scored - 1)
    return float(variance.mean() / scored.shape[1])

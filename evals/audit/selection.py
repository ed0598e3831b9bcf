"""How much of a printed score is the choice of the checkpoint that scored highest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evals.audit.evidence import Evidence, Vector
from evals.errors import UsageError

SPLITS = 200  # ways to halve the problems
RECIPES = "recipes"
ALIKE = 0.01  # p-value below which consecutive checkpoints are not one model


@dataclass(frozen=True)
class Selection:
    """The checkpoints of one recipe on one benchmark. All scores are shares in [0, 1].

    Attributes:
        checkpoints: how many. plateau: how many of them, around each seed's largest, may be one model (`plateau_of`).
        mean: of the plateau's scores. last: of the last checkpoints (of recipes, of the best). maximum: of all.
        expected: the mean of the largest score if all of a seed's plateau were one model. Low, high: its central 95 %.
        chance: of a largest score of at least the printed one, if all of a seed's plateau were one model.
        cross_fitted: the score of the checkpoint that is best on one half of the problems, on the other half. The mean
            over `SPLITS` random halves. None without verdicts.
    """

    checkpoints: int
    plateau: int
    mean: float
    last: float
    maximum: float
    expected: float
    low: float
    high: float
    chance: float
    cross_fitted: float | None
    what: str = "checkpoints"

    def __str__(self) -> str:
        fitted = ""
        if self.cross_fitted is not None:
            fitted = f". Cross-fitted, the chosen one has {100 * self.cross_fitted:.1f}"
        few = self.plateau < self.checkpoints
        evaluations = f"{self.plateau} of {self.checkpoints} {self.what}" if few else f"{self.checkpoints} {self.what}"
        alike = " are a plateau" if few else ""
        last = f"last {100 * self.last:.1f}, " if self.what != RECIPES else ""
        return (
            f"{evaluations}{alike}: mean {100 * self.mean:.1f}, {last}largest {100 * self.maximum:.1f}. If all were "
            f"one model, the largest would be {100 * self.expected:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]. "
            f"It would reach the printed score with probability {self.chance:.2f}{fitted}"
        )


def selection(evidence: Evidence, printed: float, rng: np.random.Generator) -> Selection:
    """Compare the largest score with that of as many evaluations of one model (of one a seed, of several seeds).

    The one model solves each problem at its mean rate over the checkpoints of the plateau around the largest score:
    those before it had learned less, those after a collapse are another model. Recipes have no order and no plateau.
    Without verdicts, every problem has the
    mean score as its rate: of all rates with this mean these vary most, so `chance` and `expected` are upper bounds.

    Args:
        printed: a share in [0, 1].
    Raises:
        UsageError: fewer than two checkpoints, or scores without a known number of problems.
    """
    if evidence.checkpoints < 2:
        raise UsageError(f"selection: expected at least two checkpoints, got {evidence.checkpoints}")
    values = evidence.scores["value"].to_numpy(dtype=float)
    table = evidence.table
    if table is not None and table.size:
        rates, samples = table, evidence.samples_per_problem
    elif evidence.problems is not None:
        rates, samples = np.repeat(values[:, None], evidence.problems, axis=1), 1
    else:
        raise UsageError("selection: scores without verdicts need the number of problems")
    seeds = evidence.scores["seed"].to_numpy()
    plateaus = []
    for seed in dict.fromkeys(seeds):
        [of_seed] = np.nonzero(seeds == seed)
        verdicts = rates is table
        every = np.arange(len(of_seed))
        inside = every if evidence.recipes else plateau_of(values[of_seed], rates[of_seed], samples, verdicts=verdicts)
        plateaus.append(of_seed[inside])
    alike = np.concatenate(plateaus)
    below = [largest_of_equal(rates[plateau].mean(axis=0), samples, len(plateau)).cumsum() for plateau in plateaus]
    chances = np.diff(np.prod(below, axis=0), prepend=0)
    largest = np.linspace(0, 1, len(chances))
    low, high = largest[np.searchsorted(chances.cumsum(), [0.025, 0.975])]
    return Selection(
        checkpoints=len(values),
        plateau=len(alike),
        mean=float(values[alike].mean()),
        last=float(evidence.last["value"].mean()),
        maximum=float(values.max()),
        expected=float(chances @ largest),
        low=float(low),
        high=float(high),
        chance=float(chances[largest >= printed - 1e-9].sum()),
        cross_fitted=None if table is None or table.shape[1] < 2 else cross_fitted(table[alike], rng),
        what=RECIPES if evidence.recipes else "checkpoints",
    )


def plateau_of(values: Vector, rates: Vector, samples: int, *, verdicts: bool) -> NDArray[np.intp]:
    """The positions of consecutive checkpoints around the largest score that may be one model: all of them, where fewer
    than two may.

    The window grows to the side that fits better, as long as a chi-square test of equal scores has p >= ALIKE. A
    score's variance is that of its problems at their mean rates in the window. A rate of n samples has n/(n-1) times
    the variance that it shows.

    Args:
        values: [K], the scores in the order of training. rates: [K, P], of each problem. samples: of each problem.
        verdicts: the rates are of each problem's own samples, else they are the scores, as if of every problem.
    """
    from scipy.stats import chi2

    def fits(low: int, high: int) -> float:
        count, mean = high - low, rates[low:high].mean(axis=0)
        draws = count * samples if verdicts else np.inf
        variance = (mean * (1 - mean)).sum() / (samples * len(mean) ** 2) / (1 - 1 / draws)
        spread = ((values[low:high] - values[low:high].mean()) ** 2).sum()
        return float(chi2.sf(spread / variance, count - 1)) if variance > 0 else float(spread < 1e-12)

    low = int(values.argmax())
    high = low + 1
    while True:
        sides = [(low - 1, high)] * (low > 0) + [(low, high + 1)] * (high < len(values))
        best = max(sides, key=lambda side: fits(*side), default=None)
        if best is None or fits(*best) < ALIKE:
            break
        low, high = best
    return np.arange(low, high) if high - low > 1 else np.arange(len(values))


def largest_of_equal(rates: Vector, samples: int, checkpoints: int) -> Vector:
    """The distribution of the largest of `checkpoints` scores of one model that solves problem i with probability
    rates[i], exactly: the probability of 0, 1, ..., P * samples correct samples. [P * samples + 1].

    Args:
        rates: [P], in [0, 1]. samples: of each problem in each score.
    """
    from scipy.stats import binom

    distribution = np.ones(1)  # the distribution of one score
    for rate, problems in zip(*np.unique(rates, return_counts=True), strict=True):
        distribution = np.convolve(distribution, binom.pmf(np.arange(problems * samples + 1), problems * samples, rate))
    return np.diff(distribution.cumsum() ** checkpoints, prepend=0)


def cross_fitted(table: Vector, rng: np.random.Generator) -> float:
    """The mean score on one half of the problems of the checkpoint that is best on the other half.

    Args:
        table: [checkpoints, problems], P >= 2. The mean over samples of each.
    """
    problems = table.shape[1]
    scores = []
    for _ in range(SPLITS):
        order = rng.permutation(problems)
        halves = order[: problems // 2], order[problems // 2 :]
        for chosen_on, measured_on in (halves, halves[::-1]):
            best = int(np.argmax(table[:, chosen_on].mean(axis=1)))
            scores.append(table[best, measured_on].mean())
    return float(np.mean(scores))

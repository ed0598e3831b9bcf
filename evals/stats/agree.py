"""Two printed scores: how probable is their gap, if both sides sampled one model on the same problems?

**The null.** Problem i = 1..P has a rate p_i: the probability that one sample of the model solves it. Side A takes a
samples of each problem, side B takes b. All samples are independent. The rates are the same on both sides, and nobody
knows them. X and Y are the numbers of correct samples, N = aP and M = bP the numbers of samples, t = x + y what both
sides have together. Given t, the gap X/N - Y/M is a function of X alone, and its mean is 0 (step 1).

**The largest probability** of a gap at least this large, given t, over all vectors of rates, is bounded here:

1. One round is one sample of each problem. X is a sum of a rounds and Y of b rounds, and all a + b rounds have one
   distribution. They are exchangeable, so E[X | t] = t a / (a + b) = t N / (N + M) exactly, for all rates.
2. X is a sum of N independent Bernoulli variables. By Newton's inequalities, P(X = x) = C(N, x) g(x) with g log-concave
   (such variables are ultra-log-concave). The same holds for Y. So

       P(X = x | t) = H(x) w(x),    w(x) proportional to g_X(x) g_Y(t - x), which is log-concave,

   where H is the hypergeometric distribution of Fisher's exact test. Equal rates give w = 1: H itself is reached.
3. **Equal numbers of samples**: g_X = g_Y, so w is symmetric about t/2 and falls away from it. Then |X - t/2| is
   stochastically smaller than under H, and the two-sided tail of H is the largest probability.
4. **Unequal numbers**: H w has the mean of H (step 1) and w is log-concave (step 2). Take the largest P(X >= c) over
   all such w, for c above the mean. Claim: one of the weights w_b reaches it. w_b(x) is e^(theta x) for x < b, any part
   of e^(theta b) at b, and 0 above b, with b >= c, and with theta such that the mean stays.
   Proof: let F = H w, and D_b(x) = P_F(X >= x) - P_b(X >= x). On x <= b, log(w / w_b) is concave, so F - F_b has the
   signs -, +, - there, and + above b. Both have mass 1 and one mean, so D_b sums to 0 over x. From left to right its
   signs are +, -, + (or +, -, or all 0). Let b fall from the end of the support of F to c. At first c lies in the left
   + or in the -. At b = c there is nothing above c in F_b, so D_b >= 0 right of c, and the - lies left of c or at c.
   F_b changes continuously. So either D_b(c) <= 0 for some b, which is the claim. Or c changes from the left + to the
   right + at some b, where D_b >= 0 everywhere. Its sum is 0, so F = F_b. For the lower tail, count failures instead.
   `_Tails` takes the largest of H's tail (b at the end of its support) and of those of truncated weights. H's own is
   the largest, or all agree in three digits, wherever it matters.

So P(|gap| >= observed | t) <= `largest_probability`, for all rates and each t. A rule "at most 5 %" errs at most 5 % of
the time. Hoeffding's theorem of 1956 gives another bound for equal numbers, without t: all rates 1/2. It is blunt
near 0 and 100 %, and is not used. The smaller of two valid bounds is not valid, so there is one.

**A typical probability** needs the spread of the rates, rho = Var(p) / (m (1 - m)) with m their mean. The variance of
a score is m (1 - m)(1 - rho) / N. `RHO` is low for public models, so the typical probability is rather too large.

**Training seeds.** If both sides trained again, a normal effect with standard deviation `seed_sd` is added to each
training. That part is a model, not a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Answer = Literal["a difference", "may be noise", "these numbers cannot decide it"]
DIFFERENCE: Answer = "a difference"
NOISE: Answer = "may be noise"
UNDECIDED: Answer = "these numbers cannot decide it"
LEVEL = 0.05  # the largest probability up to which it is "a difference". The typical one: "may be noise"
TYPICAL_LEVEL = 0.01  # "a difference" needs a typical probability of at most this, too
RHO = 0.3
RHO_SOURCE = "spread of rates 0.3, which is low for public models (results/agree.md)"
MOST = 4096  # samples or seeds. A gap that needs more is out of reach
NEGLIGIBLE = 1e-9  # a tail of H below it is not refined
REACH = 40.0  # standard deviations of a distribution that are kept


@dataclass(frozen=True)
class Score:
    """One side: `correct` of `tries` samples, which are problems x samples x seeds.

    Attributes:
        seeds: training seeds that the score averages. They matter only with a seed spread.
    """

    correct: int
    tries: int
    seeds: int = 1

    @property
    def share(self) -> float:
        return self.correct / self.tries


@dataclass(frozen=True)
class Chance:
    """Probabilities of a gap at least this large if nothing differs. `typical` is None if no spread is known."""

    largest: float
    typical: float | None


def chance(a: Score, b: Score, *, rho: float | None = RHO, seed_sd: float = 0.0) -> Chance:
    """The largest and the typical probability of the gap of two scores on the same problems.

    Args:
        rho: the spread of the rates, 0 to 1. None: not known.
        seed_sd: the standard deviation of a training seed's effect on a score, as a share. 0: no training differs.
    """
    typical = None if rho is None else typical_probability(a, b, rho=rho, seed_sd=seed_sd)
    return Chance(largest_probability(a, b, seed_sd=seed_sd), typical)


def answer(chance: Chance) -> Answer:
    """A difference: even the largest noise gives such a gap in at most 5 % of cases, and typical noise in at most 1 %.
    May be noise: typical noise gives it in more than 5 %. Else the numbers cannot decide it."""
    if chance.largest <= LEVEL and (chance.typical is None or chance.typical <= TYPICAL_LEVEL):
        return DIFFERENCE
    return NOISE if chance.typical is not None and chance.typical > LEVEL else UNDECIDED


def largest_probability(a: Score, b: Score, *, seed_sd: float = 0.0) -> float:
    """The bound of the module's derivation on P(|gap| >= the observed one), given what both sides solved together.

    With `seed_sd` it is averaged over normal effects of the seeds, which take away from the gap.
    """
    total = a.correct + b.correct
    gap = abs(a.share - b.share)
    if gap == 0:
        return 1.0
    tail = _Tails(a.tries, b.tries, total)
    of_samples = min(1.0, tail.above(gap) + tail.below(gap))
    if seed_sd == 0:
        return of_samples
    scale = seed_sd * math.sqrt(1 / a.seeds + 1 / b.seeds)
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    both = [
        tail.above(gap - scale * e, equal_rates=True) + tail.below(gap + scale * e, equal_rates=True) for e in nodes
    ]
    return max(of_samples, float(np.minimum(1.0, both) @ weights / weights.sum()))


def typical_probability(a: Score, b: Score, *, rho: float = RHO, seed_sd: float = 0.0) -> float:
    """P(|gap| >= the observed one) for rates of spread `rho`: normal, with continuity correction."""
    mean = (a.correct + b.correct) / (a.tries + b.tries)
    variance = mean * (1 - mean) * (1 - rho) * (1 / a.tries + 1 / b.tries)
    variance += seed_sd**2 * (1 / a.seeds + 1 / b.seeds)
    beyond = abs(a.share - b.share) - 0.5 / math.lcm(a.tries, b.tries)
    if beyond <= 0:
        return 1.0
    return math.erfc(beyond / math.sqrt(2 * variance)) if variance > 0 else 0.0


class _Tails:
    """The tails of the gap X/N - Y/M given X + Y = t, each the largest over all rates."""

    def __init__(self, tries_a: int, tries_b: int, total: int) -> None:
        self.n, self.m, self.t = tries_a, tries_b, total
        self.x, self.pmf = hypergeometric(tries_a, tries_b, total)
        self.mean = total * tries_a / (tries_a + tries_b)

    def above(self, gap: float, *, equal_rates: bool = False) -> float:
        """P(gap of A over B >= gap). 1 for a gap of 0 or less, as the bound is for tails beyond the mean.

        Args:
            equal_rates: H's own tail alone, which is fast.
        """
        if gap <= 0:
            return 1.0
        least = math.ceil((gap + self.t / self.m) / (1 / self.n + 1 / self.m) - 1e-9)
        return self._upper_tail(self.x, self.pmf, self.mean, least, equal_rates)

    def below(self, gap: float, *, equal_rates: bool = False) -> float:
        """P(gap of B over A >= gap)."""
        if gap <= 0:
            return 1.0
        most = math.floor((self.t / self.m - gap) / (1 / self.n + 1 / self.m) + 1e-9)
        return self._upper_tail(-self.x[::-1], self.pmf[::-1], -self.mean, -most, equal_rates)

    def _upper_tail(self, x: Vector, pmf: Vector, mean: float, least: int, equal_rates: bool) -> float:
        inside = x >= least
        fisher = float(pmf[inside].sum())
        if equal_rates or self.n == self.m or fisher < NEGLIGIBLE:
            return fisher
        ends = [int(np.argmax(inside)) + step for step in _STEPS]
        tilted = [_tilted_tail(x, pmf, mean, least, end, part) for end in ends if end < len(x) for part in _PARTS]
        return max(fisher, *tilted)


_STEPS = tuple(sorted({round(1.3**power) - 1 for power in range(24)}))  # ends b, from c on
_PARTS = (1.0, 0.75, 0.5, 0.25)  # parts of the weight at b


def _tilted_tail(x: Vector, pmf: Vector, mean: float, least: int, end: int, part: float) -> float:
    """P(X >= least) under pmf e^(theta x) cut off above x[end], with theta such that the mean is `mean`.

    Args:
        x, pmf: [K]. end: an index of x. part: of the weight at x[end] that is kept, in (0, 1].
    """
    kept, values = x[: end + 1] - mean, pmf[: end + 1].copy()
    values[-1] *= part
    theta = 0.0
    for _ in range(60):  # Newton. The mean rises with theta
        weights = values * np.exp(theta * (kept - kept[-1]))
        weights /= weights.sum()
        off = float(weights @ kept)
        variance = float(weights @ kept**2) - off**2
        if abs(off) < 1e-10 * max(1.0, math.sqrt(variance)) or variance <= 0:
            break
        theta -= max(-1.0, min(1.0, off / variance))
    return float(weights[kept >= least - mean - 1e-9].sum())


def measured_spread(correct: NDArray[Any], samples: int) -> float | None:
    """rho = Var(p) / (m (1 - m)) from counts, 0 to 1: the variance of the shares less the part that sampling makes.

    Args:
        correct: of each problem (and seed), of `samples` each.
    Returns:
        None with one sample per problem, or if all samples are alike.
    """
    share = np.asarray(correct) / samples
    mean = float(share.mean())
    if samples < 2 or not 0 < mean < 1:
        return None
    within = float((share * (1 - share)).mean()) * samples / (samples - 1)  # E[p (1 - p)], unbiased
    return min(1.0, max(0.0, 1 - within / (mean * (1 - mean))))


def hypergeometric(tries_a: int, tries_b: int, total: int) -> tuple[Vector, Vector]:
    """(x, P(X = x)) of the correct tries of A if `total` of all tries are correct and all are alike.

    x is within `REACH` standard deviations (and `REACH`) of the mean; what lies beyond has less than 1e-300.
    """
    from scipy.special import gammaln

    tries = tries_a + tries_b
    mean = total * tries_a / tries
    deviation = math.sqrt(mean * (1 - total / tries) * tries_b / max(1, tries - 1))
    low = max(0, total - tries_b, math.floor(mean - REACH * (deviation + 1)))
    high = min(total, tries_a, math.ceil(mean + REACH * (deviation + 1)))
    x = np.arange(low, high + 1, dtype=float)

    def choose(n: float, k: Vector) -> Vector:
        return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

    logs = choose(tries_a, x) + choose(tries_b, total - x)
    pmf = np.exp(logs - logs.max())
    return x, pmf / pmf.sum()


def largest_by_hoeffding(gap: float, blocks_a: int, blocks_b: int) -> float:
    """The largest probability of a gap between two means of values in 0..1, independent but otherwise any.

    For pass@k and maj@k from more than k samples. The mean over all k-subsets of n samples is an average, over all
    orders of the samples, of means of floor(n/k) independent blocks (Hoeffding, JASA 58, 1963, section 5a). His
    inequality for two means (eq. 2.7) then holds with that number of values per problem: 2 exp(-2 gap^2 / (1/N + 1/M)).

    Args:
        blocks_a, blocks_b: problems x floor(n / k).
    """
    return min(1.0, 2 * math.exp(-2 * gap**2 / (1 / blocks_a + 1 / blocks_b)))


def smallest_gap(a: Score, b: Score, decide: Callable[[Score, Score], Answer]) -> float | None:
    """The smallest gap, as a share, that would be a difference: A stays, B moves in the direction of its gap, or the
    other way if there is no room. None if no score of B would be."""
    sign = 1 if b.share >= a.share else -1
    for direction in (sign, -sign):
        start, end = round(a.share * b.tries), b.tries if direction > 0 else 0
        steps = abs(end - start)

        def differs(step: int, start: int = start, direction: int = direction) -> bool:
            return decide(a, Score(start + direction * step, b.tries, b.seeds)) == DIFFERENCE

        if steps and differs(steps):
            low, high = 0, steps
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if differs(middle) else (middle, high)
            return abs((start + direction * high) / b.tries - a.share)
    return None


def needed(differs: Callable[[int], bool]) -> int | None:
    """The smallest number, 1 to `MOST`, from which on it is a difference, by doubling and halving. None beyond."""
    low, high = 0, 1
    while not differs(high):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if differs(middle) else (middle, high)
    return high

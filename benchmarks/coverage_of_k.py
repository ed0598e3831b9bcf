"""Coverage of the intervals of pass@k and maj@k of one checkpoint, near their ceiling and elsewhere.

`ends` is `evals.stats.intervals.over_problems` for many samples at once (tests/evals/stats/test_coverage.py compares
them), so that some hundred cases take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evals.stats.intervals import FEW, TINY
from evals.stats.verdict_table import maj_of_votes, pass_at_k

Array = NDArray[np.float64]
Rates = Callable[[np.random.Generator, tuple[int, ...]], Array]
PROBLEMS = (15, 30, 48, 100, 200, 500)
SIZES = {"pass": ((8, 4), (16, 8), (64, 16), (256, 64)), "maj": ((8, 4), (16, 8), (64, 16)), "avg": ((8, 1), (64, 1))}
RIVALS = (0.7, 0.3)  # of the incorrect responses: two answers, so that votes can split


def ends(values: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """(low, high, marked) of the 95 % intervals of the means of [R, P] values in 0..1, as `over_problems` has them."""
    from scipy.special import ndtri, stdtrit

    problems, z = values.shape[1], ndtri(0.975)
    mean = values.mean(1)
    spread = mean * (1 - mean)
    vary = np.minimum(_effective(values), _effective(1 - values))
    df = np.minimum(problems - 1, np.maximum(vary, 1e-9))
    half = np.minimum(
        stdtrit(df, 0.975) * np.sqrt(values.var(1, ddof=1) / problems), z * np.sqrt(np.maximum(spread, 0) / problems)
    )
    half = np.where(vary > 0, half, 0.0)
    ratio = half**2 / np.maximum(spread, TINY)
    hidden = np.maximum(0, min(0.05 ** (-1 / problems) - 1, z * z / problems) - ratio)

    def distance(p: Array) -> Array:
        a, b = 1 + ratio + hidden, p * (ratio + hidden) - ratio * (1 - p)
        return np.asarray((b + np.sqrt(b * b + 4 * a * half**2)) / (2 * a))

    unseen, alike = 1 - 0.025 ** (1 / problems), half <= 1e-9
    low = np.where(alike, mean - unseen * mean, mean - distance(mean))
    high = np.where(alike, mean + unseen * (1 - mean), mean + distance(1 - mean))
    return np.maximum(0, low), np.minimum(1, high), vary < FEW


def _effective(weights: Array) -> Array:
    weights = np.where(weights > TINY, weights, 0)
    squares = np.square(weights).sum(1)
    return np.round(weights.sum(1) ** 2 / np.where(squares > 0, squares, 1), 9)


def shapes() -> Mapping[str, Rates]:
    """Rates of problems: a share of hard ones among easy ones, few solvable ones, and Beta distributions."""
    found: dict[str, Rates] = {}
    for share in (0.003, 0.01, 0.03, 0.1):
        for name, easy, hard in (
            ("hard, of many rates", lambda r, n: r.beta(9, 1, n), lambda r, n: r.beta(0.5, 20, n)),
            (
                "solved once in 100",
                lambda r, n: np.clip(r.normal(0.85, 0.08, n), 0.3, 1),
                lambda r, n: np.full(n, 0.01),
            ),
            ("never solved", lambda r, n: np.clip(r.normal(0.6, 0.15, n), 0.2, 1), lambda r, n: np.zeros(n)),
            ("solved once in 50, the others half", lambda r, n: np.full(n, 0.5), lambda r, n: np.full(n, 0.02)),
        ):
            found[f"{100 * share:g} % {name}"] = _mixed(share, easy, hard)
    for share in (0.01, 0.03):
        found[f"{100 * share:g} % solvable"] = _mixed(
            share, lambda r, n: np.full(n, 0.001), lambda r, n: np.full(n, 0.9)
        )
    for rate, s in ((0.01, 0.3), (0.05, 1), (0.1, 0.3), (0.5, 0.3), (0.5, 5), (0.9, 1), (0.98, 1)):
        found[f"Beta, mean {100 * rate:g} %, s = {s:g}"] = _beta(rate, s)
    return found


def _mixed(share: float, easy: Rates, hard: Rates) -> Rates:
    return lambda rng, size: np.where(rng.random(size) < share, hard(rng, size), easy(rng, size))


def _beta(rate: float, s: float) -> Rates:
    return lambda rng, size: np.asarray(rng.beta(rate * s, (1 - rate) * s, size))


def measured(metric: str, rates: Array, n: int, k: int, rng: np.random.Generator) -> Array:
    """The metric of each problem from n samples."""
    if metric != "maj":
        by_correct = np.array([pass_at_k(n, c, k) if metric == "pass" else c / n for c in range(n + 1)])
        return np.asarray(by_correct[rng.binomial(n, rates)])
    votes = rng.multinomial(n, _chances(rates))
    kinds, which = np.unique(votes.reshape(-1, 3) @ [1, n + 1, (n + 1) ** 2], return_inverse=True)
    values = [
        maj_of_votes(n, v % (n + 1), tuple(sorted((v // (n + 1) % (n + 1), v // (n + 1) ** 2))), k)
        for v in map(int, kinds)
    ]
    return np.asarray(np.array(values)[which].reshape(rates.shape))


def _chances(rates: Array) -> Array:
    return np.stack([rates, *((1 - rates) * part for part in RIVALS)], axis=-1)


def truth(metric: str, rates: Array, k: int, rng: np.random.Generator) -> float:
    """The mean over problems of the metric's expectation."""
    if metric == "avg":
        return float(rates.mean())
    if metric == "pass":
        return float(np.mean(1 - (1 - rates) ** k))
    votes = rng.multinomial(k, _chances(rates))
    best = votes.max(axis=1)
    return float(np.mean(((votes[:, 0] == best) & (best > 0)) / (votes == best[:, None]).sum(axis=1)))


@dataclass(frozen=True)
class Row:
    """The cases of one metric, n, k and number of problems, as shares. `least`, `worst`: (share, shape) of the least
    coverage, and of the most intervals that are wrong and have no mark."""

    least: tuple[float, str]
    mean: float
    worst: tuple[float, str]
    marked: float
    width: float


def row(metric: str, problems: int, n: int, k: int, runs: int) -> Row:
    """All shapes of one row."""
    cases = []
    for number, (shape, rates) in enumerate(shapes().items()):
        rng = np.random.default_rng([7, len(metric), problems, n, k, number])
        true = truth(metric, rates(rng, (200_000,)), k, rng)
        low, high, marked = ends(measured(metric, rates(rng, (runs, problems)), n, k, rng))
        wrong = (true < low - TINY) | (true > high + TINY)
        cases.append((1 - wrong.mean(), (wrong & ~marked).mean(), marked.mean(), (high - low).mean(), shape))
    least, worst = min(cases), max(cases, key=lambda case: case[1])
    covered, _, marks, widths, _ = zip(*cases, strict=True)
    return Row(
        (float(least[0]), least[4]), float(np.mean(covered)), (float(worst[1]), worst[4]), float(np.mean(marks)),
        float(np.mean(widths)),
    )  # fmt: skip


def lines(runs: int) -> Iterator[str]:
    """The section of the page."""
    yield "\n## pass@k and maj@k near their bounds, one training seed\n"
    yield (
        f"{len(shapes())} shapes of problems a row: 0.3 to 10 % hard ones among easy ones, 1 to 3 % solvable ones "
        "among hopeless ones, and Beta distributions. *least*: the least coverage of a shape, in percent. "
        "*unmarked and wrong*: the shape with the most intervals that miss the truth and have no `~`. At 7 % or less, "
        "at least 93 % of all intervals hold the truth or warn. Incorrect responses have two answers in maj@k.\n"
    )
    yield "| metric | problems | n | k | least | its shape | mean | unmarked and wrong | its shape | marked | width |"
    yield "|---|---:|---:|---:|---:|---|---:|---:|---|---:|---:|"
    for metric, sizes in SIZES.items():
        for problems in PROBLEMS:
            for n, k in sizes:
                of = row(metric, problems, n, k, runs)
                size = f"{metric} | {problems} | {n} | {'' if metric == 'avg' else k}"
                least, worst = (f"{100 * share:.1f} | {shape}" for share, shape in (of.least, of.worst))
                mean, marked, width = (100 * share for share in (of.mean, of.marked, of.width))
                yield f"| {size} | {least} | {mean:.1f} | {worst} | {marked:.0f} % | {width:.1f} |"

"""Coverage of the intervals of pass@k and maj@k of one checkpoint, near their ceiling and elsewhere.

`ends` is `evals.stats.intervals.over_problems` for many samples at once (tests/evals/stats/test_coverage.py compares
them), so that some hundred cases take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from evals.stats.intervals import FEW, TINY
from evals.stats.verdict_table import maj_of_votes, pass_at_k

Array = NDArray[np.float64]
Rates = Callable[[np.random.Generator, tuple[int, ...]], Array]
PROBLEMS = (15, 30, 48, 100, 200, 500)
SIZES = {"pass": ((8, 4), (16, 8), (64, 16), (256, 64)), "maj": ((8, 4), (16, 8), (64, 16)), "avg": ((8, 1), (64, 1))}
NEVER = 0.005  # the share of a shape's intervals that may miss the truth without a mark where it is always marked
KINDS = {  # kind of the second model -> its description
    "": "",
    "same": ", equal",
    "other": ", a third other",
    "lift": ", odds doubled",
}
RIVALS = (0.7, 0.3)  # shares of the incorrect responses: two answers, so that votes can split


def ends(values: Array, *, difference: bool = False) -> tuple[Array, Array, NDArray[np.bool_]]:
    """(low, high, marked) of the 95 % intervals of the means of [R, P] values in 0..1, as `over_problems` has them; of
    differences in -1..1 as `Estimate.interval` has them."""
    from scipy.special import ndtri, stdtrit

    problems, z = values.shape[1], ndtri(0.975)
    least, width = (-1, 2) if difference else (0, 1)
    mean = (values.mean(1) - least) / width
    spread = mean * (1 - mean)
    vary = _effective(np.abs(values))
    vary = vary if difference else np.minimum(vary, _effective(1 - values))
    most = np.abs(values).mean(1) / width**2 if difference else np.maximum(spread, 0)  # a variance
    df = np.minimum(problems - 1, np.maximum(vary, 1e-9))
    error = np.sqrt(values.var(1, ddof=1) / problems) / width
    half = np.where(vary > 0, np.minimum(stdtrit(df, 0.975) * error, z * np.sqrt(most / problems)), 0.0)
    ratio = half**2 / np.maximum(spread, TINY)
    hidden = 0.0 if difference else np.maximum(0, min(0.05 ** (-1 / problems) - 1, z * z / problems) - ratio)

    def distance(p: Array) -> Array:
        a, b = 1 + ratio + hidden, p * (ratio + hidden) - ratio * (1 - p)
        return np.asarray((b + np.sqrt(b * b + 4 * a * half**2)) / (2 * a))

    unseen, alike = 1 - 0.025 ** (1 / problems), half <= 1e-9
    low = least + width * np.maximum(0, np.where(alike, mean - unseen * mean, mean - distance(mean)))
    high = least + width * np.minimum(1, np.where(alike, mean + unseen * (1 - mean), mean + distance(1 - mean)))
    if difference:
        zero = _as_mcnemar(values)
        low, high = np.where(zero, np.minimum(low, 0), low), np.where(zero, np.maximum(high, 0), high)
    return low, high, (vary < FEW) | (difference & ~alike & (width * half < 1 / problems))


def _as_mcnemar(differences: Array) -> NDArray[np.bool_]:
    """[R]: whether all differences are -1, 0 or 1, and McNemar's exact test does not reject zero."""
    from scipy.special import bdtr

    higher, lower = (differences == 1).sum(1), (differences == -1).sum(1)
    exact = np.isin(differences, (-1.0, 0.0, 1.0)).all(1)
    return np.asarray(exact & (2 * bdtr(np.minimum(higher, lower), higher + lower, 0.5) > 0.05))


def _effective(weights: Array) -> Array:
    weights = np.where(weights > TINY, weights, 0)
    squares = np.square(weights).sum(1)
    return np.round(weights.sum(1) ** 2 / np.where(squares > 0, squares, 1), 9)


def shapes() -> Mapping[str, Rates]:
    """Rates of problems: a share of hard ones among easy ones, few solvable ones, and Beta distributions."""
    rates_by_name: dict[str, Rates] = {}
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
            rates_by_name[f"{100 * share:g} % {name}"] = _mixed(share, easy, hard)
    for share in (0.01, 0.03):
        rates_by_name[f"{100 * share:g} % solvable"] = _mixed(
            share, lambda r, n: np.full(n, 0.001), lambda r, n: np.full(n, 0.9)
        )
    for rate, s in ((0.01, 0.3), (0.05, 1), (0.1, 0.3), (0.5, 0.3), (0.5, 5), (0.9, 1), (0.98, 1)):
        rates_by_name[f"Beta, mean {100 * rate:g} %, s = {s:g}"] = of_beta(rate, s)
    return rates_by_name


def _mixed(share: float, easy: Rates, hard: Rates) -> Rates:
    return lambda rng, size: np.where(rng.random(size) < share, hard(rng, size), easy(rng, size))


def of_beta(rate: float, s: float) -> Rates:
    return lambda rng, size: np.asarray(rng.beta(rate * s, (1 - rate) * s, size))


def measured(metric: str, rates: Array, n: int, k: int, rng: np.random.Generator) -> Array:
    """The metric of each problem from n samples."""
    if metric != "maj":
        by_correct = np.array([pass_at_k(n, c, k) if metric == "pass" else c / n for c in range(n + 1)])
        return np.asarray(by_correct[rng.binomial(n, rates)])
    votes = rng.multinomial(n, _chances(rates))
    kinds, kind_of_row = np.unique(votes.reshape(-1, 3) @ [1, n + 1, (n + 1) ** 2], return_inverse=True)
    values = [_majority(n, v % (n + 1), v // (n + 1) % (n + 1), v // (n + 1) ** 2, k) for v in map(int, kinds)]
    return np.asarray(np.array(values)[kind_of_row].reshape(rates.shape))


@cache
def _majority(n: int, correct: int, first_votes: int, second_votes: int, k: int) -> float:
    return maj_of_votes(n, correct, tuple(sorted((first_votes, second_votes))), k)


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


def second(kind: str, first: Array, rates: Rates, rng: np.random.Generator) -> Array:
    """Rates of a second model on the problems of the first one."""
    if kind == "other":
        return np.where(rng.random(first.shape) < 1 / 3, rates(rng, first.shape), first)
    return 2 * first / (1 + first) if kind == "lift" else first


@dataclass(frozen=True)
class Cell:
    """The intervals of one shape of problems, as shares: those that hold the truth, those with a mark, those that miss
    it without one, and their mean width."""

    shape: str
    covered: float
    marked: float
    unwarned: float
    width: float

    @property
    def always_marked(self) -> bool:
        """Whether nearly every interval that misses the truth has a mark."""
        return self.unwarned <= NEVER


@dataclass(frozen=True)
class Size:
    """One row: a metric, numbers of problems and samples, k. kinds: of the second model, or "" for a score."""

    metric: str
    problems: int
    n: int
    k: int
    kinds: tuple[str, ...] = ("",)

    def cell(self, shape: str, kind: str, runs: int, *, again: bool = False) -> Cell:
        """One shape, `runs` times. `again`: with other random numbers."""
        rates = shapes()[shape]
        place = [len(self.metric), self.problems, self.n, self.k, [*shapes()].index(shape)]
        rng = np.random.default_rng([7, *place, *([sum(map(ord, kind))] if kind else []), *([1] if again else [])])
        true = 0.0
        if kind in ("", "lift"):
            many = rates(rng, (200_000,))
            true = truth(self.metric, many, self.k, rng)
            true -= truth(self.metric, second(kind, many, rates, rng), self.k, rng) if kind else 0.0
        problem_rates = rates(rng, (runs, self.problems))
        values = measured(self.metric, problem_rates, self.n, self.k, rng)
        if kind:
            values = values - measured(self.metric, second(kind, problem_rates, rates, rng), self.n, self.k, rng)
        low, high, marked = ends(values, difference=bool(kind))
        wrong = (true < low - TINY) | (true > high + TINY)
        shares = (1 - wrong.mean(), marked.mean(), (wrong & ~marked).mean(), (high - low).mean())
        return Cell(f"{shape}{KINDS[kind]}", *map(float, shares))


@dataclass(frozen=True)
class Row:
    """The cells of one row.

    Attributes:
        least: of the least coverage. unmarked: of the least where a mark is not always there, or None. worst: of the
            most intervals that are wrong and have no mark. These are simulated again.
        mean, marked, width: over all cells.
    """

    least: Cell
    unmarked: Cell | None
    worst: Cell
    mean: float
    marked: float
    width: float


def row(size: Size, runs: int, again: int) -> Row:
    """All shapes of one row, `runs` times each. Those that are named `again` times, with other random numbers, so
    that the worst of many is not the unluckiest."""
    places = [(shape, kind) for shape in shapes() for kind in size.kinds]
    cells = [size.cell(*place, runs) for place in places]
    anew: dict[int, Cell] = {}

    def repeated(number: int) -> Cell:
        if number not in anew:
            anew[number] = size.cell(*places[number], again, again=True)
        return anew[number]

    by_cover = sorted(range(len(cells)), key=lambda i: cells[i].covered)
    unmarked = next((i for i in by_cover if not cells[i].always_marked), None)
    return Row(
        repeated(by_cover[0]),
        None if unmarked is None else repeated(unmarked),
        repeated(max(range(len(cells)), key=lambda i: cells[i].unwarned)),
        *(float(np.mean([getattr(cell, name) for cell in cells])) for name in ("covered", "marked", "width")),
    )


def scores(runs: int, again: int) -> Iterator[str]:
    """The section of scores."""
    yield "\n## pass@k and maj@k near their bounds, one training seed\n"
    yield (
        f"A row has {len(shapes())} shapes of problems: 0.3 to 10 % hard problems among easy problems, 1 to 3 % "
        "solvable problems among hopeless problems, and Beta distributions. In maj@k, an incorrect response "
        "gives one of two wrong answers.\n\n"
        f"{_columns(runs, again)}\n"
    )
    sizes = [
        Size(metric, problems, n, k)
        for metric, sizes_of_metric in SIZES.items()
        for problems in PROBLEMS
        for n, k in sizes_of_metric
    ]
    yield from _table(sizes, runs, again)


def differences(runs: int, again: int) -> Iterator[str]:
    """The section of differences."""
    yield "\n## Differences of pass@k and maj@k, one training seed\n"
    yield (
        "The problems have the shapes of the table above. Two models try the same problems. The models are equal, or "
        "they differ on a third of the problems, or one has doubled odds on every problem. The columns are "
        f"the same as in the table above. Each pair is simulated {runs // 2} times, and the named ones {again:,} "
        "times again.\n"
    )
    pairs = tuple(kind for kind in KINDS if kind)
    sizes = [
        Size(metric, problems, n, k, pairs)
        for metric in ("pass", "maj")
        for problems in PROBLEMS
        for n, k in (SIZES[metric][0], *SIZES[metric][2:])
    ]
    yield from _table(sizes, runs // 2, again)


def _columns(runs: int, again: int) -> str:
    error = 100 * (0.07 * 0.93 / again) ** 0.5
    return (
        "- *least*: the least coverage of a shape, in percent\n"
        "- *unmarked and wrong*: the shape with the most intervals that miss the truth and have no `~`\n"
        "- *not always marked*: the least coverage among the shapes where more than "
        f"{100 * NEVER:g} % of the intervals are wrong and unmarked\n\n"
        f"Each shape is simulated {runs} times. The shapes that are named are simulated {again:,} times again, with "
        f"other random numbers. One standard deviation of their shares is then at most {error:.2f} "
        "points, for shares near 93 % or 7 %."
    )


def _table(sizes: Sequence[Size], runs: int, again: int) -> Iterator[str]:
    yield (
        "| metric | problems | n | k | least | its shape | not always marked | its shape | unmarked and wrong | "
        "its shape | mean | marked | width |"
    )
    yield "|---|---:|---:|---:|---:|---|---:|---|---:|---|---:|---:|---:|"
    least: list[tuple[float, str]] = []
    worst: list[tuple[float, str]] = []
    for size in sizes:
        result = row(size, runs, again)
        k = "" if size.metric == "avg" else str(size.k)
        named = f"{size.metric}, {size.problems} problems, n = {size.n}"
        worst.append((result.worst.unwarned, f"{named}, {result.worst.shape}"))
        if result.unmarked:
            least.append((result.unmarked.covered, f"{named}, {result.unmarked.shape}"))
        unmarked = f"{100 * result.unmarked.covered:.1f} | {result.unmarked.shape}" if result.unmarked else " | "
        yield (
            f"| {size.metric} | {size.problems} | {size.n} | {k} | "
            f"{100 * result.least.covered:.1f} | {result.least.shape} | "
            f"{unmarked} | {100 * result.worst.unwarned:.1f} | {result.worst.shape} | {100 * result.mean:.1f} | "
            f"{100 * result.marked:.0f} % | {100 * result.width:.1f} |"
        )
    (share, where), (wrong, place) = min(least), max(worst)
    sd, sd_wrong = (100 * (rate * (1 - rate) / again) ** 0.5 for rate in (share, wrong))
    yield (
        f"\nThe worst cells. ± is the standard error of {again:,} simulations.\n\n"
        f"- Among the shapes that are not always marked, the lowest coverage is {100 * share:.1f} ± {sd:.1f} % "
        f"({where}).\n"
        f"- {100 * wrong:.1f} ± {sd_wrong:.1f} % are unmarked and wrong ({place})."
    )

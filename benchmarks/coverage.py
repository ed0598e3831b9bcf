"""Coverage of the 95 % intervals and false verdicts, by simulation: `python -m benchmarks.coverage [--write]`.

Writes results/coverage.md, in about three minutes of one core. The tests in tests/evals/stats simulate some cases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import coverage_collapses, coverage_of_k
from evals.stats.differences import estimated
from evals.stats.intervals import Interval, estimate, over_problems

Vector = NDArray[np.float64]
RUNS = 600
AGAIN = 10_000  # runs for the worst cells of pass@k and maj@k
OF_SEEDS = 300  # runs for the cases with several training seeds
COMPARISONS = 300  # runs for methods of unlike spread
SEEDS = (3, 5, 10)
SHAPES = ("normal", "two values", "collapse", "exponential")
DEVIATIONS = (0.0, 0.02, 0.06, 0.15)  # the spread of the training seeds' effects: 0 to 15 points
# mean rate and s of Beta(rate s, (1 - rate) s): small s, most problems always or never solved. Large s, all alike
DIFFICULTIES = (
    (0.01, 0.3), (0.02, 0.3), (0.05, 0.1), (0.05, 1), (0.1, 0.3), (0.5, 0.3), (0.5, 5), (0.9, 1), (0.98, 1)
)  # fmt: skip
PAGE = Path(__file__).parents[1] / "results" / "coverage.md"


@dataclass(frozen=True)
class Case:
    """Shares of simulated intervals: those that contain the truth, and those marked approximate. Their mean width, and
    the share that misses the truth without a mark."""

    covered: float
    marked: float
    width: float
    unwarned: float

    def __str__(self) -> str:
        """Coverage (width), in percent and points."""
        return f"{100 * self.covered:.1f} ({100 * self.width:.0f})"


def case(truth: float, intervals: Iterable[Interval | None]) -> Case:
    """The case of these intervals for one true value."""
    defined = [interval for interval in intervals if interval is not None]
    held = np.array([i.low - 1e-12 <= truth <= i.high + 1e-12 for i in defined])
    rough = np.array([i.rough for i in defined])
    width = float(np.mean([i.high - i.low for i in defined]))
    return Case(float(held.mean()), float(rough.mean()), width, float((~held & ~rough).mean()))


def seed_effects(shape: str, rng: np.random.Generator, size: tuple[int, ...]) -> Vector:
    """Effects of training seeds with mean 0 and deviation 1. "two values": about +-0.95. "collapse": -1.9 in a fifth
    of the trainings. "rare collapse": -3 in a tenth of them, 1/3 in the others."""
    if shape == "rare collapse":
        return np.where(rng.random(size) < 0.1, -3.0, 1 / 3)
    if shape == "exponential":
        return np.asarray(rng.exponential(1, size) - 1)
    if shape == "two values":
        return np.asarray(0.95 * rng.choice([-1.0, 1.0], size) + 0.312 * rng.standard_normal(size))
    if shape == "collapse":
        return np.asarray(0.95 * np.where(rng.random(size) < 0.2, -2.0, 0.5) + 0.312 * rng.standard_normal(size))
    return rng.standard_normal(size)


@dataclass(frozen=True)
class Trained:
    """Problems of Beta(0.45, 0.55) difficulty. Each training seed adds an effect to every problem's rate, which is then
    clipped to 0..1. `samples` responses a problem."""

    seeds: int
    problems: int
    samples: int
    shape: str
    deviation: float

    def rates(self, rng: np.random.Generator, runs: int) -> Vector:
        """[runs, 1, P] of the untrained model."""
        return rng.beta(0.45, 0.55, (runs, 1, self.problems))

    def measured(self, rates: Vector, rng: np.random.Generator) -> Vector:
        """[runs, S, P]: the share of correct samples."""
        runs = len(rates)
        effects = self.deviation * seed_effects(self.shape, rng, (runs, self.seeds, 1))
        size = (runs, self.seeds, self.problems)
        return np.asarray(rng.binomial(self.samples, np.clip(rates + effects, 0, 1), size) / self.samples)

    def mean_rates(self, rates: Vector) -> Vector:
        """The mean over seeds of each rate. Clipping moves it away from the rate."""
        grid = np.linspace(0, 1, 201)
        effects = self.deviation * seed_effects(self.shape, np.random.default_rng(9), (20_000,))
        return np.interp(rates, grid, [np.clip(rate + effects, 0, 1).mean() for rate in grid])


def one_score(problems: int, samples: int, rate: float, shape: float, runs: int = RUNS) -> Case:
    """A score of one checkpoint, problems of Beta(rate s, (1 - rate) s) difficulty with s = `shape`."""
    rng = np.random.default_rng([1, problems, samples, round(1000 * rate), round(10 * shape)])
    rates = rng.beta(rate * shape, (1 - rate) * shape, (runs, problems))
    return case(rate, map(over_problems, rng.binomial(samples, rates) / samples))


def one_difference(problems: int, samples: int, rate: float, shape: float, kind: str, runs: int = RUNS) -> Case:
    """Two checkpoints on the same problems. "same": equal rates. "other": a third of the problems drawn anew for the
    second. "lift": its odds are doubled."""
    rng = np.random.default_rng([2, problems, samples, round(1000 * rate), round(10 * shape), len(kind)])

    def rates(size: tuple[int, int]) -> tuple[Vector, Vector]:
        of_beta = coverage_of_k.of_beta(rate, shape)
        a = of_beta(rng, size)
        return a, coverage_of_k.second(kind, a, of_beta, rng)

    a, b = rates((1, 400_000))
    truth = float((a - b).mean()) if kind == "lift" else 0.0
    a, b = (rng.binomial(samples, r) / samples for r in rates((runs, problems)))
    return case(truth, (estimated([(x, y)])[0].interval() for x, y in zip(a, b, strict=True)))


def score_of_seeds(trained: Trained, runs: int = OF_SEEDS) -> Case:
    """The score of a method: over problems and training seeds."""
    rng = np.random.default_rng([3, trained.seeds, trained.problems, round(1000 * trained.deviation)])
    truth = float(trained.mean_rates(rng.beta(0.45, 0.55, 400_000)).mean())
    values = trained.measured(trained.rates(rng, runs), rng)
    return case(truth, [estimate([table]).interval() for table in values])


def difference_of_seeds(trained: Trained, *, untrained: bool = False, runs: int = OF_SEEDS) -> Case:
    """Two equal methods with that many seeds each. `untrained`: the second side is one model with the first's mean."""
    rng = np.random.default_rng([4, trained.seeds, trained.problems, round(1000 * trained.deviation), untrained])
    rates = trained.rates(rng, runs)
    a = trained.measured(rates, rng)
    if untrained:
        b = rng.binomial(trained.samples, trained.mean_rates(rates)) / trained.samples
    else:
        b = trained.measured(rates, rng)
    pairs = zip(a, b, strict=True)
    return case(0.0, (estimated([pair], (True, not untrained))[0].interval() for pair in pairs))


def rare_collapse(trained: Trained, runs: int = RUNS) -> tuple[Case, Case]:
    """A difference of a method to an untrained model with its mean, where one training in ten collapses: (all
    simulations, those in which no seed at hand has collapsed)."""
    rng = np.random.default_rng([6, trained.seeds, trained.problems, round(1000 * trained.deviation)])
    rates = trained.rates(rng, runs)
    effects = trained.deviation * seed_effects(trained.shape, rng, (runs, trained.seeds, 1))
    size = (runs, trained.seeds, trained.problems)
    a = rng.binomial(trained.samples, np.clip(rates + effects, 0, 1), size) / trained.samples
    b = rng.binomial(trained.samples, trained.mean_rates(rates)) / trained.samples
    intervals = [estimated([pair], (True, False))[0].interval() for pair in zip(a, b, strict=True)]
    unseen = (effects >= 0).all(axis=(1, 2))
    return case(0.0, intervals), case(0.0, [i for i, hidden in zip(intervals, unseen, strict=True) if hidden])


def false_verdicts(seeds: int, shape: str, deviation: float, *, untrained: bool = False, runs: int = 400) -> float:
    """How often a method is called higher or lower than itself on one of three benchmarks (48 problems, 16 samples,
    Holm over the three, which share the seeds' effects)."""
    rng = np.random.default_rng([5, seeds, round(1000 * deviation), len(shape), untrained])
    benchmarks = [np.linspace(low, high, 48) for low, high in ((0.5, 0.95), (0.3, 0.9), (0.1, 0.6))]
    mean_rates = [Trained(1, 48, 16, shape, deviation).mean_rates(rates) for rates in benchmarks]
    wrong = 0
    for _ in range(runs):
        sides = []
        for trained in (True, not untrained):
            if trained:
                effect = deviation * seed_effects(shape, rng, (seeds, 1))
                sides.append([rng.binomial(16, np.clip(r + effect, 0, 1), (seeds, 48)) / 16 for r in benchmarks])
            else:
                sides.append([rng.binomial(16, r, (1, 48)) / 16 for r in mean_rates])
        wrong += coverage_collapses.some_verdict(
            [estimated([p], (True, not untrained))[0] for p in zip(*sides, strict=True)]
        )
    return wrong / runs


def lowest(cases: Iterable[Case]) -> str:
    """The least coverage of a row."""
    return f"{100 * min(case.covered for case in cases):.1f}"


def one_seed() -> Iterator[str]:
    """The section of scores and differences of one training seed."""
    yield "\n## One training seed\n"
    yield (
        "The rates of the problems come from Beta distributions with means of 1 to 98 %. At one extreme, nearly "
        "every problem is solved always or never. At the other extreme, all problems have nearly the same "
        "rate. A difference compares two checkpoints. They are equal, or a third of the problems has other "
        "rates, or one has doubled odds."
        "\n\nEach row shows the least, the mean and the greatest coverage of its cases. `marked` is the share of "
        "intervals with a `~`. An interval is `unmarked and wrong` if it misses the truth and has no `~`. "
        "This column shows the worst case of the row, in percent.\n"
    )
    yield "| | problems | samples | least | mean | greatest | width | marked | unmarked and wrong |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name in ("score", "difference"):
        for problems in (30, 83, 500):
            for samples in (1, 8, 32):
                if name == "score":
                    cases = [one_score(problems, samples, *difficulty) for difficulty in DIFFICULTIES]
                else:
                    kinds = ("same", "other", "lift")
                    chosen = ((0.02, 0.3), (0.1, 0.3), (0.1, 3), (0.5, 0.3), (0.5, 3), (0.9, 0.3))
                    cases = [one_difference(problems, samples, *d, kind) for d in chosen for kind in kinds]
                covered = [100 * c.covered for c in cases]
                width, marked = (100 * float(np.mean(x)) for x in ([c.width for c in cases], [c.marked for c in cases]))
                yield (
                    f"| {name} | {problems} | {samples} | {min(covered):.1f} | {np.mean(covered):.1f} | "
                    f"{max(covered):.1f} | {width:.1f} | {marked:.0f} % | {100 * max(c.unwarned for c in cases):.1f} |"
                )


def document() -> Iterator[str]:
    """The page, line by line."""
    yield "# Coverage of the 95 % intervals"
    yield (
        f"\nWritten by `python -m benchmarks.coverage --write`. It is not edited by hand. "
        "A case has "
        f"{RUNS} simulated evaluations, or {OF_SEEDS} with several training seeds. The truth is known, and the "
        "random seeds are fixed. One standard deviation of a share near 95 % is 0.9 points with 600 "
        "evaluations, and 1.3 points with 300."
        "\n\nCoverage is the percentage of the intervals that contain the truth. Widths are in points. "
        "docs/explanation/intervals.md describes the method."
    )
    yield from one_seed()
    yield from coverage_of_k.scores(RUNS, AGAIN)
    yield from coverage_of_k.differences(RUNS, AGAIN)
    yield from several_seeds()
    yield from coverage_collapses.lines(COMPARISONS)
    yield from hidden_collapse()
    yield from against_itself()


def several_seeds() -> Iterator[str]:
    yield "\n## Several training seeds\n"
    yield (
        "A cell is the coverage in percent (width in points). Each column is a standard deviation between training "
        "seeds. Each row is a shape of the distribution of the seeds. In the shape *collapse*, a fifth of the "
        "trainings end about two standard deviations below the mean."
    )
    worst: list[tuple[float, str]] = []
    for problems, samples in ((30, 16), (500, 4)):
        for title in ("a score", "a difference of two methods", "a difference to an untrained model"):
            yield f"\n### {problems} problems, {samples} samples: {title}\n"
            yield "| seeds | shape | " + " | ".join(f"{100 * d:g} points" for d in DEVIATIONS) + " | worst |"
            yield "|---:|---|" + "---:|" * len(DEVIATIONS) + "---:|"
            for seeds in SEEDS:
                for shape in SHAPES:
                    arms = [Trained(seeds, problems, samples, shape, deviation) for deviation in DEVIATIONS]
                    if title == "a score":
                        simulated = [score_of_seeds(arm) for arm in arms]
                    else:
                        simulated = [difference_of_seeds(arm, untrained="untrained" in title) for arm in arms]
                    worst += [(c.covered, f"{title}, {problems} problems, {seeds} seeds, {shape}") for c in simulated]
                    yield f"| {seeds} | {shape} | " + " | ".join(map(str, simulated)) + " | " + lowest(simulated) + " |"
    yield f"\nThe worst of these cells: {100 * min(worst)[0]:.1f} % ({min(worst)[1]})."


def hidden_collapse() -> Iterator[str]:
    yield "\n## A collapse that the seeds do not show, against an untrained model\n"
    yield (
        "The untrained model has the same mean as the method (500 problems, 4 samples). One training in ten ends far "
        "below the others. The column says by how many points. The numbers in brackets are for simulations in "
        "which no seed has collapsed.\n"
    )
    drops = (0.1, 0.2, 0.5)
    yield "| seeds | " + " | ".join(f"{100 * drop:g} points" for drop in drops) + " | worst |"
    yield "|---:|" + "---:|" * len(drops) + "---:|"
    for seeds in SEEDS:
        pairs = [rare_collapse(Trained(seeds, 500, 4, "rare collapse", drop / (10 / 3))) for drop in drops]
        cells = " | ".join(f"{100 * a.covered:.1f} ({100 * b.covered:.1f})" for a, b in pairs)
        yield f"| {seeds} | {cells} | {lowest(a for a, _ in pairs)} ({lowest(b for _, b in pairs)}) |"


def against_itself() -> Iterator[str]:
    yield "\n## False verdicts: a method against itself\n"
    yield (
        "Three benchmarks of 48 problems, 16 samples, Holm over the three. A cell is the percentage of simulations "
        "with *higher* or *lower* on some benchmark. In brackets, the method is compared with an untrained "
        "model with the same mean. With fewer than three seeds, there is no verdict about a method.\n"
    )
    columns = [(shape, deviation) for shape in SHAPES for deviation in (0.02, 0.06)]
    yield "| seeds | " + " | ".join(f"{shape}, {100 * deviation:g}" for shape, deviation in columns) + " | worst |"
    yield "|---:|" + "---:|" * len(columns) + "---:|"
    for seeds in SEEDS:
        pairs = [[false_verdicts(seeds, *column, untrained=u) for u in (False, True)] for column in columns]
        worst_of = [max(pair) for pair in zip(*pairs, strict=True)]
        yield f"| {seeds} | " + " | ".join(f"{100 * a:.1f} ({100 * b:.1f})" for a, b in (*pairs, worst_of)) + " |"
    yield (
        "\n**What no rule can guarantee.** If each training goes up or down with equal probability, all S seeds agree "
        "with probability 2^(1 - S): 25, 12.5, 6.3 % for 3 to 5 seeds. The data then suggest a direction that does "
        "not exist. An untrained model has no seed noise that could cancel it. No test keeps 5 % for every "
        "skew with any number of seeds (Bahadur and Savage, Ann. Math. Stat. 27, 1956). Look at each seed "
        "before you believe a verdict from few seeds."
    )


def main() -> None:
    text = "\n".join(document()) + "\n"
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

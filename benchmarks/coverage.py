"""Coverage of the intervals and error rates of the verdicts, simulated: `python -m benchmarks.coverage [--write]`.

Prints a Markdown document; --write puts it into results/coverage.md. tests/evals/stats/test_intervals.py simulates some
of the cases with fewer repetitions.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.stats.differences import holm, paired, paired_interval, word
from evals.stats.intervals import Interval, over_problems, over_problems_and_seeds, over_seeds
from evals.stats.prediction import come_back, repeat

Vector = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[1]

PROBLEMS = (30, 40, 83, 272, 500)
SAMPLES = (1, 8, 16, 64)
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.95)
# a + b of Beta(a, b): at 0.1 most problems are always or never solved, at 20 all are about alike
SHAPES = (0.1, 0.3, 1.0, 5.0, 20.0)
SEEDS = (2, 3, 5, 10)


@dataclass(frozen=True)
class Held:
    """One simulated case: the share of intervals that hold the truth, and the share of them that are `rough`."""

    share: float
    rough: float

    @property
    def labelled(self) -> bool:
        """Whether a reader of such intervals is told: a quarter of them at least are rough."""
        return self.rough >= 0.25


def held(truth: float, intervals: Iterable[Interval | None]) -> Held:
    known = [i for i in intervals if i is not None]
    inside = [i.low - 1e-12 <= truth <= i.high + 1e-12 for i in known]
    return Held(float(np.mean(inside)), float(np.mean([i.rough for i in known])))


# ---- one run, problems of Beta difficulty --------------------------------------------------------------------------


def beta_problems(problems: int, samples: int, rate: float, shape: float, runs: int, seed: int = 0) -> Held:
    """Shares correct of `samples` responses on problems whose rates are Beta(rate shape, (1 - rate) shape)."""
    rng = np.random.default_rng([seed, problems, samples, round(1000 * rate), round(10 * shape)])
    rates = rng.beta(rate * shape, (1 - rate) * shape, (runs, problems))
    return held(rate, map(over_problems, rng.binomial(samples, rates) / samples))


def mixed_problems(problems: int, samples: int, hopeless: float, solved: float, runs: int, seed: int = 0) -> Held:
    """A share of problems never solved, one always, the others uniform: no Beta distribution."""
    rng = np.random.default_rng([seed, problems, samples, round(1000 * hopeless), round(1000 * solved)])
    kind, rates = rng.random((runs, problems)), rng.random((runs, problems))
    rates = np.where(kind < hopeless, 0.0, np.where(kind < hopeless + solved, 1.0, rates))
    truth = solved + (1 - hopeless - solved) / 2
    return held(truth, map(over_problems, rng.binomial(samples, rates) / samples))


# ---- training seeds ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Crossed:
    """Seeds x problems: the logit of a rate is `centre` + problem (deviation 2) + seed + interaction (0.3)."""

    seeds: int
    problems: int
    samples: int
    centre: float
    seed_deviation: float  # of the logit; 0.3 is about 4 and 0.8 about 10 points

    def sample(self, rng: np.random.Generator, runs: int, problem: Vector | None = None) -> Vector:
        """[runs, S, P] shares correct; `problem` [P] or [runs, 1, P] holds the problems' logits fixed."""
        if problem is None:
            problem = self.problem_logits(rng, runs)
        shape = (runs, self.seeds, self.problems)
        logits = problem + self.seed_deviation * rng.standard_normal((runs, self.seeds, 1))
        logits = logits + 0.3 * rng.standard_normal(shape)
        return rng.binomial(self.samples, 1 / (1 + np.exp(-logits))) / self.samples

    def problem_logits(self, rng: np.random.Generator, runs: int) -> Vector:
        return self.centre + 2 * rng.standard_normal((runs, 1, self.problems))

    def rate_over_problems(self) -> float:
        """The mean over problems and seeds, by quadrature."""
        return float(_logistic_normal(np.array([self.centre]), 4 + self.seed_deviation**2 + 0.09)[0])

    def rate_on(self, problem: Vector) -> float:
        """The mean over seeds on these problems."""
        return float(_logistic_normal(problem.ravel(), self.seed_deviation**2 + 0.09).mean())


def _logistic_normal(centres: Vector, variance: float) -> Vector:
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    values = 1 / (1 + np.exp(-centres[:, None] - np.sqrt(variance) * nodes))
    return np.asarray(np.average(values, weights=weights, axis=1))


def both(case: Crossed, runs: int) -> Held:
    values = case.sample(np.random.default_rng([1, case.seeds, case.problems, case.samples]), runs)
    return held(case.rate_over_problems(), map(over_problems_and_seeds, values))


def on_fixed_problems(case: Crossed, runs: int) -> Held:
    """`over_seeds` on ten sets of problems, each held fixed."""
    rng = np.random.default_rng([2, case.seeds, case.problems, case.samples])
    parts = []
    for _ in range(10):
        problem = case.problem_logits(rng, 1)
        means = case.sample(rng, runs // 10, problem).mean(axis=2)
        parts.append(held(case.rate_on(problem), map(over_seeds, means)))
    return Held(float(np.mean([p.share for p in parts])), float(np.mean([p.rough for p in parts])))


# ---- two runs ------------------------------------------------------------------------------------------------------


def two_runs(
    problems: int, samples: int, rate: float, shape: float, kind: str, runs: int, lift: float = 0.7, seed: int = 0
) -> Held:
    """`paired_interval` without seeds. "same": equal rates; "other": a third of the problems sampled again for b;
    "lift": every logit of b is `lift` higher."""
    rng = np.random.default_rng([3, seed, problems, samples, round(1000 * rate), round(10 * shape), len(kind)])

    def rates(count: tuple[int, int]) -> tuple[Vector, Vector]:
        a = rng.beta(rate * shape, (1 - rate) * shape, count)
        if kind == "lift":
            odds = np.exp(lift) * a / np.maximum(1 - a, 1e-300)
            return a, odds / (1 + odds)
        if kind == "other":
            return a, np.where(rng.random(count) < 1 / 3, rng.beta(rate * shape, (1 - rate) * shape, count), a)
        return a, a

    a, b = rates((1, 400_000))
    truth = float((a - b).mean()) if kind == "lift" else 0.0
    a, b = (rng.binomial(samples, r) / samples for r in rates((runs, problems)))
    return held(truth, (paired_interval(x, y) for x, y in zip(a, b, strict=True)))


def two_runs_with_seeds(case: Crossed, runs: int) -> Held:
    """`paired_interval` of two equal methods with that many seeds each, on the same problems."""
    rng = np.random.default_rng([4, case.seeds, case.problems, case.samples])
    problem = case.problem_logits(rng, runs)
    a, b = case.sample(rng, runs, problem), case.sample(rng, runs, problem)
    return held(0.0, (paired_interval(x, y) for x, y in zip(a, b, strict=True)))


# ---- verdicts ------------------------------------------------------------------------------------------------------

SHAPES_OF_SEEDS = ("normal", "uniform", "exponential", "two values")


def seed_effects(shape: str, rng: np.random.Generator, size: tuple[int, ...]) -> Vector:
    """Seeds' effects of mean 0 and deviation 1."""
    if shape == "uniform":
        return np.asarray(rng.uniform(-(3**0.5), 3**0.5, size))
    if shape == "exponential":
        return np.asarray(rng.exponential(1, size) - 1)
    if shape == "two values":
        return np.asarray(0.95 * rng.choice([-1.0, 1.0], size) + 0.312 * rng.standard_normal(size))
    return rng.standard_normal(size)


def false_verdicts(seeds: int, deviation: float, shape: str, runs: int, *, untrained: bool = False) -> float:
    """How often a method is called higher or lower than itself on one of three benchmarks (48 problems, 16 samples).

    The seeds' effects are shared by the benchmarks, as those of one training are. `untrained`: the other side is the
    same rates without seeds, as a base model.
    """
    rng = np.random.default_rng([5, seeds, round(1000 * deviation), len(shape), untrained])
    rates = [np.linspace(low, high, 48) for low, high in ((0.5, 0.95), (0.3, 0.9), (0.1, 0.6))]
    wrong = 0
    for _ in range(runs):
        sides = []
        for trained in (True, not untrained):
            count = seeds if trained else 1
            effect = deviation * seed_effects(shape, rng, (count, 1)) * trained
            sides.append([rng.binomial(16, np.clip(rate + effect, 0, 1), (count, 48)) / 16 for rate in rates])
        results = [paired(a, b, trained=(True, not untrained)) for a, b in zip(*sides, strict=True)]
        adjusted = holm([r.p_value for r in results])
        words = [word(r.difference, p, None, r.seeds_covered) for r, p in zip(results, adjusted, strict=True)]
        wrong += any(w in ("higher", "lower") for w in words)
    return wrong / runs


def comebacks(seeds: int, paper_seeds: int, *, gap: float, margin: float, runs: int) -> dict[str, float]:
    """The share of each answer of `come_back`: 100 problems, 8 samples, seeds that differ by 1.5 points.

    gap: how much higher the paper's true score is than ours.
    """
    rng = np.random.default_rng([6, seeds, paper_seeds, round(1000 * gap)])
    answers = dict.fromkeys(("comes back", "does not come back", "cannot tell"), 0)
    rates = np.linspace(0.2, 0.8, 100)
    for _ in range(runs):
        ours, theirs = (
            rng.binomial(8, np.clip(rates + extra + 0.015 * rng.standard_normal((count, 1)), 0, 1), (count, 100)) / 8
            for count, extra in ((seeds, 0.0), (paper_seeds, gap))
        )
        of = repeat(ours, trained=True, samples=8, paper_samples=8, paper_seeds=paper_seeds)
        answers[come_back(float(theirs.mean()), of, margin).answer] += 1
    return {answer: count / runs for answer, count in answers.items()}


def equal_within(seeds: int, gap: float, margin: float, runs: int) -> float:
    """How often two methods, truly `gap` apart, are called equal within the margin (100 problems, 8 samples)."""
    rng = np.random.default_rng([7, seeds, round(1000 * gap)])
    rates = np.linspace(0.2, 0.8, 100)
    equal = 0
    for _ in range(runs):
        a, b = (
            rng.binomial(8, rates + extra + 0.01 * rng.standard_normal((seeds, 1)), (seeds, 100)) / 8
            for extra in (gap, 0.0)
        )
        p = paired(a, b, margin=margin).p_equal
        equal += p is not None and p <= 0.05
    return equal / runs


def _verdicts(runs: int) -> Iterator[str]:
    yield (
        "\n## False verdicts: a method against itself\n\nThree benchmarks of 48 problems, 16 samples, Holm over the "
        "three; seeds whose effect (shared by the benchmarks) has the given deviation in points and shape. Share with "
        "higher or lower on some benchmark, percent. With one seed no verdict about a method is possible. In brackets: "
        "against the same model untrained, whose side has no seeds.\n"
    )
    deviations = (0.0, 0.02, 0.06)
    heads = [f"{shape}, {100 * d:g}" for shape in SHAPES_OF_SEEDS for d in deviations if d or shape == "normal"]
    yield "| seeds a side | " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * len(heads)
    for seeds in SEEDS:
        print(f"false verdicts: {seeds} seeds", file=sys.stderr)
        cells = [
            f"{100 * false_verdicts(seeds, d, shape, runs):.1f} "
            f"({100 * false_verdicts(seeds, d, shape, runs, untrained=True):.1f})"
            for shape in SHAPES_OF_SEEDS
            for d in deviations
            if d or shape == "normal"
        ]
        yield f"| {seeds} | " + " | ".join(cells) + " |"
    yield (
        "\n## Comes back, equal within\n\n100 problems, 8 samples, seeds of 1.5 points (comes back) and 1 point (equal "
        'within); margin 5 points. Errors: "does not come back" at a true gap of 0, "comes back" and "equal" at a '
        "true gap of 5. Percent.\n"
    )
    yield (
        "| our seeds | paper's seeds | gap 0: comes back | does not | cannot tell | gap 5: comes back | does not "
        "| equal at gap 0 | equal at gap 5 |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for seeds in SEEDS:
        equal = [equal_within(seeds, gap, 0.05, runs) for gap in (0.0, 0.05)]
        for theirs in (1, 3):
            same = comebacks(seeds, theirs, gap=0.0, margin=0.05, runs=runs)
            apart = comebacks(seeds, theirs, gap=0.05, margin=0.05, runs=runs)
            shares = [*same.values(), apart["comes back"], apart["does not come back"], *equal]
            yield f"| {seeds} | {theirs} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |"


# ---- the document --------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(prog="coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="simulations of a case (default 1000)")
    parser.add_argument("--write", action="store_true", help="write results/coverage.md as well")
    asked = parser.parse_args()
    text = "\n".join(document(asked.runs))
    print(text)
    if asked.write:
        (ROOT / "results" / "coverage.md").write_text(text + "\n", encoding="utf-8")
    return 0


def document(runs: int) -> Iterator[str]:
    command = "OMP_NUM_THREADS=1 python -m benchmarks.coverage --write"
    yield "# Coverage of the 95 % intervals"
    yield ""
    yield (
        f"Written by `{command}` on {time.strftime('%Y-%m-%d')}; not edited by hand. Each case is {runs} simulated "
        "evaluations with a known true rate and a fixed seed, so one standard deviation of a share near 0.95 is "
        f"{np.sqrt(0.95 * 0.05 / runs):.4f}, and the extremes of many cases lie up to four of these further out than "
        "the truth. `cases` counts those of which fewer than a quarter of the intervals carry the label `rough` "
        "(`evals.stats.intervals.Interval`), and `labelled` the others; `outside` are those beyond 93 to 97 %."
    )
    for title, text, cases in _sections(runs):
        yield f"\n## {title}\n\n{text}\n"
        yield from _table(title, cases)
    yield from _verdicts(runs)
    yield "\n## What no method holds\n"
    yield from _limits()


Cases = dict[str, list[Callable[[], Held]]]


def _sections(runs: int) -> Iterator[tuple[str, str, Cases]]:
    beta: Cases = {}
    for p, n, rate, shape in product(PROBLEMS, SAMPLES, RATES, SHAPES):
        if n > 1 or shape == SHAPES[0]:  # one sample a problem is correct at the mean rate for every shape
            beta.setdefault(f"P = {p}, n = {n}", []).append(
                lambda p=p, n=n, rate=rate, shape=shape: beta_problems(p, n, rate, shape, runs)  # type: ignore[misc]
            )
    yield (
        "Over problems (`over_problems`)",
        f"P problems of Beta(rate s, (1 - rate) s) difficulty, n samples each; rates {RATES}, s {SHAPES}.",
        beta,
    )
    mixed: Cases = {}
    for p, n, (hopeless, solved) in product(
        PROBLEMS, (1, 16), ((0.5, 0.0), (0.8, 0.0), (0.3, 0.3), (0.0, 0.6), (0.9, 0.05))
    ):
        mixed.setdefault(f"P = {p}", []).append(
            lambda p=p, n=n, h=hopeless, s=solved: mixed_problems(p, n, h, s, runs)  # type: ignore[misc]
        )
    yield (
        "Over problems, other shapes",
        "Of the problems 50, 80, 30, 0 or 90 % are hopeless, 0, 0, 30, 60 or 5 % always solved, the others uniform; "
        "n in (1, 16).",
        mixed,
    )
    crossed = [Crossed(*c) for c in product(SEEDS, (30, 272), (1, 16), (-4.0, -2.0, 0.0), (0.0, 0.3, 0.8))]
    deviations = "problems' logits of deviation 2, seeds' of 0, 0.3, 0.8 (0, 4, 10 points), interactions 0.3"
    yield (
        "Over problems and training seeds (`over_problems_and_seeds`)",
        f"S seeds, P in (30, 272), n in (1, 16); {deviations}; mean rates 0.07, 0.23, 0.5.",
        {f"S = {s}": [lambda c=c: both(c, runs) for c in crossed if c.seeds == s] for s in SEEDS},  # type: ignore[misc]
    )
    yield (
        "Over training seeds, the problems held fixed (`over_seeds`)",
        f"Ten sets of problems each; {deviations}. Seeds that are all alike have no interval and are not counted.",
        {
            f"S = {s}": [
                lambda c=c: on_fixed_problems(c, runs)  # type: ignore[misc]
                for c in crossed
                if c.seeds == s and c.centre != -4.0
            ]
            for s in SEEDS
        },
    )
    pairs: Cases = {}
    for kind, p, n, rate, shape in product(
        ("same", "other", "lift"), (30, 83, 500), (1, 16), (0.02, 0.1, 0.5, 0.9), (0.3, 3.0)
    ):
        pairs.setdefault(f"{kind}, P = {p}", []).append(
            lambda p=p, n=n, rate=rate, shape=shape, kind=kind: two_runs(p, n, rate, shape, kind, runs)  # type: ignore[misc]
        )
    yield (
        "Paired difference of two runs (`paired`)",
        "same: equal rates on every problem; other: a third of the problems new in the second run; lift: every "
        "logit 0.7 higher there. n in (1, 16), mean rates 0.02, 0.1, 0.5, 0.9, s in (0.3, 3). Two equal runs that "
        "hardly ever solve anything hardly ever differ: an interval about zero then holds zero nearly always.",
        pairs,
    )
    yield (
        "Paired difference with training seeds (`paired`)",
        f"Two equal methods, S seeds each; {deviations}. The degrees of freedom are those of the side with fewer "
        "seeds, whatever the two spreads are; where these are equal, as here, it covers more than 95 %.",
        {
            f"S = {s}": [
                lambda c=c: two_runs_with_seeds(c, runs)  # type: ignore[misc]
                for c in crossed
                if c.seeds == s and c.centre != -4.0
            ]
            for s in SEEDS
        },
    )


def _table(title: str, cases: Cases) -> Iterator[str]:
    yield "| case | cases | min | mean | max | outside | labelled | their min | their max |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, simulations in cases.items():
        print(f"{title}: {name}", file=sys.stderr)
        simulated = [simulate() for simulate in simulations]
        plain, rough = ([f.share for f in simulated if f.labelled is rough] for rough in (False, True))
        outside = sum(not 0.93 <= share <= 0.97 for share in plain)
        cells = [name, str(len(plain)), *_extremes(plain), str(outside) if plain else "–"]
        low, _, high = _extremes(rough)
        yield "| " + " | ".join([*cells, str(len(rough)), low, high]) + " |"


def _extremes(shares: list[float]) -> tuple[str, str, str]:
    if not shares:
        return "–", "–", "–"
    return f"{100 * min(shares):.1f}", f"{100 * np.mean(shares):.1f}", f"{100 * max(shares):.1f}"


def one_sample_exactly(problems: int, rates: Vector) -> Vector:
    """The exact coverage with one sample a problem, where the number of correct samples is binomial: no simulation."""
    from scipy.stats import binom

    ends = [over_problems([1.0] * correct + [0.0] * (problems - correct)) for correct in range(problems + 1)]
    inside = np.array([[i is not None and i.low <= rate <= i.high for i in ends] for rate in rates])
    return np.asarray((inside * binom.pmf(np.arange(problems + 1), problems, rates[:, None])).sum(axis=1))


def _limits() -> Iterator[str]:
    yield (
        "**One sample a problem.** The number right is then binomial, so an interval can take P + 1 values, and its "
        "coverage jumps by the probability of one of them wherever the rate passes an end. Computed exactly, without "
        "draws, over 400 rates from 0.01 to 0.5 (by symmetry to 0.99):\n"
    )
    yield "| P | rates with P x rate >= 5: min | mean | max | below 93 | above 97 | P x rate < 5: min | mean | max |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for problems in PROBLEMS:
        rates = np.geomspace(0.01, 0.5, 400)
        share = one_sample_exactly(problems, rates)
        usual, rare = share[problems * rates >= 5], share[problems * rates < 5]
        some = [f"{100 * np.mean(usual < 0.93):.1f} %", f"{100 * np.mean(usual > 0.97):.1f} %"]
        cells = [str(problems), *_extremes(list(usual)), *some, *_extremes(list(rare))]
        yield "| " + " | ".join(cells) + " |"
    yield (
        "\nAt a rate of 0.005 and P = 30, say, nothing is solved with probability 0.86, one problem with 0.13: an "
        "interval holds 0.005 in 86 or in 99 % of the evaluations, whatever the method, and nothing lies between.\n\n"
        "**Rare successes, several samples.** How much problems vary decides the width, and few problems that were "
        "ever solved do not show it. With 2 of 30 problems solved once in 8 samples, all problems may be alike (rate "
        "about 0.01), or a few may be solvable and happened not to be drawn; the same data need a narrow interval in "
        "one case and a wide one in the other. These intervals are wide enough for the second, so they hold up to "
        "99.5 % in the first, and say `rough`.\n\n"
        "**Two training seeds.** Their spread has one degree of freedom: an interval that holds 95 % when seeds differ "
        "much (Student's t, 12.7 standard errors) holds more when they differ about as much as problems do."
    )


if __name__ == "__main__":
    sys.exit(main())

"""Methods of unlike spread, of which one collapses now and then, and tables with many arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from evals.stats.collapses import undoing
from evals.stats.differences import estimated, holm, paired
from evals.stats.intervals import Estimate, t_quantile

Vector = NDArray[np.float64]
SEEDS = (3, 5, 10, 20, 40)
STABLE = 0.01  # deviation of the seeds' effects without a collapse
COLLAPSES = ((0.1, 0.5), (0.2, 0.3), (0.1, 0.2))  # how often, by how much
TABLES = 200
GAINS = (0.05, 0.2, 0.4)  # how much better one stable method is than another


@dataclass(frozen=True)
class Rules:
    """Shares of simulated comparisons. covered: the interval holds the truth. welch: its test gives a verdict. widest:
    a test that gives both sides the larger spread does. needs_none: a verdict that assumes nothing of collapses that
    no seed shows. without: one about trainings that do not collapse (`evals.stats.collapses`)."""

    covered: float
    welch: float
    widest: float
    needs_none: float
    without: float


def compare(
    seeds: int, rate: float, drop: float, gain: float = 0.0, *, both: bool = False, runs: int = 300, problems: int = 500
) -> Rules:
    """A stable method, minus one that collapses by `drop` with probability `rate` (`both`: the first one does, too) and
    is `gain` better on average. 4 samples a problem."""
    rng = np.random.default_rng([8, seeds, round(100 * rate), round(100 * drop), round(100 * gain), both])
    outcomes = []
    for _ in range(runs):
        rates = 0.35 + 0.3 * rng.beta(0.45, 0.55, problems)  # far from 0 and 1, so that a drop is a drop
        sides = []
        for collapses, more in ((both, 0.0), (True, gain)):
            effect = STABLE * rng.standard_normal((seeds, 1)) + more
            if collapses:
                effect = effect + rate * drop - drop * (rng.random((seeds, 1)) < rate)
            sides.append(rng.binomial(4, np.clip(rates + effect, 0, 1)) / 4)
        a, b = sides
        interval = estimated([(a, b)])[0].interval()
        assert interval is not None
        true = _mean(rates, rate, drop, both, 0.0) - _mean(rates, rate, drop, True, gain)
        resolved = not interval.low <= 0 <= interval.high
        means = [side.mean(axis=1) for side in (a, b)]
        largest = max(float(method_means.var(ddof=1)) for method_means in means)
        reach = t_quantile(0.975, seeds - 1) * np.sqrt(2 * largest / seeds)
        undone = undoing((float(a.mean()), float(b.mean())), (seeds, seeds), "avg") is not None
        outcomes.append(
            (
                interval.low <= true <= interval.high,
                resolved,
                abs(float(a.mean() - b.mean())) > max(reach, 1e-12) and resolved,
                resolved and not undone,
                resolved and undone,
            )
        )
    return Rules(*np.mean(outcomes, axis=0).tolist())


def _mean(rates: Vector, rate: float, drop: float, collapses: bool, gain: float) -> float:
    """The mean of a side over all trainings. Clipping moves it."""
    if not collapses:
        return float(np.clip(rates + gain, 0, 1).mean())
    above = rates + gain + rate * drop
    return float(((1 - rate) * np.clip(above, 0, 1) + rate * np.clip(above - drop, 0, 1)).mean())


@dataclass(frozen=True)
class Tables:
    """Shares of simulated tables with a false verdict, and of true differences that are resolved."""

    false: float
    false_whole: float
    power: float
    power_whole: float


def tables(seeds: int, arms: int = 5, benchmarks: int = 6, gain: float = 0.06, runs: int = TABLES) -> Tables:
    """Tables of `arms` minus one reference on each benchmark, with Holm over an arm's benchmarks or over the table.

    false: all arms are equal. power: the first arm is `gain` better on all benchmarks.
    """
    rng = np.random.default_rng([9, seeds, arms, benchmarks])
    counts = np.zeros(4)
    for _ in range(runs):
        rates = 0.2 + 0.5 * rng.beta(0.45, 0.55, (benchmarks, 30))
        effects = 0.02 * rng.standard_normal((arms + 1, seeds, 1))
        chances = [[np.clip(rates_of_benchmark + effect, 0, 1) for rates_of_benchmark in rates] for effect in effects]
        *measured, reference = [
            [rng.binomial(8, rates_of_benchmark) / 8 for rates_of_benchmark in row] for row in chances
        ]
        lifted = [
            rng.binomial(8, np.clip(rates_of_benchmark + effects[0] + gain, 0, 1)) / 8 for rates_of_benchmark in rates
        ]
        estimates = [[estimated([p])[0] for p in zip(row, reference, strict=True)] for row in measured]
        better = [paired(*pair).p_value for pair in zip(lifted, reference, strict=True)]
        counts += (
            any(some_verdict(row) for row in estimates),
            some_verdict([estimate for row in estimates for estimate in row]),
            np.mean(_resolved(holm(better))),
            np.mean(_resolved(holm(better, family=arms * benchmarks))),  # the other arms' p-values count as 1
        )
    return Tables(*(counts / runs).tolist())


def some_verdict(estimates: Sequence[Estimate]) -> bool:
    """Whether Holm's correction leaves some verdict: the least p-value of m is at most 0.05 / m, so that an interval at
    the level 1 - 0.05 / m excludes zero."""
    intervals = [estimate.interval(1 - 0.05 / len(estimates)) for estimate in estimates]
    return any(i is not None and not i.low <= 0 <= i.high for i in intervals)


def _resolved(p_values: Sequence[float | None]) -> list[bool]:
    return [p is not None and p <= 0.05 for p in p_values]


def lines(runs: int) -> Iterator[str]:
    """The two sections of the page."""
    yield "\n## Methods of unlike spread: one collapses now and then\n"
    yield (
        "Two methods have equal means over all trainings, with 500 problems and 4 samples. A is stable (1 point "
        f"between seeds), B collapses. A row has {runs} comparisons, and one standard deviation is at most "
        f"{50 / np.sqrt(runs):.1f}. Numbers are percent.\n\n"
        "- *none shown*: the probability that no seed of B collapses (computed)\n"
        "- *covered*: the interval of the difference contains the true difference\n"
        "- *Welch*: false verdicts if only Welch's test decides\n"
        "- *larger spread*: false verdicts if both sides get the larger spread\n"
        "- *needs no assumption*: how often `rlvr compare` says *higher* or *lower*. The means are equal, so each is a "
        "false verdict.\n"
        "- *without collapses*: how often it says so only about trainings that do not collapse. Of them, it is true.\n"
    )
    names = ("covered", "Welch", "larger spread", "needs no assumption", "without collapses")
    yield f"| B collapses | seeds | none shown | {' | '.join(names)} |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    worst = 0.0
    for (rate, drop), seeds, both in product(COLLAPSES, SEEDS, (False, True)):
        if both and seeds not in (3, 10):
            continue
        rules = compare(seeds, rate, drop, both=both, runs=runs)
        worst = max(worst, rules.needs_none)
        name = f"{100 * rate:g} %, by {100 * drop:g} points{', and so does A' * both}"
        shares = (rules.covered, rules.welch, rules.widest, rules.needs_none, rules.without)
        yield f"| {name} | {seeds} | {100 * (1 - rate) ** seeds:.0f} | {_percents(shares)} |"
    yield f"\nIn the column *needs no assumption*, the worst row has {100 * worst:.1f} %.\n"
    yield "In the next table, both methods are stable, and B is better. These verdicts are true.\n"
    yield f"| B is better by | seeds | {' | '.join(names[1:])} |"
    yield "|---|---:|---:|---:|---:|---:|"
    for gain, seeds in product(GAINS, SEEDS[:4]):
        rules = compare(seeds, 0.0, 0.0, gain, runs=max(50, runs // 4))
        shares = (rules.welch, rules.widest, rules.needs_none, rules.without)
        yield f"| {100 * gain:g} points | {seeds} | {_percents(shares)} |"
    yield (
        "\n**A limit of every rule.** Some methods never collapse, and other methods have not collapsed yet. Their "
        "seeds look the same. Let a rule resolve a difference d between stable methods with probability w. "
        "Let one method collapse by d / r with probability r. The collapses then cancel d in the mean, and "
        "the rule errs with probability w (1 - r)^S. For r = 10 %, this is 73, 59 and 35 % of w with 3, 5 and "
        "10 seeds.\n\n"
        "So with few seeds, a rule must miss differences of 5 points, or say which trainings its verdict is about. "
        "`rlvr compare` says which trainings. Giving both sides the larger spread does not help, because "
        "these seeds show no spread."
    )
    yield "\n## Tables with many arms\n"
    yield (
        "Five arms minus one reference on six benchmarks (30 problems, 8 samples, 2 points between seeds). "
        "*false*: percent of tables with a false verdict when all arms are equal. *found*: percent of the "
        f"differences of an arm that is 6 points better. A row has {TABLES} tables, and one standard deviation of "
        "*false* is about 2.\n"
    )
    yield "| seeds | false, Holm per arm | false, Holm over all | found, Holm per arm | found, Holm over all |"
    yield "|---:|---:|---:|---:|---:|"
    for seeds in (3, 5, 10):
        of_tables = tables(seeds, runs=TABLES)
        shares = (of_tables.false, of_tables.false_whole, of_tables.power, of_tables.power_whole)
        yield f"| {seeds} | {_percents(shares, '.1f')} |"
    yield (
        "\nTables use Holm's correction per arm. A verdict is then the same as in `rlvr compare`, and does not "
        "depend on the other arms of the table. Two numbers stand below each table: the error rate of the "
        "whole table, and how many differences stay resolved if all are corrected together."
    )


def _percents(shares: Sequence[float], form: str = ".0f") -> str:
    return " | ".join(format(100 * share, form) for share in shares)

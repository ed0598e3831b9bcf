"""Power against a printed table, against simulations with the test itself, and its inputs against known spreads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.provenance import Origin, assumed
from evals.stats.intervals import MIN_SEEDS, joined_estimate
from evals.stats.power import Spread, chance, default_spread, measured_spread, seeds_needed, seeds_of_claim
from evals.stats.verdict_table import VerdictTable
from tests.evals.stats.test_score import seeds as seed_tables
from tests.evals.stats.test_score import table


def spread(within: float = 0.2, difference: float = 0.15, seed: float = 0.02) -> Spread:
    return Spread(*(assumed(value, "a test") for value in (within, difference, seed)))


def test_one_seed_is_the_paired_t_test() -> None:
    # A paired t test with a difference of half a standard deviation, 5 % two-sided: any power table gives 34 pairs for
    # 80 %, 44 for 90 %. Here the standard deviation of a pair's difference is sqrt(2) 0.2.
    noise = spread(within=0.2, difference=0.0)
    for target_power, pairs in ((0.8, 34), (0.9, 44)):
        fewer, enough = (
            chance(0.5 * math.sqrt(2) * 0.2, noise, problems=p, samples=1, seeds=1) for p in (pairs - 1, pairs)
        )
        assert fewer < target_power <= enough
    # and its size is the level's
    assert chance(1e-9, noise, problems=12, samples=1, seeds=1) == pytest.approx(0.05, abs=1e-6)


CASES: list[tuple[float, dict[str, float], int, int, int]] = [  # difference, spread, problems, samples, seeds
    (0.10, {"difference": 0.2}, 30, 4, 1),
    (0.05, {}, 30, 16, 3),
    (0.05, {}, 30, 1, 10),
    (0.10, {"seed": 0.05}, 100, 4, 5),
    (0.05, {"seed": 0.0, "difference": 0.1}, 500, 1, 3),
    (1e-9, {}, 30, 1, 3),
    (0.10, {"seed": 0.05}, 100, 4, 2),  # two seeds are averaged and not covered
]


@pytest.mark.parametrize(("difference", "values", "problems", "samples", "seeds"), CASES)
def test_the_stated_power_is_that_of_the_test(
    difference: float, values: dict[str, float], problems: int, samples: int, seeds: int
) -> None:
    s = spread(**values)
    stated = chance(difference, s, problems=problems, samples=samples, seeds=seeds)
    rng = np.random.default_rng(1)
    runs, resolved = 1_000, 0
    for _ in range(runs):
        hard, more = 0.3 * rng.standard_normal(problems), s.difference_sd.value * rng.standard_normal(problems)
        a, b = (
            of_method
            + s.seed_sd.value * (seeds >= MIN_SEEDS) * rng.standard_normal((seeds, 1))
            + s.within_sd.value / math.sqrt(samples) * rng.standard_normal((seeds, problems))
            for of_method in (hard + more, hard)
        )
        interval = joined_estimate([[a + difference], [b]], None).interval()
        assert interval is not None
        resolved += not interval.low <= 0 <= interval.high
    assert resolved / runs == pytest.approx(stated, abs=3 * math.sqrt(stated * (1 - stated) / runs))


@settings(max_examples=30)
@given(st.floats(0.02, 0.3), st.floats(0, 0.4), st.integers(3, 60), st.integers(1, 20))
def test_more_of_anything_is_never_less_chance(
    difference: float, deviation: float, problems: int, samples: int
) -> None:
    s = spread(difference=deviation)

    def at(d: float = difference, p: int = problems, n: int = samples) -> float:
        return chance(d, s, problems=p, samples=n, seeds=1)

    base = at()
    assert 0.05 - 1e-6 <= base <= 1
    assert at(d=-difference) == pytest.approx(base)
    for more in (at(d=1.2 * difference), at(p=2 * problems), at(n=4 * samples)):
        assert more >= base - 1e-6


def test_what_is_needed_is_the_least_that_suffices() -> None:
    s = spread(difference=0.07)
    k = seeds_needed(0.05, s, target_power=0.8, problems=100, samples=4)
    assert k is not None and k > 2
    assert chance(0.05, s, problems=100, samples=4, seeds=k - 1) < 0.8
    assert chance(0.05, s, problems=100, samples=4, seeds=k) >= 0.8
    # thirty problems that differ between the methods by 0.15 leave a standard error of 2.7 points whatever the number
    # seeds: 5 points are 1.8 of their standard errors, short of the 2.8 that 80 % needs
    assert seeds_needed(0.05, spread(), target_power=0.8, problems=30, samples=64) is None


def test_the_seeds_of_a_claim_over_several_benchmarks() -> None:
    s = spread(difference=0.05)
    parts = [(0.10, s, 100, 4), (0.04, s, 500, 1), (0.06, s, 400, 2)]
    each = [seeds_needed(d, s, target_power=0.8, problems=p, samples=n) or 0 for d, s, p, n in parts]
    assert len({*each}) == 3
    assert seeds_of_claim("each", parts, 0.8) == max(each) and seeds_of_claim("most", parts, 0.8) == sorted(each)[1]
    assert seeds_of_claim("each", [*parts, (0.0, s, 30, 1)], 0.8) is None  # no difference at all
    # the variance over problems of the mean, (0.05^2 / 100 + 0.05^2 / 500 + 0.05^2 / 400) / 9, as of 100 problems
    between = math.sqrt(100 * 0.05**2 * (1 / 100 + 1 / 500 + 1 / 400) / 9)
    within = math.sqrt(100 * 0.2**2 * (1 / 400 + 1 / 500 + 1 / 800) / 9)
    mean = spread(within=within, difference=between)
    assert seeds_of_claim("average", parts, 0.8) == seeds_needed(
        0.2 / 3, mean, target_power=0.8, problems=100, samples=1
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chance(0, spread(), problems=30, samples=1, seeds=1), "difference: .* got 0"),
        (lambda: chance(5, spread(), problems=30, samples=1, seeds=1), "difference: .* got 5"),
        (lambda: chance(0.1, spread(), problems=2, samples=1, seeds=1), "problems: .* at least 3, got 2"),
        (lambda: chance(0.1, spread(), problems=30, samples=1, seeds=1.5), "seeds: .* got 1.5"),  # type: ignore[arg-type]
        (lambda: seeds_needed(0.1, spread(), target_power=80, problems=30, samples=1), "power: .* got 80"),
        (lambda: spread(seed=2.0), "seed_sd: expected a number from 0 to 1, got 2.0"),
    ],
)
def test_bad_numbers_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# where the spread is from


def test_published_noise_by_hand() -> None:
    # aime24: variances 14.44, 15.21, 10.24, 16 squared points, mean 13.9725. Times 30 problems, a tenth of a thousandth
    got = default_spread("aime24")
    assert got.within_sd.value**2 == pytest.approx(30 * 13.9725e-4)
    assert (got.within_sd.origin, got.seed_sd.origin) == (Origin.PAPER, Origin.ASSUMED)
    assert {v.origin for v in default_spread("minerva").sourced().values()} == {Origin.ASSUMED}


def counted(problems: dict[str, str]) -> VerdictTable:
    return VerdictTable.of_rows(table(problems))


def test_moments_by_hand() -> None:
    # shares 1/2, 0, 1 of two samples: within^2 = mean(2 * 1/4, 0, 0) = 1/6
    first = counted({"p": "+a", "q": "aa", "r": "++"})
    got = measured_spread(first, "X", fallback=spread())
    assert got.within_sd.value**2 == pytest.approx(1 / 6)
    assert (got.within_sd.origin, got.within_sd.note) == (Origin.USER, "measured on X")
    assert (got.seed_sd, got.difference_sd) == (spread().seed_sd, spread().difference_sd)
    # against shares 0, 1, 1: differences 1/2, -1, 0 of variance (4/9 + 25/36 + 1/36) / 2 = 7/12, less (1/6) / 2 and 0
    got = measured_spread(first, "X", fallback=spread(), second=counted({"p": "aa", "q": "++", "r": "++"}))
    assert got.difference_sd.value**2 == pytest.approx(7 / 12 - 1 / 12)
    for other in (counted({"p": "+a", "q": "aa", "s": "++"}), counted({"p": "+a", "q": "aa", "r": "+?"})):
        with pytest.raises(ValueError, match="X: expected at least 3 problems with 2 scored samples each, got 2"):
            measured_spread(first, "X", fallback=spread(), second=other)
    coins = counted({"p": "+a", "q": "+a", "r": "+a"})  # 2 * 1/4 each, but no share varies by more than 1/4
    assert measured_spread(coins, "X", fallback=spread()).within_sd.value == 0.5
    alike = counted({"p": "aa", "q": "bb", "r": "cc"})  # all incorrect: nothing varies here, and may elsewhere
    assert measured_spread(alike, "X", fallback=spread(), second=alike) == spread()


def test_a_known_spread_is_recovered() -> None:
    rng = np.random.default_rng(3)
    problems, seeds, samples = 400, 6, 8
    hard = rng.uniform(0.25, 0.75, problems)  # the variance is 1/48 = 0.0208
    more = 0.1 * rng.choice([-1, 1], problems)

    def run(rates: Any) -> VerdictTable:
        of_seed = rates + 0.05 * rng.choice([-1, 1], (seeds, 1)) + 0.08 * rng.choice([-1, 1], (seeds, problems))
        right = rng.binomial(samples, of_seed)
        rows = ({f"p{i}": "+" * c + "a" * (samples - c) for i, c in enumerate(row)} for row in right)
        return VerdictTable.of_rows(seed_tables(*rows))

    got = measured_spread(run(hard), "X", fallback=spread(), second=run(hard + more))
    assert got.difference_sd.value == pytest.approx(0.1, abs=0.01)
    assert 0.02 < got.seed_sd.value < 0.08  # six seeds tell little
    # within^2 = E[r (1 - r)] = 1/4 - (1/48 + 0.05^2 + 0.08^2)
    assert got.within_sd.value == pytest.approx(math.sqrt(0.25 - 0.0208 - 0.0025 - 0.0064), abs=0.01)


def test_what_is_not_above_the_noise_is_said_and_two_seeds_measure_no_spread() -> None:
    """Two methods with the same verdicts: their difference varies less than the noise of independent samples would.
    Two training seeds have a variance with one degree of freedom."""
    cells = [(seed, p, i) for seed in (0, 1) for p in range(4) for i in range(4)]
    verdicts = ["correct" if sum(cell) % 2 else "wrong" for cell in cells]
    rows = pd.DataFrame(cells, columns=["train_seed", "problem_id", "sample"]).assign(verdict=verdicts, boxed=True)
    same = VerdictTable.of_rows(rows.assign(answer_class=rows["sample"]))
    before = default_spread()
    measured = measured_spread(same, "A and B", fallback=before, second=same)
    assert measured.within_sd.note == "measured on A and B"
    assert measured.seed_sd == before.seed_sd
    assert measured.difference_sd.value == 0
    assert measured.difference_sd.note == "measured on A and B: no more than independent samples vary, taken as 0"


def test_two_runs_measure_the_same_in_either_order() -> None:
    """One of two samples right in every problem (variance 1/2), and in the first alone of four (1/8): 5/16 is above a
    coin's 1/4. With none but that problem on both sides it is 1/8."""
    halves = pd.DataFrame([(p, i) for p in range(4) for i in range(2)], columns=["problem_id", "sample"])
    half_right = halves.assign(verdict=["correct", "wrong"] + ["wrong"] * 6, boxed=True, answer_class=halves["sample"])
    all_of_them = half_right.assign(verdict=["correct", "wrong"] * 4)
    a, b = VerdictTable.of_rows(half_right), VerdictTable.of_rows(all_of_them)
    spreads = [measured_spread(*pair[:1], "x", fallback=default_spread(), second=pair[1]) for pair in ((a, b), (b, a))]
    assert spreads[0].within_sd == spreads[1].within_sd
    assert spreads[0].within_sd.value == 0.5
    assert measured_spread(a, "x", fallback=default_spread(), second=a).within_sd.value == pytest.approx(
        math.sqrt(1 / 8)
    )

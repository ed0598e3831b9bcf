"""Power against a printed table, against simulations with the test itself, and its inputs against known spreads."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.provenance import Origin, assumed
from evals.stats.differences import paired
from evals.stats.intervals import MIN_SEEDS, joined_estimate
from evals.stats.power import Spread, chance, default_spread, measured_spread, power, seeds_needed
from evals.stats.verdict_table import VerdictTable
from tests.evals.stats.test_score import seeds as seed_tables
from tests.evals.stats.test_score import table


def spread(
    within: float = 0.2, between: float = 0.35, rho: float = 0.9, interaction: float = 0.0, seed: float = 0.02
) -> Spread:
    return Spread(*(assumed(value, "a test") for value in (within, between, rho, interaction, seed)))


def test_one_seed_is_the_paired_t_test() -> None:
    # A paired t test with a difference of half a standard deviation, 5 % two-sided: any power table gives 34 pairs for
    # 80 %, 44 for 90 %. Here the standard deviation of a pair's difference is sqrt(2) 0.2.
    noise = spread(within=0.2, between=0.0)
    for target_power, pairs in ((0.8, 34), (0.9, 44)):
        fewer, enough = (
            chance(0.5 * math.sqrt(2) * 0.2, noise, problems=p, samples=1, seeds=1) for p in (pairs - 1, pairs)
        )
        assert fewer < target_power <= enough
    # and its size is the level's
    assert chance(1e-9, noise, problems=12, samples=1, seeds=1) == pytest.approx(0.05, abs=1e-6)


CASES: list[tuple[float, dict[str, float], int, int, int]] = [  # difference, spread, problems, samples, seeds
    (0.10, {"rho": 0.8}, 30, 4, 1),
    (0.05, {}, 30, 16, 3),
    (0.05, {"interaction": 0.1}, 30, 1, 10),
    (0.10, {"seed": 0.05}, 100, 4, 5),
    (0.05, {"seed": 0.0, "rho": 0.95}, 500, 1, 3),
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
    rho, runs, resolved = s.correlation.value, 1_000, 0
    cell = math.hypot(s.interaction_sd.value, s.within_sd.value / math.sqrt(samples))
    for _ in range(runs):
        shared, own = rng.standard_normal((2, problems))
        of_b = rho * shared + math.sqrt(1 - rho**2) * own
        a, b = (
            s.between_sd.value * hard
            + s.seed_sd.value * (seeds >= MIN_SEEDS) * rng.standard_normal((seeds, 1))
            + cell * rng.standard_normal((seeds, problems))
            for hard in (shared, of_b)
        )
        estimate = joined_estimate([[a + difference], [b]], None)
        interval = estimate.interval()
        assert interval is not None
        resolved += not interval.low <= 0 <= interval.high
    assert resolved / runs == pytest.approx(stated, abs=3 * math.sqrt(stated * (1 - stated) / runs))


@pytest.mark.parametrize(("samples", "seeds"), [(1, 1), (16, 1), (4, 3)])
def test_binary_answers_have_about_the_normal_chance(samples: int, seeds: int) -> None:
    # Method b is right on problem p with probability 0.8 q, a with 0.8 q + 0.1, q uniform: between = 0.8 / sqrt(12),
    # correlation 1. within^2 = E[r (1 - r)] = m - m^2 - between^2, averaged over m = 0.4 and 0.5. No seeds: 0.
    between = 0.8 / math.sqrt(12)
    within = math.sqrt((0.24 + 0.25) / 2 - between**2)
    stated = chance(0.1, spread(within, between, 1.0, 0.0, 0.0), problems=60, samples=samples, seeds=seeds)
    rng = np.random.default_rng(2)
    runs, resolved = 1_000, 0
    for _ in range(runs):
        rate = 0.8 * rng.random(60)
        a, b = (rng.binomial(samples, r, (seeds, 60)) / samples for r in (rate + 0.1, rate))
        interval = paired(a, b).interval
        assert interval is not None
        resolved += not interval.low <= 0 <= interval.high
    assert stated > 0.1
    assert resolved / runs == pytest.approx(stated, abs=0.02 + 3 * math.sqrt(stated * (1 - stated) / runs))


@settings(max_examples=30)
@given(st.floats(0.02, 0.3), st.floats(0, 0.4), st.floats(-1, 1), st.integers(3, 60), st.integers(1, 20))
def test_more_of_anything_is_never_less_chance(
    difference: float, between: float, rho: float, problems: int, samples: int
) -> None:
    s = spread(between=between, rho=rho)

    def at(d: float = difference, p: int = problems, n: int = samples) -> float:
        return chance(d, s, problems=p, samples=n, seeds=1)

    here = at()
    assert 0.05 - 1e-6 <= here <= 1
    assert at(d=-difference) == pytest.approx(here)
    for more in (at(d=1.2 * difference), at(p=2 * problems), at(n=4 * samples)):
        assert more >= here - 1e-6


def test_more_seeds_are_more_chance() -> None:
    powers = [chance(0.1, spread(seed=0.05), problems=100, samples=4, seeds=s) for s in (3, 5, 10, 30, 100)]
    assert powers == sorted(powers)


def test_what_is_needed_is_the_least_that_suffices() -> None:
    s = spread(rho=0.98)
    k = seeds_needed(0.05, s, target_power=0.8, problems=100, samples=4)
    assert k is not None and k > 2
    assert chance(0.05, s, problems=100, samples=4, seeds=k - 1) < 0.8
    assert chance(0.05, s, problems=100, samples=4, seeds=k) >= 0.8
    # thirty problems that differ between the methods by sqrt(0.2) 0.35 leave a standard error of 2.9 points whatever
    # the number of seeds: 5 points are 1.75 of them, short of the 2.8 that 80 % needs
    assert seeds_needed(0.05, spread(), target_power=0.8, problems=30, samples=64) is None


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
    # aime24: variances 14.44, 15.21, 10.24, 16 squared points, mean 13.9725; times 30 problems, a tenth of a thousandth
    got = default_spread("aime24")
    assert got.within_sd.value**2 == pytest.approx(30 * 13.9725e-4)
    single = (0.207 * 0.793 + 0.157 * 0.843 + 0.08 * 0.92 + 0.43 * 0.57) / 4
    assert got.between_sd.value**2 == pytest.approx(single - 30 * 13.9725e-4)
    assert (got.within_sd.origin, got.seed_sd.origin) == (Origin.PAPER, Origin.ASSUMED)
    assert {v.origin for v in default_spread("minerva").sourced().values()} == {Origin.ASSUMED}


def counted(problems: dict[str, str]) -> VerdictTable:
    return VerdictTable.of_rows(table(problems))


def test_moments_by_hand() -> None:
    # shares 1/2, 0, 1 of two samples: within^2 = mean(2 * 1/4, 0, 0) = 1/6; their variance 1/4 less (1/6) / 2
    got = measured_spread(counted({"p": "+a", "q": "aa", "r": "++"}), "X", fallback=spread())
    assert got.within_sd.value**2 == pytest.approx(1 / 6)
    assert got.between_sd.value**2 == pytest.approx(1 / 4 - 1 / 12)
    assert (got.within_sd.origin, got.within_sd.note) == (Origin.USER, "measured on X")
    assert (got.seed_sd, got.interaction_sd) == (spread().seed_sd, spread().interaction_sd)
    with pytest.raises(ValueError, match="X: expected at least 3 problems with 2 scored samples each, got 2"):
        measured_spread(counted({"p": "+a", "q": "aa", "r": "+?"}), "X", fallback=spread())
    other = counted({"p": "+a", "q": "aa", "s": "++"})
    with pytest.raises(ValueError, match="X: expected at least 3 problems"):  # of both
        measured_spread(counted({"p": "+a", "q": "aa", "r": "++"}), "X", fallback=spread(), other=other)


def test_a_known_spread_is_recovered() -> None:
    rng = np.random.default_rng(3)
    problems, seeds, samples = 400, 6, 8
    hard = rng.uniform(0.25, 0.75, problems)  # deviation 0.5 / sqrt(12) = 0.144
    # half of the variance of b's problems comes from a's and half is independent, so the correlation is 1 / sqrt(2)
    hard_b = 0.5 + (hard - 0.5) / 2 + (rng.uniform(0.25, 0.75, problems) - 0.5) / 2

    def run(rates: Any) -> Any:
        of_seed = rates + 0.05 * rng.choice([-1, 1], (seeds, 1)) + 0.08 * rng.choice([-1, 1], (seeds, problems))
        right = rng.binomial(samples, of_seed)
        rows = ({f"p{i}": "+" * c + "a" * (samples - c) for i, c in enumerate(row)} for row in right)
        return VerdictTable.of_rows(seed_tables(*rows))

    got = measured_spread(run(hard), "X", fallback=spread(), other=run(hard_b))
    assert got.between_sd.value == pytest.approx(0.144, abs=0.01)
    assert got.interaction_sd.value == pytest.approx(0.08, abs=0.01)
    assert 0.02 < got.seed_sd.value < 0.08  # six seeds tell little
    assert got.correlation.value == pytest.approx(1 / math.sqrt(2), abs=0.06)
    # within^2 = E[r (1 - r)] = 1/4 - (0.144^2 + 0.05^2 + 0.08^2)
    assert got.within_sd.value == pytest.approx(math.sqrt(0.25 - 0.0208 - 0.0025 - 0.0064), abs=0.01)


def test_an_effect_that_differs_by_problem_has_less_chance() -> None:
    alike, few = (replace(spread(between=0.0), effect_sd=assumed(sd, "a test")) for sd in (0.0, 0.15))
    stated = chance(0.05, few, problems=100, samples=16, seeds=1)
    assert stated < chance(0.05, alike, problems=100, samples=16, seeds=1)
    # by simulation with normal effects: the test's own share of resolved differences
    rng = np.random.default_rng(8)
    resolved, runs = 0, 600
    for _ in range(runs):
        effect = 0.05 + 0.15 * rng.standard_normal(100)
        noise = 0.2 / 4 * rng.standard_normal((2, 100))
        interval = paired(effect + noise[0], noise[1], bounds=None).interval
        assert interval is not None
        resolved += not interval.low <= 0 <= interval.high
    assert resolved / runs == pytest.approx(stated, abs=3 * math.sqrt(stated * (1 - stated) / runs))


def test_a_table_prints_itself_and_is_json() -> None:
    result = power(0.05, benchmark="math500", problems=500, samples=(1, 4), seeds=(3,), spread=None)
    document = result.as_json()
    assert [row["samples"] for row in document["rows"]] == [1, 4]
    one, four = (row["power_by_seeds"]["3"] for row in document["rows"])
    assert 0 < one < four < 1 and document["model"]["within_sd"]["origin"] == "paper"
    assert one == chance(0.05, default_spread("math500"), problems=500, samples=1, seeds=3)
    assert "math500, 500 problems" in str(result)

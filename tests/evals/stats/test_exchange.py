"""The exact test of two checkpoints: by enumeration, and its level."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from evals.stats.exchange import exchange_p
from evals.stats.verdict_table import VerdictTable, pass_at_k
from tests.evals.stats.test_score import seeds, table


def of(counts: list[int], samples: int) -> VerdictTable:
    """That many of the samples of each problem are correct."""
    return VerdictTable(table({f"p{i}": "+" * c + "a" * (samples - c) for i, c in enumerate(counts)}))


@pytest.mark.parametrize(("metric", "k"), [("avg", None), ("pass", 2)])
def test_every_division_by_enumeration(metric: str, k: int | None) -> None:
    a, b, n = [4, 2, 0], [1, 2, 0], 4

    def value(c: int) -> float:
        return c / n if metric == "avg" else pass_at_k(n, c, 2)

    seen = abs(sum(value(x) - value(y) for x, y in zip(a, b, strict=True)))
    larger = ties = 0.0
    both = [x + y for x, y in zip(a, b, strict=True)]
    for first in product(*(range(max(0, m - n), min(n, m) + 1) for m in both)):
        chance = np.prod(
            [comb(m, x) * comb(2 * n - m, n - x) / comb(2 * n, n) for m, x in zip(both, first, strict=True)]
        )
        apart = abs(sum(value(x) - value(m - x) for m, x in zip(both, first, strict=True)))
        ties += chance * (abs(apart - seen) < 1e-9)
        larger += chance * (apart > seen + 1e-9)
    # 4,000 random divisions: one standard deviation is at most 0.008
    assert exchange_p(of(a, n), of(b, n), metric, k) == pytest.approx(larger + ties / 2, abs=0.03)


def test_it_keeps_its_level_where_the_test_over_problems_never_rejects() -> None:
    # 30 problems, 16 samples, most of them always or never solved: results/coverage.md has 0 % for pass@8 over problems
    rng, wrong = np.random.default_rng(4), 0
    for _ in range(300):
        rates = rng.beta(0.3, 0.7, 30)
        a, b = (of(rng.binomial(16, rates).tolist(), 16) for _ in range(2))
        p = exchange_p(a, b, "pass", 8)
        assert p is not None
        wrong += p <= 0.05
    assert wrong / 300 <= 0.05 + 3 * 0.0126


def test_no_exact_p_value_for_maj_large_k_or_several_seeds() -> None:
    one = of([1, 2], 4)
    assert exchange_p(one, one, "maj", 4) is None
    assert exchange_p(one, one, "pass", 8) is None  # four samples a problem
    assert exchange_p(one, VerdictTable(seeds({"p0": "+a", "p1": "aa"}, {"p0": "++", "p1": "aa"})), "avg", None) is None
    assert exchange_p(one, one, "avg", None) == pytest.approx(1.0, abs=0.25)  # every division is at least as far apart

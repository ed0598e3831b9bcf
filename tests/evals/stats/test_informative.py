"""The expected share of groups that teach something, against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.stats.informative import as_text, informative, mixed
from evals.stats.verdict_table import VerdictTable
from tests.evals.analysis.verdict_tables import table


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))))
def test_the_chance_is_that_of_all_subsets(case: tuple[int, int, int]) -> None:
    correct, n, size = case
    samples = [1] * correct + [0] * (n - correct)
    groups = list(combinations(samples, size))
    slow = sum(0 < sum(group) < size for group in groups) / len(groups)
    assert mixed([correct], [n], size)[0] == pytest.approx(slow)


def test_the_estimate_is_unbiased() -> None:
    # p = 0.3, n = 6, G = 3: the mean over binomial c is 1 - 0.3^3 - 0.7^3 = 0.63
    n, p = 6, 0.3
    weights = [float(np.prod([(n - i) / (i + 1) for i in range(c)])) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    assert sum(w * mixed([c], [n], 3)[0] for c, w in enumerate(weights)) == pytest.approx(0.63)


def test_more_responses_than_samples_give_a_lower_bound() -> None:
    rows = VerdictTable.of_rows(table({"a": "cccc", "b": "wwww", "c": "ccww", "d": "cwww"}))
    # G = 4: c and d are mixed. G = 2: c 4 of 6 pairs, d 3 of 6, so (2/3 + 1/2) / 4
    assert informative(rows, 4)[0] == 0.5 and not informative(rows, 4)[2]
    assert informative(rows, 2)[0] == pytest.approx((2 / 3 + 1 / 2) / 4)
    share, _, bound = informative(rows, 8)
    assert (share, bound) == (0.5, True)
    (line,) = as_text({"x": rows}, 8)
    assert "G = 8: at least 50 % [" in line and "G = 2: 29 %" in line
    with pytest.raises(ValueError, match="expected 1 to 4"):
        mixed([1], [4], 5)

"""A group against the rest: means by hand, a loop, and what cannot be said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.contrast import contrast, measure_side


def test_by_hand() -> None:
    #          p: 1, 3 | 0      q: 2 | 2, 4     r: 9 |
    values = [1, 3, 0, 2, 2, 4, 9]
    member = [True, True, False, True, False, False, True]
    result = contrast(values, member, list("pppqqqr"))
    # group: problem means 2, 2, 9; rest: 0, 3; both sides in p and q: differences 2, -1
    assert (result.group.count, result.group.problems) == (4, 3) and result.group.mean == pytest.approx(13 / 3)
    assert result.group.pooled == pytest.approx(15 / 4) and result.rest.pooled == 2 and result.rest.mean == 1.5
    assert result.problems == 2 and result.difference is not None
    assert result.difference.difference == 0.5
    # differences 2 and -1: t = 0.5 / 1.5 = 1/3 on one degree of freedom, so p = 1 - 2 atan(1/3) / pi
    assert result.difference.p_value == pytest.approx(1 - 2 * math.atan(1 / 3) / math.pi, abs=1e-6)
    # t with one degree of freedom, 12.706; the variance of the mean of (2, -1) is 4.5 / 2
    assert result.difference.interval is not None
    assert result.difference.interval.high == pytest.approx(0.5 + 12.7062 * 1.5, rel=1e-4)


VALUES = st.lists(st.tuples(st.floats(-5, 5), st.booleans(), st.sampled_from("pqrs")), min_size=1, max_size=30)


@given(VALUES)
def test_equals_a_loop(rows: list[tuple[float, bool, str]]) -> None:
    result = contrast(*zip(*rows, strict=True))
    differences = []
    for problem in "pqrs":
        inside = [v for v, m, p in rows if m and p == problem]
        outside = [v for v, m, p in rows if not m and p == problem]
        if inside and outside:
            differences.append(sum(inside) / len(inside) - sum(outside) / len(outside))
    assert result.problems == len(differences)
    if differences:
        assert result.difference is not None
        assert result.difference.difference == pytest.approx(sum(differences) / len(differences), abs=1e-9)
    else:
        assert result.difference is None


def test_an_empty_side_is_nan_and_not_zero() -> None:
    side = measure_side([], [])
    assert math.isnan(side.mean) and math.isnan(side.pooled) and math.isnan(side.low) and side.count == 0
    assert contrast([1.0, 2.0], [False, False], ["p", "q"]).difference is None
    assert measure_side([1.0], ["p"]).interval is None  # one problem shows no spread


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="expected finite numbers"):
        measure_side([np.nan], ["p"])
    with pytest.raises(ValueError, match="expected one length, got 1, 2, 1"):
        contrast([1.0], [True, False], ["p"])

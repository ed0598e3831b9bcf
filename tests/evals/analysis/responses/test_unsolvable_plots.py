"""Venn diagrams and UpSet plots: the counts, and where they stand."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest

from evals.analysis.responses.unsolvable import _CENTRES, _inside, plot_unsolvable
from evals.analysis.subjects import Subject
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.verdict_tables import table

RUNS = [
    {"p": "w", "q": "c", "r": "w"},
    {"p": "w", "q": "w", "r": "c"},
    {"p": "w", "q": "c", "r": "c"},
    {"p": "c", "q": "c", "r": "c"},
]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_regions_are_counted(count: int) -> None:
    subjects = [Subject(f"m{i}", {"b": table(problems)}) for i, problems in enumerate(RUNS[:count])]
    (plot,) = plot_unsolvable(subjects)
    counts = dict(zip(plot.numbers["unsolved by exactly"], plot.numbers["problem_ids"], strict=True))
    assert (
        counts
        == [
            {"m0": "p r", "": "q"},
            {"m0 & m1": "p", "m0": "r", "m1": "q"},
            {"m0 & m1 & m2": "p", "m0": "r", "m1": "q"},
            {"m0 & m1 & m2": "p", "m0": "r", "m1": "q"},
        ][count - 1]
    )
    assert "3 problems" in plot.caption and "first 1 scored samples" in plot.caption
    check_renders(plot)


@pytest.mark.parametrize("count", [2, 4])
def test_problems_that_all_solve_can_be_drawn(count: int) -> None:
    (plot,) = plot_unsolvable([Subject(f"m{i}", {"b": table({"p": "c"})}) for i in range(count)])
    assert plot.numbers["problems"].tolist() == [1]
    check_renders(plot)


@pytest.mark.parametrize("count", _CENTRES)
def test_each_count_stands_inside_exactly_its_circles(count: int) -> None:
    centres = np.array(_CENTRES[count])
    for chosen in chain.from_iterable(combinations(range(count), size) for size in range(1, count + 1)):
        away = np.linalg.norm(centres - _inside(centres, chosen), axis=1)
        # with 0.1 to spare on either side of a circle of radius 1
        assert all(away[i] < 0.9 if i in chosen else away[i] > 1.1 for i in range(count)), chosen

"""Venn diagrams and UpSet plots: the counts, and where they stand."""

from __future__ import annotations

import pytest

from evals.analysis.responses.unsolvable import plot_unsolvable
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
def test_an_empty_set_of_unsolved_problems_is_plotted(count: int) -> None:
    (plot,) = plot_unsolvable([Subject(f"m{i}", {"b": table({"p": "c"})}) for i in range(count)])
    assert plot.numbers["problems"].tolist() == [1]
    check_renders(plot)


@pytest.mark.parametrize("count", [2, 3])
def test_the_numbers_in_the_circles_are_those_of_the_table(count: int) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    (plot,) = plot_unsolvable([Subject(f"m{i}", {"b": table(problems)}) for i, problems in enumerate(RUNS[:count])])
    figure = Figure(figsize=plot.size)
    FigureCanvasAgg(figure)
    plot.render(figure)
    shown = sorted(text.get_text() for text in figure.axes[0].texts if text.get_text().isdigit())
    # p in all sets, r in m0 alone; q is solved by m0 (and m2), unsolved by m1: three regions of one problem, the rest 0
    assert shown == ["0"] * (2**count - 4) + ["1"] * 3
    solved = [text.get_text() for text in figure.axes[0].texts if text.get_text().startswith("solved")]
    assert solved == ["solved by all: 0"]

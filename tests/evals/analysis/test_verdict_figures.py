"""Figures of verdicts: the numbers behind them, what captions say, and runs with few or missing values."""

from __future__ import annotations

import pytest

from evals.analysis.forms import plot_verdicts
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.verdict_tables import table


def test_numbers_and_captions() -> None:
    runs = {
        "base": table({"p": "cwwn", "q": "wwtu"}),
        "a run of a long name " * 5: table({"p": "ccww", "q": "cwww"}),
    }
    plots = {plot.name: plot for plot in plot_verdicts(runs)}
    assert list(plots) == ["pass_at_k", "answer_diversity", "response_length", "response_form"]
    curves = plots["pass_at_k"].numbers
    # base: p 1 of 4, q 0 of 3; the other: 2 and 1 of 4. All problems have three scored samples.
    assert curves["k"].tolist() == [1, 2, 3] * 2
    assert curves.loc[curves["k"] == 1, "mean"].tolist() == pytest.approx([12.5, 37.5])
    caption = plots["pass_at_k"].caption
    assert "2 problems, n = 4 samples" in caption and "could not be scored: 1" in caption
    form = plots["response_form"].numbers.set_index(["model", "measure"])
    assert form.loc[("base", "truncated"), "mean"] == pytest.approx(100 / 8)
    for plot in plots.values():
        check_renders(plot)

"""Scores over a training: values in the plots' units, seeds, averages, quality."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.evaluation import (
    AVERAGE,
    measured_benchmarks,
    plot_evaluation,
    quality_over_steps,
    with_average,
)
from evals.analysis.training_curves import over_seeds
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.verdict_tables import table

ORDER = ["base", "GRPO", "EGSW"]


def frame(shift: float = 0.0) -> pd.DataFrame:
    """Steps 1 to 4; two benchmarks, evaluated at steps 2 and 4 (the second of them only at 4)."""
    return pd.DataFrame(
        {
            "step": [1, 2, 3, 4], "train/reward": 1.0,
            "curve/a/avg@4": [np.nan, 0.2 + shift, np.nan, 0.3 + shift], "curve/a/pass@1": [np.nan, 0.2, np.nan, 0.3],
            "curve/a/pass@4": [np.nan, 0.5, np.nan, 0.4], "curve/a/mean_tokens": [np.nan, 30.0, np.nan, 20.0],
            "curve/b/avg@4": [np.nan, np.nan, np.nan, 0.5],
        }
    )  # fmt: skip


def test_the_average_is_over_steps_with_all_benchmarks() -> None:
    curves = with_average(frame())
    # step 4 alone has both: (0.3 + 0.5) / 2, and no change since itself
    assert curves[f"curve/{AVERAGE}/avg@4"].tolist()[3] == pytest.approx(0.4)
    assert curves[f"curve/{AVERAGE}/avg@4"].isna().tolist() == [True, True, True, False]
    assert curves[f"curve/{AVERAGE}/change"].tolist()[3] == 0
    one = frame().drop(columns="curve/b/avg@4")
    assert with_average(one) is one


def test_scores_are_in_percent_and_of_the_largest_k() -> None:
    seeds = over_seeds([with_average(frame()), with_average(frame(0.1))])
    curves = {"GRPO": seeds, "EGSW": with_average(frame())}
    assert measured_benchmarks(curves) == ["a", "b", AVERAGE]
    plots = {plot.name: plot for plot in plot_evaluation(ORDER, curves)}
    assert list(plots) == ["evaluation_a", "evaluation_b", "evaluation_average"]
    numbers = plots["evaluation_a"].numbers
    assert "curve/a/pass@1" not in numbers and numbers["step"].tolist() == [2, 4, 2, 4]
    grpo = numbers[numbers["model"] == "GRPO"]
    # seeds 0.2 and 0.3: mean 25 %; t(0.975, 1) = 12.706 times 0.1 / sqrt 2 / sqrt 2 = 0.6353
    assert grpo["curve/a/avg@4"].tolist() == pytest.approx([25, 35])
    assert grpo["curve/a/avg@4 high"].iloc[0] == pytest.approx(25 + 63.53, abs=0.01)
    assert grpo["curve/a/mean_tokens"].tolist() == [30, 20]  # tokens are no percentage
    assert "GRPO 2, EGSW 1" in plots["evaluation_a"].caption  # training seeds
    for plot in plots.values():
        check_renders(plot)


def test_runs_without_evaluations_are_refused() -> None:
    with pytest.raises(ValueError, match=r"eval\.every"):
        plot_evaluation(ORDER, {"GRPO": frame()[["step", "train/reward"]]})
    with pytest.raises(ValueError, match="got none"):
        quality_over_steps({}, "a", ORDER)


def test_quality_over_steps_by_hand() -> None:
    early = table({"p": "cw", "q": "ww"}, response=[r"\boxed{1}", "所以", "x", r"\boxed{2} \boxed{3}"])
    late = table({"p": "cw", "q": "ww"}, response=[r"\boxed{1}"] * 4)
    plot = quality_over_steps({"GRPO": {5: early, 10: late}}, "a", ORDER)
    rows = plot.numbers.set_index(["measure", "step"])["value"]
    # p: one of two has not exactly one box, q: two of two; late: none
    assert rows["format_violation", 5] == pytest.approx(75) and rows["format_violation", 10] == 0
    assert rows["language_mixing", 5] == pytest.approx(25)
    check_renders(plot)

"""Figures of training curves: means and bands over seeds, scores in percent, and runs that lack metrics."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.training_curves import (
    AVERAGE,
    SPREAD,
    fair_performance,
    mean_over_seeds,
    plot_scores,
    plot_training,
    score_columns,
    with_average,
)
from evals.stats.score import score
from harness.step.spread import SPREAD_METRICS
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.verdict_tables import table

NAMES = ["base", "GRPO", "a run of a long name " * 5]
STEPS = np.arange(1, 61)
ENTROPY = 0.1 + 0.7 * np.exp(-STEPS / 15)


def curves(model: str = "GRPO", seed: int = 0, **columns: object) -> pd.DataFrame:
    """A rise to step 20, then a plateau."""
    frame = pd.DataFrame(
        {
            "model": model,
            "seed": seed,
            "step": STEPS,
            "train/reward": 0.2 + 0.02 * np.minimum(STEPS, 20),
            "train/entropy": ENTROPY,
            "train/entropy_positive": 0.8 * ENTROPY,
            "train/entropy_negative": 1.2 * ENTROPY,
            "train/grad_norm": 1.0,
            "train/response_length": 100.0 + STEPS,
            "train/zero_variance_groups": STEPS / 100,
        }
    )
    return frame.assign(**columns)


def joined(*frames: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(frames, ignore_index=True)


def scores(shift: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Steps 1 to 4. Two benchmarks, evaluated at steps 2 and 4 (the second of them only at 4)."""
    return pd.DataFrame(
        {
            "model": "GRPO", "seed": seed, "step": [1, 2, 3, 4], "train/reward": 1.0,
            "curve/a/avg_at_4": [np.nan, 0.2 + shift, np.nan, 0.3 + shift],
            "curve/a/pass_at_1": [np.nan, 0.2, np.nan, 0.3], "curve/a/pass_at_4": [np.nan, 0.5, np.nan, 0.4],
            "curve/a/mean_tokens": [np.nan, 30.0, np.nan, 20.0], "curve/b/avg_at_4": [np.nan, np.nan, np.nan, 0.5],
        }
    )  # fmt: skip


def test_accuracy_compares_runs_only_where_all_have_it() -> None:
    with_accuracy = curves(**{"train/accuracy": 0.4})
    assert fair_performance(with_accuracy) == "train/accuracy"
    assert fair_performance(joined(with_accuracy, curves(NAMES[2]))) == "train/reward"


def test_how_updates_are_spread_is_one_figure_of_all_methods() -> None:
    assert SPREAD == SPREAD_METRICS  # evals imports nothing of the harness
    values = {"train/token_gini": 0.2, "train/token_effective_share": 0.9, "train/token_top_share": 0.02}
    both = joined(curves(**values), curves(NAMES[2], **{"train/token_gini": 0.8}))
    plots = {plot.name: plot for plot in plot_training(NAMES, both)}
    plot = plots["training_token_spread"]
    check_renders(plot)
    means = plot.numbers.groupby(["panel", "model"])["mean"].unique().map(list).to_dict()
    assert means == {
        ("train/token_gini", "GRPO"): [0.2],
        ("train/token_gini", NAMES[2]): [0.8],
        ("train/token_effective_share", "GRPO"): [0.9],
        ("train/token_top_share", "GRPO"): [0.02],
    }
    assert "training_token_spread" not in {plot.name for plot in plot_training(NAMES, curves())}


def test_a_band_of_a_share_ends_at_its_limits() -> None:
    from matplotlib.figure import Figure

    seeds = joined(*(curves(seed=s, **{"train/accuracy": value}) for s, value in enumerate((0.1, 0.5))))
    plot = plot_training(NAMES, seeds)[0]
    wide = plot.numbers[plot.numbers["panel"] == "train/accuracy"]
    assert wide["low"].max() < 0 and wide["high"].min() > 1  # the t-interval of two seeds
    check_renders(plot)
    figure = Figure()
    plot.render(figure)
    bands = [path.vertices[:, 1] for collection in figure.axes[0].collections for path in collection.get_paths()]
    assert bands and all(band.min() >= 0 and band.max() <= 1 for band in bands)


def test_the_average_is_over_steps_with_all_benchmarks() -> None:
    averaged = with_average(scores())
    # step 4 alone has both: (0.3 + 0.5) / 2, and no change since itself
    assert averaged[f"curve/{AVERAGE}/avg_at_4"].tolist()[3] == pytest.approx(0.4)
    assert averaged[f"curve/{AVERAGE}/avg_at_4"].isna().tolist() == [True, True, True, False]
    assert averaged[f"curve/{AVERAGE}/change"].tolist()[3] == 0
    single = scores().drop(columns="curve/b/avg_at_4")
    assert with_average(single) is single


def test_the_names_of_real_scores_are_read() -> None:
    """Those under which an evaluation while training is logged (`Score.key`)."""
    made = score(table({"p": "cw", "q": "cc"}), ks=(1, 2), metrics=("avg", "pass", "maj", "fmt", "mean_tokens"))
    logged = pd.DataFrame([{"model": "GRPO", "seed": 0, "step": 1, **{f"curve/b/{s.key}": s.value for s in made}}])
    assert score_columns(logged, "b") == {
        "avg": "curve/b/avg_at_2", "pass": "curve/b/pass_at_2", "maj": "curve/b/maj_at_2", "fmt": "curve/b/fmt",
        "mean_tokens": "curve/b/mean_tokens",
    }  # fmt: skip
    check_renders(plot_scores(NAMES, logged)[0])


def test_scores_are_in_percent_and_of_the_largest_k() -> None:
    seeds = joined(scores(), scores(0.1, seed=1))
    assert score_columns(seeds, "a")["pass"] == "curve/a/pass_at_4"
    plots = {plot.name: plot for plot in plot_scores(NAMES, seeds)}
    assert list(plots) == ["evaluation_a", "evaluation_b", "evaluation_average"]
    numbers = plots["evaluation_a"].numbers.set_index(["panel", "step"])
    # seeds 0.2 and 0.3: mean 25 %. t(0.975, 1) = 12.706 times 0.1 / sqrt 2 / sqrt 2 = 0.6353
    assert numbers.loc["curve/a/avg_at_4"]["mean"].tolist() == pytest.approx([25, 35])
    assert numbers.loc[("curve/a/avg_at_4", 2), "high"] == pytest.approx(25 + 63.53, abs=0.01)
    assert numbers.loc["curve/a/mean_tokens"]["mean"].tolist() == [30, 20]  # tokens are no percentage
    for plot in plots.values():
        check_renders(plot)
    with pytest.raises(ValueError, match=r"eval\.every"):
        plot_scores(NAMES, curves())


def test_band_over_seeds_by_hand() -> None:
    frame = pd.DataFrame({"model": "a", "seed": [0, 1, 2], "step": 5, "accuracy": [1.0, 2.0, 3.0]})
    row = mean_over_seeds(frame, "accuracy").iloc[0]
    # mean 2, standard deviation 1, t(0.975, 2 degrees) = 4.3027: half-width 4.3027 / sqrt 3
    assert (row["mean"], row["seeds"]) == (2, 3) and row["high"] == pytest.approx(2 + 4.30265 / 3**0.5, abs=1e-4)
    assert row["low"] == pytest.approx(2 - 4.30265 / 3**0.5, abs=1e-4)


def test_the_caption_says_the_fewest_and_the_most_seeds_behind_a_point() -> None:
    diverged = curves(seed=2)
    diverged = diverged[diverged["step"] <= 20]
    [first, *_] = plot_training(NAMES, joined(curves(seed=0), curves(seed=1), diverged, curves("base")))
    assert "Steps and training seeds: GRPO 60, 2 to 3, base 60, 1." in first.caption
    assert "Where a seed has no value, as after it diverged, the mean is over the others." in first.caption
    [first, *_] = plot_training(NAMES, joined(curves(seed=0), curves(seed=1)))
    assert "GRPO 60, 2." in first.caption and "diverged" not in first.caption


def test_one_seed_has_no_band_and_a_missing_value_is_not_zero() -> None:
    frame = pd.DataFrame({"model": "a", "seed": [0, 1, 0], "step": [1, 1, 2], "accuracy": [0.5, np.nan, 0.7]})
    means = mean_over_seeds(frame, "accuracy")
    assert means["mean"].tolist() == [0.5, 0.7] and means["seeds"].tolist() == [1, 1]
    assert means[["low", "high"]].isna().all(axis=None)


def test_a_missing_column_and_a_step_that_is_there_twice_are_named() -> None:
    frame = pd.DataFrame({"model": "grpo", "seed": [0, 0], "step": [0, 0], "accuracy": 0.5})
    with pytest.raises(ValueError, match="seed"):
        mean_over_seeds(frame.drop(columns="seed"), "accuracy")
    with pytest.raises(ValueError, match="model 'grpo', seed 0, step 0"):
        mean_over_seeds(frame, "accuracy")

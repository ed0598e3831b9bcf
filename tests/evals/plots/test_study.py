"""The study's figures: numbers by hand, many arms, what is missing, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from evals.plots.labels import clusters, number_ranges
from evals.plots.study import (
    OUTCOMES,
    accuracy_against_entropy,
    claims_forest,
    learning_curves,
    mean_over_seeds,
    pass_at_k_curves,
    placebo_points,
    sweep,
)
from tests.evals.analysis.rendered import check_renders


def curves(arms: int, seeds: int = 3, steps: int = 20) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    rows = itertools.product(["grpo", *(f"arm{i}" for i in range(1, arms))], range(seeds), range(0, steps * 10, 10))
    frame = pd.DataFrame(rows, columns=["arm", "seed", "step"])
    return frame.assign(accuracy=0.2 + frame["step"] / 1000 + 0.02 * generator.normal(size=len(frame)))


def test_band_over_seeds_by_hand() -> None:
    frame = pd.DataFrame({"arm": "a", "seed": [0, 1, 2], "step": 5, "accuracy": [1.0, 2.0, 3.0]})
    row = mean_over_seeds(frame, "accuracy").iloc[0]
    # mean 2, standard deviation 1, t(0.975, 2 degrees) = 4.3027: half-width 4.3027 / sqrt 3
    assert (row["mean"], row["seeds"]) == (2, 3) and row["high"] == pytest.approx(2 + 4.30265 / 3**0.5, abs=1e-4)
    assert row["low"] == pytest.approx(2 - 4.30265 / 3**0.5, abs=1e-4)


def test_one_seed_has_no_band_and_a_missing_value_is_not_zero() -> None:
    frame = pd.DataFrame({"arm": "a", "seed": [0, 1, 0], "step": [1, 1, 2], "accuracy": [0.5, np.nan, 0.7]})
    means = mean_over_seeds(frame, "accuracy")
    assert means["mean"].tolist() == [0.5, 0.7] and means["seeds"].tolist() == [1, 1]
    assert means[["low", "high"]].isna().all(axis=None)
    check_renders(learning_curves(frame, "accuracy", label="accuracy (fraction)"))


@pytest.mark.parametrize("arms", [1, 7, 13])
def test_learning_curves_of_few_and_many_arms(arms: int) -> None:
    plot = learning_curves(curves(arms), "accuracy", label="accuracy (fraction)", note="Tiny scale.")
    assert set(plot.numbers["arm"]) == {"grpo", *(f"arm{i}" for i in range(1, arms))}
    assert "Seeds: 3." in plot.caption and plot.caption.endswith("Tiny scale.")
    check_renders(plot)


@pytest.mark.parametrize("arms", [2, 12])
def test_pass_at_k_in_percent(arms: int) -> None:
    names = ["base", "grpo", *(f"m{i}" for i in range(arms))]
    frame = pd.DataFrame(itertools.product(names, (1, 2, 4, 8, 16)), columns=["arm", "k"])
    frame = frame.assign(**{"pass": frame["k"] / 32, "low": frame["k"] / 40, "high": frame["k"] / 20})
    plot = pass_at_k_curves(frame)
    assert plot.numbers.loc[plot.numbers["k"] == 16, "mean"].tolist() == [50.0] * len(names)
    assert frame["pass"].max() == 0.5  # the caller's frame is left as it was
    check_renders(plot)


def scatter(arms: int, families: int) -> pd.DataFrame:
    rows = itertools.product([f"arm {i}" for i in range(arms)], [f"family {f}" for f in range(families)])
    frame = pd.DataFrame(rows, columns=["arm", "family"])
    generator = np.random.default_rng(1)
    frame["group"] = [f"paper {int(arm.split()[1]) % 6}" for arm in frame["arm"]]
    frame["entropy"], frame["accuracy"] = generator.uniform(0, 1, (2, len(frame)))
    for value in ("entropy", "accuracy"):
        frame[f"{value}_low"], frame[f"{value}_high"] = frame[value] - 0.05, frame[value] + 0.05
    return frame


def test_accuracy_against_entropy_of_forty_arms() -> None:
    plot = accuracy_against_entropy(scatter(40, 2))
    assert len(plot.numbers) == 80 and plot.numbers["accuracy"].max() > 1.5  # percent
    check_renders(plot)
    with pytest.raises(ValueError, match="at most 7"):
        accuracy_against_entropy(scatter(8, 1).assign(group=range(8)))


def test_claims_are_marked_by_their_outcome() -> None:
    frame = pd.DataFrame(
        {
            "claim": [f"claim number {i} of a paper, in a few words" for i in range(6)],
            "family": ["a"] * 4 + ["b"] * 2, "p": [0.5, 0.0001, np.nan, 0.01, 1, 1],
            "difference": np.linspace(-0.1, 0.1, 6), "low": np.linspace(-0.2, 0.05, 6),
            "high": np.linspace(-0.05, 0.2, 6), "outcome": [*OUTCOMES, "appears"],
        }
    )  # fmt: skip
    plot = claims_forest(frame)
    assert "appears: 2, reversed: 1" in plot.caption and plot.numbers["difference"].iloc[0] == pytest.approx(-10)
    check_renders(plot)
    with pytest.raises(ValueError, match="got 'maybe'"):
        claims_forest(frame.assign(outcome="maybe"))


def test_placebos_are_plotted_beside_their_method() -> None:
    variants = ["method", "permuted in the group", "permuted in the response"]
    rows = itertools.product(["EGSW", "ERPO"], variants, ["chain", "search"])
    frame = pd.DataFrame(rows, columns=["method", "variant", "family"]).assign(value=0.02, low=-0.01, high=0.05)
    plot = placebo_points(frame)
    assert plot.numbers["high"].tolist() == pytest.approx([5.0] * len(frame))
    check_renders(plot)
    check_renders(placebo_points(frame[frame["family"] == "chain"]))


@pytest.mark.parametrize("log", [False, True])
def test_sweep_with_a_reference_that_has_no_value(log: bool) -> None:
    frame = pd.DataFrame({"series": "EGSW", "value": [0.3, 0.1, 0.8], "mean": 0.4, "low": 0.3, "high": 0.5})
    grpo = pd.DataFrame({"series": ["GRPO"], "value": [np.nan], "mean": [0.35], "low": [0.3], "high": [0.4]})
    plot = sweep(pd.concat([frame, grpo], ignore_index=True), knob="egsw.alpha", declared=0.3, log=log)
    assert plot.numbers["value"].tolist()[:3] == [0.1, 0.3, 0.8] and "0.3" in plot.caption
    assert plot.name == "sweep_egsw_alpha"
    check_renders(plot)


def test_missing_columns_and_empty_frames_are_named() -> None:
    with pytest.raises(ValueError, match="lacks seed"):
        learning_curves(curves(2).drop(columns="seed"), "accuracy", label="x")
    with pytest.raises(ValueError, match="one row or more"):
        pass_at_k_curves(pd.DataFrame(columns=["arm", "k", "pass", "low", "high"]))
    twice = pd.concat([curves(1), curves(1)])
    with pytest.raises(ValueError, match="arm 'grpo', seed 0, step 0 twice"):
        mean_over_seeds(twice, "accuracy")


def test_points_that_lie_together_share_a_label() -> None:
    # 0 and 2 are 0.9 apart, 2 and 3 too: one chain; 1 is 1.1 away from each in one coordinate
    places = np.array([[0, 0], [1.1, 0], [0, 0.9], [0, 1.8]])
    assert clusters(places) == [[0, 2, 3], [1]]
    assert number_ranges([12, 1, 7, 6, 5]) == "1, 5–7, 12"
    assert clusters(np.empty((0, 2))) == []

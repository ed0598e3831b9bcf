"""Gains beside those of controls: made-up verdicts with known differences."""

from __future__ import annotations

from dataclasses import replace

from harness.tables.controls import control_grid, controls_of
from harness.tables.measured import Measured
from tests.harness.tables.test_claims import measured


def base() -> Measured:
    return replace(measured("base", 5, seeds=1), trained=False)


def test_the_excess_of_a_gain_over_its_control() -> None:
    """The base solves 5 of 40 problems, the control 7 and the arm 35: gains of 75 and 5 points, an excess of 70."""
    arms = [base(), measured("new", 35), measured("new+random_reward", 7)]
    grid = control_grid("made_up", arms)
    assert grid is not None
    (row,) = grid.rows
    cells = dict(zip(grid.header, row, strict=True))
    assert (cells["arm"], cells["control"]) == ("new", "new+random_reward")
    assert cells["gain of the arm"].startswith("+75.0 ")
    assert cells["gain of the control"].startswith("+5.0 ")
    assert cells["excess [95 % interval]"].startswith("+70.0 ")
    assert cells["so"] == "the gain exceeds that of random reward by 70.0 points"


def test_a_base_model_that_was_measured_otherwise_is_not_set_beside() -> None:
    """The arms have 4 samples a problem by an override; of the base model with 1 there is no gain."""
    arms = [measured("new", 35), measured("new+random_reward", 7)]
    arms = [replace(arm, overrides="protocol.n=4") for arm in arms]
    (row,) = control_grid("m", [base(), *arms]).rows  # type: ignore[union-attr]
    assert row[5:7] == ("–", "–")
    (row,) = control_grid("m", [base(), replace(base(), overrides="protocol.n=4"), *arms]).rows  # type: ignore[union-attr]
    assert row[5].startswith("+75.0 ")


def test_a_control_that_gains_more_or_as_much() -> None:
    (more,) = control_grid("m", [measured("new", 5), measured("new+inverted_reward", 35)]).rows  # type: ignore[union-attr]
    assert more[-1] == "the gain falls short of that of inverted reward by 75.0 points"
    assert more[5] == "–"  # no base model was measured
    (same,) = control_grid("m", [measured("new", 20), measured("new+inverted_reward", 20, shift=2)]).rows  # type: ignore[union-attr]
    assert same[-1] == "not resolved from inverted reward"
    (row,) = control_grid("m", [measured("new", 35, seeds=1), measured("new+format_only", 5, seeds=1)]).rows  # type: ignore[union-attr]
    assert row[-1].endswith("points, of these checkpoints")  # one seed a side says nothing about methods


def test_only_what_differs_in_the_control_alone_is_compared() -> None:
    arm, control = measured("new", 35), measured("new+random_reward", 5)
    assert [a.arm for a, _, _ in controls_of([arm, control])] == ["new"]
    assert not list(controls_of([arm, replace(control, overrides="max_steps=3")]))
    assert not list(controls_of([arm, replace(control, model="large")]))
    assert not list(controls_of([arm, replace(control, arm="new+vector")]))  # a plus sign, and no control
    assert control_grid("m", [arm]) is None

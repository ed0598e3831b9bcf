"""The range of a value is stated once: the command line and the equation read the same annotation."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Annotated, Any, Literal, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.backends.trl.hardware import TrlHardware
from harness.backends.verl.hardware import VerlHardware
from harness.command.resolve import resolve
from harness.errors import UsageError
from harness.spec import Experiment, Method, Use, catalogue
from harness.spec.declarations import Training
from harness.spec.equation import check_hyperparameters, checked, relates
from harness.spec.ranges import Range, check_value, unmet
from harness.spec.rejection import Rejection


@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(-10, 10))
def test_an_interval_is_its_two_bounds(value: float, a: float, b: float) -> None:
    low, high = round(min(a, b), 3), round(max(a, b), 3)
    assert (value in Range(f"[{low}, {high}]")) == (low <= value <= high)
    assert (value in Range(f"({low}, {high})")) == (low < value < high)
    assert (value in Range(f"({low}, {high}]")) == (low < value <= high)
    assert (value in Range(f"[{low}, {high})")) == (low <= value < high)
    assert (value in Range(f"> {low}")) == (value > low) and (value in Range(f">= {low}")) == (value >= low)
    assert (value in Range(f"< {low}")) == (value < low) and (value in Range(f"<= {low}")) == (value <= low)


def test_a_text_that_is_no_range_is_refused() -> None:
    for text in ("0 <", "(0, 1", "at least 1", "[0; 1]", ""):
        with pytest.raises(ValueError, match="range: expected a text like"):
            Range(text)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (True, float, "a number"),
        (math.nan, float, "a finite number"),
        (-math.inf, Annotated[float, Range("< 1")], "a finite number"),
        (2.0, Annotated[float, Range("(0, 1]")], "in (0, 1]"),
        (1, Annotated[int, Range(">= 2", "why")], ">= 2 (why)"),
        (2.5, Annotated[int, Range(">= 2")], "a whole number"),
        (1, Annotated[int, Range(">= 2")] | None, ">= 2 or null"),
        ("x", int | None, "a whole number or null"),
        ((1.0, 0.0), tuple[Annotated[float, Range("> 0")], ...], "a list of numbers"),
        (0, Literal[-1, 1], "one of -1, 1"),
    ],
)
def test_what_an_annotation_expects(value: Any, kind: Any, expected: str) -> None:
    assert unmet(value, kind) == expected
    if expected:
        with pytest.raises(ValueError) as error:
            check_value("key", value, kind)
        assert str(error.value) == f"key: expected {expected}, got {value!r}"


def test_a_value_out_of_range_is_refused_before_anything_runs() -> None:
    """A value of each kind of owner. Those that depend on another value, and of the protocol."""
    for paper, arm, key, value in (
        ("egsw", "egsw", "egsw.temperature", 0),
        ("entropy_advantage", "ppo", "ppo.value_clip", -1),
        ("baselines", "clip_cov", "clip_cov.low", 9),
        ("egsw", "grpo", "lora_dropout", 1.5),
        ("forking_tokens", "dapo", "overlong.buffer", 30000),
    ):
        with pytest.raises(UsageError, match=rf"{re.escape(key)}: expected .*got {float(value):g}"):
            resolve(paper, arms=[arm], overrides={key: value})
    with pytest.raises(UsageError, match=r"weighted_reinforce\.positive"):
        resolve("baselines", arms=["nsr"], overrides={"weighted_reinforce.negative": 0})
    with pytest.raises(UsageError, match="temperature=inf"):
        resolve("egsw", arms=["grpo"], overrides={"protocol.temperature": math.inf})


def declared() -> list[Training]:
    arms = (arm for key in catalogue.papers() for arm in catalogue.load(key).arms)
    return [arm.train for arm in arms if arm.train is not None]


OUTSIDE = {  # values outside an equation's range. The test above would not see an annotation that lost its range.
    "grpo.epsilon": -1,
    "gae.lam": 1.5,
    "overlong.penalty": -1,
    "passk.k": 0,
    "passk.epsilon": -1,
    "clip_cov.share": 0,
    "kl_cov.share": 2,
    "kl_cov.coefficient": -1,
    "egsw.temperature": 0,
    "egsw.alpha": math.inf,
    "entropy_advantage.alpha": 0.0,
    "entropy_advantage.kappa": 1.0,
    "erpo.beta_p": 0.0,
    "erpo.gamma": -5.0,
    "erpo.eta": math.nan,
    "erpo.buckets": 0,
    "erpo.sigma_target": -1.0,
    "erpo.delta": -1e-4,
    "forking_tokens.rho": 0,
    "forking_tokens.scope": "batch",
    "ppl_advantage.alpha": -1.0,
    "position_advantage.gamma": -1,
    "position_advantage.bound": -1,
    "position_advantage.first_step": -1,
    "position_advantage.steps": -1,
    "select.noise": 1.0,
}


@pytest.mark.parametrize(("name", "value"), OUTSIDE.items())
def test_the_ranges_are_those_of_the_papers_and_of_mathematics(name: str, value: Any) -> None:
    owner, _, key = name.partition(".")
    owner_use = next(use for train in declared() for use in equations(train) if use.name == owner)
    values = {k: sourced.value for k, sourced in owner_use.values.items()}
    with pytest.raises(ValueError, match=f"^{key}: expected"):
        owner_use.function(None, **{**values, key: value})


def equations(train: Training) -> tuple[Use, ...]:
    owner = train.method if isinstance(train, Experiment) else train
    return owner.uses() if isinstance(owner, (Method, Rejection)) else ()


def test_values_may_be_checked_against_each_other() -> None:
    @relates(lambda values: None if values["low"] < values["high"] else f"low: expected < high, got {values['low']}")
    @checked
    def band(batch: object, *, low: float, high: float) -> str:
        return "called"

    assert band(None, low=0.0, high=1.0) == "called"
    with pytest.raises(ValueError, match=r"^low: expected < high, got 2\.0"):
        band(None, low=2.0, high=1.0)
    with pytest.raises(ValueError, match=r"^band\.low: expected < high"):
        check_hyperparameters(band, {"low": 2.0, "high": 1.0}, "band.")


def test_the_defaults_of_the_machine_fit_their_annotations() -> None:
    """The settings check only what differs from its default."""
    for settings in (TrlHardware, VerlHardware):
        kinds = get_type_hints(settings, include_extras=True)
        assert [f.name for f in fields(settings) if unmet(f.default, kinds[f.name])] == []
    with pytest.raises(ValueError, match=r"hardware\.nodes: expected >= 1, got 0"):
        VerlHardware(nodes=0)
    with pytest.raises(ValueError, match=r"hardware\.packing: expected true or false, got 1"):
        VerlHardware(packing=1)  # type: ignore[arg-type]  # equal to the default, and not it

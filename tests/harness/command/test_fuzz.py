"""No command line ends in a traceback: thousands of odd keys and values give jobs or a `UsageError`."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.backends import backend
from harness.command.config import parse_overrides, read_seeds
from harness.command.options import RunOptions
from harness.command.resolve import BACKENDS, resolve
from harness.errors import UsageError
from harness.plan.machine import hardware_of
from harness.plan.plan import plan
from harness.plan.text import blocks

ODD = (
    *(
        "nan",
        "inf",
        "-inf",
        "1e400",
        "-1e400",
        "1e308",
        "0",
        "-1",
        "null",
        "true",
        "",
        "'",
        '"',
        "${x}",
        "${oc.env:HOME}",
    ),
    *("a=b=c", "[", "]", "[]", "[[]]", "[1,[2]]", "[nan]", "{a:1}", "{}", "1,2", "1,2,", "range(1,3)", "choice(1,2)"),
    *(
        "glob(*)",
        "\x00",
        "\x1b[31m",
        "\ud800",
        "é",
        "日本",
        "🙂",
        "/",
        "..",
        "~",
        "a b",
        "'a b'",
        "\\",
        "$",
        "1_0",
        "0x10",
    ),
    *("9" * 400, "9" * 5000, "1e-400", "--x", "+1", "@x", "sort(3,1)", "int(x)", "str(1)", "[a,'b',1.5,null,true]"),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-3, 3) | st.floats(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
ARMS = (("egsw", "egsw"), ("erpo", "sft"), ("erpo", "erpo"), ("trial_and_error", "rft"), ("entropy_advantage", "ppo"))


def every_key() -> list[tuple[str, str, str]]:
    keys = []
    for paper, arm in ARMS:
        models = ["32b"] if arm == "rft" else None
        for job in resolve(paper, arms=[arm], models=models, seeds=[0])[:1]:
            keys += [(paper, arm, key) for key in job.settings()]
    return keys


KEYS = every_key()


def finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=6), st.sampled_from(ODD) | st.text(max_size=12))
def test_any_argument_parses_or_is_refused(key: str, value: str) -> None:
    try:
        parsed = parse_overrides([f"{key or 'a'}={value}"])
    except UsageError:
        return
    assert all(map(finite, parsed.values()))  # NaN and infinity never pass


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "[1,nan]", "{a:inf}", "9" * 400])
def test_parse_refuses_what_is_not_finite(value: str) -> None:
    with pytest.raises(UsageError, match="a: expected finite numbers, got"):
        parse_overrides([f"a={value}"])


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(KEYS), VALUES)
def test_any_value_of_any_key_resolves_or_is_refused(where: tuple[str, str, str], value: Any) -> None:
    paper, arm, key = where
    models = ["32b"] if arm == "rft" else None
    try:
        jobs = resolve(paper, arms=[arm], models=models, seeds=[0], overrides={key: value})
    except UsageError:
        return
    blocks(plan(jobs))


@pytest.mark.parametrize("value", [10**9 + 7, 10**18])
def test_a_huge_number_resolves_or_is_refused_without_counting_up_to_it(value: int) -> None:
    for where in KEYS:
        test_any_value_of_any_key_resolves_or_is_refused.hypothesis.inner_test(where, value)


MACHINE = [(name, key) for name in BACKENDS for key in backend(name).hardware.help()]


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(MACHINE), VALUES)
def test_any_hardware_value_is_taken_or_refused(setting: tuple[str, str], value: Any) -> None:
    name, key = setting
    try:
        hardware = hardware_of(RunOptions.from_keys({f"hardware.{key}": value}), name)
    except UsageError:
        return
    assert getattr(hardware, key) == value


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_any_seeds_are_taken_or_refused(value: Any) -> None:
    try:
        seeds = read_seeds(value)
    except UsageError:
        return
    assert 1 <= len(set(seeds)) == len(seeds)


def test_a_long_argument_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(UsageError, match=r"^cannot read .{100,250}: expected at most 10,000 characters, got 100,002$"):
        parse_overrides(["a=" + "1" * 100_000])

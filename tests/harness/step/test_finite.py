"""Checks for values that are not finite: what passes, what stops, and what the error names."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from harness.spec.method import MethodOutput
from harness.step.finite import (
    Diverged,
    check_metrics,
    check_number,
    check_output,
    check_tensor,
    check_weights,
    leave_word,
    raise_left_word,
)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_every_kind_of_nonfinite_value_stops(value: float) -> None:
    with pytest.raises(Diverged, match=rf"^diverged at step 7: loss is {value}$"):
        check_number(value, "loss", step=7)
    with pytest.raises(Diverged, match=f"reward is {value}"):
        check_tensor(torch.tensor([0.0, value]), "reward", step=1)
    with pytest.raises(Diverged, match=f"step 3: weight b is {value}"):
        check_weights([("a", torch.zeros(2)), ("ids", torch.tensor([1])), ("b", torch.tensor([1.0, value]))], step=3)


def test_finite_values_pass_and_masked_positions_do_not_count() -> None:
    check_number(1e38, "loss", step=1)
    check_metrics({"other": math.nan, "loss": 1.0}, {"loss": "loss"}, step=1)
    mask = torch.tensor([[True, False]])
    advantages, broken = torch.tensor([[1.0, math.nan]]), torch.tensor([[math.nan, 1.0]])
    check_output(MethodOutput(advantages, advantages, None, None), mask, step=1)
    with pytest.raises(Diverged, match="weights of the method is nan"):
        check_output(MethodOutput(advantages, broken, None, None), mask, step=1)
    with pytest.raises(Diverged, match="gradient norm is inf"):
        check_metrics({"norm": math.inf}, {"norm": "gradient norm"}, step=1)


def test_a_process_reports_its_divergence_to_its_parent(tmp_path: Path) -> None:
    raise_left_word(tmp_path)  # nothing there
    leave_word(Diverged(5, "loss", "nan"), tmp_path)
    with pytest.raises(Diverged) as caught:
        raise_left_word(tmp_path)
    assert caught.value.as_dict() == {"step": 5, "quantity": "loss", "value": "nan"}
    raise_left_word(tmp_path)  # read once

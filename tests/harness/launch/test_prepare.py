"""Which backend trains an arm where the command names none."""

from __future__ import annotations

import pytest

from harness.command.options import RunOptions
from harness.errors import UsageError
from harness.launch.prepare import _read, planned
from harness.plan.plan import Plan
from harness.spec.host import Host, given
from tests.hosts import UNKNOWN, WITH_BFLOAT16, WITHOUT_BFLOAT16


def backends(*words: str) -> dict[str, str]:
    """model/arm -> its backend, by the plan."""
    return {f"{arm.job.model}/{arm.job.arm}": arm.job.backend for arm in plan(*words).arms}


def plan(*words: str) -> Plan:
    values = dict(word.split("=", 1) for word in words)
    paper = values.pop("paper")
    options = RunOptions.from_keys({k: v.split(",") if k == "arm" else v for k, v in values.items()})
    return planned(paper, options, check=False)


def test_verl_trains_all_arms_where_trl_cannot_train_one_of_them() -> None:
    arms = "arm=base,grpo,ppo"
    assert backends("paper=entropy_advantage", "scale=paper", "model=7b", arms) == {
        "7b/base": "trl",  # not trained
        "7b/grpo": "verl",
        "7b/ppo": "verl",
    }
    planned_runs = plan("paper=entropy_advantage", "scale=paper", "model=7b", arms)
    assert (
        planned_runs.backends == ("verl",)
        and planned_runs.paper.trainer is not None
        and planned_runs.paper.trainer.value == "veRL"
    )
    base, grpo, ppo = (arm.why_backend for arm in planned_runs.arms)
    assert base is None and grpo == "one backend then trains all arms"
    assert ppo is not None and "has no trainer with a critic" in ppo
    assert backends("paper=entropy_advantage", "scale=paper", "model=7b", "arm=base,grpo") == {
        "7b/base": "trl",
        "7b/grpo": "trl",
    }


def test_each_arm_has_its_own_backend_where_neither_can_train_all() -> None:
    """TRL has no dynamic sampling, veRL no rejection sampling."""
    words = ("paper=trial_and_error", "scale=paper")
    assert backends(*words, "arm=grpo,rft") == {"7b/grpo": "verl", "math-7b/grpo": "verl", "32b/rft": "trl"}
    assert backends(*words, "arm=grpo,rft", "backend=trl")["7b/grpo"] == "trl"  # as it was named: refused
    refused = {arm.job.arm: arm.refused for arm in plan(*words, "arm=grpo,rft", "backend=trl").arms}
    assert refused["rft"] is None and "cannot express dynamic_sampling" in (refused["grpo"] or "")


def test_at_tiny_scale_and_with_settings_of_one_backend_nothing_moves() -> None:
    assert set(backends("paper=entropy_advantage", "arm=grpo,ppo").values()) == {"trl"}
    words = ("paper=entropy_advantage", "scale=paper", "model=7b", "arm=grpo,ppo")
    assert set(backends(*words, "hardware.deepspeed=zero3").values()) == {"trl"}  # a setting that veRL does not have


@pytest.mark.parametrize(
    ("host", "precision"), [(WITHOUT_BFLOAT16, "float32"), (WITH_BFLOAT16, "bfloat16"), (UNKNOWN, "bfloat16")]
)
def test_a_cpu_without_bfloat16_trains_in_float32_and_says_so(
    host: Host, precision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"arm": "grpo", "seeds": 1, "scale": "small", "hardware.device": "cpu"}
    with given(host):
        assert _precision(values) == precision
        message = capsys.readouterr().err
        assert ("precision: float32 for Qwen2.5-0.5B/grpo, because this CPU has no instructions" in message) == (
            precision == "float32"
        )
        assert _precision({**values, "precision": "bfloat16"}) == "bfloat16"  # as the user says
        for_a_gpu = {"arm": "grpo", "seeds": 1, "scale": "small", "hardware": "rtx4090"}
        assert _precision(for_a_gpu) == "bfloat16"


def _precision(values: dict[str, object]) -> str:
    (job,) = _read("egsw", RunOptions.from_keys(values)).jobs
    assert job.experiment is not None
    return str(job.experiment.precision.value)


def test_an_option_of_another_type_is_refused_by_name() -> None:
    """`rlvr plan data_dir=3` was a TypeError of os.fspath."""
    values = {"data_dir": 3, "force": 3, "hardware": {"device": "cpu"}}
    with pytest.raises(UsageError, match="data_dir: expected str, got 3"):
        planned("egsw", RunOptions.from_keys(values))
    assert RunOptions.from_keys(values).given() == {"data_dir": 3, "force": 3, "hardware.device": "cpu"}

"""Every arm of every paper at paper scale: the plan says that it fits, or what would make it fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.backends import refusals
from harness.backends.trl.hardware import TrlHardware
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.errors import UsageError
from harness.plan.machine import check_memory, machine_of
from harness.plan.plan import plan
from harness.spec import catalogue
from harness.spec.architecture import architecture


@pytest.mark.parametrize("profile", ["h100x8", "a100x8_40g", "rtx3090"])
@pytest.mark.parametrize("paper", catalogue.papers())
def test_every_arm_fits_8_gpus_or_has_a_remedy(paper: str, profile: str) -> None:
    every = list(dict.fromkeys(arm.key for arm in catalogue.load(paper).arms))
    trained: dict[tuple[str, str], list[bool]] = {}
    for name in ("trl", "verl"):
        jobs = resolve(paper, scale="paper", backend=name, arms=every if profile == "h100x8" else None, seeds=[0])
        machine = machine_of(RunOptions.from_keys({"hardware": profile, "backend": name}))
        machines = machine.by_arm(jobs)
        refused = refusals(jobs, machines)
        for arm in plan(jobs, refused, machines=machines).arms:
            if arm.job.experiment is None:
                continue
            key, shape = (arm.job.model, arm.job.arm), architecture(arm.job.base_model.value)
            memory = arm.memory
            assert (memory is None) == (key in refused), key
            if memory is not None and shape is not None:
                small = shape.parameters < 8.3e9
                must_fit = small and machine.base.processes == 8
                fit = memory.fit
                assert fit.fits or not (small or profile == "h100x8") or (fit.remedy and not must_fit), key
                trained.setdefault(key, []).append(fit.fits)
    if profile == "h100x8":
        assert all(any(fits) for fits in trained.values()), trained  # with one of the two backends every arm fits


def test_a_run_that_cannot_fit_is_refused() -> None:
    jobs = resolve("egsw", scale="paper", models=["math-7b"], arms=["grpo"], seeds=[0])
    machines = {("math-7b", "grpo"): TrlHardware(device="gpu", processes=8)}
    with pytest.raises(
        ValueError, match=r"math-7b/grpo .* at once \(hardware\.micro_batch=null\): it fits with hardware\.micro_batch="
    ):
        check_memory(jobs, machines, memory=85e9)
    check_memory(jobs, machines, memory=1e15)


def test_several_machines_need_verl() -> None:
    with pytest.raises(UsageError, match="hardware=h100x32: backend=trl"):
        machine_of(RunOptions.from_keys({"hardware": "h100x32"}))
    assert machine_of(RunOptions.from_keys({"hardware": "h100x32", "backend": "verl"})).base.nodes == 4


def test_a_profile_gives_the_evaluation_as_few_gpus_a_model_as_hold_it() -> None:
    jobs = resolve("trial_and_error", scale="paper", arms=["base"], models=["7b", "32b"], seeds=[0])
    machines = machine_of(RunOptions.from_keys({"hardware": "h100x8"})).by_arm(jobs)
    # bfloat16: 32.8e9 parameters are 66 GB. The cache of 8 x 12,288 tokens is 26 GB (64 layers x 8 heads x 128 x 2 x 2
    # bytes a token): more than the 76 GB that vLLM takes of one H100, and with 3 GB beside them 49 GB on each of two
    assert machines["7b", "base"].engine_tensor_parallel == 1
    assert (machines["32b", "base"].engine_tensor_parallel, machines["32b", "base"].engine_replicas) == (2, 4)
    small = machine_of(RunOptions.from_keys({"hardware": "a100x8_40g"})).by_arm(jobs)
    assert (small["32b", "base"].engine_tensor_parallel, small["32b", "base"].engine_replicas) == (4, 2)
    check_memory(jobs, machines, memory=None)


def test_a_model_beyond_one_machine_is_named_before_the_start() -> None:
    jobs = resolve("erpo", scale="paper", arms=["base"], models=["qwen3-235b-instruct"], seeds=[0])
    machines = machine_of(RunOptions.from_keys({"hardware": "h100x8"})).by_arm(jobs)
    with pytest.raises(ValueError, match=r"hardware\.engine_tensor_parallel: qwen3-235b-instruct/base"):
        check_memory(
            [*jobs], {key: replace(each, engine_tensor_parallel=1) for key, each in machines.items()}, memory=None
        )

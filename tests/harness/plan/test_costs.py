"""Hours, price, disk and memory of a run, by hand, and what a machine lacks, all at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.provenance import Origin
from harness.backends import backend
from harness.backends.seconds import MIDDLE, evaluation_seconds, rollout_seconds, whole_rollout
from harness.backends.trl.hardware import TrlHardware
from harness.backends.verl.hardware import VerlHardware
from harness.command.resolve import resolve
from harness.command.watch import Watch
from harness.plan import costs, machine
from harness.plan.costs import Cost, Span, Tokens, cost, disk, host_memory, hours
from harness.plan.machine import check_machine
from harness.plan.plan import Total
from harness.plan.text import _hours
from harness.spec import Experiment, assumed
from harness.spec.job import Job
from tests.experiments import shape_of

H100X8 = TrlHardware(device="gpu", processes=8, gpu="h100", engine="vllm", engine_replicas=8, deepspeed="zero2")


def job(paper: str = "egsw", model: str = "math-7b", arm: str = "egsw", **more: Any) -> Job:
    (resolved,) = resolve(paper, scale="paper", models=[model], arms=[arm], seeds=[0], **more)
    return resolved


def parameters(planned_job: Job) -> float:
    return shape_of(planned_job.base_model.value).parameters


def test_a_tiny_runs_disk_is_that_of_its_models() -> None:
    (tiny,) = resolve("egsw", scale="tiny", arms=["grpo"], seeds=[0])
    parts = disk(tiny, TrlHardware(), Watch())
    # on disk: model.safetensors 1.91 MB. A checkpoint with optimizer.pt 5.79 MB, at most 14 / 4 of the model
    assert parts["models"] == pytest.approx(1.91e6, rel=0.05) and parts["checkpoints"] == 2 * 14 / 4 * parts["models"]


def test_disk_by_hand() -> None:
    seven = job()
    n = parameters(seven)  # 7.62e9
    often = replace(H100X8, save_every=20)
    parts = disk(seven, often, Watch(10, {}, 10))
    # float32 weights, two moments and ZeRO's bfloat16 weights: 14 bytes, 107 GB; of four, after rollouts 20, 40, 60 and
    # 66, two are kept while the next is written
    assert parts["checkpoints"] == 2 * 14 * n and parts["while it runs"] == 14 * n
    # after 50 and 66 there are two in all. After 66 one
    few = [disk(seven, replace(H100X8, save_every=every), Watch()) for every in (50, 66)]
    assert [(p["checkpoints"], p["while it runs"]) for p in few] == [(2 * 14 * n, 0), (14 * n, 0)]
    # the final model, one being measured, 66 // 10 = 6 that stay
    assert parts["models"] == 8 * 4 * n
    # without keep all six wait for the end of a training in eight processes. In one its vLLM measures them at once
    alone, short = TrlHardware(device="gpu", rollouts="vllm_colocate", save_every=20), {"max_tokens": 1024}
    waiting = [disk(seven, h, Watch(10, short))["while it runs"] - 14 * n for h in (often, alone)]
    assert waiting == [6 * 4 * n, 0]
    # under veRL a model is saved after a whole rollout, of 16 updates here: 125 of 2,000 steps
    assert len(costs.due_steps(job("entropy_advantage", "7b", "grpo", backend="verl"), 10)) == 125
    # 758 problems of 3,072 tokens at most, once and 1 + ceil(66 / 10) = 8 times beside the training. 30 %, 4 bytes
    assert parts["responses"] == pytest.approx(9 * 758 * 3072 * 0.3 * 4)


def test_rejection_sampling_keeps_the_round_before_while_it_trains() -> None:
    rft = job("trial_and_error", "32b", "rft")
    n, parts = parameters(rft), disk(rft, H100X8, Watch())
    # a round's 35 steps save one checkpoint. That and the model of the round before. 4 rounds x 2,000 x 8 responses
    assert parts["checkpoints"] == 14 * n and parts["while it runs"] == 14 * n + 4 * n
    assert disk(rft, replace(H100X8, save_every=10), Watch())["while it runs"] == 3 * 14 * n + 4 * n
    assert parts["responses"] > 4 * 2000 * 8 * 8192 * 0.3 * 4


def test_host_memory_by_hand() -> None:
    seven, large = job(), job("forking_tokens", "32b", "dapo", backend="verl")
    # eight processes load float32 weights: 8 x 4 x 7.62e9 = 244 GB
    assert host_memory(seven, H100X8) == 32 * parameters(seven)
    # one process loads them for all where nothing is tied. Offloaded weights and moments: 12 x 32.8e9 on four machines
    assert host_memory(large, VerlHardware(processes=8, nodes=4)) == 4 * parameters(large)
    assert host_memory(large, VerlHardware(processes=8, nodes=1, offload=True)) == 12 * parameters(large)
    assert isinstance(large.experiment, Experiment)
    offload = TrlHardware(processes=8, deepspeed="zero3_offload")
    shape = shape_of(large.base_model.value)
    # ZeRO's offloaded state: 16 x 32.8e9 = 524 GB
    assert backend("trl").host(shape, large.experiment, offload) == 16 * parameters(large)


def test_the_price_is_that_of_all_gpus_for_as_long_as_the_run_takes() -> None:
    run_cost = cost(job(), H100X8, price=2.0)
    assert run_cost.hours is not None and run_cost.gpu_hours is not None
    assert run_cost.price == pytest.approx(run_cost.hours.middle * 8 * 2.0)
    assert (run_cost.rate.origin, cost(job(), H100X8).rate.origin) == (Origin.USER, Origin.ASSUMED)
    # every GPU is busy but for the end, when engines of one GPU each measure: eight of them share the responses
    assert run_cost.gpu_hours.middle == pytest.approx(8 * run_cost.hours.middle)
    assert run_cost.gpu_hours_taken == 8 * run_cost.hours.middle
    with pytest.raises(ValueError, match="price: expected USD"):
        cost(job(), H100X8, price=-1.0)


def test_evaluations_of_snapshots_take_time() -> None:
    watch = Watch(20, {"rows": 10, "max_tokens": 1024})  # as long as the rollouts'
    without, beside = hours(job(), H100X8, MIDDLE, Watch()), hours(job(), H100X8, MIDDLE, watch)
    assert without is not None and beside is not None
    shape = shape_of(job().base_model.value)
    each = evaluation_seconds(shape, H100X8.card, watch.protocol(job().protocol), MIDDLE, eager=False)
    # evaluations of the base model, and after 20, 40, 60 and the last of 66 steps. After the training, by eight engines
    assert beside[0] - without[0] == pytest.approx(5 * each / 3600)
    assert beside[1] - without[1] == pytest.approx(5 * each / 3600 / 8)
    # in one process the vLLM of the rollouts measures, whatever the engine of the final evaluation is
    alone = TrlHardware(device="gpu", rollouts="vllm_colocate")
    before, after = (hours(job(), alone, MIDDLE, w) for w in (Watch(), watch))
    assert before is not None and after is not None
    assert after[1] - before[1] == pytest.approx(5 * each / 3600)
    # responses longer than the rollouts' are measured by that engine, here transformers
    long = Watch(20, {"rows": 10, "max_tokens": 1025})
    late, eager = (
        hours(job(), alone, MIDDLE, long),
        evaluation_seconds(shape, alone.card, long.protocol(job().protocol), MIDDLE),
    )
    assert late is not None and eager > each
    assert late[1] - before[1] == pytest.approx(5 * eager / 3600)


def test_a_method_that_reads_the_policy_passes_once_more_before_each_later_update_of_verl() -> None:
    hardware = VerlHardware(device="gpu", processes=8, gpu="h100")
    reading = job("entropy_advantage", "7b", "grpo_entropy_advantage", backend="verl")
    plain = job("entropy_advantage", "7b", "grpo", backend="verl")
    assert isinstance(reading.experiment, Experiment) and isinstance(plain.experiment, Experiment)
    shape = shape_of(reading.base_model.value)
    score = [
        backend("verl").step_seconds(shape, hardware.card, e, hardware, MIDDLE, None).score
        for e in (reading.experiment, plain.experiment)
    ]
    once = rollout_seconds(
        shape, hardware.card, reading.experiment, hardware, MIDDLE, None, passes=1, eager=False
    ).score
    assert reading.experiment.updates_per_rollout.value == 16
    assert score[0] - score[1] == pytest.approx(15 / 16 * once)


@pytest.mark.parametrize(("name", "arm", "extra"), [("trl", "otb", 2), ("verl", "otb", 1), ("verl", "grpo_bypass", 0)])
def test_otb_needs_passes_of_its_own(name: str, arm: str, extra: int) -> None:
    """Under TRL one for its signals and one for the squared probabilities. Under veRL one that has both."""
    hardware: Any = (TrlHardware if name == "trl" else VerlHardware)(device="gpu", gpu="h100")
    jobs = [job("baselines", "7b", arm_key, backend=name) for arm_key in (arm, "grpo")]
    shape = shape_of(jobs[0].base_model.value)
    seconds = [backend(name).step_seconds(shape, hardware.card, j.experiment, hardware, MIDDLE, None) for j in jobs]
    once = rollout_seconds(shape, hardware.card, jobs[1].experiment, hardware, MIDDLE, None, passes=1, eager=False)
    assert seconds[0].score - seconds[1].score == pytest.approx(extra * once.score)
    assert seconds[0].sample == seconds[1].sample


def test_remax_samples_one_response_more_for_each_prompt() -> None:
    hardware = TrlHardware(device="gpu", gpu="h100", rollouts="vllm_colocate")
    remax, grpo = (job("baselines", "7b", arm).experiment for arm in ("remax", "grpo"))
    shape = shape_of(job("baselines", "7b", "grpo").base_model.value)
    assert isinstance(remax, Experiment) and isinstance(grpo, Experiment)
    with_greedy, plain = (
        backend("trl").step_seconds(shape, hardware.card, e, hardware, MIDDLE, None) for e in (remax, grpo)
    )
    group = grpo.group_size.value
    more = replace(grpo, group_size=assumed(group + 1, "a test"))
    larger = backend("trl").step_seconds(shape, hardware.card, more, hardware, MIDDLE, None)
    assert plain.sample < with_greedy.sample == pytest.approx(larger.sample)
    assert with_greedy.score == plain.score  # its reward is no signal of the policy


def test_all_that_a_machine_lacks_is_said_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10e9, "total": 64e6}))
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 1024))
    with pytest.raises(ValueError) as raised:
        check_machine([job()], {("math-7b", "egsw"): H100X8}, data_dir=None)
    lines = str(raised.value).splitlines()
    for start in (
        "hardware.device: expected cpu or auto",
        "hardware.engine: expected transformers",
        "hardware.deepspeed: expected null",
        "model 'Qwen/Qwen2.5-Math-7B': not in the local cache",
        "benchmark math500: ",
        "disk: expected 244 GB",
        "memory: expected 244 GB in this machine, it has 64 GB",
        "/dev/shm: expected 8 GB, it has 0.1 GB",
        "open files: expected a limit of 4096",
    ):
        assert any(line.startswith(start) for line in lines), (start, lines)


def test_what_earlier_runs_have_written_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (small,) = resolve("egsw", scale="small", arms=["grpo"], seeds=[0])
    machines = {(small.model, small.arm): TrlHardware(device="gpu")}
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    wanted = sum(disk(small, TrlHardware(), Watch()).values())
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": wanted - 5e6, "total": 1e12}))
    with pytest.raises(ValueError, match="disk: expected 23 GB"):
        machine.check_room([small], machines, Watch(), slots=1, force=False)
    machine.check_room([small], machines, Watch(), slots=1, force=True)
    checkpoint = tmp_path / "egsw" / "small" / "run" / "train" / "checkpoint-1"
    checkpoint.mkdir(parents=True)
    (checkpoint / "model.safetensors").write_bytes(bytes(6_000_000))
    machine.check_room([small], machines, Watch(), slots=1, force=False)


def test_jobs_beside_each_other_have_a_checkpoint_in_progress_each() -> None:
    runs = [{"models": 1.0, costs.WHILE: passing} for passing in (3.0, 5.0, 4.0)]
    assert costs.disk_of_all(runs) == 3 + 5  # one after another: the largest
    assert costs.disk_of_all(runs, together=2) == 3 + 5 + 4


def test_a_price_of_gpu_hours_in_which_some_wait_says_so() -> None:
    # 10 hours of 8 GPUs are paid, 80 GPU-hours, of which 70 work: at 2 USD, 160 USD
    spans = {"hours": Span(10, 10, 10), "gpu_hours": Span(70, 70, 70)}
    run = Cost(Tokens(), "h100", 8, assumed(2.0, "a test"), **spans, disk={}, host_memory=None)
    assert _hours(Total([run])).endswith("160 USD for 80.0 GPU-hours with those in which a GPU waits")
    assert _hours(Total([replace(run, gpu_hours=Span(80, 80, 80))])).endswith("160 USD")


@pytest.mark.parametrize(("steps", "rollouts"), [(1, 1), (2, 1), (5, 3)])
def test_the_rollout_of_a_last_shorter_group_of_updates_is_counted(steps: int, rollouts: int) -> None:
    """Two updates a rollout of 16 x 8 responses of at most 64 tokens: five steps take three rollouts."""
    given: dict[str, Any] = {"arms": ["grpo"], "seeds": [0]}
    (job,) = resolve("egsw", **given, overrides={"max_steps": steps, "updates_per_rollout": 2})
    assert costs.tokens(job, Watch()).rollout == rollouts * 16 * 8 * 64


def test_the_greedy_responses_of_remax_are_counted() -> None:
    """One beside the group's eight for each of 16 prompts: 9 x 16 responses of at most 64 tokens."""
    (job,) = resolve("baselines", arms=["remax"], seeds=[0], overrides={"max_steps": 1})
    assert costs.tokens(job, Watch()).rollout == 16 * 9 * 64


def test_start_and_checkpoints_are_counted_by_hand() -> None:
    trained, hardware = job(), replace(H100X8, rollouts="vllm_colocate")
    n, e = parameters(trained), trained.experiment
    assert isinstance(e, Experiment)
    shape, steps = shape_of(trained.base_model.value), 66
    parts = backend("trl").step_seconds(shape, hardware.card, e, hardware, MIDDLE, 639.0)
    each = whole_rollout(shape, e, hardware, MIDDLE, parts, colocated=True)
    # 60 s and vLLM's 120 s. After rollouts 50 and 66 a checkpoint of 14 bytes per parameter, then the model,
    # at 1e9 bytes/s
    seconds = 180 + steps * each + (2 * 14 + 4) * n / 1e9
    assert costs.training_time(shape, trained, hardware, MIDDLE) == pytest.approx(seconds)
    # an untrained model: the same start, then the evaluation. By the clock an eighth of its GPU-seconds
    range_of_hours = hours(job(arm="base"), hardware, MIDDLE, Watch())
    measured = evaluation_seconds(shape, hardware.card, trained.protocol, MIDDLE, eager=False)
    assert range_of_hours == pytest.approx(((measured + 8 * 180) / 3600, (measured / 8 + 180) / 3600))

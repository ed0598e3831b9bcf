"""The time and memory estimates beside published measurements, and the parts of the time by hand.

The first ones are of others. An H200 of ours measured the last (results/gpu.md). The rules of thumb of
`harness/backends/seconds.py` were chosen with the throughputs in view: they are a fit, not a prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.backends.memory import activations
from harness.backends.seconds import FAST, MIDDLE, SLOW, decode_seconds, pass_flops, reached
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.needs import step_seconds as trl_seconds
from harness.backends.verl.hardware import VerlHardware
from harness.backends.verl.needs import states, step_seconds
from harness.command.resolve import resolve
from harness.spec import Experiment
from harness.spec.architecture import Architecture
from harness.spec.hardware import GPUS, Gpu
from tests.experiments import shape_of

H20 = Gpu(96e9, 148e12, 4.0e12)  # data sheet


def experiment(paper: str, arm: str, model: str, **values: Any) -> Experiment:
    """A declared experiment with other values, in place of the measured one."""
    (job,) = resolve(paper, scale="paper", models=[model], arms=[arm], backend="verl", seeds=[0], overrides=values)
    assert isinstance(job.experiment, Experiment)
    return job.experiment


def machine(gpus: int, **values: Any) -> VerlHardware:
    return VerlHardware(processes=8, nodes=gpus // 8, gradient_checkpointing=True, **values)


def check(published: tuple[float, ...], low: float, middle: float, high: float) -> None:
    """The first is inside the range. The middle is within 30 percent of each (of another version, or another run)."""
    assert low < published[0] < high
    assert [middle / value for value in published] == pytest.approx([1] * len(published), abs=0.3)


@pytest.mark.parametrize(
    ("name", "gpus", "parallel", "mean", "published"),
    [
        ("meta-llama/Llama-3.1-8B", 16, 1, 1060, (1562, 1581)),
        ("Qwen/Qwen3-32B", 32, 4, 3206, (540, 571)),
    ],
)
def test_tokens_a_second_of_grpo_on_h100s(
    name: str, gpus: int, parallel: int, mean: int, published: tuple[float, ...]
) -> None:
    """NeMo-RL v0.4 and v0.5 (NVIDIA-NeMo/RL, docs/about/performance-summary.md): 64 x 32, at most 4,096 tokens."""
    values = {"prompts_per_rollout": 64, "group_size": 32, "updates_per_rollout": 4, "max_completion_tokens": 4096}
    e = experiment("egsw", "grpo", "math-7b", kl_beta=0.01, **values)
    on = machine(gpus, vllm_tensor_parallel=parallel, vllm_gpu_memory=0.6)
    prompt = 150  # about. The mean is of whole sequences
    rates = [
        2048 * mean / step_seconds(shape_of(name), GPUS["h100"], e, on, rules, mean - prompt).total / gpus
        for rules in (SLOW, MIDDLE, FAST)
    ]
    check(published, *rates)


@pytest.mark.parametrize(
    ("name", "gpu", "published"),
    [("Qwen/Qwen3-4B", "h100", 6038), ("Qwen/Qwen3-0.6B", "h100", 11896), ("Qwen/Qwen3-0.6B", "a6000", 3687)],
)
def test_tokens_a_second_of_a_trainer(name: str, gpu: str, published: int) -> None:
    """prime-rl, benchmarks/baselines, 1gpu-Recompute-16384: 4B with LoRA (rl-16), 0.6B with all weights (rl-full)."""
    a, frozen = shape_of(name), "4B" in name
    flops = pass_flops(a, 16384, backward=True, recompute=True, frozen=frozen)
    check((published,), *(reached(a, GPUS[gpu], rules) / flops for rules in (SLOW, MIDDLE, FAST)))


def test_milliseconds_a_token_of_a_small_model() -> None:
    """vLLM 0.19 (ovg-project/kvcached, pull 331, bench_layout/H100_results.md, F): Qwen3-0.6B, 512 + 128 tokens, 16
    requests a second, so that 16 x 128 x 0.00239 = 4.9 run at once."""
    a, gpu = shape_of("Qwen/Qwen3-0.6B"), GPUS["h100"]
    each = (1000 / 128 * decode_seconds(a, gpu, 4.9, 128, 128, 512, rules) for rules in (FAST, MIDDLE, SLOW))
    check((2.39,), *each)


@pytest.mark.parametrize(("requests", "milliseconds"), [(5, 1.469), (64, 2.223), (256, 4.863)])
def test_milliseconds_of_a_step_of_our_evaluation_on_an_h200(requests: int, milliseconds: float) -> None:
    """Qwen2.5-0.5B's shape, prompts of about 100 tokens, responses of 512."""
    a, gpu = shape_of("Qwen/Qwen2.5-0.5B"), GPUS["h200"]
    each = (1000 / 512 * decode_seconds(a, gpu, requests, 512, 512, 100, rules) for rules in (FAST, MIDDLE, SLOW))
    check((milliseconds,), *each)


def test_seconds_of_a_rollout_of_ours_on_an_h200() -> None:
    """egsw's grpo at small scale, 256 responses of 1,024 tokens after about 161: 12.5 s with TRL's vLLM, 47.1 s with
    transformers, and 19.6 and 53.5 s with the passes and the update. The update took half of the middle."""
    (job,) = resolve("egsw", scale="small", models=["math-7b"], arms=["grpo"], seeds=[0])
    assert isinstance(job.experiment, Experiment)
    e = replace(job.experiment, max_prompt_tokens=replace(job.experiment.max_prompt_tokens, value=537))  # 0.3 x 537
    a, gpu = shape_of("Qwen/Qwen2.5-0.5B"), GPUS["h200"]
    for engine, sampling, total in (("vllm_colocate", 12.53, 19.58), ("transformers", 47.11, 53.48)):
        hardware = TrlHardware(gradient_checkpointing=True, micro_batch=16, rollouts=engine)  # type: ignore[arg-type]
        steps = [trl_seconds(a, gpu, e, hardware, rules, 1024) for rules in (FAST, MIDDLE, SLOW)]
        assert steps[0].sample < sampling < steps[2].sample and steps[0].total < total < steps[2].total
        assert steps[1].total == pytest.approx(total, rel=0.3)


def test_seconds_of_a_step_of_dapo_on_h20s() -> None:
    """veRL (docs/advance/fully_async.md), colocate sync, 128 H20: 512 x 16, 28k tokens, Qwen2.5-Math-7B. Mean length
    not published: 2,500 tokens are assumed."""
    values = {"max_completion_tokens": 28672, "dynamic_sampling": False, "overlong.max_length": 28672}
    e, on = experiment("forking_tokens", "dapo", "8b", **values), machine(128, vllm_gpu_memory=0.7)
    steps = [step_seconds(shape_of("Qwen/Qwen2.5-7B"), H20, e, on, rules, 2500) for rules in (FAST, MIDDLE, SLOW)]
    check((356.3,), *(step.total for step in steps))
    check((177.9,), *(step.sample for step in steps))


@pytest.mark.parametrize(("name", "gpus", "gib"), [("Qwen/Qwen3-0.6B", 1, 12.53), ("Qwen/Qwen3-4B", 8, 17.10)])
def test_published_peaks_are_within_a_third_of_the_model(name: str, gpus: int, gib: float) -> None:
    """prime-rl, peak_memory: FSDP2, recomputation, one sequence of 16,384 tokens, all weights, H100s."""
    hardware = VerlHardware(device="gpu", processes=gpus, gradient_checkpointing=True, fused_kernels=True)
    parts = states(shape_of(name), experiment("erpo", "grpo", "qwen2.5-3b", lora_rank=None), hardware, "bfloat16")
    total = sum(parts.values()) + activations(shape_of(name), 16384, "bfloat16", checkpointing=True, padded=False)
    assert total / 2**30 == pytest.approx(gib, rel=1 / 3)


def test_flops_of_a_pass_by_hand() -> None:
    a = Architecture(1, 10, 20, 1, 1, 10, 100, False)
    # active: attention 4 * 10 * 10, feed-forward 3 * 10 * 20, norms 2 * 10, head 100 * 10
    assert a.active == 400 + 600 + 20 + 1000
    # causal attention over 8 tokens: 2 products of 8 / 2 scores on average, width 10, 2 operations each: 2 * 10 * 8
    assert pass_flops(a, 8, backward=False, recompute=False) == 2 * 2020 + 160
    assert pass_flops(a, 8, backward=True, recompute=False) == 6 * 2020 + 3 * 160
    assert pass_flops(a, 8, backward=True, recompute=True) == 8 * 2020 + 4 * 160
    assert pass_flops(a, 8, backward=True, recompute=True, frozen=True) == 6 * 2020 + 4 * 160


def test_decoding_reads_weights_and_cache_each_step() -> None:
    exact = {"compute": 1.0, "bandwidth": 1.0, "launch_s": 0.0, "eager_s": 1.0, "token_s": 0.0}
    rules = replace(MIDDLE, **exact)
    gpu = Gpu(1e12, 1e30, 1e9)
    a = shape_of("Qwen/Qwen2.5-7B")
    # one response of 100 tokens: each step reads 2N bytes and the cache of 50 tokens on average
    expected = 100 * (2 * a.parameters + 50 * a.cache()) / 1e9
    assert decode_seconds(a, gpu, 1, 100, 100, 0, rules) == pytest.approx(expected)
    assert decode_seconds(a, gpu, 1, 100, 100, 0, rules, eager=True) == pytest.approx(expected + 100)
    # the longest response decides how many steps there are
    assert decode_seconds(a, gpu, 8, 100, 400, 0, rules) > decode_seconds(a, gpu, 8, 100, 100, 0, rules)
    assert shape_of("Qwen/Qwen3-32B").cache() == 2 * 64 * 8 * 128 * 2

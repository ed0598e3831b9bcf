"""Estimate how long a run takes on GPUs, with a range, from shapes, counts and a few rules of thumb. Pure.

Training: floating-point operations (Kaplan et al., arXiv 2001.08361, section 2.1, attention counted apart) at a share
of the GPU's peak. Sampling: each decoding step reads the weights and the cache, at a share of the bandwidth. A batch
runs as long as its longest response. tests/harness/backends/test_seconds.py compares the parts with published
measurements. results/anchors/seconds.md compares whole steps with published runs on several GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from evals.data import benchmarks
from evals.data.protocols import Protocol
from harness.spec import Experiment, Finetune
from harness.spec.architecture import Architecture
from harness.spec.hardware import GPUS, Gpu, Hardware
from harness.spec.rejection import Rejection


@dataclass(frozen=True)
class Rules:
    """Rules of thumb. Only the middle of `token_s` is a measurement of ours.

    Args:
        compute: share of an H100's peak FLOP/s that training reaches, recomputation counted as work (`reached`).
        bandwidth: share of the bandwidth that decoding reaches. launch_s: of one decoding step beside that (vLLM).
        eager_s: of one with transformers. mean_share: mean length of a response, as a share of its limit.
        resampling: rollouts sampled for one that is used, with dynamic sampling. token_s: vLLM's work for each token,
        beside the model and at the same time. The middle is measured (results/gpu.md).
        length, longest_share: of `typical_length`.
        slack: seconds of a step of a trainer on several GPUs, as a multiple of its parts. The middle is the geometric
        mean of the published runs, and low and high hold all of them (results/anchors/seconds.md).
        start_s: until a process has its libraries and weights. engine_s: until a vLLM samples. grade_s: of one
        response. send, write: bytes/s of weights to an engine, and of a checkpoint to the disk. These are assumptions.
    """

    compute: float
    bandwidth: float
    launch_s: float
    eager_s: float
    mean_share: float
    resampling: float
    token_s: float
    length: float
    longest_share: float
    slack: float
    start_s: float
    engine_s: float
    grade_s: float
    send: float
    write: float


MIDDLE = Rules(
    compute=0.30, bandwidth=0.80, launch_s=0.0015, eager_s=0.030, mean_share=0.30, resampling=1.5, token_s=19e-6,
    length=20, longest_share=0.9, slack=1.6, start_s=60, engine_s=120, grade_s=2e-3, send=5e9, write=1e9,
)  # fmt: skip
FAST = Rules(
    compute=0.45, bandwidth=0.90, launch_s=0.0010, eager_s=0.020, mean_share=0.10, resampling=1.0, token_s=10e-6,
    length=6, longest_share=0.9, slack=1.0, start_s=20, engine_s=40, grade_s=5e-4, send=20e9, write=3e9,
)  # fmt: skip
SLOW = Rules(
    compute=0.18, bandwidth=0.50, launch_s=0.0040, eager_s=0.060, mean_share=0.90, resampling=3.0, token_s=40e-6,
    length=60, longest_share=0.9, slack=4.0, start_s=180, engine_s=400, grade_s=20e-3, send=1e9, write=0.2e9,
)  # fmt: skip


def typical_length(limit: int, rules: Rules) -> float:
    """Mean tokens of a response with this limit, where none is published: `length` times the limit's square root.

    Public logs have 639 tokens of 1,024, 1,267 of 3,072, and 800 to 6,000 of 8,192. A share of the limit fits one of
    them alone.
    """
    return min(rules.length * math.sqrt(limit), rules.longest_share * limit)


def _ends(name: str, form: str = "g") -> str:
    """ "2 (1 to 4)": the middle of a rule, then its ends."""
    low, high = sorted(getattr(rules, name) for rules in (FAST, SLOW))
    return f"{getattr(MIDDLE, name):{form}} ({low:{form}} to {high:{form}})"


LENGTHS = f"mean lengths as published, else {_ends('length')} times the square root of the limit"
ASSUMPTIONS = (
    f"training at {_ends('compute', '.0%')} of the peak, less below 4B. Decoding at {_ends('bandwidth', '.0%')} of the "
    f"bandwidth. {LENGTHS.capitalize()}. Dynamic sampling samples {_ends('resampling')} times what it uses. A step on "
    f"several GPUs takes {_ends('slack')} times the sum of its parts, as published runs do. A start takes "
    f"{_ends('start_s')} s, and with vLLM {_ends('engine_s')} s more. Grading, sending weights and checkpoints are "
    "counted"
)


def reached(a: Architecture, gpu: Gpu, rules: Rules) -> float:
    """FLOP/s that training reaches: a share of the peak that grows on slower chips (fourth root) and falls in narrow
    layers, whose kernels wait for memory and launches (fitted to the public throughputs in the test). A processor,
    whose FLOP/s are measured, has twice the share: an update of SmolLM2-135M in float32 reached 0.57 of them."""
    if gpu.measured:
        return 2 * rules.compute * gpu.flops
    width = min(1.0, a.hidden / 2560) ** 0.75
    return float(gpu.flops * rules.compute * (GPUS["h100"].flops / gpu.flops) ** 0.25 * width)


def pass_flops(a: Architecture, length: float, *, backward: bool, recompute: bool, frozen: bool = False) -> float:
    """FLOPs per token: for each active parameter 2 forward and 4 backward (2 if `frozen`, as under LoRA), and 2 more if
    activations are recomputed. Attention in the same proportions, 4 backward."""
    attention = 2 * a.layers * a.heads * a.head_dim * length  # scores and values of a causal forward pass
    if not backward:
        return 2 * a.active + attention
    again = 1 if recompute else 0
    return 2 * a.active * (1 + again + (1 if frozen else 2)) + attention * (1 + again + 2)


def decode_seconds(
    a: Architecture, gpu: Gpu, sequences: float, mean: float, longest: float, prompt: float, rules: Rules, *,
    tensor_parallel: int = 1, eager: bool = False, cache_share: float = 0.6,
) -> float:  # fmt: skip
    """Seconds of one engine for `sequences` responses of `mean` tokens, the longest of `longest`.

    The cache limits how many responses run at once. Finished ones make room, so the mean number of running ones counts.
    `cache_share`: of a GPU's memory, for weights and cache.
    """
    weights = 2.0 * a.parameters / tensor_parallel
    context = prompt + mean / 2
    each = a.cache() * context / tensor_parallel
    room = max(1.0, (cache_share * gpu.memory - weights) / max(each, 1.0))
    waves = max(1.0, sequences / room)
    together = sequences / waves
    running = max(1.0, together * min(1.0, mean / longest)) if waves == 1 else together
    steps = longest if waves == 1 else longest + (waves - 1) * mean
    read = (weights + running * each) / (gpu.bandwidth * rules.bandwidth)
    compute = 2 * a.active * running / tensor_parallel / reached(a, gpu, rules)
    if eager:
        return steps * (max(read, compute) + rules.eager_s)
    return steps * max(max(read, compute) + rules.launch_s, running * rules.token_s)


@dataclass(frozen=True)
class StepSeconds:
    """Seconds of one rollout with its updates: sampling, passes without gradients, passes with them."""

    sample: float
    score: float
    train: float

    @property
    def total(self) -> float:
        return self.sample + self.score + self.train


def rollout_seconds(
    a: Architecture, gpu: Gpu, e: Experiment, hardware: Hardware, rules: Rules, mean: float | None, *,
    passes: float, eager: bool,
) -> StepSeconds:  # fmt: skip
    """One rollout and its updates on all devices.

    Args:
        mean: published mean length of a response, or None. eager: whether transformers samples.
        passes: forward passes without gradients, beside the critic's.
    """
    limit, prompt = e.max_completion_tokens.value, 0.3 * e.max_prompt_tokens.value
    mean = typical_length(limit, rules) if mean is None else min(mean, limit)
    sequences = e.prompts_per_rollout.value * e.group_size.value
    engines = max(1, hardware.devices // hardware.vllm_tensor_parallel)
    sampled = sequences * (rules.resampling if e.dynamic_sampling.value else 1.0)
    if "greedy_rewards" in e.method.reads:  # and the greedy response to each prompt
        sampled += e.prompts_per_rollout.value
    sample = decode_seconds(
        a, gpu, sampled / engines, mean, limit, prompt, rules, tensor_parallel=hardware.vllm_tensor_parallel,
        eager=eager, cache_share=0.5 if eager else hardware.vllm_gpu_memory,
    )  # fmt: skip
    length, critic = prompt + mean, 1 if e.critic.value else 0
    frozen = e.lora_rank.value is not None
    forward = pass_flops(a, length, backward=False, recompute=False)
    backward = pass_flops(a, length, backward=True, recompute=hardware.gradient_checkpointing, frozen=frozen)
    speed = reached(a, gpu, rules) * hardware.devices / (sequences * length)
    return StepSeconds(sample, (passes + critic) * forward / speed, (1 + critic) * backward / speed)


def whole_rollout(
    a: Architecture, e: Experiment, hardware: Hardware, rules: Rules, step: StepSeconds, *, colocated: bool
) -> float:
    """Seconds of a rollout by the clock: the parts of its step, grading, and weights sent to the engine (`colocated`),
    with the slack of several GPUs."""
    grading = rules.grade_s * e.prompts_per_rollout.value * e.group_size.value
    sending = 2.0 * a.parameters / rules.send if colocated else 0.0
    return (rules.slack if hardware.devices > 1 else 1.0) * step.total + grading + sending


def training_seconds(
    a: Architecture, gpu: Gpu, e: Experiment | Finetune, steps: int, hardware: Hardware, rules: Rules,
    mean: float | None, step: Callable[..., StepSeconds], *, colocated: bool,
) -> float:  # fmt: skip
    """Seconds of a training of `steps` optimiser steps, without its start. `step`: the backend's `step_seconds`."""
    if isinstance(e, Experiment):
        rollouts = math.ceil(steps / e.updates_per_rollout.value)
        parts = step(a, gpu, e, hardware, rules, mean)
        return rollouts * whole_rollout(a, e, hardware, rules, parts, colocated=colocated)
    length = e.max_tokens.value * rules.mean_share
    flops = pass_flops(
        a, length, backward=True, recompute=hardware.gradient_checkpointing, frozen=e.lora_rank.value is not None
    )
    seconds = steps * e.batch_size.value * length * flops / (reached(a, gpu, rules) * hardware.devices)
    if isinstance(e, Rejection):
        sequences = e.problems_per_round.value * e.samples_per_problem.value
        limit = e.max_completion_tokens.value
        mean = typical_length(limit, rules) if mean is None else min(mean, limit)
        each = sequences / hardware.engine_replicas
        sampling = decode_seconds(
            a, gpu, each, mean, limit, 200, rules, tensor_parallel=hardware.engine_tensor_parallel,
            eager=not hardware.sampler.continuous, cache_share=0.8,
        )  # fmt: skip
        measuring = sequences * mean * pass_flops(a, mean, backward=False, recompute=False)
        seconds += e.rounds.value * (sampling + measuring / reached(a, gpu, rules))
    return seconds


def evaluation_seconds(
    a: Architecture, gpu: Gpu, protocol: Protocol, rules: Rules, *, eager: bool = True, tensor_parallel: int = 1
) -> float:
    """GPU-seconds of an evaluation by an engine of `tensor_parallel` GPUs. With transformers, in batches."""
    seconds = 0.0
    for name in protocol.benchmarks.value:
        rows = protocol.value("rows", name) or benchmarks.count(name)
        limit = protocol.value("max_tokens", name)
        sequences = rows * protocol.value("n", name)
        seconds += tensor_parallel * decode_seconds(
            a, gpu, sequences, typical_length(limit, rules), limit, 200, rules, tensor_parallel=tensor_parallel,
            eager=eager,
        )  # fmt: skip
    return seconds

"""Estimate how long a run takes on GPUs, with a range, from shapes, counts and a few rules of thumb. Pure.

Training: floating-point operations (Kaplan et al., arXiv 2001.08361, section 2.1; attention counted apart) at a share
of the GPU's peak. Sampling: each decoding step reads the weights and the cache, at a share of the bandwidth; a batch
runs as long as its longest response. tests/harness/backends/test_seconds.py compares it with published measurements.
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
    """Rules of thumb; all but `token_s` are not measurements of ours.

    Args:
        compute: share of an H100's peak FLOP/s that training reaches, recomputation counted as work (`reached`).
        bandwidth: share of the bandwidth that decoding reaches. launch_s: of one decoding step beside that (vLLM);
        eager_s: of one with transformers. mean_share: mean length of a response as a share of its limit, where no mean
        is published. resampling: rollouts sampled for one that is used, with dynamic sampling. token_s: vLLM's work for
        each token, beside the model and at the same time; the middle is measured (results/gpu.md).
    """

    compute: float
    bandwidth: float
    launch_s: float
    eager_s: float
    mean_share: float
    resampling: float
    token_s: float


MIDDLE = Rules(0.30, 0.80, 0.0015, 0.030, 0.30, 1.5, 19e-6)
FAST = Rules(0.45, 0.90, 0.0010, 0.020, 0.10, 1.0, 10e-6)
SLOW = Rules(0.18, 0.50, 0.0040, 0.060, 0.90, 3.0, 40e-6)
ASSUMPTIONS = (
    f"training at {MIDDLE.compute:.0%} of the peak ({SLOW.compute:.0%} to {FAST.compute:.0%}; less below 4B), decoding "
    f"at {MIDDLE.bandwidth:.0%} of the bandwidth ({SLOW.bandwidth:.0%} to {FAST.bandwidth:.0%}); mean lengths as "
    f"published, else {MIDDLE.mean_share:.0%} of the limit ({FAST.mean_share:.0%} to {SLOW.mean_share:.0%}); dynamic "
    f"sampling samples {MIDDLE.resampling:g} times ({FAST.resampling:g} to {SLOW.resampling:g}) what it uses"
)


def reached(a: Architecture, gpu: Gpu, rules: Rules) -> float:
    """FLOP/s that training reaches: a share of the peak that grows on slower chips (fourth root) and falls in narrow
    layers, whose kernels wait for memory and launches (fitted to the public throughputs in the test). Of a processor,
    whose FLOP/s are measured, twice the share: an update of SmolLM2-135M in float32 reached 0.57 of them."""
    if gpu.measured:
        return 2 * rules.compute * gpu.flops
    width = min(1.0, a.hidden / 2560) ** 0.75
    return float(gpu.flops * rules.compute * (GPUS["h100"].flops / gpu.flops) ** 0.25 * width)


def pass_flops(a: Architecture, length: float, *, backward: bool, recompute: bool, frozen: bool = False) -> float:
    """FLOPs per token: for each active parameter 2 forward and 4 backward (2 if `frozen`, as under LoRA), and 2 more if
    activations are recomputed; attention in the same proportions, 4 backward."""
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

    The cache limits how many responses run at once; finished ones make room, so the mean number of running ones counts.
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
    mean = limit * rules.mean_share if mean is None else min(mean, limit)
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


def training_seconds(
    a: Architecture, gpu: Gpu, e: Experiment | Finetune, steps: int, hardware: Hardware, rules: Rules,
    mean: float | None, step: Callable[..., StepSeconds],
) -> float:  # fmt: skip
    """Seconds of a training of `steps` optimiser steps. `step`: the backend's `step_seconds`."""
    if isinstance(e, Experiment):
        rollouts = math.ceil(steps / e.updates_per_rollout.value)
        return rollouts * step(a, gpu, e, hardware, rules, mean).total
    length = e.max_tokens.value * rules.mean_share
    flops = pass_flops(
        a, length, backward=True, recompute=hardware.gradient_checkpointing, frozen=e.lora_rank.value is not None
    )
    seconds = steps * e.batch_size.value * length * flops / (reached(a, gpu, rules) * hardware.devices)
    if isinstance(e, Rejection):
        sequences = e.problems_per_round.value * e.samples_per_problem.value
        limit = e.max_completion_tokens.value
        mean = limit * rules.mean_share if mean is None else min(mean, limit)
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
    """GPU-seconds of an evaluation by an engine of `tensor_parallel` GPUs; with transformers, in batches."""
    seconds = 0.0
    for name in protocol.benchmarks.value:
        rows = protocol.value("rows", name) or benchmarks.count(name)
        limit = protocol.value("max_tokens", name)
        sequences = rows * protocol.value("n", name)
        seconds += tensor_parallel * decode_seconds(
            a, gpu, sequences, limit * rules.mean_share, limit, 200, rules, tensor_parallel=tensor_parallel, eager=eager
        )
    return seconds

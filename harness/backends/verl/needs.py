"""The needs of a training with veRL: memory of one device by part, time of a step, and the settings a profile tries.

Counts are bytes, as in `harness.backends.memory`. Tests compare them with measured peaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from harness.backends.common import needs_reference
from harness.backends.memory import PASS_TOKENS, Mode, Need, activations, divisors, weights_bytes
from harness.backends.seconds import Rules, StepSeconds, rollout_seconds
from harness.backends.verl.hardware import VerlHardware
from harness.spec import Experiment, Training
from harness.spec.architecture import Architecture
from harness.spec.hardware import Gpu


def mode(training: Training) -> Mode:
    """How the forward pass of a training computes: FSDP casts the weights."""
    return "float32" if training.precision.value == "float32" else "bfloat16"


def logits(a: Architecture, tokens: float, how: Mode, *, fused: bool, scaled: bool) -> float:
    """Bytes of veRL's output head for the tokens of one forward pass: logits, their gradients, and copies.

    Bytes per token and word of the vocabulary as measured with torch's own operations (`fused`: a kernel that holds no
    logits). `scaled`: one more copy, divided by the temperature.
    """
    if fused:
        return 0.0
    each, copy = {"float32": (16, 4), "autocast": (15, 4), "bfloat16": (8, 2)}[how]
    return float(tokens * a.vocab * (each + (copy if scaled else 0)))


def states(a: Architecture, training: Training, hardware: VerlHardware, how: Mode) -> dict[str, float]:
    """Weights, gradients and optimiser of the trained model on one device: FSDP2 shards everything, in float32
    (in bfloat16 with pure_bfloat16), and gathers one layer and the next, and the embeddings, to compute."""
    n, devices = a.parameters, hardware.devices
    each = 2 if training.precision.value == "pure_bfloat16" else 4  # bytes of a weight, a gradient and each moment
    gathered = (2 * a.layer + a.vocab * a.hidden) * weights_bytes(how) if devices > 1 else 0
    return {
        "weights": each * n / devices + gathered,
        "gradients": each * n / devices,
        "optimiser": 2 * each * n / devices,
    }


def need(a: Architecture, training: Training, hardware: VerlHardware, gpu_memory: float) -> Need:
    """Memory of one training device, of whose `gpu_memory` bytes vLLM takes its share while it samples.

    `hardware.offload` leaves one model at a time on the device: critic and reference are away while the policy trains.
    """
    if not isinstance(training, Experiment):
        raise TypeError(f"expected reinforcement learning, got {type(training).__name__}: `check` refuses it")
    how = mode(training)
    policy = states(a, training, hardware, how)
    other_models = {}
    if needs_reference(training):
        other_models["reference"] = a.parameters * weights_bytes(how) / hardware.devices
    if training.critic.value:
        other_models["critic"] = sum(policy.values())
    tokens = _pass_tokens(training, hardware)
    packed = hardware.packing and hardware.device != "cpu"
    scaled = training.rollout_temperature.value != 1
    work = {
        "activations": activations(a, tokens, how, checkpointing=hardware.gradient_checkpointing, padded=not packed),
        "logits": logits(a, tokens, how, fused=hardware.fused_kernels, scaled=scaled),
    }
    away = dict.fromkeys(other_models, 0.0) if hardware.offload else other_models
    kept = dict.fromkeys({**policy, **other_models}, 0.0) if hardware.offload else {**policy, **other_models}
    return Need({**policy, **away, **work}, {**kept, "vllm": hardware.vllm_gpu_memory * gpu_memory})


def _pass_tokens(training: Experiment, hardware: VerlHardware) -> float:
    """Tokens of one forward pass on one device, padded to the maximum length."""
    length = training.max_prompt_tokens.value + training.max_completion_tokens.value
    update = training.prompts_per_rollout.value * training.group_size.value // training.updates_per_rollout.value
    tokens = (hardware.micro_batch or max(1, update // max(1, hardware.ranks))) * length
    if hardware.tokens_per_gpu:  # a sequence is never cut: at least one goes into a pass
        tokens = min(tokens, max(hardware.tokens_per_gpu * hardware.sequence_parallel, length))
    return tokens / hardware.sequence_parallel


def step_seconds(
    a: Architecture, gpu: Gpu, e: Experiment, hardware: VerlHardware, rules: Rules, mean: float | None
) -> StepSeconds:
    """As `Backend.step_seconds`: passes without gradients are the reference's, the old policy's and, for a method that
    reads the policy, one before each update (`MethodTrainer._update_policy`). The first update of a rollout has its
    signals from the old policy's pass, but for pi_squared and where the sampler is the old policy."""
    signals = {"entropies", "logp", "pi_squared", "old_entropies"}
    reads = bool(e.method.reads & signals) or e.entropy_search is not None
    first = "pi_squared" in e.method.reads or e.old_policy.value == "sampler"
    again = reads - (0 if first else reads / e.updates_per_rollout.value)
    return rollout_seconds(a, gpu, e, hardware, rules, mean, passes=needs_reference(e) + 1 + again, eager=False)


PARALLEL = (1, 2, 4, 8)  # GPUs that share a sequence, and GPUs of a vLLM engine
SHARES = (0.7, 0.5)  # the share of the memory for vLLM


def candidates(training: Training, base: VerlHardware) -> Iterator[dict[str, object]]:
    """As `Backend.candidates`."""
    if not isinstance(training, Experiment):
        yield {}
        return
    length = training.max_prompt_tokens.value + training.max_completion_tokens.value
    update = training.prompts_per_rollout.value * training.group_size.value // training.updates_per_rollout.value
    sizes = [size for size in PARALLEL if base.processes % size == 0]
    for offload, sequence in product((False, True), sizes):
        ranks = max(1, base.devices // sequence)
        if update % ranks:
            continue
        passes: list[dict[str, object]]
        if training.method.looks_at_micro_batches:  # a pass cut by length would change the statistic
            micros = divisors(update // ranks, PASS_TOKENS * sequence // length)
            passes = [{"micro_batch": micro, "tokens_per_gpu": None} for micro in micros or [1]]
        else:
            tokens = [tokens for tokens in (PASS_TOKENS, -(-length // sequence)) if tokens * sequence >= length]
            passes = [{"micro_batch": None, "tokens_per_gpu": most} for most in tokens]
        unfused = {"fused_kernels": False} if training.method.reads_logits else {}
        for tensor, share, cut in product(sizes, SHARES, passes):
            yield {
                "gradient_checkpointing": True,
                "offload": offload,
                "sequence_parallel": sequence,
                "vllm_tensor_parallel": tensor,
                "vllm_gpu_memory": share,
                **cut,
                **unfused,
            }

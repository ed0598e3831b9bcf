"""The needs of a training with TRL: memory of one device by part, time of a step, and the settings a profile tries.

Counts are bytes, as in `harness.backends.memory`. Tests compare them with measured peaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from harness.backends.common import is_self_taught, needs_reference
from harness.backends.memory import PASS_TOKENS, Mode, Need, activations, divisors, weights_bytes
from harness.backends.seconds import Rules, StepSeconds, rollout_seconds
from harness.backends.trl.hardware import TrlHardware
from harness.spec import Experiment, Training
from harness.spec.architecture import Architecture, architecture
from harness.spec.hardware import Gpu
from harness.step.batch import SEQUENCE_SIGNALS


def mode(training: Training, hardware: TrlHardware) -> Mode:
    """How the forward pass of a training computes."""
    if training.precision.value == "float32":
        return "float32"
    return "bfloat16" if hardware.deepspeed or training.precision.value == "pure_bfloat16" else "autocast"


TILE = (4096, 32_768)  # tokens x words that TRL 1.16's output head computes at once


def fused_head(a: Architecture, tokens: float, how: Mode) -> float:
    """Bytes of TRL's output head, which never holds all logits: one tile of them, the part of the head's weights that
    it multiplies, float32 gradients of the hidden states and of the head, and a few numbers a token."""
    p = 4 if how == "float32" else 2
    tile = min(tokens, TILE[0]) * TILE[1] * p + (0 if how == "float32" else min(a.vocab, TILE[1]) * a.hidden * p)
    return tile + 4.0 * a.hidden * (tokens + a.vocab) + 7 * 4.0 * tokens


def kept_logits(a: Architecture, tokens: float, training: Training) -> float:
    """Bytes that an objective adds which sees the likeliest tokens, counted and not measured: float32 logits, their
    scaled copy, a log-softmax, its exponential, the product of both, and two gradients."""
    sees = isinstance(training, Experiment) and training.method.likeliest
    return 7 * 4.0 * a.vocab * tokens if sees else 0.0


def forward_end(a: Architecture, tokens: float) -> float:
    """Bytes at the end of a forward pass under autocast, with layers that will be recomputed.

    Autocast keeps the bfloat16 copy of every trained weight until its context ends (torch's weight cache), at the end
    of the forward pass. So the copies of all layers exist at once, beside their inputs and one feed-forward layer's
    work. The backward pass recomputes each layer in its own context: there one layer's copies are alive at a time, and
    `states` counts those. TRL's output head casts its weights in parts.
    """
    work = 3 * 2 * a.intermediate * a.active_experts
    return 2.0 * a.layers * a.layer + tokens * ((a.layers + 2) * 4 * a.hidden + work)


def states(a: Architecture, training: Training, hardware: TrlHardware, how: Mode) -> dict[str, float]:
    """Weights, gradients and optimiser of the trained model on one device."""
    devices = hardware.devices
    n, rank = a.parameters, training.lora_rank.value
    trained = n if rank is None else a.lora(rank)
    frozen = 0 if rank is None else n * weights_bytes(how)
    if hardware.deepspeed:  # ZeRO: bfloat16 weights beside float32 masters, which count as optimiser state
        stage3 = hardware.zero_stage == 3
        largest = max(a.layer, a.vocab * a.hidden)  # what is gathered at once
        shard, whole = 1 / devices, 1 / devices if stage3 else 1.0
        gathered = 2 * largest * weights_bytes(how) if stage3 and devices > 1 else 0
        on_device = 0.0 if hardware.zero_offloads else 1.0  # gradients follow the optimiser to the CPU
        return {
            "weights": (weights_bytes(how) * trained + frozen) * whole + gathered,
            "gradients": 4 * trained * shard * on_device,
            "optimiser": 12 * trained * shard * on_device,
        }
    each = 2 if training.precision.value == "pure_bfloat16" else 4  # bytes of a weight, a gradient and each moment
    copies = 0
    if how == "autocast" and rank is None:
        # bfloat16 copies: all, kept for the backward pass, or of one layer at a time
        copies = 2 * a.layer * (1 if hardware.gradient_checkpointing else a.layers)
    return {
        "weights": each * trained + frozen + copies,
        # DistributedDataParallel reduces gradients in buckets that hold them once more
        "gradients": each * trained * (2 if devices > 1 else 1),
        "optimiser": 2 * each * trained,
    }


def need(a: Architecture, training: Training, hardware: TrlHardware, gpu_memory: float) -> Need:
    """Memory of one training device, of whose `gpu_memory` bytes a colocated vLLM takes its share: all the time, or
    (`hardware.vllm_sleep`) while it samples."""
    how, sharded = mode(training, hardware), hardware.zero_stage == 3
    fixed, tokens = states(a, training, hardware, how), _pass_tokens(training, hardware)
    work = {
        "activations": activations(a, tokens, how, checkpointing=hardware.gradient_checkpointing, padded=True),
        "logits": fused_head(a, tokens, how) + kept_logits(a, tokens, training),
    }
    if how == "autocast" and hardware.gradient_checkpointing and training.lora_rank.value is None:
        backward = sum(work.values()) + 2 * a.layer
        work["weights cast at the end of the forward pass"] = max(0.0, forward_end(a, tokens) - backward)
    if not isinstance(training, Experiment):
        return Need({**fixed, **work}, {})
    if needs_reference(training) and training.lora_rank.value is None and not is_self_taught(training):
        each = 4 if how == "autocast" else weights_bytes(how)  # loaded as the trained model is
        teacher = training.reference_model.value
        reference = (None if teacher is None else architecture(teacher)) or a  # unknown: as large as the policy
        fixed["reference"] = reference.parameters * each / (hardware.devices if sharded else 1)
    held = hardware.devices > 1 or hardware.deepspeed
    sampling = {part: size for part, size in fixed.items() if held or part != "gradients"}  # None between two steps
    if hardware.rollouts == "vllm_colocate":
        engine = {"vllm": hardware.vllm_gpu_memory * gpu_memory}
        return Need({**fixed, **work, **({} if hardware.vllm_sleep else engine)}, {**sampling, **engine})
    if hardware.rollouts == "transformers":
        sampling |= _generation(a, training, hardware, how)
    return Need({**fixed, **work}, sampling)


def _generation(a: Architecture, e: Experiment, hardware: TrlHardware, how: Mode) -> dict[str, float]:
    """Parts that transformers' `generate` adds, for the sequences that one process samples."""
    sequences = e.prompts_per_rollout.value * e.group_size.value / hardware.processes
    gathered = hardware.zero_stage == 3 and hardware.devices > 1
    context = e.max_prompt_tokens.value + e.max_completion_tokens.value
    # under autocast float32 weights make a float32 cache. Keys and values of one layer, and the weights, are cast
    cast = how == "autocast" and e.lora_rank.value is None
    each = 4 if cast else weights_bytes(how)
    heads = 2 * a.heads * a.head_dim * (6 if cast else each)  # in one layer, repeated for all heads
    return {
        "gathered weights": a.parameters * weights_bytes(how) if gathered else 0.0,
        "cache": sequences * context * (a.cache(each) + heads),
        "weights cast": 2.0 * a.parameters if cast else 0.0,
        "logits": sequences * a.vocab * 12.0,
    }


def _sizes(training: Training, hardware: TrlHardware) -> tuple[int, int]:
    """(sequences of an optimiser step on one process, tokens of a sequence of maximum length)."""
    if isinstance(training, Experiment):
        rollout = training.prompts_per_rollout.value * training.group_size.value
        length = training.max_prompt_tokens.value + training.max_completion_tokens.value
        return rollout // training.updates_per_rollout.value // hardware.processes or 1, length
    return training.batch_size.value // hardware.processes or 1, training.max_tokens.value


def _pass_tokens(training: Training, hardware: TrlHardware) -> int:
    """Tokens of one forward pass on one device, padded to the maximum length."""
    sequences, length = _sizes(training, hardware)
    return (hardware.micro_batch or sequences) * length


LOGPROBS = 2.5  # TRL's rollouts, which ask for log-probabilities, took 48 microseconds a token, our evaluation 19


def step_seconds(
    a: Architecture, gpu: Gpu, e: Experiment, hardware: TrlHardware, rules: Rules, mean: float | None
) -> StepSeconds:
    """As `Backend.step_seconds`: passes without gradients are the reference's, the old policy's where a rollout has
    several updates (twice for its entropies), one for the signals that the method reads, and one more for
    pi_squared."""
    reads = not e.method.reads <= {*SEQUENCE_SIGNALS} or e.entropy_search is not None
    old = (e.updates_per_rollout.value > 1) * (1 + ("old_entropies" in e.method.reads))
    passes = needs_reference(e) + old + reads + ("pi_squared" in e.method.reads)
    rules = replace(rules, token_s=LOGPROBS * rules.token_s)
    return rollout_seconds(a, gpu, e, hardware, rules, mean, passes=passes, eager=hardware.rollouts == "transformers")


STAGES = (None, "zero2", "zero3", "zero3_offload")
# tensor parallel size and share of the memory of a vLLM that stays, and of one that sleeps while the model trains
ENGINES = ((1, 0.3), (2, 0.3), (4, 0.3), (8, 0.3), (4, 0.2), (8, 0.2))
SLEEPING = ((1, 0.5), (2, 0.5), (4, 0.5), (8, 0.5))
ONE_CARD = (((1, 0.3), (1, 0.2)), ((1, 0.5), (1, 0.4), (1, 0.3), (1, 0.2)))  # the same for a single GPU


def candidates(training: Training, base: TrlHardware) -> Iterator[dict[str, object]]:
    """As `Backend.candidates`."""
    sequences, length = _sizes(training, base)
    micros = divisors(sequences, max(1, PASS_TOKENS // length))
    stages = STAGES if base.device == "gpu" and base.processes > 1 else (None,)
    colocated = isinstance(training, Experiment) and base.rollouts == "vllm_colocate"
    staying, sleeping = ONE_CARD if base.processes == 1 else (ENGINES, SLEEPING)
    for sleep, sizes in ((False, staying), (True, sleeping)) if colocated else ((False, ()),):
        engines: list[dict[str, object]] = [
            {"vllm_tensor_parallel": size, "vllm_gpu_memory": share, "vllm_sleep": sleep}
            for size, share in sizes
            if base.processes % size == 0
        ]
        for stage, engine, micro in product(stages, engines or [{}], micros):
            yield {"deepspeed": stage, "micro_batch": micro, "gradient_checkpointing": True, **engine}

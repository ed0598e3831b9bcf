"""Memory that a training needs on each device, by part. Pure: from shapes, counts and machine settings.

Counts are bytes. N is a model's parameters, W the devices of the run. The states of mixed precision are those of ZeRO
(arXiv 1910.02054, section 3.1): float32 weights 4N, gradients 4N, two AdamW moments 8N; sharding divides them by W.
Activations are counted from what transformers' layers keep for the backward pass; tests compare the counts with
measured peaks (tests/harness/backends/test_memory.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from harness.spec import Experiment, Training
from harness.spec.architecture import Architecture
from harness.spec.hardware import Hardware, deepspeed_file

# How the forward pass computes: float32; autocast, whose residual stream stays float32; weights cast to bfloat16.
Mode = Literal["float32", "autocast", "bfloat16"]  # the last two also with float16 instead of bfloat16

CONTEXT = 1.5e9  # CUDA context, NCCL buffers, kernels' workspaces: an assumption
USABLE = 0.94  # of a device's memory; the rest is lost to fragmentation: an assumption
VLLM_OVERHEAD = 3e9  # of a vLLM engine beside weights and cache (graphs, activations): an assumption


@dataclass(frozen=True)
class Need:
    """Bytes on one device: by part while it trains, and while it samples."""

    training: Mapping[str, float]
    sampling: Mapping[str, float]

    @property
    def peak(self) -> float:
        """The larger of the two phases, with the fixed overhead of a GPU's context."""
        return max(sum(self.training.values()), sum(self.sampling.values())) + CONTEXT

    @property
    def phase(self) -> str:
        return "training" if sum(self.training.values()) >= sum(self.sampling.values()) else "sampling"


def mode(training: Training, backend: str, hardware: Hardware) -> Mode:
    """How the forward pass of a training computes."""
    if training.precision.value == "float32":
        return "float32"
    pure = training.precision.value == "pure_bfloat16"
    return "bfloat16" if backend == "verl" or hardware.deepspeed or pure else "autocast"


def layer_activations(a: Architecture, how: Mode, *, padded: bool) -> float:
    """Bytes per token that one layer keeps for its backward pass.

    Two norms, attention, feed-forward, in units of h (hidden), q and kv (projections), i (feed-forward), p bytes each:

    - float32: a norm keeps its input, the normalised input and its output: 12h. autocast: the first two in float32 (8h)
      and a bfloat16 copy of its output for each of the 3 or 2 projections that read it. bfloat16: 4h + 2h + 2h.
    - attention keeps q, k, v, and its output twice (transposed for the output projection); with a padding mask keys
      and values are repeated for all heads.
    - the feed-forward layer keeps gate, its activation, up and their product; of a mixture, of the active experts.
    """
    h, i = a.hidden, a.intermediate * a.active_experts
    q, kv = a.heads * a.head_dim, a.kv_heads * a.head_dim
    p = 4 if how == "float32" else 2
    norms = {"float32": 24 * h, "autocast": 26 * h, "bfloat16": 16 * h}[how]
    attention = p * (3 * q + 2 * kv + (2 * (q - kv) if padded else 0))
    return norms + attention + 4 * p * i


def activations(a: Architecture, tokens: float, how: Mode, *, checkpointing: bool, padded: bool) -> float:
    """Bytes of all layers for the tokens of one forward pass; with checkpointing each layer's input and one layer."""
    one = layer_activations(a, how, padded=padded)
    stream = a.hidden * (2 if how == "bfloat16" else 4)
    final = 2 * stream + a.hidden * 4
    kept = a.layers * stream + one if checkpointing else a.layers * one
    return tokens * (kept + final)


def logits(a: Architecture, tokens: float, how: Mode, *, fused: bool, scaled: bool) -> float:
    """Bytes of veRL's output head for the tokens of one forward pass: logits, their gradients, and copies.

    Bytes per token and word of the vocabulary as measured with torch's own operations (`fused`: a kernel that holds no
    logits); `scaled`: one more copy, divided by the temperature.
    """
    if fused:
        return 0.0
    each, copy = {"float32": (16, 4), "autocast": (15, 4), "bfloat16": (8, 2)}[how]
    return float(tokens * a.vocab * (each + (copy if scaled else 0)))


TILE = (4096, 32_768)  # tokens x words that TRL 1.16's output head computes at once


def fused_head(a: Architecture, tokens: float, how: Mode) -> float:
    """Bytes of TRL's output head, which never holds all logits: one tile of them, the part of the head's weights that
    it multiplies, float32 gradients of the hidden states and of the head, and a few numbers a token."""
    p = 4 if how == "float32" else 2
    tile = min(tokens, TILE[0]) * TILE[1] * p + (0 if how == "float32" else min(a.vocab, TILE[1]) * a.hidden * p)
    return tile + 4.0 * a.hidden * (tokens + a.vocab) + 7 * 4.0 * tokens


def weights_bytes(how: Mode) -> int:
    """For a model without training state (the reference, a vLLM engine)."""
    return 4 if how == "float32" else 2


def forward_end(a: Architecture, tokens: float) -> float:
    """Bytes at the end of a forward pass under autocast, with layers that will be recomputed.

    Autocast keeps the bfloat16 copy of every trained weight until its context ends (torch's weight cache), at the end
    of the forward pass. So the copies of all layers exist at once, beside their inputs and one feed-forward layer's
    work. The backward pass recomputes each layer in its own context: there one layer's copies are alive at a time, and
    `states` counts those. TRL's output head casts its weights in parts.
    """
    work = 3 * 2 * a.intermediate * a.active_experts
    return 2.0 * a.layers * a.layer + tokens * ((a.layers + 2) * 4 * a.hidden + work)


def states(a: Architecture, training: Training, backend: str, hardware: Hardware, how: Mode) -> dict[str, float]:
    """Weights, gradients and optimiser of the trained model on one device."""
    devices = hardware.processes * hardware.nodes
    n, rank = a.parameters, training.lora_rank.value
    trained = n if rank is None else a.lora(rank)
    frozen = 0 if rank is None else n * weights_bytes(how)
    each = 2 if training.precision.value == "pure_bfloat16" else 4  # bytes of a weight, a gradient and each moment
    largest = max(a.layer, a.vocab * a.hidden)  # what is gathered or cast at once
    if backend == "verl":  # FSDP2: everything sharded, in float32; one layer and the next gathered to compute
        shard = 1 / devices
        frozen = 0 if rank is None else 4 * n
        gathered = (2 * a.layer + a.vocab * a.hidden) * weights_bytes(how) if devices > 1 else 0
        return {
            "weights": (each * trained + frozen) * shard + gathered,
            "gradients": each * trained * shard,
            "optimiser": 2 * each * trained * shard,
        }
    if hardware.deepspeed:  # ZeRO: bfloat16 weights beside float32 masters, which count as optimiser state
        stage3 = zero_stage(hardware.deepspeed) == 3
        shard, whole = 1 / devices, 1 / devices if stage3 else 1.0
        gathered = 2 * largest * weights_bytes(how) if stage3 and devices > 1 else 0
        on_device = 0.0 if zero_offloads(hardware.deepspeed) else 1.0  # gradients follow the optimiser to the CPU
        return {
            "weights": (weights_bytes(how) * trained + frozen) * whole + gathered,
            "gradients": 4 * trained * shard * on_device,
            "optimiser": 12 * trained * shard * on_device,
        }
    copies = 0
    if (
        how == "autocast" and rank is None
    ):  # bfloat16 copies: all, kept for the backward pass, or of one layer at a time
        copies = 2 * a.layer * (1 if hardware.gradient_checkpointing else a.layers)
    return {
        "weights": each * trained + frozen + copies,
        # DistributedDataParallel reduces gradients in buckets that hold them once more
        "gradients": each * trained * (2 if devices > 1 else 1),
        "optimiser": 2 * each * trained,
    }


@cache
def _zero(deepspeed: str) -> Mapping[str, Any]:
    """The ZeRO section of a DeepSpeed configuration; empty if the file cannot be read (a run refuses it)."""
    try:
        zero = json.loads(Path(deepspeed_file(deepspeed)).read_text(encoding="utf-8"))["zero_optimization"]
        return zero if isinstance(zero, dict) else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def zero_stage(deepspeed: str) -> int:
    """The ZeRO stage of a DeepSpeed configuration: 0, 1, 2 or 3."""
    stage = _zero(deepspeed).get("stage", 0)
    return stage if isinstance(stage, int) else 0


def zero_offloads(deepspeed: str) -> bool:
    """Whether a DeepSpeed configuration keeps the optimiser in the machine's memory."""
    offload = _zero(deepspeed).get("offload_optimizer")
    return isinstance(offload, dict) and offload.get("device") in ("cpu", "nvme")


def need(a: Architecture, training: Training, backend: str, hardware: Hardware, gpu_memory: float) -> Need:
    """Memory of one training device. `gpu_memory`: bytes of the device, of which a colocated vLLM takes its share."""
    how = mode(training, backend, hardware)
    devices = hardware.processes * hardware.nodes
    own = states(a, training, backend, hardware, how)
    sharded = backend == "verl" or (hardware.deepspeed is not None and zero_stage(hardware.deepspeed) == 3)
    packed = backend == "verl" and hardware.packing and hardware.device != "cpu"
    total, scored = _tokens(training, backend, hardware)
    fixed = dict(own)
    if isinstance(training, Experiment):
        if _reads_reference(training) and training.lora_rank.value is None:
            each = 4 if how == "autocast" else weights_bytes(how)  # loaded as the trained model is
            fixed["reference"] = a.parameters * each / (devices if sharded else 1)
        if training.critic.value:
            fixed["critic"] = sum(own.values())
    scaled = isinstance(training, Experiment) and training.rollout_temperature.value != 1
    work = {
        "activations": activations(a, total, how, checkpointing=hardware.gradient_checkpointing, padded=not packed),
        "logits": logits(a, scored, how, fused=hardware.fused_kernels, scaled=scaled)
        if backend == "verl"
        else fused_head(a, total, how),
    }
    if how == "autocast" and hardware.gradient_checkpointing and training.lora_rank.value is None:
        backward = sum(work.values()) + 2 * a.layer
        work["weights cast at the end of the forward pass"] = max(0.0, forward_end(a, total) - backward)
    if backend == "verl" and hardware.offload:
        kept = {key: 0.0 for key in fixed}
        # one model at a time is on the device: critic and reference are offloaded while the policy trains
        fixed = {**own, **{key: 0.0 for key in fixed if key not in own}}
    else:
        kept = fixed
    engine = hardware.vllm_gpu_memory * gpu_memory if hardware.rollouts == "vllm_colocate" or backend == "verl" else 0.0
    if not isinstance(training, Experiment):
        return Need({**fixed, **work}, {})
    sampling: dict[str, float] = dict(kept)
    if engine:
        sampling["vllm"] = engine
    elif hardware.rollouts == "transformers":
        sequences = _rollout_sequences(training, hardware)
        context = training.max_prompt_tokens.value + training.max_completion_tokens.value
        sampling["gathered weights"] = a.parameters * weights_bytes(how) if sharded and devices > 1 else 0.0
        sampling["cache"] = sequences * context * a.cache(weights_bytes(how))
        sampling["logits"] = sequences * a.vocab * 12.0
    # TRL's colocated engine stays in memory during training; veRL's is unloaded
    resident = {"vllm": engine} if engine and backend == "trl" else {}
    return Need({**fixed, **work, **resident}, sampling)


def _reads_reference(training: Experiment) -> bool:
    return bool(training.kl_beta.value) or "ref_logp" in training.method.reads


def _rollout_sequences(training: Experiment, hardware: Hardware) -> float:
    rollout = training.prompts_per_rollout.value * training.group_size.value
    return rollout / hardware.processes


def _tokens(training: Training, backend: str, hardware: Hardware) -> tuple[float, float]:
    """(tokens, scored tokens) of one forward pass on one device, padded to the maximum length."""
    if not isinstance(training, Experiment):
        batch = training.batch_size.value // hardware.processes or 1
        tokens = (hardware.micro_batch or batch) * training.max_tokens.value
        return tokens, tokens
    prompt, completion = training.max_prompt_tokens.value, training.max_completion_tokens.value
    update = training.prompts_per_rollout.value * training.group_size.value // training.updates_per_rollout.value
    ranks = hardware.processes * hardware.nodes // (hardware.sequence_parallel if backend == "verl" else 1)
    micro = hardware.micro_batch or max(1, update // max(1, ranks))
    if backend == "verl":
        tokens = micro * (prompt + completion)
        if hardware.tokens_per_gpu:  # a sequence is never cut: at least one goes into a pass
            tokens = min(tokens, max(hardware.tokens_per_gpu * hardware.sequence_parallel, prompt + completion))
        return tokens / hardware.sequence_parallel, tokens / hardware.sequence_parallel
    return micro * (prompt + completion), micro * (completion + 1)


def engine_need(a: Architecture, training: Experiment, hardware: Hardware) -> float:
    """Bytes that a vLLM engine needs on one GPU for its weights and the cache of one sequence of maximum length."""
    context = training.max_prompt_tokens.value + training.max_completion_tokens.value
    each = weights_bytes("float32" if training.precision.value == "float32" else "bfloat16")
    return (a.parameters * each + context * a.cache(each)) / hardware.vllm_tensor_parallel + VLLM_OVERHEAD


def fits(need: Need, gpu_memory: float) -> bool:
    """Whether it fits into a device with this many bytes."""
    return need.peak <= USABLE * gpu_memory

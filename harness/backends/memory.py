"""Memory that a training needs on each device: what all backends share. Pure: from shapes, counts and settings.

Counts are bytes. N is a model's parameters, W the devices of the run. The states of mixed precision are those of ZeRO
(arXiv 1910.02054, section 3.1): float32 weights 4N, gradients 4N, two AdamW moments 8N. Sharding divides them by W.
Activations are counted from what transformers' layers keep for the backward pass. Tests compare the counts with
measured peaks (tests/harness/backends/test_memory.py). A trainer's own part is in its `needs.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from harness.spec.architecture import Architecture

# How the forward pass computes: float32. Autocast, whose residual stream stays float32. Weights cast to bfloat16.
Mode = Literal["float32", "autocast", "bfloat16"]  # the last two also with float16 instead of bfloat16

PASS_TOKENS = 32_768  # rough size of one forward pass. Larger passes are not faster on a GPU
CONTEXT = 1.5e9  # CUDA context, NCCL buffers, kernels' workspaces: an assumption
USABLE = 0.94  # the share of a device's memory that can be used. Fragmentation takes the rest: an assumption.
VLLM_OVERHEAD = 3e9  # the memory of a vLLM engine beside weights and cache (graphs, activations): an assumption


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


def layer_activations(a: Architecture, how: Mode, *, padded: bool) -> float:
    """Bytes per token that one layer keeps for its backward pass.

    Two norms, attention, feed-forward, in units of h (hidden), q and kv (projections), i (feed-forward), p bytes each:

    - float32: a norm keeps its input, the normalised input and its output: 12h. autocast: the first two in float32 (8h)
      and a bfloat16 copy of its output for each of the 3 or 2 projections that read it. bfloat16: 4h + 2h + 2h.
    - attention keeps q, k, v, and its output twice (transposed for the output projection). With a padding mask keys
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
    """Bytes of all layers for the tokens of one forward pass. With checkpointing each layer's input and one layer."""
    layer = layer_activations(a, how, padded=padded)
    stream = a.hidden * (2 if how == "bfloat16" else 4)
    final = 2 * stream + a.hidden * 4
    layers = a.layers * stream + layer if checkpointing else a.layers * layer
    return tokens * (layers + final)


def weights_bytes(how: Mode) -> int:
    """For a model without training state (the reference, a vLLM engine)."""
    return 4 if how == "float32" else 2


def engine_need(a: Architecture, tokens: int, tensor_parallel: int, each: int = 2) -> float:
    """Bytes that a vLLM engine needs on each of its GPUs for weights of `each` bytes and a cache of so many tokens."""
    return (a.parameters * each + tokens * a.cache(each)) / tensor_parallel + VLLM_OVERHEAD


def fits(need: Need, gpu_memory: float) -> bool:
    """Whether it fits into a device with this many bytes."""
    return need.peak <= USABLE * gpu_memory


def divisors(number: int, most: int) -> list[int]:
    """The divisors of a number up to `most`, the largest first."""
    return [m for m in range(min(number, most), 0, -1) if number % m == 0]

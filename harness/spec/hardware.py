"""How an experiment runs on a machine. Nothing here may change the mathematics of what is trained."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, get_type_hints

from harness.spec.declared import check_value


@dataclass(frozen=True)
class Hardware:
    """Machine settings, `hardware.<name>=value` on the command line.

    Args:
        device: "auto" takes a GPU when there is one.
        processes: training processes; more than one is started through torchrun (CPU) or `accelerate launch` (GPU).
        micro_batch: sequences per process in one forward pass; null takes a whole update at once. Gradients are
            accumulated over the micro-batches of an update, and statistics always cover the whole update.
        gradient_checkpointing: recompute activations in the backward pass to save memory.
        nodes: machines with `processes` each (veRL). ray_address: of a running Ray cluster, HOST:PORT or "auto"; null
            starts Ray on this machine (veRL).
        rollouts: the sampling engine: "transformers", "vllm_colocate" (in the training processes) or "vllm_server".
        vllm_gpu_memory: share of a GPU's memory for a colocated vLLM. vllm_server_url: of a running `trl vllm-serve`.
        vllm_tensor_parallel: GPUs per colocated vLLM engine.
        deepspeed: path of a DeepSpeed JSON configuration.
        packing: sequences without padding, by flash attention; tokens_per_gpu: forward passes of at most that many
            tokens, instead of `micro_batch`; sequence_parallel: GPUs that share a sequence (Ulysses); offload: keep
            weights and optimiser state in CPU memory between uses; fused_kernels: veRL's output head and entropy in
            one kernel (all veRL, on GPUs).
        resampling_rounds: batches of prompts that dynamic sampling may sample for one step before it fails (veRL).
        stall_minutes: minutes without a step before the run is killed as hung (veRL).
        save_every: rollouts between two checkpoints.
        grader_workers: processes that check answers; grader_limit_s: seconds one answer may take.
    """

    device: Literal["auto", "cpu", "gpu"] = "auto"
    processes: int = 1
    micro_batch: int | None = None
    gradient_checkpointing: bool = False
    rollouts: Literal["transformers", "vllm_colocate", "vllm_server"] = "transformers"
    vllm_gpu_memory: float = 0.3
    vllm_server_url: str | None = None
    vllm_tensor_parallel: int = 1
    deepspeed: str | None = None
    nodes: int = 1
    ray_address: str | None = None
    packing: bool = True
    tokens_per_gpu: int | None = None
    sequence_parallel: int = 1
    offload: bool = False
    fused_kernels: bool = False
    resampling_rounds: int = 20
    stall_minutes: float = 60.0
    save_every: int = 50
    grader_workers: int = 2
    grader_limit_s: float = 10.0

    def __post_init__(self) -> None:
        kinds = get_type_hints(type(self))
        for f in fields(self):
            check_value(f"hardware.{f.name}", getattr(self, f.name), kinds[f.name])
        for key in _COUNTS:
            value = getattr(self, key)
            if value is not None and value < 1:
                raise ValueError(f"hardware.{key}: expected at least 1, got {value!r}")
        if self.rollouts == "vllm_server" and self.vllm_server_url is None:
            raise ValueError(
                "hardware.vllm_server_url: expected the address of a server for rollouts=vllm_server, got null"
            )

    def with_device(self) -> Hardware:
        """The same, with device="auto" replaced by "gpu" where torch sees one, else "cpu"."""
        if self.device != "auto":
            return self
        import torch

        return replace(self, device="gpu" if torch.cuda.is_available() else "cpu")


_COUNTS = (
    *("processes", "micro_batch", "save_every", "grader_workers", "vllm_tensor_parallel", "nodes", "tokens_per_gpu"),
    *("sequence_parallel", "resampling_rounds"),
)
HARDWARE_KEYS = tuple(f.name for f in fields(Hardware))

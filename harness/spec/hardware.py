"""How an experiment runs on a machine. Nothing here changes the equations.

The sampling engine (`rollouts`) changes probabilities slightly: each step logs how far sampler and trainer differ
(`harness.step.mismatch`), and `baselines.rollout_correction` is the declared correction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_type_hints

from evals.grading import LIMIT_S
from harness.spec.ranges import Count, Positive, Share, check_value


@dataclass(frozen=True)
class Hardware:
    """Machine settings, `hardware.<name>=value` on the command line. `HELP` explains each.

    Raises:
        ValueError: an invalid value, with field, value and what was expected.
    """

    device: Literal["auto", "cpu", "gpu"] = "auto"
    gpu: Literal["h100", "h200", "a100_80g", "a100_40g"] | None = None
    processes: Count = 1
    threads: Count | None = None
    micro_batch: Count | None = None
    gradient_checkpointing: bool = False
    rollouts: Literal["transformers", "vllm_colocate", "vllm_server"] = "transformers"
    engine: Literal["transformers", "vllm", "ray", "ray_vllm"] = "transformers"
    engine_replicas: Count = 1
    vllm_gpu_memory: Share = 0.3
    vllm_server_url: str | None = None
    vllm_tensor_parallel: Count = 1
    deepspeed: str | None = None
    nodes: Count = 1
    ray_address: str | None = None
    packing: bool = True
    tokens_per_gpu: Count | None = None
    sequence_parallel: Count = 1
    offload: bool = False
    fused_kernels: bool = False
    resampling_rounds: Count = 20
    stall_minutes: Positive = 60.0
    save_every: Count = 50
    save_minutes: Positive = 10.0
    snapshot_every: Count | None = None
    deterministic: bool = False
    grader_workers: Count = 2
    grader_limit_s: Positive = LIMIT_S

    def __post_init__(self) -> None:
        for f in fields(self):
            if getattr(self, f.name) is not f.default:
                check_value(f"hardware.{f.name}", getattr(self, f.name), _kinds()[f.name])
        if self.rollouts == "vllm_server" and self.vllm_server_url is None:
            raise ValueError(
                "hardware.vllm_server_url: expected the address of a server for rollouts=vllm_server, got null"
            )

    def with_device(self) -> Hardware:
        """The same, with device="auto" replaced by "gpu" where torch sees one, else "cpu".

        Raises:
            ValueError: device="gpu", but torch sees none: the record would name a device that was not used.
        """
        if self.device == "cpu":
            return self
        import torch

        available = torch.cuda.is_available()
        if self.device == "gpu" and not available:
            raise ValueError(f"hardware.device: expected cpu or auto, got 'gpu': {NO_GPU}")
        return replace(self, device="gpu" if available else "cpu")


@cache  # a profile tries thousands of settings
def _kinds() -> dict[str, Any]:
    return get_type_hints(Hardware, include_extras=True)


Machines = Hardware | Mapping[tuple[str, str], Hardware]  # of all arms, or by (model, arm)


def of_job(hardware: Machines, model: str, arm: str) -> Hardware:
    """The settings of one arm: common to all arms, or by (model, arm) from a profile."""
    return hardware if isinstance(hardware, Hardware) else hardware[model, arm]


def deepspeed_file(name: str) -> str:
    """The path of a DeepSpeed configuration; those in `ZERO` are shipped with the harness."""
    return str(SHIPPED / f"{name}.json") if name in ZERO else name


ZERO = ("zero2", "zero3", "zero3_offload")


SHIPPED = Path(__file__).resolve().parents[1] / "backends" / "trl" / "deepspeed"


@dataclass(frozen=True)
class Gpu:
    """A GPU: memory as torch reports it (bytes); by data sheet, dense bfloat16 FLOP/s and bandwidth (bytes/s)."""

    memory: float
    flops: float
    bandwidth: float


GPUS: Mapping[str, Gpu] = {
    "h100": Gpu(79.1 * 2**30, 989e12, 3.35e12),
    "h200": Gpu(139.8 * 2**30, 989e12, 4.8e12),
    "a100_80g": Gpu(79.1 * 2**30, 312e12, 2.04e12),
    "a100_40g": Gpu(39.4 * 2**30, 312e12, 1.56e12),
}

NO_GPU = "torch sees no GPU on this machine"
HELP: Mapping[str, str] = {
    "device": "auto (a GPU where there is one), cpu or gpu",
    "gpu": "the GPU that the plan's memory and time are for; null: the one that torch sees, else h100",
    "processes": "training processes on a machine; more than one: torchrun (CPU), accelerate launch (GPU)",
    "threads": "CPU threads of a training process, which decide the last bits on a CPU; null: torch's choice (TRL)",
    "micro_batch": "sequences per process in one forward pass; null: a whole update at once",
    "gradient_checkpointing": "recompute activations in the backward pass to save memory",
    "rollouts": "the sampling engine: transformers, vllm_colocate (in the training processes) or vllm_server",
    "engine": "what evaluates, and samples for rejection sampling: transformers, vllm, ray or ray_vllm (on Ray)",
    "engine_replicas": "models that it holds at once, one a GPU",
    "vllm_gpu_memory": "share of a GPU's memory for a colocated vLLM",
    "vllm_server_url": "address of a running `trl vllm-serve`",
    "vllm_tensor_parallel": "GPUs per colocated vLLM engine",
    "deepspeed": "zero2, zero3 or zero3_offload (shipped), or the path of a DeepSpeed JSON configuration (TRL)",
    "nodes": "machines with `processes` each (veRL)",
    "ray_address": "of a running Ray cluster, HOST:PORT or auto; null: start Ray here (veRL)",
    "packing": "sequences without padding, by flash attention (veRL, GPU)",
    "tokens_per_gpu": "forward passes of at most that many tokens, instead of micro_batch (veRL)",
    "sequence_parallel": "GPUs that share a sequence, Ulysses (veRL)",
    "offload": "keep weights and optimiser state in CPU memory between uses (veRL)",
    "fused_kernels": "output head and entropy in one kernel (veRL, GPU)",
    "resampling_rounds": "batches of prompts that dynamic sampling may sample for one step before it fails (veRL)",
    "stall_minutes": "minutes without a step before the run is killed as hung (veRL)",
    "save_every": "rollouts between two checkpoints",
    "save_minutes": "minutes between two, if that is sooner: the most that a kill may lose",
    "snapshot_every": "optimiser steps between two saved models (eval.every and keep=every:N set it)",
    "deterministic": "deterministic algorithms, slower; also deterministic=true (its limits: docs/running.md)",
    "grader_workers": "processes that check answers",
    "grader_limit_s": "seconds that one answer may take",
}

"""How an experiment runs on a machine. Nothing here changes the equations.

`Hardware` has the settings of every backend. Each backend adds its own in a subclass (`harness.backends.*.hardware`).
The sampling engine changes probabilities slightly: each step logs how far sampler and trainer differ
(`harness.step.mismatch`), and `baselines.rollout_correction` is the declared correction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, Self, get_type_hints

from evals.sampling import engines
from evals.sampling.engines import Kind
from evals.suggest import expected
from harness.errors import UsageError
from harness.spec.host import Host, this_host
from harness.spec.ranges import Count, Positive, Processes, Share, check_value


def setting(default: object, text: str) -> Any:
    """A field of the machine settings, with the text that explains it in the help of the commands."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Hardware:
    """Machine settings, `hardware.<name>=value` on the command line.

    Raises:
        UsageError: an invalid value, with field, value and what was expected.
    """

    device: Literal["auto", "cpu", "gpu"] = setting(
        "auto", "device of the run: auto (a GPU if the machine has one), cpu or gpu"
    )
    gpu: (
        Literal[
            "h100", "h200", "a100_80g", "a100_40g", "rtx_pro_6000", "l40s", "a6000", "rtx5090", "rtx4090", "rtx3090"
        ]
        | None
    ) = setting(
        None, "GPU that the plan computes memory and time for. null: h100. hardware=auto takes the GPU that torch sees"
    )
    processes: Processes = setting(
        1,
        "training processes per machine. TRL starts several with torchrun (CPU) or accelerate launch (GPU). "
        "veRL starts them with Ray",
    )
    threads: Processes | None = setting(
        None,
        "CPU threads of a training process with TRL. On a CPU, their number changes the last digits of results. null: "
        "torch's choice",
    )
    micro_batch: Count | None = setting(None, "sequences per process in one forward pass. null: a whole update")
    gradient_checkpointing: bool = setting(False, "recompute activations in the backward pass to save memory")
    engine: str = setting(
        "transformers",
        "engine for evaluation and for rejection sampling: transformers, vllm, or openai (a server, for models that "
        "are not trained)",
    )
    engine_url: str | None = setting(None, "address of the server, http://HOST:PORT/v1. Its key is in OPENAI_API_KEY")
    engine_dtype: Literal["bfloat16", "float16", "float32"] | None = setting(
        None,
        "number type of the model in the engine. null: float32 on a CPU (bfloat16 is many times faster with AMX), else "
        "the model's own",
    )
    engine_replicas: Processes = setting(1, "copies of the model that the engine holds, on GPUs of their own")
    engine_tensor_parallel: Count = setting(1, "GPUs per copy of the model, with vllm")
    vllm_gpu_memory: Share = setting(0.3, "share of a GPU's memory for vLLM inside the training processes")
    vllm_tensor_parallel: Count = setting(1, "GPUs per vLLM engine inside the training processes")
    ray_address: str | None = setting(
        None, "address of a running Ray cluster (veRL): HOST:PORT or auto. null: start Ray"
    )
    save_every: Count = setting(50, "rollouts between two checkpoints")
    save_minutes: Positive = setting(
        10.0, "minutes between two checkpoints, if that is sooner. A kill loses at most this time"
    )
    snapshot_every: Count | None = setting(
        None, "optimiser steps between two saved models. Do not set it yourself: eval.every and keep set it"
    )
    deterministic: bool = setting(False, "deterministic algorithms, slower (limits: docs/how-to/stop-and-resume.md)")

    def __post_init__(self) -> None:
        cls: object = type(self)
        for f in fields(self):
            if getattr(self, f.name) is not f.default:
                check_value(f"hardware.{f.name}", getattr(self, f.name), _kinds(cls)[f.name])
        if self.engine not in engines.ENGINES:
            raise UsageError(f"hardware.engine: {expected(self.engine, engines.ENGINES)}, got {self.engine!r}")

    @property
    def sampler(self) -> type[Kind]:
        """The facts about the engine that evaluates."""
        return engines.kind(self.engine)

    @property
    def devices(self) -> int:
        """Devices that train one model."""
        return self.processes

    @property
    def card(self) -> Gpu:
        """The GPU that the plan is for. With device="cpu" this machine's processor."""
        return processor(this_host()) if self.device == "cpu" else GPUS[self.gpu or "h100"]

    def on_cpu(self, gpus: int) -> bool:
        """Whether these settings mean a CPU, on a machine with so many GPUs: it is asked for, or none is here and
        none is named."""
        return self.device == "cpu" or (self.device == "auto" and not gpus and self.gpu is None)

    @property
    def gpus(self) -> int:
        """GPUs of a machine that one job needs at a time: to train, or to sample."""
        return max(self.processes, self.engine_replicas * self.engine_tensor_parallel) if self.device == "gpu" else 0

    @property
    def ranks(self) -> int:
        """Parts into which the sequences of an update are divided."""
        return self.devices

    @classmethod
    def help(cls) -> dict[str, str]:
        """The text of each setting, by name."""
        return {f.name: f.metadata["help"] for f in fields(cls)}

    def with_device(self) -> Self:
        """The same, with device="auto" replaced by "gpu" where torch sees one, else "cpu".

        Raises:
            UsageError: device="gpu", but torch sees none: the record would name a device that was not used.
        """
        if self.device == "cpu":
            return self
        import torch

        available = torch.cuda.is_available()
        if self.device == "gpu" and not available:
            raise UsageError(f"hardware.device: expected cpu or auto, got 'gpu': {NO_GPU}")
        return replace(self, device="gpu" if available else "cpu")


@cache  # a profile tries thousands of settings
def _kinds(cls: object) -> dict[str, object]:
    return get_type_hints(cls, include_extras=True)


Machines = Hardware | Mapping[tuple[str, str], Hardware]  # for all arms, or by (model, arm)


def of_job(hardware: Machines, model: str, arm: str) -> Hardware:
    """The settings of one arm: common to all arms, or by (model, arm) from a profile."""
    return hardware if isinstance(hardware, Hardware) else hardware[model, arm]


@dataclass(frozen=True)
class Gpu:
    """A GPU: memory as torch reports it (bytes). By data sheet, dense bfloat16 FLOP/s and bandwidth (bytes/s). Or a
    machine's processor with its memory, where both rates are `measured`."""

    memory: float
    flops: float
    bandwidth: float
    measured: bool = False


def processor(host: Host) -> Gpu:
    """A computer's processor and memory, as the device that trains."""
    return Gpu(host.memory, *host.rates, measured=True)


GPUS: Mapping[str, Gpu] = {
    "h100": Gpu(79.1 * 2**30, 989e12, 3.35e12),
    "h200": Gpu(139.8 * 2**30, 989e12, 4.8e12),
    "a100_80g": Gpu(79.1 * 2**30, 312e12, 2.04e12),
    "a100_40g": Gpu(39.4 * 2**30, 312e12, 1.56e12),
    # 96, 48, 32 and 24 GB: what torch reports is assumed to be 98.5 % of the data sheet's, as for the cards above
    "rtx_pro_6000": Gpu(94.5 * 2**30, 503e12, 1.792e12),
    "l40s": Gpu(47.3 * 2**30, 362e12, 0.864e12),
    "a6000": Gpu(47.3 * 2**30, 155e12, 0.768e12),
    "rtx5090": Gpu(31.5 * 2**30, 209e12, 1.792e12),
    "rtx4090": Gpu(23.6 * 2**30, 165e12, 1.008e12),
    "rtx3090": Gpu(23.6 * 2**30, 71e12, 0.936e12),
}

NO_GPU = "torch sees no GPU on this machine"

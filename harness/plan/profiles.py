"""Machine profiles, `hardware=h100x8`: the settings that make an arm fit the GPUs, chosen by the memory model. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from harness.backends.memory import Need, engine_need, fits, need
from harness.spec import Experiment, Training
from harness.spec.architecture import Architecture, architecture
from harness.spec.hardware import GPUS, Hardware

PASS_TOKENS = 32_768  # rough size of one forward pass; larger passes are not faster on a GPU


@dataclass(frozen=True)
class Profile:
    """GPUs of one kind, `nodes` machines with `gpus` each."""

    gpu: str
    gpus: int = 8
    nodes: int = 1

    def base(self, backend: str) -> Hardware:
        """The settings that all arms share on these machines."""
        return Hardware(
            device="gpu",
            gpu=self.gpu,  # type: ignore[arg-type]
            processes=self.gpus,
            nodes=self.nodes,
            gradient_checkpointing=True,
            rollouts="vllm_colocate",
            engine="vllm",
            engine_replicas=self.gpus,
            ray_address="auto" if self.nodes > 1 else None,
            fused_kernels=backend == "verl",
        )


PROFILES = {
    "h100x8": Profile("h100"),
    "h200x8": Profile("h200"),
    "a100x8_40g": Profile("a100_40g"),
    "h100x32": Profile("h100", nodes=4),
}


@dataclass(frozen=True)
class Verdict:
    """Whether an arm fits, with which settings, and how much memory it then needs.

    Args:
        hardware: the settings. fits: whether it fits with them. need: the memory; None if the model's shape is unknown.
        remedy: settings or a profile that would make it fit; "" if it fits or nothing helps.
    """

    hardware: Hardware
    fits: bool
    need: Need | None
    remedy: str = ""


def gpu_memory(hardware: Hardware) -> float:
    """Bytes of the GPU that the plan is for."""
    return GPUS[hardware.gpu or "h100"].memory


def holds(a: Architecture, training: Training, backend: str, hardware: Hardware, memory: float | None = None) -> bool:
    """Whether each device (of `memory` bytes, or a `hardware.gpu`) has room for its part, and for a colocated vLLM."""
    memory = memory or gpu_memory(hardware)
    if not fits(need(a, training, backend, hardware, memory), memory):
        return False
    if not isinstance(training, Experiment) or not (backend == "verl" or hardware.rollouts == "vllm_colocate"):
        return True
    return engine_need(a, training, hardware) <= hardware.vllm_gpu_memory * memory


def judge(
    training: Training,
    backend: str,
    hardware: Hardware,
    explicit: frozenset[str] = frozenset(),
    *,
    memory: float | None = None,
) -> Verdict:
    """Whether an arm fits with these settings; if not, settings that would fit.

    Args:
        explicit: settings that a remedy keeps if possible. memory: bytes of each device; None: of `hardware.gpu`.
    """
    a = architecture(training.base_model.value)
    if a is None:
        return Verdict(hardware, True, None)
    needs = need(a, training, backend, hardware, memory or gpu_memory(hardware))
    if holds(a, training, backend, hardware, memory):
        return Verdict(hardware, True, needs)
    for locked in (explicit, frozenset[str]()):
        better = search(a, training, backend, hardware, locked, memory)
        if better is not None:
            return Verdict(hardware, False, needs, changes(hardware, better))
    for name, profile in PROFILES.items():
        if backend == "trl" and profile.nodes > 1:
            continue
        if search(a, training, backend, profile.base(backend), frozenset()) is not None:
            return Verdict(hardware, False, needs, f"hardware={name}")
    return Verdict(hardware, False, needs)


def choose(training: Training | None, backend: str, base: Hardware, explicit: frozenset[str]) -> Hardware:
    """The settings of a profile for one arm: the first candidate that fits, else the one with the least memory."""
    if training is None:
        return base
    a = architecture(training.base_model.value)
    options = list(candidates(training, backend, base, explicit))
    if a is None:
        return options[-1]
    return next((hardware for hardware in options if holds(a, training, backend, hardware)), options[-1])


def search(
    a: Architecture,
    training: Training,
    backend: str,
    base: Hardware,
    explicit: frozenset[str],
    memory: float | None = None,
) -> Hardware | None:
    """The first candidate that fits; None if none does."""
    for hardware in candidates(training, backend, base, explicit):
        if holds(a, training, backend, hardware, memory):
            return hardware
    return None


def changes(before: Hardware, after: Hardware) -> str:
    """ "hardware.micro_batch=1 hardware.deepspeed=zero3": the differences, as command-line options."""
    different = ((f.name, getattr(before, f.name), getattr(after, f.name)) for f in fields(Hardware))
    return " ".join(f"hardware.{name}={_text(new)}" for name, old, new in different if old != new)


def _text(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def candidates(training: Training, backend: str, base: Hardware, explicit: frozenset[str]) -> Iterator[Hardware]:
    """Settings from the fastest to the most memory-saving; those in `explicit` stay unchanged."""
    for values in _verl(training, base) if backend == "verl" else _trl(training, base):
        changed = {key: value for key, value in values.items() if key not in explicit}
        yield replace(base, **changed)


def _trl(training: Training, base: Hardware) -> Iterator[dict[str, Any]]:
    sampled = isinstance(training, Experiment)
    if sampled:
        assert isinstance(training, Experiment)
        length = training.max_prompt_tokens.value + training.max_completion_tokens.value
        rollout = training.prompts_per_rollout.value * training.group_size.value
        each = rollout // training.updates_per_rollout.value // base.processes or 1
    else:
        assert not isinstance(training, Experiment)
        length = training.max_tokens.value
        each = training.batch_size.value // base.processes or 1
    micros = _divisors(each, max(1, PASS_TOKENS // length))
    stages = (None, "zero2", "zero3", "zero3_offload") if base.device == "gpu" and base.processes > 1 else (None,)
    colocated = sampled and base.rollouts == "vllm_colocate"
    shares = ((1, 0.3), (2, 0.3), (4, 0.3), (8, 0.3), (4, 0.2), (8, 0.2)) if colocated else ((1, 0.3),)
    for deepspeed in stages:
        for tensor_parallel, share in shares:
            if tensor_parallel > base.processes or base.processes % tensor_parallel:
                continue
            engine = {"vllm_tensor_parallel": tensor_parallel, "vllm_gpu_memory": share} if colocated else {}
            for micro in micros:
                yield {"deepspeed": deepspeed, "micro_batch": micro, "gradient_checkpointing": True, **engine}


def _verl(training: Training, base: Hardware) -> Iterator[dict[str, Any]]:
    if not isinstance(training, Experiment):
        yield {}
        return
    length = training.max_prompt_tokens.value + training.max_completion_tokens.value
    rollout = training.prompts_per_rollout.value * training.group_size.value
    update = rollout // training.updates_per_rollout.value
    devices = base.processes * base.nodes
    for offload in (False, True):
        for parallel in (1, 2, 4, 8):
            if base.processes % parallel or update % max(1, devices // parallel):
                continue
            each = update // max(1, devices // parallel)
            passes: list[dict[str, Any]]
            if training.method.looks_at_micro_batches:  # a pass cut by length would change the statistic
                sizes = _divisors(each, PASS_TOKENS * parallel // length)
                passes = [{"micro_batch": m, "tokens_per_gpu": None} for m in sizes or [1]]
            else:
                passes = [
                    {"micro_batch": None, "tokens_per_gpu": tokens}
                    for tokens in (PASS_TOKENS, -(-length // parallel))
                    if tokens * parallel >= length
                ]
            for tensor_parallel in (1, 2, 4, 8):
                if base.processes % tensor_parallel:
                    continue
                for share in (0.7, 0.5):
                    for cut in passes:
                        yield {
                            "gradient_checkpointing": True,
                            "offload": offload,
                            "sequence_parallel": parallel,
                            "vllm_tensor_parallel": tensor_parallel,
                            "vllm_gpu_memory": share,
                            **cut,
                        }


def _divisors(number: int, most: int) -> list[int]:
    """The divisors of a number up to `most`, the largest first."""
    return [m for m in range(min(number, most), 0, -1) if number % m == 0]

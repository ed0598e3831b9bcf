"""Machine profiles, `hardware=h100x8`: the settings that make an arm fit the GPUs, chosen by the memory model. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from harness.backends import backend
from harness.backends.engine import PROMPT_TOKENS, longest_response
from harness.backends.memory import Need, divisors, engine_need, fits, weights_bytes
from harness.spec import Experiment, Training
from harness.spec.architecture import Architecture, architecture
from harness.spec.hardware import GPUS, NO_GPU, Hardware
from harness.spec.job import Job

SEQUENCES = 8  # of maximum length at once: with fewer an engine waits; an assumption
RANK = 32  # of the LoRA adapters that a remedy offers
ENGINE_SHARE = 0.9  # of a GPU's memory that the evaluation's vLLM takes (`VllmEngine.gpu_memory`)


@dataclass(frozen=True)
class Profile:
    """GPUs of one kind, `nodes` machines with `gpus` each."""

    gpu: str
    gpus: int = 8
    nodes: int = 1

    @property
    def size(self) -> tuple[int, float]:
        """By which profiles are compared: the number of GPUs, then their memory."""
        return self.gpus * self.nodes, GPUS[self.gpu].memory

    def base(self, name: str) -> Hardware:
        """The settings that all arms share on these machines, under the backend of that name.

        Raises:
            ValueError: it does not train on several machines.
        """
        trainer = backend(name)
        if self.nodes > 1 and not trainer.nodes:
            raise ValueError(f"backend={name} trains on one machine, got {self.nodes}")
        several: dict[str, Any] = {"nodes": self.nodes, "ray_address": "auto"} if self.nodes > 1 else {}
        settings: Hardware = trainer.hardware(
            device="gpu",
            gpu=self.gpu,
            processes=self.gpus,
            gradient_checkpointing=True,
            engine="vllm",
            engine_replicas=self.gpus,
            **several,
            **trainer.profile,
        )
        return settings


PROFILES = {
    "h100x8": Profile("h100"),
    "h200x8": Profile("h200"),
    "a100x8_40g": Profile("a100_40g"),
    "h100x32": Profile("h100", nodes=4),
    **{gpu: Profile(gpu, gpus=1) for gpu in GPUS},  # one card
}


# what a GPU's name in torch contains -> the GPU; 80 GB and 40 GB cards of one name are told apart by their memory
NAMES = {
    "H200": ("h200",),
    "H100": ("h100",),
    "A100": ("a100_80g", "a100_40g"),
    "RTX PRO 6000": ("rtx_pro_6000",),
    "L40S": ("l40s",),
    "RTX A6000": ("a6000",),
    "RTX 5090": ("rtx5090",),
    "RTX 4090": ("rtx4090",),
    "RTX 3090": ("rtx3090",),
}


def profile_of(names: Sequence[str], memory: float) -> Profile:
    """The profile of a machine: `hardware=auto`.

    Args:
        names: of its GPUs, as torch gives them. memory: of the first one, in bytes.
    Raises:
        ValueError: no GPU, GPUs of several kinds, or a kind whose speed and memory are not known here.
    """
    if not names:
        raise ValueError(f"{NO_GPU}; expected hardware={'|'.join(PROFILES)}, or no hardware= for this CPU")
    if len(set(names)) > 1:
        raise ValueError(f"GPUs of several kinds ({', '.join(sorted(set(names)))}); CUDA_VISIBLE_DEVICES chooses some")
    kinds = next((gpus for part, gpus in NAMES.items() if part in names[0]), None)
    if kinds is None:
        raise ValueError(f"{names[0]!r} is not among {', '.join(NAMES)}; give hardware.gpu and hardware.KEY=VALUE")
    return Profile(min(kinds, key=lambda gpu: abs(GPUS[gpu].memory - memory)), gpus=len(names))


@dataclass(frozen=True)
class Verdict:
    """Whether an arm fits with its settings, and how much memory it then needs.

    Args:
        need: the memory; None if the model's shape is unknown.
        remedy: settings or a profile that would make it fit; "" if it fits or nothing helps.
    """

    fits: bool
    need: Need | None
    remedy: str = ""


def holds(a: Architecture, training: Training, name: str, hardware: Hardware, memory: float | None = None) -> bool:
    """Whether each device (of `memory` bytes, or a `hardware.gpu`) has room for its part, and for a colocated vLLM."""
    memory, trainer = memory or hardware.card.memory, backend(name)
    if not fits(trainer.need(a, training, hardware, memory), memory):
        return False
    if not isinstance(training, Experiment) or not trainer.colocated(training, hardware):
        return True
    tokens = training.max_prompt_tokens.value + training.max_completion_tokens.value
    each = weights_bytes("float32" if training.precision.value == "float32" else "bfloat16")
    return engine_need(a, tokens, hardware.vllm_tensor_parallel, each) <= hardware.vllm_gpu_memory * memory


def judge(
    training: Training,
    name: str,
    hardware: Hardware,
    explicit: frozenset[str] = frozenset(),
    *,
    memory: float | None = None,
) -> Verdict:
    """Whether an arm fits with these settings of the backend `name`; if not, settings that would fit.

    Args:
        explicit: settings that a remedy keeps if possible. memory: bytes of each device; None: of `hardware.gpu`.
    """
    a = architecture(training.base_model.value)
    if a is None:
        return Verdict(True, None)
    needs = backend(name).need(a, training, hardware, memory or hardware.card.memory)
    if holds(a, training, name, hardware, memory):
        return Verdict(True, needs)
    for fixed in (explicit, frozenset[str]()):
        for better in candidates(training, name, hardware, fixed):
            if holds(a, training, name, better, memory):
                return Verdict(False, needs, changes(hardware, better))
    adapters = ""
    with suppress(ValueError):  # what the backend cannot train is no remedy
        lora = replace(training, lora_rank=replace(training.lora_rank, value=RANK))
        backend(name).check(lora, hardware)
        fitting = (holds(a, lora, name, each, memory) for each in candidates(lora, name, hardware, explicit))
        if training.lora_rank.value is None and any(fitting):
            adapters = f"lora_rank={RANK} (adapters, not all weights) or "
    for profile_name, profile in sorted(PROFILES.items(), key=lambda item: item[1].size):
        if profile.nodes > 1 and not backend(name).nodes:
            continue
        if any(holds(a, training, name, each) for each in candidates(training, name, profile.base(name))):
            return Verdict(False, needs, f"{adapters}hardware={profile_name}")
    return Verdict(False, needs)


def choose(training: Training | None, name: str, base: Hardware, explicit: frozenset[str]) -> Hardware:
    """The settings of a profile for one arm: the first candidate that fits, else the one with the least memory."""
    if training is None:
        return base
    a = architecture(training.base_model.value)
    options = list(candidates(training, name, base, explicit))
    if a is None:
        return options[-1]
    return next((hardware for hardware in options[:-1] if holds(a, training, name, hardware)), options[-1])


def with_engine(job: Job, hardware: Hardware, explicit: frozenset[str]) -> Hardware:
    """The settings with as few GPUs for each model of the evaluation's vLLM as hold it, and as many models as fit."""
    a = architecture(job.base_model.value)
    if a is None or hardware.engine != "vllm" or {"engine_tensor_parallel", "engine_replicas"} & explicit:
        return hardware
    sizes = divisors(hardware.processes, hardware.processes)[::-1]
    sized = [replace(hardware, engine_tensor_parallel=n, engine_replicas=hardware.processes // n) for n in sizes]
    return next((each for each in sized if measures(job, each, SEQUENCES)), sized[-1])


def measures(job: Job, hardware: Hardware, sequences: int = 1, *, memory: float | None = None) -> bool:
    """Whether the GPUs of the evaluation's engine (of `memory` bytes, or a `hardware.gpu`) hold the model and that many
    `sequences` of maximum length; True where nothing says that they do not."""
    a = architecture(job.base_model.value)
    if a is None or hardware.engine != "vllm" or hardware.device == "cpu":
        return True
    tokens = sequences * (longest_response(job.protocol) + PROMPT_TOKENS)
    return engine_need(a, tokens, hardware.engine_tensor_parallel) <= ENGINE_SHARE * (memory or hardware.card.memory)


def candidates(
    training: Training, name: str, base: Hardware, explicit: frozenset[str] = frozenset()
) -> Iterator[Hardware]:
    """Settings from the fastest to the most memory-saving; those in `explicit` stay unchanged."""
    for values in backend(name).candidates(training, base):
        yield replace(base, **{key: value for key, value in values.items() if key not in explicit})


def changes(before: Hardware, after: Hardware) -> str:
    """ "hardware.micro_batch=1 hardware.deepspeed=zero3": the differences, as command-line options."""
    different = ((f.name, getattr(before, f.name), getattr(after, f.name)) for f in fields(after))
    return " ".join(f"hardware.{name}={_text(new)}" for name, old, new in different if old != new)


def _text(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

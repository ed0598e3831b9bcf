"""Machine profiles, `hardware=h100x8`: the settings that make an arm fit the GPUs, chosen by the memory model. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from harness.backends import backend
from harness.backends.engine import PROMPT_TOKENS
from harness.backends.memory import CONTEXT, USABLE, Need, divisors, engine_need, fits, weights_bytes
from harness.errors import UsageError
from harness.spec import Experiment, Training
from harness.spec.architecture import Architecture, architecture
from harness.spec.hardware import GPUS, NO_GPU, Hardware
from harness.spec.job import Job

SEQUENCES = 8  # sequences of maximum length at once: an assumption. With less memory an engine waits.
TOKENS = "max_completion_tokens"
RANK = 32  # the rank of the LoRA adapters that a remedy offers
ENGINE = "vllm"  # that evaluates on the GPUs of a profile


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
            UsageError: it does not train on several machines.
        """
        trainer = backend(name)
        if self.nodes > 1 and not trainer.nodes:
            raise UsageError(f"backend={name} trains on one machine, got {self.nodes}")
        several: dict[str, Any] = {"nodes": self.nodes, "ray_address": "auto"} if self.nodes > 1 else {}
        settings: Hardware = trainer.hardware(
            device="gpu",
            gpu=self.gpu,
            processes=self.gpus,
            gradient_checkpointing=True,
            engine=ENGINE,
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


def profile_of(names: Sequence[str], memory: float) -> Profile:
    """The profile of a machine: `hardware=auto`.

    Args:
        names: of its GPUs, as torch gives them. memory: of the first one, in bytes.
    Raises:
        UsageError: no GPU, GPUs of several kinds, or a kind whose speed and memory are not known here.
    """
    if not names:
        raise UsageError(f"{NO_GPU}. Expected hardware={'|'.join(PROFILES)}, or hardware.device=cpu for this CPU")
    if len(set(names)) > 1:
        raise UsageError(f"GPUs of several kinds ({', '.join(sorted(set(names)))}). CUDA_VISIBLE_DEVICES chooses some")
    spelt = {gpu: re.sub("_(80|40)g|_", "", gpu) for gpu in GPUS}  # these cards are told apart by their memory
    kinds = [gpu for gpu, name in spelt.items() if name in names[0].lower().replace(" ", "")]
    if not kinds:
        raise UsageError(f"{names[0]!r} is not among {', '.join(GPUS)}. Give hardware.gpu and hardware.KEY=VALUE")
    return Profile(min(kinds, key=lambda gpu: abs(GPUS[gpu].memory - memory)), gpus=len(names))


@dataclass(frozen=True)
class Fit:
    """Whether an arm fits with its settings, and how much memory it then needs.

    Args:
        need: the memory, or None if the model's shape is unknown.
        remedy: settings or a profile that would make it fit, or "" if it fits or nothing helps.
    """

    fits: bool
    need: Need | None
    remedy: str = ""

    @property
    def advice(self) -> str:
        """The settings that make it fit, or what takes most, or "" if it fits."""
        if self.fits or self.need is None:
            return ""
        if self.remedy:
            return f"it fits with {self.remedy}"
        part, size = max(getattr(self.need, self.need.phase).items(), key=lambda item: item[1])
        return f"no settings known here make it fit; most of it are its {part}, {size / 1e9:,.1f} GB"


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
    shared: bool = False,
) -> Fit:
    """Whether an arm fits with these settings of the backend `name`. If not, settings that would fit.

    Args:
        explicit: settings that a remedy keeps if possible. memory: bytes of each device. None: of `hardware.gpu`.
        shared: several jobs share the device, so that vLLM is no remedy.
    """
    a = architecture(training.base_model.value)
    if a is None:
        return Fit(True, None)
    needs = backend(name).need(a, training, hardware, memory or hardware.card.memory)
    if holds(a, training, name, hardware, memory):
        return Fit(True, needs)
    for fixed in (explicit, frozenset[str]()):
        faster = () if shared else (_as_a_profile(name, hardware, fixed),)  # vLLM samples faster
        for start in (*faster, hardware):
            for better in candidates(training, name, start, fixed):
                if holds(a, training, name, better, memory):
                    return Fit(False, needs, changes(hardware, better))
    if shared and holds(a, training, name, hardware):
        return Fit(False, needs, "fewer jobs on a card")
    remedies = []
    if hardware.device == "cpu" and isinstance(training, Experiment):
        remedies += _fewer(a, training, name, hardware, explicit, memory)
    with suppress(UsageError):  # what the backend cannot train is no remedy
        lora = replace(training, lora_rank=replace(training.lora_rank, value=RANK))
        backend(name).check(lora, hardware)
        if training.lora_rank.value is None and (held := _held(a, lora, name, hardware, explicit, memory)):
            adapters = _options(f"lora_rank={RANK}", hardware, held)
            remedies.append(f"{adapters} (adapters, not all weights)")
    if larger := _smallest_profile(a, training, name, hardware, explicit):
        remedies.append(f"hardware={larger}" if hardware.device != "cpu" else f"a GPU (hardware={larger})")
    return Fit(False, needs, ", or with ".join(remedies))


def _smallest_profile(
    a: Architecture, training: Training, name: str, hardware: Hardware, explicit: frozenset[str]
) -> str | None:
    """The smallest machine in `PROFILES` that holds a training with the settings in `explicit`, if one does."""
    for profile_name, profile in sorted(PROFILES.items(), key=lambda item: item[1].size):
        if profile.nodes > 1 and not backend(name).nodes:
            continue
        base = replace(profile.base(name), **{key: getattr(hardware, key) for key in explicit - {"device"}})
        if any(holds(a, training, name, each) for each in candidates(training, name, base, explicit)):
            return profile_name
    return None


def _held(
    a: Architecture, training: Training, name: str, start: Hardware, explicit: frozenset[str], memory: float | None
) -> Hardware | None:
    """The settings that hold a training: those from which it starts, such that keep `explicit`, others, or None if none
    does."""
    tried = (start, *candidates(training, name, start, explicit), *candidates(training, name, start))
    return next((each for each in tried if holds(a, training, name, each, memory)), None)


def _options(values: str, before: Hardware, after: Hardware) -> str:
    return " ".join(filter(None, (values, changes(before, after))))


def _fewer(
    a: Architecture, e: Experiment, name: str, hardware: Hardware, explicit: frozenset[str], memory: float | None
) -> list[str]:
    """Half of the prompts at once, a quarter, ..., then fewer responses to each, then fewer tokens: the first that a
    device holds, as options. Empty if no such training does. A CPU samples a whole rollout at once."""
    changed: dict[str, int] = {}
    for key, least in (("prompts_per_rollout", e.updates_per_rollout.value), ("group_size", 2), (TOKENS, 128)):
        value = getattr(e, key).value
        while value % 2 == 0 and value // 2 >= least:
            value //= 2
            changed[key] = value
            smaller = replace(e, **{k: replace(getattr(e, k), value=v) for k, v in changed.items()})
            if better := _held(a, smaller, name, hardware, explicit, memory):
                with suppress(UsageError):  # values that the backend refuses are no remedy
                    backend(name).check(smaller, better)
                    return [_options(" ".join(f"{k}={v}" for k, v in changed.items()), hardware, better)]
    return []


def _as_a_profile(name: str, hardware: Hardware, fixed: frozenset[str]) -> Hardware:
    """The same GPUs with the rollouts' engine of a profile, and on one card its engine of evaluations (`Profile.base`).
    Settings in `fixed` stay."""
    values = {} if hardware.device == "cpu" else dict(backend(name).profile)
    if values and hardware.processes == 1:
        values["engine"] = ENGINE
    return replace(hardware, **{key: value for key, value in values.items() if key not in fixed})


def choose(
    training: Training | None, name: str, base: Hardware, explicit: frozenset[str], *, memory: float | None = None
) -> Hardware:
    """The settings of a profile for one arm: the first candidate that fits, else the one with the least memory.

    Args:
        memory: bytes of each device. None: of `base.gpu`.
    """
    if training is None:
        return base
    a = architecture(training.base_model.value)
    options = list(candidates(training, name, base, explicit))
    if a is None:
        return options[-1]
    return next((each for each in options[:-1] if holds(a, training, name, each, memory)), options[-1])


def with_engine(job: Job, hardware: Hardware, explicit: frozenset[str]) -> Hardware:
    """The settings with as few GPUs for each model of the evaluation's engine as hold it, and as many models as fit."""
    a = architecture(job.base_model.value)
    if a is None or hardware.sampler.gpu_share is None or {"engine_tensor_parallel", "engine_replicas"} & explicit:
        return hardware
    sizes = divisors(hardware.processes, hardware.processes)[::-1]
    sized = [replace(hardware, engine_tensor_parallel=n, engine_replicas=hardware.processes // n) for n in sizes]
    return next((each for each in sized if measures(job, each, SEQUENCES)), sized[-1])


def measures(job: Job, hardware: Hardware, sequences: int = 1, *, memory: float | None = None) -> bool | None:
    """Whether the GPUs of the evaluation's engine (of `memory` bytes, or a `hardware.gpu`) hold the model and, with
    vLLM, that many `sequences` of maximum length. A server or a CPU does. None: the model's shape is not known."""
    a = architecture(job.base_model.value)
    if a is None and not hardware.sampler.served:
        return None
    if a is None or hardware.sampler.served or hardware.device == "cpu":
        return True
    share = hardware.sampler.gpu_share
    if share is None:
        return weights_bytes("bfloat16") * a.parameters + CONTEXT <= USABLE * (memory or hardware.card.memory)
    tokens = sequences * (job.protocol.longest + PROMPT_TOKENS)
    return engine_need(a, tokens, hardware.engine_tensor_parallel) <= share * (memory or hardware.card.memory)


def candidates(
    training: Training, name: str, base: Hardware, explicit: frozenset[str] = frozenset()
) -> Iterator[Hardware]:
    """Settings from the fastest to the most memory-saving. Those in `explicit` stay unchanged."""
    for values in backend(name).candidates(training, base):
        yield replace(base, **{key: value for key, value in values.items() if key not in explicit})


def changes(before: Hardware, after: Hardware) -> str:
    """ "hardware.micro_batch=1 hardware.deepspeed=zero3": the differences, as command-line options."""
    different = ((f.name, getattr(before, f.name), getattr(after, f.name)) for f in fields(after))
    return " ".join(f"hardware.{name}={_text(new)}" for name, old, new in different if old != new)


def _text(value: object) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

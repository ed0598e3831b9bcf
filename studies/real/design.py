"""The arms and comparisons of the study. It is registered before the first run: a change makes another study."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, TypeAlias

from studies.real import problems

Value: TypeAlias = "str | int | float | Sequence[str | float] | Mapping[str, float | Sequence[int]] | None"

PROMPT = Path("studies") / "real" / "prompt.yaml"
PLAIN_PROMPT = PROMPT.with_name("prompt_plain.yaml")
MARGIN = 0.05  # differences up to this one count as none

RECIPE: Mapping[str, Value] = {  # one recipe for all arms: they differ in their equation alone
    "rewards": ["accuracy"],
    "reward_weights": [1.0],
    "prompts_per_rollout": 4,
    "group_size": 8,
    "updates_per_rollout": 1,
    "rollout_temperature": 1.0,
    "max_prompt_tokens": 128,
    "max_completion_tokens": 40,
    "lr_schedule": "constant",
    "warmup_ratio": 0.0,
    "weight_decay": 0.0,
    "max_grad_norm": 1.0,
    "kl_beta": 0.0,
    "aggregation": "token_mean",
    "clip_low": 0.2,
    "clip_high": 0.28,
    "dual_clip": None,
    "lora_rank": None,
    "precision": "float32",
}
GREEDY, SAMPLED = Path(problems.GREEDY).stem, Path(problems.SAMPLED).stem
PROTOCOL: Mapping[str, Value] = {
    "protocol.n": {GREEDY: 1, SAMPLED: 8},
    "protocol.temperature": {GREEDY: 0.0, SAMPLED: 1.0},
    "protocol.max_tokens": 40,
    "protocol.ks": {GREEDY: [1], SAMPLED: [8]},
}


@dataclass(frozen=True)
class Entry:
    """One arm, the arms that it is compared with, and the values that the recipe cannot state for every arm."""

    paper: str
    arm: str
    than: tuple[str, ...] = ("egsw/grpo",)
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.paper}/{self.arm}"


@dataclass(frozen=True)
class Design:
    """The study as data.

    Attributes:
        rollouts: of every run. seeds: of every entry. margin: differences up to it count as none (a fraction).
        entries: in the order in which they are run, seed 0 of all of them first.
    """

    base_model: str
    rollouts: int
    learning_rate: float
    seeds: int
    margin: float
    recipe: Mapping[str, Value]
    protocol: Mapping[str, Value]
    entries: tuple[Entry, ...]
    prompt: ClassVar[Path] = PROMPT

    @property
    def digest(self) -> str:
        """Twelve hex digits of everything declared here, of the problems and of the prompt."""
        declared = json.dumps([asdict(self), problems.files(), self.prompt.read_text(encoding="utf-8")], sort_keys=True)
        return hashlib.sha256(declared.encode()).hexdigest()[:12]


EPSILON: Mapping[str, Value] = {"grpo.epsilon": 1e-6}  # the papers' values differ, and so small ones change nothing


def _method(paper: str, arm: str, **values: Value) -> Entry:
    return Entry(paper, arm, values={**EPSILON, **values})


def _placebo(paper: str, arm: str, values: Mapping[str, Value] = EPSILON) -> Entry:
    """A method with its signal shuffled among the tokens of the prompt's group."""
    return Entry(paper, f"{arm}+shuffled_signal", ("egsw/grpo", f"{paper}/{arm}"), values)


STUDY = Design(
    base_model="SmolLM2-135M-Instruct",
    rollouts=20,
    learning_rate=2e-5,
    seeds=3,
    margin=MARGIN,
    recipe=RECIPE,
    protocol=PROTOCOL,
    entries=(
        Entry("egsw", "grpo", (), EPSILON),
        _method("egsw", "egsw"),
        Entry("erpo", "erpo"),
        _method("entropy_advantage", "grpo_entropy_advantage"),
        _method("forking_tokens", "top20"),
        _method("trial_and_error", "grpo_ppl"),
        # the plateau stage, as at small scale: it begins after a fifth of the rollouts and lasts a tenth of them
        _method(
            "trial_and_error",
            "grpo_position",
            **{"position_advantage.first_step": 4, "position_advantage.steps": 2},
        ),
        Entry("egsw", "grpo+random_reward", values=EPSILON),
        _placebo("egsw", "egsw"),
        _placebo("erpo", "erpo", {}),
        _placebo("entropy_advantage", "grpo_entropy_advantage"),
        _placebo("forking_tokens", "top20"),
        _placebo("trial_and_error", "grpo_ppl"),
    ),
)


class PlainDesign(Design):
    """A study of a base model, which has no chat template."""

    prompt = PLAIN_PROMPT


SECOND_FAMILY = PlainDesign(
    base_model="gemma-3-270m",
    rollouts=STUDY.rollouts,
    learning_rate=STUDY.learning_rate,
    seeds=3,
    margin=MARGIN,
    recipe=RECIPE,
    protocol=PROTOCOL,
    entries=(
        Entry("egsw", "grpo", ("egsw/base",), EPSILON),
        Entry("egsw", "grpo+random_reward", ("egsw/base", "egsw/grpo"), EPSILON),
    ),
)


def values_of(design: Design, entry: Entry) -> dict[str, Value]:
    """Every value of one arm's training that the design states."""
    common: dict[str, Value] = {"prompt": str(design.prompt), **design.recipe}
    return {**common, "learning_rate": design.learning_rate, "max_steps": design.rollouts, **entry.values}


def arguments(design: Design, entry: Entry | None, seed: int, *, model: Path, data: Path) -> list[str]:
    """The words behind `rlvr run` for one run.

    Args:
        entry: None for the base model, which is measured and not trained.
        model: folder of the base model. data: folder of the files that `problems.write` writes.
    """
    measured: dict[str, Value] = {
        "base_model": str(model),
        "protocol.benchmarks": [str(data / name) for name in (problems.GREEDY, problems.SAMPLED)],
        "protocol.prompt": str(design.prompt),
        **design.protocol,
    }
    if entry is None:
        identity, values = ["paper=egsw", "arm=base", "scale=small"], measured
    else:
        identity = [f"paper={entry.paper}", f"arm={entry.arm}", "scale=small", f"seeds=[{seed}]"]
        values = {"data": str(data / problems.TRAIN), **values_of(design, entry), **measured}
    return [*identity, *(f"{key}={_text(value)}" for key, value in values.items())]


def second_family(*, model: Path, data: Path, out: Path) -> list[str]:
    """The words behind `rlvr eval` for a base model of another family, in bfloat16. It has no chat template, so the
    study's prompt is plain text, and a blank line ends a response.

    Args:
        model: its folder. data: folder of the files that `problems.write` writes. out: folder of the evaluation.
    """
    values: dict[str, Value] = {
        "benchmarks": [str(data / name) for name in (problems.GREEDY, problems.SAMPLED)],
        "prompt": str(PLAIN_PROMPT),
        **{key.removeprefix("protocol."): value for key, value in PROTOCOL.items()},
        "top_p": 1.0,
        "engine.dtype": "bfloat16",
        "engine.batch_rows": 64,
        "out": str(out),
    }
    return [f"model={model}", *(f"{key}={_text(value)}" for key, value in values.items())]


def _text(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value).replace('"', "")

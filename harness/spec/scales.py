"""Scales: the paper's own size, or a size for a CPU. Plan and record show every value that a scale replaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evals.provenance import Origin


@dataclass(frozen=True)
class Scale:
    """Values that replace the paper's, by key of `Experiment.settings()`. An arm ignores keys it does not have.

    Args:
        label: printed with every number measured at this scale.
        protocol: a name in evals.data.protocols that replaces the paper's. None keeps it.
        one_model: the scale has one base model, so only the paper's first model runs by default.
        like: another scale whose `scales` values of a paper or arm also apply here.
        family: the tiny family (`harness.data.tiny`) of model, problems and benchmarks. None: real ones.
        reasons: why a value is what it is, by key. A plan and a record show it.
    """

    name: str
    label: str
    values: Mapping[str, Any]
    protocol: str | None = None
    one_model: bool = False
    like: str | None = None
    family: str | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    def special(self, values: Mapping[str, Mapping[str, object]]) -> Mapping[str, Any]:
        """The values that a paper or an arm declares for this scale."""
        return values.get(self.name, values.get(self.like or self.name, {}))


PAPER = Scale("paper", "paper scale", {})

TINY = Scale(
    "tiny",
    "tiny scale: a model of under 2M parameters on made-up arithmetic, which says nothing about the "
    "paper's own numbers",
    {
        "base_model": "tiny",
        "dataset": "tiny",
        "dataset_rows": 4000,
        "prompt": "plain",
        "dynamic_sampling": False,  # TRL cannot resample
        "prompts_per_rollout": 16,
        "group_size": 8,
        "rollout_temperature": 1.0,
        "rollout_top_p": 1.0,
        "max_prompt_tokens": 96,
        "max_completion_tokens": 64,
        "updates_per_rollout": 1,
        "learning_rate": 2e-4,
        "lr_schedule": "constant",
        "warmup_ratio": 0.0,
        "batch_size": 32,
        "max_tokens": 160,
        "max_steps": 60,
        "precision": "float32",
        "lora_rank": None,
    },
    protocol="tiny",
    one_model=True,
    family="tiny",
)

TINY_SEARCH = Scale(
    "tiny_search",
    "tiny scale: a model of under 2M parameters that searches for made-up equations' signs, which says nothing about "
    "the paper's own numbers",
    {**TINY.values, "base_model": "tiny_search", "dataset": "tiny_search"},
    protocol="tiny_search",
    one_model=True,
    like="tiny",
    family="tiny_search",
)

_SMALL: Mapping[str, tuple[object, str]] = {  # key -> (value, reason)
    "base_model": ("Qwen/Qwen2.5-0.5B", "all of its weights train on one GPU of 24 GB; base_model=... takes another"),
    "dataset": ("math_minus_math500", "problems that models of this size partly solve, none of them in MATH-500"),
    "dataset_rows": (12000, "of that set"),
    "prompt": ("boxed_suffix", "the answer in a box, as the small protocol reads it"),
    "dynamic_sampling": (False, "TRL cannot resample"),
    "prompts_per_rollout": (32, "256 responses a rollout: about 20 seconds on one GPU of 24 GB by the plan"),
    "group_size": (8, "256 responses a rollout"),
    "max_prompt_tokens": (512, "holds MATH's problems"),
    "max_completion_tokens": (1024, "longer than most solutions of models of this size"),
    "epochs": (0.8, "300 rollouts of 32 problems: 1 to 6 hours by the plan for models of 0.5B to 1.7B on one GPU"),
    "max_steps": (None, "300 rollouts, whatever the updates of each"),
    "max_tokens": (2048, "of prompt and solution in fine-tuning"),
    "batch_size": (32, "fits one GPU"),
    "overlong.max_length": (1024, "the limit of a completion at this scale"),
    "overlong.buffer": (256, "a quarter of the limit at this scale"),
}
SMALL = Scale(
    "small",
    "small scale: a small model on one GPU (0.5B on MATH unless you replace them), whose numbers are not the paper's",
    {key: value for key, (value, _) in _SMALL.items()},
    protocol="small",
    one_model=True,
    reasons={key: reason for key, (_, reason) in _SMALL.items()},
)

SCALES = {scale.name: scale for scale in (PAPER, SMALL, TINY, TINY_SEARCH)}


UNNAMED = "model"  # stands for a name of the base model in an experiment declared in Python


def base_name(model: str, value: str, origin: str) -> str:
    """The usual name of a base model: `model`, the paper's name for its own. Another one, which a scale or the user
    took instead, and one without such a name, have the last part of the folder or hub id."""
    named = model != UNNAMED and origin not in (Origin.SCALE, Origin.USER)
    return model if named else value.rstrip("/").rpartition("/")[2] or model

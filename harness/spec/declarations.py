"""Experiments as data: settings, arms, papers. Every value carries its source.

A paper's `paper.py` builds these. `harness.plan.plan` shows them, a backend translates them, a record keeps them.
Nothing here imports torch, so a declaration is read and checked in milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from evals.data import protocols
from evals.provenance import Origin, Sourced, assumed, code, paper
from harness.errors import UsageError
from harness.spec.claim import Claim, Curve
from harness.spec.declared import Declared
from harness.spec.method import Method, Use, use
from harness.spec.ranges import Count, Index, NonNegative, Positive, Range, Share
from harness.spec.scales import SCALES

__all__ = [
    "PPO",
    "Arm",
    "Claim",
    "Context",
    "Curve",
    "EntropySearch",
    "Experiment",
    "Finetune",
    "Method",
    "Origin",
    "Reproduction",
    "Sourced",
    "Training",
    "Use",
    "assumed",
    "code",
    "paper",
    "use",
]


Precision = Literal["float32", "bfloat16", "float16", "pure_bfloat16"]
"""Number types of a training.

float32: everything. bfloat16: forward and backward passes; the weights that the optimiser updates, and its state, are
float32, and the final model is rounded once, when it is saved. float16: the same in float16, with a loss scaled so that
small gradients do not vanish (an update whose gradients overflow is skipped). pure_bfloat16: the weights and the
optimiser's state; an update below about 1/256 of a weight is lost.
"""


AS_PASSES: Sourced[Literal["passes", "float32"]] = assumed("passes", "not stated; the default of the trainers")
SKIPPED: Sourced[Literal["skip", "incorrect", "error"]] = assumed(
    "skip", "not stated; the response leaves its group, as nothing is known of it"
)
FROM_TRAINER: Sourced[Literal["trainer", "sampler"]] = assumed("trainer", "not stated; the default of the trainers")
AFTER_THOUGHT: Sourced[Literal["after", "whole"]] = assumed(
    "after",
    "not stated: what a model thinks before </think> is no answer; no effect on responses without such a marker",
)
BASE: Sourced[str | None] = assumed(None, "the base model, as in every paper here")
SELF = "self"  # as reference_model: the policy itself, with a correct response of the group in its prompt
AS_DECLARED: Sourced[str | None] = assumed(None, "the arm's own")
# Fields added after results were measured. With these defaults, an arm keeps its identity.
ADDED: Mapping[str, object] = {
    "head_precision": "passes",
    "unscored": "skip",
    "reasoning": "after",
    "old_policy": "trainer",
    "reference_model": None,
    "like": None,
    "protocol.top_k": None,
    "protocol.reasoning": "whole",
}
# What a run of any paper did whose record lacks a value, as it was added later (`Reproduction.before`: of one paper).
# The last one changed the identity of an arm.
BEFORE: Mapping[str, object] = {**ADDED, "protocol.extraction": "prompt"}


@dataclass(frozen=True)
class PPO(Declared):
    """How PPO's value model is trained. Its advantages are an equation (`baselines.ppo.gae`)."""

    critic_learning_rate: Sourced[Share]
    critic_warmup_steps: Sourced[Index]  # rollouts that train only the critic, before the policy's first update
    value_clip: Sourced[Positive]  # the largest change of a value that its loss rewards

    PREFIX: ClassVar[str] = "ppo."


@dataclass(frozen=True)
class EntropySearch(Declared):
    """How the entropy coefficient is adapted to reach `entropy_target` (see `harness.step.entropy_search`)."""

    step: Sourced[Positive]  # by which the coefficient changes at each optimiser step
    maximum: Sourced[Positive]  # the largest coefficient. The minimum is 0.

    PREFIX: ClassVar[str] = "entropy_search."


@dataclass(frozen=True, repr=False)
class Experiment(Declared):
    """Everything that decides reinforcement learning. Each field is a value with a source. `settings` lists them flat.

    Units: lengths in tokens, temperatures and coefficients without unit, `warmup_ratio` as a share of all steps.
    """

    base_model: Sourced[str]  # hub id, local folder, or "tiny"
    dataset: Sourced[str]  # hub id, local file, or "tiny"
    dataset_rows: Sourced[Count]  # approximate number of problems, for the plan and for the check of too few
    prompt: Sourced[str]  # a name in evals.data.prompts
    rewards: Sourced[tuple[str, ...]]  # names in harness.step.rewards, summed with `reward_weights`
    reward_weights: Sourced[tuple[float, ...]]
    method: Method
    # rollout
    dynamic_sampling: Sourced[bool]  # resample groups whose rewards are all equal (DAPO)
    prompts_per_rollout: Sourced[Count]
    group_size: Sourced[Count]  # responses to one prompt. >= 2 unless a critic gives the advantages
    rollout_temperature: Sourced[Positive]
    rollout_top_p: Sourced[Share]
    max_prompt_tokens: Sourced[Count]
    max_completion_tokens: Sourced[Count]
    # optimisation
    critic: Sourced[bool]  # PPO with a value model, instead of group-relative advantages
    updates_per_rollout: Sourced[Count]
    learning_rate: Sourced[Share]
    lr_schedule: Sourced[Literal["constant", "linear", "cosine"]]
    warmup_ratio: Sourced[Annotated[float, Range("[0, 1]")]]
    weight_decay: Sourced[NonNegative]
    max_grad_norm: Sourced[Positive]
    clip_low: Sourced[Annotated[float, Range("(0, 1)")] | None]  # null: not clipped on that side
    clip_high: Sourced[Positive | None]
    dual_clip: Sourced[Annotated[float, Range("> 1")] | None]
    kl_beta: Sourced[NonNegative]
    reference_reset_every: Sourced[Count | None]  # optimiser steps. null: the reference stays the base model
    entropy_coefficient: Sourced[
        float
    ]  # the weight of the entropy bonus in the loss. With a target, the search's start value.
    entropy_target: Sourced[Positive | None]  # nats. The coefficient is adapted to reach it
    epochs: Sourced[Positive]
    max_steps: Sourced[Count | None]  # optimiser steps. null: as many as the epochs give
    precision: Sourced[Precision]
    lora_rank: Sourced[Count | None]  # null: all weights are trained
    lora_alpha: Sourced[Positive]
    lora_dropout: Sourced[Annotated[float, Range("[0, 1)")]]
    # the output head's: as in the passes, or float32
    head_precision: Sourced[Literal["passes", "float32"]] = AS_PASSES
    # a response that the grader cannot decide (time, memory): it leaves its group without a reward (skip), it gets the
    # reward of an incorrect response, or the training stops with an error
    unscored: Sourced[Literal["skip", "incorrect", "error"]] = SKIPPED
    # the part of a response with a thought in it that our rewards read (`evals.grading.reasoning`). A user's own reward
    # gets the whole response. protocol.reasoning is that of the evaluation
    reasoning: Sourced[Literal["after", "whole"]] = AFTER_THOUGHT
    # whose log-probabilities are those of the policy that sampled: computed again by the trainer, or the sampler's own
    # (veRL's bypass mode), which leaves no mismatch to correct and puts it into the ratio
    old_policy: Sourced[Literal["trainer", "sampler"]] = FROM_TRAINER
    # hub id or folder: of the KL term, or a teacher. null: the base model. self: see `SELF`
    reference_model: Sourced[str | None] = BASE
    like: Sourced[str | None] = AS_DECLARED  # a framework whose GRPO the arm has (`harness.command.resolve.as_in`)
    # groups of values of some methods, with keys such as `ppo.value_clip`
    ppo: PPO | None = None
    entropy_search: EntropySearch | None = None

    GROUPS: ClassVar[tuple[str, ...]] = ("ppo", "entropy_search")
    PARTS: ClassVar[tuple[str, ...]] = ("method", *GROUPS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.rewards.value) != len(self.reward_weights.value):
            one_each = ",".join("1.0" for _ in self.rewards.value)
            raise UsageError(
                f"reward_weights: expected one for each of rewards=[{','.join(self.rewards.value)}], got "
                f"{self.reward_weights.value!r}. Give reward_weights=[{one_each}] too"
            )
        if not any(self.reward_weights.value):
            raise UsageError(
                f"reward_weights: expected a number other than 0, as every reward would be 0, got "
                f"{self.reward_weights.value!r}. A control such as arm=grpo+random_reward trains without a signal"
            )
        if self.group_size.value < 2 and not self.critic.value:
            raise UsageError(
                "group_size: expected >= 2, as a group of one has no advantage without a critic, got "
                f"{self.group_size.value}"
            )
        if self.reference_reset_every.value is not None and not self.kl_beta.value:
            raise UsageError(
                "reference_reset_every: expected null without a KL term (kl_beta=0), got "
                f"{self.reference_reset_every.value}"
            )
        if self.prompts_per_rollout.value % self.updates_per_rollout.value:
            raise UsageError(
                f"updates_per_rollout: expected a divisor of prompts_per_rollout={self.prompts_per_rollout.value}, "
                f"so that no prompt group is split over two updates, got {self.updates_per_rollout.value}"
            )
        reads_values = "values" in self.method.reads
        if not self.critic.value == reads_values == (self.ppo is not None):
            raise UsageError(
                f"critic: expected true with an advantage that reads a critic's values and with the ppo group, false "
                f"without both, got {self.critic.value} with {self.method.advantage.name}"
                + ("" if self.ppo is None else " and a ppo group")
            )
        if (self.entropy_target.value is None) != (self.entropy_search is None):
            raise UsageError(
                f"entropy_target: expected a number where the arm declares an entropy_search, else null, got "
                f"{self.entropy_target.value!r}"
            )
        bounds = ("clip_low", "clip_high", "dual_clip") if self.method.objective is not None else ()
        for key in bounds:
            if getattr(self, key).value is not None:
                assert self.method.objective is not None
                raise UsageError(
                    f"{key}: expected null with the objective {self.method.objective.name}, which takes the place of "
                    f"the clipped surrogate, got {getattr(self, key).value}"
                )
        for equation in self.method.uses():
            misfit = equation.misfit(self)
            if misfit:
                raise UsageError(f"{equation.name} cannot be used here: {misfit}")

    def settings(self) -> dict[str, Sourced[object]]:
        """Every value of the declaration by its key: `learning_rate`, `aggregation`, `egsw.alpha`, ..."""
        flat = super().settings()
        flat |= {"aggregation": self.method.aggregation, "denominator": self.method.denominator}
        flat |= {f"{u.name}.{key}": value for u in self.method.uses() for key, value in u.values.items()}
        for name, group in self._groups():
            flat |= {f"{name}.{key}": value for key, value in group.settings().items()}
        return flat

    def _groups(self) -> Iterator[tuple[str, Declared]]:
        return ((name, getattr(self, name)) for name in self.GROUPS if getattr(self, name) is not None)

    def _swapped_parts(self, swap: Callable[[str, Sourced[object]], Sourced[Any]]) -> dict[str, object]:
        method = replace(
            self.method.map(lambda equation: equation.swapped(swap)),
            aggregation=swap("aggregation", self.method.aggregation),
            denominator=swap("denominator", self.method.denominator),
        )
        groups = {
            name: replace(group, **{k: swap(f"{name}.{k}", v) for k, v in group.settings().items()})
            for name, group in self._groups()
        }
        return {"method": method, **groups}

    # -- what every training answers (`Training`)

    SOLUTIONS: ClassVar[bool] = False
    IN_ROUNDS: ClassVar[bool] = False

    @property
    def updates(self) -> int:
        return self.updates_per_rollout.value

    @property
    def columns(self) -> tuple[str, ...]:
        return self.method.columns

    @property
    def sequence_tokens(self) -> int:
        responses = 2 if self.reference_model.value == SELF else 1  # one in the prompt of the policy as its own teacher
        return self.max_prompt_tokens.value + responses * self.max_completion_tokens.value

    def equations(self) -> list[str]:
        return [equation.name for equation in self.method.uses()]

    def steps(self, rows: int | None = None) -> int:
        if self.max_steps.value is not None:
            return self.max_steps.value
        return self._rollouts(self.dataset_rows.value if rows is None else rows) * self.updates

    def _rollouts(self, rows: int) -> int:
        """The whole rollouts of all epochs on so many rows."""
        return math.floor(rows // self.prompts_per_rollout.value * exact(self.epochs.value))

    def steps_per_start(self, rows: int | None = None) -> int:
        return self.steps(rows)

    def tokens(self) -> tuple[int, int]:
        rollouts = -(-self.steps() // self.updates)  # the last may have fewer updates
        prompts = rollouts * self.prompts_per_rollout.value
        greedy = prompts if "greedy_rewards" in self.method.reads else 0
        sequences, completion = prompts * self.group_size.value, self.max_completion_tokens.value
        return (sequences + greedy) * completion, sequences * (completion + self.max_prompt_tokens.value)

    def check_rows(self) -> None:
        rows, dataset, prompts = self.dataset_rows.value, self.dataset.value, self.prompts_per_rollout.value
        epochs, each = self.epochs.value, min(rows, prompts)
        short = self.max_steps.value is None and not self._rollouts(max(rows, prompts))  # it would train nothing
        if rows < prompts:
            more = " epochs=1 (or max_steps=N)" if short else ""
            raise UsageError(
                f"dataset: expected at least prompts_per_rollout={prompts} problems, got {rows} (dataset_rows) in "
                f"{dataset!r}. prompts_per_rollout={rows}{more} takes them all in each"
            )
        if short:
            raise UsageError(
                f"epochs={epochs}: expected at least one rollout of prompts_per_rollout={each}, and {rows} problems of "
                f"{dataset!r} give none. epochs=1 gives {rows // each}, max_steps=N as many as you name"
            )


@dataclass(frozen=True)
class Finetune(Declared):
    """Everything that decides a supervised fine-tuning: cross-entropy on the solutions, without the prompts.

    The loss of an optimiser step is the mean over all solution tokens of its `batch_size` rows, end of text included.
    """

    base_model: Sourced[str]  # hub id, local folder, or "tiny"
    dataset: Sourced[str]  # problems with solutions: hub id, local file, or "tiny"
    dataset_rows: Sourced[Count]  # approximate number, for the plan and for the check of too few
    prompt: Sourced[str]  # a name in evals.data.prompts
    batch_size: Sourced[Count]  # rows of one optimiser step
    learning_rate: Sourced[Share]
    lr_schedule: Sourced[Literal["constant", "linear", "cosine"]]
    warmup_ratio: Sourced[Annotated[float, Range("[0, 1]")]]
    weight_decay: Sourced[NonNegative]
    max_grad_norm: Sourced[Positive]
    epochs: Sourced[Positive]
    max_steps: Sourced[Count | None]  # optimiser steps. null: as many as the epochs give
    max_tokens: Sourced[Count]  # prompt and solution together
    too_long: Sourced[Literal["drop", "cut"]]  # rows over max_tokens: dropped, or cut at the end
    precision: Sourced[Precision]
    lora_rank: Sourced[Count | None]  # null: all weights are trained
    lora_alpha: Sourced[Positive]
    lora_dropout: Sourced[Annotated[float, Range("[0, 1)")]]

    SOLUTIONS: ClassVar[bool] = True
    IN_ROUNDS: ClassVar[bool] = False

    @property
    def updates(self) -> int:
        return 1

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @property
    def sequence_tokens(self) -> int:
        return self.max_tokens.value

    def equations(self) -> list[str]:
        return ["cross_entropy"]

    @property
    def rows_per_start(self) -> int:
        """The declared rows of one fine-tuning."""
        return self.dataset_rows.value

    def steps(self, rows: int | None = None) -> int:
        return self.steps_per_start(rows)

    def steps_per_start(self, rows: int | None = None) -> int:
        if self.max_steps.value is not None:
            return self.max_steps.value
        rows = self.rows_per_start if rows is None else rows
        return math.ceil(-(-rows // self.batch_size.value) * exact(self.epochs.value))

    def tokens(self) -> tuple[int, int]:
        return 0, self.steps() * self.batch_size.value * self.max_tokens.value

    def check_rows(self) -> None:
        """Any number of rows will do."""


def exact(value: float) -> Fraction:
    """The number that was typed: 0.29, not the float next to it, by which 100 rollouts give 28 in 0.29 epochs."""
    return Fraction(str(value))


def warmup_steps(training: Training, rows: int | None = None) -> int:
    """Optimiser steps of the warm-up at each start, rounded up. `rows`: as of `steps_per_start`."""
    return math.ceil(training.steps_per_start(rows) * exact(training.warmup_ratio.value))


Training = Experiment | Finetune
"""Every kind answers the same questions:

SOLUTIONS: whether its data have solutions. IN_ROUNDS: whether it starts anew in rounds, whose samples are kept.
updates: optimiser steps of a rollout, 1 without rollouts. columns: that it reads in its data besides.
sequence_tokens: of prompt and response, at most. equations(): in order of application.
steps(rows): optimiser steps on so many rows (None: those that it declares). steps_per_start(rows): those of a round.
tokens(): (sampled, trained), at most. check_rows(): UsageError for too few problems for one rollout or round.
"""


@dataclass(frozen=True)
class Arm:
    """One row of the experiment: a base model trained one way, or (train=None) not at all."""

    key: str
    model: str  # a key of Reproduction.models
    title: str  # as the paper's tables print it
    train: Training | None
    protocol: str | None = None  # a name in evals.data.protocols. None: the paper's
    scales: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # as of Reproduction, for this arm alone
    sweep: bool = False  # in no table of the paper (an ablation, a search): runs only by name
    same_as: str = ""  # another arm of this base model that trains the same, and runs instead
    same_at: tuple[str, ...] = ()  # the scales at which `same_as` holds. (): all


@dataclass(frozen=True)
class Context(Declared):
    """How the context of a base model is extended, in its configuration: trainers and engines read it there."""

    positions: Sourced[Count]  # tokens of prompt and response
    rope_theta: Sourced[Positive]  # base of the rotary embedding's frequencies

    PREFIX: ClassVar[str] = "context."


def cited(title: str, arxiv: str | None) -> str:
    """A title with its arXiv id, if it has one."""
    return title if arxiv is None else f"{title} (arXiv {arxiv})"


@dataclass(frozen=True)
class Reproduction:
    """A paper as data. `scales` maps the name of a scale to the values that it replaces in every arm with those
    keys."""

    key: str
    title: str
    arxiv: str | None  # None: no paper, but public trainings
    models: Mapping[str, Sourced[str]]
    arms: tuple[Arm, ...]
    protocol: str  # a name in evals.data.protocols
    seeds: Sourced[int]
    departures: tuple[str, ...]  # known departures from the paper
    doubts: tuple[str, ...] = ()  # likely mistakes in the paper. Printed as footnotes
    claims: tuple[Claim, ...] = ()  # the paper's claims, most important first
    contrasts: tuple[tuple[str, str], ...] = ()  # pairs of arms in the table of differences. (): see `compared_arms`
    scales: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    # for `arms=NAME`, beside the tables': keys of arms, or "model/arm" for one base model
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    contexts: Mapping[str, Context] = field(default_factory=dict)  # by model, where its own context is too short
    trainer: Sourced[str] | None = None  # what the paper trained with. None: no paper's training
    # mean tokens of a response in a public log of the paper's recipe, where the paper publishes none. For the plan
    response_length: Sourced[float] | None = None
    before: Mapping[str, object] = field(default_factory=dict)  # what a run did whose record lacks a value, added later

    def __post_init__(self) -> None:
        names = [(a.model, a.key) for a in self.arms]
        if len(set(names)) != len(names):
            raise UsageError(f"{self.key}: an arm is declared twice in {names}")
        for name in (self.protocol, *(arm.protocol for arm in self.arms if arm.protocol is not None)):
            protocols.get(name)
        for arm in self.arms:
            if arm.model not in self.models:
                raise UsageError(f"{self.key}: arm {arm.key!r} names the model {arm.model!r}, not in {[*self.models]}")
            if arm.same_as and (arm.model, arm.same_as) not in names:
                raise UsageError(f"{self.key}: arm {arm.key!r} names the arm {arm.same_as!r}, which {arm.model} lacks")
        for name, members in self.sets.items():
            for key in members:
                if not any(key in (arm, f"{model}/{arm}") for model, arm in names):
                    raise UsageError(f"{self.key}: the set {name!r} names the arm {key!r}, which is not declared")
        for claim in self.claims:
            for model in (*claim.models, *((claim.than_model,) if claim.than_model else ())):
                if model not in self.models:
                    raise UsageError(f"{self.key}: a claim names the model {model!r}, not in {[*self.models]}")
            if claim.arm and not self.claimed_models(claim):
                raise UsageError(f"{self.key}: no base model has the arms {claim.arm!r} and {claim.than!r} of a claim")

    def compared_arms(self) -> tuple[tuple[str, str], ...]:
        """The compared pairs (arm, than): the declared contrasts, or without them every trained arm against the
        untrained base model, and the pairs of the claims."""
        if self.contrasts:
            return self.contrasts
        claimed = [(c.arm, c.than) for c in self.claims if c.arm and not c.than_model and c.arm != c.than]
        trained = [(a.key, "base") for a in self.arms if a.train is not None and a.key != "base"]
        return tuple(dict.fromkeys([*trained, *claimed]))

    def trained_as(self, arm: Arm, scale: str) -> Arm:
        """The arm that runs for `arm` at a scale: itself, or the arm declared to train the same."""
        size = SCALES[scale]
        if not arm.same_as or (arm.same_at and not {size.name, size.like} & set(arm.same_at)):
            return arm
        return next(a for a in self.arms if (a.model, a.key) == (arm.model, arm.same_as))

    def claimed_models(self, claim: Claim) -> tuple[str, ...]:
        """The base models of a claim, in the paper's order: those it names that have both arms."""
        arms = {(a.model, a.key) for a in self.arms}
        return tuple(
            model
            for model in self.models
            if (not claim.models or model in claim.models)
            and {(model, claim.arm), (claim.than_model or model, claim.than)} <= arms
        )

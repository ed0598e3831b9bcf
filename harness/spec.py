"""What an experiment is: methods, settings, arms, papers. Every value in a declaration carries its source.

A paper's `paper.py` builds these; `harness.plan` shows them, a backend translates them, a record keeps them.
Nothing here imports torch, so that a declaration can be read and checked in milliseconds.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_type_hints

from evals.provenance import Origin, Sourced, assumed, code, paper
from harness.declared import Declared, check_value
from harness.loss import Aggregation, aggregation_coefficients

__all__ = [
    "PPO",
    "Arm",
    "Claim",
    "EntropySearch",
    "Experiment",
    "Finetune",
    "Method",
    "Origin",
    "Reproduction",
    "Shaped",
    "Sourced",
    "Training",
    "Use",
    "assumed",
    "code",
    "paper",
    "use",
]


@dataclass(frozen=True)
class Use:
    """An equation of ours with a value for each of its hyperparameters. Build it with `use`.

    The hyperparameters of an equation are its keyword-only parameters; their annotations are what is checked.
    """

    function: Callable[..., Any]
    values: Mapping[str, Sourced[Any]]

    @property
    def name(self) -> str:
        return self.function.__name__

    def __post_init__(self) -> None:
        kinds = hyperparameters(self.function)
        if set(kinds) != set(self.values):
            raise ValueError(f"{self.name}: expected values for {sorted(kinds)}, got {sorted(self.values)}")
        for key, sourced in self.values.items():
            if not isinstance(sourced, Sourced):
                raise ValueError(f"{self.name}.{key}: {sourced!r} has no source; wrap it in paper, code or assumed")
            check_value(f"{self.name}.{key}", sourced.value, kinds[key])

    @property
    def reads(self) -> frozenset[str]:
        """Signals of the batch that the equation reads (see `harness.batch.reads`)."""
        return getattr(self.function, "reads", frozenset())

    def misfit(self, experiment: Experiment) -> str | None:
        """What in the experiment makes the equation meaningless (see `harness.equation.requires`), or None."""
        check = getattr(self.function, "check", None)
        return check(experiment, {k: v.value for k, v in self.values.items()}) if check else None

    def __call__(self, batch: Any) -> Any:
        return self.function(batch, **{key: sourced.value for key, sourced in self.values.items()})


def use(function: Callable[..., Any], **values: Sourced[Any]) -> Use:
    """`use(entropy_advantage, alpha=paper(0.4, "section 5"), kappa=paper(2.0, "section 5"))`."""
    return Use(function, values)


def hyperparameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Name -> annotation of the keyword-only parameters of an equation."""
    scope = vars(sys.modules[function.__module__])
    return {
        name: eval(p.annotation, scope) if isinstance(p.annotation, str) else p.annotation
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    }


@dataclass(frozen=True)
class Shaped:
    """What a method makes of a batch, all [B, T]: see `harness.loss.policy_loss`. None: the method has no such part."""

    advantages: Any
    weights: Any
    gates: Any | None
    penalties: Any | None


@dataclass(frozen=True)
class Method:
    """A stack of equations, each a function of a TokenBatch, applied in this order.

    Args:
        rewards: -> rewards [B], each sees the rewards of the one before (a penalty on length, say).
        advantage: -> advantages [B, T] from rewards and groups.
        shaping: -> advantages [B, T], each sees the advantages of the one before.
        weights: -> factors [B, T] of the whole gradient term, KL included; they multiply.
        gates: -> 0 or 1, [B, T]; tokens at 0 lose their policy gradient and keep the KL term; they multiply.
        penalties: -> coefficients [B, T] of |log ratio| to the sampling policy; they add.
        aggregation: see `harness.loss.aggregation_coefficients`.
        denominator: the tokens that the aggregation counts when gates drop some: "all", or those "kept".
    """

    advantage: Use
    aggregation: Sourced[Aggregation]
    rewards: tuple[Use, ...] = ()
    shaping: tuple[Use, ...] = ()
    weights: tuple[Use, ...] = ()
    gates: tuple[Use, ...] = ()
    penalties: tuple[Use, ...] = ()
    denominator: Sourced[Literal["all", "kept"]] = field(default=assumed("all", "no effect without gates"))

    def __post_init__(self) -> None:
        names = [u.name for u in self.uses()]
        if len(set(names)) != len(names):
            raise ValueError(f"method: an equation appears twice in the stack {names}")
        for stage, uses in self.stages():
            for u in uses:
                own = getattr(u.function, "stage", stage)
                if own != stage:
                    raise ValueError(f"method: {u.name} belongs to {own}, got it among {stage}")
        check_value("aggregation", self.aggregation.value, Aggregation)
        check_value("denominator", self.denominator.value, Literal["all", "kept"])
        if self.denominator.value == "kept" and not self.gates:
            raise ValueError("denominator: expected 'all' in a method without gates, which drops no token, got 'kept'")

    def stages(self) -> tuple[tuple[str, tuple[Use, ...]], ...]:
        """(name of the part, its equations), in the order in which they are applied."""
        return (
            ("rewards", self.rewards),
            ("advantage", (self.advantage,)),
            ("shaping", self.shaping),
            ("weights", self.weights),
            ("gates", self.gates),
            ("penalties", self.penalties),
        )

    def uses(self) -> tuple[Use, ...]:
        """Every equation, in the order in which they are applied."""
        return tuple(u for _, uses in self.stages() for u in uses)

    @property
    def reads(self) -> frozenset[str]:
        """The signals of the batch (`harness.batch.SIGNALS`) that some equation reads."""
        return frozenset().union(*(u.reads for u in self.uses()))

    @property
    def looks_at_micro_batches(self) -> bool:
        """Whether a statistic of the method is taken over each forward pass, so that how an update is cut matters."""
        return any(sourced.value == "micro_batch" for u in self.uses() for sourced in u.values.values())

    def critic_target(self, batch: Any) -> Any:
        """[B, T]: what a critic learns from a batch whose rewards are the method's (`harness.equation.trains_critic`).

        Raises:
            ValueError: the advantage trains no critic.
        """
        target = getattr(self.advantage.function, "critic_target", None)
        if target is None:
            raise ValueError(f"{self.advantage.name} says nothing of what a critic should learn")
        return replace(self.advantage, function=target)(batch)

    def map(self, change: Callable[[Use], Use]) -> Method:
        """The same stack with every equation changed."""
        return replace(
            self,
            rewards=tuple(map(change, self.rewards)),
            advantage=change(self.advantage),
            shaping=tuple(map(change, self.shaping)),
            weights=tuple(map(change, self.weights)),
            gates=tuple(map(change, self.gates)),
            penalties=tuple(map(change, self.penalties)),
        )

    def apply(self, batch: Any) -> Shaped:
        """Rewards -> advantages -> shaping -> weights, gates, penalties, on the sequences of one optimiser step."""
        for step in self.rewards:
            batch = batch.with_rewards(step(batch))
        batch = batch.with_advantages(self.advantage(batch))
        for step in self.shaping:
            batch = batch.with_advantages(step(batch))
        kept = _product(batch, self.gates)
        counted = batch.mask if kept is None or self.denominator.value == "all" else batch.mask & (kept != 0)
        weights = aggregation_coefficients(
            batch.mask, self.aggregation.value, max_tokens=batch.max_tokens, counted=counted
        )
        factors = _product(batch, self.weights)
        penalties = [step(batch) for step in self.penalties]
        return Shaped(
            advantages=batch.advantages,
            weights=weights if factors is None else weights * factors,
            gates=kept,
            penalties=sum(penalties) if penalties else None,
        )


def _product(batch: Any, steps: tuple[Use, ...]) -> Any | None:
    product = None
    for step in steps:
        values = step(batch)
        product = values if product is None else product * values
    return product


@dataclass(frozen=True)
class PPO(Declared):
    """How PPO's value model is trained. The advantages that it gives are an equation (`baselines.ppo.gae`)."""

    critic_learning_rate: Sourced[float]
    critic_warmup_steps: Sourced[int]  # rollouts that train the critic alone, before the policy's first
    value_clip: Sourced[float]  # the largest change of a value that its loss rewards


@dataclass(frozen=True)
class EntropySearch(Declared):
    """How the entropy coefficient is adapted to reach `entropy_target` (see `harness.entropy_search`)."""

    step: Sourced[float]  # by which the coefficient changes at each optimiser step
    maximum: Sourced[float]  # of the coefficient; the minimum is 0


@dataclass(frozen=True)
class Experiment(Declared):
    """Everything that decides reinforcement learning. Each field is a value with a source; `settings` lists them flat.

    Units: lengths in tokens, temperatures and coefficients without unit, `warmup_ratio` as a share of all steps.
    """

    base_model: Sourced[str]  # hub id, local folder, or "tiny"
    dataset: Sourced[str]  # hub id, local file, or "tiny"
    dataset_rows: Sourced[int]  # about how many problems; only the cost estimate reads it
    prompt: Sourced[str]  # a name in evals.prompts
    rewards: Sourced[tuple[str, ...]]  # names in harness.rewards, summed with `reward_weights`
    reward_weights: Sourced[tuple[float, ...]]
    method: Method
    # rollout
    dynamic_sampling: Sourced[bool]  # resample groups whose rewards are all equal (DAPO)
    prompts_per_rollout: Sourced[int]
    group_size: Sourced[int]
    rollout_temperature: Sourced[float]
    rollout_top_p: Sourced[float]
    max_prompt_tokens: Sourced[int]
    max_completion_tokens: Sourced[int]
    # optimisation
    critic: Sourced[bool]  # PPO with a value model, instead of group-relative advantages
    updates_per_rollout: Sourced[int]
    learning_rate: Sourced[float]
    lr_schedule: Sourced[Literal["constant", "linear", "cosine"]]
    warmup_ratio: Sourced[float]
    weight_decay: Sourced[float]
    max_grad_norm: Sourced[float]
    clip_low: Sourced[float | None]  # null: not clipped on that side
    clip_high: Sourced[float | None]
    dual_clip: Sourced[float | None]
    kl_beta: Sourced[float]
    reference_reset_every: Sourced[int | None]  # optimiser steps; null: the reference stays the base model
    entropy_coefficient: Sourced[float]  # of the entropy bonus in the loss; with a target, where the search starts
    entropy_target: Sourced[float | None]  # nats; the coefficient is adapted to reach it
    epochs: Sourced[float]
    max_steps: Sourced[int | None]  # optimiser steps; null: as many as the epochs give
    precision: Sourced[Literal["float32", "bfloat16"]]
    lora_rank: Sourced[int | None]  # null: all weights are trained
    lora_alpha: Sourced[float]
    lora_dropout: Sourced[float]
    # what some methods have beside; the values of a group show up as `ppo.value_clip`, ...
    ppo: PPO | None = None
    entropy_search: EntropySearch | None = None

    GROUPS: ClassVar[tuple[str, ...]] = ("ppo", "entropy_search")
    PARTS: ClassVar[tuple[str, ...]] = ("method", *GROUPS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.rewards.value) != len(self.reward_weights.value):
            raise ValueError(
                f"reward_weights: expected {len(self.rewards.value)} (one a reward), got {self.reward_weights.value!r}"
            )
        if self.reference_reset_every.value is not None and not self.kl_beta.value:
            raise ValueError(
                "reference_reset_every: expected null without a KL term (kl_beta=0), got "
                f"{self.reference_reset_every.value}"
            )
        if self.prompts_per_rollout.value % self.updates_per_rollout.value:
            raise ValueError(
                f"updates_per_rollout: expected a divisor of prompts_per_rollout={self.prompts_per_rollout.value}, "
                f"so that no prompt group is split over two updates, got {self.updates_per_rollout.value}"
            )
        reads_values = "values" in self.method.reads
        if not self.critic.value == reads_values == (self.ppo is not None):
            raise ValueError(
                f"critic: expected true with an advantage that reads a critic's values and with the ppo group, false "
                f"without both, got {self.critic.value} with {self.method.advantage.name}"
                + ("" if self.ppo is None else " and a ppo group")
            )
        if (self.entropy_target.value is None) != (self.entropy_search is None):
            raise ValueError(
                f"entropy_target: expected a number where the arm declares an entropy_search, else null, got "
                f"{self.entropy_target.value!r}"
            )
        for equation in self.method.uses():
            misfit = equation.misfit(self)
            if misfit:
                raise ValueError(f"{equation.name} cannot be used here: {misfit}")

    def settings(self) -> dict[str, Sourced[Any]]:
        """Every value of the declaration by its key: `learning_rate`, `aggregation`, `egsw.alpha`, ..."""
        flat = super().settings()
        flat |= {"aggregation": self.method.aggregation, "denominator": self.method.denominator}
        flat |= {f"{u.name}.{key}": value for u in self.method.uses() for key, value in u.values.items()}
        for name, group in self._groups():
            flat |= {f"{name}.{key}": value for key, value in group.settings().items()}
        return flat

    def _groups(self) -> Iterator[tuple[str, Declared]]:
        return ((name, getattr(self, name)) for name in self.GROUPS if getattr(self, name) is not None)

    def _swapped_parts(self, swap: Callable[[str, Sourced[Any]], Sourced[Any]]) -> dict[str, Any]:
        def swap_use(u: Use) -> Use:
            return replace(u, values={k: swap(f"{u.name}.{k}", v) for k, v in u.values.items()})

        method = replace(
            self.method.map(swap_use),
            aggregation=swap("aggregation", self.method.aggregation),
            denominator=swap("denominator", self.method.denominator),
        )
        groups = {
            name: replace(group, **{k: swap(f"{name}.{k}", v) for k, v in group.settings().items()})
            for name, group in self._groups()
        }
        return {"method": method, **groups}


@dataclass(frozen=True)
class Finetune(Declared):
    """Everything that decides a supervised fine-tuning: cross-entropy on the solutions, the prompts not counted.

    The loss of an optimiser step is the mean over all solution tokens of its `batch_size` rows, end of text included.
    """

    base_model: Sourced[str]  # hub id, local folder, or "tiny"
    dataset: Sourced[str]  # of problems with solutions: hub id, local file, or "tiny"
    dataset_rows: Sourced[int]  # about how many; only the cost estimate reads it
    prompt: Sourced[str]  # a name in evals.prompts
    batch_size: Sourced[int]  # rows of one optimiser step
    learning_rate: Sourced[float]
    lr_schedule: Sourced[Literal["constant", "linear", "cosine"]]
    warmup_ratio: Sourced[float]
    weight_decay: Sourced[float]
    max_grad_norm: Sourced[float]
    epochs: Sourced[float]
    max_steps: Sourced[int | None]  # optimiser steps; null: as many as the epochs give
    max_tokens: Sourced[int]  # of prompt and solution together
    too_long: Sourced[Literal["drop", "cut"]]  # rows over max_tokens: left out, or cut at the end
    precision: Sourced[Literal["float32", "bfloat16"]]
    lora_rank: Sourced[int | None]  # null: all weights are trained
    lora_alpha: Sourced[float]
    lora_dropout: Sourced[float]


Training = Experiment | Finetune


@dataclass(frozen=True)
class Arm:
    """One row of the experiment: a base model trained one way, or (train=None) not at all."""

    key: str
    model: str  # a key of Reproduction.models
    title: str  # as the paper's tables print it
    train: Training | None
    protocol: str | None = None  # a name in evals.protocols; None: the paper's
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # as of Reproduction, for this arm alone
    sweep: bool = False  # part of a search that the paper describes: run only when asked for by name


@dataclass(frozen=True)
class Claim:
    """What the paper says, in our own words, and the comparison that decides it (see `harness.tables.claims`).

    A claim that no comparison of verdicts decides names no arms; `undecided` then says why.
    """

    text: str
    where: str  # in the paper
    arm: str = ""  # a key of the paper's arms ...
    than: str = ""  # ... and the arm that it is compared with, on the same base model
    direction: Literal["higher", "lower", "not lower"] = "higher"
    metric: Literal["avg", "pass", "maj", "fmt", "mean_tokens", "truncation_rate", "unsolvable"] = "avg"
    models: tuple[str, ...] = ()  # keys of Reproduction.models; (): all that have both arms
    benchmarks: tuple[str, ...] = ()  # (): all that were measured; at other scales always that scale's own
    undecided: str = ""

    def __post_init__(self) -> None:
        for key in ("direction", "metric"):
            check_value(f"claim.{key}", getattr(self, key), _CLAIM_KINDS[key])
        if bool(self.arm) != bool(self.than) or bool(self.arm) == bool(self.undecided):
            raise ValueError(
                f"claim {self.text!r}: expected two arms, or none and `undecided`, got arm={self.arm!r}, "
                f"than={self.than!r}, undecided={self.undecided!r}"
            )


_CLAIM_KINDS = get_type_hints(Claim)


@dataclass(frozen=True)
class Reproduction:
    """A paper as data. `scales` maps a scale's name to the values that it replaces in every arm that has them."""

    key: str
    title: str
    arxiv: str
    models: Mapping[str, Sourced[str]]
    arms: tuple[Arm, ...]
    protocol: str  # a name in evals.protocols
    seeds: Sourced[int]
    departures: tuple[str, ...]  # what we know we do differently
    doubts: tuple[str, ...] = ()  # what in the paper looks mistaken; printed as footnotes
    claims: tuple[Claim, ...] = ()  # what the paper says of its method, in the order of its importance
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [(a.model, a.key) for a in self.arms]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.key}: an arm is declared twice in {names}")
        for arm in self.arms:
            if arm.model not in self.models:
                raise ValueError(f"{self.key}: arm {arm.key!r} names the model {arm.model!r}, not in {[*self.models]}")
        for claim in self.claims:
            for model in claim.models:
                if model not in self.models:
                    raise ValueError(f"{self.key}: a claim names the model {model!r}, not in {[*self.models]}")
            if claim.arm and not self.claimed_models(claim):
                raise ValueError(f"{self.key}: no base model has the arms {claim.arm!r} and {claim.than!r} of a claim")

    def claimed_models(self, claim: Claim) -> tuple[str, ...]:
        """The base models that a claim is about, in the paper's order: of those it names, all that have both arms."""
        arms = {(a.model, a.key) for a in self.arms}
        return tuple(
            model
            for model in self.models
            if (not claim.models or model in claim.models) and {(model, claim.arm), (model, claim.than)} <= arms
        )

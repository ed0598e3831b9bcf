"""A method: a stack of equations, each with a value and a source for every hyperparameter, applied to a token batch.

Nothing here imports torch. The equations use only tensor methods of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal

from evals.provenance import Sourced, assumed
from harness.errors import UsageError
from harness.spec.equation import check_hyperparameters, hyperparameters
from harness.spec.ranges import check_value
from harness.step.batch import DATA_SIGNALS
from harness.step.loss import Aggregation, aggregation_coefficients

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec.declarations import Experiment
    from harness.step.batch import TokenBatch


@dataclass(frozen=True)
class Use:
    """An equation with a value for each hyperparameter. Build it with `use`.

    Hyperparameters are the equation's keyword-only parameters. Their annotations give the allowed ranges.
    """

    function: Callable[..., Any]
    values: Mapping[str, Sourced[Any]]

    @property
    def name(self) -> str:
        return self.function.__name__

    def __post_init__(self) -> None:
        kinds = hyperparameters(self.function)
        if set(kinds) != set(self.values):
            wrong = (("missing", kinds.keys() - self.values.keys()), ("unknown", self.values.keys() - kinds.keys()))
            problems = ", ".join(f"{word}: {', '.join(sorted(keys))}" for word, keys in wrong if keys)
            raise UsageError(f"{self.name}: expected values for {', '.join(sorted(kinds))}. {problems}")
        for key, sourced in self.values.items():
            if not isinstance(sourced, Sourced):
                raise UsageError(f"{self.name}.{key}: {sourced!r} has no source. Wrap it in paper, code or assumed")
        check_hyperparameters(self.function, {k: v.value for k, v in self.values.items()}, f"{self.name}.")

    @property
    def reads(self) -> frozenset[str]:
        """Signals of the batch that the equation reads (see `harness.step.batch.reads`)."""
        return getattr(self.function, "reads", frozenset())

    def misfit(self, experiment: Experiment) -> str | None:
        """Why the equation does not fit the experiment (see `harness.spec.equation.requires`), or None."""
        check = getattr(self.function, "check", None)
        return check(experiment, {k: v.value for k, v in self.values.items()}) if check else None

    def swapped(self, swap: Callable[[str, Sourced[object]], Sourced[object]]) -> Use:
        """With each value replaced by `swap("<function>.<name>", value)`."""
        return replace(self, values={key: swap(f"{self.name}.{key}", v) for key, v in self.values.items()})

    def __call__(self, *arguments: object) -> Any:
        """The equation on a batch. An objective on log-probabilities, old ones, advantages and mask."""
        return self.function(*arguments, **{key: sourced.value for key, sourced in self.values.items()})


def use(function: Callable[..., object], **values: Sourced[object]) -> Use:
    """`use(entropy_advantage, alpha=paper(0.4, "section 5"), kappa=paper(2.0, "section 5"))`."""
    return Use(function, values)


@dataclass(frozen=True)
class MethodOutput:
    """A method's output for a batch, all [B, T]: see `harness.step.loss.policy_loss`. None: the method has no such
    part."""

    advantages: Tensor
    weights: Tensor
    gates: Tensor | None
    penalties: Tensor | None


@dataclass(frozen=True)
class Method:
    """A stack of equations, each a function of a TokenBatch, applied in this order.

    Args:
        rewards: returns rewards [B], for example with a length penalty. Each equation gets the rewards that the
            equation before it returned.
        advantage: returns advantages [B, T], computed from rewards and groups.
        shaping: returns advantages [B, T]. Each equation gets the advantages that the equation before it returned.
        weights: returns factors [B, T] of the whole gradient term, KL included. Factors of several equations multiply.
        gates: returns factors [B, T] of the policy gradient, most of them 0 or 1. A token at 0 loses the policy
            gradient and keeps the KL term. Factors of several equations multiply.
        penalties: returns coefficients [B, T] of |log(pi / pi_old)|, with pi_old the policy that sampled. Coefficients
            of several equations add.
        objective: returns the value to maximise on each token, from its log-probabilities and the shaped advantages
            (`harness.step.loss.policy_loss`). Without an objective, the trainer uses the clipped surrogate with the
            experiment's clip_low, clip_high and dual_clip. With an objective, these three values are null.
        aggregation: see `harness.step.loss.aggregation_coefficients`.
        denominator: the tokens that the aggregation counts when gates drop some: "all", or those "kept".
    """

    advantage: Use
    aggregation: Sourced[Aggregation]
    rewards: tuple[Use, ...] = ()
    shaping: tuple[Use, ...] = ()
    weights: tuple[Use, ...] = ()
    gates: tuple[Use, ...] = ()
    penalties: tuple[Use, ...] = ()
    objective: Use | None = None
    denominator: Sourced[Literal["all", "kept"]] = field(default=assumed("all", "no effect without gates"))

    def __post_init__(self) -> None:
        names = [u.name for u in self.uses()]
        if len(set(names)) != len(names):
            raise UsageError(f"method: an equation appears twice in the stack {names}")
        for stage, uses in self.stages():
            for u in uses:
                declared = getattr(u.function, "stage", stage)
                if declared != stage:
                    raise UsageError(f"method: {u.name} belongs to {declared}, got it among {stage}")
        check_value("aggregation", self.aggregation.value, Aggregation)
        check_value("denominator", self.denominator.value, Literal["all", "kept"])
        if self.denominator.value == "kept" and not self.gates:
            raise UsageError("denominator: expected 'all' in a method without gates, which drops no token, got 'kept'")

    def stages(self) -> tuple[tuple[str, tuple[Use, ...]], ...]:
        """(stage, its equations), in order of application."""
        return (
            ("rewards", self.rewards),
            ("advantage", (self.advantage,)),
            ("shaping", self.shaping),
            ("weights", self.weights),
            ("gates", self.gates),
            ("penalties", self.penalties),
            ("objective", () if self.objective is None else (self.objective,)),
        )

    def uses(self) -> tuple[Use, ...]:
        """Every equation, in order of application."""
        return tuple(u for _, uses in self.stages() for u in uses)

    @property
    def reads(self) -> frozenset[str]:
        """The signals of the batch (`harness.step.batch.SIGNALS`) that the equations read."""
        return frozenset().union(*(u.reads for u in self.uses()))

    @property
    def likeliest(self) -> int:
        """How many of the policy's likeliest tokens the objective sees, with gradient (`harness.step.likeliest`)."""
        stated = {} if self.objective is None else self.objective.values
        return int(stated["likeliest"].value) if "likeliest" in stated else 0

    @property
    def reads_logits(self) -> bool:
        """Whether a pass must keep the logits, which a fused head does not."""
        return bool(self.likeliest) or "pi_squared" in self.reads

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the signals that are columns of the training data."""
        return tuple(name for name in DATA_SIGNALS if name in self.reads)

    @property
    def looks_at_micro_batches(self) -> bool:
        """Whether a statistic of the method is taken over each forward pass, so that the split of an update matters.

        A method that states the size of its micro-batches (`micro_batch`, `micro_batch_tokens`) does not depend on it.
        """
        for u in self.uses():
            stated = any(key.startswith("micro_batch") and s.value is not None for key, s in u.values.items())
            if not stated and any(s.value == "micro_batch" for s in u.values.values()):
                return True
        return False

    def critic_target(self, batch: TokenBatch) -> Tensor:
        """[B, T]: the critic's target for a batch with the method's rewards (`harness.spec.equation.trains_critic`).

        Raises:
            UsageError: the advantage trains no critic.
        """
        target = getattr(self.advantage.function, "critic_target", None)
        if target is None:
            raise UsageError(f"{self.advantage.name} declares no target for a critic")
        values: Tensor = replace(self.advantage, function=target)(batch)
        return values

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
            objective=None if self.objective is None else change(self.objective),
        )

    def apply(self, batch: TokenBatch) -> MethodOutput:
        """Rewards -> advantages -> shaping -> weights, gates, penalties, on the sequences of one optimiser step."""
        for step in self.rewards:
            batch = batch.with_rewards(step(batch))
        advantages: Tensor = self.advantage(batch)
        for step in self.shaping:
            advantages = step(batch.with_advantages(advantages))
        batch = batch.with_advantages(advantages)
        kept = _product(batch, self.gates)
        counted = batch.mask if kept is None or self.denominator.value == "all" else batch.mask & (kept != 0)
        weights = aggregation_coefficients(
            batch.mask, self.aggregation.value, max_tokens=batch.max_tokens, counted=counted, groups=batch.groups
        )
        factors = _product(batch, self.weights)
        penalties = [step(batch) for step in self.penalties]
        return MethodOutput(
            advantages=advantages,
            weights=weights if factors is None else weights * factors,
            gates=kept,
            penalties=reduce(add, penalties) if penalties else None,
        )


def _product(batch: TokenBatch, steps: tuple[Use, ...]) -> Tensor | None:
    product: Tensor | None = None
    for step in steps:
        values = step(batch)
        product = values if product is None else product * values
    return product

"""What an equation may say about itself: where in a stack it belongs, and what the rest of the experiment must be.

With these an impossible stack is refused, with the reason, when it is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

if TYPE_CHECKING:
    from harness.spec.declarations import Experiment

Stage = Literal["rewards", "advantage", "shaping", "weights", "gates", "penalties"]
Equation = TypeVar("Equation", bound=Callable[..., Any])


def stage(name: Stage) -> Callable[[Equation], Equation]:
    """Say which part of a `Method` an equation is: declared as another part, it is refused."""
    if name not in get_args(Stage):
        raise ValueError(f"stage: expected one of {get_args(Stage)}, got {name!r}")

    def mark(equation: Equation) -> Equation:
        equation.stage = name  # type: ignore[attr-defined]
        return equation

    return mark


def requires(check: Callable[[Experiment, Mapping[str, Any]], str | None]) -> Callable[[Equation], Equation]:
    """Say what the rest of an experiment must be for an equation to mean anything.

    `check` gets the experiment and the equation's own values; it returns what is wrong (key, what was expected, what
    was given), or None.
    """

    def mark(equation: Equation) -> Equation:
        equation.check = check  # type: ignore[attr-defined]
        return equation

    return mark


def trains_critic(target: Callable[..., Any]) -> Callable[[Equation], Equation]:
    """Say what a critic learns from the same batch and values as an advantage: `target(batch, **values)` -> [B, T]."""

    def mark(equation: Equation) -> Equation:
        equation.critic_target = target  # type: ignore[attr-defined]
        return equation

    return mark


def outcome_rewards(experiment: Experiment, values: Mapping[str, Any]) -> str | None:
    """For equations that count correct and incorrect responses: a reward must say that and nothing else."""
    names = experiment.rewards.value
    if names not in (("accuracy",), ("signed_accuracy",)):
        why = "because correct and incorrect are counted"
        return f"rewards: expected accuracy or signed_accuracy alone, {why}, got {names}"
    if experiment.method.rewards:
        changed = [u.name for u in experiment.method.rewards]
        return f"rewards: expected nothing that changes them, because correct and incorrect are counted, got {changed}"
    return None

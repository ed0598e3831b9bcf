"""What an equation says about itself: its place in a stack, the ranges of its values, what the experiment must be.

With these an impossible stack or value is refused, with the reason, when it is declared. The equation refuses the same
values when it is called.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args

from harness.spec.ranges import check_value

if TYPE_CHECKING:
    from harness.spec.declarations import Experiment

Stage = Literal["rewards", "advantage", "shaping", "weights", "gates", "penalties", "objective"]
Equation = TypeVar("Equation", bound=Callable[..., Any])


@cache
def hyperparameters(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Name -> annotation of the keyword-only parameters of an equation."""
    scope = vars(sys.modules[function.__module__])
    return {
        name: eval(p.annotation, scope) if isinstance(p.annotation, str) else p.annotation
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    }


def check_hyperparameters(function: Callable[..., Any], values: Mapping[str, Any], prefix: str = "") -> None:
    """Check the values of an equation against its annotations, then against each other (`relates`).

    Raises:
        ValueError: naming `prefix` and the key, the value and what was expected.
    """
    for key, kind in hyperparameters(function).items():
        if key in values:
            check_value(prefix + key, values[key], kind)
    relation = getattr(function, "relation", None)
    misfit = relation(values) if relation else None
    if misfit:
        raise ValueError(prefix + misfit)


def checked(equation: Equation) -> Equation:
    """Make a function check its keyword-only arguments against their annotations at each call."""

    @wraps(equation)
    def call(*args: Any, **values: Any) -> Any:
        check_hyperparameters(call, values)
        return equation(*args, **values)

    return cast(Equation, call)


def stage(name: Stage) -> Callable[[Equation], Equation]:
    """Say which part of a `Method` an equation is: declared as another part, it is refused. Its calls are `checked`."""
    if name not in get_args(Stage):
        raise ValueError(f"stage: expected one of {get_args(Stage)}, got {name!r}")

    def mark(equation: Equation) -> Equation:
        marked = checked(equation)
        marked.stage = name  # type: ignore[attr-defined]
        return marked

    return mark


def relates(check: Callable[[Mapping[str, Any]], str | None]) -> Callable[[Equation], Equation]:
    """Say how the values of an equation must relate to each other, beyond the range of each.

    `check` gets the values by name; it returns what is wrong ("key: expected ..., got ..."), or None.
    """

    def mark(equation: Equation) -> Equation:
        equation.relation = check  # type: ignore[attr-defined]
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
    changed = [u.name for u in experiment.method.rewards if not getattr(u.function, "keeps_outcomes", False)]
    if changed:
        return f"rewards: expected nothing that changes them, because correct and incorrect are counted, got {changed}"
    return None

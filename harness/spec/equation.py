"""The declaration of an equation: its stage, the ranges of its values, and requirements on the experiment.

An impossible stack or value is refused, with the reason, when it is declared and when the equation is called.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args

from harness.errors import UsageError
from harness.spec.ranges import check_value

if TYPE_CHECKING:
    from harness.spec.declarations import Experiment

Stage = Literal["rewards", "advantage", "shaping", "weights", "gates", "penalties", "objective"]
Equation = TypeVar("Equation", bound=Callable[..., object])


@cache
def hyperparameters(function: Callable[..., object]) -> Mapping[str, object]:
    """Name -> annotation of the keyword-only parameters of an equation.

    Raises:
        UsageError: it is no function.
    """
    if not callable(function):
        raise UsageError(f"use: expected an equation, which is a function, got {function!r}")
    scope = vars(sys.modules[function.__module__])
    return {
        name: eval(p.annotation, scope) if isinstance(p.annotation, str) else p.annotation
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    }


def check_hyperparameters(function: Callable[..., object], values: Mapping[str, object], prefix: str = "") -> None:
    """Check the values of an equation against its annotations, then against each other (`relates`).

    Raises:
        UsageError: naming `prefix` and the key, the value and what was expected.
    """
    for key, kind in hyperparameters(function).items():
        if key in values:
            check_value(prefix + key, values[key], kind)
    relation = getattr(function, "relation", None)
    misfit = relation(values) if relation else None
    if misfit:
        raise UsageError(prefix + misfit)


def checked(equation: Equation) -> Equation:
    """Wrap a function so that each call checks its keyword-only arguments against their annotations."""

    @wraps(equation)
    def call(*args: object, **values: object) -> Any:
        check_hyperparameters(call, values)
        return equation(*args, **values)

    return cast(Equation, call)


def stage(name: Stage) -> Callable[[Equation], Equation]:
    """Declare an equation's stage in a `Method`. Any other stage is refused. Its calls are `checked`."""
    if name not in get_args(Stage):
        raise UsageError(f"stage: expected one of {get_args(Stage)}, got {name!r}")

    def mark(equation: Equation) -> Equation:
        marked = checked(equation)
        marked.stage = name  # type: ignore[attr-defined]
        return marked

    return mark


def relates(check: Callable[[Mapping[str, object]], str | None]) -> Callable[[Equation], Equation]:
    """Declare how the values of an equation must relate to each other, beyond their own ranges.

    `check` gets the values by name and returns an error text ("key: expected ..., got ...") or None.
    """

    def mark(equation: Equation) -> Equation:
        equation.relation = check  # type: ignore[attr-defined]
        return equation

    return mark


def requires(check: Callable[[Experiment, Mapping[str, object]], str | None]) -> Callable[[Equation], Equation]:
    """Declare what an equation requires of the rest of the experiment.

    `check` gets the experiment and the equation's own values and returns an error text (key, expected, given) or None.
    """

    def mark(equation: Equation) -> Equation:
        equation.check = check  # type: ignore[attr-defined]
        return equation

    return mark


def trains_critic(target: Callable[..., object]) -> Callable[[Equation], Equation]:
    """Declare the critic's target for an advantage, from the same batch and values: `target(batch, **values)` -> [B,
    T]."""

    def mark(equation: Equation) -> Equation:
        equation.critic_target = target  # type: ignore[attr-defined]
        return equation

    return mark


def policy_gradient_with(experiment: Experiment, aggregation: str) -> str | None:
    """For advantages whose loss is that of REINFORCE with one aggregation."""
    method = experiment.method
    name = "the default objective" if method.objective is None else method.objective.name
    if (name, method.aggregation.value) == ("policy_gradient", aggregation):
        return None
    got = f"{name} with {method.aggregation.value}"
    return f"objective and aggregation: expected policy_gradient with {aggregation}, got {got}"


def outcome_rewards(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    """For equations that count correct and incorrect responses: the reward must be accuracy alone."""
    names = experiment.rewards.value
    if names not in (("accuracy",), ("signed_accuracy",)):
        why = "because correct and incorrect are counted"
        return f"rewards: expected accuracy or signed_accuracy alone, {why}, got {names}"
    changed = [u.name for u in experiment.method.rewards if not getattr(u.function, "keeps_outcomes", False)]
    if changed:
        return f"rewards: expected nothing that changes them, because correct and incorrect are counted, got {changed}"
    return None

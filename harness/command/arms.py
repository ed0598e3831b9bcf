"""The arms that a command names: by key, under a control, by set, by base model."""

from __future__ import annotations

from dataclasses import replace

from harness.errors import UsageError, choose
from harness.spec import Arm, Reproduction, catalogue
from harness.spec.controls import CONTROLS, SEPARATOR, split_key
from harness.spec.scales import Scale

Pairs = list[tuple[str, str | None]]
"""(key of an arm, its control or None)."""


def picked(
    reproduction: Reproduction, models: list[str] | None, arms: list[str] | None, sets: list[str] | None, scale: Scale
) -> list[tuple[Arm, str | None]]:
    """(arm, its control or None) that a command names, in the paper's order. Arms that train the same appear once.

    Args:
        models, arms, sets: as `harness.command.resolve.resolve` takes them.
    Raises:
        UsageError: an unknown name (with the nearest valid one), arms and sets at once, or no arm is left.
    """
    pairs = None if arms is None else [split_key(key) for key in arms]
    _check(reproduction, models, pairs, sets)
    known = catalogue.arm_sets(reproduction)

    def controls_of(arm: Arm) -> set[str | None]:
        """The controls under which the command names an arm. None: the plain arm."""
        if pairs is not None:
            return {control for key, control in pairs if key == arm.key}
        if sets is not None:
            return {None} if any((arm.model, arm.key) in known[name] for name in sets) else set()
        return set() if arm.sweep else {None}

    candidates = [arm for arm in reproduction.arms if controls_of(arm)]
    if models is None and scale.one_model:  # the first base model that has any of them
        models = [m for m in reproduction.models if any(arm.model == m for arm in candidates)][:1]
    arms_by_key: dict[tuple[str, str, str | None], tuple[Arm, str | None]] = {}
    for arm in candidates:
        if models is None or arm.model in models:
            run = reproduction.trained_as(arm, scale.name)
            for control in (c for c in (None, *CONTROLS) if c in controls_of(arm)):
                arms_by_key.setdefault((run.model, run.key, control), (run, control))
    if not arms_by_key:
        raise UsageError(f"arm={arms or sets}: {reproduction.key} has no such arm for model={models}")
    return list(arms_by_key.values())


def under(arm: Arm, control: str | None) -> Arm:
    """The arm with its control in key and title."""
    if control is None:
        return arm
    return replace(arm, key=f"{arm.key}{SEPARATOR}{control}", title=f"{arm.title} ({CONTROLS[control].title})")


def _check(reproduction: Reproduction, models: list[str] | None, pairs: Pairs | None, sets: list[str] | None) -> None:
    """Raise UsageError for a name that the paper does not have."""
    keys = list(dict.fromkeys(arm.key for arm in reproduction.arms))
    if pairs is not None and sets is not None:
        both = [key if control is None else f"{key}{SEPARATOR}{control}" for key, control in pairs]
        raise UsageError(f"arms={sets}: expected arm=... or arms=..., not both, got arm={both} too")
    for name in sets or ():
        if name in keys:
            raise UsageError(f"arms={name}: {name} is an arm and no set of arms. Did you mean 'arm={name}'?")
    choose("arms", sets, catalogue.arm_sets(reproduction))
    choose("arm", None if pairs is None else [key for key, _ in pairs], keys)
    if repository := next((name for name in models or () if "/" in name and name not in reproduction.models), None):
        named = ", ".join(reproduction.models)
        raise UsageError(
            f"model={repository}: expected a model of the paper ({named}). base_model={repository} trains another one"
        )
    choose("model", models, reproduction.models)
    choose("control", [control for _, control in pairs or () if control is not None], CONTROLS)

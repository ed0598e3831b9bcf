"""Declare an experiment in a few lines: start from a recipe with sourced values, and give your changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

from evals.provenance import Origin, Sourced
from harness.errors import nearest
from harness.spec import Experiment, Method, Use

NOTE = "declared in Python"


def use(equation: Callable[..., object], **values: object) -> Use:
    """An equation with its hyperparameters, for `experiment(equations=[...])`.

    Args:
        values: each a plain value (recorded as declared by you) or one with a source: `paper(...)`, `code(...)`,
            `assumed(...)`.
    Raises:
        ValueError: a hyperparameter is missing, unknown or of the wrong kind.
    """
    return Use(equation, {k: v if isinstance(v, Sourced) else Sourced(v, Origin.USER, NOTE) for k, v in values.items()})


def experiment(*, base: Experiment | None = None, equations: Iterable[Use] | Use = (), **values: Any) -> Experiment:
    """An experiment: the recipe of the baselines (GRPO, token-mean loss, DAPO's values) with your changes.

        rlvr.experiment(
            base_model=rlvr.paper("Qwen/Qwen2.5-Math-7B", "section 5"),
            learning_rate=3e-6,
            group_size=7,
            equations=[rlvr.use(entropy_advantage, alpha=0.4, kappa=2.0)],
        )

    Args:
        base: another experiment to start from.
        equations: added to the stack, each at its own stage (`harness.spec.equation.stage`). An advantage or objective
            replaces the recipe's, an objective its clipping too.
        values: by key of `Experiment.settings()`. Plain values are recorded as declared by you. Keys with a dot
            (`grpo.std`) go in as `**{"grpo.std": "none"}`.
    Raises:
        ValueError: no such key (with the nearest one), a value that does not fit, or a stack of equations that cannot
            work (with the reason).
    """
    if base is None:
        from baselines.paper import RECIPE as recipe

        base = recipe
    if values.get("like") is not None:
        from harness.command.resolve import as_in

        base = as_in(values["like"], base)
    method = base.method
    for equation in [equations] if isinstance(equations, Use) else equations:
        method = _with(method, equation)
    clips = ("clip_low", "clip_high", "dual_clip") if method.objective is not base.method.objective else ()
    none: Any = Sourced(None, Origin.USER, "no clipped surrogate with this objective")
    start = base if method is base.method else replace(base, method=method, **dict.fromkeys(clips, none))
    known = start.settings()
    for key in values:
        if key not in known:
            raise ValueError(f"{key}: no such setting. {nearest(key, known)}")
    plain = {key: value for key, value in values.items() if not isinstance(value, Sourced)}
    sourced: dict[str, Any] = {key: value for key, value in values.items() if isinstance(value, Sourced)}
    changed = start.override(plain, Origin.USER, NOTE)
    direct = {f.name for f in fields(Experiment)}
    if unknown := [key for key in sourced if key not in direct]:
        raise ValueError(f"{unknown[0]}: expected a plain value here. Give its source in use(...)")
    return replace(changed, **sourced)


def _with(method: Method, equation: Use) -> Method:
    stage = getattr(equation.function, "stage", None)
    if stage is None:
        raise ValueError(f"{equation.name}: expected an equation marked with @stage(...), which says where it belongs")
    single = stage in ("advantage", "objective")
    part: dict[str, Any] = {stage: equation if single else (*getattr(method, stage), equation)}
    return replace(method, **part)

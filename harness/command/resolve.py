"""Resolve a command into jobs: every arm, model and seed with all of its values, checked. Pure and fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from evals.data import protocols
from evals.data.protocols import Protocol
from harness.command.arms import picked, under
from harness.command.checks import check_base_model, check_rewards, check_training, with_counted_rows
from harness.command.unread import check_read
from harness.errors import Faults, UsageError, choose, nearest
from harness.spec import Arm, Context, Experiment, Origin, Reproduction, Sourced, Training, catalogue
from harness.spec.controls import controlled
from harness.spec.job import Job
from harness.spec.scales import SCALES, Scale

BACKENDS = {  # as `backend=` names them -> the module with the `harness.backends.base.Backend`
    "trl": "harness.backends.trl.backend",
    "verl": "harness.backends.verl.backend",
}
ALIKE = "not given with rewards=: each counts alike; a paper's weights are of its own rewards"


def resolve(
    paper: str | Reproduction,
    *,
    models: list[str] | None = None,
    arms: list[str] | None = None,
    sets: list[str] | None = None,
    scale: str = "tiny",
    backend: str = "trl",
    seeds: list[int] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> list[Job]:
    """All jobs of a command, in the paper's order. An arm that trains the same as another runs once, under the other's
    name.

    Args:
        paper: the key of a paper, or any declaration.
        arms: keys of arms, each as it is or under a control (`egsw+random_reward`). None: those of the sets, or the
            arms of the paper's tables.
        sets: names of sets of arms (`harness.spec.catalogue.arm_sets`): "table4", "all", ...
        overrides: values by key of an arm's `settings()`, or `protocol.<name>`. A key must exist in at least one of
            the requested arms, and is applied to all arms that have it.
    Raises:
        UsageError: an unknown name or key (with the nearest valid one), or a value that does not fit.
    """
    if isinstance(paper, str):
        (paper,) = choose("paper", [paper], catalogue.papers())
        paper = catalogue.load(paper)
    reproduction = paper
    (scale,) = choose("scale", [scale], SCALES)
    (backend,) = choose("backend", [backend], BACKENDS)
    size = SCALES[scale]
    chosen = picked(reproduction, models, arms, sets, size)
    seeds = seeds if seeds is not None else list(range(reproduction.seeds.value))
    overrides = dict(overrides or {})
    built, faults = [], Faults()
    for arm, control in chosen:
        with faults.gathered():
            base, experiment = _arm(arm, reproduction, size, overrides, control)
        with faults.gathered():
            protocol = _protocol(arm, reproduction, size, overrides)
        with faults.gathered():
            context = _context(arm, reproduction, size, overrides)
        if not faults:
            built.append((under(arm, control), base, experiment, protocol, context))
    with faults.gathered():
        resolved = [arm.train for arm, _ in chosen] if faults else [e for _, _, e, _, _ in built]
        _all_used(overrides, resolved, reproduction)
        check_read(overrides, [e for _, _, e, _, _ in built if e is not None])
    faults.refuse()
    return [
        Job(
            reproduction.key,
            arm.model,
            arm.key,
            arm.title,
            scale,
            backend,
            seed,
            base,
            experiment,
            protocol,
            overrides,
            context,
        )
        for arm, base, experiment, protocol, context in built
        # an untrained model has no training seed: evaluate it once
        for seed in (seeds if experiment else seeds[:1])
    ]


def _protocol(arm: Arm, reproduction: Reproduction, scale: Scale, overrides: Mapping[str, object]) -> Protocol:
    protocol = protocols.get(scale.protocol or arm.protocol or reproduction.protocol)
    protocol_values = {key.removeprefix("protocol."): v for key, v in overrides.items() if key.startswith("protocol.")}
    return protocol.override(protocol_values, Origin.USER, "command line") if protocol_values else protocol


def _context(arm: Arm, reproduction: Reproduction, scale: Scale, overrides: Mapping[str, Any]) -> Context | None:
    """The declared context of the arm's base model, which another base model does not have."""
    replaced = "base_model" in {**scale.values, **scale.special(reproduction.scales), **scale.special(arm.scales)}
    declared = None if replaced or "base_model" in overrides else reproduction.contexts.get(arm.model)
    given = {f.name: overrides[f"context.{f.name}"] for f in fields(Context) if f"context.{f.name}" in overrides}
    if not given:
        return declared
    if declared is not None:
        return declared.override(given, Origin.USER, "command line")
    if len(given) < len(fields(Context)):
        raise UsageError(f"context.{next(iter(given))}: expected context.positions and context.rope_theta together")
    return Context(**{key: Sourced(value, Origin.USER, "command line") for key, value in given.items()})


def _arm(
    arm: Arm, reproduction: Reproduction, scale: Scale, overrides: Mapping[str, Any], control: str | None = None
) -> tuple[Sourced[str], Training | None]:
    """(base model, experiment) with the scale's values, then the command line's, then under the control."""
    experiment, faults, whole = arm.train, Faults(), True
    base = reproduction.models[arm.model]
    special = {**scale.special(reproduction.scales), **scale.special(arm.scales)}
    scaled = {**scale.values, **special}  # all at once: a value may fit only with the others of its scale
    why = {
        key: f"scale={scale.name}"
        + (f", {reproduction.key}" if key in special else f": {scale.reasons[key]}" if key in scale.reasons else "")
        for key in scaled
    }
    origins = dict.fromkeys(overrides, "command line")
    for values, origin, note in ((scaled, Origin.SCALE, why), (overrides, Origin.USER, origins)):
        if "base_model" in values:
            base = base.replace(values["base_model"], origin, note["base_model"])
        if isinstance(experiment, Experiment) and values.get("like") is not None:
            experiment = as_in(values["like"], experiment)
        if experiment is not None:
            experiment, fits = _with(experiment, values, origin, note, faults)
            whole = whole and fits
    if control is not None:
        with faults.gathered():
            experiment = _under(control, experiment, overrides)
    with faults.gathered():
        check_base_model(base)
    if experiment is not None and whole:
        with faults.gathered():
            experiment = with_counted_rows(replace(experiment, base_model=base), overrides)
            check_training(experiment)
    faults.refuse()
    return base, experiment


def _with(
    experiment: Training, values: Mapping[str, Any], origin: Origin, note: Mapping[str, str], faults: Faults
) -> tuple[Training, bool]:
    """(the experiment with the values of one origin, whether those that are not among the faults fit together)"""
    known = experiment.settings()
    # an unchanged value keeps its own source
    changed = {k: v for k, v in values.items() if k in known and known[k].value != v}
    # before counting weights: a wrong name must not be reported as a wrong weight
    with faults.gathered():
        if isinstance(changed.get("rewards"), list):
            check_rewards(changed["rewards"])
    if faults:
        changed = {k: v for k, v in changed.items() if k not in ("rewards", "reward_weights")}
    alike = isinstance(changed.get("rewards"), list) and "reward_weights" not in values
    if alike:
        changed["reward_weights"] = (1.0,) * len(changed["rewards"])
        note = {**note, "reward_weights": ALIKE}
    try:
        experiment = experiment.override(changed, origin, note)
        if alike and isinstance(experiment, Experiment):  # neither the user's, nor those of the paper's rewards
            weights = replace(experiment.reward_weights, origin=Origin.ASSUMED)
            experiment = replace(experiment, reward_weights=weights)
    except UsageError as error:
        with faults.gathered():
            raise
        wrong = {line.partition(":")[0] for line in str(error).splitlines()}
        try:  # without these, so that the others are checked too
            return experiment.override({k: v for k, v in changed.items() if k not in wrong}, origin, note), True
        except UsageError:
            return experiment, False
    return experiment, True


def _under(control: str, experiment: Training | None, overrides: Mapping[str, object]) -> Experiment:
    """The experiment under a control, with the command line's values of what the control adds."""
    before = {} if experiment is None else experiment.settings()
    changed = controlled(experiment, control)
    added = changed.settings().keys() - before.keys()
    return changed.override({k: v for k, v in overrides.items() if k in added}, Origin.USER, "command line")


def as_in(framework: str, experiment: Experiment) -> Experiment:
    """The experiment with a framework's GRPO, as `baselines.frameworks` declares it: advantage, objective, clipping, KL
    term, aggregation, and its shaping before the arm's. The arm's rewards, shaping, weights, gates and penalties stay.

    Raises:
        UsageError: no such framework, or the arm's advantage or objective is not GRPO's.
    """
    baselines, method_before = catalogue.load(catalogue.BASELINES), experiment.method
    choose("like", [str(framework)], [key.removeprefix("grpo_") for key in baselines.sets["frameworks"]])
    if method_before.advantage.name != "grpo" or method_before.objective is not None:
        used = method_before.objective or method_before.advantage
        raise UsageError(f"like={framework}: expected arms with GRPO's advantage and surrogate, got {used.name}")
    declared: Any = next(arm.train for arm in baselines.arms if arm.key == f"grpo_{framework}")
    changed = {name: getattr(declared, name) for name in ("clip_low", "clip_high", "dual_clip", "kl_beta")}
    parts = {name: getattr(declared.method, name) for name in ("advantage", "aggregation", "objective")}
    method = replace(method_before, **parts, shaping=(*declared.method.shaping, *method_before.shaping))
    return replace(experiment, **changed, method=method)


def _all_used(overrides: Mapping[str, object], experiments: list[Training | None], paper: Reproduction) -> None:
    known = {"base_model", *(f"protocol.{f.name}" for f in fields(Protocol) if f.name != "name")}
    known |= {f"context.{f.name}" for f in fields(Context)}
    for experiment in experiments:
        known |= set(experiment.settings()) if experiment else set()
    if unknown := {key: value for key, value in overrides.items() if key not in known}:
        what = "no requested arm has such a value"
        hints = {"batch_size": "a rollout has prompts_per_rollout=N, a device at once hardware.micro_batch=N"}
        for key in unknown:
            having = [arm.key for arm in paper.arms if arm.train is not None and key in arm.train.settings()]
            hints |= {key: f"arm={having[0]} has it"} if having else {}
        near = {key: hints.get(key) or nearest(key, known) for key in unknown}
        raise UsageError("\n".join(f"{key}={value}: {what}; {near[key]}" for key, value in unknown.items()))

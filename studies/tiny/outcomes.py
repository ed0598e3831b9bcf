"""The results of the finished runs: scores of every arm, and the gains, placebos, controls and claims of the design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from evals.stats.compare import Line, compare_average, corrected
from evals.stats.intervals import Interval, estimate, over_seeds
from evals.stats.score import bounds_of
from evals.stats.verdict_table import complete
from harness.spec import catalogue
from harness.tables.claimed_curves import window_mean
from harness.tables.claims import Checked, check_claims
from harness.tables.measured import Measured, gather
from studies.tiny.design import PLACEBOS, REWARD_CONTROLS, Design
from studies.tiny.jobs import Settings, base_jobs, study_jobs
from studies.tiny.registration import claims_of

if TYPE_CHECKING:
    from harness.runs.source import RunSource

Key = tuple[str, str, str]  # scale, paper, arm
Outcome = Literal["appears", "does not appear", "reversed", "equal within δ", "cannot tell"]
PlaceboOutcome = Literal["the signal matters", "no sign that it does", "cannot tell"]

K = 16
METRICS = (("avg", None), ("pass", K), ("maj", K))
CURVES = ("train/accuracy", "train/entropy", "train/response_length")
END = (0.8, 1.0)  # of the training: what "at the end" means for a curve


# -- runs ----------------------------------------------------------------------------------------------------------


def measured_arms(design: Design, settings: Settings, source: RunSource) -> dict[Key, Measured]:
    """The arms of the design that have finished runs, the base models included (arm "base").

    Settings from the search are not part of an arm's name here, because every method has its own.
    """
    wanted: dict[tuple[str, str], Key] = {}
    for job in [*base_jobs(design), *study_jobs(design, settings)]:
        wanted[job.paper, job.digest] = (job.scale, job.paper, job.arm)
    return measured_of(wanted, design.papers(), source)


def measured_of(wanted: Mapping[tuple[str, str], Key], papers: Sequence[str], source: RunSource) -> dict[Key, Measured]:
    """The finished runs of some settings.

    Args:
        wanted: (paper, digest of a job) -> the key under which it is returned.
    """
    arms: dict[Key, Measured] = {}
    for paper in dict.fromkeys(papers):
        digests = {digest for of, digest in wanted if of == paper}
        for m in gather(paper, source, digests=digests, curves=CURVES):
            arms[wanted[paper, m.digest.partition("-")[0]]] = replace(m, overrides="")
    return arms


# -- scores --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Value:
    """A mean and its interval; None where it cannot be computed."""

    mean: float
    interval: Interval | None


@dataclass(frozen=True)
class Row:
    """The scores of one arm in one family: means over the family's benchmarks.

    `avg`, `passed` (pass@16) and `majority` (maj@16) are fractions, with intervals over problems and seeds; `tokens` is
    the mean length of the evaluated responses. `entropy` (nats a token) is that of the last fifth of training, and
    `sampled` the tokens that training sampled, both with intervals over seeds; None for the base model.
    """

    key: Key
    seeds: int
    divergence: str
    avg: Value
    passed: Value
    majority: Value
    tokens: Value
    entropy: Value | None
    sampled: Value | None


def row(key: Key, m: Measured) -> Row:
    """The scores of one arm."""
    avg, passed, majority = (_score(m, metric, k) for metric, k in METRICS)
    entropies = [_end(m, seed, "train/entropy") for seed in m.seeds]
    lengths = [m.curves.get(seed, {}).get("train/response_length", ()) for seed in m.seeds]
    responses = int(_setting(m, "prompts_per_rollout") * _setting(m, "group_size")) if m.trained else 0
    updates = int(_setting(m, "updates_per_rollout")) if m.trained else 1
    sampled = [responses / updates * sum(value for _, value in points) for points in lengths]
    return Row(
        key,
        len(m.seeds),
        m.divergence(),
        avg,
        passed,
        majority,
        _score(m, "mean_tokens", None),
        _over_seeds([e for e in entropies if e is not None]) if m.trained else None,
        _over_seeds(sampled) if m.trained else None,
    )


def _setting(m: Measured, key: str) -> float:
    return float(next(iter(m.records.values()))["settings"][key]["value"])


def _score(m: Measured, metric: str, k: int | None) -> Value:
    tables = []
    for benchmark in m.verdicts:
        values = m.held(benchmark).values(metric, k)
        tables.append(values[:, complete(values)])
    mean = float(np.mean([table.mean() for table in tables]))
    return Value(mean, estimate(tables, bounds=bounds_of(metric)).interval())


def _over_seeds(values: Sequence[float]) -> Value | None:
    if not values:
        return None
    return Value(float(np.mean(values)), over_seeds(values, bounds=None))


def _end(m: Measured, seed: int, metric: str) -> float | None:
    return window_mean(m.curves.get(seed, {}).get(metric, ()), END)


# -- comparisons ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """a - b in one metric, mean over the family's benchmarks; `line` is corrected within `line.family`."""

    scale: str
    paper: str
    a: str
    b: str
    line: Line
    diverged: bool


def gains(design: Design, arms: Mapping[Key, Measured], *, controlled: bool = False) -> list[Difference]:
    """Every method minus its reference, in every metric; Holm over the gains of a family in one metric.

    Args:
        controlled: also every placebo and control minus the reference (for figures: then the family is larger).
    """
    pairs = [(arm.paper, arm.arm, arm.than) for arm in design.arms if arm.than and (controlled or arm.control is None)]
    return [d for metric, k in METRICS for d in _differences(design, arms, pairs, metric, k, "gains")]


def placebos(design: Design, arms: Mapping[Key, Measured]) -> list[Difference]:
    """Every method minus each of its placebos, in avg; Holm over those of a family."""
    pairs = [(arm.paper, arm.method, arm.arm) for arm in design.arms if arm.control in PLACEBOS]
    return _differences(design, arms, pairs, "avg", None, "placebos")


def controls(design: Design, arms: Mapping[Key, Measured]) -> list[Difference]:
    """GRPO minus each reward control, and each control minus the base model, in avg; Holm over those of a family."""
    of = [arm for arm in design.arms if arm.control in REWARD_CONTROLS]
    pairs = [(a.paper, a.method, a.arm) for a in of] + [(a.paper, a.arm, "base") for a in of]
    return _differences(design, arms, pairs, "avg", None, "controls")


def _differences(
    design: Design,
    arms: Mapping[Key, Measured],
    pairs: Sequence[tuple[str, str, str]],
    metric: str,
    k: int | None,
    name: str,
) -> list[Difference]:
    """The differences of the measured pairs, corrected for all pairs that the design declares."""
    done = []
    for scale in design.families:
        there = [
            (paper, a, b, arms[scale, paper, a], arms[scale, paper, b])
            for paper, a, b in pairs
            if (scale, paper, a) in arms and (scale, paper, b) in arms
        ]
        lines = [
            compare_average(
                x.run(), y.run(), list(x.verdicts), metric, ks=(k,) if k else (), margin=design.margins[metric]
            )
            for *_, x, y in there
        ]
        family = f"{name} in {metric} on {scale}, {len(pairs)} comparisons"
        for (paper, a, b, x, y), line in zip(there, corrected(lines, family, len(pairs)), strict=True):
            done.append(Difference(scale, paper, a, b, line, bool(x.diverged or y.diverged)))
    return done


def placebo_outcome(design: Design, of_method: Sequence[Difference]) -> PlaceboOutcome:
    """The registered rule's word for a method's differences from all of its placebos."""
    words = [d.line.verdict for d in of_method]
    declared = len(design.placebos_of(of_method[0].paper, of_method[0].a))
    if len(words) == declared and set(words) == {"higher"} and not any(d.diverged for d in of_method):
        return "the signal matters"
    return "no sign that it does" if {"equal", "lower"} & set(words) else "cannot tell"


# -- claims --------------------------------------------------------------------------------------------------------


CheckedClaims = Mapping[str, Mapping[str, Sequence[Checked]]]
"""Family -> paper -> its claims, as `claims` gives them."""


def claims(design: Design, arms: Mapping[Key, Measured], scale: str) -> dict[str, list[Checked]]:
    """The registered claims of every paper in one family."""
    checked = {}
    for paper in design.papers():
        declared = claims_of(design, paper)
        if declared:
            here = [m for (s, p, _), m in arms.items() if (s, p) == (scale, paper)]
            checked[paper] = check_claims(replace(catalogue.load(paper), claims=tuple(declared)), here, scale)
    return checked


def claim_outcome(checked: Checked) -> Outcome:
    """The registered word for a claim's outcome."""
    if checked.outcome == "holds":
        return "appears"
    if checked.outcome != "does not hold":
        return "cannot tell"
    words = {e.line.verdict for e in checked.evidence}
    against = {"higher": "lower", "not lower": "lower", "lower": "higher", "not higher": "higher"}
    if against.get(checked.claim.direction) in words:
        return "reversed"
    return (
        "equal within δ" if "equal" in words and checked.claim.direction in ("higher", "lower") else "does not appear"
    )

"""The results of the finished runs: scores of every arm, and the gains, placebos, controls and claims of the design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evals.stats.compare import Line, compare_average, corrected
from evals.stats.intervals import Interval, estimate, over_seeds
from evals.stats.score import bounds_of
from evals.stats.verdict_table import COMPARED, OF_K, complete
from harness.spec import Claim, catalogue
from harness.tables.claimed_curves import window_mean
from harness.tables.claims import Checked, check_claims
from harness.tables.measured import Measured
from studies.tiny.design import PLACEBOS, REWARD_CONTROLS, Design
from studies.tiny.jobs import declared
from studies.tiny.scores import Arms, Key

StudyOutcome = Literal["appears", "does not appear", "reversed", "equal within δ", "cannot tell"]
PlaceboOutcome = Literal["the signal matters", "no sign that it does", "cannot tell"]
CheckedClaims = Mapping[str, Mapping[str, Sequence[Checked]]]
"""Family -> paper -> its claims, as `claims` gives them."""

K = 16
END = (0.8, 1.0)  # the part of the training that "at the end" means for a curve
SINCE = (  # claims of the papers that were declared after both registrations
    "EGSW's gradient norm is below GRPO's.",
    "Late in training its reward is slightly above that of entropy regularisation.",
    "Late in training its responses are longer than GRPO's.",
)


@dataclass(frozen=True)
class Value:
    """A mean and its interval, or None where it cannot be computed."""

    mean: float
    interval: Interval | None


def score(m: Measured, metric: str, k: int | None = None) -> Value:
    """The mean over the family's benchmarks, with its interval over problems and seeds. Fractions. Tokens for
    mean_tokens."""
    tables = []
    for benchmark in m.verdicts:
        values = m.verdicts[benchmark].values(metric, k)
        tables.append(values[:, complete(values)])
    mean = float(np.mean([table.mean() for table in tables]))
    return Value(mean, estimate(tables, bounds=bounds_of(metric)).interval())


def end_of_curve(m: Measured, metric: str) -> Value | None:
    """The mean of a training curve over the last fifth of the training, with its interval over seeds, or None without a
    curve."""
    ends = (window_mean(m.curves.get(seed, {}).get(metric, ()), END) for seed in m.seeds)
    return _over_seeds([end for end in ends if end is not None])


def sampled_tokens(m: Measured, key: Key) -> Value | None:
    """The tokens that a training sampled, with the interval over seeds, or None for the base model."""
    if not m.trained:
        return None
    scale, paper, arm = key
    recipe = declared(paper, arm, scale)
    responses = recipe.prompts_per_rollout.value * recipe.group_size.value / recipe.updates_per_rollout.value
    lengths = [m.curves.get(seed, {}).get("train/response_length", ()) for seed in m.seeds]
    return _over_seeds([responses * sum(mean_length for _, mean_length in points) for points in lengths])


def _over_seeds(values: Sequence[float]) -> Value | None:
    return Value(float(np.mean(values)), over_seeds(values, bounds=None)) if values else None


@dataclass(frozen=True)
class StudyDifference:
    """a - b in one metric, mean over the family's benchmarks. `line` is corrected within `line.family`."""

    scale: str
    paper: str
    a: str
    b: str
    line: Line
    diverged: bool


def gains(design: Design, arms: Arms, *, controlled: bool = False) -> list[StudyDifference]:
    """Every method minus its reference, in every metric. Holm over the gains of a family in one metric.

    Args:
        controlled: also every placebo and control minus the reference (for figures: then the family is larger).
    """
    pairs = [(arm.paper, arm.arm, arm.than) for arm in design.arms if arm.than and (controlled or arm.control is None)]
    return [d for m in COMPARED for d in _differences(design, arms, pairs, m, K if m in OF_K else None, "gains")]


def placebos(design: Design, arms: Arms) -> list[StudyDifference]:
    """Every method minus each of its placebos, in avg. Holm over those of a family."""
    pairs = [(arm.paper, arm.method, arm.arm) for arm in design.arms if arm.control in PLACEBOS]
    return _differences(design, arms, pairs, "avg", None, "placebos")


def controls(design: Design, arms: Arms) -> list[StudyDifference]:
    """GRPO minus each reward control, and each control minus the base model, in avg. Holm over those of a family."""
    controlled = [arm for arm in design.arms if arm.control in REWARD_CONTROLS]
    pairs = [(a.paper, a.method, a.arm) for a in controlled] + [(a.paper, a.arm, "base") for a in controlled]
    return _differences(design, arms, pairs, "avg", None, "controls")


def _differences(
    design: Design, arms: Arms, pairs: Sequence[tuple[str, str, str]], metric: str, k: int | None, name: str
) -> list[StudyDifference]:
    """The differences of the measured pairs, corrected for all pairs that the design declares."""
    results = []
    for scale in design.families:
        measured = [
            (paper, a, b, arms[scale, paper, a], arms[scale, paper, b])
            for paper, a, b in pairs
            if (scale, paper, a) in arms and (scale, paper, b) in arms
        ]
        lines = [
            compare_average(x.run, y.run, list(x.verdicts), metric, ks=(k,) if k else (), margin=design.margins[metric])
            for *_, x, y in measured
        ]
        family = f"{name} in {metric} on {scale}, {len(pairs)} comparisons"
        for (paper, a, b, x, y), line in zip(measured, corrected(lines, family, len(pairs)), strict=True):
            results.append(StudyDifference(scale, paper, a, b, line, bool(x.diverged or y.diverged)))
    return results


def placebo_outcome(design: Design, of_method: Sequence[StudyDifference]) -> PlaceboOutcome:
    """The registered rule's word for a method's differences from all of its placebos."""
    words = [d.line.plain_verdict for d in of_method]
    declared_placebos = len(design.placebos_of(of_method[0].paper, of_method[0].a))
    if len(words) == declared_placebos and set(words) == {"higher"} and not any(d.diverged for d in of_method):
        return "the signal matters"
    return "no sign that it does" if {"equal", "lower"} & set(words) else "cannot tell"


def claims_of(design: Design, paper: str) -> list[Claim]:
    """The claims of a paper that the study decides: on verdicts or curves of arms that it has (or the base model).

    A claim across base models is none of them, nor one that was declared since the registration, nor one on a model
    that had reinforcement learning before (`Design.already_trained`): the tiny base models had none. Claims that
    differ in their models or benchmarks alone are one comparison here. The first is taken.
    """
    arms = {arm.arm for arm in design.arms if arm.paper == paper} | {"base"}
    decided = [
        replace(claim, models=(), benchmarks=())
        for claim in catalogue.load(paper).claims
        if {claim.arm, claim.than} <= arms
        and not claim.than_model
        and not _since_registration(claim)
        and not (claim.models and {(paper, model) for model in claim.models} <= set(design.already_trained))
    ]
    return list({replace(claim, text="", where=""): claim for claim in reversed(decided)}.values())[::-1]


def _since_registration(claim: Claim) -> bool:
    """Whether a claim is in no registration: one on two curves of one arm (trial_and_error's Figure 3(c)), or named."""
    two_curves = claim.curve is not None and bool(claim.curve.than_metric or claim.curve.less)
    return two_curves or claim.text in SINCE


def claims(design: Design, arms: Arms, scale: str) -> dict[str, list[Checked]]:
    """The registered claims of every paper in one family."""
    checked = {}
    for paper in design.papers():
        if registered := claims_of(design, paper):
            of_family = [m for (s, p, _), m in arms.items() if (s, p) == (scale, paper)]
            checked[paper] = check_claims(replace(catalogue.load(paper), claims=tuple(registered)), of_family, scale)
    return checked


def claim_outcome(checked: Checked) -> StudyOutcome:
    """The registered word for a claim's outcome."""
    if checked.outcome == "holds":
        return "appears"
    if checked.outcome != "does not hold":
        return "cannot tell"
    words = {e.line.plain_verdict for e in checked.evidence}
    direction = checked.claim.direction
    against = {"higher": "lower", "not lower": "lower", "lower": "higher", "not higher": "higher"}
    if against.get(direction) in words:
        return "reversed"
    return "equal within δ" if "equal" in words and direction in ("higher", "lower") else "does not appear"

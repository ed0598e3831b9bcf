"""A paper's claims beside what was measured: each holds, does not hold, is not resolved, or was not measured.

The comparison is that of `rlvr compare` (paired by problem), and Holm's correction is over all lines of all claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from evals.stats.compare import Line, compare_runs
from evals.stats.differences import holm
from evals.stats.measured_run import MeasuredRun
from harness.spec import Claim, Reproduction
from harness.tables.measured import Measured

Outcome = Literal["holds", "does not hold", "not resolved", "not measured"]
AGAINST = {"higher": "lower", "lower": "higher", "not lower": "lower"}
FOR = {"higher": "higher", "lower": "lower", "not lower": "higher"}


@dataclass(frozen=True)
class Evidence:
    """One comparison of a claim: `line` is the claim's arm minus the other, on one base model and benchmark."""

    model: str
    overrides: str  # what was replaced in the compared arms, beyond their scale
    line: Line


@dataclass(frozen=True)
class Checked:
    """A claim and what the measured runs of one scale say of it.

    Outcome: "does not hold" where some comparison is resolved against it; "holds" where all are resolved in its
    direction; "not resolved" else. `missing` says what the claim is about and was not measured.
    """

    claim: Claim
    outcome: Outcome
    evidence: tuple[Evidence, ...]
    missing: tuple[str, ...]


def check_claims(paper: Reproduction, measured: Sequence[Measured], scale: str) -> list[Checked]:
    """Every claim of the paper against the arms of one scale.

    A claim is about the arms as declared: of an arm that was run with several sets of overrides, the one with the
    fewest is taken, and both arms have the same.
    """
    here = [m for m in measured if m.scale == scale]
    found = [_compared(paper, claim, here) for claim in paper.claims]
    known = [e.line.p_value for evidence, _ in found for e in evidence if e.line.p_value is not None]
    adjusted = iter(holm(known))
    checked = []
    for claim, (evidence, missing) in zip(paper.claims, found, strict=True):
        corrected = tuple(
            e if e.line.p_value is None else replace(e, line=replace(e.line, p_holm=next(adjusted))) for e in evidence
        )
        checked.append(Checked(claim, outcome(claim, [e.line for e in corrected]), corrected, tuple(missing)))
    return checked


def outcome(claim: Claim, lines: Sequence[Line]) -> Outcome:
    """What the comparisons say of a claim; see `Checked`."""
    if not lines:
        return "not measured"
    verdicts = {line.verdict for line in lines}
    if AGAINST[claim.direction] in verdicts:
        return "does not hold"
    return "holds" if verdicts == {FOR[claim.direction]} else "not resolved"


def _compared(paper: Reproduction, claim: Claim, measured: Sequence[Measured]) -> tuple[list[Evidence], list[str]]:
    """(the comparisons, p-values not corrected yet; what is missing)."""
    if claim.undecided:
        return [], [claim.undecided]
    evidence, missing = [], []
    for model in paper.claimed_models(claim):
        pair = _pair(claim, [m for m in measured if m.model == model])
        if pair is None:
            missing.append(f"no finished runs of {claim.arm} and {claim.than} on {model} that can be compared")
            continue
        a, b = pair
        wanted = [name for name in a.verdicts if name in b.verdicts]
        if claim.benchmarks and a.scale == "paper":
            missing += [f"{name} on {model}" for name in claim.benchmarks if name not in wanted]
            wanted = [name for name in wanted if name in claim.benchmarks]
        if not wanted:
            continue
        result = compare_runs(_run(a), _run(b), metrics=(claim.metric,), benchmarks=wanted)
        compared = {line.benchmark for line in result.lines}
        missing += [
            f"{n} on {model}: {claim.metric}@k needs several samples a problem" for n in wanted if n not in compared
        ]
        evidence += [Evidence(model, a.overrides, line) for line in result.lines]
    return evidence, missing


def _pair(claim: Claim, measured: Sequence[Measured]) -> tuple[Measured, Measured] | None:
    """The two arms, by the same trainer, with the same values replaced in both (those that both have)."""
    pairs = [
        (a, b)
        for a in measured
        for b in measured
        if (a.arm, b.arm) == (claim.arm, claim.than) and a.backend == b.backend and _alike(a, b)
    ]
    return min(pairs, key=lambda pair: sum(len(m.overrides.split()) for m in pair), default=None)


def _alike(a: Measured, b: Measured) -> bool:
    """A base model has no training values, so that only the others can be asked of it."""
    of_a, of_b = set(a.overrides.split()), set(b.overrides.split())
    if "base" in (a.arm, b.arm):
        of_a, of_b = ({o for o in s if o.startswith(("protocol.", "base_model="))} for s in (of_a, of_b))
    return of_a == of_b


def _run(m: Measured) -> MeasuredRun:
    return MeasuredRun(m.label(m.arm), m.verdicts, dict.fromkeys(m.verdicts))

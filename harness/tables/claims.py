"""A paper's claims beside what was measured.

The comparison is that of `rlvr compare` (paired by problem). Holm's correction is over the family of all comparisons
that the paper's claims declare at a scale, measured or not, so a verdict does not depend on other runs in the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from evals.data import protocols
from evals.stats.compare import Line, compare_average, compare_runs, corrected
from evals.stats.differences import ALPHA, holm
from evals.stats.verdict_table import OF_K
from harness.spec import Claim, Reproduction
from harness.spec.scales import SCALES
from harness.tables.claimed_curves import curve_line
from harness.tables.comeback import published_margin
from harness.tables.grid import Grid
from harness.tables.measured import ALIKE, Measured, alike, comparable, differing_conditions, same_backend

ClaimOutcome = Literal["holds", "does not hold", "not resolved", "few seeds", "not tested", "not measured"]
Support = Literal["for", "against", "open"]


@dataclass(frozen=True)
class ClaimEvidence:
    """One comparison of a claim: `line` is the claim's arm minus the other, on one base model and benchmark.

    `p_margin`: of the claim's own hypothesis if it has a margin ("not lower", "not higher", "equal"), corrected.
    """

    model: str
    overrides: str  # those of the compared arms, beyond their scale
    line: Line
    p_margin: float | None = None


@dataclass(frozen=True)
class Checked:
    """A claim and its evidence from the measured runs of one scale.

    ClaimOutcome:
        holds, does not hold: resolved, over the settings that the claim asks for (`Claim.over`).
        not resolved: neither, or a seed of a compared arm diverged or trained nothing.
        few seeds: a trained arm has fewer than three training seeds, which allow no verdict on the method.
        not tested: the two arms gave the same samples in every seed, so they cannot differ.
        not measured: no comparison, as of an average where an arm lacks one of its benchmarks.
    `missing` says which part of the claim was not measured, or differently for the two arms, and which seeds diverged.
    `family` names the comparisons that the p-values are corrected for.
    """

    claim: Claim
    outcome: ClaimOutcome
    evidence: tuple[ClaimEvidence, ...]
    missing: tuple[str, ...]
    family: str = ""


def check_claims(paper: Reproduction, measured: Sequence[Measured], scale: str) -> list[Checked]:
    """Every claim of the paper against the arms of one scale.

    A claim is about the arms as declared: of several sets of overrides, the one with the fewest counts, the same for
    both arms.
    """
    of_scale = [m for m in measured if m.scale == scale]
    compared = [_compared(paper, claim, of_scale, scale) for claim in paper.claims]
    lines = [e.line for f in compared for e in f.evidence]
    declared = sum(_declared(paper, claim, scale) for claim in paper.claims)
    size = max(declared, len(lines))
    family = f"the claims of {paper.key} at {scale} scale, {size} comparisons"
    after = corrected(lines, family, size)
    p_values = [
        _p_of_margin(claim, e.line) for claim, f in zip(paper.claims, compared, strict=True) for e in f.evidence
    ]
    pairs = iter(zip(after, holm(p_values, family=size), strict=True))
    checked = []
    for claim, f in zip(paper.claims, compared, strict=True):
        evidence = []
        for e in f.evidence:
            line, p_margin = next(pairs)
            evidence.append(replace(e, line=line, p_margin=p_margin))
        outcome = outcome_of(claim, evidence) if f.differs else "not tested"
        if f.diverged and outcome in ("holds", "does not hold"):  # its comparison is over the seeds that survived
            outcome = "not resolved"
        checked.append(Checked(claim, outcome, tuple(evidence), tuple(f.missing), family))
    return checked


def claims_in_words(checked: Sequence[Checked], scale: str) -> tuple[str, ...]:
    """ "At tiny scale 1 of 8 claims holds (not resolved: 4, not measured: 3)." """
    if not checked:
        return ()
    counts: Counter[str] = Counter(c.outcome for c in checked)
    holds, every = counts.pop("holds", 0), len(checked)
    other_outcomes = ", ".join(f"{outcome}: {counts[outcome]}" for outcome in get_args(ClaimOutcome) if counts[outcome])
    claims = f"{holds} of {every} claim{'s' * (every != 1)} hold{'s' * (holds == 1)}"
    return (f"At {scale} scale {claims}{f' ({other_outcomes})' if other_outcomes else ''}.",)


def claims_grid(paper: Reproduction, measured: Sequence[Measured], scales: Sequence[str]) -> Grid | None:
    """Every claim with its outcome at each scale, or None without claims or measurements."""
    if not paper.claims or not scales:
        return None
    outcomes = [[c.outcome for c in check_claims(paper, measured, scale)] for scale in scales]
    rows = tuple((c.text, c.where, *cells) for c, *cells in zip(paper.claims, *outcomes, strict=True))
    note = f"`rlvr report paper={paper.key}` shows the comparisons behind each outcome."
    return Grid(f"{paper.key}: claims", ("claim", "where", *(f"{s} scale" for s in scales)), rows, (note,))


def outcome_of(claim: Claim, evidence: Sequence[ClaimEvidence]) -> ClaimOutcome:
    """The outcome of a claim from its comparisons. See `Checked`."""
    if not evidence:
        return "not measured"
    if not any(e.line.seeds_covered for e in evidence):
        return "few seeds"
    says = [support(claim, e) for e in evidence]
    if claim.over == "most":
        if 2 * says.count("for") > len(says):
            return "holds"
        return "does not hold" if 2 * says.count("against") >= len(says) else "not resolved"
    if "against" in says:
        return "does not hold"
    return "holds" if set(says) == {"for"} else "not resolved"


def support(claim: Claim, e: ClaimEvidence) -> Support:
    """Whether one comparison supports the claim, contradicts it, or is open.

    A difference within the margin contradicts "higher" and "lower", because the claimed gain is missing. A claim is
    about trainings like those at hand: collapses that no seed shows are not counted.
    """
    if not e.line.seeds_covered:
        return "open"
    word = e.line.plain_verdict
    if claim.direction in ("higher", "lower"):
        if word == claim.direction:
            return "for"
        return "against" if word in ("higher", "lower", "equal") else "open"
    if e.p_margin is not None and e.p_margin <= ALPHA:
        return "for"
    against = {"not lower": ("lower",), "not higher": ("higher",), "equal": ("higher", "lower")}[claim.direction]
    return "against" if word in against else "open"


def _p_of_margin(claim: Claim, line: Line) -> float | None:
    """The p-value of the claim's own hypothesis, if it has a margin."""
    return {"not lower": line.p_not_lower, "not higher": line.p_not_higher, "equal": line.p_equal}.get(claim.direction)


@dataclass
class _Comparison:
    evidence: list[ClaimEvidence]
    missing: list[str]
    differs: bool = True
    diverged: bool = False


def _across_one_model(claim: Claim, scale: str) -> bool:
    """A claim across base models, at a scale where all of them are one model: nothing to compare."""
    return bool(claim.than_model) and SCALES[scale].one_model


def _compared(paper: Reproduction, claim: Claim, measured: Sequence[Measured], scale: str) -> _Comparison:
    """The comparisons of a claim, p-values not corrected yet."""
    if claim.undecided:
        return _Comparison([], [claim.undecided])
    if _across_one_model(claim, scale):
        return _Comparison([], [f"a claim across base models, which are one model at {scale} scale"])
    comparison = _Comparison([], [])
    same = []
    for model in paper.claimed_models(claim):
        pair = _pair(claim, model, measured)
        if pair is None:
            both = (model, claim.than_model) if claim.than_model else (model,)
            on = " and ".join(_base(name, measured, scale) for name in both)
            comparison.missing.append(f"no finished runs of {claim.arm} and {claim.than} on {on} that can be compared")
            continue
        a, b = pair
        for arm in {(m.arm, m.model): m for m in pair}.values():
            if arm.lost:
                comparison.diverged = True
                comparison.missing.append(f"{arm.arm} on {arm.base}: {arm.divergence()}; compared over the other seeds")
        if claim.curve is None:
            comparison.missing += [
                f"{a.arm} and {b.arm} on {a.base} were measured differently: {text}"
                for text in differing_conditions(a, b)
            ]
        same.append(claim.curve is None and alike(a, b))
        if same[-1]:
            comparison.missing.append(f"{a.arm} and {b.arm} on {a.base}: {ALIKE}")
        lines, missing = _lines(paper, claim, a, b)
        comparison.missing += [f"{text} on {a.base}" for text in missing]
        comparison.evidence += [ClaimEvidence(a.base, a.overrides, line) for line in lines]
    comparison.differs = not same or not all(same)
    return comparison


def _base(model: str, measured: Sequence[Measured], scale: str) -> str:
    """The model that stands for a declared one at a scale: "tiny (for 7b)", or itself."""
    base = next((m.base for m in measured if m.model == model), SCALES[scale].family or model)
    return base if base == model else f"{base} (for {model})"


def _lines(paper: Reproduction, claim: Claim, a: Measured, b: Measured) -> tuple[list[Line], list[str]]:
    if claim.curve is not None:
        line = curve_line(claim.curve, a, b, claim.margin)
        return ([line], []) if line is not None else ([], [f"no curve {claim.curve.metric} of both arms"])
    claimed = claim.benchmarks if a.scale == "paper" else ()
    declared = claimed or tuple(dict.fromkeys([*a.verdicts, *b.verdicts]))
    wanted = [name for name in a.verdicts if name in b.verdicts and name in declared]
    missing = [name for name in declared if name not in wanted]
    if not wanted or (missing and claim.over == "average"):  # a mean over the others is of another claim
        return [], missing
    lines: list[Line] = []
    for metric in claim.compared:
        margin = claim.margin if claim.margin is not None else published_margin(paper, claim, a, metric)
        if claim.over == "average":
            lines.append(compare_average(a.run, b.run, wanted, metric, ks=claim.ks, margin=margin))
            continue
        result = compare_runs(a.run, b.run, metrics=(metric,), benchmarks=wanted, ks=claim.ks or None, margin=margin)
        measured = {line.benchmark for line in result.lines}
        missing += [f"{n}: {metric}@k needs several samples a problem" for n in wanted if n not in measured]
        lines += result.lines
    return lines, missing


def _declared(paper: Reproduction, claim: Claim, scale: str) -> int:
    """How many comparisons a claim declares at a scale."""
    if claim.undecided or _across_one_model(claim, scale):
        return 0
    models = paper.claimed_models(claim)
    if SCALES[scale].one_model:
        models = models[:1]
    if claim.curve is not None:
        return len(models)
    arms = {(a.model, a.key): a for a in paper.arms}
    count = 0
    for model in models:
        protocol_name = SCALES[scale].protocol or arms[model, claim.arm].protocol or paper.protocol
        protocol = protocols.get(protocol_name)
        names = [
            n for n in protocol.benchmarks.value if not claim.benchmarks or scale != "paper" or n in claim.benchmarks
        ]
        for metric in claim.compared:
            usable = [n for n in names if metric not in OF_K or protocol.value("n", n) > 1]
            count += min(1, len(usable)) if claim.over == "average" else len(usable) * max(1, len(claim.ks))
    return count


def _pair(claim: Claim, model: str, measured: Sequence[Measured]) -> tuple[Measured, Measured] | None:
    """The two arms, by the same trainer, with the same values replaced in both (those that both have)."""
    pairs = [
        (a, b)
        for a in measured
        for b in measured
        if (a.model, a.arm) == (model, claim.arm)
        and (b.model, b.arm) == (claim.than_model or model, claim.than)
        and same_backend(a, b)
        and comparable(a, b)
        and (claim.arm != claim.than or claim.than_model or a.overrides == b.overrides)
    ]
    return min(pairs, key=lambda pair: sum(len(m.replaced) for m in pair), default=None)

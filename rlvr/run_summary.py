"""The end of `rlvr run`: a short summary that fits 80 columns."""

from __future__ import annotations

import re
import shlex
from typing import Any

from evals.files import read_jsonl
from evals.notebook import Block, Outcome, Table
from evals.stats.intervals import MIN_SEEDS, ROUGH
from evals.stats.score import bounds_text, number_text
from harness.record.record import CURVE
from harness.record.run import Run
from harness.spec import catalogue
from harness.step.mismatch import FLAGS
from harness.tables.summary import ArmDifference, ArmResult, Summary
from rlvr.terminal import paragraph, sentence

MEANING = {
    "problems": "other problems of the same kind; they say nothing about other training seeds.",
    "seeds": "other training seeds on these problems.",
    "problems and seeds": "other problems of the same kind and other training seeds.",
}
UNMOVED = (
    "Every weight equals the base model's, so these runs do not count for their arm. Look at learning_rate, at "
    "warmup_ratio with max_steps, and equal rewards."
)
MOST = 8  # arms that are listed


def blocks(summary: Summary) -> list[Block]:
    """The runs, their numbers with intervals and what these cover, where the pages are, the next command."""
    arms = summary.arms
    count = len(summary.folders)
    nothing = [f"{a.model}/{a.arm} in {a.nothing} of {a.seeds} training seeds" for a in arms if a.nothing]
    lines: list[Block] = [paragraph(f"Trained nothing: {', '.join(nothing)}. {UNMOVED}")] if nothing else []
    lines += [paragraph(f"Warning, {a.model}/{a.arm}: {line}.") for a in arms for line in a.warnings]
    lines.append(f"{summary.paper} at {summary.scale} scale: {count} run{'s' * (count != 1)} finished")
    if summary.scale != "paper":
        lines.append(paragraph(sentence(summary.label)))
    if summary.benchmark is not None:
        lines += ["", *_numbers(summary)]
    lines += [f"{a.model}/{a.arm}: {a.diverged} of {a.seeds} training seeds diverged" for a in arms if a.diverged]
    if equal := "; ".join(f"{a.model}/{a.arm} {a.equal}" for a in arms if a.equal is not None):
        lines.append(paragraph(f"All rewards equal, so that a group-relative advantage learns nothing: {equal}."))
    lines += [paragraph(f"{a.model}/{a.arm}: {FLAGS[flag]}.") for a in arms for flag in a.mismatch]
    lines += [
        paragraph(
            f"{a} did not differ from {b}: the same samples in every training seed, so no comparison of them is a test."
        )
        for a, b in summary.alike
    ]
    for difference in summary.differences:
        lines += ["", *_difference(summary.benchmark, difference)]
    more = f"; also measured: {', '.join(summary.more_benchmarks)}" if summary.more_benchmarks else ""
    lines += ["", paragraph(f"runs: {summary.folders[0].parent}{more}")]
    if summary.paper in catalogue.papers():
        lines.append(f"page: rlvr report paper={summary.paper} scale={summary.scale}")
        lines.append(f"next: rlvr tables paper={summary.paper}    (all benchmarks and metrics; curves: rlvr ui)")
    else:  # an experiment of Python, which no declaration has
        seeds = dict.fromkeys(re.sub(r"-seed\d+$", "*", folder.name) for folder in summary.folders)
        lines.append(f"page: {shlex.join(['rlvr', 'page', *seeds])}")
        lines.append(f"next: {shlex.join(['rlvr', 'show', *seeds][:3])}    (curves: rlvr ui)")
    return lines


def so_far_blocks(name: str, run: Run) -> list[Block]:
    """How far a training came whose time is over, and the scores of its model, which is not the finished one."""
    rows = read_jsonl(run.folder / CURVE, "step")
    last: dict[str, Any] = rows[-1] if rows else {"scores": {}, "step": 0}
    scores = [
        (benchmark, f"{100 * score['value']:.1f}", f"avg@{score['k']}")
        for benchmark, of_benchmark in last["scores"].items()
        for score in of_benchmark.values()
        if score["metric"] == "avg" and score["value"] is not None
    ]
    lines: list[Block] = [paragraph(f"{name}: {run.so_far}. It is not finished: the same command goes on.")]
    if scores:
        lines.append(Table((f"after step {last['step']}", "%", "metric"), scores))
    return [*lines, f"run: {run.folder}"]


def _numbers(summary: Summary) -> list[Block]:
    shown = summary.arms[:MOST]
    models = {arm.model for arm in shown}
    rows = [(arm.arm if len(models) == 1 else f"{arm.model}/{arm.arm}", str(arm.seeds), *_score(arm)) for arm in shown]
    scores = [arm.score for arm in shown if arm.score is not None]
    lines: list[Block] = [
        Table(("arm", "seeds", f"{summary.benchmark} {scores[0].name if scores else 'avg'}, %", "95 % interval"), rows)
    ]
    if len(summary.arms) > MOST:
        lines.append(f"and {len(summary.arms) - MOST} more arms")
    covers: dict[str, list[str]] = {}
    for arm, row in zip(shown, rows, strict=True):
        if arm.score is not None and arm.score.interval is not None:
            covers.setdefault(arm.score.interval.covers, []).append(row[0])
    scope = {what: f" of {', '.join(names)}" if len(covers) > 1 else "" for what, names in covers.items()}
    lines += [paragraph(f"Intervals{scope[what]} cover {MEANING[what]}") for what in covers]
    if any(s.interval is not None and s.interval.rough for s in scores):
        lines.append(paragraph(f"{ROUGH}."))
    return lines


def _score(arm: ArmResult) -> tuple[str, str]:
    if arm.score is None or arm.score.value is None:
        lost = "trained nothing" if arm.nothing == arm.seeds else "diverged"
        return "–", Outcome(lost) if arm.score is None else str(arm.score.why)
    return number_text(arm.score.value, 100), bounds_text(arm.score.interval, 100)


def _difference(benchmark: str | None, compared: ArmDifference) -> list[str]:
    """Whether a claimed arm scores higher, and what would tell if these runs cannot."""
    line = compared.line
    question = f"Does {compared.arm} score higher than {compared.than} on {benchmark}?"
    if line.difference is None or line.interval is None:
        return [paragraph(f"{question} Not known: {line.why}.")]
    gain = f"{100 * line.difference:+.1f} points {bounds_text(line.interval, 100, '+.1f')}, paired by problem"
    if line.verdict == "not resolved":
        if abs(line.difference) < 0.0005:  # +0.0 points
            return [paragraph(f"{question} Not resolved: {gain}.")]
        resolve = f"about {compared.needed} training seeds of each" if compared.needed else "more problems and seeds"
        text = f"{question} Not resolved: {gain}. A true difference of this size needs {resolve}"
        if compared.needed and min(line.seeds_a, line.seeds_b) < MIN_SEEDS:
            text += ", if training seeds spread as is assumed (three of each would measure it)"
        runs = shlex.quote(f"runs=[{','.join(compared.runs)}]")
        return [paragraph(f"{text}:"), f"rlvr power difference={abs(line.difference):.6g} benchmark={benchmark} {runs}"]
    verdict = line.plain_verdict
    answer = "Yes" if verdict.endswith("higher") else "No, lower" if verdict.endswith("lower") else "No"
    if line.undone_by:
        answer += ", for trainings that do not collapse"
    if line.seeds_covered:
        return [paragraph(f"{question} {answer}: {gain}.")]
    more = "For the methods, train three seeds of each."
    return [paragraph(f"{question} {answer}, of these checkpoints: {gain}. {more}")]

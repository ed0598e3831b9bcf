"""`rlvr compare`: the table and the notes under it."""

from __future__ import annotations

import re
from pathlib import Path

from evals.notebook import TextTable
from evals.stats.collapses import MEANS, unlike
from evals.stats.compare import CompareResult, Line, problems_in_both
from evals.stats.differences import ALPHA
from evals.stats.intervals import ROUGH
from evals.stats.score import bounds_text, number_text, p_text
from rlvr.terminal import paragraph, table

FEW = (
    "With three to five seeds of which some fail, equal methods get a verdict too often, most of all against an "
    "untrained model (results/coverage.md): look at each seed"
)


def as_text(result: CompareResult) -> str:
    """One table a benchmark, 80 columns wide; the JSON document also has the uncorrected p-values."""
    lines = [f"A: {result.a}", f"B: {result.b}"]
    for benchmark in dict.fromkeys(line.benchmark for line in result.lines):
        own = [line for line in result.lines if line.benchmark == benchmark]
        header = ("metric", "A", "B", "A - B", "95 % interval", "p (Holm)", "verdict")
        lines += [
            "",
            paragraph(f"{benchmark}: {problems_in_both(own)}"),
            "",
            table(header, [_row(line) for line in own]),
        ]
    lines += ["", *map(paragraph, notes(result))]
    return "\n".join(lines)


def short_name(name: str) -> str:
    """A name for a heading: of files and folders their own names, of several training seeds what they share."""
    parts = [Path(part).name if Path(part).exists() else part for part in name.split(",")]
    return ", ".join(dict.fromkeys(re.sub(r"-seed\d+$", "", part) if len(parts) > 1 else part for part in parts))


def printed(result: CompareResult) -> TextTable:
    """All lines as one table, for a paper: the methods' names as headings, the metrics with their units."""
    a, b = short_name(result.a), short_name(result.b)
    header = ("benchmark", "metric", a, b, "difference", "95 % interval", "p (Holm)", "verdict")
    return header, [(line.benchmark, f"{line.name} ({line.unit})", *_row(line)[1:]) for line in result.lines]


def notes(result: CompareResult) -> list[str]:
    """What the signs and tests of the table mean, and what else to know."""
    tests: dict[str, list[Line]] = {}
    for line in result.lines:
        if line.covers:
            tests.setdefault(f"{line.test}, interval over {line.covers}", []).append(line)
    lines = [
        "A and B are means over the shared problems, in percent; lengths in tokens; unsolvable problems as a count. "
        f"Holm's correction is over the benchmarks of one metric. A difference is higher or lower if p (Holm) is at "
        f"most {ALPHA}; otherwise it is not resolved."
    ]
    if any(line.verdict.startswith("checkpoint") for line in result.lines):
        lines.append(
            "*: the measured checkpoints differ (or are equal). A trained run has fewer than three training seeds "
            "here, so this says nothing about the method: give three or more of its seeds, joined by commas; "
            "rlvr run seeds=3 trains them."
        )
    if undone := [line for line in result.lines if line.undone_by]:
        lines.append(
            "†: about trainings that do not collapse. About the mean of all trainings it is not resolved: it would be "
            "undone if this share of one side's trainings collapsed, and so few seeds may not show one that did: "
            f"{'; '.join(map(_undone, undone))}."
        )
    lines += each_seed(result)
    if (margin := result.lines[0].margin) is not None:
        points = f"{100 * margin:g} point{'s' * (margin != 0.01)}"
        lines.append(f"Equal: within {points}, by two one-sided tests corrected in the same way.")
    if any(line.rough for line in result.lines):
        lines.append(f"{ROUGH}.")
    if any(line.seeds_covered and 1 < max(line.seeds_a, line.seeds_b) <= 5 for line in result.lines):
        lines.append(FEW + ".")
    several = {
        name
        for name in {line.name for line in result.lines}
        if sum(name in (line.name for line in tested) for tested in tests.values()) > 1
    }
    for test, tested in tests.items():
        named = dict.fromkeys(f"{x.name} of {x.benchmark}" if x.name in several else x.name for x in tested)
        lines.append(f"Test of {', '.join(named)}: {test}.")
    lines += [f"{line.benchmark} {line.name}: {line.why}" for line in result.lines if line.why]
    lines += [f"MEASURED DIFFERENTLY: {text}" for text in result.different]
    return lines + [f"Note: {text}" for text in result.notes]


def _undone(line: Line) -> str:
    """ "sums avg@16 7.1 % of A's (41 seeds would show one with 95 %)"."""
    undo = line.undone_by
    assert undo is not None
    enough = f" ({undo.needed} seeds show one with 95 %)" if undo.needed else ""
    return f"{line.benchmark} {line.name} {100 * undo.share:.2g} % of {undo.side.upper()}'s{enough}"


def each_seed(result: CompareResult) -> list[str]:
    """Each seed's score where the two sides' spreads differ or a seed collapsed, in the first metric of a benchmark."""
    lines, first = [], {line.benchmark: line for line in reversed(result.lines)}
    for line in reversed(first.values()):
        if not line.collapsed and not unlike(line.scores_a, line.scores_b):
            continue
        sides = [
            f"{side.upper()} {', '.join(number_text(score, line.factor) for score in scores)}"
            for side, scores in (("a", line.scores_a), ("b", line.scores_b))
            if scores
        ]
        lines.append(f"Each seed on {line.benchmark}, {line.name}: {'; '.join(sides)}.")
        lines += [f"{side.upper()}: {of.text()}. {MEANS}." for side, of in line.collapsed.items()]
    return lines


def _row(line: Line) -> tuple[str, ...]:
    values = (*(number_text(v, line.factor) for v in (line.a, line.b)),)
    difference = number_text(line.difference, line.factor, "+.1f")
    interval = bounds_text(line.interval, line.factor, "+.1f")
    verdict = line.plain_verdict.removeprefix("checkpoint ").removeprefix("checkpoints ")
    star = "*" if verdict != line.plain_verdict else "†" if line.undone_by else ""
    return (line.name, *values, difference, interval, p_text(line.p_holm), verdict + star)

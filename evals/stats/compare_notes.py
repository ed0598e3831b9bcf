"""The lines under a comparison: its signs, its tests, each seed's scores, and what else a reader must know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from evals.notebook import Outcome
from evals.stats.collapses import MEANS, unlike
from evals.stats.compare import CompareResult, Line, whole_table
from evals.stats.differences import ALPHA
from evals.stats.intervals import ROUGH
from evals.stats.score import bounds_text, number_text, p_text

FEW = (
    "With three to five seeds of which some fail, a method that equals an untrained model gets a verdict too often "
    "(results/coverage.md): look at each seed"
)


def cells(line: Line) -> tuple[str, ...]:
    """A line of the table: metric, A, B, A - B, interval, p (Holm), and the verdict with its sign."""
    values = (*(number_text(v, line.factor) for v in (line.a, line.b)),)
    difference = number_text(line.difference, line.factor, "+.1f")
    interval = bounds_text(line.interval, line.factor, "+.1f")
    verdict = line.plain_verdict.removeprefix("checkpoint ").removeprefix("checkpoints ")
    star = "*" if verdict != line.plain_verdict else "†" if line.undone_by else ""
    return (line.name, *values, difference, interval, p_text(line.p_holm), Outcome(verdict + star))


def notes(result: CompareResult) -> list[str]:
    """The meaning of the table's signs and tests, and what else to know."""
    lines = [
        "A and B are means over the shared problems, in percent; lengths in tokens; unsolvable problems as a count. "
        f"Holm's correction is over the benchmarks of one metric. A difference is higher or lower if p (Holm) is at "
        f"most {ALPHA}; otherwise it is not resolved.",
        f"Tests in this table: {sum(line.p_value is not None for line in result.lines)}.",
        *filter(None, [whole_table(families([result]))]),
    ]
    if any(line.verdict.startswith("checkpoint") for line in result.lines):
        lines.append(
            "*: the measured checkpoints differ (or are equal). A trained run has fewer than three training seeds "
            "here, so this says nothing about the method: give three or more of its seeds, joined by commas; "
            "rlvr run seeds=3 trains them."
        )
    if undone := [line for line in result.lines if line.undone_by]:
        lines.append(
            "†: about trainings that do not collapse. For the mean of all trainings, the verdict is not "
            "resolved. It would be undone if this share of one side's trainings collapsed, and so few seeds may not "
            "show one that did: "
            f"{'; '.join(map(_undone, undone))}."
        )
    lines += each_seed(result)
    if (margin := result.lines[0].margin) is not None:
        points = f"{100 * margin:g} point{'s' * (margin != 0.01)}"
        lines.append(f"Equal: within {points}, by two one-sided tests corrected in the same way.")
    if any(line.rough for line in result.lines):
        lines.append(f"{ROUGH}.")
    if any(
        line.seeds_covered and 1 < max(line.seeds_a, line.seeds_b) <= 5 and _untrained(line) for line in result.lines
    ):
        lines.append(FEW + ".")
    lines += _tests(result.lines)
    lines += [f"{line.benchmark} {line.name}: {line.why}" for line in result.lines if line.why]
    lines += [f"MEASURED DIFFERENTLY: {text}" for text in result.different]
    return lines + [f"Note: {text}" for text in result.notes]


def _tests(lines: Sequence[Line]) -> list[str]:
    """The test of each metric, with the benchmarks of a metric that has several tests."""
    tests: dict[str, list[Line]] = {}
    for line in lines:
        if line.covers:
            tests.setdefault(f"{line.test}, interval over {line.covers}", []).append(line)
    uses = Counter(name for tested in tests.values() for name in {line.name for line in tested})
    texts = []
    for test, tested in tests.items():
        names = dict.fromkeys(f"{x.name} of {x.benchmark}" if uses[x.name] > 1 else x.name for x in tested)
        texts.append(f"Test of {', '.join(names)}: {test}.")
    return texts


def _untrained(line: Line) -> bool:
    """Whether one side was not trained."""
    return not (line.scores_a and line.scores_b)


def _undone(line: Line) -> str:
    """ "sums avg@16 7.14 % of A's (41 seeds show one with 95 %)"."""
    undo = line.undone_by
    assert undo is not None
    enough = f" ({undo.needed} seeds show one with 95 %)" if undo.needed else ""
    return f"{line.benchmark} {line.name} {100 * undo.share:.3g} % of {undo.side.upper()}'s{enough}"


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
        lines += [f"{side.upper()}: {collapse.text()}. {MEANS}." for side, collapse in line.collapsed.items()]
    return lines


def families(results: Sequence[CompareResult]) -> list[list[Line]]:
    """The lines whose p-values are corrected together, of one table or several."""
    lines_by_family: dict[tuple[int, str], list[Line]] = {}
    for number, result in enumerate(results):
        for line in result.lines:
            lines_by_family.setdefault((number, line.family), []).append(line)
    return list(lines_by_family.values())

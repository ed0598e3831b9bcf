"""Generations of other labs beside the scores that they reported: recomputed from their labels, and graded by us.

A manifest is a JSON list: for each file its `file` (path beside the manifest), `repository`, `commit`, `path`,
`benchmark` and `reported_by_the_repository`. For each file: does the reported score come back from the file's own
labels, what is the score under each extraction policy, and why do labels and verdicts differ.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from evals.answer_files.formats import Row, read_rows
from evals.grading import Grade, Grader
from evals.grading.verdicts import Verdict
from evals.stats.formatting import bounds_text, number_text
from evals.stats.intervals import Interval, over_problems

POLICIES = ("boxed_last", "boxed_strict", "answer_tag", "qwen")
COMPARED = "qwen"  # the policy whose verdicts are compared with labels: the evaluators of most files extract like it


@dataclass(frozen=True)
class Share:
    """A share in [0, 1] with its 95 % interval over problems; no interval with a single problem."""

    value: float
    interval: Interval | None

    def __str__(self) -> str:
        interval = "" if self.interval is None else f" {bounds_text(self.interval, 100)}"
        return number_text(self.value, 100) + interval


@dataclass(frozen=True)
class Disagreement:
    """A sample whose label and verdict (under the policy COMPARED) differ."""

    problem_id: str
    gold: str
    their_answer: str | None
    our_answer: str | None
    label: bool
    verdict: str
    cause: str


@dataclass(frozen=True)
class Entry:
    """One file and benchmark. Scores are shares of samples in [0, 1], averaged over problems."""

    repository: str
    commit: str
    path: str
    benchmark: str
    format: str
    problems: int
    samples: int
    reported: float | None  # percent, as the repository states it
    labels: Share | None  # from the file's own labels; None where it has none
    ours: Mapping[str, Share]  # policy -> score, unscored samples left out of their problem
    unscored: Mapping[str, int]
    agreement: float | None  # share of labelled samples whose verdict is the label
    disagreements: tuple[Disagreement, ...] = field(repr=False)

    @property
    def causes(self) -> dict[str, int]:
        return dict(Counter(one.cause for one in self.disagreements).most_common())


def read_manifest(path: Path) -> list[dict[str, Any]]:
    """The entries of a manifest.

    Raises:
        ValueError: not such a list; an entry lacks a field, or its file is not there.
    """
    entries = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise ValueError(f"{path}: expected a JSON list of files, got {type(entries).__name__}")
    for number, entry in enumerate(entries, 1):
        for name in ("file", "repository", "commit", "path", "benchmark"):
            if name not in entry:
                raise ValueError(f"{path}, entry {number}: no field {name!r}")
        if not (path.parent / entry["file"]).is_file():
            raise ValueError(f"{path}, entry {number}: no such file {entry['file']!r} beside the manifest")
    return entries


def grade_entry(entry: Mapping[str, Any], folder: Path, grader: Grader) -> list[Entry]:
    """The entries of one file: one for each benchmark that it names, else one.

    Raises:
        ValueError: the file is of no known format.
    """
    name, rows = read_rows(folder / entry["file"])
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.get("benchmark") or str(entry["benchmark"]).split("-")[0], []).append(row)
    reports = entry.get("reported_by_the_repository") or [{}]
    reported = reports[0].get("acc") if len(groups) == 1 else None
    return [_graded(entry, benchmark, name, group, reported, grader) for benchmark, group in groups.items()]


def _graded(
    entry: Mapping[str, Any], benchmark: str, name: str, rows: Sequence[Row], reported: float | None, grader: Grader
) -> Entry:
    triples = [(row["answer"], row["response"], row.get("finish_reason")) for row in rows]
    graded = {policy: grader.grade_responses(triples, policy) for policy in POLICIES}
    labels = [row.get("expected") for row in rows]
    ids = [row["problem_id"] for row in rows]
    differing = tuple(
        Disagreement(
            str(row["problem_id"]),
            row["answer"],
            row.get("their_answer"),
            grade.answer,
            row["expected"],
            str(grade.verdict),
            cause(row, grade, {policy: grades[i] for policy, grades in graded.items()}),
        )
        for i, (row, grade) in enumerate(zip(rows, graded[COMPARED], strict=True))
        if row.get("expected") is not None
        and grade.verdict != Verdict.UNSCORED
        and (grade.verdict == Verdict.CORRECT) != row["expected"]
    )
    labelled = [
        (label, grade)
        for label, grade in zip(labels, graded[COMPARED], strict=True)
        if label is not None and grade.verdict != Verdict.UNSCORED
    ]
    return Entry(
        repository=entry["repository"],
        commit=entry["commit"],
        path=entry["path"],
        benchmark=benchmark,
        format=name,
        problems=len(set(ids)),
        samples=len(rows),
        reported=reported,
        labels=_share(ids, labels),
        ours={policy: share for policy, grades in graded.items() if (share := _share(ids, _correct(grades)))},
        unscored={policy: sum(g.verdict == Verdict.UNSCORED for g in grades) for policy, grades in graded.items()},
        agreement=1 - len(differing) / len(labelled) if labelled else None,
        disagreements=differing,
    )


def _correct(grades: Sequence[Grade]) -> list[bool | None]:
    return [None if grade.verdict == Verdict.UNSCORED else grade.verdict == Verdict.CORRECT for grade in grades]


def _share(ids: Sequence[str], correct: Sequence[bool | None]) -> Share | None:
    """The mean over problems of the share of correct samples; None without any verdict."""
    problems: dict[str, list[bool]] = {}
    for identifier, value in zip(ids, correct, strict=True):
        if value is not None:
            problems.setdefault(identifier, []).append(value)
    if not problems:
        return None
    means = [sum(values) / len(values) for values in problems.values()]
    return Share(fmean(means), over_problems(means))


_SCIENTIFIC = re.compile(r"\d\s*e\s*[-+]?\d|10\s*\^|\\times\s*10", re.IGNORECASE)
_UNIT = re.compile(r"\\(?:text|mathrm|rm)\b|\\%|\\circ|[a-z]{2,}", re.IGNORECASE)


def cause(row: Row, grade: Grade, by_policy: Mapping[str, Grade]) -> str:
    """Why a label and our verdict differ, as far as a rule can tell from gold and answers; "other" where none can.

    The rules, in order: no answer for us; the answer that another extraction policy finds agrees with the label; equal
    text or equal numbers (the label itself is doubtful, or asks for a format); a number in scientific notation; the
    same number a hundred times larger or smaller; numbers closer than one in a thousand; several values (their order,
    or one of them alone); a left-hand side; units, words or symbols.
    """
    gold, answer = str(row["answer"]), grade.answer
    if answer is None:
        return "no answer by any rule of extraction"
    others = [g for p, g in by_policy.items() if p != COMPARED and g.answer not in (None, answer)]
    if any((other.verdict == Verdict.CORRECT) == row["expected"] for other in others):
        return "another part of the response was extracted"
    a, b = _number(gold), _number(answer)
    if gold.strip().strip("$") == answer.strip().strip("$") or (a is not None and a == b):
        return "equal to the gold, labelled incorrect"
    if _SCIENTIFIC.search(gold) or _SCIENTIFIC.search(answer):
        return "scientific notation"
    if a is not None and b is not None and a != 0 and b != 0:
        if math.isclose(a, 100 * b, rel_tol=1e-9) or math.isclose(100 * a, b, rel_tol=1e-9):
            return "percent: a hundred times larger or smaller"
        if math.isclose(a, b, rel_tol=1e-3):
            return "tolerance or rounding"
    if "," in gold or "," in answer or " or " in answer or " and " in answer:
        return "several values: order, brackets, or one of them"
    if "=" in gold or "=" in answer:
        return "left-hand side or equation"
    if _UNIT.search(re.sub(r"\\(?:frac|sqrt|pi|left|right|cdot|d?frac|log|ln|sin|cos|tan)\b", "", gold + " " + answer)):
        return "units, words or symbols"
    return "other"


def _number(text: str) -> float | None:
    try:
        return float(text.strip().strip("$").replace(",", "").replace("\\%", "").replace("%", ""))
    except ValueError:
        return None


def page(entries: Sequence[Entry]) -> str:
    """The ledger as Markdown: a row a file, then what explains the differences."""
    lines = [
        "# Generations of other labs, graded again",
        "",
        "Generated by the named repository at the named commit, graded by us; written by `rlvr ledger`, not by hand. "
        "Percent of samples, mean over problems, 95 % interval over problems.",
        "",
        "- *reported*: the score that the repository states beside the file.",
        "- *their labels*: the same, recomputed from the verdict on each sample in the file.",
        f"- *{', '.join(POLICIES)}*: our verdicts under that extraction policy. *agree*: labels that equal our verdict "
        f"under `{COMPARED}`, the policy closest to these evaluators.",
        "",
        f"| source | benchmark | samples | reported | their labels | {' | '.join(POLICIES)} | agree |",
        f"| --- | --- | --- | --- | --- | {' | '.join('---' for _ in POLICIES)} | --- |",
    ]
    for e in entries:
        reported = "not stated" if e.reported is None else f"{e.reported:.1f}"
        agree = "no labels" if e.agreement is None else f"{100 * e.agreement:.1f}"
        ours = [str(e.ours.get(policy, "-")) for policy in POLICIES]
        cells = [
            f"{e.repository} `{_short(e.path)}`",
            e.benchmark,
            str(e.samples),
            reported,
            str(e.labels or "-"),
            *ours,
        ]
        lines.append(f"| {' | '.join([*cells, agree])} |")
    lines += ["", "## Why labels and verdicts differ", "", "| source | benchmark | differ | causes |"]
    lines += ["| --- | --- | --- | --- |"]
    for e in entries:
        if e.disagreements:
            causes = "; ".join(f"{name}: {count}" for name, count in e.causes.items())
            lines.append(f"| {e.repository} `{_short(e.path)}` | {e.benchmark} | {len(e.disagreements)} | {causes} |")
    unscored = sum(sum(e.unscored.values()) for e in entries)
    lines += ["", f"Unscored verdicts over all policies: {unscored}. Each difference is a row of `disagreements.csv`."]
    return "\n".join([*lines, ""])


def disagreement_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """A row for each sample whose label and verdict differ, with where it is from."""
    return [
        {"repository": e.repository, "commit": e.commit, "path": e.path, "benchmark": e.benchmark, **asdict(one)}
        for e in entries
        for one in e.disagreements
    ]


def _short(path: str) -> str:
    parts = Path(path).parts
    short = "/".join(parts[-4:-2] + parts[-1:]) if len(parts) > 4 else path
    return short.replace("|", "\\|")

"""Generations of other labs beside the scores that they reported: recomputed from their labels, and graded by us.

A manifest is a JSON list: for each file its `file` (path beside the manifest), `repository`, `commit`, `path`,
`benchmark` and `reported_by_the_repository`. For each file: does the reported score come back from the file's own
labels, what is the score under each extraction policy, and why do labels and verdicts differ.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from evals.answer_files.differing import POLICIES, Disagreement
from evals.answer_files.differing import differing as find_differing
from evals.answer_files.formats import Row
from evals.answer_files.reading import read_rows
from evals.grading import Grade, Grader
from evals.grading.verdicts import Verdict
from evals.stats.formatting import bounds_text, number_text
from evals.stats.intervals import Interval, over_problems

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
    ours: Mapping[str, Share]  # policy -> score, unscored samples excluded
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
    differing = tuple(find_differing(rows, graded[COMPARED], grader, COMPARED))
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

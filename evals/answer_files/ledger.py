"""Generations of other labs beside the scores that they reported: recomputed from their labels, and graded by us.

A manifest is a JSON list: for each file its `file` (path beside the manifest), `repository`, `commit`, `path`,
`benchmark` and `reported_by_the_repository`. For each file: does the reported score come back from the file's own
labels, what is the score under each extraction policy, and why do labels and verdicts differ?
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from evals.answer_files.differing import POLICIES, Disagreement
from evals.answer_files.differing import differing as find_differing
from evals.answer_files.formats import Row, samples_named
from evals.answer_files.reading import Reading, as_text, read_answers
from evals.grading import Grader
from evals.grading.verdicts import Verdict
from evals.stats.intervals import Interval, over_problems
from evals.stats.score import bounds_text, number_text

SMALL = 0.05  # points: scores are stated to a tenth
SHOWN = 10  # of the largest gaps
COMPARED = "qwen"  # the policy for comparisons with labels: most files' evaluators extract like it


@dataclass(frozen=True)
class Share:
    """A share in [0, 1] with its 95 % interval over problems; no interval with a single problem."""

    value: float
    interval: Interval | None

    def __str__(self) -> str:
        interval = "" if self.interval is None else f" {bounds_text(self.interval, 100)}"
        return number_text(self.value, 100) + interval


@dataclass(frozen=True, eq=False)
class Entry:
    """One file and benchmark. Scores are shares of samples in [0, 1], averaged over problems.

    `table` has a row a sample: `problem_id`, `label` (of the authors), a column for each policy (whether we read the
    sample as correct), and `cause` (why label and verdict under COMPARED differ, else missing). Labels and verdicts are
    1 or 0, missing where there is none.
    """

    repository: str
    commit: str
    path: str
    benchmark: str
    table: pd.DataFrame = field(repr=False)
    disagreements: tuple[Disagreement, ...] = field(repr=False)
    reported: float | None  # percent, as the repository states it
    where: str = "beside the file"  # the reported score is stated
    metric: str | None = None  # the name of the reported score

    def share(self, column: str) -> Share | None:
        """The mean over problems of the share of ones; None without any."""
        means = self.table[[column, "problem_id"]].dropna().groupby("problem_id", sort=False)[column].mean()
        return Share(fmean(means), over_problems(means.to_numpy())) if len(means) else None

    @cached_property
    def labels(self) -> Share | None:
        """From the file's own labels; None where it has none."""
        return self.share("label")

    @cached_property
    def ours(self) -> dict[str, Share]:
        """Policy -> score, unscored samples excluded."""
        return {policy: share for policy in POLICIES if (share := self.share(policy)) is not None}

    @property
    def labelled(self) -> int:
        """Samples with a label and a verdict."""
        return len(self.table[["label", COMPARED]].dropna())

    @cached_property
    def gap(self) -> dict[str, float]:
        """Cause -> points (percent) that it moves the score by, from their labels to our verdicts (policy COMPARED).

        Each sample has weight 1 in its problem's mean. Unscored samples leave the mean; their effect is a separate
        cause, so the causes add up to the whole gap. Empty if a sample has no label.
        """
        if self.labels is None or self.table["label"].isna().any():
            return {}
        of_problem = self.table.groupby("problem_id")["label"].transform("size")
        points = (1 - 2 * self.table["label"]) * 100 / (self.table["problem_id"].nunique() * of_problem)
        gap = {str(cause): float(sum(moved)) for cause, moved in points.groupby(self.table["cause"], sort=False)}
        ours = self.ours.get(COMPARED)
        rest = 0.0 if ours is None else 100 * (ours.value - self.labels.value) - sum(gap.values())
        return gap | ({"unscored samples, left out": rest} if abs(rest) > 1e-9 else {})

    @cached_property
    def counting(self) -> str | None:
        """Why the reported score is not their labels' average, if it counts samples otherwise."""
        if self.reported is None or self.table["label"].isna().any():
            return None
        return counting(self.reported, list(self.table["problem_id"]), list(self.table["label"]), self.metric)


def read_manifest(path: Path) -> list[dict[str, Any]]:
    """The entries of a manifest.

    Beside the required fields, an entry may have a `label` (which of the file's verdicts belongs to the reported
    score), and a report a `metric`: a name with n ("pass@k:k=1&n=4") lets the ledger detect a wrong division.

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


def read_claims(path: Path) -> list[dict[str, str]]:
    """Scores that a repository states elsewhere, such as in its README.

    Raises:
        ValueError: not a CSV of path_contains, benchmark, reported, where.
    """
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    needed = ("path_contains", "benchmark", "reported", "where")
    for number, row in enumerate(rows, 2):
        for name in needed:
            if not row.get(name):
                raise ValueError(f"{path}, line {number}: no {name}; expected the columns {', '.join(needed)}")
        try:
            float(row["reported"])
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: reported is {row['reported']!r}; expected percent") from error
    return rows


def grade_entry(
    entry: Mapping[str, Any], folder: Path, grader: Grader, claims: Sequence[Mapping[str, str]] = ()
) -> list[Entry]:
    """The entries of one file: one for each benchmark that it names, else one.

    Args:
        claims: as `read_claims`; they win over the manifest.

    Raises:
        ValueError: the file is of no known format.
    """
    file = read_answers(folder / entry["file"], Reading(label=entry.get("label")))
    groups: dict[str, list[Row]] = {}
    for row in file.rows:
        groups.setdefault(row.get("benchmark") or str(entry["benchmark"]).split("-")[0], []).append(row)
    reports = entry.get("reported_by_the_repository") or [{}]
    reported = reports[0].get("acc") if len(groups) == 1 else None
    evaluations = []
    for benchmark, group in groups.items():
        claim = next((c for c in claims if c["path_contains"] in entry["path"] and c["benchmark"] == benchmark), None)
        described = {**entry, "metric": reports[0].get("metric"), **({"where": claim["where"]} if claim else {})}
        score = float(claim["reported"]) if claim else reported
        evaluations.append(_graded(described, benchmark, group, score, grader))
    return evaluations


def _graded(
    entry: Mapping[str, Any], benchmark: str, rows: Sequence[Row], reported: float | None, grader: Grader
) -> Entry:
    triples = [(as_text(row["answer"]), row["response"], row.get("finish_reason")) for row in rows]
    graded = {policy: grader.grade_responses(triples, policy) for policy in POLICIES}
    disagreements = tuple(find_differing(rows, graded[COMPARED], grader, COMPARED))
    causes = {sample.row: sample.cause for sample in disagreements}
    columns = {
        "problem_id": [str(row["problem_id"]) for row in rows],
        "label": pd.array([row.get("expected") for row in rows], "boolean").astype("Float64"),
        "cause": [causes.get(number) for number in range(1, len(rows) + 1)],
    }
    for policy, grades in graded.items():
        correct = [None if g.verdict == Verdict.UNSCORED else g.verdict == Verdict.CORRECT for g in grades]
        columns[policy] = pd.array(correct, "boolean").astype("Float64")
    return Entry(
        repository=entry["repository"],
        commit=entry["commit"],
        path=entry["path"],
        benchmark=benchmark,
        table=pd.DataFrame(columns),
        disagreements=disagreements,
        reported=reported,
        where=str(entry.get("where", "beside the file")),
        metric=entry.get("metric"),
    )


def page(entries: Sequence[Entry]) -> str:
    """The ledger as Markdown: the largest gaps, all scores, what explains the differences, and the files."""
    names = _names(entries)
    scores = [
        (
            names[e],
            e.benchmark,
            str(len(e.table)),
            _percent(e.reported, "not stated"),
            str(e.labels or "-"),
            *(str(e.ours.get(policy, "-")) for policy in POLICIES),
            _percent(100 * (1 - len(e.disagreements) / e.labelled) if e.labelled else None, "no labels"),
        )
        for e in entries
    ]
    files = [
        (name, e.repository, e.commit[:12], f"`{_escaped(e.path)}`", "-" if e.reported is None else _escaped(e.where))
        for name, e in {names[e]: e for e in entries}.items()
    ]
    unscored = sum(int(e.table[list(POLICIES)].isna().sum().sum()) for e in entries)
    lines = [
        "# Generations of other labs, graded again",
        "",
        "Written by `rlvr grade manifest=FILE`, not by hand. Other labs published these responses; we grade them, and "
        "generate nothing. Scores are percent of samples, mean over problems, with 95 % intervals over problems. The "
        "files, with their commits, are listed at the end.",
        "",
        *_largest_gaps(entries, names),
        "## Scores",
        "",
        "- *reported*: the score that the repository states.",
        "- *their labels*: the same, recomputed from the verdict on each sample in the file.",
        f"- *{', '.join(POLICIES)}*: our verdicts under that extraction policy. *agree*: percent of labels that equal "
        f"our verdict under `{COMPARED}`, the policy closest to these evaluators.",
        "",
        *_table(("file", "benchmark", "samples", "reported", "their labels", *POLICIES, "agree"), scores),
        *_attributed(entries, names),
        *_causes(entries),
        "## Files",
        "",
        *_table(("file", "repository", "commit", "path", "score stated in"), files),
        f"Unscored verdicts over all policies: {unscored}. Each difference between a label and our verdict is a row of "
        "`disagreements.csv`.",
    ]
    return "\n".join([*lines, ""])


def _names(entries: Sequence[Entry]) -> dict[Entry, str]:
    """The short name of each entry's file: its repository without the owner, and a number ("PRIME 3")."""
    files: dict[str, dict[str, int]] = {}
    names = {}
    for e in entries:
        paths = files.setdefault(e.repository, {})
        names[e] = f"{e.repository.rpartition('/')[2]} {paths.setdefault(e.path, len(paths) + 1)}"
    return names


def _largest_gaps(entries: Sequence[Entry], names: Mapping[Entry, str]) -> list[str]:
    """The files whose reported score and our verdicts differ most."""
    ours = {e: 100 * e.ours[COMPARED].value for e in entries if COMPARED in e.ours}
    gaps = {e: ours[e] - e.reported for e in ours if e.reported is not None}
    largest = sorted((e for e in gaps if abs(gaps[e]) > 1), key=lambda e: -abs(gaps[e]))
    if not largest:
        return []
    rows = [
        (
            names[e],
            e.benchmark,
            _percent(e.reported),
            _percent(ours[e]),
            f"{gaps[e]:+.1f}",
            _first_cause(e),
        )
        for e in largest[:SHOWN]
    ]
    return [
        "## The largest gaps",
        "",
        f"Of {len(gaps)} reported scores {len(largest)} differ by more than a point from our verdicts under "
        f"`{COMPARED}`.",
        "",
        *_table(("file", "benchmark", "reported", "ours", "points", "first cause"), rows),
    ]


def _attributed(entries: Sequence[Entry], names: Mapping[Entry, str]) -> list[str]:
    """The gap in points: from the reported score to their labels, and from these to our verdicts, by cause."""
    rows = []
    for e in entries:
        if e.labels is None or COMPARED not in e.ours:
            continue
        moved = None if e.reported is None else 100 * e.labels.value - e.reported
        in_file = "-" if moved is None else "0" if abs(moved) <= SMALL else f"{moved:+.1f}"
        in_file += f" ({e.counting})" if e.counting else ""
        ours, boxed = 100 * e.ours[COMPARED].value, e.ours.get("boxed_last")
        not_boxed = "-" if boxed is None else f"{100 * boxed.value - ours:+.1f}"
        causes = _explained(e, most=3) or "-"
        reported = _percent(e.reported, "not stated")
        rows.append((names[e], e.benchmark, reported, in_file, causes, _percent(ours), not_boxed))
    return [
        "## The gap, attributed",
        "",
        f"Points. *in the file*: their labels less what is reported ({SMALL} or less is rounding, shown as 0): samples "
        "counted otherwise (*n and k*), or a score that the file does not give. *causes*: what the three largest add "
        f"between their labels and ours under `{COMPARED}`, and the rest together. *not boxed*: what `boxed_last`, "
        "which wants the answer in a box, adds to that.",
        "",
        *_table(("file", "benchmark", "reported", "in the file", "causes", "ours", "not boxed"), rows),
    ]


def _first_cause(e: Entry) -> str:
    """The largest part of the gap between an entry's reported score and our verdicts."""
    labels = None if e.labels is None else 100 * e.labels.value
    in_file = 0.0 if labels is None or e.reported is None else labels - e.reported
    if abs(in_file) > max([SMALL, *map(abs, e.gap.values())]):
        return e.counting or f"the file's own labels give {_percent(labels)}"
    return _explained(e, most=1) or "-"


def _explained(e: Entry, most: int) -> str:
    """The causes that move an entry's score most, in points; the others together."""
    causes = sorted(e.gap.items(), key=lambda cause: -abs(cause[1]))
    words = [f"{name} {points:+.1f}" for name, points in causes[:most]]
    rest = [f"{len(causes) - most} more {sum(points for _, points in causes[most:]):+.1f}"] if causes[most:] else []
    return "; ".join([*words, *rest])


def _causes(entries: Sequence[Entry]) -> list[str]:
    """How many samples of how many files each cause explains."""
    differing = pd.concat(e.table.assign(entry=number) for number, e in enumerate(entries))
    causes = (
        differing.groupby("cause", sort=False)["entry"]
        .agg(["size", "nunique"])
        .sort_values("size", ascending=False, kind="stable")
    )
    rows = [(str(cause), str(samples), str(files)) for cause, samples, files in causes.itertuples()]
    return ["## Why labels and verdicts differ", "", *_table(("cause", "samples", "files and benchmarks"), rows)]


def disagreement_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """A row for each sample whose label and verdict differ, with its source. Without the responses' text, which belongs
    to its authors."""
    return [
        {"repository": e.repository, "commit": e.commit, "path": e.path, "benchmark": e.benchmark}
        | {name: value for name, value in asdict(sample).items() if name != "end"}
        for e in entries
        for sample in e.disagreements
    ]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)] + [""]


def _percent(value: float | None, without: str = "-") -> str:
    return without if value is None else f"{value:.1f}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def counting(reported: float, ids: Sequence[str], labels: Sequence[float], metric: str | None = None) -> str | None:
    """Explains a reported score that is not the average of the labels; None if it is, or without an explanation.
    Nothing is fitted: each rule predicts one value, which must equal the reported one to `SMALL`.

    Args:
        reported: percent. labels: of each sample, of the problem in `ids`. metric: its name, which may say n.
    """
    problems = pd.DataFrame({"id": list(ids), "label": list(labels)}).groupby("id", sort=False)["label"]
    average = 100 * fmean(problems.mean())
    counts = set(problems.size())
    if abs(reported - average) <= SMALL or len(counts) != 1:
        return None
    (count,) = counts
    n = samples_named(metric) if metric else None
    if n is not None and n != count and abs(reported - average * count / n) <= SMALL:
        return f"n and k: divided by n = {n}, with {count} sample{'s' * (count != 1)} a problem"
    if count > 1 and abs(reported - 100 * fmean(problems.max())) <= SMALL:
        return f"n and k: pass@{count}, not the average"
    if count > 1 and abs(reported - 100 * fmean(problems.first())) <= SMALL:
        return f"n and k: the first of {count} samples alone"
    return None

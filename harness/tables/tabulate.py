"""The paper's tables again, published beside measured.

Published and measured numbers never share a column. A cell without a measurement says why. A number of another scale
never appears as the paper's.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from evals.csv_text import no_formula
from evals.files import write_text
from evals.markdown import code, markdown_text
from evals.plots.plot import Plot, save
from harness.record.run import Run
from harness.spec import Reproduction, catalogue
from harness.tables.claims import check_claims, claims_grid, claims_in_words
from harness.tables.controls import control_grid
from harness.tables.differences import difference_grid, difference_plot
from harness.tables.elsewhere import elsewhere_grid
from harness.tables.grid import Grid
from harness.tables.latex import latex_tables
from harness.tables.long import long_rows
from harness.tables.measured import Measured, gather, other_versions
from harness.tables.other_scales import scale_grids
from harness.tables.published import published_grids

# a section of tables.md that a study writes
_OF_STUDY = re.compile(r"^<!-- The study writes this section\b.*?^<!-- End of the section\. -->", re.M | re.S)


@dataclass(frozen=True)
class PaperTables:
    """All tables of a paper, ready to write."""

    paper: str
    grids: tuple[Grid, ...]
    rows: tuple[dict[str, object], ...]
    header: str
    footer: str
    latex: str = ""  # methods x benchmarks, for a paper
    picture: Plot | None = None

    def markdown(self) -> str:
        return "\n".join([self.header, *(g.markdown() for g in self.grids), self.footer])

    def csv(self) -> str:
        if not self.rows:  # nothing published, nothing measured
            return ""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(self.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: no_formula(value) for key, value in row.items()} for row in self.rows)
        return out.getvalue()

    def as_dict(self) -> dict[str, object]:
        return {"paper": self.paper, "cells": list(self.rows), "tables": [asdict(g) for g in self.grids]}

    def write(self, folder: Path) -> list[Path]:
        """tables.md, tables.csv and, where there are differences, PAPER.svg under the folder.

        The sections that a study wrote into an older tables.md stay, at the end.
        """
        page = folder / "tables.md"
        old = page.read_text(encoding="utf-8", errors="replace") if page.is_file() else ""
        kept = "".join(f"\n{section}\n" for section in _OF_STUDY.findall(old))
        texts = {page: self.markdown() + kept, folder / "tables.csv": self.csv()}
        for path, text in texts.items():
            write_text(path, text)
        return [*texts, *(save(self.picture, folder, ["svg"]).values() if self.picture else ())]


def contributions(measured: Sequence[Measured]) -> list[str]:
    """A sentence for each person who measured arms elsewhere: which, on what, when."""
    runs = [(m, run) for m in measured for run in m.runs.values() if run.by]
    lines = []
    for by in dict.fromkeys(run.by for _, run in runs):
        contributed = [(m, run) for m, run in runs if run.by == by]
        seeds: dict[tuple[str, str], list[int]] = {}
        for m, run in contributed:
            part = m.trained and len(m.runs) > sum(run.by == by for run in m.runs.values())
            seeds.setdefault((f"{m.base}/{m.arm}", f" at {m.scale} scale"), []).extend([run.seed] * part)
        arms = [f"{arm}{_seeds(seeds_of_arm)}{where}" for (arm, where), seeds_of_arm in seeds.items()]
        machines = dict.fromkeys(run.machine for _, run in contributed)
        days = sorted(run.finished[:10] for _, run in contributed if run.finished)
        when = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "an unknown day"
        lines.append(
            f"Measured by {markdown_text(by)} on {markdown_text(' and '.join(machines))}, {when}: {', '.join(arms)}."
        )
    return lines


def _seeds(numbers: Sequence[int]) -> str:
    """ ", seeds 0, 3": those of somebody, where others trained the rest."""
    return f", seed{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}," if numbers else ""


def report(paper: str, runs: Sequence[Run]) -> PaperTables:
    """All measurements of a paper beside its printed numbers, from the runs (those of other papers are left out)."""
    reproduction = catalogue.load(paper)
    measured = gather(paper, runs)
    elsewhere = elsewhere_grid(reproduction)
    grids = [*published_grids(paper, measured), *([elsewhere] if elsewhere else []), *scale_grids(paper, measured)]
    scales = list(dict.fromkeys(m.scale for m in measured))
    claims_and_contrasts = claims_grid(reproduction, measured, scales), difference_grid(reproduction, measured)
    compared = [grid for grid in (*claims_and_contrasts, control_grid(paper, measured)) if grid]
    origin = "" if reproduction.arxiv is None else f"arXiv {reproduction.arxiv}. "
    shown = "paper" if "paper" in scales or not scales else scales[0]
    picture = difference_plot(reproduction, measured, shown)
    rows = long_rows(paper, measured)
    header = [
        f"# {reproduction.title}",
        "",
        *(f"**{line}**\n" for m in measured for line in m.warnings()),
        f"## {_answer(reproduction, measured, scales, rows)}",
        "",
        *([f"![{picture.title}]({picture.name}.svg)", "", picture.caption, ""] if picture else []),
        f"{origin}Written by `rlvr tables paper={paper}` from the runs' verdicts. It is not edited by hand.",
        "",
    ]
    header += _commands(measured)
    header += [f"{line}\n" for line in (*contributions(measured), *other_versions(measured))]
    footer = []
    for heading, notes in (
        ("Departures from the paper", reproduction.departures),
        ("Doubts about the tables", reproduction.doubts),
    ):
        if notes:
            footer += [f"### {heading}", "", *(f"- {note}" for note in notes), ""]
    return PaperTables(
        paper,
        (*grids, *compared),
        tuple(rows),
        "\n".join(header),
        "\n".join(footer),
        latex_tables(reproduction, measured),
        picture,
    )


def _commands(measured: Sequence[Measured]) -> list[str]:
    """The code and the commands that measured."""
    commits = sorted({commit for m in measured for commit in m.commits})
    if not commits:
        return []
    commands = sorted({f"- {code(c)}" for m in measured for c in m.commands if c})
    by = "these commands:" if commands else "an unknown command."
    return [f"Measured with code at {', '.join(commits)}, by {by}", "", *commands, *[""] * bool(commands)]


def _answer(
    paper: Reproduction, measured: Sequence[Measured], scales: Sequence[str], rows: Sequence[dict[str, object]]
) -> str:
    """The answer of the tables: what was measured, how many printed numbers came back, and how many claims hold."""
    sentences = [] if "paper" in scales else ["Nothing is measured at the paper's own scale here."]
    if answers := Counter(row["comes_back"] for row in rows if row["comes_back"]):
        counts = ", ".join(f"{answer}: {n}" for answer, n in answers.items())
        sentences.append(f"Printed numbers that are measured at paper scale: {answers.total()} ({counts}).")
    for scale in scales:
        sentences += claims_in_words(check_claims(paper, measured, scale), scale)
    return " ".join(sentences) or f"Measured at {' and '.join(scales)} scale"

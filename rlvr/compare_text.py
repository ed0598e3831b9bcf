"""`rlvr compare`: the table and the notes under it."""

from __future__ import annotations

import re
from pathlib import Path

from evals.notebook import Block, Table
from evals.stats.compare import CompareResult, problems_in_both
from evals.stats.compare_notes import cells, notes
from rlvr.terminal import paragraph


def blocks(result: CompareResult) -> list[Block]:
    """One table a benchmark, 80 columns wide. The JSON document also has the uncorrected p-values."""
    lines: list[Block] = [f"A: {result.a}", f"B: {result.b}"]
    for benchmark in dict.fromkeys(line.benchmark for line in result.lines):
        lines_of_benchmark = [line for line in result.lines if line.benchmark == benchmark]
        header = ("metric", "A", "B", "A - B", "95 % interval", "p (Holm)", "verdict")
        lines += [
            "",
            paragraph(f"{benchmark}: {problems_in_both(lines_of_benchmark)}"),
            "",
            Table(header, [cells(line) for line in lines_of_benchmark]),
        ]
    return [*lines, "", *map(paragraph, notes(result))]


def short_name(name: str) -> str:
    """A name for a heading: of files and folders their own names, of several training seeds what they share."""
    parts = [Path(part).name if Path(part).exists() else part for part in name.split(",")]
    return ", ".join(dict.fromkeys(re.sub(r"-seed\d+$", "", part) if len(parts) > 1 else part for part in parts))


def printed(result: CompareResult) -> Table:
    """All lines as one table, for a paper: the methods' names as headings, the metrics with their units."""
    a, b = short_name(result.a), short_name(result.b)
    header = ("benchmark", "metric", a, b, "difference", "95 % interval", "p (Holm)", "verdict")
    return Table(header, [(line.benchmark, f"{line.name} ({line.unit})", *cells(line)[1:]) for line in result.lines])

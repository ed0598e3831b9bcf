"""Which published cells can be shares of whole samples: results/printed.md.

python -m benchmarks.printed            print the page
python -m benchmarks.printed --write    write it
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.data import benchmarks, protocols
from evals.data.protocols import Protocol
from evals.files import write_text
from evals.stats.printed_counts import counts
from harness.spec import catalogue
from harness.spec.catalogue import ALL, AVERAGE, Published

PAGE = Path("results") / "printed.md"
MOST = 64  # samples per problem that are tried
OTHER_SIZES = {"amc23": (40, 83)}  # AMC23 means 40 problems in most papers and 83 in some
SHARES = ("avg", "pass", "maj", "fmt")


@dataclass(frozen=True)
class Column:
    """The cells of one benchmark and metric in one table of a paper."""

    paper: str
    table: str
    benchmark: str
    metric: str
    cells: tuple[Published, ...]

    @property
    def protocol(self) -> Protocol:
        """How the paper measures the arm of the first cell."""
        paper, cell = catalogue.load(self.paper), self.cells[0]
        arm = next((a for a in paper.arms if (a.model, a.key) == (cell.model, cell.arm)), None)
        return protocols.get((arm.protocol if arm else None) or paper.protocol)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of problems that the benchmark can have."""
        rows_used = (
            self.protocol.value("rows", self.benchmark) if self.protocol.has_value("rows", self.benchmark) else None
        )
        rows = rows_used or benchmarks.task(self.benchmark)["metadata"]["rows"]
        return (rows,) if rows_used else OTHER_SIZES.get(self.benchmark, (rows,))

    @property
    def stated(self) -> int | None:
        """Samples per problem, by the metric's name and the protocol, or None if they are not stated.

        pass@k and maj@k of k samples are whole numbers of problems, as n = 1 is. With more samples they need not be.
        """
        kind, _, k = self.metric.partition("@")
        if not k or kind == "avg":
            return int(k) if k else None
        n = self.protocol.value("n", self.benchmark) if self.protocol.has_value("n", self.benchmark) else None
        return 1 if n == int(k) else None

    def fits(self, n: int) -> list[bool]:
        """Whether each cell is a share of n samples per problem, for any size of the benchmark."""
        return [any(counts(cell.printed, size * n) for size in self.sizes) for cell in self.cells]

    def can_fail(self, n: int) -> bool:
        """Whether some number with the printed digits is no share of so many samples."""
        digits = max(len(cell.printed.partition(".")[2]) for cell in self.cells)
        return max(self.sizes) * n < 100 * 10**digits

    @property
    def common(self) -> list[int]:
        """Every n that fits all cells, as long as a number could fail to fit."""
        return [n for n in range(1, MOST + 1) if self.can_fail(n) and all(self.fits(n))]


def columns() -> list[Column]:
    """Every column of percentages on one benchmark, in the order of the papers' tables."""
    cells_by_column: dict[tuple[str, str, str, str], list[Published]] = {}
    for paper in catalogue.papers():
        for cell in catalogue.published(paper):
            kind = cell.metric.partition("@")[0]
            if cell.unit == "%" and kind in SHARES and cell.benchmark not in (ALL, AVERAGE):
                cells_by_column.setdefault((paper, cell.table, cell.benchmark, cell.metric), []).append(cell)
    return [Column(*key, tuple(cells)) for key, cells in cells_by_column.items()]


def page() -> str:
    """The page: a table of the columns that their stated n does not allow, and one of all columns."""
    every = columns()
    cells = sum(len(column.cells) for column in every)
    bad = [(column, column.fits(column.stated).count(False)) for column in every if column.stated]
    doubted = [(column, count) for column, count in bad if count]
    stated = sum(len(column.cells) for column in every if column.stated)
    return f"""# Can the published cells be shares of whole samples?

With P problems and n samples each, a score is a whole number of correct samples, divided by P × n.
`python -m benchmarks.printed --write` tries every n from 1 to {MOST} on {cells} cells in {len(every)} columns. A cell
fits if a whole number gives its digits, after rounding or cutting off.

**{sum(count for _, count in doubted)} of {stated} cells with a stated n do not fit this n.** If the paper states n = k,
pass@k and maj@k must be whole numbers of problems. A paper may have taken more samples, or averaged several runs.

## Columns with a cell that does not fit

| Paper | Table | Benchmark | Metric | Cells | Do not fit | n that fits all cells | Cells that do not fit |
| --- | --- | --- | --- | ---: | ---: | --- | --- |
{_rows(doubted)}

## All columns

*Stated n* is the number of results per problem. If the paper states k samples, pass@k and maj@k have one result per
problem, so the column shows 1. The column does not count training seeds: EGSW averages three.

The list "n that fits all cells" ends at the n for which every number with these digits fits.

| Paper | Table | Benchmark | Metric | Cells | Stated n | n that fits all cells |
| --- | --- | --- | --- | ---: | ---: | --- |
{chr(10).join(_row(column) for column in every)}
"""


def _rows(doubted: Sequence[tuple[Column, int]]) -> str:
    rows = []
    for column, count in doubted:
        assert column.stated is not None
        fits = column.fits(column.stated)
        wrong = [cell.printed for cell, fitting in zip(column.cells, fits, strict=True) if not fitting]
        names = f"{column.paper} | {column.table} | {column.benchmark} | {column.metric}"
        rows.append(f"| {names} | {len(fits)} | {count} | {_numbers(column.common)} | {', '.join(wrong)} |")
    return "\n".join(rows)


def _row(column: Column) -> str:
    names = f"{column.paper} | {column.table} | {column.benchmark} | {column.metric} | {len(column.cells)}"
    return f"| {names} | {column.stated or 'not stated'} | {_numbers(column.common)} |"


def _numbers(numbers: Sequence[int], most: int = 6) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return f"{shown}, ..." if len(numbers) > most else shown or "none"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.printed", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE}")
    if parser.parse_args().write:
        write_text(PAGE, page())
    else:
        print(page())


if __name__ == "__main__":
    main()

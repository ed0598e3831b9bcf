"""Others' public measurements of the papers' models and methods, beside the printed cells and never mixed with ours."""

from __future__ import annotations

from collections.abc import Callable

from harness.spec import Reproduction, catalogue
from harness.spec.catalogue import Published
from harness.tables.grid import Grid

HEADER = ("model", "cell", "published", "measured by others", "by")
Found = tuple[str, dict[str, str]]  # by whom, and benchmark -> text


def elsewhere_rows(paper: Reproduction) -> list[tuple[str, ...]]:
    """The cells of `HEADER` for each untrained model and benchmark of the paper's averages that someone measured."""

    def found(model: str) -> list[Found]:
        return [(s["repository"], s["scores"].get(model, {})) for s in catalogue.elsewhere()]

    return _rows(paper, lambda cell: str(paper.models[cell.model].value), found, trained=False)


def method_rows(paper: Reproduction) -> list[tuple[str, ...]]:
    """The cells of `HEADER` for each trained arm and benchmark of the paper's averages that someone measured."""

    def found(arm: str) -> list[Found]:
        return [(s["source"], s["scores"].get(paper.key, {}).get(arm, {})) for s in catalogue.measured_methods()]

    return _rows(paper, lambda cell: f"{cell.model}/{cell.arm}", found, trained=True)


def _rows(
    paper: Reproduction, name: Callable[[Published], str], found: Callable[[str], list[Found]], *, trained: bool
) -> list[tuple[str, ...]]:
    arms = {(arm.model, arm.key) for arm in paper.arms if (arm.train is not None) == trained}
    printed: dict[tuple[str, str, str], dict[str, None]] = {}
    for cell in catalogue.published(paper.key):
        if (cell.model, cell.arm) in arms and cell.metric.partition("@")[0] == "avg":
            printed.setdefault((name(cell), cell.benchmark, cell.column), {})[cell.printed] = None
    return [
        (label, column, " / ".join(values), scores[benchmark], by)
        for (label, benchmark, column), values in printed.items()
        for by, scores in found(label)
        if benchmark in scores
    ]


def elsewhere_grids(paper: Reproduction) -> list[Grid]:
    """Those rows, with their sources: untrained models, then methods."""
    untrained = [
        (s["repository"], "{repository}@{commit:.12} `{file}` ({licence}): {how}.".format(**s))
        for s in catalogue.elsewhere()
    ]
    methods = [(s["source"], "{source}, read {read}. {how}.".format(**s)) for s in catalogue.measured_methods()]
    grids = [
        _grid(f"{paper.key}: untrained models, measured by others", elsewhere_rows(paper), untrained),
        _grid(f"{paper.key}: methods, measured by others", method_rows(paper), methods),
    ]
    return [grid for grid in grids if grid.rows]


def _grid(caption: str, rows: list[tuple[str, ...]], sources: list[tuple[str, str]]) -> Grid:
    by = {row[-1] for row in rows}
    notes = [note for name, note in sources if name in by]
    notes.append("Prompts, decoding and graders differ from the paper's: no cell is judged by these.")
    return Grid(caption, HEADER, tuple(rows), tuple(notes))

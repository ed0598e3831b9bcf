"""The paper's tables: each printed cell beside its measurement at paper scale, one row per cell."""

from __future__ import annotations

from collections.abc import Sequence

from evals.stats.score import NONE
from harness.record.names import readable
from harness.spec import Reproduction, catalogue
from harness.spec.catalogue import Published
from harness.tables.comeback import cell_margin, judge, measured_score, prediction_text
from harness.tables.grid import Grid
from harness.tables.measured import Measured, common_overrides, how, in_all_arms, rough, show

HEADER = ("method", "cell", "published", "measured [95 %]", "prediction [95 %]", "margin", "answer", "n x seeds")
ANSWERS = (
    "The prediction says where the published value is expected, on these problems, with the paper's n and seeds and "
    "ours. *Comes back*: the two differ by less than the margin, by two one-sided tests at 5 %. The margin is half of "
    "the gain that the paper prints. *Does not come back*: the published value is outside the prediction. *Cannot "
    "tell*: neither, or the row states a reason."
)


def published_grids(paper: str, measured: Sequence[Measured]) -> list[Grid]:
    """For each table of the paper: its printed values, and a second table with a row for each measured cell."""
    reproduction = catalogue.load(paper)
    cells = catalogue.published(paper)
    at_scale = [m for m in measured if m.scale == "paper"]
    grids = []
    for table in dict.fromkeys(c.table for c in cells):
        printed_cells = [c for c in cells if c.table == table]
        matches = [m for m in at_scale if any((m.model, m.arm) == (c.model, c.arm) for c in printed_cells)]
        grids.append(_printed(f"{paper} {table}", printed_cells, matches))
        if matches:
            grids.append(_beside(reproduction, f"{paper} {table}, measured", printed_cells, matches))
    return grids


def _printed(caption: str, cells: Sequence[Published], matches: Sequence[Measured]) -> Grid:
    """The table as the paper prints it, a row for each method."""
    columns = list(dict.fromkeys((c.benchmark, c.metric, c.column) for c in cells))
    titles = [column for *_, column in columns]
    # one printed column whose rows are of two benchmarks is two columns here
    titles = [f"{t} ({b})" if titles.count(t) > 1 else t for t, (b, *_) in zip(titles, columns, strict=True)]
    values = {(c.model, c.arm, c.benchmark, c.metric, c.column): c.printed for c in cells}
    several = len({c.model for c in cells}) > 1
    rows = [
        (_name(model, title, several), *(values.get((model, arm, *column), "") for column in columns))
        for model, arm, title in dict.fromkeys((c.model, c.arm, c.row) for c in cells)
    ]
    units = sorted({c.unit for c in cells})
    measured = "" if matches else " Not measured: there is no finished run of these arms at paper scale."
    note = f"As published ({', '.join(units)}).{measured}"
    return Grid(caption, ("method", *titles), tuple(rows), (note,))


def _name(model: str, title: str, several: bool) -> str:
    """The paper's name of a row, with the model if there are several and the name does not contain it."""
    return f"{model}: {title}" if several and model not in title.lower() else title


def _beside(paper: Reproduction, caption: str, cells: Sequence[Published], matches: Sequence[Measured]) -> Grid:
    every = catalogue.published(paper.key)
    common = common_overrides(matches)
    several = len({c.model for c in cells}) > 1
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        for match in matches:
            if (match.model, match.arm) != (cell.model, cell.arm):
                continue
            name = readable(match.label(_name(cell.model, cell.row, several), common))
            score, judged = measured_score(match, cell, every), judge(paper, cell, match, every)
            factor = 100 if cell.unit == "%" else 1
            margin = cell_margin(paper, cell)
            rows.append(
                (
                    name,
                    cell.column,
                    cell.printed,
                    show(score, match, cell.benchmark),
                    prediction_text(judged, factor),
                    NONE if margin is None else f"{factor * margin[0]:.2f} ({margin[1]})",
                    NONE if judged is None else f"{judged.answer}: {judged.why}" if judged.why else judged.answer,
                    how(match)[0],
                )
            )
    notes = [
        f"Scores are in percent, and lengths in tokens.{rough(rows)}",
        ANSWERS,
    ]
    have = {(m.model, m.arm) for m in matches}
    if lacking := list(dict.fromkeys(c.row for c in cells if (c.model, c.arm) not in have)):
        notes.append(f"Not measured: {', '.join(lacking)}.")
    return Grid(caption, HEADER, tuple(rows), tuple(notes), in_all_arms(common))

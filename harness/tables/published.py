"""The paper's tables: published and measured columns beside each other."""

from __future__ import annotations

from harness.spec import catalogue
from harness.tables.cells import HOW, beside, how, rough, score_of
from harness.tables.grid import Grid
from harness.tables.measured import Measured


def published_grids(paper: str, measured: list[Measured]) -> list[Grid]:
    """Each table of the paper: published columns, measured columns (paper scale only), and what the measuring was."""
    cells = catalogue.published(paper)
    at_scale = [m for m in measured if m.scale == "paper"]
    grids = []
    for table in dict.fromkeys(c.table for c in cells):
        mine = [c for c in cells if c.table == table]
        columns = list(dict.fromkeys((c.benchmark, c.metric, c.column) for c in mine))
        models = list(dict.fromkeys(c.model for c in mine))
        header = ["method", *(f"{column} {side}" for *_, column in columns for side in ("published", "measured"))]
        rows = []
        for model, arm, title in dict.fromkeys((c.model, c.arm, c.row) for c in mine):
            found = [m for m in at_scale if (m.model, m.arm) == (model, arm)]
            for match in found or (None,):
                name = title if len(models) == 1 else f"{model}: {title}"
                row = [name if match is None else match.label(name)]
                for benchmark, metric, _ in columns:
                    cell = next(
                        (c for c in mine if (c.arm, c.model, c.benchmark, c.metric) == (arm, model, benchmark, metric)),
                        None,
                    )
                    row.append("" if cell is None else cell.printed)
                    row.append(beside(cell, score_of(match, benchmark, metric), match) if match else "–")
                rows.append((*row, *how(match)))
        notes = [
            "Percent. Measured: mean [95 % interval], marked + where the published value lies inside the interval and "
            f"x where it does not; n samples a problem x training seeds.{rough(rows)}"
        ]
        if len(at_scale) < len(dict.fromkeys((c.model, c.arm) for c in cells)):
            notes.append("– : not measured; this store holds no finished run of that arm at paper scale.")
        grids.append(Grid(f"{paper} {table}", (*header, *HOW), tuple(rows), tuple(notes)))
    return grids

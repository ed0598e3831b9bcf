"""Others' public measurements of the papers' untrained models, beside the printed cells and never mixed with ours."""

from __future__ import annotations

from harness.spec import Reproduction, catalogue
from harness.tables.grid import Grid

HEADER = ("model", "cell", "published", "measured by others", "by")


def elsewhere_rows(paper: Reproduction) -> list[tuple[str, ...]]:
    """The cells of `HEADER` for each untrained model and benchmark of the paper's averages that someone measured."""
    untrained = {(arm.model, arm.key) for arm in paper.arms if arm.train is None}
    printed: dict[tuple[str, str, str], dict[str, None]] = {}
    for cell in catalogue.published(paper.key):
        if (cell.model, cell.arm) in untrained and cell.metric.partition("@")[0] == "avg":
            model = str(paper.models[cell.model].value)
            printed.setdefault((model, cell.benchmark, cell.column), {})[cell.printed] = None
    return [
        (model, column, " / ".join(values), source["scores"][model][benchmark], source["repository"])
        for (model, benchmark, column), values in printed.items()
        for source in catalogue.elsewhere()
        if benchmark in source["scores"].get(model, {})
    ]


def elsewhere_grid(paper: Reproduction) -> Grid | None:
    """Those rows, with their sources, or None without any."""
    if not (rows := elsewhere_rows(paper)):
        return None
    sources = [source for source in catalogue.elsewhere() if source["repository"] in {row[-1] for row in rows}]
    notes = ["{repository}@{commit:.12} `{file}` (licence: {licence}). {how}".format(**source) for source in sources]
    notes.append("Their prompts, decoding and graders differ from the paper's. No cell is judged by these numbers.")
    return Grid(f"{paper.key}: untrained models, measured by others", HEADER, tuple(rows), tuple(notes))

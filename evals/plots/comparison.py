"""The differences of a comparison as a figure: a row for each benchmark and metric, with its interval."""

from __future__ import annotations

from io import BytesIO

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from evals.plots.figures import ENDS, point_rows
from evals.stats.compare import CompareResult
from evals.stats.score import p_words


class Differences(Figure):
    """The differences in percentage points that have an interval, as matplotlib's figure; a notebook shows it.

    Raises:
        ValueError: there is none.
    """

    def __init__(self, result: CompareResult) -> None:
        shown = [line for line in result.lines if line.low is not None and line.unit == "%"]
        if not shown:
            raise ValueError("no difference in percentage points has an interval, so there is nothing to plot")
        pair = f"{result.a} − {result.b}"
        names = [f"{line.benchmark} {line.name}: {line.verdict}, {p_words(line.p_holm)}" for line in shown]
        numbers = pd.DataFrame([(line.low, line.difference, line.high) for line in shown], columns=ENDS)
        plot = point_rows(
            "differences",
            "Differences",
            "95 % intervals; p: corrected by Holm over the benchmarks of a metric",
            "",
            (100 * numbers).assign(model=pair, line=names),
            [pair],
            by="line",
            labels={name: name for name in names},
            unit=f"difference (percentage points{', MEASURED DIFFERENTLY' if result.different else ''})",
            mark=0.0,
        )
        with rc_context({"font.size": 9}):
            super().__init__(figsize=plot.size, layout="constrained")
            plot.render(self)

    def rendered(self, form: str) -> bytes:
        """The figure as a file of that form, svg or png; the same table gives the same file."""
        file = BytesIO()
        with rc_context({"svg.hashsalt": "rlvr", "font.size": 9}):
            self.savefig(file, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
        return file.getvalue()

    def _repr_svg_(self) -> str:
        return self.rendered("svg").decode()

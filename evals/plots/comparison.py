"""The differences of a comparison as a figure: a row for each benchmark and metric, with its interval."""

from __future__ import annotations

import pandas as pd

from evals.plots.figures import ENDS, point_rows
from evals.plots.plot import Plot
from evals.stats.compare import CompareResult
from evals.stats.score import p_words


def differences(result: CompareResult) -> Plot:
    """The differences in percentage points that have an interval.

    Raises:
        ValueError: there is none.
    """
    shown = [line for line in result.lines if line.low is not None and line.unit == "%"]
    if not shown:
        raise ValueError("no difference in percentage points has an interval, so there is nothing to plot")
    pair = f"{result.a} − {result.b}"
    names = [f"{line.benchmark} {line.name}: {line.verdict}, {p_words(line.p_holm)}" for line in shown]
    numbers = pd.DataFrame([(line.low, line.difference, line.high) for line in shown], columns=ENDS)
    return point_rows(
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

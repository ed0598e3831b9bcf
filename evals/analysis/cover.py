"""Cover@tau, with Bayes@N, G-Pass@k and the IQM in the caption (`evals.stats.steadiness`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.curves_over_k import keep_common_problems
from evals.plots.figures import band_lines
from evals.plots.parts import sizes
from evals.plots.plot import Plot
from evals.stats.intervals import estimate
from evals.stats.steadiness import bayes_at_n, cover_at, g_pass_at_k, iqm, mg_pass_at_k
from evals.stats.verdict_table import VerdictTable

if TYPE_CHECKING:
    import pandas as pd

TAUS = tuple(round(0.1 * i, 1) for i in range(1, 11))


def _g_pass(table: VerdictTable, k: int) -> list[Any]:
    """G-Pass@k at tau 0.5 and 1, and mG-Pass@k, of each problem and seed."""
    c, n = table.correct, table.scored
    return [g_pass_at_k(c, n, k, 0.5), g_pass_at_k(c, n, k, 1.0), mg_pass_at_k(c, n, k)]


def cover(tables: Mapping[str, pd.DataFrame]) -> Plot:
    """Cover@tau against tau, all runs (arXiv 2510.08325). Bayes@N (arXiv 2510.04265) and the IQM in the caption."""
    import pandas as pd

    same = keep_common_problems(tables)
    rows, texts = [], []
    for name, rows_of_model in same.tables.items():
        table = VerdictTable.of_rows(rows_of_model)
        for tau in TAUS:
            matrix = cover_at(table.correct, table.scored, tau)
            interval = estimate([matrix]).interval()
            ends = (np.nan, np.nan) if interval is None else (100 * interval.low, 100 * interval.high)
            rows.append((name, tau, 100 * matrix.mean(), *ends))
        mean, deviation = bayes_at_n(table.correct, table.scored)
        texts.append(f"{name}: Bayes@{table.n or 'n'} {100 * mean:.1f} ± {100 * deviation:.1f} %")
        if table.n and (k := table.n // 2) > 1:
            steady = [100 * float(np.nanmean(f)) for f in _g_pass(table, k)]
            texts[-1] += ", G-Pass@{} {:.1f} at tau 0.5, {:.1f} at 1, mean {:.1f} %".format(k, *steady)
        if len(table.seeds) > 1:
            values = [100 * x for x in iqm(list((table.correct / table.scored).T))]
            texts[-1] += ", IQM {:.1f} [{:.1f}, {:.1f}] %".format(*values)
    caption = (
        f"{sizes(tables)} Cover@tau: the share of problems of which at least the share tau of the samples is correct; "
        f"95 % intervals.{same.note()} {'. '.join(texts)}. Bayes@n ± its posterior deviation over samples; "
        "G-Pass@k (arXiv 2412.13147): the share of k samples that must be correct is tau; IQM: the mean of the "
        "middle half over problems and seeds, with the bootstrap over seeds."
    )
    return band_lines(
        "cover_at_tau",
        "Cover@tau",
        caption,
        "arXiv 2510.08325",
        pd.DataFrame(rows, columns=["model", "tau", "mean", "low", "high"]),
        list(tables),
        x="tau",
        xlabel="tau (share of the samples)",
        panels={"": ""},
        ylabel="Cover@tau (%)",
        limits=(0.0, 100.0),
    )

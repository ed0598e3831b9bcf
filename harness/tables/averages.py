"""Published averages: the mean over the other benchmarks of a table, and over all responses together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from evals.stats.intervals import estimate
from evals.stats.prediction import sampling_noise
from evals.stats.score import Score, bounds_of
from evals.stats.verdict_table import METRICS, OF_K, VerdictTable, complete
from harness.spec.catalogue import ALL, AVERAGE, Published
from harness.tables.measured import Measured

GAIN = "a difference of two arms: see the table of differences"
UNCOUNTED = "token counts need the model's tokenizer: `rlvr analyze` counts token categories"


@dataclass(frozen=True)
class Values:
    """The values of a published cell: [S, P] for each benchmark, or the reason why there are none."""

    tables: tuple[Any, ...]
    noise: float | None
    why: str = ""


def averaged(cell: Published, cells: Sequence[Published]) -> list[tuple[str, str]]:
    """(benchmark, metric) of the cells in an average cell's mean: the same row, metric and table.

    "pass" without k means the k of each benchmark.
    """
    kind, _, k = cell.metric.partition("@")
    return list(
        dict.fromkeys(
            (c.benchmark, c.metric)
            for c in cells
            if (c.table, c.model, c.arm) == (cell.table, cell.model, cell.arm)
            and c.benchmark not in (ALL, AVERAGE)
            and c.metric.partition("@")[0] == kind
            and (not k or c.metric == cell.metric)
        )
    )


def values_of(match: Measured, cell: Published, cells: Sequence[Published]) -> Values:
    """The values behind one published cell."""
    if cell.benchmark == ALL and cell.metric != "mean_tokens":
        return Values((), None, UNCOUNTED)
    if cell.metric.partition("@")[0] not in METRICS:
        return Values((), None, GAIN)
    if cell.benchmark == ALL:
        wanted = [(benchmark, cell.metric) for benchmark in match.verdicts]
    else:
        wanted = averaged(cell, cells) if cell.benchmark == AVERAGE else [(cell.benchmark, cell.metric)]
    if missing := [benchmark for benchmark, _ in wanted if benchmark not in match.verdicts]:
        return Values((), None, f"the run did not measure {', '.join(missing)}")
    if not wanted:
        return Values((), None, "the table has no benchmark of which this is the average")
    tables, noises = [], []
    for benchmark, metric in wanted:
        held = match.verdicts[benchmark]
        kind, _, k = metric.partition("@")
        values = held.values(kind, int(k) if kind in OF_K and k else None)
        kept = complete(values)
        if not kept.any():
            return Values((), None, f"{benchmark}: {held.why_none(kind, int(k) if k else None)}")
        tables.append(values[:, kept])
        noises.append(_noise(held, kind, kept))
    noise = None if None in noises else sum(n for n in noises if n is not None) / len(noises) ** 2
    return Values(tuple(tables), noise)


def average_score(match: Measured, cell: Published, cells: Sequence[Published]) -> Score:
    """The score of an average cell; its interval covers the problems of every benchmark and their common seeds.

    Over all responses together (`ALL`) every problem counts once, over all benchmarks.
    """
    matrices = values_of(match, cell, cells)
    kind, _, k = cell.metric.partition("@")
    counts = (sum(t.shape[1] for t in matrices.tables), 0, 0, 0)
    number = int(k) if k else None
    if matrices.why:
        return Score(kind, number, None, None, *counts, matrices.why)
    tables = [np.hstack(matrices.tables)] if cell.benchmark == ALL else list(matrices.tables)
    value = fmean(float(table.mean()) for table in tables)
    return Score(kind, number, value, estimate(tables, bounds=bounds_of(kind)).interval(), *counts)


def _noise(held: VerdictTable, kind: str, kept: Any) -> float | None:
    return sampling_noise(held.correct[:, kept], held.scored[:, kept]) if kind == "avg" else None

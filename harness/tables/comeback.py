"""Published cells beside measured ones: comes back, does not come back, cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evals.data import protocols
from evals.stats.prediction import Comeback, come_back, repeat
from evals.stats.score import NONE, number_text
from harness.spec import Reproduction
from harness.spec.catalogue import ALL, AVERAGE, Published
from harness.tables.averages import average_score, values_of
from harness.tables.measured import Measured, score_of
from harness.tables.tolerance import cell_margin


def measured_score(match: Measured, cell: Published, every: Sequence[Published]) -> Any:
    """Our score for a published cell."""
    if cell.benchmark in (ALL, AVERAGE) or cell.unit == "points":
        return average_score(match, cell, every)
    return score_of(match, cell.benchmark, cell.metric)


def judge(paper: Reproduction, cell: Published, match: Measured, every: Sequence[Published]) -> Comeback | None:
    """Whether a published cell comes back; None if nothing was measured."""
    matrices = values_of(match, cell, every)
    if matrices.why or cell.unit == "points":  # a printed gain is not a score
        return None
    means = np.stack([table.mean(axis=1) for table in matrices.tables]).mean(axis=0)
    table = (
        matrices.tables[0] if len(matrices.tables) == 1 else np.tile(means[:, None], (1, _problems(matrices.tables)))
    )
    benchmark = cell.benchmark if cell.benchmark in match.n else next(iter(match.n))
    theirs = _paper_samples(paper, cell, match, benchmark)
    bounded = cell.metric != "mean_tokens"
    of = repeat(
        table,
        trained=match.trained,
        samples=match.n[benchmark],
        paper_samples=theirs,
        paper_seeds=paper.seeds.value,
        noise=matrices.noise,
        bounded=bounded,
    )
    margin = cell_margin(paper, cell)
    value = cell.value / 100 if cell.unit == "%" else cell.value
    return come_back(value, of, None if margin is None else margin[0])


def prediction_text(judged: Comeback | None, factor: float) -> str:
    """The prediction interval for the published value."""
    if judged is None or judged.low is None or judged.high is None:
        return NONE
    return f"[{number_text(judged.low, factor)}, {number_text(judged.high, factor)}]"


def _problems(tables: Sequence[Any]) -> int:
    return sum(table.shape[1] for table in tables)


def _paper_samples(paper: Reproduction, cell: Published, match: Measured, benchmark: str) -> int:
    """n of the paper: in the metric's name (avg@16), else of its protocol."""
    kind, _, k = cell.metric.partition("@")
    if kind in ("avg", "maj") and k:
        return int(k)
    arm = next((a for a in paper.arms if (a.model, a.key) == (match.model, match.arm)), None)
    protocol = protocols.get((arm.protocol if arm else None) or paper.protocol)
    return int(protocol.value("n", benchmark)) if benchmark in protocol.benchmarks.value else match.n[benchmark]

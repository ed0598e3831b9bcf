"""Published cells beside measured ones: comes back, does not come back, cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.data import protocols
from evals.stats.intervals import estimate
from evals.stats.prediction import Comeback, come_back, repeat, sampling_noise
from evals.stats.score import NONE, Score, bounds_of, number_text
from evals.stats.verdict_table import METRICS, OF_K, complete
from harness.spec import Claim, Reproduction, catalogue
from harness.spec.catalogue import ALL, AVERAGE, Published
from harness.tables.measured import Measured, score_of

if TYPE_CHECKING:
    from evals.stats.score import Score

GAIN = "a difference of two arms: see the table of differences"
UNCOUNTED = "token counts need the model's tokenizer: `rlvr analyze` counts token categories"


@dataclass(frozen=True)
class Values:
    """The values whose mean a published cell is: [S, P] for each of its benchmarks, or the reason why there is nothing.

    A cell over all responses together (`ALL`) has one table with the problems of all benchmarks, each counted once.
    """

    benchmarks: tuple[str, ...]
    tables: tuple[Any, ...]
    noise: float | None
    why: str = ""


def measured_score(match: Measured, cell: Published, every: Sequence[Published]) -> Score | None:
    """Our score for a published cell. The interval of an average covers the problems of every benchmark and their
    common seeds."""
    if cell.benchmark not in (ALL, AVERAGE) and cell.unit != "points":
        return score_of(match, cell.benchmark, cell.metric)
    values = values_of(match, cell, every)
    kind, k = _of_metric(cell.metric)
    problems = sum(table.shape[1] for table in values.tables)
    if values.why:
        return Score(kind, k, None, None, problems, 0, 0, 0, values.why)
    value = fmean(float(table.mean()) for table in values.tables)
    interval = estimate(list(values.tables), bounds=bounds_of(kind)).interval()
    return Score(kind, k, value, interval, problems, 0, 0, 0)


def judge(paper: Reproduction, cell: Published, match: Measured, every: Sequence[Published]) -> Comeback | None:
    """Whether a published cell comes back, or None if nothing was measured."""
    values = values_of(match, cell, every)
    if values.why or cell.unit == "points":  # a printed gain is not a score
        return None
    table = values.tables[0]
    if len(values.tables) > 1:  # an average: only its mean in each seed counts, on so many problems
        means = np.stack([table.mean(axis=1) for table in values.tables]).mean(axis=0)
        table = np.tile(means[:, None], (1, sum(table.shape[1] for table in values.tables)))
    # where the paper took the fewest samples for each of ours, its noise is the largest
    counts = [(match.n[name], _paper_samples(paper, cell, match, name)) for name in values.benchmarks]
    samples, paper_samples = max(counts, key=lambda pair: pair[0] / pair[1])
    prediction = repeat(
        table,
        trained=match.trained,
        samples=samples,
        paper_samples=paper_samples,
        paper_seeds=paper.seeds.value,
        noise=values.noise,
        bounded=cell.metric != "mean_tokens",
    )
    margin = cell_margin(paper, cell)
    return come_back(_value(cell), prediction, None if margin is None else margin[0])


def prediction_text(judged: Comeback | None, factor: float) -> str:
    """The prediction interval for the published value."""
    if judged is None or judged.low is None or judged.high is None:
        return NONE
    return f"[{number_text(judged.low, factor)}, {number_text(judged.high, factor)}]"


def _paper_samples(paper: Reproduction, cell: Published, match: Measured, benchmark: str) -> int:
    """n of the paper: in the metric's name (avg@16), else of its protocol."""
    kind, k = _of_metric(cell.metric)
    if kind in ("avg", "maj") and k:
        return k
    arm = next((a for a in paper.arms if (a.model, a.key) == (match.model, match.arm)), None)
    protocol = protocols.get((arm.protocol if arm else None) or paper.protocol)
    return int(protocol.value("n", benchmark)) if benchmark in protocol.benchmarks.value else match.n[benchmark]


# -- the values behind a cell ----------------------------------------------------------------------------------------


def averaged(cell: Published, cells: Sequence[Published]) -> list[tuple[str, str]]:
    """(benchmark, metric) of the cells in an average cell's mean: the same row, metric and table.

    "pass" without k is the mean of the whole row: each benchmark in the metric of its own column.
    """
    kind, k = _of_metric(cell.metric)
    whole_row = cell.metric == "pass"
    return list(
        dict.fromkeys(
            (c.benchmark, c.metric)
            for c in cells
            if (c.table, c.model, c.arm) == (cell.table, cell.model, cell.arm)
            and c.benchmark not in (ALL, AVERAGE)
            and (whole_row or (_of_metric(c.metric)[0] == kind and (k is None or c.metric == cell.metric)))
        )
    )


def values_of(match: Measured, cell: Published, cells: Sequence[Published]) -> Values:
    """The values behind one published cell."""
    if cell.benchmark == ALL and cell.metric != "mean_tokens":
        return Values((), (), None, UNCOUNTED)
    if _of_metric(cell.metric)[0] not in METRICS:
        return Values((), (), None, GAIN)
    if cell.benchmark == ALL:
        parts = [(benchmark, cell.metric) for benchmark in match.verdicts]
    else:
        parts = averaged(cell, cells) if cell.benchmark == AVERAGE else [(cell.benchmark, cell.metric)]
    if missing := [benchmark for benchmark, _ in parts if benchmark not in match.verdicts]:
        return Values((), (), None, f"the run did not measure {', '.join(missing)}")
    if not parts:
        return Values((), (), None, "the table has no benchmark of which this is the average")
    tables, noises = [], []
    for benchmark, metric in parts:
        verdicts = match.verdicts[benchmark]
        kind, k = _of_metric(metric)
        values = verdicts.values(kind, k if kind in OF_K else None)
        kept = complete(values)
        if not kept.any():
            return Values((), (), None, f"{benchmark}: {verdicts.why_none(kind, k)}")
        tables.append(values[:, kept])
        known = kind == "avg"
        noises.append(sampling_noise(verdicts.correct[:, kept], verdicts.scored[:, kept]) if known else None)
    names = tuple(benchmark for benchmark, _ in parts)
    if cell.benchmark == ALL:
        return Values(names, (np.hstack(tables),), None)
    noise = None if None in noises else sum(n for n in noises if n is not None) / len(noises) ** 2
    return Values(names, tuple(tables), noise)


def _of_metric(metric: str) -> tuple[str, int | None]:
    """(kind, k) of "pass@8"."""
    kind, _, k = metric.partition("@")
    return kind, int(k) if k else None


# -- the largest difference that counts as none: half of the gain that the paper's tables print ----------------------


def published_margin(paper: Reproduction, claim: Claim, a: Measured, metric: str) -> float | None:
    """Half of the mean gain that the paper prints for a claim's arms in this metric, a fraction (tokens for lengths).

    None at other scales, where the paper's gain has no meaning, and if no table has both arms.
    """
    if a.scale != "paper" or claim.direction not in ("higher", "lower"):
        return None
    gains = [
        _value(cell) - _value(reference)
        for cell in cells(paper.key)
        for reference in cells(paper.key)
        if (cell.model, cell.arm) == (a.model, claim.arm)
        and (reference.model, reference.arm) == (claim.than_model or a.model, claim.than)
        and (cell.table, cell.benchmark, cell.metric) == (reference.table, reference.benchmark, reference.metric)
        and _of_metric(cell.metric)[0] == metric
        and (not claim.benchmarks or cell.benchmark in claim.benchmarks)
    ]
    gain = sum(gains) / len(gains) if gains else 0.0
    return abs(gain) / 2 or None


def cell_margin(paper: Reproduction, cell: Published) -> tuple[float, str] | None:
    """(half of the gain that the paper prints for a cell, of which arms), for "comes back".

    The gain is that of the first claim that the cell's arm beats another arm in the same table, else its gain over the
    untrained base model. For the base model, the gain of the table's first other arm over it. None if there is none.
    """
    siblings = {
        (c.model, c.arm): c
        for c in cells(paper.key)
        if (c.table, c.benchmark, c.metric) == (cell.table, cell.benchmark, cell.metric)
    }
    pairs = [
        ((cell.model, c.arm), (c.than_model or cell.model, c.than))
        for c in paper.claims
        if c.arm == cell.arm and (not c.models or cell.model in c.models)
    ]
    pairs.append(((cell.model, cell.arm), (cell.model, "base")))
    if cell.arm == "base":
        pairs += [(second, (cell.model, "base")) for second in siblings if second[0] == cell.model]
    for first, second in pairs:
        if first in siblings and second in siblings and first != second:
            gain = abs(_value(siblings[first]) - _value(siblings[second]))
            if gain > 0:
                return gain / 2, f"{first[1]} − {second[1]}"
    return None


@cache
def cells(paper: str) -> tuple[Published, ...]:
    """The paper's printed cells. Empty where it has no tables (for example a declaration made in a test)."""
    return tuple(catalogue.published(paper)) if paper in catalogue.papers() else ()


def _value(cell: Published) -> float:
    return cell.value / 100 if cell.unit == "%" else cell.value

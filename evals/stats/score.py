"""Scores of a verdict table with intervals, and the one format of scores, differences and p-values.

Every value is a fraction in 0..1, except the mean length, which is in tokens. A value that cannot be computed is None
with a reason. It is never zero. An unscored sample is not incorrect: it is excluded from its problem's n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from evals.notebook import Block, Tabular
from evals.stats.intervals import Interval, estimate
from evals.stats.verdict_table import (
    METRICS,
    OF_K,
    OF_VERDICTS,
    REPORTED,
    Matrix,
    VerdictTable,
    check_request,
    complete,
)

NONE = "–"
FRACTIONS = {"%": "fraction", "problems": "fraction"}  # unit as printed -> of the value in JSON and CSV


def number_text(value: float | None, factor: float = 1.0, form: str = ".1f") -> str:
    """A number times `factor`, without the sign of a zero. A dash for None."""
    sign = form[:1] if form.startswith("+") else ""
    return NONE if value is None else format(factor * value, f"{sign}z{form.removeprefix('+')}")


def bounds_text(interval: Interval | None, factor: float = 1.0, form: str = ".1f") -> str:
    """ "[44.0, 50.6]", with "~" before it if approximate. A dash for None. A bound of a difference ("+.1f") that would
    be printed as zero has one significant digit more, because its sign says whether the difference is resolved."""
    if interval is None:
        return NONE

    def bound(value: float) -> str:
        text = number_text(value, factor, form)
        near_zero = form == "+.1f" and text == "+0.0" and abs(factor * value) >= 0.001
        return format(factor * value, "+.1g") if near_zero else text

    return f"{interval.mark}[{bound(interval.low)}, {bound(interval.high)}]"


def score_text(score: Score | None) -> str:
    """ "47.3 [44.0, 50.6] (2 unscored: 46.9 to 47.5 if graded)", in percent or the metric's own unit. Without a
    value, the reason."""
    if score is None:
        return NONE
    if score.value is None:
        return f"{NONE} ({score.why})"
    text = number_text(score.value, score.factor)
    if score.interval is not None:
        text += f" {bounds_text(score.interval, score.factor)}"
    if not score.unscored:
        return text
    return f"{text} ({score.unscored} unscored{unscored_text(score)})"


def unscored_text(score: Score) -> str:
    """ ": 46.9 to 47.5 if graded", or "" if unscored samples do not change the value."""
    ends = sorted(end for end in (score.as_wrong, score.as_right) if end is not None)
    if set(ends) <= {score.value}:
        return ""
    return f": {' to '.join(number_text(end, score.factor) for end in ends)} if graded"


def p_words(p: float | None) -> str:
    """ "p = 0.043" or "p < 0.001", for a caption, or "" for None."""
    return "" if p is None or p != p else f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


def p_text(p: float | None) -> str:
    """ "0.043", "<0.001", or a dash. ">0.050" where three digits would hide that p is above 5 %."""
    if p is None:
        return NONE
    return "<0.001" if p < 0.001 else ">0.050" if 0.05 < p < 0.0505 else f"{p:.3f}"


@dataclass(frozen=True, repr=False)
class Score(Tabular):
    """One metric on one table.

    `k` is None for metrics that have none, and for avg where the problems have different numbers of samples.
    `problems` have a value and `excluded` have none (too few scored samples, in any training
    seed). `samples` counts the rows of the table over all problems and seeds, `unscored` those of them without a
    verdict. `why` says why the value is None. `as_wrong` and `as_right` bound the mean over all problems with k
    samples, those without a value included, whatever the unscored samples are (`VerdictTable.bounds`), so that
    ungradable answers cannot raise a score unnoticed: one end has all of them incorrect, the other all of them correct.
    None if no verdict is missing or the metric needs none.
    """

    metric: str
    k: int | None
    value: float | None
    interval: Interval | None
    problems: int
    excluded: int
    samples: int
    unscored: int
    why: str | None = None
    as_wrong: float | None = None
    as_right: float | None = None

    def blocks(self) -> list[Block]:
        percent = " %" * (self.unit == "%" and self.value is not None)
        without = f" ({self.excluded} of {self.problems + self.excluded} problems without a value)"
        return [f"{self.name}: {score_text(self)}{percent}{without * (self.excluded > 0 and self.value is not None)}"]

    def rows(self) -> list[dict[str, object]]:
        """One row, with fractions for percent."""
        row = {"metric": self.name, "value": self.value}
        row |= {key: getattr(self.interval, key, None) for key in ("low", "high", "covers")}
        return [row | {key: getattr(self, key) for key in ("problems", "excluded", "samples", "unscored")}]

    @property
    def name(self) -> str:
        """The name in tables: "avg@16", "pass@8", "fmt"."""
        return metric_name(self.metric, self.k)

    @property
    def key(self) -> str:
        """The name in MLflow, which allows no "@": "avg_at_16", "pass_at_8", "fmt"."""
        return self.metric if self.k is None else f"{self.metric}_at_{self.k}"

    @property
    def unit(self) -> str:
        """See `unit`."""
        return unit(self.metric)

    @property
    def factor(self) -> float:
        """From `value` to `unit`."""
        return factor(self.metric, self.problems)


def unit(metric: str) -> str:
    """The unit in which a metric is printed: "tokens", "problems" (how many are unsolvable), "%", or, of a training
    curve, "value": as it was logged."""
    if "/" in metric:  # an MLflow name, as train/entropy
        return "value"
    return {"mean_tokens": "tokens", "unsolvable": "problems"}.get(metric, "%")


def factor(metric: str, problems: int) -> float:
    """The factor from a value over `problems` problems to its unit."""
    return {"tokens": 1, "value": 1, "problems": problems, "%": 100}[unit(metric)]


def metric_name(metric: str, k: int | None) -> str:
    """The name in tables: "avg@16", "pass@8", "fmt"."""
    base = metric.replace("_", " ")
    return base if k is None else f"{base}@{k}"


def score(rows: object, *, ks: Sequence[int], metrics: Sequence[str] = ("avg", "pass", "maj", "fmt")) -> list[Score]:
    """The scores of one benchmark's verdict table, with 95 % intervals.

    Args:
        rows: a pandas DataFrame or pyarrow Table with the columns `problem_id`, `sample`, `verdict`, `answer_class`,
            `boxed` of `evals.grading.verdicts.schema`. Optionally `train_seed` (several training seeds: the value is
            the mean over them and the interval covers them), `tokens` and `finish_reason`. Or a `VerdictTable`.
        ks: the k of pass@k, maj@k and unsolvable@k, one score each.
        metrics: of METRICS, in the order of the scores returned.
            avg: mean correctness of a problem's scored samples, named by the samples of each problem (n = 16 gives
                avg@16 whatever ks says, plain "avg" if the problems have different numbers).
            pass, maj, unsolvable: see `evals.stats.verdict_table`. No value for a problem with fewer than k scored
                samples.
            no_answer_rate: share of the scored responses that ended without an answer in the form asked for.
            fmt: share of responses with a box. mean_tokens: their length. truncation_rate: share of responses stopped
                by the length limit (`finish_reason` "length"). They need no verdict, so unscored samples count too.
                Samples of unknown length or finish reason are excluded.

    Raises:
        ValueError: no rows, a missing column, an unknown metric or verdict, several benchmarks, a sample that is
            there twice, or verdicts that contradict the answer classes.
    """
    check_request(metrics, ks)
    table = rows if isinstance(rows, VerdictTable) else VerdictTable.of_rows(rows)
    requested = [(m, k) for m in metrics for k in (ks if m in OF_K else (table.n if m == "avg" else None,))]
    return [_score(table, m, k) for m, k in requested]


def score_fields(result: Score) -> dict[str, object]:
    """A score as plain values, as JSON has it."""
    return {"name": result.name, "unit": FRACTIONS.get(result.unit, result.unit), **asdict(result)}


def reported(rows: object, ks: Sequence[int], policy: str | None = None) -> list[Score]:
    """The scores that every command and page shows of an evaluation: `REPORTED`, with pass@k and maj@k for the
    protocol's k. A k that the samples cannot give has no value and says why.

    Args:
        policy: of extraction. fmt is left out where it asks for no box. None: not known.
    """
    box = policy is None or policy.startswith("boxed") or policy == "qwen"
    scores = score(rows, ks=ks, metrics=[metric for metric in REPORTED if metric != "fmt" or box])
    return [s for s in scores if s.k != 1 or s.metric == "avg"]  # pass@1 and maj@1 are avg once more


def meanings(scores: Iterable[Score]) -> str:
    """ "avg: mean of samples; pass: any of k": each metric of some scores, in three words."""
    return "; ".join(
        f"{metric.replace('_', ' ')}: {METRICS[metric]}" for metric in dict.fromkeys(s.metric for s in scores)
    )


def common_values(a: VerdictTable, b: VerdictTable, metric: str, k: int | None = None) -> tuple[Matrix, Matrix]:
    """The values of a [S_a, P] and of b [S_b, P] on the P problems that have a value in both."""
    values = (a.values(metric, k), b.values(metric, k))
    places = [
        {table.problems[i]: i for i in np.flatnonzero(complete(matrix))}
        for table, matrix in zip((a, b), values, strict=True)
    ]
    common = sorted(places[0].keys() & places[1].keys())
    of_a, of_b = (matrix[:, [place[p] for p in common]] for matrix, place in zip(values, places, strict=True))
    return of_a, of_b


def _score(table: VerdictTable, metric: str, k: int | None) -> Score:
    values = table.values(metric, k)
    matrix = values[:, complete(values)]
    problems = matrix.shape[1]
    counts = (problems, len(table.problems) - problems, table.samples, table.unscored)
    ends = table.bounds(metric, k) if table.unscored and metric in OF_VERDICTS else None
    as_wrong, as_right = ends[::-1] if ends and metric == "unsolvable" else ends or (None, None)
    if not problems:
        return Score(metric, k, None, None, *counts, table.why_none(metric, k), as_wrong, as_right)
    interval = estimate([matrix], bounds=bounds_of(metric)).interval()
    if metric == "mean_tokens" and interval is not None:
        interval = replace(interval, low=max(0.0, interval.low))
    return Score(metric, k, mean_of(matrix), interval, *counts, None, as_wrong, as_right)


def mean_of(matrix: NDArray[np.float64]) -> float:
    """The mean, rounded once, so that its last bit does not depend on the order of the problems."""
    return fmean(matrix.ravel())


def bounds_of(metric: str) -> tuple[float, float] | None:
    """The least and the greatest value of a metric. None: no limits."""
    return None if metric == "mean_tokens" else (0.0, 1.0)

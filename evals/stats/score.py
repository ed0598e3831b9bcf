"""From a verdict table to numbers, each with its interval.

Every value is a fraction in 0..1, except the mean length, which is in tokens. A value that cannot be computed is None
and says why; it is never zero. An unscored sample is not a wrong one: it is left out of its problem's n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.stats.differences import Paired, paired
from evals.stats.intervals import Interval, over_problems_and_seeds
from evals.stats.verdict_table import METRICS, OF_K, Values, VerdictTable

__all__ = ["METRICS", "TAUS", "Comparison", "Score", "compare", "factor", "metric_name", "score", "unit"]

TAUS = (0.25, 0.5, 0.75, 1.0)  # those of Liu et al. (arXiv 2412.13147), who propose G-Pass@k


@dataclass(frozen=True)
class Score:
    """One metric on one table.

    `k` is None for metrics that have none, and for avg where the problems have different numbers of samples; `tau` is
    None for all but G-Pass@k. `problems` have a value and `excluded` have none (too few scored samples, in any training
    seed). `samples` counts the rows of the table over all problems and seeds, `unscored` those of them without a
    verdict. `why` says why the value is None.
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
    tau: float | None = None

    @property
    def name(self) -> str:
        """For people: "avg@16", "pass@8", "G-Pass@8 (0.5)", "fmt"."""
        return metric_name(self.metric, self.k, self.tau)

    @property
    def key(self) -> str:
        """For MLflow, which takes no "@": "avg_at_16", "pass_at_8", "g_pass_at_8_tau_0.5", "fmt"."""
        base = self.metric if self.k is None else f"{self.metric}_at_{self.k}"
        return base if self.tau is None else f"{base}_tau_{self.tau:g}"

    @property
    def unit(self) -> str:
        """See `unit`."""
        return unit(self.metric)

    @property
    def factor(self) -> float:
        """From `value` to `unit`."""
        return factor(self.metric, self.problems)


@dataclass(frozen=True)
class Comparison:
    """One metric on two tables of the same problems: a minus b over the problems that have a value in both.

    `problems` are those, `excluded` the others; `a` and `b` are the means over `problems`. All three values are None
    where there are no such problems, and `why` says so.
    """

    metric: str
    k: int | None
    result: Paired | None
    problems: int
    excluded: int
    why: str | None = None
    tau: float | None = None
    a: float | None = None
    b: float | None = None

    @property
    def name(self) -> str:
        """As `Score.name`."""
        return metric_name(self.metric, self.k, self.tau)


def unit(metric: str) -> str:
    """What people read a metric in: "tokens", "problems" (how many are unsolvable) or "%"."""
    return {"mean_tokens": "tokens", "unsolvable": "problems"}.get(metric, "%")


def factor(metric: str, problems: int) -> float:
    """What turns a value over that many problems into its unit."""
    return {"tokens": 1, "problems": problems, "%": 100}[unit(metric)]


def metric_name(metric: str, k: int | None, tau: float | None = None) -> str:
    """For people: "avg@16", "pass@8", "G-Pass@8 (0.5)", "fmt"."""
    base = {"g_pass": "G-Pass"}.get(metric, metric.replace("_", " "))
    base = base if k is None else f"{base}@{k}"
    return base if tau is None else f"{base} ({tau:g})"


def score(
    rows: Any,
    *,
    ks: Sequence[int],
    metrics: Sequence[str] = ("avg", "pass", "maj", "fmt"),
    taus: Sequence[float] = TAUS,
) -> list[Score]:
    """The scores of one benchmark's verdict table, with 95 % intervals.

    Args:
        rows: a pandas DataFrame or pyarrow Table with the columns `problem_id`, `sample`, `verdict`, `answer_class`,
            `boxed` of `evals.grading.verdicts.schema`; optionally `train_seed` (several training seeds: the value is
            the mean
            over them and the interval covers them), `tokens` and `finish_reason`.
        ks: the k of pass@k, maj@k, G-Pass@k and unsolvable@k, one score each.
        metrics: of METRICS, in the order wanted.
            avg: mean correctness of a problem's scored samples, named by the samples drawn per problem (n = 16 gives
                avg@16 whatever ks says; plain "avg" if the problems have different numbers).
            pass, maj, unsolvable: see `evals.stats.metrics`; a problem with fewer than k scored samples has no value.
            g_pass: likewise, one score for each k and tau.
            fmt: share of responses with a box; mean_tokens: their length; truncation_rate: share of responses stopped
                by the length limit (`finish_reason` "length"). They need no verdict, so unscored samples count too;
                samples whose length or finish reason is unknown do not.
        taus: the shares of G-Pass@k that must be right, each in (0, 1].

    Raises:
        ValueError: no rows, a missing column, an unknown metric or verdict, a tau outside (0, 1], several benchmarks, a
            sample that is there twice, or verdicts that contradict the answer classes.
    """
    table = VerdictTable(rows, metrics, ks)
    wanted = [(m, k) for m in metrics for k in (ks if m in OF_K else (table.drawn if m == "avg" else None,))]
    return [_score(table, m, k, tau) for m, k in wanted for tau in (taus if m == "g_pass" else (None,))]


def compare(
    rows_a: Any, rows_b: Any, metric: str, k: int | None = None, tau: float | None = None, *, seed: int = 0
) -> Comparison:
    """The paired difference a - b of one metric over the problems of two tables (columns as for `score`).

    `k` is needed for pass, maj, g_pass and unsolvable, `tau` for g_pass, both unused otherwise; `seed` draws the
    permutations.

    Raises:
        ValueError: as `score`; or k or tau is missing for a metric that needs it.
    """
    if metric in OF_K and k is None:
        raise ValueError(f"metric {metric!r} needs a k, got None")
    if metric == "g_pass" and tau is None:
        raise ValueError("metric 'g_pass' needs a tau, got None")
    tau = tau if metric == "g_pass" else None
    ks = () if k is None else (k,)
    a, b = VerdictTable(rows_a, (metric,), ks), VerdictTable(rows_b, (metric,), ks)
    values_a, values_b = a.values(metric, k, tau), b.values(metric, k, tau)
    every = a.problems | b.problems
    common = sorted(_complete(values_a, a.seeds) & _complete(values_b, b.seeds))
    if metric == "avg":
        k = a.drawn if a.drawn == b.drawn else None
    excluded = len(every) - len(common)
    if not common:
        why = f"no problem has a value in both tables ({len(every)} problems)"
        return Comparison(metric, k, None, 0, excluded, why, tau)
    of_a, of_b = _matrix(values_a, a.seeds, common), _matrix(values_b, b.seeds, common)
    result = paired(of_a, of_b, seed, bounds=_bounds(metric))
    return Comparison(metric, k, result, len(common), excluded, None, tau, _mean(of_a), _mean(of_b))


def _score(table: VerdictTable, metric: str, k: int | None, tau: float | None) -> Score:
    values = table.values(metric, k, tau)
    kept = sorted(_complete(values, table.seeds))
    counts = (len(kept), len(table.problems) - len(kept), table.samples, table.unscored)
    if not kept:
        return Score(metric, k, None, None, *counts, table.why_none(metric, k), tau)
    matrix = _matrix(values, table.seeds, kept)
    interval = over_problems_and_seeds(matrix, bounds=_bounds(metric))
    return Score(metric, k, _mean(matrix), interval, *counts, None, tau)


def _complete(values: Values, seeds: Sequence[Any]) -> set[str]:
    """The problems with a value in every training seed."""
    return {p for s, p in values if s == seeds[0] and all((other, p) in values for other in seeds)}


def _matrix(values: Values, seeds: Sequence[Any], problems: Sequence[str]) -> NDArray[np.float64]:
    """[S, P]"""
    return np.array([[values[s, p] for p in problems] for s in seeds])


def _mean(matrix: NDArray[np.float64]) -> float:
    """Rounded once, so that the order of the problems does not show in the last bit."""
    return fmean(matrix.ravel())


def _bounds(metric: str) -> tuple[float, float] | None:
    return None if metric == "mean_tokens" else (0.0, 1.0)

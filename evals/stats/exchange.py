"""An exact test for two checkpoints on these very problems: exchange the samples of each problem between them.

If both answer every problem equally well, every division of a problem's samples between the two is equally likely
(Fisher, 1935). The test keeps its level even if few problems vary, as with pass@k, where the test over problems rarely
resolves two checkpoints (results/coverage.md, one seed). It says nothing about other problems or training seeds and has
no interval, so it decides no verdict.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evals.stats.verdict_table import VerdictTable, pass_at_k

METRICS = ("avg", "pass")
DIVISIONS = 4000
Counts = NDArray[np.int64]


def exchange_p(a: VerdictTable, b: VerdictTable, metric: str, k: int | None, *, seed: int = 0) -> float | None:
    """Two-sided mid-p-value of "both checkpoints answer every problem alike", from random divisions.

    Args:
        a, b: with one training seed each. metric: of `METRICS`.
    Returns:
        None with several seeds, for another metric, or without a problem that has enough scored samples in both.
    """
    if len(a.seeds) > 1 or len(b.seeds) > 1 or metric not in METRICS:
        return None
    least = 1 if k is None or metric == "avg" else k
    counts = []
    places = [dict(zip(t.problems, range(len(t.problems)), strict=True)) for t in (a, b)]
    for problem in (p for p in a.problems if p in places[1]):
        i, j = places[0][problem], places[1][problem]
        row = (a.scored[0, i], a.correct[0, i], b.scored[0, j], b.correct[0, j])
        if min(row[0], row[2]) >= least:
            counts.append(row)
    if not counts:
        return None
    scored_a, correct_a, scored_b, correct_b = np.array(counts, dtype=np.int64).T
    value = _values(metric, least, int(max(scored_a.max(), scored_b.max())))

    def apart(of_a: Counts, of_b: Counts) -> NDArray[np.float64]:
        return np.asarray(np.abs((value(scored_a, of_a) - value(scored_b, of_b)).sum(axis=-1)))

    both, samples = correct_a + correct_b, scored_a + scored_b
    drawn = np.random.default_rng(seed).hypergeometric(both, samples - both, scored_a, (DIVISIONS, len(both)))
    seen, found = float(apart(correct_a, correct_b)), apart(drawn, both - drawn)
    ties = np.abs(found - seen) <= 1e-9
    return float((1 + 2 * ((found > seen) & ~ties).sum() + ties.sum()) / (2 * (DIVISIONS + 1)))


def _values(metric: str, k: int, most: int) -> Callable[[Counts, Counts], NDArray[np.float64]]:
    """(scored, correct) -> the metric, from a table of all pairs that occur."""
    table = np.full((most + 1, most + 1), np.nan)
    for n in range(k, most + 1):
        table[n, : n + 1] = [c / n if metric == "avg" else pass_at_k(n, c, k) for c in range(n + 1)]
    return lambda scored, correct: table[scored, correct]

"""pass@k and answer diversity against k for several models, with bands.

Sources: arXiv 2508.07534, Fig. 1a (pass@k), section 2.4 and Fig. 1b (number of distinct answers).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis import TRIAL_AND_ERROR
from evals.grading.verdicts import Verdict
from evals.plots.figures import band_lines
from evals.plots.parts import sizes
from evals.plots.plot import Plot
from evals.stats.intervals import Interval, estimate
from evals.stats.score import score

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


FEW = 0.05  # the share of problems that may be excluded for one unscored sample so that the curves reach the last k


@dataclass(frozen=True)
class CommonProblems:
    """Verdict tables of several models, restricted to the problems that all of them have scored.

    Args:
        tables: model -> its table, scored rows only, with a column `train_seed`.
        problems: the problems kept, sorted. excluded: how many were excluded.
        k: every kept problem has so many scored samples at least, in every model and training seed.
        unscored: rows without a verdict, of all models.
    """

    tables: Mapping[str, pd.DataFrame]
    problems: tuple[str, ...]
    excluded: int
    k: int
    unscored: int

    def note(self) -> str:
        """For a caption: what was excluded, or ""."""
        parts = []
        if self.excluded:
            parts.append(f" Problems excluded, without {self.k} scored samples in every run: {self.excluded}.")
        if self.unscored:
            parts.append(f" Responses excluded, because they could not be scored: {self.unscored}.")
        return "".join(parts)


def keep_common_problems(tables: Mapping[str, pd.DataFrame]) -> CommonProblems:
    """Restrict tables of one benchmark to the problems with k scored samples in every model and training seed.

    k is the fewest samples of a problem, so that pass@k ends where the tables of scores end. The problems of which a
    sample could not be scored are excluded, if they are few. Else k is the fewest scored samples of a problem.

    Args:
        tables: model -> verdict table (`evals.grading.verdicts.schema`, and maybe `train_seed`).
    Raises:
        ValueError: no table, or no problem is left.
    """
    import pandas as pd

    if not tables:
        raise ValueError("tables: expected at least one model, got none")
    every = pd.concat([t.assign(model=m, train_seed=t.get("train_seed", 0)) for m, t in tables.items()])
    scored = every["verdict"] != Verdict.UNSCORED
    by_run = every.assign(scored=scored).groupby(["problem_id", "model", "train_seed"])["scored"]
    counts, sampled = by_run.sum().unstack([1, 2], 0), by_run.count().unstack([1, 2], 0)
    common = sampled[(sampled >= 1).all(axis=1)]
    k = int(common.to_numpy().min()) if len(common) else 1
    scored_once, kept = counts[(counts >= 1).all(axis=1)], counts[(counts >= k).all(axis=1)]
    if len(kept) < (1 - FEW) * len(scored_once):
        kept = scored_once
    if kept.empty:
        raise ValueError(f"no problem has a scored sample in each of: {', '.join(tables)}")
    every = every[scored & every["problem_id"].isin(kept.index)]
    return CommonProblems(
        {model: every[every["model"] == model].drop(columns="model") for model in tables},
        tuple(sorted(kept.index)),
        len(counts) - len(kept),
        int(kept.to_numpy().min()),
        int((~scored).sum()),
    )


def powers_of_two_to(most: int) -> list[int]:
    """1, 2, 4, ... below `most`, then `most` itself."""
    return [*(2**power for power in range(most.bit_length()) if 2**power < most), most]


def pass_curves(tables: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, CommonProblems]:
    """One row per model and k: `model`, `k`, `mean`, `low`, `high` (fractions, 95 %), `covers`, and the problems kept.

    k: the powers of two up to the largest that every problem with a verdict allows. All points of all curves use the
    same problems, so problems that drop out cannot cause a crossing.

    Args:
        tables: model -> verdict table of one benchmark.
    Raises:
        ValueError: as `keep_common_problems`.
    """
    same = keep_common_problems(tables)
    rows = [
        (name, value.k, value.value, value.interval)
        for name, table in same.tables.items()
        for value in score(table, ks=powers_of_two_to(same.k), metrics=("pass",))
    ]
    return _frame(rows), same


def distinct_at_k(classes: Sequence[int | None], k: int) -> float:
    """The expected number of distinct answers among k of the n samples, all k-subsets equally likely.

    Class a, given m_a times, is in a k-subset with probability 1 - C(n - m_a, k) / C(n, k). The sum over a is the
    expectation (rarefaction, Hurlbert, Ecology 52, 1971). k = n gives the number of distinct answers. Responses without
    an answer (None) take a place in the subset but add no answer.

    Raises:
        ValueError: k < 1 or k > n.
    """
    n = len(classes)
    if not 1 <= k <= n:
        raise ValueError(f"k must lie in 1..n, got k = {k} with n = {n}")
    subsets = comb(n, k)
    given = Counter(a for a in classes if a is not None).values()
    return sum((subsets - comb(n - m, k)) / subsets for m in given)


Row = tuple[str, int | None, float | None, Interval | None]  # model, k, mean, and its interval


def diversity_curves(tables: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, CommonProblems]:
    """As `pass_curves`, of the number of distinct answers to a problem (`distinct_at_k`)."""
    same = keep_common_problems(tables)
    rows: list[Row] = []
    for name, table in same.tables.items():
        answers = table.groupby(["train_seed", "problem_id"], sort=True)["answer_class"].agg(_classes).unstack()
        for k in powers_of_two_to(same.k):
            matrix = np.array([[distinct_at_k(classes, k) for classes in seed] for seed in answers.to_numpy()])
            rows.append((name, k, matrix.mean(), estimate([matrix], bounds=(0.0, float(k))).interval()))
    return _frame(rows), same


def _frame(rows: Sequence[Row]) -> pd.DataFrame:
    import pandas as pd

    ends = [(None, None, None) if i is None else (i.low, i.high, i.covers) for *_, i in rows]
    table = [(*row[:3], *end) for row, end in zip(rows, ends, strict=True)]
    frame = pd.DataFrame(table, columns=["model", "k", "mean", "low", "high", "covers"])
    return frame.astype({"low": float, "high": float})


def _classes(column: pd.Series[int]) -> tuple[int | None, ...]:
    return tuple(int(a) if present else None for a, present in zip(column, column.notna(), strict=True))


def pass_at_k(tables: Mapping[str, pd.DataFrame]) -> Plot:
    """pass@k against k, all runs (arXiv 2508.07534, Fig. 1a)."""
    frame, same = pass_curves(tables)
    frame[["mean", "low", "high"]] *= 100
    what = "pass@k: chance that k samples hold a correct answer (unbiased estimate)."
    return _over_k("pass_at_k", "pass@k", f"{TRIAL_AND_ERROR}, Fig. 1a", frame, same, tables, what, "pass@k (%)", 100.0)


def answer_diversity(tables: Mapping[str, pd.DataFrame]) -> Plot:
    """Different answers to a problem among k samples, all runs (arXiv 2508.07534, Fig. 1b)."""
    frame, same = diversity_curves(tables)
    what = (
        "Expected number of different answers among k samples; equal answers are those that the verifier calls equal, "
        "and a response without an answer adds none."
    )
    return _over_k(
        "answer_diversity",
        "Different answers to a problem",
        f"{TRIAL_AND_ERROR}, Fig. 1b",
        frame,
        same,
        tables,
        what,
        "different answers a problem",
        float("inf"),
    )


def _over_k(
    name: str,
    title: str,
    source: str,
    numbers: pd.DataFrame,
    same: CommonProblems,
    tables: Mapping[str, pd.DataFrame],
    what: str,
    label: str,
    most: float,
) -> Plot:
    ks = sorted(numbers["k"].unique())
    covers = " or ".join(sorted(set(numbers["covers"].dropna())))

    def finish(axes: Sequence[Axes]) -> None:
        axes[0].set_xscale("log", base=2)
        shown = ks[:: -(-len(ks) // 10)]
        axes[0].set_xticks(shown, [str(k) for k in shown])
        axes[0].minorticks_off()

    of_intervals = f"95 % intervals over {covers}." if covers else "No interval: one problem shows no spread."
    caption = f"{sizes(tables)} {what} {of_intervals}{same.note()}"
    return band_lines(
        name,
        title,
        caption,
        source,
        numbers,
        list(tables),
        x="k",
        xlabel="k (samples a problem)",
        panels={"": ""},
        ylabel=label,
        limits=(0.0, most),
        finish=finish,
    )

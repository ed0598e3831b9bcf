"""pass@k and answer diversity against k for several models, with bands.

Sources: arXiv 2508.07534, Fig. 1a and 2 (pass@k), section 2.4 and Fig. 1b (number of distinct answers).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import TRIAL_AND_ERROR
from evals.grading.verdicts import Verdict
from evals.plots.intervals import band
from evals.plots.parts import covered, legend_below, legend_height, sizes
from evals.plots.plot import WIDTH, Plot, tidy
from evals.stats.intervals import estimate
from evals.stats.score import score

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class CommonProblems:
    """Verdict tables of several models, restricted to the problems that all of them have scored.

    Args:
        tables: model -> its table, scored rows only, with a column `train_seed`.
        problems: the problems kept, sorted. excluded: how many were excluded.
        k: the fewest scored samples of a kept problem, in every model and training seed.
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
            parts.append(f"Excluded: {_count(self.excluded, 'problem')} without a scored sample in every run.")
        if self.unscored:
            parts.append(f"Excluded: {_count(self.unscored, 'response')} that could not be scored.")
        return " ".join(parts)


def keep_common_problems(tables: Mapping[str, pd.DataFrame]) -> CommonProblems:
    """Restrict tables of one benchmark to the problems with a scored sample in every model and training seed.

    Args:
        tables: model -> verdict table (`evals.grading.verdicts.schema`, and maybe `train_seed`).
    Raises:
        ValueError: no table, or no problem is left.
    """
    if not tables:
        raise ValueError("tables: expected at least one model, got none")
    seeded = {name: table if "train_seed" in table else table.assign(train_seed=0) for name, table in tables.items()}
    scored = {name: table[table["verdict"] != Verdict.UNSCORED] for name, table in seeded.items()}
    every: set[str] = set().union(*(table["problem_id"] for table in seeded.values()))
    kept, fewest = every, []
    for name, table in scored.items():
        counts = table.groupby(["problem_id", "train_seed"]).size().unstack(fill_value=0)
        counts = counts.reindex(columns=seeded[name]["train_seed"].unique(), fill_value=0)
        fewest.append(counts.min(axis=1))
        kept = kept & set(fewest[-1].index[fewest[-1] >= 1])
    if not kept:
        raise ValueError(f"no problem has a scored sample in each of: {', '.join(tables)}")
    cut = {name: table[table["problem_id"].isin(kept)] for name, table in scored.items()}
    unscored = sum(len(table) for table in seeded.values()) - sum(len(table) for table in scored.values())
    k = int(min(counts[sorted(kept)].min() for counts in fewest))
    return CommonProblems(cut, tuple(sorted(kept)), len(every) - len(kept), k, unscored)


def powers_of_two_to(most: int) -> list[int]:
    """1, 2, 4, ... below `most`, then `most` itself."""
    return [*(2**power for power in range(most.bit_length()) if 2**power < most), most]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def pass_curves(tables: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, CommonProblems]:
    """One row per model and k: `model`, `k`, `pass`, `low`, `high` (fractions; 95 %), `covers`; and the problems kept.

    k: the powers of two up to the largest that every problem with a verdict allows. All points of all curves use the
    same problems, so problems that drop out cannot cause a crossing.

    Args:
        tables: model -> verdict table of one benchmark.
    Raises:
        ValueError: as `keep_common_problems`.
    """
    import pandas as pd

    same = keep_common_problems(tables)
    rows = [
        {
            "model": name,
            "k": value.k,
            "pass": value.value,
            "low": value.interval and value.interval.low,
            "high": value.interval and value.interval.high,
            "covers": value.interval and value.interval.covers,
        }
        for name, table in same.tables.items()
        for value in score(table, ks=powers_of_two_to(same.k), metrics=("pass",))
    ]
    return pd.DataFrame(rows).astype({"low": float, "high": float}), same


def distinct_at_k(classes: Sequence[int | None], k: int) -> float:
    """The expected number of distinct answers among k of the n samples, all k-subsets equally likely.

    Class a, given m_a times, is in a k-subset with probability 1 - C(n - m_a, k) / C(n, k); the sum over a is the
    expectation (rarefaction; Hurlbert, Ecology 52, 1971). k = n gives the number of distinct answers. Responses without
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


def diversity_curves(tables: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, CommonProblems]:
    """One row per model and k: `model`, `k`, `distinct`, `low`, `high` (answers per problem; 95 %), `covers`.

    Args and Raises: as `pass_curves`.
    """
    import pandas as pd

    same = keep_common_problems(tables)
    rows = []
    for name, table in same.tables.items():
        answers = table.groupby(["train_seed", "problem_id"], sort=True)["answer_class"].agg(_classes).unstack()
        for k in powers_of_two_to(same.k):
            matrix = np.array([[distinct_at_k(classes, k) for classes in seed] for seed in answers.to_numpy()])
            interval = estimate([matrix], bounds=(0.0, float(k))).interval()
            ends = (None, None, None) if interval is None else (interval.low, interval.high, interval.covers)
            rows.append((name, k, matrix.mean(), *ends))
    frame = pd.DataFrame(rows, columns=["model", "k", "distinct", "low", "high", "covers"])
    return frame.astype({"low": float, "high": float}), same


def _classes(column: pd.Series[int]) -> tuple[int | None, ...]:
    return tuple(int(a) if present else None for a, present in zip(column, column.notna(), strict=True))


def pass_at_k(tables: Mapping[str, pd.DataFrame], benchmark: str) -> Plot:
    """pass@k against k, all runs (arXiv 2508.07534, Fig. 1a; Fig. 2 with tools)."""
    frame, same = pass_curves(tables)
    numbers = frame.assign(benchmark=benchmark)
    for column in ("pass", "low", "high"):
        numbers[column] = 100 * numbers[column]
    numbers = numbers.rename(columns={"pass": "pass@k (%)", "low": "low (%)", "high": "high (%)"})
    return _over_k(
        f"pass_at_k_{benchmark}",
        f"pass@k on {benchmark}",
        f"{TRIAL_AND_ERROR}, Fig. 1a",
        numbers,
        same,
        tables,
        ("pass@k (%)", "low (%)", "high (%)"),
        "pass@k: chance that k samples hold a correct answer (unbiased estimate)",
        label="pass@k (%)",
        limits=(10.0, 100.0),
    )


def answer_diversity(tables: Mapping[str, pd.DataFrame], benchmark: str) -> Plot:
    """Different answers to a problem among k samples, all runs (arXiv 2508.07534, Fig. 1b)."""
    frame, same = diversity_curves(tables)
    columns = ("answers", "low (answers)", "high (answers)")
    numbers = frame.assign(benchmark=benchmark).rename(
        columns=dict(zip(("distinct", "low", "high"), columns, strict=True))
    )
    return _over_k(
        f"answer_diversity_{benchmark}",
        f"Different answers to a problem of {benchmark}",
        f"{TRIAL_AND_ERROR}, Fig. 1b",
        numbers,
        same,
        tables,
        columns,
        "Expected number of different answers among k samples; equal answers are those that the verifier calls equal, "
        "and a response without an answer adds none",
        label="different answers a problem",
        limits=(1.0, float("inf")),
    )


def _over_k(
    name: str,
    title: str,
    source: str,
    numbers: pd.DataFrame,
    same: CommonProblems,
    tables: Mapping[str, pd.DataFrame],
    columns: tuple[str, str, str],
    what: str,
    label: str,
    limits: tuple[float, float],
) -> Plot:
    """One line per run over k, with a band; columns: (value, low, high) of `numbers`; `limits`: of the axis' top."""
    value, low, high = columns
    names = list(tables)
    ks = sorted(numbers["k"].unique())

    def render(figure: Any) -> None:
        axis = figure.subplots()
        handles = []
        for place, run in enumerate(names):
            rows = numbers[numbers["model"] == run]
            handles += band(axis, rows["k"], rows[low], rows[value], rows[high], place, clip_on=False)
        axis.set_xscale("log", base=2)
        shown = ks[:: -(-len(ks) // 10)]
        axis.set_xticks(shown, [str(k) for k in shown])
        axis.minorticks_off()
        least, most = limits
        axis.set_ylim(0, min(most, max(least, axis.get_ylim()[1])))
        axis.set_xlabel("k (samples a problem)")
        axis.set_ylabel(label)
        tidy(axis)
        legend_below(figure, handles, names)

    caption = " ".join(
        part
        for part in (f"{sizes(tables, len(same.problems))} {what}. {covered(list(numbers['covers']))}", same.note())
        if part
    )
    return Plot(name, title, caption, source, numbers, render, (WIDTH, 3.0 + legend_height(names)))

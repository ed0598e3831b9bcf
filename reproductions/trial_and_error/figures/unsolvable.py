"""k-rollout unsolvable problems and how their sets overlap across models (arXiv 2508.07534, section 2.1, Fig. 1c)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.curves_over_k import CommonProblems, keep_common_problems
from evals.grading.verdicts import Verdict
from evals.plots.parts import bars, whole_ticks
from evals.plots.plot import WIDTH, Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST = 20  # bars


def unsolvable(tables: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, CommonProblems]:
    """A row a problem, a column a model: whether none of its first k scored samples solves it, and what is compared.

    k is the largest that every problem with a verdict allows, the same for all models, because more samples solve more
    problems. A set belongs to one trained model: of several training seeds the first (lowest) counts.

    Args:
        tables: model -> verdict table of one benchmark.
    Raises:
        ValueError: as `keep_common_problems`.
    """
    import pandas as pd

    seeded = {name: t if "train_seed" in t else t.assign(train_seed=0) for name, t in tables.items()}
    same = keep_common_problems({n: t[t["train_seed"] == t["train_seed"].min()] for n, t in seeded.items()})
    columns = {}
    for name, table in same.tables.items():
        earliest = table.sort_values("sample").groupby("problem_id").head(same.k)
        columns[name] = (earliest["verdict"] != Verdict.CORRECT).groupby(earliest["problem_id"]).all()
    return pd.DataFrame(columns), same


def sets_of_models(unsolved: pd.DataFrame) -> pd.DataFrame:
    """A row a set of models, the largest first: `models`, the `problems` that exactly these leave unsolved (their
    number) and `problem_ids`. Each problem is in one. The set "" has the problems that every model solves.
    """
    import pandas as pd

    names = [str(name) for name in unsolved]
    sets = [" & ".join(name for name, no in zip(names, row, strict=True) if no) for row in unsolved.to_numpy()]
    models = pd.Series(sets, unsolved.index)
    ids = unsolved.index.to_series().groupby(models, sort=False)
    frame = ids.agg(problems="size", problem_ids=" ".join).rename_axis("models").reset_index()
    return frame.sort_values("problems", ascending=False, kind="stable", ignore_index=True)


def plot_unsolvable(tables: Mapping[str, pd.DataFrame]) -> Plot:
    """The problems that no sample of a model solves (arXiv 2508.07534, Fig. 1c): a bar for each set of models, as long
    as the problems that exactly these leave unsolved.

    Args:
        tables: run -> verdict table of the benchmark.
    Raises:
        ValueError: as `unsolvable`.
    """
    unsolved, same = unsolvable(tables)
    numbers = sets_of_models(unsolved)
    every = numbers[numbers["models"] != ""]
    shown = every.head(MOST)

    def render(figure: Figure) -> None:
        axis = figure.subplots()
        bars(axis, list(shown["models"]), shown["problems"], 0)
        axis.set_xlabel("problems left unsolved by exactly these models")
        whole_ticks(axis)
        if shown.empty:
            axis.text(0.5, 0.5, "every model solves every problem", transform=axis.transAxes, ha="center")

    counts = ", ".join(f"{name} {count}" for name, count in unsolved.sum().items())
    caption = (
        f"{len(same.problems)} problems; unsolved: none of a model's first {same.k} scored samples is correct (of "
        f"several training seeds, the first): {counts}. A set is what these samples gave, without an interval. Solved "
        f"by all models: {int((~unsolved).all(axis=1).sum())}. Smaller sets that are not shown: "
        f"{len(every) - len(shown)}.{same.note()}"
    )
    height = 0.9 + 0.3 * max(2, len(shown))
    source = f"{TRIAL_AND_ERROR}, Fig. 1c"
    return Plot("unsolvable", "Problems that no sample solves", caption, source, numbers, render, (WIDTH, height))

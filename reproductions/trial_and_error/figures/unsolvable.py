"""k-rollout unsolvable problems and how their sets overlap across models (arXiv 2508.07534, section 2.1, Fig. 1c)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.curves_over_k import CommonProblems, keep_common_problems
from evals.grading.verdicts import Verdict
from evals.plots.parts import legend_below, legend_height
from evals.plots.plot import WIDTH, Plot, look, tidy

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Region:
    """The problems that exactly these models leave unsolved; regions are disjoint and cover all problems."""

    models: tuple[str, ...]
    problems: tuple[str, ...]


def unsolvable_sets(tables: Mapping[str, pd.DataFrame]) -> tuple[dict[str, frozenset[str]], CommonProblems]:
    """Model -> the problems that none of its first k scored samples solves; and the problems compared.

    k is the largest that every problem with a verdict allows, the same for all models, because more samples solve more
    problems. A set belongs to one trained model: of several training seeds the first (lowest) counts.

    Args:
        tables: model -> verdict table of one benchmark.
    Raises:
        ValueError: as `keep_common_problems`.
    """
    first = {name: _first_seed(table) for name, table in tables.items()}
    same = keep_common_problems(first)
    sets = {}
    for name, table in same.tables.items():
        earliest = table.sort_values("sample").groupby("problem_id").head(same.k)
        solved = set(earliest.loc[earliest["verdict"] == Verdict.CORRECT, "problem_id"])
        sets[name] = frozenset(same.problems) - solved
    return sets, same


def regions(sets: Mapping[str, frozenset[str]], problems: Sequence[str]) -> list[Region]:
    """The non-empty regions, those with most models first; each problem is in one. The region without models has the
    problems that all of them solve.
    """
    members_of: dict[tuple[str, ...], list[str]] = {}
    for problem in problems:
        members_of.setdefault(tuple(name for name, unsolved in sets.items() if problem in unsolved), []).append(problem)
    order = list(sets)
    every = [Region(models, tuple(members)) for models, members in members_of.items()]
    return sorted(every, key=lambda region: (-len(region.models), [order.index(m) for m in region.models]))


def _first_seed(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["train_seed"] == table["train_seed"].min()] if "train_seed" in table else table


_MOST = 20  # columns of the plot


def plot_unsolvable(tables: Mapping[str, pd.DataFrame], benchmark: str) -> Plot:
    """UpSet plot of the problems that no sample of a model solves, any number of models (arXiv 2508.07534, Fig. 1c, has
    a Venn diagram of three): a bar for each set of models, as high as the problems that exactly these leave unsolved.

    Ours, since upsetplot 0.9 does not work with pandas 3 (it fills columns in place, which copy-on-write ignores).

    Args:
        tables: run -> verdict table of the benchmark.
    Raises:
        ValueError: as `unsolvable_sets`.
    """
    import pandas as pd

    sets, same = unsolvable_sets(tables)
    parts = regions(sets, same.problems)
    names = list(sets)
    ordered = sorted((r for r in parts if r.models), key=lambda region: -len(region.problems))
    shown, hidden = ordered[:_MOST], ordered[_MOST:]
    solved = sum(len(region.problems) for region in parts if not region.models)
    labels = [f"{name}: {len(unsolved)} unsolved" for name, unsolved in sets.items()]

    def render(figure: Any) -> None:
        top, matrix = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 0.24 * len(names) + 0.1))
        columns = range(len(shown))
        heights = [len(region.problems) for region in shown]
        top.bar(columns, heights, color="#444444", width=0.6)
        for column, height in zip(columns, heights, strict=True):
            top.annotate(str(height), (column, height), (0, 2), textcoords="offset points", ha="center", fontsize=8)
        if not shown:
            top.text(0.5, 0.5, "every model solves every problem", transform=top.transAxes, ha="center")
        top.set_ylabel("problems")
        top.set_ylim(0, max(heights, default=1) * 1.15)
        top.yaxis.get_major_locator().set_params(integer=True)
        top.tick_params(axis="x", length=0)
        tidy(top)
        top.grid(axis="x", visible=False)
        for column, region in enumerate(shown):
            rows = [names.index(name) for name in region.models]
            matrix.plot([column, column], [min(rows), max(rows)], color="#444444", linewidth=1.2, zorder=1)
            matrix.scatter([column] * len(names), range(len(names)), color="#dddddd", s=14, zorder=0)
            for row in rows:
                style = look(row)
                matrix.scatter([column], [row], color=style["color"], marker=style["marker"], s=34, zorder=2)
        matrix.set_ylim(len(names) - 0.5, -0.5)
        matrix.set_xlim(-0.6, max(len(shown), 4) - 0.4)
        matrix.set(xticks=[], yticks=[])
        for side in ("top", "right", "bottom", "left"):
            matrix.spines[side].set_visible(False)
        matrix.set_xlabel("left unsolved by exactly these models")
        handles = [
            matrix.plot([], [], color=look(i)["color"], marker=look(i)["marker"], linestyle="none", markersize=6)[0]
            for i in range(len(names))
        ]
        legend_below(figure, handles, labels)

    more = f" {len(hidden)} smaller groups of models are not shown." if hidden else ""
    caption = (
        f"{len(same.problems)} problems; unsolved: none of a model's first {same.k} scored samples is correct (of "
        "several training seeds, the first). A set is what these samples gave, without an interval. Columns are "
        f"disjoint. Solved by all models: {solved}.{more} {same.note()}"
    ).strip()
    numbers = pd.DataFrame(
        [(benchmark, " & ".join(r.models), len(r.problems), " ".join(r.problems)) for r in parts],
        columns=["benchmark", "unsolved by exactly", "problems", "problem_ids"],
    )
    size = (WIDTH, 2.4 + 0.24 * len(names) + legend_height(labels))
    title = f"Problems of {benchmark} that no sample solves"
    return Plot(f"unsolvable_{benchmark}", title, caption, f"{TRIAL_AND_ERROR}, Fig. 1c", numbers, render, size)

"""k-rollout unsolvable problems and how their sets overlap across models (arXiv 2508.07534, section 2.1, Fig. 1c).

Figures: a Venn diagram for up to three models, an UpSet plot for more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.responses.curves_over_k import CommonProblems, keep_common_problems
from evals.analysis.subjects import Subject
from evals.grading.verdicts import Verdict
from evals.plots.parts import common_benchmarks, legend_below, legend_height, tables_of
from evals.plots.plot import WIDTH, Plot, look, tidy

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Region:
    """The problems that exactly these models leave unsolved; regions are disjoint and cover all problems."""

    models: tuple[str, ...]
    problems: tuple[str, ...]


def unsolvable_sets(
    tables: Mapping[str, pd.DataFrame], k: int | None = None
) -> tuple[dict[str, frozenset[str]], CommonProblems]:
    """Model -> the problems that none of its first k scored samples solves; and the problems compared.

    A set belongs to one trained model: of several training seeds the first (lowest) counts.

    Args:
        tables: model -> verdict table of one benchmark.
        k: None takes the largest that every problem with a verdict allows. It is the same for all models, because more
            samples solve more problems.
    Raises:
        ValueError: as `keep_common_problems`; k < 1.
    """
    if k is not None and k < 1:
        raise ValueError(f"k: expected at least 1, got {k}")
    first = {name: _first_seed(table) for name, table in tables.items()}
    same = keep_common_problems(first, k)
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
    held: dict[tuple[str, ...], list[str]] = {}
    for problem in problems:
        held.setdefault(tuple(name for name, unsolved in sets.items() if problem in unsolved), []).append(problem)
    order = list(sets)
    every = [Region(models, tuple(members)) for models, members in held.items()]
    return sorted(every, key=lambda region: (-len(region.models), [order.index(m) for m in region.models]))


def _first_seed(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["train_seed"] == table["train_seed"].min()] if "train_seed" in table else table


SOURCE = f"{TRIAL_AND_ERROR}, Fig. 1c"


_MOST = 20  # columns of an UpSet plot


def plot_unsolvable(
    subjects: Sequence[Subject], *, benchmarks: Sequence[str] | None = None, k: int | None = None
) -> list[Plot]:
    """For each benchmark, which problems which models cannot solve.

    Args:
        subjects: the runs, the base model first.
        benchmarks: None takes those that all runs were measured on.
        k: rollouts; None takes the largest number that all problems allow.
    Raises:
        ValueError: no runs, no common benchmark, or as `evals.analysis.responses.unsolvable.unsolvable_sets`.
    """
    plots = []
    for benchmark in common_benchmarks(subjects, benchmarks):
        sets, same = unsolvable_sets(tables_of(subjects, benchmark), k)
        parts = regions(sets, same.problems)
        plots.append((venn if 2 <= len(sets) <= 3 else upset)(sets, parts, same, benchmark))
    return plots


def venn(sets: Mapping[str, frozenset[str]], parts: Sequence[Region], same: CommonProblems, benchmark: str) -> Plot:
    """Venn diagram of the unsolvable problems of two or three models, equal circles (arXiv 2508.07534, Fig. 1c)."""
    names = list(sets)
    count = {region.models: len(region.problems) for region in parts}
    labels = [f"{name}: {len(unsolved)} unsolved" for name, unsolved in sets.items()]

    def render(figure: Any) -> None:
        from matplotlib.patches import Patch
        from matplotlib_venn import venn2, venn3
        from matplotlib_venn.layout.venn2 import DefaultLayoutAlgorithm as Equal2
        from matplotlib_venn.layout.venn3 import DefaultLayoutAlgorithm as Equal3

        axis = figure.subplots()
        colours = [look(place)["color"] for place in range(len(names))]
        options = {"set_labels": [""] * len(names), "set_colors": colours, "alpha": 0.3, "ax": axis}
        members = [set(unsolved) for unsolved in sets.values()]
        if len(names) == 2:
            venn2(members, layout_algorithm=Equal2(fixed_subset_sizes=(1, 1, 1)), **options)
        else:
            venn3(members, layout_algorithm=Equal3(fixed_subset_sizes=(1,) * 7), **options)
        text = f"solved by all: {count.get((), 0)}"
        axis.text(1, 0, text, transform=axis.transAxes, ha="right", va="bottom", fontsize=8)
        legend_below(figure, [Patch(facecolor=colour, alpha=0.4) for colour in colours], labels)

    caption = f"{_what(same)} Each number counts problems; areas do not. {same.note()}".strip()
    size = (WIDTH, (3.2 if len(names) == 3 else 2.6) + legend_height(labels))
    return Plot(*_words("unsolvable", benchmark), caption, SOURCE, _numbers(parts, benchmark), render, size)


def upset(sets: Mapping[str, frozenset[str]], parts: Sequence[Region], same: CommonProblems, benchmark: str) -> Plot:
    """UpSet plot of the unsolvable problems of any number of models (for arXiv 2508.07534, Fig. 1c).

    Ours, since upsetplot 0.9 does not work with pandas 3 (it fills columns in place, which copy-on-write ignores).
    """
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
    caption = f"{_what(same)} Columns are disjoint. Solved by all models: {solved}.{more} {same.note()}".strip()
    size = (WIDTH, 2.4 + 0.24 * len(names) + legend_height(labels))
    return Plot(*_words("unsolvable", benchmark), caption, SOURCE, _numbers(parts, benchmark), render, size)


def _words(name: str, benchmark: str) -> tuple[str, str]:
    return f"{name}_{benchmark}", f"Problems of {benchmark} that no sample solves"


def _what(same: CommonProblems) -> str:
    return (
        f"{len(same.problems)} problems; unsolved: none of a model's first {same.k} scored samples is correct (of "
        "several training seeds, the first). A set is what these samples gave, without an interval."
    )


def _numbers(parts: Sequence[Region], benchmark: str) -> pd.DataFrame:
    import pandas as pd

    rows = [(benchmark, " & ".join(r.models), len(r.problems), " ".join(r.problems)) for r in parts]
    return pd.DataFrame(rows, columns=["benchmark", "unsolved by exactly", "problems", "problem_ids"])

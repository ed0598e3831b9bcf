"""k-rollout unsolvable problems and how their sets overlap across models (arXiv 2508.07534, section 2.1, Fig. 1c)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.curves_over_k import CommonProblems, keep_common_problems
from evals.grading.verdicts import Verdict
from evals.plots.parts import bars
from evals.plots.plot import WIDTH, Plot

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


MOST = 20  # bars


def plot_unsolvable(tables: Mapping[str, pd.DataFrame]) -> Plot:
    """The problems that no sample of a model solves (arXiv 2508.07534, Fig. 1c): a bar for each set of models, as long
    as the problems that exactly these leave unsolved.

    Args:
        tables: run -> verdict table of the benchmark.
    Raises:
        ValueError: as `unsolvable_sets`.
    """
    import pandas as pd

    sets, same = unsolvable_sets(tables)
    rows = [(" & ".join(r.models), len(r.problems), " ".join(r.problems)) for r in regions(sets, same.problems)]
    numbers = pd.DataFrame(rows, columns=["unsolved by exactly", "problems", "problem_ids"])
    largest = numbers[numbers["unsolved by exactly"] != ""].sort_values("problems", ascending=False, kind="stable")
    shown = largest.head(MOST)

    def render(figure: Any) -> None:
        axis = figure.subplots()
        bars(axis, list(shown["unsolved by exactly"]), shown["problems"], 0)
        axis.set_xlabel("problems left unsolved by exactly these models")
        axis.xaxis.get_major_locator().set_params(integer=True)
        if shown.empty:
            axis.text(0.5, 0.5, "every model solves every problem", transform=axis.transAxes, ha="center")

    counts = ", ".join(f"{name} {len(unsolved)}" for name, unsolved in sets.items())
    solved = len(set(same.problems).difference(*sets.values()))
    caption = (
        f"{len(same.problems)} problems; unsolved: none of a model's first {same.k} scored samples is correct (of "
        f"several training seeds, the first): {counts}. A set is what these samples gave, without an interval. Solved "
        f"by all models: {solved}. Smaller sets that are not shown: {len(largest) - len(shown)}.{same.note()}"
    )
    return Plot(
        "unsolvable",
        "Problems that no sample solves",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 1c",
        numbers,
        render,
        (WIDTH, 0.9 + 0.3 * max(2, len(shown))),
    )

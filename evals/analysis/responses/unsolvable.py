"""k-rollout unsolvable problems and how their sets overlap across models (arXiv 2508.07534, section 2.1, Fig. 1c)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.analysis.common_problems import CommonProblems, alike
from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Region:
    """The problems that exactly these models leave unsolved: regions are disjoint and together hold all problems."""

    models: tuple[str, ...]
    problems: tuple[str, ...]


def unsolvable_sets(
    tables: Mapping[str, pd.DataFrame], k: int | None = None
) -> tuple[dict[str, frozenset[str]], CommonProblems]:
    """Model -> the problems that none of its first k scored samples solves; and what it is over.

    A set belongs to one trained model: of several training seeds the first (lowest) counts.

    Args:
        tables: model -> verdict table of one benchmark.
        k: None takes the largest that every problem with a verdict allows. The same for all models: more samples solve
            more problems.
    Raises:
        ValueError: as `alike`; k < 1.
    """
    if k is not None and k < 1:
        raise ValueError(f"k: expected at least 1, got {k}")
    first = {name: _first_seed(table) for name, table in tables.items()}
    same = alike(first, k)
    sets = {}
    for name, table in same.tables.items():
        drawn = table.sort_values("sample").groupby("problem_id").head(same.k)
        solved = set(drawn.loc[drawn["verdict"] == Verdict.CORRECT, "problem_id"])
        sets[name] = frozenset(same.problems) - solved
    return sets, same


def regions(sets: Mapping[str, frozenset[str]], problems: Sequence[str]) -> list[Region]:
    """Every problem in one region, by the models that leave it unsolved; most models first, empty regions left out.

    The region without models holds what all of them solve.
    """
    held: dict[tuple[str, ...], list[str]] = {}
    for problem in problems:
        held.setdefault(tuple(name for name, unsolved in sets.items() if problem in unsolved), []).append(problem)
    order = list(sets)
    found = [Region(models, tuple(members)) for models, members in held.items()]
    return sorted(found, key=lambda region: (-len(region.models), [order.index(m) for m in region.models]))


def _first_seed(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["train_seed"] == table["train_seed"].min()] if "train_seed" in table else table

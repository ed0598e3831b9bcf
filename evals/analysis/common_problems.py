"""Several models on the same problems with the same number of samples: what may stand in one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class CommonProblems:
    """Verdict tables of several models, cut to the problems that all of them can speak of.

    Args:
        tables: model -> its table, scored rows only, with a column `train_seed`.
        problems: the problems kept, sorted. left_out: how many were not.
        k: the number of scored samples that every kept problem has at least, in every model and training seed.
        unscored: rows without a verdict, of all models.
    """

    tables: Mapping[str, pd.DataFrame]
    problems: tuple[str, ...]
    left_out: int
    k: int
    unscored: int

    def note(self) -> str:
        """For a caption: what was excluded, or ""."""
        parts = []
        if self.left_out:
            parts.append(f"Excluded: {_count(self.left_out, 'problem')} without {self.k} scored samples in every run.")
        if self.unscored:
            parts.append(f"Excluded: {_count(self.unscored, 'response')} that could not be scored.")
        return " ".join(parts)


def keep_common_problems(tables: Mapping[str, pd.DataFrame], least: int | None = None) -> CommonProblems:
    """Cut the tables of one benchmark to the problems with at least `least` scored samples in every model and seed.

    Args:
        tables: model -> verdict table (`evals.grading.verdicts.schema`, and maybe `train_seed`).
        least: None keeps every problem with a scored sample; k is then the smallest number that any of them has.
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
        kept = kept & set(fewest[-1].index[fewest[-1] >= (least or 1)])
    if not kept:
        raise ValueError(f"no problem has {least or 1} scored samples in each of: {', '.join(tables)}")
    cut = {name: table[table["problem_id"].isin(kept)] for name, table in scored.items()}
    unscored = sum(len(table) for table in seeded.values()) - sum(len(table) for table in scored.values())
    k = least or int(min(counts[sorted(kept)].min() for counts in fewest))
    return CommonProblems(cut, tuple(sorted(kept)), len(every) - len(kept), k, unscored)


def powers_of_two_to(most: int) -> list[int]:
    """1, 2, 4, ... below `most`, then `most` itself."""
    return [*(2**power for power in range(most.bit_length()) if 2**power < most), most]


def check_ks(ks: Sequence[int]) -> None:
    """Raises ValueError unless every k is at least 1 and there is one."""
    if not ks or min(ks) < 1:
        raise ValueError(f"ks: expected numbers of at least 1, got {list(ks)}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"

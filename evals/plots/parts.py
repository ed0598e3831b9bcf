"""Shared parts of figures of several runs: order and look, a legend for names of any length, words of captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from evals.plots.plot import look

if TYPE_CHECKING:
    import pandas as pd

    from evals.analysis.subjects import Subject

LEGEND_LINE = 0.19  # inches per line of a legend


def names_of(subjects: Sequence[Subject]) -> list[str]:
    """The runs' names, in order.

    Raises:
        ValueError: no run, or two with the same name.
    """
    names = [subject.name for subject in subjects]
    if not names:
        raise ValueError("subjects: expected at least one run, got none")
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"subjects: expected a name for each run, got {min(twice)!r} twice")
    return names


def common_benchmarks(subjects: Sequence[Subject], wanted: Sequence[str] | None = None) -> list[str]:
    """The benchmarks of all runs, in the order of the first run, or the wanted ones.

    Raises:
        ValueError: there is none, or a run was not measured on a wanted one.
    """
    names_of(subjects)
    common = [b for b in subjects[0].tables if all(b in subject.tables for subject in subjects)]
    if wanted is not None:
        if missing := [b for b in wanted if b not in common]:
            raise ValueError(f"benchmark {missing[0]!r}: not measured for every run; those that are: {common}")
        return list(wanted)
    if not common:
        raise ValueError(f"subjects: no benchmark was measured for all of {[s.name for s in subjects]}")
    return common


def tables_of(subjects: Sequence[Subject], benchmark: str) -> dict[str, pd.DataFrame]:
    """Name of the run -> its verdict table of the benchmark."""
    return {subject.name: subject.tables[benchmark] for subject in subjects}


def line_look(index: int, points: int) -> dict[str, Any]:
    """`look`, with about eight markers on a long line."""
    return {**look(index), "markersize": 4, "markevery": max(1, points // 8), "linewidth": 1.4}


def point_look(index: int, *, hollow: bool = False) -> dict[str, Any]:
    """`look` of a single point: colour and marker, no line."""
    style = {key: value for key, value in look(index).items() if key != "linestyle"}
    return {**style, "linestyle": "none", "markersize": 5, "markerfacecolor": "white" if hollow else style["color"]}


def legend_below(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """A legend under all panels: short names side by side, long ones one a line, so that names of any length fit."""
    texts = [fill(label, 78) for label in labels]
    columns = min(_legend_columns(labels), max(1, len(texts)))
    figure.legend(handles, texts, loc="outside lower left", ncols=columns, frameon=False, fontsize=8)


def legend_height(labels: Sequence[str]) -> float:
    """The height of `legend_below`, in inches."""
    columns = _legend_columns(labels)
    if columns > 1:
        return LEGEND_LINE * -(-len(labels) // columns) + 0.1
    return LEGEND_LINE * sum(fill(label, 78).count("\n") + 1 for label in labels) + 0.1


def _legend_columns(labels: Sequence[str]) -> int:
    """How many names of these lengths fit side by side under one panel."""
    longest = max(map(len, labels), default=0)
    return next((columns for columns, limit in ((4, 10), (3, 16), (2, 28)) if longest <= limit), 1)


def sizes(tables: Mapping[str, pd.DataFrame], problems: int) -> str:
    """ "30 problems, n = 16 samples a problem (GRPO: 2 training seeds)." for a caption."""
    counted, seeds = {}, []
    for name, table in tables.items():
        by = [column for column in ("train_seed", "problem_id") if column in table]
        counts = table.groupby(by).size()
        counted[name] = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"
        if "train_seed" in table and table["train_seed"].nunique() > 1:
            seeds.append(f"{name}: {table['train_seed'].nunique()} training seeds")
    of_runs = ", ".join(f"{n} ({name})" for name, n in counted.items())
    n = next(iter(counted.values())) if len(set(counted.values())) == 1 else of_runs
    every = f"{problems} problem{'s' * (problems != 1)}"
    return f"{every}, n = {n} samples a problem{'; ' + '; '.join(seeds) if seeds else ''}."


def covered(covers: Sequence[str | None]) -> str:
    """What 95 % intervals cover, for a caption."""
    named = sorted({c for c in covers if isinstance(c, str)})
    return f"95 % intervals over {' or '.join(named)}." if named else "No interval: one problem shows no spread."

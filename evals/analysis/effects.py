"""The cost of an intervention: accuracy of continuations without it minus accuracy with it, by group, with tests.

Every frame here has one row per intervention: `group`, `problem_id`, `k_original` and `k_altered` (graded
continuations), `original` and `altered` (their accuracy), and `drop` (original - altered). An unknown
drop is NaN; excluded, and counted in the caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.grading.verdicts import Verdict
from evals.plots.intervals import dots
from evals.plots.panels import describe_problems, span
from evals.plots.parts import legend_below, rows_size
from evals.plots.plot import Plot
from evals.stats.differences import Paired, paired
from evals.stats.intervals import Vector, joined_estimate, over_problems

if TYPE_CHECKING:
    import pandas as pd

BOUNDS = (-1.0, 1.0)  # of a drop


def impact(original: ArrayLike, altered: ArrayLike) -> float:
    """I = mean(original) - mean(altered)  (arXiv 2508.07534, Eq. 6).

    Args:
        original, altered: [k], 1 if the continuation is correct, 0 if not, NaN if unknown.
    Returns:
        in [-1, 1]; NaN if one of them has no known value.
    """
    return _graded_mean(original) - _graded_mean(altered)


def effects(pairs: Sequence[tuple[str, str]], verdicts: pd.DataFrame) -> dict[str, list[float]]:
    """The columns k_original to drop.

    Args:
        pairs: of each row the prefixes without and with the intervention.
        verdicts: of every prefix (`interventions.measure`).
    """
    correct = {str(branch): correctness(rows["verdict"].tolist()) for branch, rows in verdicts.groupby("problem_id")}
    outcomes = [(correct[original], correct[altered]) for original, altered in pairs]
    columns: dict[str, list[float]] = {}
    for side, name in enumerate(("original", "altered")):
        columns[f"k_{name}"] = [len(_graded(pair[side])) for pair in outcomes]
        columns[name] = [_graded_mean(pair[side]) for pair in outcomes]
    columns["drop"] = [impact(original, altered) for original, altered in outcomes]
    return columns


def by_group(frame: pd.DataFrame) -> pd.DataFrame:
    """The mean drop of each group, every problem counting once, with its 95 % interval over problems.

    Returns:
        group, drop, low, high, original, altered, problems, interventions, unknown (excluded, without a
        drop), k (the fewest graded continuations of a branch that counts). Missing values are NaN.
    """
    import pandas as pd

    rows = []
    for group, part in frame.groupby("group", sort=False):
        measured = part[part["drop"].notna()]
        means = measured.groupby("problem_id")[["original", "altered", "drop"]].mean()
        interval = over_problems(means["drop"], bounds=BOUNDS) if len(means) else None
        rows.append(
            {
                "group": group,
                "drop": means["drop"].mean(),
                "low": interval.low if interval else np.nan,
                "high": interval.high if interval else np.nan,
                **{name: means[name].mean() for name in ("original", "altered")},
                "problems": len(means),
                "interventions": len(measured),
                "unknown": len(part) - len(measured),
                "k": int(measured[["k_original", "k_altered"]].to_numpy().min()) if len(measured) else 0,
            }
        )
    return pd.DataFrame(rows)


def compare_groups(frame: pd.DataFrame, a: str, b: str | None = None) -> Paired:
    """Mean drop of group a minus that of group b, paired by problem; without b, the mean drop of a against 0.

    Raises:
        ValueError: no problem has a drop in both.
    """
    means = frame[frame["drop"].notna()].groupby(["group", "problem_id"])["drop"].mean()
    drops_of: Mapping[str, pd.Series] = {str(group): part.droplevel(0) for group, part in means.groupby(level=0)}
    missing = [group for group in (a, b) if group is not None and group not in drops_of]
    common = [] if missing else sorted(set(drops_of[a].index) & set(drops_of[b or a].index))
    if not common:
        raise ValueError(f"no problem has a drop in group {a!r}" + (f" and in group {b!r}" if b else ""))
    drops = drops_of[a].loc[common]
    if b is not None:
        return paired(drops, drops_of[b].loc[common], bounds=BOUNDS)
    estimate = joined_estimate([[drops.to_numpy()[None, :]]], BOUNDS)
    return Paired(estimate.mean, estimate.interval(), estimate.p_value(), "t over problems")


def correctness(verdicts: Sequence[str]) -> list[float]:
    """1 for correct, NaN for unscored, 0 for every other verdict."""
    return [np.nan if v == Verdict.UNSCORED else float(v == Verdict.CORRECT) for v in verdicts]


def _graded(values: ArrayLike) -> Vector:
    array: Vector = np.asarray(values, dtype=float)
    graded: Vector = array[~np.isnan(array)]
    return graded


def _graded_mean(values: ArrayLike) -> float:
    graded = _graded(values)
    return float(graded.mean()) if len(graded) else float("nan")


def drops_by_run(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """`by_group` of every run, in percentage points.

    Raises:
        ValueError: no run, or runs with other groups.
    """
    import pandas as pd

    if not frames:
        raise ValueError("frames: expected one run or more, got none")
    numbers = pd.concat([by_group(frame).assign(model=run) for run, frame in frames.items()], ignore_index=True)
    groups = {run: list(part["group"]) for run, part in numbers.groupby("model", sort=False)}
    first = next(iter(groups))
    if other := [run for run in groups if groups[run] != groups[first]]:
        raise ValueError(
            f"groups of {first!r} are {groups[first]}, of {other[0]!r} {groups[other[0]]}; expected the same"
        )
    points = ["drop", "low", "high", "original", "altered"]
    numbers[points] *= 100
    return numbers


def plot_groups(
    name: str, title: str, caption: str, source: str, numbers: pd.DataFrame, label: str, words: Mapping[str, str]
) -> Plot:
    """A row for each group, with a point and an interval for each run. words: group -> the row's name."""
    groups, runs = list(dict.fromkeys(numbers["group"])), list(dict.fromkeys(numbers["model"]))

    def render(figure: Any) -> None:
        axis = figure.subplots()
        axis.axvline(0, color="black", linewidth=0.8)
        labels = {group: words.get(group, group) for group in groups}
        handles, _ = dots(axis, numbers, runs, "group", labels, ("low", "drop", "high"))
        axis.set_xlabel(label)
        legend_below(figure, handles, runs)

    return Plot(name, title, caption, source, numbers, render, rows_size(len(groups), runs))


def describe_counts(numbers: pd.DataFrame) -> str:
    """The numbers of problems, interventions and continuations, and of unknown drops."""
    text = (
        f"{describe_problems(numbers)}, {span(numbers['interventions'])} interventions a group, {span(numbers['k'])} "
        "graded continuations of either prefix."
    )
    unknown = int(numbers["unknown"].sum())
    return text + (f" {unknown} interventions whose continuations could not be scored are excluded." if unknown else "")


def describe_accuracies(numbers: pd.DataFrame) -> str:
    """Accuracy without and with the intervention, for a caption."""
    parts = []
    for run, rows in numbers.groupby("model", sort=False):
        pairs = [f"{row.group} {row.original:.1f} to {row.altered:.1f} %" for row in rows.itertuples()]
        parts.append(f"{run}: {', '.join(pairs)}")
    return f"Accuracy without and with it: {'; '.join(parts)}.".replace("nan to nan %", "not known")

"""Figures of a study of many arms: learning curves, pass@k, accuracy against entropy, claims, placebos, sweeps.

Each takes tidy frames (one row per point, columns as in its docstring) and returns a `Plot`. Values are fractions or in
the unit that `label` names. Intervals come with the frames, except for learning curves, whose bands are over the given
seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.plots.intervals import ForestRow, Verdict, band, forest, name_rows, offsets, points
from evals.plots.labels import clusters, number_ranges
from evals.plots.parts import legend_below, legend_height
from evals.plots.plot import PALETTE, WIDTH, Plot, look, tidy
from evals.stats.intervals import t_quantile
from evals.stats.score import p_words

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = {
    "appears": Verdict("#0072B2", "o"),
    "reversed": Verdict("#D55E00", "s"),
    "does not appear": Verdict("#E69F00", "v"),
    "equal within δ": Verdict("#009E73", "P"),
    "cannot tell": Verdict("#666666", "D", filled=False),
}
MOST = 7  # series in one panel
COLUMNS = 4  # panels side by side
LABEL = 0.035, 0.04  # size of a point's label, as shares of a panel's width and height
PANEL = 2.15, 1.75  # inches


def mean_over_seeds(curves: pd.DataFrame, metric: str, *, level: float = 0.95) -> pd.DataFrame:
    """The mean of a metric over training seeds at each step, with its pointwise t-interval.

    Args:
        curves: `arm`, `seed`, `step` and the metric; missing values are excluded.
    Returns:
        `arm`, `step`, `mean`, `low`, `high` (NaN with one seed), `seeds`.
    Raises:
        ValueError: a column is missing, or a seed has a step twice.
    """
    _need(curves, ("arm", "seed", "step", metric))
    known = curves[curves[metric].notna()]
    if known.duplicated(["arm", "seed", "step"]).any():
        row = known[known.duplicated(["arm", "seed", "step"])].iloc[0]
        raise ValueError(f"curves: expected each step once, got arm {row['arm']!r}, seed {row['seed']}, step "
                         f"{row['step']} twice")  # fmt: skip
    means = known.groupby(["arm", "step"], sort=False)[metric].agg(["mean", "std", "size"]).reset_index()
    means = means.sort_values(["arm", "step"], kind="stable", ignore_index=True)
    t = np.array([t_quantile((1 + level) / 2, n - 1) if n > 1 else np.nan for n in means["size"]])
    half = t * means["std"] / np.sqrt(means["size"])
    means = means.assign(low=means["mean"] - half, high=means["mean"] + half, seeds=means["size"])
    return means[["arm", "step", "mean", "low", "high", "seeds"]]


def learning_curves(
    curves: pd.DataFrame,
    metric: str,
    *,
    label: str,
    name: str = "learning_curves",
    title: str = "Learning curves",
    reference: Sequence[str] = ("grpo",),
    note: str = "",
) -> Plot:
    """A metric over optimiser steps, mean over seeds with a band: one panel up to 7 arms, else a panel an arm with the
    reference arms in each.

    Args:
        curves: as `mean_over_seeds` takes it; the order of the arms is that of their first rows.
        label: of the y axis, with its unit. note: for the caption (scale, benchmark).
    Raises:
        ValueError: as `mean_over_seeds`; no value of the metric.
    """
    numbers = mean_over_seeds(curves, metric)
    if numbers.empty:
        raise ValueError(f"{metric}: expected a value at one step or more, got none")
    order = [arm for arm in dict.fromkeys(curves["arm"]) if arm in set(numbers["arm"])]
    seeds = numbers.groupby("arm")["seeds"].max()
    caption = (
        f"Mean over training seeds; band: pointwise 95 % t-interval over seeds. Seeds: {_ranges(seeds)}. Steps: "
        f"{_ranges(numbers.groupby('arm')['step'].max())}."
    )
    return _curves(numbers, order, "step", "optimiser step", label, name, title, _join(caption, note), reference)


def pass_at_k_curves(
    numbers: pd.DataFrame,
    *,
    name: str = "pass_at_k",
    title: str = "pass@k",
    reference: Sequence[str] = ("base", "grpo"),
    note: str = "",
) -> Plot:
    """pass@k against k with bands: one panel up to 7 arms, else a panel an arm with the reference arms in each.

    Args:
        numbers: `arm`, `k`, `pass`, `low`, `high` (fractions).
    Raises:
        ValueError: a column is missing, or no row.
    """
    _need(numbers, ("arm", "k", "pass", "low", "high"))
    shown = numbers.rename(columns={"pass": "mean"})
    shown[["mean", "low", "high"]] *= 100
    order = list(dict.fromkeys(shown["arm"]))
    caption = "pass@k: chance that k samples hold a correct answer (unbiased estimate); band: 95 % interval."
    return _curves(shown, order, "k", "k (samples a problem)", "pass@k (%)", name, title, _join(caption, note),
                   reference, log=True)  # fmt: skip


def accuracy_against_entropy(
    numbers: pd.DataFrame,
    *,
    name: str = "accuracy_against_entropy",
    title: str = "Accuracy against entropy",
    note: str = "",
) -> Plot:
    """Every arm as a numbered point with both intervals, a panel a task family; the numbers' names below.

    Args:
        numbers: `arm`, `group` (at most 7: the colours), `family`, `entropy` (nats), `accuracy` (fraction), each of the
            last two with `_low`, `_high`.
    Raises:
        ValueError: a column is missing, more than 7 groups, or no row.
    """
    ends = [f"{value}{end}" for value in ("entropy", "accuracy") for end in ("", "_low", "_high")]
    _need(numbers, ("arm", "group", "family", *ends))
    shown = numbers.copy()
    shown[[column for column in ends if column.startswith("accuracy")]] *= 100
    groups, families = list(dict.fromkeys(shown["group"])), list(dict.fromkeys(shown["family"]))
    look(len(groups) - 1)
    of = {group: dict.fromkeys(shown.loc[shown["group"] == group, "arm"]) for group in groups}
    number = {arm: i for i, arm in enumerate(dict.fromkeys(arm for group in groups for arm in of[group]), 1)}
    keys = [fill(f"{group}: " + ", ".join(f"{number[arm]} {arm}" for arm in of[group]), 105) for group in groups]
    width, lines = (1.5 * WIDTH if len(families) > 1 else 1.15 * WIDTH), sum(key.count("\n") + 1 for key in keys)

    def render(figure: Any) -> None:
        axes = figure.subplots(1, len(families), squeeze=False, sharex=True)[0]
        for axis, family in zip(axes, families, strict=True):
            tidy(axis)
            axis.set_title(family, loc="left")
            for place, group in enumerate(groups):
                rows = shown[(shown["family"] == family) & (shown["group"] == group)]
                colour, marker = look(place)["color"], look(place)["marker"]
                axis.hlines(rows["accuracy"], rows["entropy_low"], rows["entropy_high"], color=colour, linewidth=0.7)
                axis.vlines(rows["entropy"], rows["accuracy_low"], rows["accuracy_high"], color=colour, linewidth=0.7)
                axis.plot(rows["entropy"], rows["accuracy"], marker, color=colour, markersize=4)
            rows = shown[shown["family"] == family]
            places = rows[["entropy", "accuracy"]].to_numpy()
            spans = np.array([shown["entropy_high"].max(), rows["accuracy_high"].max()]) * LABEL
            for near in clusters(places / spans):
                label = number_ranges([number[arm] for arm in rows["arm"].iloc[near]])
                at = places[near, 0].max(), places[near, 1].mean()
                axis.annotate(label, at, (4, 2), textcoords="offset points", fontsize=7)
            axis.set_xlabel("entropy at the end of training (nats)")
        axes[0].set_ylabel("accuracy (%)")
        handles = [axes[0].plot([], [], look(p)["marker"], color=look(p)["color"])[0] for p in range(len(groups))]
        figure.legend(handles, keys, loc="outside lower left", frameon=False, fontsize=7)

    caption = (
        "One point an arm; lines: 95 % intervals. Colours and shapes: where the arm is from. Points that lie together "
        "share a label."
    )
    return Plot(name, title, _join(caption, note), "", shown, render, (width, 3.3 + 0.15 * lines + 0.1))


def claims_forest(
    numbers: pd.DataFrame,
    *,
    label: str = "difference (percentage points)",
    name: str = "claims",
    title: str = "Claims of the papers",
    note: str = "",
) -> Plot:
    """Every claim's difference with its interval, marked by its outcome, a panel a family.

    Args:
        numbers: `claim` (its short name), `family`, `difference`, `low`, `high` (fractions), `outcome` (of OUTCOMES),
            `p` (corrected; NaN where there is none).
    Raises:
        ValueError: a column is missing, an unknown outcome, or no row.
    """
    _need(numbers, ("claim", "family", "difference", "low", "high", "outcome", "p"))
    if unknown := sorted(set(numbers["outcome"]) - set(OUTCOMES)):
        raise ValueError(f"outcome: expected one of {', '.join(OUTCOMES)}, got {unknown[0]!r}")
    shown = numbers.copy()
    shown[["difference", "low", "high"]] *= 100
    families = list(dict.fromkeys(shown["family"]))
    counts = [int((shown["family"] == family).sum()) for family in families]
    present = [outcome for outcome in OUTCOMES if (shown["outcome"] == outcome).any()]

    def render(figure: Any) -> None:
        heights = [0.25 * count + 0.6 for count in counts]
        axes = figure.subplots(len(families), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
        for axis, family in zip(axes, families, strict=True):
            rows = [_forest_row(row) for row in shown[shown["family"] == family].to_dict("records")]
            forest(axis, rows, label)
            axis.set_title(family, loc="left")
        handles = [
            axes[0].plot([], [], OUTCOMES[o].marker, color=OUTCOMES[o].color,
                         markerfacecolor=OUTCOMES[o].color if OUTCOMES[o].filled else "white")[0]
            for o in present
        ]  # fmt: skip
        legend_below(figure, handles, present)

    caption = (
        "Bars: 95 % intervals of the difference; p corrected for the family of claims it was tested in. "
        + ", ".join(f"{outcome}: {int((shown['outcome'] == outcome).sum())}" for outcome in present)
        + "."
    )
    height = sum(0.25 * count + 0.6 for count in counts) + 0.2 + legend_height(present)
    return Plot(name, title, _join(caption, note), "", shown, render, (1.75 * WIDTH, height))


def placebo_points(
    numbers: pd.DataFrame,
    *,
    label: str = "gain over GRPO (percentage points)",
    name: str = "placebos",
    title: str = "Methods beside their placebos",
    note: str = "",
) -> Plot:
    """Each method beside its placebos, as points with intervals: a row a method, a panel a family.

    Args:
        numbers: `method`, `variant` (at most 7, the method itself first), `family`, `value`, `low`, `high` (fractions).
    Raises:
        ValueError: a column is missing, more than 7 variants, or no row.
    """
    _need(numbers, ("method", "variant", "family", "value", "low", "high"))
    shown = numbers.copy()
    shown[["value", "low", "high"]] *= 100
    methods, variants, families = (list(dict.fromkeys(shown[c])) for c in ("method", "variant", "family"))
    look(len(variants) - 1)

    def render(figure: Any) -> None:
        axes = figure.subplots(1, len(families), squeeze=False, sharey=True)[0]
        for axis, family in zip(axes, families, strict=True):
            name_rows(axis, methods)
            axis.axvline(0, color="black", linewidth=0.8)
            for series, (variant, shift) in enumerate(zip(variants, offsets(len(variants)), strict=True)):
                rows = shown[(shown["family"] == family) & (shown["variant"] == variant)]
                at = [methods.index(method) + shift for method in rows["method"]]
                points(axis, at, rows["low"], rows["value"], rows["high"], series, hollow=series > 0)
            axis.set_title(family, loc="left")
            axis.set_xlabel(label)
        legend_below(figure, [axes[0].plot([], [], **_marker(i))[0] for i in range(len(variants))], variants)

    size = (1.35 * WIDTH if len(families) > 1 else WIDTH, 1.0 + 0.36 * len(methods) + legend_height(variants))
    return Plot(name, title, _join("Lines: 95 % intervals.", note), "", shown, render, size)


def sweep(
    numbers: pd.DataFrame,
    *,
    knob: str,
    label: str = "accuracy (%)",
    name: str | None = None,
    title: str | None = None,
    declared: float | None = None,
    log: bool = False,
    percent: bool = True,
    note: str = "",
) -> Plot:
    """A measure against a hyperparameter, a curve with a band for each series (arm or task family, at most 7).

    Args:
        numbers: `series`, `value` (of the hyperparameter), `mean`, `low`, `high`; fractions where `percent`. A series
            without a hyperparameter (GRPO) has the value NaN and is a horizontal line with its interval.
        knob: the hyperparameter's name, for the axis. declared: the paper's value, marked.
    Raises:
        ValueError: a column is missing, more than 7 series, or no row.
    """
    _need(numbers, ("series", "value", "mean", "low", "high"))
    shown = numbers.sort_values(["series", "value"], kind="stable", ignore_index=True)
    if percent:
        shown[["mean", "low", "high"]] *= 100
    series = list(dict.fromkeys(numbers["series"]))
    look(len(series) - 1)

    def render(figure: Any) -> None:
        axis = figure.subplots()
        handles = []
        for place, one in enumerate(series):
            rows = shown[shown["series"] == one]
            if rows["value"].isna().all():
                style = look(place)
                handles.append(axis.axhline(rows["mean"].iloc[0], color=style["color"], linestyle=style["linestyle"]))
                axis.axhspan(rows["low"].iloc[0], rows["high"].iloc[0], color=style["color"], alpha=0.1, linewidth=0)
                continue
            handles += band(axis, rows["value"], rows["low"], rows["mean"], rows["high"], place)
        if declared is not None:
            axis.axvline(declared, color="black", linewidth=0.8, linestyle=":")
        if log:
            axis.set_xscale("log")
        values = sorted(shown["value"].dropna().unique())
        if len(values) <= 8:
            axis.set_xticks(values, [f"{value:g}" for value in values])
            axis.minorticks_off()
        axis.set(xlabel=knob, ylabel=label)
        tidy(axis)
        legend_below(figure, handles, series)

    bands = "Bands: 95 % intervals." if (numbers["high"] > numbers["low"]).any() else ""
    caption = _join(bands, "" if declared is None else f"Dotted: the paper's value, {declared:g}.")
    return Plot(name or f"sweep_{knob.replace(' ', '_').replace('.', '_')}", title or f"Sweep of {knob}",
                _join(caption, note), "", shown, render, (WIDTH, 3.0 + legend_height(series)))  # fmt: skip


def _curves(
    numbers: pd.DataFrame, order: Sequence[str], x: str, xlabel: str, label: str, name: str, title: str, caption: str,
    reference: Sequence[str], *, log: bool = False,
) -> Plot:  # fmt: skip
    """One panel if the arms can be distinguished; else a panel per arm, with the reference arms in grey."""
    held = [arm for arm in reference if arm in order]
    together = len(order) <= MOST
    panels = [list(order)] if together else [[arm, *(r for r in held if r != arm)] for arm in order]
    series = {arm: i for i, arm in enumerate(order)} if together else {}
    columns = 1 if together else COLUMNS
    rows = -(-len(panels) // columns)

    def render(figure: Any) -> None:
        axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        handles: dict[str, Any] = {}
        for axis, arms in zip(axes, panels, strict=False):
            for arm in reversed(arms):
                part = numbers[numbers["arm"] == arm].sort_values(x)
                place = series[arm] if together else (1 if arm == arms[0] else (0, 2, 3)[held.index(arm) % 3])
                (line,) = band(axis, part[x], part["low"], part["mean"], part["high"], place, marker=together)
                handles["this arm" if not together and arm == arms[0] else arm] = line
            tidy(axis)
            if not together:
                axis.set_title(fill(arms[0], 26), loc="left", fontsize=8)
            if list(axes).index(axis) >= len(panels) - columns:  # the lowest panel of its column
                axis.set_xlabel(xlabel, fontsize=9 if together else 8)
                axis.tick_params(labelbottom=True)
            if log:
                axis.set_xscale("log", base=2)
                ks = sorted(numbers[x].unique())
                ticks = ks[:: -(-len(ks) // (10 if together else 4))]
                axis.set_xticks(ticks, [str(k) for k in ticks])
                axis.minorticks_off()
        for axis in axes[len(panels) :]:
            axis.remove()
        for axis in axes[: len(panels) : columns]:
            axis.set_ylabel(label, fontsize=9 if together else 8)
        names = list(order) if together else ["this arm", *held]
        legend_below(figure, [handles[one] for one in names if one in handles], [n for n in names if n in handles])

    names = list(order) if together else ["this arm", *held]
    size = (WIDTH, 3.0) if together else (PANEL[0] * COLUMNS, 0.5 + PANEL[1] * rows)
    return Plot(name, title, caption, "", numbers, render, (size[0], size[1] + legend_height(names)))


def _forest_row(row: dict[Any, Any]) -> ForestRow:
    note = f"{row['difference']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]  {p_words(row['p'])}".rstrip()
    return ForestRow(row["claim"], row["low"], row["difference"], row["high"], OUTCOMES[row["outcome"]], note)


def _marker(series: int) -> dict[str, Any]:
    style = {key: value for key, value in look(series).items() if key != "linestyle"}
    return style | {"linestyle": "none", "markerfacecolor": "white" if series else PALETTE[0]}


def _need(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    if missing := [column for column in columns if column not in frame]:
        raise ValueError(f"expected the columns {', '.join(columns)}; lacks {', '.join(missing)}")
    if frame.empty:
        raise ValueError("expected one row or more, got none")


def _ranges(values: pd.Series) -> str:
    """ "10", or "8 (egsw) to 10"."""
    low, high = values.min(), values.max()
    return f"{high:g}" if low == high else f"{low:g} ({values.idxmin()}) to {high:g}"


def _join(*texts: str) -> str:
    return " ".join(text for text in texts if text)

"""Token entropies: their distribution, along a response, by outcome; and branching factors, as figures.

Sources: arXiv 2506.01939, Fig. 2a; arXiv 2603.28204, Fig. 1a; arXiv 2508.07534, Fig. 1d, 3c, 6a.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis import FORKING_TOKENS, TRIAL_AND_ERROR
from evals.analysis.contrast import measure_side
from evals.analysis.forks import RHO, fork_threshold, top_share
from evals.analysis.token_table import (
    BAND,
    CORRECT,
    TITLES,
    Tables,
    by_bin,
    counted,
    need_columns,
    outcomes,
    position_bins,
    present,
    runs_with,
)
from evals.plots.intervals import name_rows, points
from evals.plots.panels import above_zero, band_panels, size
from evals.plots.parts import legend_below
from evals.plots.plot import WIDTH, Plot, look, tidy

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.5, 0.8, 0.95)


def shares(values: ArrayLike, edges: ArrayLike) -> pd.DataFrame:
    """The share of the values in each bin [from, to), the last one closed: `from`, `to`, `count`, `share`.

    Raises:
        ValueError: no values, or one outside the edges.
    """
    import pandas as pd

    array, ends = np.asarray(values, float), np.asarray(edges, float)
    if not len(array):
        raise ValueError("values: expected at least one")
    if not ((array >= ends[0]) & (array <= ends[-1])).all():
        raise ValueError(f"values: expected all of them from {ends[0]} to {ends[-1]}")
    counts = np.histogram(array, ends)[0]
    return pd.DataFrame({"from": ends[:-1], "to": ends[1:], "count": counts, "share": counts / len(array)})


def summary(table: pd.DataFrame, *, rho: float = RHO) -> dict[str, Any]:
    """`mean`, `q50`, `q80`, `q95` (nats, over tokens), and `in_forks`: the share of all entropy in the share rho of
    highest-entropy tokens (NaN if all entropies are 0)."""
    values = table["entropy"].to_numpy()
    total = values.sum()
    in_forks = values[top_share(values, rho)].sum() / total if total > 0 else np.nan
    quantiles = {f"q{round(100 * q)}": float(np.quantile(values, q)) for q in QUANTILES}
    return {"mean": values.mean(), **quantiles, "in_forks": in_forks}


def by_position(table: pd.DataFrame, *, count: int = 20) -> pd.DataFrame:
    """Mean entropy by relative position, for each outcome  (arXiv 2508.07534, Fig. 6a).

    Returns:
        `by_bin`'s columns after `outcome`, and `position`, the middle of the bin in (0, 1).
    """
    import pandas as pd

    need_columns(table, ("problem_id", "verdict", "entropy"))
    bins = position_bins(table, count)
    parts = []
    for outcome, rows in outcomes(table).items():
        chosen = rows.to_numpy()
        means = by_bin(table["entropy"][rows], bins[chosen], table["problem_id"][rows], count=count)
        means.insert(0, "outcome", outcome)
        parts.append(means.assign(position=(means["bin"] + 0.5) / count))
    return pd.concat(parts, ignore_index=True)


BIN = 0.1  # nats


def entropy_distribution(names: Sequence[str], tables: Tables, benchmark: str) -> Plot:
    """The distribution of token entropies (arXiv 2506.01939, Fig. 2a; arXiv 2603.28204, Fig. 1a shows one response)."""
    import pandas as pd

    runs = runs_with(names, tables)
    edges = BIN * np.arange(int(max(table["entropy"].max() for table in tables.values()) / BIN) + 2)
    parts = []
    for name in runs:
        values = tables[name]["entropy"]
        histogram = shares(values.clip(lower=0), edges).assign(model=name, fork_threshold=fork_threshold(values))
        parts.append(histogram.assign(**summary(tables[name])))
    numbers = pd.concat(parts, ignore_index=True)
    numbers["share"] = 100 * numbers["share"]
    numbers = numbers.rename(columns={"share": "share of tokens (%)", "from": "from (nats)", "to": "to (nats)"})

    def render(figure: Any) -> None:
        axis = figure.subplots()
        tidy(axis)
        for name in runs:
            rows, style = numbers[numbers["model"] == name], look(names.index(name))
            counts = rows["share of tokens (%)"].where(rows["count"] > 0)
            axis.plot(rows["from (nats)"] + BIN / 2, counts, label=name, **style | {"marker": "", "linewidth": 1.4})
            at = float(rows["fork_threshold"].iloc[0])
            axis.axvline(at, color=style["color"], linestyle=style["linestyle"], linewidth=0.8, alpha=0.7)
        axis.set_yscale("log")
        axis.set_xlim(0, edges[-1])
        axis.set_xlabel("entropy of the next token (nats)")
        axis.set_ylabel(f"tokens (% in {BIN:g} nats, log)")
        legend_below(figure, *axis.get_legend_handles_labels())

    of_forks = "; ".join(
        f"{name}: {at:.2f} nats, {100 * part:.0f} %" if np.isfinite(part) else f"{name}: {at:.2f} nats"
        for name, at, part in numbers.drop_duplicates("model")[["model", "fork_threshold", "in_forks"]].values
    )
    caption = (
        f"{benchmark}. Share of response tokens by the entropy of the model's distribution there (full vocabulary, "
        f"temperature 1). Upright lines: where the {100 * RHO:g} % of highest entropy begin, and what share of all "
        f"entropy they hold ({of_forks}). {counted(tables)}"
    )
    return Plot(f"entropy_distribution_{benchmark}", f"Entropy of tokens on {benchmark}", caption,
                   f"{FORKING_TOKENS}, Fig. 2a", numbers, render, size(runs))  # fmt: skip


def entropy_by_position(names: Sequence[str], tables: Tables, benchmark: str) -> Plot:
    """Mean entropy along a response, separately for correct and incorrect ones (arXiv 2508.07534, Fig. 6a), in 20 parts
    of a response, or fewer if the shortest median length of a run has less than two tokens for each."""
    import pandas as pd

    runs = runs_with(names, tables)
    lengths = (table.query("position == 0")["length"].median() for table in tables.values())
    count = min(20, max(2, int(min(lengths)) // 2))
    numbers = pd.concat([by_position(tables[n], count=count).assign(model=n) for n in runs], ignore_index=True)
    there = present(tables) or ["all"]

    def render(figure: Any) -> None:
        shown = numbers.assign(position=100 * numbers["position"])
        axes = band_panels(figure, shown, names, "outcome", {o: TITLES[o] for o in there}, "position")
        for axis in axes:
            axis.set_xlim(0, 100)
            axis.set_xlabel("position in the response (%)")
        above_zero(axes[0], numbers[numbers["outcome"].isin(there)]["mean"])
        axes[0].set_ylabel("mean entropy (nats)")

    caption = (
        f"{benchmark}. Mean entropy of the tokens of each {100 / count:.3g} % of a response, over problems. {BAND} "
        f"Other responses are wrong, unanswered or truncated. {counted(tables)}"
    )
    return Plot(f"entropy_by_position_{benchmark}", f"Entropy along a response on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, Fig. 6a", numbers, render, size(runs, len(there)))  # fmt: skip


def entropy_by_outcome(names: Sequence[str], tables: Tables, benchmark: str) -> Plot:
    """Mean entropy of correct and of incorrect responses (arXiv 2508.07534, Fig. 3c shows it over training)."""
    numbers = _means(names, tables, "entropy", split=True)
    caption = (
        f"{benchmark}. Mean entropy of the tokens of correct responses (filled) and of others (hollow: wrong, "
        f"unanswered, truncated), over problems, which need not be the same for both. {BAND} {counted(tables)}"
    )
    title = f"Entropy of correct and incorrect responses on {benchmark}"
    return _rows(f"entropy_by_outcome_{benchmark}", title, caption,
                 f"{TRIAL_AND_ERROR}, Fig. 3c", numbers, names, "mean entropy (nats)", 0.0)  # fmt: skip


def branching(names: Sequence[str], tables: Tables, benchmark: str) -> Plot:
    """The mean rollout branching factor of each run (arXiv 2508.07534, Fig. 1d)."""
    numbers = _means(names, tables, "nucleus", split=False)
    caption = (
        f"{benchmark}. Rollout branching factor: the size of the smallest set of tokens that holds 95 % of the "
        f"probability (temperature 1), mean over the tokens of a problem, then over problems. {BAND} {counted(tables)}"
    )
    return _rows(f"branching_factor_{benchmark}", f"Rollout branching factor on {benchmark}", caption,
                 f"{TRIAL_AND_ERROR}, Fig. 1d", numbers, names, "branching factor (tokens)", 1.0)  # fmt: skip


def _means(names: Sequence[str], tables: Tables, column: str, *, split: bool) -> pd.DataFrame:
    """One row per run and outcome: a column's mean over problems with its interval, and its mean over all tokens."""
    import pandas as pd

    rows = []
    for name in runs_with(names, tables):
        table = tables[name]
        for outcome in present(tables) if split else ["all"]:
            chosen = outcomes(table)[outcome]
            side = measure_side(table[column][chosen], table["problem_id"][chosen])
            rows.append((name, outcome, side.mean, side.low, side.high, side.pooled, side.count, side.problems))
    columns = ["model", "outcome", "mean", "low", "high", "pooled", "tokens", "problems"]
    return pd.DataFrame(rows, columns=columns)


def _rows(
    name: str, title: str, caption: str, source: str, numbers: pd.DataFrame, names: Sequence[str], label: str,
    least: float,
) -> Plot:  # fmt: skip
    """One row per run, with a point and an interval for each outcome; the axis starts at `least`."""
    shown = [n for n in names if n in set(numbers["model"])]

    def render(figure: Any) -> None:
        axis = figure.subplots()
        name_rows(axis, shown)
        for row in numbers.to_dict("records"):
            y = shown.index(row["model"]) + {"all": 0.0, CORRECT: -0.12}.get(row["outcome"], 0.12)
            hollow = row["outcome"] not in ("all", CORRECT)
            points(axis, y, max(row["low"], least), row["mean"], row["high"], names.index(row["model"]), hollow=hollow)
        top = numbers["mean"].max() - least
        axis.set_xlim(least - 0.02 * top, least + 1.5 * top if top > 0 else least + 1.0)
        axis.set_xlabel(label)

    return Plot(name, title, caption, source, numbers, render, (WIDTH, 0.9 + 0.5 * len(shown)))


def plot_entropies(names: Sequence[str], tables: Tables, benchmark: str) -> list[Plot]:
    """Every figure of the entropies of the runs' own responses to one benchmark.

    Args:
        names: all runs, the base model first. tables: run -> its reading of its own responses; runs without one are
            excluded.
    Raises:
        ValueError: no table, one without rows, or one of an unknown run.
    """
    return [
        entropy_distribution(names, tables, benchmark),
        entropy_by_position(names, tables, benchmark),
        *([entropy_by_outcome(names, tables, benchmark)] if present(tables) else []),
        branching(names, tables, benchmark),
    ]

"""Token entropies: their distribution, along a response, by outcome, and branching factors, as figures.

Sources: arXiv 2506.01939, Fig. 2a. arXiv 2603.28204, Fig. 1a. arXiv 2508.07534, Fig. 1d, 3c, 6a.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis import FORKING_TOKENS, TRIAL_AND_ERROR
from evals.analysis.forks import RHO, fork_threshold, top_share
from evals.analysis.token_table import (
    BAND,
    TITLES,
    Tables,
    by_bin,
    counted,
    mean_of,
    need_columns,
    outcomes,
    position_bins,
    present,
)
from evals.plots.figures import band_lines, point_rows
from evals.plots.plot import Plot, look

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BIN = 0.1  # nats
NO_BANDS = {"low": np.nan, "high": np.nan}


def shares(values: ArrayLike, edges: ArrayLike) -> pd.DataFrame:
    """The share of the values in each bin [from, to), the last one closed: `middle` of the bin, `count`, `share`.

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
    return pd.DataFrame({"middle": (ends[:-1] + ends[1:]) / 2, "count": counts, "share": counts / len(array)})


def in_forks(entropies: ArrayLike) -> float:
    """The share of all entropy in the forks, or NaN if all entropies are 0."""
    values = np.asarray(entropies, float)
    total = values.sum()
    return float(values[top_share(values)].sum() / total) if total > 0 else float("nan")


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
        means = by_bin(table["entropy"][rows], bins[rows.to_numpy()], table["problem_id"][rows], count=count)
        parts.append(means.assign(outcome=outcome, position=(means["bin"] + 0.5) / count))
    return pd.concat(parts, ignore_index=True)


def entropy_distribution(names: Sequence[str], tables: Tables) -> Plot:
    """The distribution of token entropies (arXiv 2506.01939, Fig. 2a, arXiv 2603.28204, Fig. 1a shows one response)."""
    import pandas as pd

    edges = BIN * np.arange(int(max(table["entropy"].max() for table in tables.values()) / BIN) + 2)
    parts, thresholds, texts = [], {}, []
    for run, table in tables.items():
        histogram = shares(table["entropy"].clip(lower=0), edges).assign(model=run, **NO_BANDS)
        parts.append(histogram.assign(mean=100 * histogram["share"].where(histogram["count"] > 0)))
        thresholds[run] = fork_threshold(table["entropy"])
        texts.append(f"{run}: {thresholds[run]:.2f} nats, {100 * in_forks(table['entropy']):.0f} %")

    def finish(axes: Sequence[Axes]) -> None:
        axes[0].set_yscale("log")
        axes[0].relim()
        axes[0].autoscale()
        for run, at in thresholds.items():
            style = look(names.index(run))
            axes[0].axvline(at, color=style["color"], linestyle=style["linestyle"], linewidth=0.8, alpha=0.7)
        axes[0].set_xlim(0, edges[-1])

    caption = (
        f"Share of response tokens by the entropy of the model's distribution there (full vocabulary, temperature 1). "
        f"Upright lines: where the {100 * RHO:g} % of highest entropy begin, and what share of all entropy they hold "
        f"({'; '.join(texts)}). {counted(tables)}"
    )
    return band_lines(
        "entropy_distribution",
        "Entropy of tokens",
        caption,
        f"{FORKING_TOKENS}, Fig. 2a",
        pd.concat(parts, ignore_index=True),
        names,
        x="middle",
        xlabel="entropy of the next token (nats)",
        panels={"": ""},
        ylabel=f"tokens (% in {BIN:g} nats, log)",
        marker=False,
        finish=finish,
    )


def entropy_by_position(names: Sequence[str], tables: Tables) -> Plot:
    """Mean entropy along a response, separately for correct and incorrect ones (arXiv 2508.07534, Fig. 6a), in 20 parts
    of a response, or fewer if the shortest median length of a run has less than two tokens for each."""
    import pandas as pd

    lengths = (table.query("position == 0")["length"].median() for table in tables.values())
    count = min(20, max(2, int(min(lengths)) // 2))
    numbers = pd.concat([by_position(t, count=count).assign(model=n) for n, t in tables.items()], ignore_index=True)
    caption = (
        f"Mean entropy of the tokens of each {100 / count:.3g} % of a response, over problems. {BAND} "
        f"Incorrect responses are wrong, unanswered or truncated. {counted(tables)}"
    )
    return band_lines(
        "entropy_by_position",
        "Entropy along a response",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 6a",
        numbers.assign(position=100 * numbers["position"]),
        names,
        x="position",
        xlabel="position in the response (%)",
        by="outcome",
        panels=present(tables),
        ylabel="mean entropy (nats)",
        limits=(0.0, np.inf),
    )


def plot_entropies(names: Sequence[str], tables: Tables) -> list[Plot]:
    """Every figure of the entropies of the runs' own responses to one benchmark.

    Args:
        names: all runs, the base model first. tables: run -> its reading of its own responses.
    """
    import pandas as pd

    rows = [
        {"model": run, "measure": column, "outcome": outcome, **mean_of(table[column][c], table["problem_id"][c])}
        for run, table in tables.items()
        for column in ("entropy", "nucleus")
        for outcome, c in outcomes(table).items()
    ]
    numbers = pd.DataFrame(rows)
    entropies, sizes = (numbers[numbers["measure"] == column] for column in ("entropy", "nucleus"))
    caption = f"{{}}, mean over the tokens of a problem, then over problems. {BAND} {counted(tables)}"
    factor = "Rollout branching factor: the size of the smallest set of tokens that holds 95 % of the probability"
    return [
        entropy_distribution(names, tables),
        entropy_by_position(names, tables),
        point_rows(
            "entropy_by_outcome",
            "Entropy of correct and incorrect responses",
            caption.format("Entropy of correct responses and of others (wrong, unanswered, truncated)"),
            f"{TRIAL_AND_ERROR}, Fig. 3c",
            entropies,
            names,
            by="outcome",
            labels=TITLES,
            unit="mean entropy (nats)",
            limits=(0.0, np.inf),
        ),
        point_rows(
            "branching_factor",
            "Rollout branching factor",
            caption.format(f"{factor} (temperature 1)"),
            f"{TRIAL_AND_ERROR}, Fig. 1d",
            sizes,
            names,
            by="outcome",
            labels=TITLES,
            unit="branching factor (tokens)",
            limits=(1.0, np.inf),
        ),
    ]

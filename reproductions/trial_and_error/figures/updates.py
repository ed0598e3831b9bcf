"""Figures of update sizes G_t and of the responses' perplexities (arXiv 2508.07534, Fig. 4b, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.quantities import clipped_weight
from evals.analysis.token_table import (
    BAND,
    TITLES,
    Pairs,
    Tables,
    by_bin,
    counted,
    outcomes,
    perplexities,
    present,
    rank_bins,
    runs_with,
    same_tokens,
)
from evals.grading.verdicts import Verdict
from evals.plots.panels import above_zero, band_panels, panels, size
from evals.plots.parts import legend_below
from evals.plots.plot import Plot, look

if TYPE_CHECKING:
    import pandas as pd


CLIP = 0.2, 0.28  # the paper's range, below and above 1


def update_sizes(names: Sequence[str], tables: Tables, benchmark: str, *, count: int = 10) -> Plot:
    """The update-size proxy G_t by entropy (arXiv 2508.07534, Eq. 4 and Fig. 4b)."""
    import pandas as pd

    runs = runs_with(names, tables)
    parts = []
    for name in runs:
        table = tables[name]
        bins = rank_bins(table["entropy"], count)
        means = by_bin(table["update_size"], bins, table["problem_id"], count=count)
        entropies = by_bin(table["entropy"], bins, table["problem_id"], count=count)["pooled"]
        parts.append(means.assign(model=name, mean_entropy=entropies))
    caption = (
        f"{benchmark}. G_t = |alpha_t| ||e(o_t) - pi|| ||h_t||, the norm of a token's gradient at the output layer, "
        f"for an advantage of one, over problems. Hidden states of different models may differ in scale. {BAND} "
        f"{counted(tables)}"
    )
    return _by_entropy(f"update_size_{benchmark}", f"Update size by entropy on {benchmark}", caption, "Fig. 4b", names,
                       pd.concat(parts, ignore_index=True),
                       ("entropy, from low to high", "update size $G_t$ at $|\\alpha_t| = 1$"))  # fmt: skip


def _by_entropy(
    name: str,
    title: str,
    caption: str,
    place: str,
    names: Sequence[str],
    numbers: pd.DataFrame,
    labels: tuple[str, str],
) -> Plot:
    """Each run's mean by bin of entropy, with its band. place: in the paper. labels: of the two axes."""
    bins = sorted(numbers["bin"].unique() + 1)

    def render(figure: Any) -> None:
        shown = numbers.assign(part=numbers["bin"] + 1, panel="")
        (axis,) = band_panels(figure, shown, names, "panel", {"": ""}, "part")
        above_zero(axis, numbers["mean"])
        axis.set_xticks(bins)
        axis.set_xlabel(f"{labels[0]} ({len(bins)} parts of the tokens)")
        axis.set_ylabel(labels[1])

    runs = list(dict.fromkeys(numbers["model"]))
    return Plot(name, title, caption, f"{TRIAL_AND_ERROR}, {place}", numbers, render, size(runs))


def step_weights(
    before: pd.DataFrame, after: pd.DataFrame, *, clip_low: float = CLIP[0], clip_high: float = CLIP[1]
) -> pd.Series:
    """alpha_t of each token (`quantities.clipped_weight`), from the run's ratio and a group-relative advantage.

    The ratio is p_after / p_before, over a whole training instead of one update. The advantage is GRPO's,
    (correct - mean) / std over the scored responses to a problem (0 if all are equal).

    Returns:
        by token, indexed as `before`; NaN for unscored responses.
    Raises:
        ValueError: as `same_tokens`.
    """
    import pandas as pd
    import torch

    ratio = np.exp(same_tokens(before, after)["logp"] - before["logp"])
    responses = before.drop_duplicates(["problem_id", "sample"]).set_index(["problem_id", "sample"])["verdict"]
    correct: pd.Series[float] = (responses == Verdict.CORRECT).astype(float)
    reward = correct.where(responses != Verdict.UNSCORED)
    groups = reward.groupby(level="problem_id")
    spread = groups.transform("std")
    advantage = ((reward - groups.transform("mean")) / spread.where(spread > 0)).where(
        reward.isna() | (spread > 0), 0.0
    )
    of_token = advantage.reindex(pd.MultiIndex.from_frame(before[["problem_id", "sample"]])).to_numpy(float)
    pair = torch.tensor(np.asarray(ratio, dtype=float)), torch.tensor(of_token)
    weights = clipped_weight(*pair, clip_low=clip_low, clip_high=clip_high).numpy()
    return pd.Series(weights, before.index)


def weighted_update_sizes(
    names: Sequence[str], pairs: Pairs, benchmark: str, *, count: int = 10, read: str = "the same responses"
) -> Plot:
    """G_t with its weight |alpha_t|, by entropy (arXiv 2508.07534, Eq. 4, A.1 and Fig. 4)."""
    import pandas as pd

    before = {name: tables[0] for name, tables in pairs.items()}
    parts, clipped = [], []
    for name in runs_with(names, before):
        table, after = pairs[name]
        weight = step_weights(table, after)
        scored = weight.notna()
        weighted = (weight.abs() * table["update_size"])[scored]
        bins = rank_bins(table["entropy"][scored], count)
        parts.append(by_bin(weighted, bins, table["problem_id"][scored], count=count).assign(model=name))
        clipped.append(f"{name}: {100 * (weight[scored] == 0).mean():.0f} %")
    caption = (
        f"{benchmark}. G_t = |alpha_t| ||e(o_t) - pi|| ||h_t|| under {names[0]}, which reads {read}. alpha_t is the "
        f"derivative of GRPO's clipped objective (clip {1 - CLIP[0]:g} to {1 + CLIP[1]:g}): ratio of the run's "
        f"probability to that of {names[0]}, times the group-relative advantage of the response. Tokens of weight 0 "
        f"(clipped, or a group of equal rewards): {'; '.join(clipped)}. Unscored responses are excluded. {BAND} "
        f"{counted(before)}"
    )
    title = f"Update size with weight, by entropy, on {benchmark}"
    return _by_entropy(f"weighted_update_size_{benchmark}", title, caption, "Fig. 4", names,
                       pd.concat(parts, ignore_index=True),
                       ("entropy before, from low to high", "update size $G_t$ with weight"))  # fmt: skip


def perplexity(names: Sequence[str], tables: Tables, benchmark: str) -> Plot:
    """The perplexity distributions of correct and incorrect responses (arXiv 2508.07534, section 3.3, Fig. 5)."""
    import pandas as pd

    runs = runs_with(names, tables)
    there = present(tables) or ["all"]
    parts = []
    for name in runs:
        for outcome in there:
            values = np.sort(perplexities(tables[name][outcomes(tables[name])[outcome]]).to_numpy())
            at_most = 100 * np.arange(1, len(values) + 1) / max(1, len(values))
            parts.append(
                pd.DataFrame({"model": name, "outcome": outcome, "perplexity": values, "at most (%)": at_most})
            )
    numbers = pd.concat(parts, ignore_index=True)

    def render(figure: Any) -> None:
        axes = panels(figure, [TITLES[o] for o in there])
        for axis, outcome in zip(axes, there, strict=True):
            for name in runs:
                rows = numbers[(numbers["model"] == name) & (numbers["outcome"] == outcome)]
                style = look(names.index(name)) | {"marker": "", "linewidth": 1.4}
                axis.step(rows["perplexity"], rows["at most (%)"], where="post", label=name, **style)
            axis.set_xlim(1, float(numbers["perplexity"].quantile(0.99)) * 1.02)
            axis.set_xlabel("perplexity of the response")
        axes[0].set_ylim(0, 101)
        axes[0].set_ylabel("responses with at most that (%)")
        legend_below(figure, *axes[0].get_legend_handles_labels())

    caption = (
        f"{benchmark}. Perplexity exp(-mean log-probability of a response's tokens) under the run that gave it, at "
        f"temperature 1; the axis ends at the 99 % quantile. {counted(tables)}"
    )
    return Plot(f"perplexity_{benchmark}", f"Perplexity of responses on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, section 3.3", numbers, render,
                   size(runs, len(there)))  # fmt: skip

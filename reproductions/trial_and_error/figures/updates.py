"""Figures of update sizes G_t and of the responses' perplexities (arXiv 2508.07534, Fig. 4b, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.tokens.changes import Pairs
from evals.analysis.tokens.quantities import clipped_weight
from evals.analysis.tokens.token_table import (
    BAND,
    TITLES,
    Tables,
    above_zero,
    band_line,
    by_bin,
    counted,
    legend,
    number_of,
    outcomes,
    panels,
    perplexities,
    present,
    rank_bins,
    same_tokens,
)
from evals.analysis.tokens.token_table import size as size_of
from evals.grading.verdicts import Verdict
from evals.plots.parts import line_look
from evals.plots.plot import Plot, tidy

if TYPE_CHECKING:
    import pandas as pd


CLIP = 0.2, 0.28  # the paper's range, below and above 1


def update_sizes(names: Sequence[str], tables: Tables, benchmark: str, *, count: int = 10) -> Plot:
    """The update-size proxy G_t by entropy (arXiv 2508.07534, Eq. 4 and Fig. 4b)."""
    import pandas as pd

    held = number_of(names, tables)
    parts = []
    for _, name in held:
        table = tables[name]
        bins = rank_bins(table["entropy"], count)
        means = by_bin(table["update_size"], bins, table["problem_id"], count=count)
        entropies = by_bin(table["entropy"], bins, table["problem_id"], count=count)["pooled"]
        parts.append(means.assign(model=name, mean_entropy=entropies))
    numbers = pd.concat(parts, ignore_index=True)

    render = _lines_by_entropy(
        held, numbers, count, "entropy, from low to high", "update size $G_t$ at $|\\alpha_t| = 1$"
    )
    caption = (
        f"{benchmark}. G_t = |alpha_t| ||e(o_t) - pi|| ||h_t||, the norm of a token's gradient at the output layer, "
        f"for an advantage of one, over problems. Hidden states of different models may differ in scale. {BAND} "
        f"{counted(tables)}"
    )
    return Plot(f"update_size_{benchmark}", f"Update size by entropy on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, Fig. 4b", numbers, render, size_of([n for _, n in held]))  # fmt: skip


def _lines_by_entropy(
    held: Sequence[tuple[int, str]], numbers: pd.DataFrame, count: int, x: str, y: str
) -> Callable[[Any], None]:
    """Plot each run's mean by bin of entropy, with its band."""

    def render(figure: Any) -> None:
        axis = figure.subplots()
        tidy(axis)
        for number, name in held:
            rows = numbers[numbers["model"] == name]
            band_line(axis, number, rows["bin"] + 1, rows, name)
        above_zero(axis, numbers["mean"])
        axis.set_xticks(range(1, count + 1))
        axis.set_xlabel(f"{x} ({count} parts of the tokens)")
        axis.set_ylabel(y)
        legend(figure, axis)

    return render


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
    held = number_of(names, before)
    parts, clipped = [], []
    for _, name in held:
        table, after = pairs[name]
        weight = step_weights(table, after)
        known = weight.notna()
        moved = known & (table["verdict"] != Verdict.UNSCORED)
        size = (weight.abs() * table["update_size"])[known]
        bins = rank_bins(table["entropy"][known], count)
        means = by_bin(size, bins, table["problem_id"][known], count=count)
        parts.append(means.assign(model=name))
        clipped.append(f"{name}: {100 * (weight[moved] == 0).mean():.0f} %")
    numbers = pd.concat(parts, ignore_index=True)

    render = _lines_by_entropy(
        held, numbers, count, "entropy before, from low to high", "update size $G_t$ with weight"
    )
    caption = (
        f"{benchmark}. G_t = |alpha_t| ||e(o_t) - pi|| ||h_t|| under {names[0]}, which reads {read}. alpha_t is the "
        f"derivative of GRPO's clipped objective (clip {1 - CLIP[0]:g} to {1 + CLIP[1]:g}): ratio of the run's "
        f"probability to that of {names[0]}, times the group-relative advantage of the response. Tokens of weight 0 "
        f"(clipped, or a group of equal rewards): {'; '.join(clipped)}. Unscored responses are excluded. {BAND} "
        f"{counted(before)}"
    )
    return Plot(f"weighted_update_size_{benchmark}", f"Update size with weight, by entropy, on {benchmark}", caption,
                f"{TRIAL_AND_ERROR}, Fig. 4", numbers, render, size_of([n for _, n in held]))  # fmt: skip


def perplexity(names: Sequence[str], tables: Tables, benchmark: str) -> Plot:
    """The perplexity distributions of correct and incorrect responses (arXiv 2508.07534, section 3.3, Fig. 5)."""
    import pandas as pd

    held = number_of(names, tables)
    there = present(tables) or ["all"]
    parts = []
    for _, name in held:
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
            for number, name in held:
                rows = numbers[(numbers["model"] == name) & (numbers["outcome"] == outcome)]
                style = line_look(number, len(rows)) | {"marker": ""}
                axis.step(rows["perplexity"], rows["at most (%)"], where="post", label=name, **style)
            axis.set_xlim(1, float(numbers["perplexity"].quantile(0.99)) * 1.02)
            axis.set_xlabel("perplexity of the response")
        axes[0].set_ylim(0, 101)
        axes[0].set_ylabel("responses with at most that (%)")
        legend(figure, axes[0])

    caption = (
        f"{benchmark}. Perplexity exp(-mean log-probability of a response's tokens) under the run that gave it, at "
        f"temperature 1; the axis ends at the 99 % quantile. {counted(tables)}"
    )
    return Plot(f"perplexity_{benchmark}", f"Perplexity of responses on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, section 3.3", numbers, render,
                   size_of([n for _, n in held], len(there)))  # fmt: skip

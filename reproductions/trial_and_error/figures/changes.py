"""Changes of token probabilities between two checkpoints that read the same responses.

before, after = token_table(answers, base), token_table(answers, trained)
probability_change(before, after)     # arXiv 2508.07534, section 3.2.2, Fig. 4 and 5a
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.entropies import shares
from evals.analysis.forks import RHO, top_share
from evals.analysis.token_table import (
    BAND,
    TITLES,
    Pairs,
    by_bin,
    counted,
    outcomes,
    perplexity_bins,
    position_bins,
    present,
    rank_bins,
    runs_with,
    same_tokens,
)
from evals.plots.panels import band_panels, panels, size
from evals.plots.parts import legend_below
from evals.plots.plot import Plot, look

if TYPE_CHECKING:
    import pandas as pd

BINS = {"entropy": 10, "perplexity": 5, "position": 10}


def probability_change(before: pd.DataFrame, after: pd.DataFrame) -> pd.Series:
    """p_after - p_before of each token, in [-1, 1]; indexed as `before`.

    Raises:
        ValueError: as `same_tokens`.
    """
    p_after, p_before = np.exp(same_tokens(before, after)["logp"]), np.exp(before["logp"])
    change: pd.Series = p_after - p_before
    return change


def concentration(before: pd.DataFrame, change: pd.Series, *, share: float = RHO) -> pd.DataFrame:
    """The largest probability changes by entropy, by the response's perplexity, and by position.

    A token counts as changed if |change| is above 0 and among the `share` largest (ties included). If changes were
    spread evenly, this share of the tokens of every bin would be changed.

    Args:
        before: gives the entropies and perplexities before the change. change: `probability_change`.
    Returns:
        `by`, then `by_bin` of being changed (fractions), and `mean_change`: mean |change| of the bin's tokens. Bins are
        tenths of the tokens by entropy, fifths of the responses by perplexity, tenths of a response's length.
    """
    import pandas as pd

    moved = change.abs().to_numpy()
    changed = top_share(moved, share) & (moved > 0)
    bins = {
        "entropy": rank_bins(before["entropy"], BINS["entropy"]),
        "perplexity": perplexity_bins(before, BINS["perplexity"]),
        "position": position_bins(before, BINS["position"]),
    }
    parts = []
    for by, numbers in bins.items():
        by_place = by_bin(changed, numbers, before["problem_id"], count=BINS[by], bounds=(0.0, 1.0))
        sizes = by_bin(moved, numbers, before["problem_id"], count=BINS[by])
        by_place.insert(0, "by", by)
        parts.append(by_place.assign(mean_change=sizes["pooled"]))
    return pd.concat(parts, ignore_index=True)


STABLE = 0.06  # "over 99 % of tokens" change by less, section 3.2.2
STEP = 0.05
AXES = {
    "entropy": "entropy before (tenths of tokens)",
    "perplexity": "response's perplexity (fifths)",
    "position": "position (tenths)",
}


def change_distribution(
    names: Sequence[str], pairs: Pairs, benchmark: str, *, read: str = "the same responses"
) -> Plot:
    """How far each token's probability moved, in correct and in incorrect responses (arXiv 2508.07534, Fig. 4a)."""
    import pandas as pd

    runs = runs_with(names, _before(pairs))
    there = present(_before(pairs)) or ["all"]
    edges = np.linspace(-1, 1, round(2 / STEP) + 1)
    parts, stable = [], []
    for name in runs:
        before, after = pairs[name]
        change = probability_change(before, after)
        stable.append(f"{name}: {100 * (change.abs() < STABLE).mean():.1f} %")
        for outcome in there:
            chosen = outcomes(before)[outcome]
            if chosen.any():
                counts = shares(change[chosen].clip(-1, 1), edges)
                parts.append(counts.assign(model=name, outcome=outcome, mean_change=change[chosen].mean()))
    numbers = pd.concat(parts, ignore_index=True).assign(share=lambda f: 100 * f["share"])
    numbers = numbers.rename(columns={"share": "share of tokens (%)"})

    def render(figure: Any) -> None:
        axes = panels(figure, [TITLES[o] for o in there])
        for axis, outcome in zip(axes, there, strict=True):
            for name in runs:
                rows = numbers[(numbers["model"] == name) & (numbers["outcome"] == outcome)]
                style = look(names.index(name)) | {"marker": "", "linewidth": 1.4}
                axis.plot(rows["from"] + STEP / 2, rows["share of tokens (%)"].where(rows["count"] > 0),
                          label=name, **style)  # fmt: skip
            axis.set_xlim(-1, 1)
            axis.set_xlabel("change of probability")
        axes[0].set_yscale("log")
        axes[0].set_ylabel(f"tokens (% in {STEP:g}, log)")
        legend_below(figure, *axes[0].get_legend_handles_labels())

    caption = (
        f"{benchmark}. Probability of each token under the run less that under {names[0]}, both reading {read}; tokens "
        f"that moved by less than {STABLE:g}: {'; '.join(stable)}. Gaps: no token. {counted(_before(pairs))}"
    )
    return Plot(f"probability_change_{benchmark}", f"Change of token probabilities on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, Fig. 4a", numbers, render, size(runs, len(there)))  # fmt: skip


def change_concentration(
    names: Sequence[str], pairs: Pairs, benchmark: str, *, read: str = "the same responses"
) -> Plot:
    """Where the largest probability changes are (arXiv 2508.07534, Fig. 4b: entropy; Fig. 5a: perplexity; position)."""
    import pandas as pd

    runs = runs_with(names, _before(pairs))
    parts = []
    for name in runs:
        before, after = pairs[name]
        parts.append(concentration(before, probability_change(before, after)).assign(model=name))
    numbers = pd.concat(parts, ignore_index=True)
    numbers[["mean", "low", "high", "pooled"]] *= 100

    def render(figure: Any) -> None:
        shown = numbers.assign(part=numbers["bin"] + 1)
        axes = band_panels(figure, shown, names, "by", {by: by for by in BINS}, "part")
        for axis, (by, count) in zip(axes, BINS.items(), strict=True):
            axis.axhline(100 * RHO, color="black", linewidth=0.8, linestyle=":")
            axis.set_xticks(range(1, count + 1, 1 if count < 6 else 3))
            axis.set_xlabel(AXES[by], fontsize=8)
        axes[0].set_ylim(0, min(100.0, max(1.5 * numbers["mean"].max(), 150 * RHO)))
        axes[0].set_ylabel("tokens that moved most (%)")

    caption = (
        f"{benchmark}. Of the tokens of each part, those among the {100 * RHO:g} % whose probability moved most "
        f"between {names[0]} and the run, both reading {read}; over problems. Dotted: changes spread evenly. Parts go "
        f"from low to high: tenths of all tokens by entropy and fifths of the responses by perplexity (both under "
        f"{names[0]}), tenths of a response. {BAND} "
        f"{counted(_before(pairs))}"
    )
    return Plot(f"change_concentration_{benchmark}", f"Where token probabilities change on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, Fig. 4b, 5a", numbers, render, size(runs, 3))  # fmt: skip


def _before(pairs: Pairs) -> dict[str, pd.DataFrame]:
    return {name: before for name, (before, _) in pairs.items()}

"""Token probabilities of two checkpoints that read the same responses, and update sizes (arXiv 2508.07534).

before, after = token_table(answers, base), token_table(answers, trained)
probability_change(before, after)     # Fig. 4 and 5a
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.entropies import NO_BANDS, shares
from evals.analysis.forks import RHO, top_share
from evals.analysis.token_table import (
    BAND,
    Pairs,
    Tables,
    by_bin,
    counted,
    outcomes,
    perplexity_bins,
    position_bins,
    present,
    rank_bins,
    same_tokens,
)
from evals.plots.figures import band_lines
from evals.plots.plot import Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BINS = {"entropy": 10, "perplexity": 5, "position": 10}
PARTS = {
    "entropy": "by entropy before (tenths of the tokens)",
    "perplexity": "by the response's perplexity (fifths)",
    "position": "by position (tenths of a response)",
}
STABLE = 0.06  # "over 99 % of tokens" change by less, section 3.2.2
STEP = 0.05
TENTHS = 10


def probability_change(before: pd.DataFrame, after: pd.DataFrame) -> pd.Series:
    """p_after - p_before of each token, in [-1, 1]. Indexed as `before`.

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
        `by`, then `by_bin` of being changed (fractions). Bins are tenths of the tokens by entropy, fifths of the
        responses by perplexity, tenths of a response's length.
    """
    import pandas as pd

    moved = change.abs().to_numpy()
    changed = top_share(moved, share) & (moved > 0)
    bins = {
        "entropy": rank_bins(before["entropy"], BINS["entropy"]),
        "perplexity": perplexity_bins(before, BINS["perplexity"]),
        "position": position_bins(before, BINS["position"]),
    }
    parts = [
        by_bin(changed, numbers, before["problem_id"], count=BINS[by], bounds=(0.0, 1.0)).assign(by=by)
        for by, numbers in bins.items()
    ]
    return pd.concat(parts, ignore_index=True)


def change_distribution(names: Sequence[str], pairs: Pairs) -> Plot:
    """How far each token's probability moved, in correct and in incorrect responses (arXiv 2508.07534, Fig. 4a)."""
    import pandas as pd

    measured = present(_before(pairs))
    edges = np.linspace(-1, 1, round(2 / STEP) + 1)
    parts, stable = [], []
    for run, (before, after) in pairs.items():
        change = probability_change(before, after)
        stable.append(f"{run}: {100 * (change.abs() < STABLE).mean():.1f} %")
        for outcome in measured:
            chosen = outcomes(before)[outcome]
            if chosen.any():
                counts = shares(change[chosen].clip(-1, 1), edges).assign(model=run, outcome=outcome, **NO_BANDS)
                parts.append(counts.assign(mean=100 * counts["share"].where(counts["count"] > 0)))

    def finish(axes: Sequence[Axes]) -> None:
        for axis in axes:
            axis.set_yscale("log")
            axis.relim()
            axis.autoscale()
            axis.set_xlim(-1, 1)

    caption = (
        f"Probability of each token under the run less that under {names[0]}, both reading the responses of the "
        f"former; tokens that moved by less than {STABLE:g}: {'; '.join(stable)}. Gaps: no token. "
        f"{counted(_before(pairs))}"
    )
    return band_lines(
        "probability_change",
        "Change of token probabilities",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 4a",
        pd.concat(parts, ignore_index=True),
        names,
        x="middle",
        xlabel="change of probability",
        by="outcome",
        panels=measured,
        ylabel=f"tokens (% in {STEP:g}, log)",
        marker=False,
        finish=finish,
    )


def change_concentration(names: Sequence[str], pairs: Pairs) -> Plot:
    """Where the largest probability changes are (arXiv 2508.07534, Fig. 4b: entropy, Fig. 5a: perplexity, position)."""
    import pandas as pd

    parts = [concentration(b, probability_change(b, a)).assign(model=run) for run, (b, a) in pairs.items()]
    numbers = pd.concat(parts, ignore_index=True).assign(part=lambda f: f["bin"] + 1)
    numbers[["mean", "low", "high", "pooled"]] *= 100

    def finish(axes: Sequence[Axes]) -> None:
        for axis in axes:
            axis.axhline(100 * RHO, color="black", linewidth=0.8, linestyle=":")
            axis.set_ylim(top=max(axis.get_ylim()[1], 150 * RHO))

    caption = (
        f"Of the tokens of each part, those among the {100 * RHO:g} % whose probability moved most between {names[0]} "
        f"and the run, both reading the responses of {names[0]}; over problems. Dotted: changes spread evenly. Entropy "
        f"and perplexity are those under {names[0]}. {BAND} {counted(_before(pairs))}"
    )
    return band_lines(
        "change_concentration",
        "Where token probabilities change",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 4b, 5a",
        numbers,
        names,
        x="part",
        xlabel="part, from low to high",
        by="by",
        panels=PARTS,
        ylabel="tokens that moved most (%)",
        limits=(0.0, 100.0),
        finish=finish,
    )


def update_sizes(names: Sequence[str], tables: Tables) -> Plot:
    """The update-size proxy G_t by entropy (arXiv 2508.07534, Eq. 4 and Fig. 4b)."""
    import pandas as pd

    parts = []
    for run, table in tables.items():
        tenth = rank_bins(table["entropy"], TENTHS)
        parts.append(by_bin(table["update_size"], tenth, table["problem_id"], count=TENTHS).assign(model=run))
    numbers = pd.concat(parts, ignore_index=True).assign(part=lambda f: f["bin"] + 1)
    caption = (
        "G_t = |alpha_t| ||e(o_t) - pi|| ||h_t||, the norm of a token's gradient at the output layer, for an advantage "
        f"of one, over problems. Hidden states of different models may differ in scale. {BAND} {counted(tables)}"
    )
    return band_lines(
        "update_size",
        "Update size by entropy",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 4b",
        numbers,
        names,
        x="part",
        xlabel="tenth of the tokens by entropy, from low to high",
        panels={"": ""},
        ylabel="update size $G_t$ at $|\\alpha_t| = 1$",
        limits=(0.0, np.inf),
    )


def _before(pairs: Pairs) -> dict[str, pd.DataFrame]:
    return {name: before for name, (before, _) in pairs.items()}

"""Figures of what training changed or would change: token probabilities, update sizes, perplexities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.interventions.selection import perplexities
from evals.analysis.tokens.binned import by_bin, rank_bins
from evals.analysis.tokens.checkpoints import BINS, concentration, probability_change
from evals.analysis.tokens.entropy_shape import shares
from evals.analysis.tokens.forks import RHO
from evals.analysis.tokens.outcomes import outcomes
from evals.analysis.tokens.plot_parts import (
    BAND,
    TITLES,
    TRIAL_AND_ERROR,
    Tables,
    above_zero,
    band_line,
    counted,
    legend,
    number_of,
    panels,
    present,
    size,
)
from evals.plots.drawing import Drawing, tidy
from evals.plots.parts import line_look

if TYPE_CHECKING:
    import pandas as pd

Pairs = Mapping[str, "tuple[pd.DataFrame, pd.DataFrame]"]  # name -> the same responses read before and after
STABLE = 0.06  # "over 99 % of tokens" change by less, section 3.2.2
STEP = 0.05
AXES = {
    "entropy": "entropy before (tenths of tokens)",
    "perplexity": "response's perplexity (fifths)",
    "position": "position (tenths)",
}


def change_distribution(
    names: Sequence[str], pairs: Pairs, benchmark: str, *, read: str = "the same responses"
) -> Drawing:
    """How far each token's probability moved, in right and in other responses (arXiv 2508.07534, Fig. 4a)."""
    import pandas as pd

    held = number_of(names, _before(pairs))
    there = present(_before(pairs)) or ["all"]
    edges = np.linspace(-1, 1, round(2 / STEP) + 1)
    parts, stable = [], []
    for _, name in held:
        before, after = pairs[name]
        change = probability_change(before, after)
        stable.append(f"{name}: {100 * (change.abs() < STABLE).mean():.1f} %")
        for outcome in there:
            chosen = outcomes(before)[outcome]
            if chosen.any():
                found = shares(change[chosen].clip(-1, 1), edges)
                parts.append(found.assign(model=name, outcome=outcome, mean_change=change[chosen].mean()))
    numbers = pd.concat(parts, ignore_index=True).assign(share=lambda f: 100 * f["share"])
    numbers = numbers.rename(columns={"share": "share of tokens (%)"})

    def draw(figure: Any) -> None:
        axes = panels(figure, [TITLES[o] for o in there])
        for axis, outcome in zip(axes, there, strict=True):
            for number, name in held:
                rows = numbers[(numbers["model"] == name) & (numbers["outcome"] == outcome)]
                style = line_look(number, len(rows)) | {"marker": ""}
                axis.plot(rows["from"] + STEP / 2, rows["share of tokens (%)"].where(rows["count"] > 0),
                          label=name, **style)  # fmt: skip
            axis.set_xlim(-1, 1)
            axis.set_xlabel("change of probability")
        axes[0].set_yscale("log")
        axes[0].set_ylabel(f"tokens (% in {STEP:g}, log)")
        legend(figure, axes[0])

    caption = (
        f"{benchmark}. Probability of each token under the run less that under {names[0]}, both reading {read}; tokens "
        f"that moved by less than {STABLE:g}: {'; '.join(stable)}. Gaps: no token. {counted(_before(pairs))}"
    )
    return Drawing(f"probability_change_{benchmark}", f"Change of token probabilities on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, Fig. 4a", numbers, draw, size([n for _, n in held], len(there)))  # fmt: skip


def change_concentration(
    names: Sequence[str], pairs: Pairs, benchmark: str, *, share: float = RHO, read: str = "the same responses"
) -> Drawing:
    """Where the largest probability changes are (arXiv 2508.07534, Fig. 4b: entropy; Fig. 5a: perplexity; position)."""
    import pandas as pd

    held = number_of(names, _before(pairs))
    parts = []
    for _, name in held:
        before, after = pairs[name]
        parts.append(concentration(before, probability_change(before, after), share=share).assign(model=name))
    numbers = pd.concat(parts, ignore_index=True)
    numbers[["mean", "low", "high", "pooled"]] *= 100

    def draw(figure: Any) -> None:
        axes = panels(figure, list(BINS))
        for axis, (by, count) in zip(axes, BINS.items(), strict=True):
            for number, name in held:
                rows = numbers[(numbers["model"] == name) & (numbers["by"] == by)]
                band_line(axis, number, rows["bin"] + 1, rows, name)
            axis.axhline(100 * share, color="black", linewidth=0.8, linestyle=":")
            axis.set_xticks(range(1, count + 1, 1 if count < 6 else 3))
            axis.set_xlabel(AXES[by], fontsize=8)
        axes[0].set_ylim(0, min(100.0, max(1.5 * numbers["mean"].max(), 150 * share)))
        axes[0].set_ylabel("tokens that moved most (%)")
        legend(figure, axes[0])

    caption = (
        f"{benchmark}. Of the tokens of each part, those among the {100 * share:g} % whose probability moved most "
        f"between {names[0]} and the run, both reading {read}; over problems. Dotted: changes spread evenly. Parts go "
        f"from low to high: tenths of all tokens by entropy and fifths of the responses by perplexity (both under "
        f"{names[0]}), tenths of a response. {BAND} "
        f"{counted(_before(pairs))}"
    )
    return Drawing(f"change_concentration_{benchmark}", f"Where token probabilities change on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, Fig. 4b, 5a", numbers, draw, size([n for _, n in held], 3))  # fmt: skip


def update_sizes(names: Sequence[str], tables: Tables, benchmark: str, *, count: int = 10) -> Drawing:
    """The update-size proxy G_t by entropy (arXiv 2508.07534, Eq. 4 and Fig. 4b)."""
    import pandas as pd

    held = number_of(names, tables)
    parts = []
    for _, name in held:
        table = tables[name]
        bins = rank_bins(table["entropy"], count)
        found = by_bin(table["update_size"], bins, table["problem_id"], count=count)
        entropies = by_bin(table["entropy"], bins, table["problem_id"], count=count)["pooled"]
        parts.append(found.assign(model=name, mean_entropy=entropies))
    numbers = pd.concat(parts, ignore_index=True)

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        tidy(axis)
        for number, name in held:
            rows = numbers[numbers["model"] == name]
            band_line(axis, number, rows["bin"] + 1, rows, name)
        above_zero(axis, numbers["mean"])
        axis.set_xticks(range(1, count + 1))
        axis.set_xlabel(f"entropy, from low to high ({count} parts of the tokens)")
        axis.set_ylabel("update size $G_t$ at $|\\alpha_t| = 1$")
        legend(figure, axis)

    caption = (
        f"{benchmark}. G_t = |alpha_t| ||e(o_t) - pi|| ||h_t||, the norm of a token's gradient at the output layer, "
        f"for an advantage of one, over problems. Hidden states of different models may differ in scale. {BAND} "
        f"{counted(tables)}"
    )
    return Drawing(f"update_size_{benchmark}", f"Update size by entropy on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, Fig. 4b", numbers, draw, size([n for _, n in held]))  # fmt: skip


def perplexity(names: Sequence[str], tables: Tables, benchmark: str) -> Drawing:
    """The distribution of the responses' perplexities, right and other ones (arXiv 2508.07534, section 3.3, Fig. 5)."""
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

    def draw(figure: Any) -> None:
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
    return Drawing(f"perplexity_{benchmark}", f"Perplexity of responses on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, section 3.3", numbers, draw,
                   size([n for _, n in held], len(there)))  # fmt: skip


def _before(pairs: Pairs) -> dict[str, pd.DataFrame]:
    return {name: before for name, (before, _) in pairs.items()}

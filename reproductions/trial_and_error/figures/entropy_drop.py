"""Do the fastest-dropping tokens come from correct or incorrect responses? (arXiv 2508.07534, Fig. 3c.)

"The bar chart shows the sample distribution of the top 20% tokens exhibiting the fastest entropy drop": those that
occur only in incorrect responses, only in correct ones, or in both. The paper does not say how it measures a token's
drop. Here checkpoints read the same responses, and the drop of a vocabulary token is the slope of a straight line
fitted to its mean entropies over the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.forks import top_share
from evals.analysis.token_table import CORRECT, INCORRECT, counted, outcomes, same_tokens
from evals.plots.intervals import name_rows
from evals.plots.panels import size
from evals.plots.parts import legend_below
from evals.plots.plot import WIDTH, Plot, look, tidy

if TYPE_CHECKING:
    import pandas as pd

FASTEST = 0.2  # the paper's share
LEAST = 5  # ours: the minimum number of occurrences of a token
SHOWN = 15  # tokens in a list
BOTH = "both"
PLACES = (CORRECT, INCORRECT, BOTH)


def entropy_slopes(readings: Mapping[int, pd.DataFrame], *, minimum: int = LEAST) -> pd.DataFrame:
    """Every vocabulary token that occurs at least `minimum` times, with the change of its entropy.

    Args:
        readings: step -> the token table of the same responses, read by the checkpoint of that step; two steps or more.
        minimum: occurrences in scored responses.
    Returns:
        token_id; token (one of its texts); count; place ("correct": only in correct responses, "incorrect", "both");
        slope (nats per step).
    Raises:
        ValueError: fewer than two steps, or as `same_tokens`.
    """
    import pandas as pd

    if len(readings) < 2:
        raise ValueError(f"readings: expected two steps or more, got {len(readings)}")
    steps = np.array(sorted(readings), float)
    first = readings[int(steps[0])]
    outcome = outcomes(first)
    scored = outcome[CORRECT] | outcome[INCORRECT]
    ids = first["token_id"][scored]
    means = pd.DataFrame(
        {step: same_tokens(first, readings[int(step)])["entropy"][scored].groupby(ids).mean() for step in steps}
    )
    away = steps - steps.mean()
    slopes = pd.DataFrame({"slope": means.to_numpy() @ away / (away @ away)}, index=means.index)
    correct = outcome[CORRECT][scored].groupby(ids).mean()
    slopes["place"] = np.select([correct == 1, correct == 0], [CORRECT, INCORRECT], BOTH)
    slopes["count"], slopes["token"] = ids.groupby(ids).size(), first["token"][scored].groupby(ids).first()
    slopes = slopes[slopes["count"] >= minimum].rename_axis("token_id").reset_index()
    return slopes[["token_id", "token", "count", "place", "slope"]]


def fastest_drops(slopes: pd.DataFrame, *, share: float = FASTEST) -> pd.DataFrame:
    """The places of the fastest-dropping tokens, and of all tokens.

    Args:
        slopes: `entropy_slopes`' frame. share: of the tokens, in (0, 1]; equal slopes count all or none.
    Returns:
        One row per place: place; tokens, fastest (counts); of_all, of_fastest (their shares, fractions).
    Raises:
        ValueError: no token, or share outside (0, 1].
    """
    import pandas as pd

    fastest = top_share(-slopes["slope"].to_numpy(), share)
    rows = []
    for place in PLACES:
        inside = (slopes["place"] == place).to_numpy()
        both = int((inside & fastest).sum())
        rows.append((place, int(inside.sum()), both, inside.mean(), both / fastest.sum()))
    return pd.DataFrame(rows, columns=["place", "tokens", "fastest", "of_all", "of_fastest"])


ALL = "of all tokens"
LABELS = {CORRECT: "only correct responses", INCORRECT: "only incorrect responses", BOTH: "both"}


def fastest_tokens(
    names: Sequence[str],
    readings: Mapping[str, Mapping[int, pd.DataFrame]],
    benchmark: str,
) -> list[Plot]:
    """For each run, the tokens whose entropy falls fastest, marked by their place (arXiv 2508.07534, Fig. 3b).

    Args:
        readings: as `places_of_drops`.
    Raises:
        ValueError: as `entropy_slopes`; no token occurs often enough.
    """
    return [
        _fastest_tokens(number, name, entropy_slopes(readings[name]), benchmark)
        for number, name in enumerate(names)
        if name in readings
    ]


def _fastest_tokens(number: int, name: str, slopes: pd.DataFrame, benchmark: str) -> Plot:
    if slopes.empty:
        raise ValueError(f"{name}: no token occurs {LEAST} times in scored responses")
    rows = slopes.sort_values(["slope", "token_id"], ignore_index=True).head(SHOWN)
    numbers = rows.assign(model=name, slope=1000 * rows["slope"]).rename(columns={"slope": "nats per 1,000 steps"})
    hatches = {CORRECT: "", INCORRECT: "///", BOTH: "..."}

    def render(figure: Any) -> None:
        axis = figure.subplots()
        words = [repr(token)[1:-1] for token in rows["token"]]
        name_rows(axis, [f"{word[:18]}  ({n})" for word, n in zip(words, rows["count"], strict=True)], 40)
        for place in PLACES:
            at = rows.index[rows["place"] == place]
            axis.barh(at, numbers.loc[at, "nats per 1,000 steps"], 0.7, color=look(number)["color"],
                      hatch=hatches[place], edgecolor="white", label=LABELS[place])  # fmt: skip
        axis.set_xlabel("change of mean entropy (nats per 1,000 steps)")
        legend_below(figure, *axis.get_legend_handles_labels())

    caption = (
        f"{name}, {benchmark}. The {len(rows)} vocabulary tokens whose mean entropy falls fastest over the steps, of "
        f"{len(slopes)} with at least {LEAST} occurrences; in brackets how often. One set of responses: no intervals."
    )
    return Plot(f"entropy_drop_tokens_{number}_{benchmark}", f"Tokens of fastest entropy drop: {name} on {benchmark}",
                caption, f"{TRIAL_AND_ERROR}, Fig. 3b", numbers, render, (WIDTH, 1.5 + 0.2 * len(rows)))  # fmt: skip


def places_of_drops(
    names: Sequence[str],
    readings: Mapping[str, Mapping[int, pd.DataFrame]],
    benchmark: str,
    *,
    read: str = "the same responses",
) -> Plot:
    """The tokens whose entropy falls fastest over a training, by the responses they occur in (arXiv 2508.07534,
    Fig. 3c, the bars).

    Args:
        readings: run -> step -> its checkpoint's reading of the same responses. share, minimum: see
            `reproductions.trial_and_error.figures.entropy_drop`. read: whose responses, for the caption.
    Raises:
        ValueError: no run; or as `entropy_slopes` and `fastest_drops`.
    """
    if not readings:
        raise ValueError("readings: expected those of one run or more, got none")
    shown = [(number, name) for number, name in enumerate(names) if name in readings]
    numbers, lines = _drops({name: readings[name] for _, name in shown})
    width = 0.8 / len(shown)

    def render(figure: Any) -> None:
        axis = figure.subplots()
        tidy(axis)
        handles = []
        for at, (number, name) in enumerate(shown):
            rows = numbers[numbers["model"] == name]
            places = [place + width * (at - (len(shown) - 1) / 2) for place in range(len(PLACES))]
            handles.append(axis.bar(places, rows["of the fastest (%)"], 0.9 * width, color=look(number)["color"]))
            ends = ([x + side * width / 2 for x in places] for side in (-1, 1))
            of_all = axis.hlines(rows["of all (%)"], *ends, color="black", linewidth=1.4)
        axis.set_xticks(range(len(PLACES)), [LABELS[place] for place in PLACES])
        axis.set_xlabel("responses that hold the token")
        axis.set_ylabel("tokens of fastest drop (%)")
        axis.set_ylim(0, 100)
        axis.grid(axis="x", visible=False)
        legend_below(figure, [*handles, of_all], [*(name for _, name in shown), ALL])

    table = next(iter(readings[shown[0][1]].values()))
    caption = (
        f"{benchmark}. Bars: the {100 * FASTEST:g} % of vocabulary tokens (with at least {LEAST} occurrences) "
        "whose entropy falls fastest, by whether they occur only in correct responses, only in incorrect ones, or in "
        "both; black lines: all such tokens. The drop is the slope of the straight line through a token's mean "
        f"entropies; the checkpoint of each step reads {read}. {'; '.join(lines)}. One set of responses: no intervals. "
        f"{counted({names[0]: table})}"
    )
    return Plot(f"entropy_drops_{benchmark}", f"Tokens whose entropy falls fastest, on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, Fig. 3c", numbers, render, size([ALL, *(n for _, n in shown)]))  # fmt: skip


def _drops(readings: Mapping[str, Mapping[int, pd.DataFrame]]) -> tuple[pd.DataFrame, list[str]]:
    """(the shares of each run in per cent, a part of the caption for each run)."""
    import pandas as pd

    parts, lines = [], []
    for name, steps in readings.items():
        slopes = entropy_slopes(steps)
        parts.append(fastest_drops(slopes).assign(model=name))
        listed = ", ".join(map(str, sorted(steps)))
        lines.append(
            f"{name}: steps {listed}; {parts[-1]['fastest'].sum()} of {len(slopes)} tokens, "
            f"{1000 * slopes['slope'].mean():+.2g} nats per 1,000 steps on average"
        )
    numbers = pd.concat(parts, ignore_index=True)
    numbers = numbers.rename(columns={"of_all": "of all (%)", "of_fastest": "of the fastest (%)"})
    numbers[["of all (%)", "of the fastest (%)"]] *= 100
    return numbers, lines

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
from evals.analysis.entropies import NO_BANDS
from evals.analysis.forks import top_share
from evals.analysis.token_table import CORRECT, INCORRECT, outcomes, same_tokens
from evals.plots.figures import point_rows
from evals.plots.parts import bars
from evals.plots.plot import WIDTH, Plot

if TYPE_CHECKING:
    import pandas as pd

FASTEST = 0.2  # the paper's share
LEAST = 5  # ours: the minimum number of occurrences of a token
SHOWN = 15  # tokens in a list
BOTH = "both"
PLACES = (CORRECT, INCORRECT, BOTH)
Readings = Mapping[str, Mapping[int, "pd.DataFrame"]]


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


LABELS = {CORRECT: "only correct responses", INCORRECT: "only incorrect responses", BOTH: "both"}


def fastest_tokens(names: Sequence[str], readings: Readings) -> list[Plot]:
    """For each run, the tokens whose entropy falls fastest, with their place (arXiv 2508.07534, Fig. 3b).

    Args:
        readings: run -> step -> its checkpoint's reading of the same responses.
    Raises:
        ValueError: as `entropy_slopes`; no token occurs often enough.
    """
    return [_fastest_tokens(names.index(run), run, entropy_slopes(steps)) for run, steps in readings.items()]


def _fastest_tokens(number: int, run: str, slopes: pd.DataFrame) -> Plot:
    if slopes.empty:
        raise ValueError(f"{run}: no token occurs {LEAST} times in scored responses")
    numbers = slopes.sort_values("slope", ignore_index=True).head(SHOWN)
    numbers = numbers.assign(model=run, slope=1000 * numbers["slope"])
    numbers = numbers.rename(columns={"slope": "nats per 1,000 steps"})

    def render(figure: Any) -> None:
        axis = figure.subplots()
        rows = zip(numbers["token"], numbers["count"], numbers["place"], strict=True)
        bars(
            axis,
            [f"{token!r}  ({count}, {place})" for token, count, place in rows],
            numbers["nats per 1,000 steps"],
            number,
        )
        axis.set_xlabel("change of mean entropy (nats per 1,000 steps)")

    caption = (
        f"{run}. The {len(numbers)} vocabulary tokens whose mean entropy falls fastest over the steps, of "
        f"{len(slopes)} with at least {LEAST} occurrences; in brackets how often, and whether in correct "
        "responses, incorrect ones or both. One set of responses: no intervals."
    )
    return Plot(
        f"entropy_drop_tokens_{number}",
        f"Tokens of fastest entropy drop: {run}",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3b",
        numbers,
        render,
        (WIDTH, 1.0 + 0.2 * len(numbers)),
    )


def places_of_drops(names: Sequence[str], readings: Readings) -> Plot:
    """The tokens whose entropy falls fastest over a training, by the responses they occur in (arXiv 2508.07534,
    Fig. 3c, the bars).

    Args:
        readings: as `fastest_tokens`.
    Raises:
        ValueError: as `entropy_slopes` and `fastest_drops`.
    """
    import pandas as pd

    parts, texts = [], []
    for run, steps in readings.items():
        slopes = entropy_slopes(steps)
        drops = fastest_drops(slopes).assign(model=run)
        parts.append(drops.assign(mean=100 * drops["of_fastest"], **NO_BANDS))
        shares = zip(drops["place"], drops["of_all"], strict=True)
        of_all = ", ".join(f"{100 * share:.0f} % {LABELS[place]}" for place, share in shares)
        texts.append(f"{run}: steps {', '.join(map(str, sorted(steps)))}; all {len(slopes)} tokens: {of_all}")
    caption = (
        f"The {100 * FASTEST:g} % of vocabulary tokens (with at least {LEAST} occurrences) whose entropy falls "
        "fastest, by whether they occur only in correct responses, only in incorrect ones, or in both. The drop is the "
        "slope of the straight line through a token's mean entropies; the checkpoint of each step reads the responses "
        f"of {names[0]}. {'; '.join(texts)}. One set of responses: no intervals."
    )
    return point_rows(
        "entropy_drops",
        "Tokens whose entropy falls fastest",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3c",
        pd.concat(parts, ignore_index=True),
        names,
        by="place",
        labels=LABELS,
        unit="tokens of fastest drop (%)",
        limits=(0.0, 100.0),
    )

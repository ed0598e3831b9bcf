"""The bars of arXiv 2508.07534, Fig. 3c: whose responses the tokens of fastest entropy drop are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evals.analysis.tokens.entropy_drop import BOTH, FASTEST, LEAST, PLACES, entropy_slopes, fastest_drops
from evals.analysis.tokens.outcomes import NOT_RIGHT, RIGHT
from evals.analysis.tokens.plot_parts import TRIAL_AND_ERROR, counted, size
from evals.plots.drawing import Drawing, look, tidy
from evals.plots.parts import legend_below

if TYPE_CHECKING:
    import pandas as pd

ALL = "of all tokens"
LABELS = {RIGHT: "right responses alone", NOT_RIGHT: "other responses alone", BOTH: "both"}


def entropy_drops(
    names: Sequence[str],
    readings: Mapping[str, Mapping[int, pd.DataFrame]],
    benchmark: str,
    *,
    read: str = "the same responses",
    share: float = FASTEST,
    minimum: int = LEAST,
) -> Drawing:
    """The tokens whose entropy falls fastest over the steps of a training, by whose they are (arXiv 2508.07534,
    Fig. 3c, the bars).

    Args:
        readings: run -> step -> its checkpoint's reading of the same responses. share, minimum: see
            `evals.analysis.tokens.entropy_drop`. read: whose responses, for the caption.
    Raises:
        ValueError: no run; or as `entropy_slopes` and `fastest_drops`.
    """
    import pandas as pd

    if not readings:
        raise ValueError("readings: expected those of one run or more, got none")
    held = [(number, name) for number, name in enumerate(names) if name in readings]
    parts, told = [], []
    for _, name in held:
        slopes = entropy_slopes(readings[name], minimum=minimum)
        parts.append(fastest_drops(slopes, share=share).assign(model=name))
        steps = ", ".join(map(str, sorted(readings[name])))
        told.append(
            f"{name}: steps {steps}; {parts[-1]['fastest'].sum()} of {len(slopes)} tokens, "
            f"{1000 * slopes['slope'].mean():+.2g} nats per 1,000 steps on average"
        )
    numbers = pd.concat(parts, ignore_index=True)
    numbers = numbers.rename(columns={"of_all": "of all (%)", "of_fastest": "of the fastest (%)"})
    numbers[["of all (%)", "of the fastest (%)"]] *= 100
    width = 0.8 / len(held)

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        tidy(axis)
        handles = []
        for at, (number, name) in enumerate(held):
            rows = numbers[numbers["model"] == name]
            places = [place + width * (at - (len(held) - 1) / 2) for place in range(len(PLACES))]
            handles.append(axis.bar(places, rows["of the fastest (%)"], 0.9 * width, color=look(number)["color"]))
            ends = ([x + side * width / 2 for x in places] for side in (-1, 1))
            of_all = axis.hlines(rows["of all (%)"], *ends, color="black", linewidth=1.4)
        axis.set_xticks(range(len(PLACES)), [LABELS[place] for place in PLACES])
        axis.set_xlabel("responses that hold the token")
        axis.set_ylabel("tokens of fastest drop (%)")
        axis.set_ylim(0, 100)
        axis.grid(axis="x", visible=False)
        legend_below(figure, [*handles, of_all], [*(name for _, name in held), ALL])

    table = next(iter(readings[held[0][1]].values()))
    caption = (
        f"{benchmark}. Bars: of the {100 * share:g} % of tokens (of the vocabulary, occurring {minimum} times or more) "
        "whose entropy falls fastest, those that occur in right responses alone, in other ones alone, in both; black "
        "lines: of all such tokens. A token falls by the slope of the straight line through its mean entropies, the "
        f"checkpoint of each step reading {read}. {'; '.join(told)}. One set of responses: no intervals. "
        f"{counted({names[0]: table})}"
    )
    return Drawing(f"entropy_drops_{benchmark}", f"Tokens whose entropy falls fastest, on {benchmark}", caption,
                   f"{TRIAL_AND_ERROR}, Fig. 3c", numbers, draw, size([ALL, *(n for _, n in held)]))  # fmt: skip

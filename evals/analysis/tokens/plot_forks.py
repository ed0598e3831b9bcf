"""Figures of forking tokens: the words that they are, and how many of them training keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evals.analysis.tokens.checkpoints import fork_overlap
from evals.analysis.tokens.forks import RHO, word_entropies
from evals.analysis.tokens.plot_parts import BAND, FORKING_TOKENS, Tables, counted, number_of
from evals.plots.drawing import WIDTH, Drawing, look, tidy
from evals.plots.parts import point_look

if TYPE_CHECKING:
    import pandas as pd

WORDS, MINIMUM = 15, 20


def fork_words(
    names: Sequence[str], tables: Tables, benchmark: str, *, rho: float = RHO, minimum: int | None = None
) -> list[Drawing]:
    """For each run its words of highest and of lowest mean entropy (arXiv 2506.01939, Fig. 2b and 2c: word clouds).

    Args:
        minimum: how often a word has to occur; None takes 20, or what the tenth most frequent word has if that is less.
    """
    return [
        _fork_words(number, name, tables[name], benchmark, rho, minimum) for number, name in number_of(names, tables)
    ]


def _fork_words(
    number: int, name: str, table: pd.DataFrame, benchmark: str, rho: float, minimum: int | None
) -> Drawing:
    every = word_entropies(table, rho=rho)
    least = minimum if minimum is not None else min(MINIMUM, int(every["count"].nlargest(10).iloc[-1]))
    words = every[every["count"] >= least].reset_index(drop=True)
    if words.empty:
        raise ValueError(
            f"minimum: no word of {name} occurs {least} times; the most frequent has {every['count'].max()}"
        )
    shown = min(WORDS, max(1, len(words) // 2))  # so that no word is in both lists
    high, low = words.head(shown), words.tail(shown).iloc[::-1]
    numbers = words.assign(model=name).rename(columns={"mean_entropy": "mean entropy (nats)"})

    def draw(figure: Any) -> None:
        for axis, rows, title in zip(figure.subplots(1, 2), (high, low), ("highest", "lowest"), strict=True):
            tidy(axis)
            axis.grid(axis="y", visible=False)
            axis.barh(range(shown), rows["mean_entropy"], color=look(number)["color"], height=0.7)
            marks = [f"{_short(w)}  ({n})" for w, n in zip(rows["word"], rows["count"], strict=True)]
            axis.set_yticks(range(shown), marks, fontsize=7.5, parse_math=False)
            axis.set_ylim(shown - 0.4, -0.6)
            axis.set_xlim(0, 1.05 * max(float(rows["mean_entropy"].max()), 1e-3))
            axis.ticklabel_format(axis="x", style="plain")
            axis.locator_params(axis="x", nbins=4)
            axis.set_xlabel("mean entropy (nats)")
            axis.set_title(f"{title} entropy")

    caption = (
        f"{name}, {benchmark}. Mean entropy of words that occur at least {least} times ({len(words)} of {len(every)}); "
        f"in brackets how often; the two scales differ. A word is a token without the white space around it. In the "
        f"CSV: how often each is among the {100 * rho:g} % of tokens with the highest entropy. {counted({name: table})}"
    )
    return Drawing(f"fork_words_{number}_{benchmark}", f"Words of high and low entropy: {name} on {benchmark}", caption,
                   f"{FORKING_TOKENS}, Fig. 2b, 2c", numbers, draw, (WIDTH, 1.0 + 0.17 * shown))  # fmt: skip


def fork_kept(
    names: Sequence[str],
    pairs: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]],
    benchmark: str,
    *,
    rho: float = RHO,
    read: str = "the same responses",
) -> Drawing:
    """How many of the base model's forks are forks after training (arXiv 2506.01939, section 3, table of overlaps).

    Args:
        pairs: name of the run -> (the base model's reading, the run's own), of the same responses.
        read: which ones, for the caption.
    """
    import pandas as pd

    held = number_of(names, {name: before for name, (before, _) in pairs.items()})
    rows = []
    for number, name in held:
        side = fork_overlap(*pairs[name], rho=rho)
        ends = (100 * side.mean, 100 * side.low, 100 * side.high, 100 * side.pooled)
        rows.append((name, number, *ends, side.count, side.problems))
    columns = ["model", "number", "kept (%)", "low (%)", "high (%)", "pooled (%)", "forks", "problems"]
    numbers = pd.DataFrame(rows, columns=columns)

    def draw(figure: Any) -> None:
        from textwrap import fill

        axis = figure.subplots()
        tidy(axis)
        axis.grid(axis="y", visible=False)
        axis.axvline(100 * rho, color="black", linewidth=0.8, linestyle=":")
        for y, row in enumerate(numbers.to_dict("records")):
            axis.hlines(y, row["low (%)"], row["high (%)"], color=look(row["number"])["color"], linewidth=1)
            axis.plot(row["kept (%)"], y, **point_look(row["number"]))
        axis.set_yticks(range(len(numbers)), [fill(n, 26) for n in numbers["model"]])
        axis.set_ylim(len(numbers) - 0.5, -0.5)
        axis.set_xlim(0, 103)
        axis.set_xlabel(f"of the base model's top {100 * rho:g} %, still there (%)")

    caption = (
        f"{benchmark}. Of the {100 * rho:g} % of tokens with the highest entropy under {names[0]}, those that are "
        f"among the run's own {100 * rho:g} %, both reading {read}; over problems. Dotted: chance. {BAND} "
        f"{counted({name: before for name, (before, _) in pairs.items()})}"
    )
    return Drawing(
        f"forks_kept_{benchmark}",
        f"Forks kept after training on {benchmark}",
        caption,
        f"{FORKING_TOKENS}, section 3 (overlap of high-entropy tokens)",
        numbers.drop(columns="number"),
        draw,
        (WIDTH, 1.0 + 0.5 * len(numbers)),
    )


def _short(word: str) -> str:
    """A word that fits beside its bar."""
    return word if len(word) <= 14 else f"{word[:13]}…"

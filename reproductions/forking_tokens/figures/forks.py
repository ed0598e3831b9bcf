"""Forking tokens: their words, and how many remain forks after training (arXiv 2506.01939, section 3, Fig. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evals.analysis import FORKING_TOKENS
from evals.analysis.contrast import Side, measure_side
from evals.analysis.forks import RHO, top_share
from evals.analysis.token_table import BAND, Pairs, Tables, counted, need_columns, runs_with, same_tokens
from evals.plots.intervals import name_rows, points
from evals.plots.plot import WIDTH, Plot, look, tidy

if TYPE_CHECKING:
    import pandas as pd


def word_entropies(table: pd.DataFrame, *, rho: float = RHO, minimum: int = 1) -> pd.DataFrame:
    """The mean entropy of each word; a word is a token without the white space around it.

    Returns:
        One row per word that occurs at least `minimum` times: `word`, `count`, `forks` (how often it is among the share
        rho of highest entropy), `mean_entropy` (nats); the highest first (then the most frequent, then by the word).
        White space alone, or with unprintable characters, is written as in Python ('\\n').
    Raises:
        ValueError: minimum < 1, or as `fork_threshold`.
    """
    import pandas as pd

    need_columns(table, ("token", "entropy"))
    if minimum < 1:
        raise ValueError(f"minimum: expected at least 1, got {minimum}")
    stripped = [token.strip() or token for token in table["token"]]
    words = [word if word.isprintable() and not word.isspace() else repr(word) for word in stripped]
    frame = pd.DataFrame(
        {"word": words, "entropy": table["entropy"].to_numpy(), "fork": top_share(table["entropy"], rho)}
    )
    by_word = frame.groupby("word").agg(
        count=("entropy", "size"), forks=("fork", "sum"), mean_entropy=("entropy", "mean")
    )
    by_word = by_word[by_word["count"] >= minimum].reset_index()
    order = ["mean_entropy", "count", "word"]
    return by_word.sort_values(order, ascending=[False, False, True], ignore_index=True)


def fork_overlap(before: pd.DataFrame, after: pd.DataFrame, *, rho: float = RHO) -> Side:
    """The share of the highest-entropy tokens before training that are still among the highest after.

    By chance it would be about rho. Each model has one threshold for the whole table; the mean is over the problems
    with such tokens.

    Raises:
        ValueError: as `same_tokens`, or rho outside (0, 1].
    """
    kept = top_share(same_tokens(before, after)["entropy"], rho)
    forks = top_share(before["entropy"], rho)
    return measure_side(kept[forks], before["problem_id"].to_numpy()[forks], bounds=(0.0, 1.0))


WORDS, MINIMUM = 15, 20


def fork_words(names: Sequence[str], tables: Tables, benchmark: str, *, minimum: int | None = None) -> list[Plot]:
    """Each run's words of highest and of lowest mean entropy (arXiv 2506.01939, Fig. 2b and 2c: word clouds).

    Args:
        minimum: of a word's occurrences; None takes 20, or the count of the tenth most frequent word if that is less.
    """
    return [_fork_words(names.index(name), name, tables[name], benchmark, minimum) for name in runs_with(names, tables)]


def _fork_words(number: int, name: str, table: pd.DataFrame, benchmark: str, minimum: int | None) -> Plot:
    every = word_entropies(table)
    least = minimum if minimum is not None else min(MINIMUM, int(every["count"].nlargest(10).iloc[-1]))
    words = every[every["count"] >= least].reset_index(drop=True)
    if words.empty:
        raise ValueError(
            f"minimum: no word of {name} occurs {least} times; the most frequent has {every['count'].max()}"
        )
    shown = min(WORDS, max(1, len(words) // 2))  # so that no word is in both lists
    high, low = words.head(shown), words.tail(shown).iloc[::-1]
    numbers = words.assign(model=name).rename(columns={"mean_entropy": "mean entropy (nats)"})

    def render(figure: Any) -> None:
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
        f"CSV: how often each is among the {100 * RHO:g} % of tokens with the highest entropy. {counted({name: table})}"
    )
    return Plot(f"fork_words_{number}_{benchmark}", f"Words of high and low entropy: {name} on {benchmark}", caption,
                   f"{FORKING_TOKENS}, Fig. 2b, 2c", numbers, render, (WIDTH, 1.0 + 0.17 * shown))  # fmt: skip


def fork_kept(
    names: Sequence[str],
    pairs: Pairs,
    benchmark: str,
    *,
    read: str = "the same responses",
) -> Plot:
    """The share of the base model's forks that are still forks after training (arXiv 2506.01939, section 3, table of
    overlaps).

    Args:
        pairs: name of the run -> (the base model's reading, the run's own), of the same responses.
        read: whose responses, for the caption.
    """
    import pandas as pd

    before = {name: tables[0] for name, tables in pairs.items()}
    rows = []
    for name in runs_with(names, before):
        side = fork_overlap(*pairs[name])
        ends = (100 * side.mean, 100 * side.low, 100 * side.high, 100 * side.pooled)
        rows.append((name, *ends, side.count, side.problems))
    columns = ["model", "kept (%)", "low (%)", "high (%)", "pooled (%)", "forks", "problems"]
    numbers = pd.DataFrame(rows, columns=columns)

    def render(figure: Any) -> None:
        axis = figure.subplots()
        name_rows(axis, list(numbers["model"]))
        axis.axvline(100 * RHO, color="black", linewidth=0.8, linestyle=":")
        for y, row in enumerate(numbers.to_dict("records")):
            points(axis, y, row["low (%)"], row["kept (%)"], row["high (%)"], names.index(row["model"]))
        axis.set_xlim(0, 103)
        axis.set_xlabel(f"of the base model's top {100 * RHO:g} %, still there (%)")

    caption = (
        f"{benchmark}. Of the {100 * RHO:g} % of tokens with the highest entropy under {names[0]}, those that are "
        f"among the run's own {100 * RHO:g} %, both reading {read}; over problems. Dotted: chance. {BAND} "
        f"{counted(before)}"
    )
    return Plot(
        f"forks_kept_{benchmark}",
        f"Forks kept after training on {benchmark}",
        caption,
        f"{FORKING_TOKENS}, section 3 (overlap of high-entropy tokens)",
        numbers,
        render,
        (WIDTH, 1.0 + 0.5 * len(numbers)),
    )


def _short(word: str) -> str:
    """A word shortened to fit beside its bar."""
    return word if len(word) <= 14 else f"{word[:13]}…"

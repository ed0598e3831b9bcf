"""Forking tokens: their words, and how many remain forks after training (arXiv 2506.01939, section 3, Fig. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evals.analysis import FORKING_TOKENS
from evals.analysis.forks import RHO, top_share
from evals.analysis.token_table import BAND, Pairs, Tables, counted, mean_of, need_columns, same_tokens
from evals.plots.figures import point_rows
from evals.plots.parts import bars
from evals.plots.plot import WIDTH, Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


WORDS, MINIMUM = 15, 20


def word_entropies(table: pd.DataFrame) -> pd.DataFrame:
    """The mean entropy of each word. A word is a token without the white space around it.

    Returns:
        One row per word: `word`, `count`, `forks` (how often it is one),
        `mean_entropy` (nats). The highest first (then the most frequent, then by the word). White space alone, or with
        unprintable characters, is written as in Python ('\\n').
    Raises:
        ValueError: as `fork_threshold`.
    """
    import pandas as pd

    need_columns(table, ("token", "entropy"))
    stripped = [token.strip() or token for token in table["token"]]
    words = [word if word.isprintable() and not word.isspace() else repr(word) for word in stripped]
    frame = pd.DataFrame({"word": words, "entropy": table["entropy"].to_numpy(), "fork": top_share(table["entropy"])})
    by_word = frame.groupby("word").agg(
        count=("entropy", "size"), forks=("fork", "sum"), mean_entropy=("entropy", "mean")
    )
    order = ["mean_entropy", "count", "word"]
    return by_word.reset_index().sort_values(order, ascending=[False, False, True], ignore_index=True)


def fork_overlap(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, float]:
    """The share of the highest-entropy tokens before training that are still among the highest after: `mean_of` them.

    By chance it would be about `RHO`. Each model has one threshold for the whole table. The mean is over the problems
    with such tokens.

    Raises:
        ValueError: as `same_tokens`.
    """
    kept = top_share(same_tokens(before, after)["entropy"])
    forks = top_share(before["entropy"])
    return mean_of(kept[forks], before["problem_id"].to_numpy()[forks], bounds=(0.0, 1.0))


def fork_words(names: Sequence[str], tables: Tables) -> list[Plot]:
    """Each run's words of highest and of lowest mean entropy (arXiv 2506.01939, Fig. 2b and 2c: word clouds).

    Shown are words that occur at least MINIMUM times, or as often as the tenth most frequent word if that is less.
    """
    return [_fork_words(names.index(run), run, table) for run, table in tables.items()]


def _fork_words(number: int, run: str, table: pd.DataFrame) -> Plot:
    every = word_entropies(table)
    least = min(MINIMUM, int(every["count"].nlargest(10).iloc[-1]))
    words = every[every["count"] >= least].reset_index(drop=True)
    shown = min(WORDS, max(1, len(words) // 2))  # so that no word is in both lists
    lists = {"highest": words.head(shown), "lowest": words.tail(shown).iloc[::-1]}

    def render(figure: Figure) -> None:
        for axis, (end, rows) in zip(figure.subplots(1, 2), lists.items(), strict=True):
            marks = [
                f"{w if len(w) <= 14 else w[:13] + '…'}  ({n})"
                for w, n in zip(rows["word"], rows["count"], strict=True)
            ]
            bars(axis, marks, rows["mean_entropy"], number)
            axis.set_xlim(0, 1.05 * max(float(rows["mean_entropy"].max()), 1e-3))
            axis.locator_params(axis="x", nbins=4)
            axis.set_xlabel("mean entropy (nats)")
            axis.set_title(f"{end} entropy")

    caption = (
        f"{run}. Mean entropy of words that occur at least {least} times ({len(words)} of {len(every)}); in brackets "
        "how often; the two scales differ. A word is a token without the white space around it. In the CSV: how often "
        f"each is among the {100 * RHO:g} % of tokens with the highest entropy. {counted({run: table})}"
    )
    return Plot(
        f"fork_words_{number}",
        f"Words of high and low entropy: {run}",
        caption,
        f"{FORKING_TOKENS}, Fig. 2b, 2c",
        words.assign(model=run),
        render,
        (WIDTH, 1.0 + 0.19 * shown),
    )


def fork_kept(names: Sequence[str], pairs: Pairs) -> Plot:
    """The share of the base model's forks that are still forks after training (arXiv 2506.01939, section 3, table of
    overlaps).

    Args:
        pairs: name of the run -> (the base model's reading, the run's own), of the base model's responses.
    """
    import pandas as pd

    numbers = pd.DataFrame([{"model": run, "what": "kept", **fork_overlap(*pair)} for run, pair in pairs.items()])
    numbers[["low", "mean", "high", "pooled"]] *= 100
    caption = (
        f"Of the {100 * RHO:g} % of tokens with the highest entropy under {names[0]}, those that are among the run's "
        f"own {100 * RHO:g} %, both reading the responses of {names[0]}; over problems. Dotted: chance. {BAND} "
        f"{counted({run: before for run, (before, _) in pairs.items()})}"
    )
    return point_rows(
        "forks_kept",
        "Forks kept after training",
        caption,
        f"{FORKING_TOKENS}, section 3 (overlap of high-entropy tokens)",
        numbers,
        names,
        by="what",
        labels={"kept": "forks that are still forks"},
        unit=f"of the base model's top {100 * RHO:g} %, still there (%)",
        limits=(0.0, 100.0),
        mark=100 * RHO,
    )

"""Entropy of exploratory reasoning: pivotal tokens, reflective and rare sentences (arXiv 2506.14758, section 2).

words = read_words(["base", "GRPO"], {"base": table, "GRPO": other_table}, embedder=load_embedder("sbert"))
entropy_contrasts(words)                                                          # Fig. 2, as numbers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import ENTROPY_ADVANTAGE
from evals.analysis.contrast import Side, contrast
from evals.analysis.embedders import CachedEmbedder, SentenceEmbedder
from evals.analysis.lexicon import Lexicon, load_lexicon
from evals.analysis.sentences import locate_tokens, sentence_table
from evals.analysis.token_table import (
    OVER_PROBLEMS,
    Tables,
    by_response,
    describe_responses,
    need_columns,
    per_response,
    response_keys,
    runs_with,
)
from evals.plots.intervals import name_rows, points
from evals.plots.parts import right_end
from evals.plots.plot import WIDTH, Plot, look
from reproductions.entropy_advantage.figures.rare import Rarity, find_rare, rare_map

if TYPE_CHECKING:
    import pandas as pd

PIVOTAL, REFLECTIVE = (Path(__file__).with_name(f"{name}.yaml") for name in ("pivotal_tokens", "reflective"))
COMPARISONS = {"pivotal": "tokens", "reflective": "sentences", "rare": "sentences"}  # of what


def pivotal_tokens(table: pd.DataFrame, *, lexicon: Lexicon | None = None) -> pd.Series:
    """Which tokens are (pieces of) pivotal words: booleans under the table's index. `lexicon`: None loads `PIVOTAL`.

    The paper averages over "commonly occurring pivotal tokens" against all others. A token counts if at least half of
    its non-space characters belong to a word of the lexicon, so every piece of such a word counts.

    Raises:
        ValueError: columns or tokens are missing.
    """
    words = lexicon or load_lexicon(PIVOTAL)
    need_columns(table, ("token",))
    return by_response(table, lambda rows: _in_words(rows["token"].tolist(), words)).astype(bool)


def _in_words(tokens: list[str], lexicon: Lexicon) -> list[bool]:
    text, spans = locate_tokens(tokens)
    covered = bytearray(len(text))
    for match in lexicon.find(text):
        covered[match.start : match.end] = b"\1" * (match.end - match.start)
    inside = []
    for start, end in spans:
        solid = [covered[i] for i in range(start, end) if not text[i].isspace()]
        inside.append(bool(solid) and 2 * sum(solid) >= len(solid))
    return inside


def reflective_sentences(texts: pd.Series, *, lexicon: Lexicon | None = None) -> pd.Series:
    """Which sentences contain a keyword of reflection, such as verify or check: booleans under the index of `texts`.

    Args:
        texts: sentences (`evals.analysis.sentences.sentence_table`). lexicon: None loads `REFLECTIVE`.
    """
    words = lexicon or load_lexicon(REFLECTIVE)
    return texts.map(lambda text: bool(words.find(text))).astype(bool)


@dataclass(frozen=True)
class Words:
    """One model's responses.

    Args:
        name: of the model. table: its token table. pivotal: of each token.
        sentences: as `sentence_table`, with the column `reflective`; only those that have tokens.
        counts: of each response, `pivotal` tokens and `reflective` sentences; the index is its `response_keys`.
        rarity: None for the base model, and without an embedder.
    """

    name: str
    table: pd.DataFrame
    pivotal: pd.Series
    sentences: pd.DataFrame
    counts: pd.DataFrame
    rarity: Rarity | None


def read_words(
    names: Sequence[str], tables: Tables, *, embedder: SentenceEmbedder | None = None, **rare: Any
) -> list[Words]:
    """Measure the runs with a table, in the order of `names`; the first name is the base model.

    Args:
        names: of all runs. tables: name -> token table of its responses to one benchmark.
        embedder: for rare sentences, if the base model has a table; None skips them.
        rare: `neighbours` and `share`, see `find_rare`.
    Raises:
        ValueError: a table of an unknown name or without rows, or as the measurements.
    """
    pivots, reflections = load_lexicon(PIVOTAL), load_lexicon(REFLECTIVE)
    once = CachedEmbedder(embedder) if embedder else None  # every other run needs the base model's sentences
    read: list[Words] = []
    for name in runs_with(names, tables):
        table = tables[name]
        every = sentence_table(table)
        every = every.assign(reflective=reflective_sentences(every["text"], lexicon=reflections))
        pivotal = pivotal_tokens(table, lexicon=pivots)
        keys = response_keys(table)
        counts = table[keys].assign(pivotal=pivotal.astype(int)).groupby(keys, sort=False).sum()
        counts["reflective"] = every[every["tokens"] > 0].groupby(keys, sort=False)["reflective"].sum()
        counts = counts.fillna({"reflective": 0})  # white space alone has tokens and no sentence
        sentences = every[every["tokens"] > 0]
        rarity = None
        if once is not None and read and read[0].name == names[0]:
            rarity = find_rare(sentences, read[0].sentences["text"].tolist(), once, **rare)
        read.append(Words(name, table, pivotal, sentences, counts, rarity))
    return read


def entropy_contrasts(words: Sequence[Words]) -> pd.DataFrame:
    """Pivotal tokens against other tokens, reflective and rare sentences against other sentences: mean entropies.

    Returns:
        One row per model and comparison: `model`, `comparison` (of `COMPARISONS`), `embedder` (of rare sentences); for
        `group` and `rest` each `_count`, `_problems`, `_entropy` (nats, mean over problems) with `_low` and `_high`
        (95 %, over problems), `_pooled` (over all at once, as the paper counts); `problems` that have both, their mean
        `difference` (group - rest) with `difference_low`, `difference_high`, `p_value` and `test`. NaN if there is
        none.
    """
    import pandas as pd

    rows = []
    for run in words:
        sources = [("pivotal", run.table, run.pivotal), ("reflective", run.sentences, run.sentences["reflective"])]
        if run.rarity is not None:
            sources.append(("rare", run.rarity.sentences, run.rarity.sentences["rare"]))
        for comparison, frame, member in sources:
            contrasted = contrast(frame["entropy"], member.to_numpy(bool), frame["problem_id"])
            paired = contrasted.difference
            interval = paired.interval if paired else None
            rows.append(
                {
                    "model": run.name,
                    "comparison": comparison,
                    "embedder": run.rarity.embedder if comparison == "rare" and run.rarity else "",
                    **_side("group", contrasted.group),
                    **_side("rest", contrasted.rest),
                    "problems": contrasted.problems,
                    "difference": paired.difference if paired else np.nan,
                    "difference_low": interval.low if interval else np.nan,
                    "difference_high": interval.high if interval else np.nan,
                    "p_value": paired.p_value if paired and paired.p_value is not None else np.nan,
                    "test": paired.test if paired else "none: no problem has both",
                }
            )
    return pd.DataFrame(rows)


def _side(name: str, side: Side) -> dict[str, float]:
    return {
        f"{name}_count": side.count,
        f"{name}_problems": side.problems,
        f"{name}_entropy": side.mean,
        f"{name}_low": side.low,
        f"{name}_high": side.high,
        f"{name}_pooled": side.pooled,
    }


def plot_exploration(
    names: Sequence[str], tables: Tables, benchmark: str, *, embedder: SentenceEmbedder | None = None
) -> list[Plot]:
    """Every figure of exploratory reasoning on one benchmark; arguments as `read_words`."""
    words = read_words(names, tables, embedder=embedder)
    lexicons = f"{load_lexicon(PIVOTAL).describe()}; {load_lexicon(REFLECTIVE).describe()}."
    sizes = describe_responses({run.name: run.table for run in words}, benchmark)
    plots = [exploratory_entropies(names, words, sizes, lexicons), exploratory_counts(names, words, sizes, lexicons)]
    rarities = {run.name: run.rarity for run in words if run.rarity}
    return [*plots, *([rare_map(names, rarities, sizes)] if rarities else [])]


def exploratory_entropies(names: Sequence[str], words: Sequence[Words], sizes: str, lexicons: str) -> Plot:
    """Entropy of pivotal tokens, reflective and rare sentences against the rest (arXiv 2506.14758, Fig. 2 and 10)."""
    numbers = entropy_contrasts(words)
    rows = {name: numbers[numbers["comparison"] == name] for name in COMPARISONS if name in set(numbers["comparison"])}
    right = max(right_end(numbers[f"{side}_entropy"], numbers[f"{side}_high"]) for side in ("group", "rest"))

    def render(figure: Any) -> None:
        heights = [len(part) for part in rows.values()]
        axes = figure.subplots(len(rows), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        for axis, (name, part) in zip(axes, rows.items(), strict=True):
            _dumbbells(axis, part, names)
            axis.set_title(f"{name} {COMPARISONS[name]} (filled), others (hollow)", loc="left")
        axes[-1].set_xlabel("mean entropy (nats)")
        axes[-1].set_xlim(0, right)

    rare = next((run.rarity for run in words if run.rarity), None)
    about_rare = (
        f"Rare: the {rare.share:.0%} of sentences furthest from their {rare.neighbours} nearest sentences of "
        f"{words[0].name}; embedder: {rare.embedder}."
        if rare
        else "Rare sentences: not measured (needs an embedder, the base model's token table and another run's)."
    )
    caption = (
        f"{sizes} {OVER_PROBLEMS} A sentence's entropy is the mean of its tokens'. At the right: group less rest, over "
        f"the problems that have both. {about_rare} {lexicons}"
    )
    size = (WIDTH, 0.9 + sum(0.45 + 0.45 * len(part) for part in rows.values()))
    source = f"{ENTROPY_ADVANTAGE}, Fig. 2 (right)"
    return Plot("exploratory_entropy", "Entropy of exploratory reasoning", caption, source, numbers, render, size)


def exploratory_counts(names: Sequence[str], words: Sequence[Words], sizes: str, lexicons: str) -> Plot:
    """Pivotal tokens and reflective sentences in a response (arXiv 2506.14758, Fig. 8)."""
    import pandas as pd

    numbers = pd.concat([per_response(run.counts).assign(model=run.name) for run in words], ignore_index=True)
    panels = {"pivotal": "pivotal tokens\nin a response", "reflective": "reflective sentences\nin a response"}

    def render(figure: Any) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (what, label) in zip(axes, panels.items(), strict=True):
            name_rows(axis, [run.name for run in words], 24)
            part = numbers[numbers["what"] == what]
            for y, row in enumerate(part.to_dict("records")):
                colour = look(names.index(row["model"]))["color"]
                axis.barh(y, row["mean"], height=0.6, color=colour)
                axis.plot([row["low"], row["high"]], [y, y], color="black", linewidth=1)
                if row["mean"] == 0:
                    axis.annotate(" 0", (0, y), color=colour, va="center")
            axis.set_xlabel(label)
            axis.set_xlim(0, right_end(part["mean"], part["high"]))

    title, source = "Pivotal tokens and reflective sentences in a response", f"{ENTROPY_ADVANTAGE}, Fig. 8"
    caption, size = f"{sizes} {OVER_PROBLEMS} {lexicons}", (WIDTH, 1.1 + 0.45 * len(words))
    return Plot("exploratory_counts", title, caption, source, numbers, render, size)


def _dumbbells(axis: Any, part: pd.DataFrame, names: Sequence[str]) -> None:
    """For each model the group (filled, above) and the rest (hollow, below), and their difference in words."""
    name_rows(axis, list(part["model"]), 24)
    rows = part.to_dict("records")
    for y, row in enumerate(rows):
        for side, shift in (("group", -0.14), ("rest", 0.14)):
            low, middle, high = (row[f"{side}_{what}"] for what in ("low", "entropy", "high"))
            points(axis, y + shift, low, middle, high, names.index(row["model"]), hollow=side == "rest")
    right = axis.twinx()
    right.set_ylim(axis.get_ylim())
    right.set_yticks(range(len(rows)), [_difference(row) for row in rows], fontsize=8)
    right.tick_params(length=0)
    for side in ("top", "right"):
        right.spines[side].set_visible(False)


def _difference(row: Mapping[Any, Any]) -> str:
    if np.isnan(row["difference"]):
        return "no problem has both"
    if np.isnan(row["difference_low"]):
        text = f"{row['difference']:+.3f}\n(no interval)"
    else:
        text = f"{row['difference']:+.3f}\n[{row['difference_low']:+.3f}, {row['difference_high']:+.3f}]"
    return text.replace("-", "−")

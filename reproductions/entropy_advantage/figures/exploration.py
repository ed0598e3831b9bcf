"""The words of several models' responses, measured together: categories, pivotal tokens, reflective and rare sentences.

words = read_words(["base", "GRPO"], {"base": table, "GRPO": other_table}, embedder=load_embedder("sbert"))
entropy_contrasts(words)                                                          # arXiv 2506.14758, Fig. 2, as numbers

Pivotal tokens and reflective sentences: arXiv 2506.14758, section 2, Fig. 2 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis.contrast import Side, contrast, measure_side
from evals.analysis.tokens.token_table import by_response, need_columns, response_keys
from evals.analysis.words.embedders import NEIGHBOURS, SHARE, CachedEmbedder, Rarity, SentenceEmbedder, find_rare
from evals.analysis.words.sentences import detect_encoding, locate_tokens, sentence_table
from evals.analysis.words.token_categories import CATEGORIES, Lexicon, categorise, load_lexicon

if TYPE_CHECKING:
    import pandas as pd


def pivotal_tokens(table: pd.DataFrame, *, lexicon: Lexicon | None = None, encoding: str | None = None) -> pd.Series:
    """Which tokens are (pieces of) pivotal words.

    The paper averages over "commonly occurring pivotal tokens" against all others. A token counts if at least half of
    its non-space characters belong to a word of the lexicon, so every piece of such a word counts.

    Args:
        table: a token table.
        lexicon: None loads "pivotal_tokens".
        encoding: of the tokens (`sentences.ENCODINGS`); None detects it.
    Returns:
        Booleans under the table's index.
    Raises:
        ValueError: columns or tokens are missing.
    """
    words = lexicon or load_lexicon("pivotal_tokens")
    need_columns(table, ("token",))
    pieces = encoding or detect_encoding(set(table["token"]))
    return by_response(table, lambda rows: _in_words(rows["token"].tolist(), words, pieces)).astype(bool)


def reflective_sentences(texts: pd.Series, *, lexicon: Lexicon | None = None) -> pd.Series:
    """Which sentences contain a keyword of reflection, such as verify or check.

    Args:
        texts: sentences (`evals.analysis.words.sentences.sentence_table`).
        lexicon: None loads "reflective".
    Returns:
        Booleans under the index of `texts`.
    """
    words = lexicon or load_lexicon("reflective")
    return texts.map(lambda text: bool(words.find(text))).astype(bool)


def _in_words(tokens: list[str], lexicon: Lexicon, encoding: str) -> list[bool]:
    located = locate_tokens(tokens, encoding)
    held = bytearray(len(located.text))
    for match in lexicon.find(located.text):
        held[match.start : match.end] = b"\1" * (match.end - match.start)
    inside = []
    for start, end in located.spans:
        solid = [held[i] for i in range(start, end) if not located.text[i].isspace()]
        inside.append(bool(solid) and 2 * sum(solid) >= len(solid))
    return inside


COMPARISONS = {"pivotal": "tokens", "reflective": "sentences", "rare": "sentences"}  # of what


@dataclass(frozen=True)
class Words:
    """One model's responses.

    Args:
        name, number: its name, and its index among the runs (its colour in figures).
        table: its token table. category, pivotal: of each token.
        sentences: as `sentences.sentence_table`, with the column `reflective`; only those that have tokens.
        rarity: None for the base model, and without an embedder.
    """

    name: str
    number: int
    table: pd.DataFrame
    category: pd.Series
    pivotal: pd.Series
    sentences: pd.DataFrame
    rarity: Rarity | None


def read_words(
    names: Sequence[str],
    tokens: Mapping[str, pd.DataFrame],
    *,
    embedder: SentenceEmbedder | None = None,
    neighbours: int = NEIGHBOURS,
    share: float = SHARE,
    stated_only: bool = False,
    encoding: str | None = None,
) -> list[Words]:
    """Measure the runs with a table in `tokens`, in the order of `names`; the first name is the base model.

    Args:
        names: of all runs. tokens: name -> token table of its responses to one benchmark.
        embedder: for rare sentences, if the base model has a table; None skips them.
        neighbours, share: see `evals.analysis.words.embedders`.
        stated_only: use the papers' own words only, none of those that we added.
        encoding: of the tokens (`sentences.ENCODINGS`); None detects it.
    Raises:
        ValueError: a table of an unknown name or without rows, or as the measurements.
    """
    strange = [name for name in tokens if name not in names]
    if strange:
        raise ValueError(f"token tables: expected those of {', '.join(names)}, got one of {strange[0]!r}")
    categories, pivots, reflections = (
        load_lexicon(name, stated_only=stated_only) for name in ("token_categories", "pivotal_tokens", "reflective")
    )
    once = CachedEmbedder(embedder) if embedder else None  # every other run needs the base model's sentences
    read: list[Words] = []
    for number, name in enumerate(names):
        if name not in tokens:
            continue
        table = tokens[name]
        if table.empty:
            raise ValueError(f"{name}: expected a token table with rows")
        every = sentence_table(table, encoding=encoding)
        every = every.assign(reflective=reflective_sentences(every["text"], lexicon=reflections))
        measured = every[every["tokens"] > 0]
        rarity = None
        if once is not None and read and read[0].number == 0:
            base = read[0].sentences["text"].tolist()
            rarity = find_rare(measured, base, once, neighbours=neighbours, share=share)
        category = categorise(table, lexicon=categories, encoding=encoding)
        pivotal = pivotal_tokens(table, lexicon=pivots, encoding=encoding)
        read.append(Words(name, number, table, category, pivotal, measured, rarity))
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
    for held in words:
        sources = [("pivotal", held.table, held.pivotal), ("reflective", held.sentences, held.sentences["reflective"])]
        if held.rarity is not None:
            sources.append(("rare", held.rarity.sentences, held.rarity.sentences["rare"]))
        for comparison, frame, member in sources:
            contrasted = contrast(frame["entropy"], member.to_numpy(bool), frame["problem_id"])
            paired = contrasted.difference
            interval = paired.interval if paired else None
            rows.append(
                {
                    "model": held.name,
                    "comparison": comparison,
                    "embedder": held.rarity.embedder if comparison == "rare" and held.rarity else "",
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


def frequencies(words: Sequence[Words]) -> pd.DataFrame:
    """Counts per response: all tokens, tokens of each category, pivotal tokens, reflective sentences.

    Returns:
        One row per model and `what`: `mean` over problems (of the problem's mean over its responses) with `low` and
        `high` (95 %, over problems; NaN if there is none), `pooled` (over responses at once, as the papers count),
        and the numbers of `problems` and `responses`, which exclude responses without a token.
    """
    import pandas as pd

    rows = []
    for held in words:
        keys = response_keys(held.table)
        kinds = {name: (held.category == name).astype(int) for name in CATEGORIES}
        per = held.table[keys].assign(length=1, pivotal=held.pivotal.astype(int), **kinds)
        counts = per.groupby(keys, sort=False).sum()
        counts["reflective"] = held.sentences.groupby(keys, sort=False)["reflective"].sum()
        counts = counts.fillna({"reflective": 0})  # white space alone has tokens and no sentence
        problems = counts.index.get_level_values("problem_id")
        for what in ("length", *CATEGORIES, "pivotal", "reflective"):
            side = measure_side(counts[what], problems)
            rows.append(
                {
                    "model": held.name,
                    "what": what,
                    "mean": side.mean,
                    "low": side.low,
                    "high": side.high,
                    "pooled": side.pooled,
                    "problems": side.problems,
                    "responses": side.count,
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

"""Pivotal tokens and reflective sentences (arXiv 2506.14758, section 2, Fig. 2 and 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evals.analysis.tokens.token_spans import detect_spelling, spell
from evals.analysis.tokens.token_table import by_response, need_columns
from evals.analysis.words.lexicon import Lexicon, load_lexicon

if TYPE_CHECKING:
    import pandas as pd


def pivotal_tokens(table: pd.DataFrame, *, lexicon: Lexicon | None = None, spelling: str | None = None) -> pd.Series:
    """Which tokens are (pieces of) pivotal words.

    The paper averages over "commonly occurring pivotal tokens" against all others. A token counts when at least half of
    its characters that are no white space belong to a word of the lexicon, so every piece of such a word does.

    Args:
        table: a token table.
        lexicon: None loads "pivotal_tokens".
        spelling: how the tokens are written (`evals.analysis.tokens.token_spans`); None finds it out.
    Returns:
        Booleans under the table's index.
    Raises:
        ValueError: columns or tokens are missing.
    """
    words = lexicon or load_lexicon("pivotal_tokens")
    need_columns(table, ("token",))
    pieces = spelling or detect_spelling(set(table["token"]))
    return by_response(table, lambda rows: _in_words(rows["token"].tolist(), words, pieces)).astype(bool)


def reflective_sentences(texts: pd.Series, *, lexicon: Lexicon | None = None) -> pd.Series:
    """Which sentences hold a keyword of reflection, such as verify or check.

    Args:
        texts: sentences (`evals.analysis.words.sentence_table`).
        lexicon: None loads "reflective".
    Returns:
        Booleans under the index of `texts`.
    """
    words = lexicon or load_lexicon("reflective")
    return texts.map(lambda text: bool(words.find(text))).astype(bool)


def _in_words(tokens: list[str], lexicon: Lexicon, spelling: str) -> list[bool]:
    spelt = spell(tokens, spelling)
    held = bytearray(len(spelt.text))
    for found in lexicon.find(spelt.text):
        held[found.start : found.end] = b"\1" * (found.end - found.start)
    inside = []
    for start, end in spelt.spans:
        solid = [held[i] for i in range(start, end) if not spelt.text[i].isspace()]
        inside.append(bool(solid) and 2 * sum(solid) >= len(solid))
    return inside

"""What each token does: formal, logical, metacognitive or semantic support (arXiv 2508.07534, Table 1).

The paper gives examples and no rule. Ours: the tokens of a response are spelt out to its text; every character of the
text belongs to one category; a token has the category of most of its characters that are no white space (of several,
that of the first). So all pieces of a word, and all words of a phrase ("let's check"), go together.

- formal: everything inside mathematics; outside it numbers, LaTeX commands, operators and symbols, and variables
  (letters that stand alone, but not a, A and I), and names of functions (lexicon).
- logical, metacognitive: words and phrases of the lexicon.
- semantic: every other word.
- other: punctuation, markup, white space and special tokens, which Table 1 does not place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evals.analysis.tokens.token_spans import detect_spelling, spell
from evals.analysis.tokens.token_table import by_response, need_columns, response_keys
from evals.analysis.words.lexicon import Lexicon, load_lexicon
from evals.analysis.words.mathematics import find_mathematics

if TYPE_CHECKING:
    import pandas as pd

CATEGORIES = ("formal", "logical", "metacognitive", "semantic", "other")
FORMAL, _, _, SEMANTIC, OTHER = range(len(CATEGORIES))

_OPERAND = r"(?=\s*(?:\d|[^\W\d_](?!\w)|[($\\]))"  # what a sign that is also punctuation must stand before to be one
_LEXEME = re.compile(
    rf"""
    (?P<special> <\|[^\s|<>]+\|> | </?s> )
  | (?P<bullet> ^[^\S\n]*(?:[-*+•]|\#+)(?=\s) )
  | (?P<number> \d+(?:[.,]\d+)* )
  | (?P<command> \\[A-Za-z]+ | \\[^\sA-Za-z] )
  | (?P<word> [^\W\d_]+(?:['’-][^\W\d_]+)* )
  | (?P<sign> (?<!\*)\*(?!\*){_OPERAND} | [-/]{_OPERAND} | [=+<>^_{{}}%] )
    """,
    re.VERBOSE | re.MULTILINE,
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_NOT_VARIABLES = {"a", "A", "I"}


def characters(text: str, lexicon: Lexicon) -> bytearray:
    """The category of each character of a text, as a number of `CATEGORIES`."""
    held = bytearray([OTHER]) * len(text)

    def put(start: int, end: int, category: int) -> None:
        held[start:end] = bytes([category]) * (end - start)

    for match in _LEXEME.finditer(text):
        put(*match.span(), _kind(match))
    for match in _NOT_ASCII.finditer(text):
        if held[match.start()] == OTHER and unicodedata.category(match[0]) in ("Sm", "No"):  # √, ∑, ², ½
            put(*match.span(), FORMAL)
    for found in lexicon.find(text):
        put(found.start, found.end, CATEGORIES.index(found.entry.category))
    for start, end, _ in find_mathematics(text):
        put(start, end, FORMAL)
    return held


def classify(tokens: Sequence[str], lexicon: Lexicon, spelling: str) -> list[str]:
    """The category of each token of one whole response, in order.

    Args:
        spelling: how the tokens are written, see `evals.analysis.tokens.token_spans`.
    """
    spelt = spell(tokens, spelling)
    held = characters(spelt.text, lexicon)
    found = []
    for start, end in spelt.spans:
        solid = [held[i] for i in range(start, end) if not spelt.text[i].isspace()]
        found.append(CATEGORIES[max(solid, key=solid.count)] if solid else CATEGORIES[OTHER])
    return found


def categorise(table: pd.DataFrame, *, lexicon: Lexicon | None = None, spelling: str | None = None) -> pd.Series:
    """The category of each row of a token table, under the table's index.

    Args:
        lexicon: of the categories in `CATEGORIES`; None loads "token_categories".
        spelling: None finds it out from all tokens.
    Raises:
        ValueError: columns or tokens are missing.
    """
    import pandas as pd

    words = lexicon or load_lexicon("token_categories")
    need_columns(table, ("token",))
    pieces = spelling or detect_spelling(set(table["token"]))
    found = by_response(table, lambda rows: classify(rows["token"].tolist(), words, pieces))
    return pd.Series(pd.Categorical(found, CATEGORIES), table.index, name="category")


def counts(table: pd.DataFrame, category: pd.Series) -> pd.DataFrame:
    """Tokens of each category in a response, on average, as in Table 5.

    Returns:
        One row: `responses`, `mean_length` (tokens), and one column a category (tokens a response; they sum to the
        length).
    Raises:
        ValueError: the table is empty.
    """
    import pandas as pd

    if table.empty:
        raise ValueError("token table: expected at least one token")
    responses = table.groupby(response_keys(table), sort=False).ngroups
    totals = category.value_counts().reindex(list(CATEGORIES))
    row = {"responses": responses, "mean_length": len(table) / responses}
    return pd.DataFrame([row | {name: totals[name] / responses for name in CATEGORIES}])


def _kind(match: re.Match[str]) -> int:
    if match.lastgroup in ("number", "command", "sign"):
        return FORMAL
    if match.lastgroup == "word":
        letter = len(match[0]) == 1 and unicodedata.category(match[0]) != "Lo"  # a Chinese character is a word
        return FORMAL if letter and match[0] not in _NOT_VARIABLES else SEMANTIC
    return OTHER

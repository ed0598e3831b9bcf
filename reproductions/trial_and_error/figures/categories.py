"""The function of each token: formal, logical, metacognitive or semantic support (arXiv 2508.07534, Table 1, Table 5).

The paper gives examples but no rule. Our rule: give every character of a response's text one category. A token has the
category of most of its characters (`evals.analysis.words.categorise`). All pieces of a word, and all words of a phrase
("let's check"), thus have the same category.

- formal: everything inside mathematics. Outside it numbers, LaTeX commands, operators and symbols, variables (single
  letters, except a, A and I), and names of functions (word list).
- logical, metacognitive: words and phrases of the list, `token_categories.yaml`.
- semantic: every other word.
- other: punctuation, markup, white space and special tokens, which Table 1 does not cover.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.token_table import Tables
from evals.analysis.words import OTHER, WordList, categorise, plot_words
from evals.plots.plot import Plot

WORDS = Path(__file__).with_name("token_categories.yaml")
FORMAL, SEMANTIC = "formal", "semantic"
CATEGORIES = (FORMAL, "logical", "metacognitive", SEMANTIC, OTHER)
_OPERAND = r"(?=\s*(?:\d|[^\W\d_](?!\w)|[($\\]))"  # a sign that is also punctuation counts only before these
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
_BRACES = r"[^{}]"
for _ in range(4):  # nested braces, as deep as in answers
    _BRACES = rf"(?:[^{{}}]|\{{{_BRACES}*+\}})"
_NO_BLANK_LINE = r"(?:(?!\n[ \t]*\n)[\s\S])"
# A cut response may lack a closing delimiter: its formula then ends at the next blank line, or with the text.
_MATHEMATICS = re.compile(
    rf"""
    \$\$ (?:(?!\$\$)[\s\S])+ \$\$
  | \\\[ (?:(?!\\[\[\]])[\s\S])* \\\]
  | \\begin\{{(?P<name>[A-Za-z]+\*?)\}} (?:(?!\\begin\{{(?P=name)\}})[\s\S])*? \\end\{{(?P=name)\}}
  | (?:\$\$|\\\[) {_NO_BLANK_LINE}*
  | \\\( (?:(?!\\[()])[\s\S])* \\\)
  | \\\( [^\n]*
  | (?<![\\$]) \$ (?=[^\s$]) (?:(?!\n[ \t]*\n)(?:\\.|[^$\\]))+ (?<!\s) \$ (?!\d)   # Pandoc's rule: 5$ and 3$ are money
  | \\boxed\{{ {_BRACES}*+ \}}
    """,
    re.VERBOSE,
)
_NOT_VARIABLES = {"a", "A", "I"}


def characters(text: str, words: WordList) -> list[str]:
    """The category of each character of a text."""
    categories = [OTHER] * len(text)

    def put(start: int, end: int, category: str) -> None:
        categories[start:end] = [category] * (end - start)

    for match in _LEXEME.finditer(text):
        put(*match.span(), _kind(match))
    for at, character in enumerate(text):
        if not character.isascii() and categories[at] == OTHER and unicodedata.category(character) in ("Sm", "No"):
            put(at, at + 1, FORMAL)  # √, ∑, ², ½
    for start, end, category in words.find(text):
        put(start, end, category)
    for match in _MATHEMATICS.finditer(text):
        put(*match.span(), FORMAL)
    return categories


def _kind(match: re.Match[str]) -> str:
    if match.lastgroup in ("number", "command", "sign"):
        return FORMAL
    if match.lastgroup == "word":
        letter = len(match[0]) == 1 and unicodedata.category(match[0]) != "Lo"  # a Chinese character is a word
        return FORMAL if letter and match[0] not in _NOT_VARIABLES else SEMANTIC
    return OTHER


def plot_categories(names: Sequence[str], tables: Tables) -> list[Plot]:
    """Tokens of each category in a response (arXiv 2508.07534, Table 5), and their entropy.

    Args:
        names: all runs, the base model first. tables: run -> token table of its responses.
    """
    words = WordList.read(WORDS)
    categories = {run: categorise(table, partial(characters, words=words)) for run, table in tables.items()}
    about = f"Table 1 places no punctuation, markup or white space: other. {words.describe()}"
    return plot_words(
        "token_categories",
        names,
        tables,
        categories,
        CATEGORIES,
        sources=(f"{TRIAL_AND_ERROR}, Table 5", ""),
        about=about,
    )

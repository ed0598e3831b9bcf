r"""Marks that change the look alone, separators, and braces: `\left(`, `1{,}000`, `\frac12`, `x^10`."""

from __future__ import annotations

import re

from evals.grading.spelling.rewrite import END, table

LOOK = table(
    ("invisible bracket", r"\\(?:left|right)\s*\.", ""),
    (
        "size and style",
        rf"\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|limits|rm|bf|hline){END}",
        "",
    ),
    ("underline", r"\\(?:underline|uline)\s*\{([^{}]*)\}", r"{\1}"),
    ("text without letters", r"\\text\s*\{([^{}A-Za-z]*)\}", r"\1"),
    ("choices in one text", r"\\text\s*\{\s*([A-Z](?:\s*,\s*[A-Z])+)\s*\}", r"\1"),
    (
        "choices one by one",
        r"\\text\s*\{\s*([A-Z])\s*\}(?=\s*,)|(?<=,)\s*\\text\s*\{\s*([A-Z])\s*\}",
        r"\1\2",
    ),
    ("quotation marks", r"[\"“”]", ""),
)

_SIGN = re.compile(r"[<>]|\\le |\\ge ")  # once synonyms are gone
_AND = re.compile(r"\s*,?\s*(?:\\text\s*\{\s*and\s*\}|(?<![A-Za-z])and(?![A-Za-z]))\s*")


def _both_hold(whole: re.Match[str]) -> str:
    """Two inequalities with "and" between them; any other "and" stands between the values of a list."""
    sides = _AND.split(whole[0])
    return r"\land ".join(sides) if len(sides) == 2 and all(map(_SIGN.search, sides)) else whole[0]


SEPARATORS = table(
    ("inside a number", r"(?<=\d)\s*(?:\{,\}|,\s*\\!|\\[,;:! ]|')\s*(?=\d{3}(?!\d))", ""),
    ("thin space", rf"(?<!\\)\\[,;:! ]|~|\\q?quad|\\(?:enspace|thinspace){END}", " "),
    ("spaces", r"\s{2,}", " "),
    ("comma in braces", r"\{,\}", ","),
    ("text that ends in and", r"\\text\s*\{([^{}]*[^{}\s])\s+(?:and|or)\s*\}", r"\\text{\1},"),
    ("both hold", r"(?s)^.+$", _both_hold),
    ("and, or", r",?\s*\\text\s*\{\s*,?\s*(?:and|or)\s*\}\s*|(?:,\s*|(?<![A-Za-z\\]))\b(?:and|or)\b(?![A-Za-z])", ","),
    ("commas", r",(?:\s*,)+", ","),
)
BRACES = table(
    ("power in parentheses", r"\^\s*\(\s*([^()]*?)\s*\)", r"^{\1}"),
    ("power of several digits", r"\^\s*([-+]?\d+)", r"^{\1}"),  # 10^23 is read as it is meant
    ("fraction of two signs", r"\\frac\s*(\d|\\[a-z]+)\s*(\d)", r"\\frac{\1}{\2}"),
    ("fraction of a digit", r"\\frac\s*(\d)\s*\{", r"\\frac{\1}{"),
    ("fraction by a digit", r"\\frac\s*\{([^{}]*)\}\s*(\d)", r"\\frac{\1}{\2}"),
    ("root of one sign", r"\\sqrt\s*(\[[^\[\]]*\])?\s*(\d|[A-Za-z])", r"\\sqrt\1{\2}"),
    ("power of one sign", r"([_^])\s*(\d|[A-Za-z])", r"\1{\2}"),
)

r"""Words and signs of money that stand for something else: `minus 5`, `no solution`, `all real numbers`, `\$5`."""

from __future__ import annotations

import re

from evals.grading.spelling.rewrite import table

_OPEN, _CLOSE = r"(?:\\text\s*\{\s*)?", r"\s*\}?\.?\s*$"
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "₹": "rupee"}
_AMOUNT = r"\d+(?:,\d{3})*(?:\.\d+)?(?:\s*(?:\\text\s*\{\s*)?(?:thousand|million|billion|trillion)(?:\s*\})?)?"


def _money(amount: re.Match[str]) -> str:
    """The amount with its currency after it, like any other unit."""
    number = re.sub(r"\s*\\text\s*\{\s*([a-z]+)\s*\}", r" \1", amount[2])
    return rf"{number}\text{{ {_CURRENCIES[amount[1][-1]]}}}"


MONEY = table(
    ("code of a currency", r"^\s*(?:USD|US(?=\s*\\?\$))\s*(?=[\d.\\$])", r"\\$"),
    ("other code of a currency", r"^\s*(?:Rs\.?|INR|EUR|GBP)\s*(?=[\d.\\$])", ""),
    ("a lone dollar", r"^([^$]*)(?<!\\)\$(?=\d)([^$]*)$", r"\1\\$\2"),  # two are LaTeX's
    ("money", rf"(?<![{{\w])(\\\$|[€£₹])\s*({_AMOUNT})(?![\d{{}}\\^_]|\.\d|\s?[A-Za-z])", _money),
    ("sign of a currency", r"\\?[$£€¥₹]", ""),
)
WORDS = table(
    ("about", rf"^\s*{_OPEN}(?:about|approximately|approx\.?|roughly)\s*\}}?\s*(?=[-\d.\\])", ""),
    ("minus", r"^\s*(?:minus|negative)\s+(?=[\d.\\])", "-"),
    ("infinity", rf"^\s*([-+]?)\s*{_OPEN}infinity{_CLOSE}", r"\1\\infty"),
    ("the reals", rf"^\s*{_OPEN}(?:the set of )?(?:all )?real(?:s| numbers){_CLOSE}", r"(-\\infty,\\infty)"),
    ("the integers", rf"^\s*{_OPEN}(?:the set of |all |the )+integers{_CLOSE}", r"\\mathbb{Z}"),
    (
        "undefined",
        rf"^\s*{_OPEN}(?:undefined|not defined|(?:it |the limit )?does not exist|DNE){_CLOSE}",
        r"\\text{undefined}",
    ),
    ("infinitely many", rf"^\s*{_OPEN}(?:infinitely many|infinite)(?: solutions?)?{_CLOSE}", r"\\infty"),
    (
        "no solution",
        rf"^\s*{_OPEN}(?:(?:there (?:is|are) )?no (?:real |integer |such )?(?:solutions?|roots?)(?: exists?)?"
        rf"|(?:the )?(?:empty|null) set){_CLOSE}",
        r"\\emptyset",
    ),
    flags=re.IGNORECASE,
)

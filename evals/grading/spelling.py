r"""One spelling for equivalent notations, before any comparison.

`clean` unifies notation (`\dfrac`, `\left(`, `\,`, `$...$`, `np.arcsin`, full-width signs) and keeps the meaning.
Pure string work, standard library only. In this order: Unicode signs, the wrapping (a box, `$...$`), code and plain
text (`evals.grading.code`), then the tables of rewrites: LaTeX that says the same, names, look, environments,
separators, money, words, braces. Each rewrite has a name, and a test of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from evals.grading.code import FUNCTIONS, from_code, in_latex
from evals.grading.extraction import LABEL, boxes
from evals.grading.numbers import matching, split

END = r"(?![A-Za-z])"  # the end of a command's name


class Rewrite(NamedTuple):
    """Replace one notation by an equivalent one."""

    name: str
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]

    def __call__(self, text: str) -> str:
        return self.pattern.sub(self.replacement, text)


def table(*rows: tuple[str, str, str | Callable[[re.Match[str]], str]], flags: int = 0) -> tuple[Rewrite, ...]:
    """Rewrites from (name, pattern, replacement), in order of application."""
    return tuple(Rewrite(name, re.compile(pattern, flags), replacement) for name, pattern, replacement in rows)


_OPERATORS = "gcd|lcm|max|min|det|tr|rank|dim|ker|deg|arg|Re|Im|mod|sgn|proj|cis|ord"

SIGNS = table(
    ("missing backslash", r"(?<![\\A-Za-z])([dt]?frac|sqrt|binom|text|overline)(?=\s*\{)", r"\\\1"),
    ("fraction", rf"\\(?:[dtc]frac|nicefrac|sfrac){END}", r"\\frac"),
    ("binomial", rf"\\[dt]binom{END}", r"\\binom"),
    ("choose", r"\{\s*([^{}\\]+?)\s*\\choose\s*([^{}\\]+?)\s*\}", r"\\binom{\1}{\2}"),
    ("at most", rf"\\(?:leqslant|leqq|leq){END}|<=|=<", r"\\le "),
    ("at least", rf"\\(?:geqslant|geqq|geq){END}|>=", r"\\ge "),
    ("less", rf"\\lt{END}", "<"),
    ("greater", rf"\\gt{END}", ">"),
    ("equality of code", r"(?<![=<>!])==(?!=)", "="),
    ("arrow", rf"\\(?:rightarrow|longrightarrow){END}|->", r"\\to "),
    ("double arrow", rf"\\(?:Longrightarrow|implies){END}", r"\\Rightarrow "),
    ("negation", rf"\\lnot{END}", r"\\neg "),
    ("union as a letter", r"(?<=[)\]])\s*U\s*(?=[(\[])", r"\\cup "),
    ("triangle", r"\\triangle\s*(?:\{\s*([A-Z]{3})\s*\}|([A-Z]{3})(?![A-Z]))", r"\1\2"),
    ("big union", rf"\\bigcup(?=\s*[(\[{{\\])(?!\s*[_^]){END}", r"\\cup "),
    ("unequal", rf"(?<![\d)])!=|\\ne{END}", r"\\neq "),  # but 3!=6 is a factorial
    ("hat and vector", r"\\wide(hat|tilde)(?![A-Za-z])", r"\\\1"),
    ("dots", rf"\\(?:dots|cdots|dotsc|dotsb){END}|\.\s?\.\s?\.", r"\\ldots "),
    ("bar", rf"\\(?:mid|[lr]?vert){END}", "|"),
    ("colon", rf"\{{:\}}|\\!\s*:\s*\\!|\\colon{END}", ":"),
    ("angle bracket, left", rf"\\langle{END}", "("),
    ("angle bracket, right", rf"\\rangle{END}", ")"),
    ("brace, left", rf"\\lbrace{END}", r"\\{"),
    ("brace, right", rf"\\rbrace{END}", r"\\}"),
    ("both hold in signs", rf"\\(?:wedge|land){END}", r"\\land "),
    ("either holds", rf"\\(?:vee|lor){END}", ","),
    ("empty set", rf"\\varnothing{END}|\\\{{\s*\\\}}", r"\\emptyset "),
    (
        "the reals as a sign",
        r"^\s*(?:\w\s*\\in\s*)?\\math(?:bb|bf)\s*\{?\s*R\s*\}?\s*$|^\s*\w\s*\\in\s*R\s*$",
        r"(-\\infty,\\infty)",
    ),
    (
        "the positive reals",
        r"^\s*(?:\w\s*\\in\s*)?\\mathbb\s*\{?\s*R\s*\}?\s*(?:\^\s*\{?\s*\+\s*\}?|_\s*\{\s*>\s*0\s*\})\s*$",
        r"(0,\\infty)",
    ),
    (
        "the reals from 0",
        r"^\s*(?:\w\s*\\in\s*)?\\mathbb\s*\{?\s*R\s*\}?\s*_\s*\{\s*\\ge\s*0\s*\}\s*$",
        r"[0,\\infty)",
    ),
    ("root of", r"\\root\s*\{?(\w+)\}?\s*\\of\s*(?=\{|\w)", r"\\sqrt[\1]"),
    (
        "combinations of code",
        r"(?<![\w\\])(?:C|nCr)\((\d+),\s*(\d+)\)|(?<![\w.])(\d+)\s?C\s?(\d+)(?!\w)",
        r"\\binom{\1\3}{\2\4}",
    ),
    ("combinations", r"\{\s*\}\s*[_^]\s*\{?(\d+)\}?\s*C\s*_\s*\{?(\d+)\}?", r"\\binom{\1}{\2}"),
    ("combinations, upper index", r"(?<![A-Za-z\\}])C_\{?(\d+)\}?\s*\^\s*\{?(\d+)\}?", r"\\binom{\1}{\2}"),
    ("largest of a set", r"\\?(?<![A-Za-z])(max|min|gcd|lcm)\s*(?:\\left)?\\\{([^{}]*?)(?:\\right)?\\\}", r"\\\1(\2)"),
    ("largest of", r"(?<![\\A-Za-z])(max|min|gcd|lcm)(?=\()", r"\\\1"),
    ("segment", r"\\overline\s*\{\s*([A-Z]{2})\s*\}", r"\1"),  # over digits it is a period
    ("remainder", rf"\\(?:bmod|mod){END}", r"\\bmod "),
    ("modulus", r"\(?\s*\\pmod\s*(?:\{([^{}]*)\}|(\w))\s*\)?|\(\s*(?:\\bmod\s|mod\b)\s*([^()]*)\)", r"\\pmod{\1\2\3}"),
    ("power in HTML", r"<sup>([^<>]*)</sup>", r"^{\1}"),
    ("index in HTML", r"<sub>([^<>]*)</sub>", r"_{\1}"),
    ("prime", r"\^\s*\{?\s*\\prime\s*\}?", "'"),
)


def _in_degrees(angle: re.Match[str]) -> str:
    """30 degrees 15 minutes as 121/4 degrees."""
    return rf"\frac{{{3600 * int(angle[1]) + 60 * int(angle[2]) + int(angle[3] or 0)}}}{{3600}}^{{\circ}}"


NAMES = table(
    ("operator", rf"\\operatorname\*?\s*\{{\s*({FUNCTIONS}|{_OPERATORS})\s*\}}", r"\\\1 "),
    ("operator in words", r"\\operatorname\*?(?=\s*\{)", r"\\text"),
    ("upright e", r"\\(?:mathrm|text)\s*\{\s*e\s*\}(?=\s*\^)", "e"),
    ("upright i", r"(?<=[\d+\-)}])\s*\\(?:mathrm|text)\s*\{\s*i\s*\}(?!\s*[A-Za-z])", " i"),
    (
        "unit vector",
        r"\\(?:mathbf|boldsymbol|bm|hat|widehat|vec)(?:\s*\{\s*\\?([ijk])(?:math)?\s*\}|\s+\\?([ijk])(?:math)?(?![A-Za-z]))",
        r" \1\2",
    ),
    (
        "font",
        r"\\(?:mathrm|mathbf|mathit|mathsf|textbf|textit|textrm|textnormal|mbox|hbox)(?=\s*\{)",
        r"\\text",
    ),
    ("upright function", rf"\\text\s*\{{\s*({FUNCTIONS})\s*\}}", r"\\\1 "),
    ("letter o as degree", r"(?<=[\d}])\s*\^\s*\{?\s*(?:\\text\s*\{\s*o\s*\}|o(?![A-Za-z]))\s*\}?", r"^{\\circ}"),
    ("degree", rf"\\(?:degree|textdegree){END}|\^\s*\\circ{END}|\^\s*\{{\s*\\circ\s*\}}", r"^{\\circ}"),
    ("minutes of a degree", r"(\d+)\s*\^\{\\circ\}\s*(\d+)\s*'(?:\s*(\d+)\s*(?:''|\"))?", _in_degrees),
    ("base in words", r"^\s*(\w+)[\s(]*(?:\\text\s*\{)?[\s(]*base[\s}]+(\w+)[\s})]*$", r"\1_{\2}"),
    (
        "fraction of units",
        r"\\frac\s*\{\s*\\text\s*\{([^{}]*)\}\s*\}\s*\{\s*\\text\s*\{([^{}]*)\}\s*\}",
        r"\\text{ \1/\2}",
    ),
)


def _diagonal(entries: re.Match[str]) -> str:
    """`diag(2,3)` as its matrix."""
    diagonal = split(entries[1], ",")
    size = range(len(diagonal))
    rows = "\\\\".join("&".join(diagonal[row] if column == row else "0" for column in size) for row in size)
    return rf"\begin{{pmatrix}}{rows}\end{{pmatrix}}"


ENVIRONMENTS = table(
    ("array", r"\\begin\s*\{array\}\s*\{[^{}]*\}|\\begin\s*\{smallmatrix\}", r"\\begin{matrix}"),
    ("end of array", r"\\end\s*\{(?:array|smallmatrix)\}", r"\\end{matrix}"),
    (
        "matrix in brackets",
        r"[(\[]\s*\\begin\{matrix\}(.*?)\\end\{matrix\}\s*[)\]]",
        r"\\begin{pmatrix}\1\\end{pmatrix}",
    ),
    ("diagonal matrix", r"(?:\\text\s*\{\s*diag\s*\}|\\?(?<![A-Za-z])diag)\s*\(([^()]*,[^()]*)\)", _diagonal),
    ("row spacing", r"\\\\\s*\[\s*[\d.]+\s*(?:pt|em|ex|mm|cm)\s*\]", r"\\\\"),
)


_STYLE = rf"\\(?:displaystyle|textstyle|rm|bf){END}|\\text\s*\{{\s*\}}|\\[hv]?phantom\s*\{{[^{{}}]*\}}|\\\$"
LOOK = table(
    # `0\displaystyle42` and `0\text{42}` are not 42
    ("digits apart", rf"(?<=\d)(?:{_STYLE})\s*(?=\d)|(?<=\d)\\text\s*(?=\{{\s*\d[\d.,]*\s*\}})", ", "),
    ("invisible", r"\\[hv]?phantom\s*\{[^{}]*\}", ""),
    ("invisible bracket", r"\\(?:left|right)\s*\.", ""),
    (
        "size and style",
        rf"\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|limits|rm|bf|hline){END}",
        "",
    ),
    ("color", r"\\(?:text)?color\s*\{[^{}]*\}", ""),
    ("label of the answer", f"(?i){LABEL}", ""),
    ("underline", r"\\(?:underline|uline)\s*\{([^{}]*)\}", r"{\1}"),
    ("amounts in text", r"^\s*\\text\s*\{\s*(\d[^{}]*)\}\s*$", r"\1"),
    ("text without letters", r"\\text\s*\{([^{}A-Za-z]*)\}", r"\1"),
    ("choices in one text", r"\\text\s*\{\s*(\(?[A-Z]\)?(?:(?:\s*,\s*|\s+and\s+)\(?[A-Z]\)?)+)\s*\}", r"\1"),
    (
        "choices one by one",
        r"\\text\s*\{\s*([A-Z])\s*\}(?=\s*,)|(?<=,)\s*\\text\s*\{\s*([A-Z])\s*\}",
        r"\1\2",
    ),
    (
        "amount in text",
        r"(?<=\d)\s*\\text\s*\{\s*(thousand|million|billion|trillion)\s+([a-z]+)\s*\}",
        r" \1\\text{ \2}",
    ),
    ("quotation marks", r"[\"“”]", ""),
)

_SIGN = re.compile(r"[<>]|\\[lg]e(?![A-Za-z])")  # once synonyms are gone
_AND = re.compile(r"\s*,?\s*(?:\\text\s*\{\s*and\s*\}|(?<![A-Za-z])and(?![A-Za-z]))\s*")


def _both_hold(whole: re.Match[str]) -> str:
    """Two inequalities with "and" between them; any other "and" stands between the values of a list."""
    sides = _AND.split(whole[0])
    return r"\land ".join(sides) if len(sides) == 2 and all(map(_SIGN.search, sides)) else whole[0]


def _with_point(number: re.Match[str]) -> str:
    """`1.234.567,89`, as it is written in German, as 1234567.89."""
    return number[0].replace(".", "").replace(",", ".")


SEPARATORS = table(
    ("inside a fraction", r"(?:(?<=frac\{)|(?<=\}\{))(\d{1,3}),(\d{3})(?=\})", r"\1\2"),
    ("inside a number", r"(?<=\d)\s*(?:\{,\}|,\s*\\!|\\[,;:! ]|')\s*(?=\d{3}(?!\d))", ""),
    ("thin space", rf"(?<!\\)\\[,;:! ]|~|\\q?quad|\\(?:enspace|thinspace){END}", " "),
    ("spaces", r"\s{2,}", " "),
    ("thousands with points", r"(?<![\d.,])\d{1,3}(?:\.\d{3}){2,},\d+(?![\d.,])", _with_point),
    ("point before a bracket", r"(?<=[\d}])\.(?=\s*[\])])", ""),
    (
        "transposed row",
        r"([(\[][^()\[\]]*,[^()\[\]]*[)\]])\s*\^\s*(?:\{\s*(?:T|\\top)\s*\}|T(?![A-Za-z])|\\top(?![A-Za-z]))",
        r"\1",
    ),
    ("decimal comma in braces", r"^(\s*-?\d+)\{,\}(?=\d{1,2}\s*$)", r"\1."),
    ("new line", r"(?<!\\)\\\\\s+(?=[A-Za-z]\s*=)", ", "),
    ("comma in braces", r"\{,\}", ","),
    ("text that ends in and", r"\\text\s*\{([^{}]*[^{}\s])\s+(?:and|or)\s*\}", r"\\text{\1},"),
    ("both hold", r"(?s)^.+$", _both_hold),
    ("either, both", r"^\s*(?:either|both)\s+(?=[-\d\\(])", ""),
    ("and, or", r",?\s*\\text\s*\{\s*,?\s*(?:and|or)\s*\}\s*|(?:,\s*|(?<![A-Za-z\\]))\b(?:and|or)\b(?![A-Za-z])", ","),
    ("and, or in French and German", r" (?<=[\d)}] )(?:ou|oder|et|und|o(?= \w ?=)) (?=[-\d(\\]|\w ?=)", ", "),
    ("and, or between signs", r"(?<=\d)(?:and|or)(?=[A-Z\d(\\-])", ","),
    ("commas", r",(?:\s*,)+", ","),
)
BRACES = table(
    ("fraction times", r"(?<![\w.^}])(\d+)/(\d+)(?=\s*\\(?:pi|sqrt)|\s+[a-z](?![a-z])|\s+\()", r"\\frac{\1}{\2}"),
    ("power that is a function", rf"\^\s*(\\(?:{FUNCTIONS}))\s*\(([^()]*)\)", r"^{\1(\2)}"),
    ("power of a negated letter", r"\^\s*-\s*([A-Za-z])(?![A-Za-z(])", r"^{-\1}"),
    ("upright index", r"_\s*\{\s*\\text\s*\{\s*([A-Za-z]{1,3})\s*\}\s*\}", r"_{\1}"),
    ("power in parentheses", r"\^\s*\(\s*([^()]*?)\s*\)", r"^{\1}"),
    ("power of several digits", r"\^\s*([-+]?\d+)", r"^{\1}"),  # 10^23 is read as it is meant
    ("fraction of two signs", r"\\frac\s*(\d|\\[a-z]+)\s*(\d)", r"\\frac{\1}{\2}"),
    ("fraction of a digit", r"\\frac\s*(\d)\s*\{", r"\\frac{\1}{"),
    ("fraction by a digit", r"\\frac\s*\{([^{}]*)\}\s*(\d)", r"\\frac{\1}{\2}"),
    ("root of one sign", r"\\sqrt\s*(\[[^\[\]]*\])?\s*(\d|[A-Za-z])", r"\\sqrt\1{\2}"),
    (
        "sets in plain braces",
        r"^\s*\{\s*\{[^{}\\]*\}(?:\s*,\s*\{[^{}\\]*\})+\s*\}\s*$",
        lambda sets: sets[0].replace("{", r"\{").replace("}", r"\}"),
    ),
    ("index that is a sign", r"([_^])\s*(\\(?:odot|oplus|infty|max|min))(?![A-Za-z])", r"\1{\2}"),
    ("mass of the sun", r"(?<=\d)\s*([MLR])_\{\\odot\}", r"\\text{ solar \1}"),
    ("angstrom", r"Å|Å|\\AA(?![A-Za-z])|\\text\s*\{\s*\\AA\s*\}|\\(?:mathring|r)\s*\{?A\}?", r"\\text{ angstrom}"),
    ("power of one sign", r"([_^])\s*(\d|[A-Za-z])", r"\1{\2}"),
)


_OPEN, _CLOSE = r"(?:\\text\s*\{\s*)?", r"\s*\}?\.?\s*$"
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "₹": "rupee"}
_AMOUNT = r"\d+(?:,\d{3})*(?:\.\d+)?(?:\s*(?:\\text\s*\{\s*)?(?:thousand|million|billion|trillion)(?:\s*\})?)?"


def _money(amount: re.Match[str]) -> str:
    """The amount with its currency after it, like any other unit."""
    number = re.sub(r"\s*\\text\s*\{\s*([a-z]+)\s*\}", r" \1", amount[2])
    return rf"{number}\text{{ {_CURRENCIES[amount[1][-1]]}}}"


_TEXT = r"(?:\\text\s*\{\s*)"
MONEY = table(
    ("ohm", rf"(?<=[\d}}])\s*{_TEXT}?([kMGm]?)\s*\}}?\s*{_TEXT}?\\Omega{END}\s*\}}*\s*$", r"\\text{ \1ohm}"),
    (
        "micro",
        rf"(?<=[\d}}])(?:\s+(?=\\mu)|\s*(?=\\mu\s*\\text)|\s*{_TEXT}(?=\\mu))\\mu\s*\}}?\s*{_TEXT}?([mgsALVFCHWNJM]){END}\s*\}}?",
        r"\\text{ u\1}",
    ),
    ("pound", r"\\pounds(?![A-Za-z])", "£"),
    ("code of a currency", r"^\s*(?:USD|US(?=\s*\\?\$))\s*(?=[\d.\\$])", r"\\$"),
    ("other code of a currency", r"^\s*(?:Rs\.?|INR|EUR|GBP)\s*(?=[\d.\\$])", ""),
    ("a lone dollar", r"^([^$]*)(?<!\\)\$(?=\d)([^$]*)$", r"\1\\$\2"),  # two are LaTeX's
    ("money", rf"(?<![{{\w])(\\\$|[€£₹])\s*({_AMOUNT})(?![\d{{}}\\^_]|\.\d|\s?[A-Za-z])", _money),
    ("sign of a currency", r"\\?[$£€¥₹]", ""),
)
WORDS = table(
    ("constant of integration", r"(?<=[^\s+\-])\s*\+\s*(?:\\text\s*\{\s*)?const(?:ant|\.)?\s*\}?\s*$", r" + C"),
    ("about", rf"^\s*{_OPEN}(?:about|approximately|approx\.?|roughly)\s*\}}?\s*(?=[-\d.\\])", ""),
    ("exactly, before", r"^\s*(?:exactly|precisely|only|just)\s+(?=[-\d.\\])", ""),
    ("label", r"(?<![A-Za-z\\])([A-Z][a-z]{2,})\s*:\s+(?=[-\d\\$])", r"\1 = "),
    ("arrow before an answer", r"^\s*\\(?:to|Rightarrow|therefore)(?![A-Za-z])\s*(?=[-\d.\\A-Za-z(])", ""),
    (
        "approximately, in parentheses",
        rf"(?<=[\d}})])\s*{_TEXT}?\((?:approx(?:\.|imately)?|about|exact(?:ly)?|rounded)\)\s*\}}?[.]?\s*$",
        "",
    ),
    ("of a unit", r" of (?:(?<=/\d of )|(?<=/\d\d of ))(?:an?|the) (?=[a-z]+\s*\.?\s*$)", " "),
    ("minus", r"^\s*(?:minus|negative)\s+(?=[\d.\\])", "-"),
    ("exactly", rf"(?<=[\d}})])\s*{_TEXT}?(?:exactly|precisely|altogether|in total|in all)\s*\}}?\.?\s*$", ""),
    (
        "obviously",
        rf"(?<=[\d}})])\s*,?\s*{_TEXT}?(?:obviously|clearly|certainly|definitely|of course)\s*\}}?[.!]*\s*$",
        "",
    ),
    (
        "infinity as a bound",
        r"(?<=[(\[,])\s*([-+]?)\s*(?:\\text\s*\{\s*)?(?:infinity|infty|inf|oo)\s*\}?(?=\s*[,)\]])",
        r"\1\\infty",
    ),
    ("infinity", rf"^\s*([-+]?)\s*{_OPEN}(?:infinity|inf|oo){_CLOSE}", r"\1\\infty"),
    ("the reals", rf"^\s*{_OPEN}(?:the set of )?(?:all )?real(?:s| numbers){_CLOSE}", r"(-\\infty,\\infty)"),
    (
        "the reals without",
        rf"^\s*{_OPEN}all real(?:s| numbers)?\s+(?:[a-z]\s+)?(?:except|other than|but)(?: for)?\s*\}}?\s*"
        r"(?:[a-z]\s*=\s*)?([-\d\\][^{}a-z]*|[-\d\\].*\})$",
        r"\\mathbb{R}\\setminus\\{\1\\}",
    ),
    ("out of", rf"^\s*(\d+)\s*{_TEXT}?\s*(?:out\s+of|in)\s*\}}?\s*(\d+)\s*$", r"\\frac{\1}{\2}"),
    ("the integers", rf"^\s*{_OPEN}(?:the set of |all |the )+integers{_CLOSE}", r"\\mathbb{Z}"),
    (
        "undefined",
        rf"^\s*{_OPEN}(?:undefined|not defined|(?:it |the limit )?does not exist|DNE){_CLOSE}",
        r"\\text{undefined}",
    ),
    ("infinitely many", rf"^\s*{_OPEN}(?:infinitely many|infinite)(?: solutions?)?{_CLOSE}", r"\\infty"),
    (
        "no solution",
        rf"^\s*{_OPEN}(?:(?:there (?:is|are) )?no (?:real |integer |such )?(?:solutions?|roots?)(?: exists?)?|none"
        rf"|(?:the )?(?:empty|null) set){_CLOSE}",
        r"\\emptyset",
    ),
    flags=re.IGNORECASE,
)


REWRITES = (*SIGNS, *NAMES, *LOOK, *ENVIRONMENTS, *SEPARATORS, *MONEY, *WORDS, *BRACES)  # made in this order

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DELIMITERS = re.compile(r"\$\$|(?<!\\)\\[()\[\]]|\\(?:boxed|fbox|framebox)(?![A-Za-z])")
_IN_A_BOX = re.compile(r"[\s$]*\\(?:boxed|fbox)\s*\{\0\}[\s$.]*")
_IN_DOLLARS = re.compile(r"^\s*\$([^$]*[^$\\])\$\s*$")
_DOUBLE_BACKSLASH = re.compile(r"\\\\(?=[A-Za-z{}$%])")
_SYSTEM = re.compile(
    r"\\begin\s*\{(cases|aligned|align\*?|gathered|split)\}(.*?)\\end\s*\{\1\}(?:\s*\\right\s*\.)?"
    r"|(?:\\left\s*)?\\\{\s*\\begin\s*\{(array)\}\s*\{[lcr]*\}(.*?)\\end\s*\{array\}(?:\s*\\right\s*\.)?",
    re.DOTALL,
)
_IN_BRACKETS = re.compile(r"\[\s*-?\d[^\[\](),;]*\]")  # `[45 degrees]`: one number, and no list
_HALF_OPEN = re.compile(r"([\[\]])([^\[\]()]*,[^\[\]()]*)([\[\]])")


_ASCII = re.compile(r"[!-~]+(?: [!-~]+)*")  # and single spaces
_ONLY_LATEX = re.compile(r"(?:\\[A-Za-z]+|[^A-Za-z\\*.])*")  # no name, product or decimal that code may have


@lru_cache(maxsize=8192)
def clean(text: str) -> str:
    """The same answer in one spelling."""
    if _NUMBER.fullmatch(text):
        return text  # as most answers are, and no rewrite touches it
    text = _bare(text if _ASCII.fullmatch(text) else in_latex(text))
    if not _ONLY_LATEX.fullmatch(text):
        text = from_code(text)
    for rewrite in REWRITES:
        text = rewrite(text)
    return _half_open(_trim(text))


def _bare(text: str) -> str:
    """Without its wrapping: a box, twice-escaped backslashes, delimiters of mathematics, Markdown."""
    if len(inside := boxes(text)) == 1 and _IN_A_BOX.fullmatch(text.replace(inside[0], "\0")):
        text = inside[0]
    text = _IN_DOLLARS.sub(r"\1", text)
    if re.search(r"(?<!\\)\\\\begin", text):  # every backslash is doubled
        text = text.replace("\\\\", "\\")
    text = _SYSTEM.sub(_lines, text)
    if not re.search(r"matrix|cases|array|align", text):
        text = _DOUBLE_BACKSLASH.sub(r"\\", text)
    text = _DELIMITERS.sub(" ", text)
    return text.replace("`", "") if "\\" in text else re.sub(r"^\s*\*\*(.*)\*\*\s*$|`", r"\1", text)


def _lines(system: re.Match[str]) -> str:
    """The lines of a system or a derivation, one after the other; with columns it is another thing, and stays."""
    inside = re.sub(r"&(?=\s*(?:[=<>]|\\[lg]e))|(?<==)\s*&|^\s*&|(?<=\\\\)\s*&", "", system[2] or system[4] or "")
    lines = [line.strip(" ,;") for line in re.split(r"\\\\(?:\s*\[[^\]]*\])?", inside)]
    return system[0] if "&" in inside else re.sub(r",\s*(?==)", " ", ", ".join(filter(None, lines)))


def _half_open(text: str) -> str:
    """`]0,1]`, as it is written in French, as `(0,1]`."""
    turned = _HALF_OPEN.fullmatch(text)
    if turned is None or (turned[1], turned[3]) == ("[", "]"):
        return text
    return f"{'[('[turned[1] == ']']}{turned[2]}{'])'[turned[3] == '[']}"


def _trim(text: str) -> str:
    """Without the punctuation around it, and without braces and parentheses around the whole."""
    while True:
        before = text
        text = text.rstrip(" .,;:\\").lstrip(",;:= ")
        if text[:1] in ("{", "(") and matching(text, 0) == len(text) - 1:
            inside = text[1:-1]
            # `(E)` stays, it may be a choice; so do tuples and half-open intervals
            if text[0] == "{" or (text[-1] == ")" and len(inside.strip()) > 1 and len(split(inside, ",;")) == 1):
                text = inside
        if _IN_BRACKETS.fullmatch(text):
            text = text[1:-1]
        if text == before:
            return text

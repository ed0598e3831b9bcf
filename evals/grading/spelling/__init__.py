r"""One spelling for answers that are written differently, before any comparison.

`clean` removes ways of writing (`\dfrac`, `\left(`, `\,`, `$...$`, `np.arcsin`, full-width signs), never what is said.
Pure string work, standard library only. Each rewrite has a name, and a test of that name.

characters.py   Unicode signs
code.py         Python and plain text
synonyms.py     LaTeX that says the same
marks.py        look, separators, braces
phrases.py      words and signs of money
"""

from __future__ import annotations

import re
from functools import lru_cache

from evals.grading.extraction import boxes
from evals.grading.latex import matching, split
from evals.grading.spelling.characters import in_latex
from evals.grading.spelling.code import from_code
from evals.grading.spelling.marks import BRACES, LOOK, SEPARATORS
from evals.grading.spelling.phrases import MONEY, WORDS
from evals.grading.spelling.synonyms import ENVIRONMENTS, NAMES, SIGNS

REWRITES = (*SIGNS, *NAMES, *LOOK, *ENVIRONMENTS, *SEPARATORS, *MONEY, *WORDS, *BRACES)  # made in this order

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DELIMITERS = re.compile(r"\$\$|(?<!\\)\\[()\[\]]|\\(?:boxed|fbox)(?![A-Za-z])")
_IN_A_BOX = re.compile(r"[\s$]*\\(?:boxed|fbox)\s*\{\0\}[\s$.]*")
_DOUBLE_BACKSLASH = re.compile(r"\\\\(?=[A-Za-z{}$%])")
_CASES = re.compile(r"\\begin\s*\{cases\}([^&]*?)\\end\s*\{cases\}", re.DOTALL)
_HALF_OPEN = re.compile(r"([\[\]])([^\[\]()]*,[^\[\]()]*)([\[\]])")


@lru_cache(maxsize=8192)
def clean(text: str) -> str:
    """The same answer in one spelling."""
    if _NUMBER.fullmatch(text):
        return text  # as most answers are, and no rewrite touches it
    text = from_code(_bare(in_latex(text)))
    for rewrite in REWRITES:
        text = rewrite(text)
    return _half_open(_trim(text))


def _bare(text: str) -> str:
    """Without what came with it: a box, backslashes that were escaped twice, delimiters of mathematics, Markdown."""
    if len(inside := boxes(text)) == 1 and _IN_A_BOX.fullmatch(text.replace(inside[0], "\0")):
        text = inside[0]
    if re.search(r"(?<!\\)\\\\begin", text):  # every backslash is doubled
        text = text.replace("\\\\", "\\")
    text = _CASES.sub(lambda cases: ", ".join(filter(None, map(str.strip, cases[1].split("\\\\")))), text)
    if not re.search(r"matrix|cases|array|align", text):
        text = _DOUBLE_BACKSLASH.sub(r"\\", text)
    text = _DELIMITERS.sub(" ", text)
    return text.replace("`", "") if "\\" in text else re.sub(r"^\s*\*\*(.*)\*\*\s*$|`", r"\1", text)


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
        text = text.rstrip(" .,;:\\").lstrip(",;: ")
        if text[:1] in ("{", "(") and matching(text, 0) == len(text) - 1:
            inside = text[1:-1]
            # `(E)` stays, it may be a choice; so do tuples and half-open intervals
            if text[0] == "{" or (text[-1] == ")" and len(inside.strip()) > 1 and len(split(inside, ",;")) == 1):
                text = inside
        if text == before:
            return text

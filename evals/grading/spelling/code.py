"""Mathematics in code or plain text as LaTeX: `np.sqrt(2)*np.arcsin(10/13)`, `16*pi`, `2sqrt3`, `x**2`."""

from __future__ import annotations

import re

from evals.grading.latex import matching
from evals.grading.spelling.rewrite import FUNCTIONS

_MODULE = r"(?<![\\A-Za-z])(?:(?:np|numpy|math)\.)?"
_CODE = re.compile(rf"(?:np|numpy|math)\.|\*\*|{_MODULE}(?:sqrt|cbrt|{FUNCTIONS})\s*\(|\d\.(?=\s*[/*])")
_BARE = re.compile(rf"(?<![\\A-Za-z])(?:pi|sqrt|{FUNCTIONS})(?![A-Za-z])")
_OTHER_WORD = re.compile(rf"\\|(?<![A-Za-z])(?!(?:sqrt|cbrt|{FUNCTIONS})(?![A-Za-z]))[A-Za-z]{{3,}}")
_ROOT = re.compile(rf"{_MODULE}(sqrt|cbrt)\s*\(")


def from_code(text: str) -> str:
    """The same, where it is code, or plain text without other words in it; other answers as they are."""
    plain = bool(_BARE.search(text)) and not _OTHER_WORD.search(text)
    if not plain and not _CODE.search(text):
        return text
    text = re.sub(r"(\d)\.(?!\d)", r"\1", text.replace("**", "^"))
    while root := _ROOT.search(text):
        end = matching(text, root.end() - 1)
        if end < 0:
            break
        name = r"\sqrt" if root[1] == "sqrt" else r"\sqrt[3]"
        text = f"{text[: root.start()]}{name}{{{text[root.end() : end]}}}{text[end + 1 :]}"
    text = re.sub(rf"{_MODULE}({FUNCTIONS})\s*(?=\()", r"\\\1", text)
    text = re.sub(rf"{_MODULE}pi(?![A-Za-z])", r"\\pi ", text)
    if plain:
        text = re.sub(r"(?<![\\A-Za-z])sqrt\s*(\d+|[a-z])(?![A-Za-z])", r"\\sqrt{\1}", text)
        text = re.sub(rf"(?<![\\A-Za-z])({FUNCTIONS})(?![A-Za-z])", r"\\\1 ", text)
    return text.replace("*", r"\cdot ")

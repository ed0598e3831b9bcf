r"""One spelling for answers that are written differently, before any comparison.

`clean` removes ways of writing (`\dfrac`, `\left(`, `\,`, `$...$`, `np.arcsin`, full-width signs), never what is said.
Pure string work, standard library only.
"""

from __future__ import annotations

import re
from functools import lru_cache

from evals.grading.latex import matching, split

_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("−–—﹣－", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u3000\t\r\n\v\f", " "),
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u2060", ""),
        **{"×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "∗": "*", "÷": r"\div ", "±": r"\pm ", "∓": r"\mp "},
        **{"≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\neq ", "≈": r"\approx ", "∈": r"\in "},
        **{"∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ", "√": r"\sqrt ", "∠": r"\angle "},
        **{
            "π": r"\pi ",
            "θ": r"\theta ",
            "α": r"\alpha ",
            "β": r"\beta ",
            "λ": r"\lambda ",
            "μ": r"\mu ",
            "ω": r"\omega ",
        },
        **{"°": r"^{\circ}", "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "′": "'", "’": "'"},
        **{"⁰": "^{0}", "¹": "^{1}", "²": "^{2}", "³": "^{3}", "⁴": "^{4}", "⁵": "^{5}", "⁶": "^{6}", "⁻": "^-"},
        **{
            "（": "(",
            "）": ")",
            "，": ",",
            "＝": "=",
            "＞": ">",
            "＜": "<",
            "：": ":",
            "；": ";",
            "％": "%",
            "＋": "+",
        },
    }
)
_FUNCTIONS = "arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp"
_END = r"(?![A-Za-z])"  # the end of a command's name
_REWRITES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        # synonyms
        (rf"\\[dtc]frac{_END}", r"\\frac"),
        (rf"\\[dt]binom{_END}", r"\\binom"),
        (rf"\\(?:leqslant|leqq|leq){_END}|<=|=<", r"\\le "),
        (rf"\\(?:geqslant|geqq|geq){_END}|>=", r"\\ge "),
        (rf"\\lt{_END}", "<"),
        (rf"\\gt{_END}", ">"),
        (rf"!=|\\ne{_END}", r"\\neq "),
        (rf"\\varnothing{_END}", r"\\emptyset "),
        (rf"\\(?:mid|[lr]?vert){_END}", "|"),
        (r"\\\{\s*\\\}", r"\\emptyset "),
        (r"^\s*(?:\w\s*\\in\s*)?\\mathbb\s*\{?\s*R\s*\}?\s*$", r"(-\\infty,\\infty)"),
        (rf"\\lbrace{_END}", r"\\{"),
        (rf"\\rbrace{_END}", r"\\}"),
        (r"\\operatorname\*?\s*\{\s*([A-Za-z]+)\s*\}", r"\\\1 "),
        (r"\\(?:mathrm|mathbf|mathit|mathsf|textbf|textit|textrm|textnormal|mbox|hbox)(?=\s*\{)", r"\\text"),
        (rf"\\text\s*\{{\s*({_FUNCTIONS})\s*\}}", r"\\\1 "),
        (rf"\\(?:degree|textdegree){_END}|\^\s*\\circ{_END}|\^\s*\{{\s*\\circ\s*\}}", r"^{\\circ}"),
        (r"\^\s*\{?\s*\\prime\s*\}?", "'"),
        # what only changes the look
        (r"\\(?:left|right)\s*\.", ""),
        (rf"\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|limits|rm|bf){_END}", ""),
        (r"\\text\s*\{([^{}A-Za-z]*)\}", r"\1"),
        (r"\\?[$£€¥\"“”]", ""),
        # separators inside a number, then spaces, then separators of a list
        (r"(?<=\d)\s*(?:\{,\}|,\s*\\!|\\[,;:! ])\s*(?=\d{3}(?!\d))", ""),
        (rf"(?<!\\)\\[,;:! ]|~|\\q?quad|\\(?:enspace|thinspace){_END}", " "),
        (r"\s{2,}", " "),
        (r"\{,\}", ","),
        (r",?\s*\\text\s*\{\s*,?\s*(?:and|or)\s*\}\s*|(?:,\s*|(?<![A-Za-z\\]))\b(?:and|or)\b(?![A-Za-z])", ","),
        (r",(?:\s*,)+", ","),
        # braces: missing ones, and single signs always inside
        (r"\s+(?=[_^])", ""),
        (r"\\frac\s*(\d|\\[a-z]+)\s*(\d)", r"\\frac{\1}{\2}"),
        (r"\\frac\s*(\d)\s*\{", r"\\frac{\1}{"),
        (r"\\frac\s*\{([^{}]*)\}\s*(\d)", r"\\frac{\1}{\2}"),
        (r"\\frac\s+\{", r"\\frac{"),
        (r"\\sqrt\s*(\d|[A-Za-z])", r"\\sqrt{\1}"),
        (r"([_^])\s*\{\s*(\\?[A-Za-z]+|\d+)\s*\}", r"\1{\2}"),
        (r"([_^])\s*(\d|[A-Za-z])", r"\1{\2}"),
    ]
]
_DELIMITERS = re.compile(r"\$\$|(?<!\\)\\[()\[\]]|\\(?:boxed|fbox)(?![A-Za-z])")
_DOUBLE_BACKSLASH = re.compile(r"\\\\(?=[A-Za-z{}$%])")
_CODE = re.compile(rf"(?:np|numpy|math)\.|\*\*|(?<!\\)\b(?:sqrt|{_FUNCTIONS})\s*\(|\d\.(?=\s*[/*])")
_CODE_FUNCTION = re.compile(rf"(?<!\\)\b(?:(?:np|numpy|math)\.)?({_FUNCTIONS})\s*(?=\()")
_CODE_ROOT = re.compile(r"(?<!\\)\b(?:(?:np|numpy|math)\.)?sqrt\s*\(")
_CODE_PI = re.compile(r"(?<!\\)\b(?:(?:np|numpy|math)\.)?pi\b")


@lru_cache(maxsize=8192)
def clean(text: str) -> str:
    """The same answer in one spelling."""
    text = re.sub(r"\s+", " ", text.translate(_CHARACTERS))
    if re.search(r"(?<!\\)\\\\begin", text):  # every backslash is doubled: escaped twice on its way here
        text = text.replace("\\\\", "\\")
    if not re.search(r"matrix|cases|array|align", text):
        text = _DOUBLE_BACKSLASH.sub(r"\\", text)
    text = _DELIMITERS.sub(" ", text)
    text = text.replace("`", "") if "\\" in text else re.sub(r"^\s*\*\*(.*)\*\*\s*$|`", r"\1", text)
    if _CODE.search(text):
        text = _from_code(text)
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return _trim(text)


def _from_code(text: str) -> str:
    """`np.sqrt(2)*np.arcsin(10/13)`, `-1./3`, `x**2` as LaTeX."""
    text = re.sub(r"(\d)\.(?!\d)", r"\1", text.replace("**", "^"))
    text = _CODE_PI.sub(r"\\pi ", _CODE_FUNCTION.sub(r"\\\1", text))
    while root := _CODE_ROOT.search(text):
        end = matching(text, root.end() - 1)
        if end < 0:
            break
        text = f"{text[: root.start()]}\\sqrt{{{text[root.end() : end]}}}{text[end + 1 :]}"
    return text.replace("*", r"\cdot ")


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

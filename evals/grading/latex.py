r"""One spelling for answers that are written differently, before any comparison.

`clean` removes ways of writing (`\dfrac`, `\left(`, `\,`, `$...$`, `np.arcsin`, full-width signs), never what is said.
`locate` finds the answer inside a bare answer that may be a sentence. Pure string work, standard library only.
"""

from __future__ import annotations

import re
from functools import lru_cache

from evals.grading.extraction import boxes

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


def literal(text: str) -> str:
    """A cleaned answer without spaces, except between digits (`1 1/2` is not `11/2`)."""
    return re.sub(r"(?<!\d)\s+|\s+(?![\d.])", "", text)


def matching(text: str, start: int) -> int:
    """The index of the bracket that closes the one at `start`, or -1. Any closes any: `(0, 1]` is an interval."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] in "([{":
            depth += 1
        elif text[index] in ")]}":
            depth -= 1
            if depth == 0:
                return index
    return -1


def split(text: str, separators: str) -> list[str]:
    """The parts of a cleaned answer between separators (single characters) that are outside all brackets, stripped."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char in separators and depth <= 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]


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


# ---- the answer inside a bare answer -------------------------------------------------------------------------------

_SEGMENT = re.compile(r"\$\$(.+?)\$\$|(?<!\\)\$((?:\\.|[^$\\])+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_FINAL = re.compile(r"final answer is:?\s*(.+?)\.?\s*I hope it is correct", re.IGNORECASE | re.DOTALL)
_STATED = re.compile(r"answer\s*(?:is\s*:?|:)\s*(.+?)(?:\.\s|\.?\s*$|\n)", re.IGNORECASE | re.DOTALL)
_NUMBER = r"(?<![\w.])[-+]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?|(?<![\w.])[-+]?\.\d+"
_LONGEST = 10_000  # the patterns here are quadratic at worst
_CANDIDATE = re.compile(rf"{_SEGMENT.pattern}|({_NUMBER})", re.DOTALL)
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z][A-Za-z']+")
_PROSE = re.compile(r"(?:(?<![\\A-Za-z{])[A-Za-z']{2,}[\s,]+){2}")


def locate(text: str, *, numbers: bool = True) -> str:
    r"""The answer inside a bare answer, which may be a sentence.

    In order: "the final answer is ... I hope it is correct" (the Minerva prompt); boxes, where several are one answer
    when only a separator stands between them (`\boxed{1} and \boxed{2}`), else the last counts; and in prose what
    follows "answer is", of which, as of any prose, the last `$...$` or number counts. `numbers=False` leaves numbers in
    prose alone, which is right for a gold. In a text longer than 10,000 characters only boxes are looked for.
    """
    if len(text) > _LONGEST:
        contents = [content for content in boxes(text) if content.strip()]
        return contents[-1] if contents else text
    if final := _FINAL.findall(text):
        return str(final[-1])
    contents = [content for content in boxes(text) if content.strip()]
    if contents:
        return _joined(text, contents)
    if stated := _STATED.findall(text):
        text = str(stated[-1])
    return _last_candidate(text, numbers) if _is_prose(text) else text


def _is_prose(text: str) -> bool:
    """Words around `$...$`, but not only after it (a unit, a condition); or two words in a row where there is none."""
    outside = _SEGMENT.sub(" ", text)
    if outside != text:
        return not text.lstrip().startswith(("$", "\\(", "\\[")) and bool(_WORD.search(outside))
    return bool(_PROSE.search(text))


def _last_candidate(text: str, numbers: bool) -> str:
    """The last `$...$` that is more than a name, or number, in prose; the prose itself when it has none."""
    found = [match for match in _CANDIDATE.finditer(text) if numbers or match[5] is None]
    values = [match for match in found if match[5] or re.search(r"[\d=<>\\]", match[0].strip("\\()[]$ "))] or found
    if not values:
        return text
    last = values[-1]
    return last[0] + ("%" if last[5] and text[last.end() : last.end() + 1] == "%" else "")


def _joined(text: str, contents: list[str]) -> str:
    """The last of several boxes, with those before it while only a separator and one word or none stand between."""
    answer = [contents[-1]]
    for before, after in zip(contents[-2::-1], contents[:0:-1], strict=True):
        end = text.rfind(after)
        gap = text[text.rfind(before, 0, end) + len(before) : end]
        words = re.findall(r"[A-Za-z]+", re.sub(r"\\(?:quad|qquad|text|boxed|fbox)", " ", gap))
        if before == after or len(words) > 2 or (words and not {"and", "or"} & set(words)):
            break
        answer.insert(0, before)
        text = text[: text.rfind(before, 0, end) + len(before)]
    return ", ".join(answer)

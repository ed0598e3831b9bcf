r"""One spelling for answers that are written differently, before any comparison.

`clean` removes ways of writing (`\dfrac`, `\left(`, `\,`, `$...$`, `np.arcsin`, full-width signs), never what is said.
Pure string work, standard library only.
"""

from __future__ import annotations

import re
from functools import lru_cache

from evals.grading.latex import matching, split
from evals.grading.plain import from_code

_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("−–—﹣－", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u3000\t\r\n\v\f", " "),
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u2060", ""),
        **dict.fromkeys("′’", "'"),
        **dict(zip("（），；：＝＜＞＋％∗∣", "(),;:=<>+%*|", strict=True)),
        **{"×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ", "±": r"\pm ", "∓": r"\mp "},
        **{"≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\neq ", "≈": r"\approx ", "∈": r"\in "},
        **{"∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ", "√": r"\sqrt ", "∛": r"\sqrt[3]"},
        **{"∠": r"\angle ", "∨": r"\lor ", "∧": r"\land ", "ℝ": r"\mathbb{R}", "°": r"^{\circ}"},
        **{
            "π": r"\pi ",
            "θ": r"\theta ",
            "α": r"\alpha ",
            "β": r"\beta ",
            "λ": r"\lambda ",
            "μ": r"\mu ",
            "ω": r"\omega ",
        },
        **{"½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}"},
    }
)
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_LEVEL = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺₀₁₂₃₄₅₆₇₈₉", "0123456789-+0123456789")

_FUNCTIONS = "arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp"
_OPERATORS = "gcd|lcm|max|min|det|tr|rank|dim|ker|deg|arg|Re|Im|mod|sgn|proj|cis|ord"
_END = r"(?![A-Za-z])"  # the end of a command's name
_SIGN = r"(?:[<>]|\\le |\\ge )"  # once synonyms are gone
_OPEN_TEXT, _CLOSE_TEXT = r"(?:\\text\s*\{\s*)?", r"\s*\}?\.?\s*$"

_SYNONYMS = [
    (rf"\\(?:[dtc]frac|nicefrac|sfrac){_END}", r"\\frac"),
    (rf"\\[dt]binom{_END}", r"\\binom"),
    (r"\{\s*([^{}\\]+?)\s*\\choose\s*([^{}\\]+?)\s*\}", r"\\binom{\1}{\2}"),
    (rf"\\(?:leqslant|leqq|leq){_END}|<=|=<", r"\\le "),
    (rf"\\(?:geqslant|geqq|geq){_END}|>=", r"\\ge "),
    (rf"\\lt{_END}", "<"),
    (rf"\\gt{_END}", ">"),
    (rf"!=|\\ne{_END}", r"\\neq "),
    (rf"\\varnothing{_END}", r"\\emptyset "),
    (rf"\\(?:mid|[lr]?vert){_END}", "|"),
    (rf"\\langle{_END}", "("),
    (rf"\\rangle{_END}", ")"),
    (rf"\\(?:wedge|land){_END}", r"\\land "),
    (rf"\\(?:vee|lor){_END}", ","),
    (rf"\\(?:dots|cdots|dotsc|dotsb){_END}", r"\\ldots"),
    (rf"\{{:\}}|\\!\s*:\s*\\!|\\colon{_END}", ":"),
    (r"\\\{\s*\\\}", r"\\emptyset "),
    (r"^\s*(?:\w\s*\\in\s*)?\\mathbb\s*\{?\s*R\s*\}?\s*$", r"(-\\infty,\\infty)"),
    (rf"\\lbrace{_END}", r"\\{"),
    (rf"\\rbrace{_END}", r"\\}"),
    (r"\\overline\s*\{\s*([A-Z]{2})\s*\}", r"\1"),  # a segment; over digits it is a period
    (rf"\\operatorname\*?\s*\{{\s*({_FUNCTIONS}|{_OPERATORS})\s*\}}", r"\\\1 "),
    (r"\\operatorname\*?(?=\s*\{)", r"\\text"),
    (r"\\(?:mathrm|text)\s*\{\s*e\s*\}(?=\s*\^)", "e"),
    (r"(?<=[\d+\-)}])\s*\\(?:mathrm|text)\s*\{\s*i\s*\}(?!\s*[A-Za-z])", " i"),
    (r"\\(?:mathrm|mathbf|mathit|mathsf|textbf|textit|textrm|textnormal|mbox|hbox)(?=\s*\{)", r"\\text"),
    (rf"\\text\s*\{{\s*({_FUNCTIONS})\s*\}}", r"\\\1 "),
    (r"(?<=[\d}])\s*\^\s*\{?\s*(?:\\text\s*\{\s*o\s*\}|o(?![A-Za-z]))\s*\}?", r"^{\\circ}"),
    (rf"\\(?:degree|textdegree){_END}|\^\s*\\circ{_END}|\^\s*\{{\s*\\circ\s*\}}", r"^{\\circ}"),
    (r"\^\s*\{?\s*\\prime\s*\}?", "'"),
    (r"\\frac\s*\{\s*\\text\s*\{([^{}]*)\}\s*\}\s*\{\s*\\text\s*\{([^{}]*)\}\s*\}", r"\\text{ \1/\2}"),
]
_LOOK = [
    (r"\\(?:left|right)\s*\.", ""),
    (rf"\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|limits|rm|bf|hline){_END}", ""),
    (r"\\(?:underline|uline)\s*\{([^{}]*)\}", r"{\1}"),
    (r"\\text\s*\{([^{}A-Za-z]*)\}", r"\1"),
    (r"\\text\s*\{\s*([A-Z](?:\s*,\s*[A-Z])+)\s*\}", r"\1"),  # choices, together or one by one
    (r"\\text\s*\{\s*([A-Z])\s*\}(?=\s*,)|(?<=,)\s*\\text\s*\{\s*([A-Z])\s*\}", r"\1\2"),
    (r"^\s*(?:USD|US(?=\s*\\?\$)|Rs\.?|INR|EUR|GBP)\s*(?=[\d.\\$])", ""),
    (r"\\?[$£€¥\"“”]", ""),
]
_ENVIRONMENTS = [
    (r"\\begin\s*\{array\}\s*\{[^{}]*\}|\\begin\s*\{smallmatrix\}", r"\\begin{matrix}"),
    (r"\\end\s*\{(?:array|smallmatrix)\}", r"\\end{matrix}"),
    (r"[(\[]\s*\\begin\{matrix\}(.*?)\\end\{matrix\}\s*[)\]]", r"\\begin{pmatrix}\1\\end{pmatrix}"),
    (r"\\\\\s*\[\s*[\d.]+\s*(?:pt|em|ex|mm|cm)\s*\]", r"\\\\"),
]
_SEPARATORS = [
    (r"(?<=\d)\s*(?:\{,\}|,\s*\\!|\\[,;:! ]|')\s*(?=\d{3}(?!\d))", ""),  # inside a number
    (rf"(?<!\\)\\[,;:! ]|~|\\q?quad|\\(?:enspace|thinspace){_END}", " "),
    (r"\s{2,}", " "),
    (r"\{,\}", ","),
    (r"\\text\s*\{([^{}]*[^{}\s])\s+(?:and|or)\s*\}", r"\\text{\1},"),
    # two inequalities that both hold; any other "and", and every "or", stands between the values of a list
    (
        rf"^(.*{_SIGN}.*?)\s*,?\s*(?:\\text\s*\{{\s*and\s*\}}|(?<![A-Za-z])and(?![A-Za-z]))\s*(.*{_SIGN}.*)$",
        r"\1\\land \2",
    ),
    (r",?\s*\\text\s*\{\s*,?\s*(?:and|or)\s*\}\s*|(?:,\s*|(?<![A-Za-z\\]))\b(?:and|or)\b(?![A-Za-z])", ","),
    (r",(?:\s*,)+", ","),
]
_WORDS = [  # that stand for signs
    (rf"^\s*{_OPEN_TEXT}(?:about|approximately|approx\.?|roughly)\s*\}}?\s*(?=[-\d.\\])", ""),
    (r"^\s*(?:minus|negative)\s+(?=[\d.\\])", "-"),
    (rf"^\s*([-+]?)\s*{_OPEN_TEXT}infinity{_CLOSE_TEXT}", r"\1\\infty"),
    (rf"^\s*{_OPEN_TEXT}(?:the set of )?(?:all )?real(?:s| numbers){_CLOSE_TEXT}", r"(-\\infty,\\infty)"),
    (
        rf"^\s*{_OPEN_TEXT}(?:(?:there (?:is|are) )?no (?:real |integer |such )?(?:solutions?|roots?)(?: exists?)?"
        rf"|(?:the )?(?:empty|null) set){_CLOSE_TEXT}",
        r"\\emptyset",
    ),
]
_BRACES = [  # missing ones, and single signs always inside
    (r"\s+(?=[_^])", ""),
    (r"\^\s*\(\s*([^()]*?)\s*\)", r"^{\1}"),
    (r"\^\s*([-+]?\d+)", r"^{\1}"),  # 10^23 is read as it is meant
    (r"\\frac\s*(\d|\\[a-z]+)\s*(\d)", r"\\frac{\1}{\2}"),
    (r"\\frac\s*(\d)\s*\{", r"\\frac{\1}{"),
    (r"\\frac\s*\{([^{}]*)\}\s*(\d)", r"\\frac{\1}{\2}"),
    (r"\\frac\s+\{", r"\\frac{"),
    (r"\\sqrt\s*(\[[^\[\]]*\])?\s*(\d|[A-Za-z])", r"\\sqrt\1{\2}"),
    (r"([_^])\s*\{\s*(\\?[A-Za-z]+|[-+]?\d+)\s*\}", r"\1{\2}"),
    (r"([_^])\s*(\d|[A-Za-z])", r"\1{\2}"),
]
_REWRITES = [
    (re.compile(pattern, re.IGNORECASE if group is _WORDS else 0), replacement)
    for group in (_SYNONYMS, _LOOK, _ENVIRONMENTS, _SEPARATORS, _WORDS, _BRACES)
    for pattern, replacement in group
]
_DELIMITERS = re.compile(r"\$\$|(?<!\\)\\[()\[\]]|\\(?:boxed|fbox)(?![A-Za-z])")
_DOUBLE_BACKSLASH = re.compile(r"\\\\(?=[A-Za-z{}$%])")
_CASES = re.compile(r"\\begin\s*\{cases\}([^&]*?)\\end\s*\{cases\}", re.DOTALL)
_HALF_OPEN = re.compile(r"([\[\]])([^\[\]()]*,[^\[\]()]*)([\[\]])")  # ]0,1], as it is written in French


@lru_cache(maxsize=8192)
def clean(text: str) -> str:
    """The same answer in one spelling."""
    text = _RAISED.sub(lambda run: f"^{{{run[0].translate(_LEVEL)}}}", text)
    text = _LOWERED.sub(lambda run: f"_{{{run[0].translate(_LEVEL)}}}", text)
    text = re.sub(r"\s+", " ", text.translate(_CHARACTERS))
    if re.search(r"(?<!\\)\\\\begin", text):  # every backslash is doubled: escaped twice on its way here
        text = text.replace("\\\\", "\\")
    text = _CASES.sub(lambda cases: ", ".join(filter(None, map(str.strip, cases[1].split("\\\\")))), text)
    if not re.search(r"matrix|cases|array|align", text):
        text = _DOUBLE_BACKSLASH.sub(r"\\", text)
    text = _DELIMITERS.sub(" ", text)
    text = text.replace("`", "") if "\\" in text else re.sub(r"^\s*\*\*(.*)\*\*\s*$|`", r"\1", text)
    text = from_code(text)
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    text = _trim(text)
    if (turned := _HALF_OPEN.fullmatch(text)) and (turned[1], turned[3]) != ("[", "]"):
        text = f"{'[('[turned[1] == ']']}{turned[2]}{'])'[turned[3] == '[']}"
    return text


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

r"""LaTeX that says the same in another way: `\dfrac`, `\leqslant`, `\operatorname{sin}`, arrays, degrees."""

from __future__ import annotations

from evals.grading.spelling.rewrite import END, FUNCTIONS, table

_OPERATORS = "gcd|lcm|max|min|det|tr|rank|dim|ker|deg|arg|Re|Im|mod|sgn|proj|cis|ord"

SIGNS = table(
    ("fraction", rf"\\(?:[dtc]frac|nicefrac|sfrac){END}", r"\\frac"),
    ("binomial", rf"\\[dt]binom{END}", r"\\binom"),
    ("choose", r"\{\s*([^{}\\]+?)\s*\\choose\s*([^{}\\]+?)\s*\}", r"\\binom{\1}{\2}"),
    ("at most", rf"\\(?:leqslant|leqq|leq){END}|<=|=<", r"\\le "),
    ("at least", rf"\\(?:geqslant|geqq|geq){END}|>=", r"\\ge "),
    ("less", rf"\\lt{END}", "<"),
    ("greater", rf"\\gt{END}", ">"),
    ("unequal", rf"(?<![\d)])!=|\\ne{END}", r"\\neq "),  # but 3!=6 is a factorial
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
    ("the reals as a sign", r"^\s*(?:\w\s*\\in\s*)?\\mathbb\s*\{?\s*R\s*\}?\s*$", r"(-\\infty,\\infty)"),
    ("segment", r"\\overline\s*\{\s*([A-Z]{2})\s*\}", r"\1"),  # over digits it is a period
    ("prime", r"\^\s*\{?\s*\\prime\s*\}?", "'"),
)
NAMES = table(
    ("operator", rf"\\operatorname\*?\s*\{{\s*({FUNCTIONS}|{_OPERATORS})\s*\}}", r"\\\1 "),
    ("operator in words", r"\\operatorname\*?(?=\s*\{)", r"\\text"),
    ("upright e", r"\\(?:mathrm|text)\s*\{\s*e\s*\}(?=\s*\^)", "e"),
    ("upright i", r"(?<=[\d+\-)}])\s*\\(?:mathrm|text)\s*\{\s*i\s*\}(?!\s*[A-Za-z])", " i"),
    (
        "font",
        r"\\(?:mathrm|mathbf|mathit|mathsf|textbf|textit|textrm|textnormal|mbox|hbox)(?=\s*\{)",
        r"\\text",
    ),
    ("upright function", rf"\\text\s*\{{\s*({FUNCTIONS})\s*\}}", r"\\\1 "),
    ("letter o as degree", r"(?<=[\d}])\s*\^\s*\{?\s*(?:\\text\s*\{\s*o\s*\}|o(?![A-Za-z]))\s*\}?", r"^{\\circ}"),
    ("degree", rf"\\(?:degree|textdegree){END}|\^\s*\\circ{END}|\^\s*\{{\s*\\circ\s*\}}", r"^{\\circ}"),
    (
        "fraction of units",
        r"\\frac\s*\{\s*\\text\s*\{([^{}]*)\}\s*\}\s*\{\s*\\text\s*\{([^{}]*)\}\s*\}",
        r"\\text{ \1/\2}",
    ),
)
ENVIRONMENTS = table(
    ("array", r"\\begin\s*\{array\}\s*\{[^{}]*\}|\\begin\s*\{smallmatrix\}", r"\\begin{matrix}"),
    ("end of array", r"\\end\s*\{(?:array|smallmatrix)\}", r"\\end{matrix}"),
    (
        "matrix in brackets",
        r"[(\[]\s*\\begin\{matrix\}(.*?)\\end\{matrix\}\s*[)\]]",
        r"\\begin{pmatrix}\1\\end{pmatrix}",
    ),
    ("row spacing", r"\\\\\s*\[\s*[\d.]+\s*(?:pt|em|ex|mm|cm)\s*\]", r"\\\\"),
)

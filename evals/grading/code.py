r"""Python, sympy's text, plain text and Unicode as LaTeX: `np.arcsin(x)`, `Rational(1, 2)`, `2*sqrt(3)`, `√2`."""

from __future__ import annotations

import re

from evals.grading.numbers import matching, split

_INVERSE = "arcsinh|arccosh|arctanh|arcsin|arccos|arctan|arccot|arcsec|arccsc"
FUNCTIONS = f"{_INVERSE}|sinh|cosh|tanh|coth|sech|csch|sin|cos|tan|cot|sec|csc|cis|log|ln|exp"

_MODULE = r"(?<![\\A-Za-z])(?:(?:np|numpy|math|sympy|sp)\.)?"
# a call and its LaTeX, by the number of its arguments
_CALLS: dict[tuple[str, int], str] = {
    ("sqrt", 1): r"\sqrt{{{0}}}",
    ("cbrt", 1): r"\sqrt[3]{{{0}}}",
    ("root", 2): r"\sqrt[{1}]{{{0}}}",
    ("Abs", 1): "|{0}|",
    ("abs", 1): "|{0}|",
    ("factorial", 1): "(({0})!)",
    ("factorial2", 1): "(({0})!!)",
    ("binomial", 2): r"\binom{{{0}}}{{{1}}}",
    ("Rational", 2): r"\frac{{{0}}}{{{1}}}",
    ("pow", 2): "({0})^{{{1}}}",
    ("Pow", 2): "({0})^{{{1}}}",
    ("floor", 1): r"\lfloor {0}\rfloor",
    ("ceil", 1): r"\lceil {0}\rceil",
    ("ceiling", 1): r"\lceil {0}\rceil",
    ("log", 2): r"\log_{{{1}}}({0})",
    ("Derivative", 2): r"\frac{{d {0}}}{{d {1}}}",
    ("log10", 1): r"\log_{{10}}({0})",
    ("log2", 1): r"\log_{{2}}({0})",
    ("mod", 2): r"(({0}) \bmod ({1}))",
    ("Mod", 2): r"(({0}) \bmod ({1}))",
    ("diff", 2): r"\frac{{d}}{{d{1}}}({0})",
    ("limit", 3): r"\lim_{{{1}\to {2}}}({0})",
    ("Eq", 2): "{0}={1}",
    ("Matrix", 1): "{0}",
    ("Interval", 2): "[{0},{1}]",
    ("Interval.open", 2): "({0},{1})",
    ("Interval.Lopen", 2): "({0},{1}]",
    ("Interval.Ropen", 2): "[{0},{1})",
}
_SUMS = {"summation": r"\sum", "Sum": r"\sum", "sum": r"\sum", "product": r"\prod", "Product": r"\prod"}
_SUMS |= dict.fromkeys(("int", "integrate", "Integral"), r"\int")
_NAMES = sorted({name for name, _ in _CALLS} | {"FiniteSet", "Union", *_SUMS}, key=len, reverse=True)
_CALL = re.compile(rf"{_MODULE}({'|'.join(map(re.escape, _NAMES))})\s*\(")
_MOST_CALLS = 50
_CODE = re.compile(rf"(?:np|numpy|math)\.|\*\*|{_MODULE}(?:{FUNCTIONS})\s*\(|\d\.(?=\s*[/*])|==")
_BARE = re.compile(rf"(?<![\\A-Za-z])(?:pi|sqrt|{FUNCTIONS})(?![A-Za-z])")
_GREEK_NAMES = "alpha|beta|gamma|delta|epsilon|theta|lambda|rho|sigma|tau|phi|psi|omega"
_OTHER_WORD = re.compile(rf"\\|(?<![A-Za-z])(?!(?:sqrt|cbrt|{FUNCTIONS}|{_GREEK_NAMES})(?![A-Za-z]))[A-Za-z]{{3,}}")
_SHORT_INVERSE = re.compile(r"(?<![\\A-Za-z])a(sinh?|cosh?|tanh?|cot|sec|csc)(?=\s*(?:\(|\*\*|\^))")
_CAPITALS = re.compile(r"(?<![\\A-Za-z])(Arc)?(Sin|Cos|Tan|Cot|Sec|Csc|Sqrt|Log|Exp)(h?)([(\[])")
_COMPLEX = re.compile(
    r"(?=.*(?:(?<![A-Za-z])I\s*\*|[-+*\d]\s*I(?![A-Za-z])))(?:[\d\s+\-*/().^]|sqrt|exp|sin|cos|pi|I)*"
)
_TIMES_FUNCTION = re.compile(
    r"(?<![\\A-Za-z])([b-zA-Z])((?:sin|cos|tan|sec|csc|cot|exp|log|ln|sqrt)(?=\(|(?:\*\*|\^)\d\())"
)
_ELEMENT = "H|He|Li|Be|B|C|N|O|F|Na|Mg|Al|Si|P|S|Cl|K|Ca|Cr|Mn|Fe|Co|Ni|Cu|Zn|Br|Ag|I|Ba|Hg|Pb"
_FORMULA = re.compile(rf"(?=.*\d)(?:\(?(?:{_ELEMENT})\d?\)?\d?){{2,20}}")
_GREEK_NAME = re.compile(rf"(?<![\\A-Za-z])({_GREEK_NAMES})(?![A-Za-z])")


def from_code(text: str) -> str:
    """The same for code, or for plain text without other words; other answers unchanged."""
    plain_text = re.sub(r"\\(?:text|mathrm|ce)(?![A-Za-z])|[{}_\s]", "", text)
    if _FORMULA.fullmatch(plain_text[:99]):
        return rf"\text{{{plain_text}}}"  # of chemistry
    text = _SHORT_INVERSE.sub(r"arc\1", _named_as_in_mathematica(text))
    text = _TIMES_FUNCTION.sub(r"\1*\2", text)
    if (re.search(r"[-+*/^=(]", text) or _GREEK_NAME.fullmatch(text)) and not _OTHER_WORD.search(
        text.replace("\\", "")
    ):
        text = _GREEK_NAME.sub(r"\\\1 ", text)
    plain = bool(_BARE.search(text)) and not _OTHER_WORD.search(text)
    if not plain and not _CODE.search(text) and not _CALL.search(text) and not _COMPLEX.fullmatch(text):
        return text
    if _COMPLEX.fullmatch(text):
        text = text.replace("I", "i")
    text = re.sub(r"(?<![\\A-Za-z])E(?=\*\*\s*[^\s\d])", "e", text)
    text = re.sub(r"(?<=[A-Za-z])_([A-Za-z]{2,})", r"_{\1}", text)
    text = re.sub(r"(\d)\.(?!\d)", r"\1", text.replace("**", "^"))
    text = _without_calls(text)
    text = _powers_of_calls(text)
    text = re.sub(rf"{_MODULE}({FUNCTIONS})\s*(?=\(|\^\{{?\d+\}}?\()", r"\\\1", text)
    text = re.sub(rf"{_MODULE}pi(?![A-Za-z])", r"\\pi ", text)
    if plain:
        text = re.sub(r"(?<![\\A-Za-z])sqrt\s*(\d+|[a-z])(?![A-Za-z])", r"\\sqrt{\1}", text)
        text = re.sub(rf"(?<![\\A-Za-z])({FUNCTIONS})(?![A-Za-z])", r"\\\1 ", text)
    return text.replace("*", r"\cdot ")


_POWER_OF_CALL = re.compile(rf"(?<![\\A-Za-z.])(?:{FUNCTIONS})\(")


def _powers_of_calls(text: str) -> str:
    """`cos(x)^n` as `(cos(x))^n`: in LaTeX it can be read in two ways."""
    for call in reversed(list(_POWER_OF_CALL.finditer(text))[:_MOST_CALLS]):
        end = matching(text, call.end() - 1)
        if end > 0 and text[end + 1 : end + 2] == "^":
            text = f"{text[: call.start()]}({text[call.start() : end + 1]}){text[end + 1 :]}"
    return text


def _named_as_in_mathematica(text: str) -> str:
    """`Sin[x]` and `ArcTan(2)` as `sin(x)` and `arctan(2)`."""
    for match in reversed(list(_CAPITALS.finditer(text))[:_MOST_CALLS]):
        end = matching(text, match.end() - 1)
        if end > 0:
            inside = f"({text[match.end() : end]})"
            text = f"{text[: match.start()]}{match[0][:-1].lower()}{inside}{text[end + 1 :]}"
    return text


def _without_calls(text: str) -> str:
    """Calls as LaTeX, the innermost first: no call begins after the last one."""
    for call in reversed(list(_CALL.finditer(text))[:_MOST_CALLS]):
        end = matching(text, call.end() - 1)
        if end < 0:
            return text
        arguments = split(text[call.end() : end], ",")
        written = _written(call[1], arguments)
        if written is not None:
            text = text[: call.start()] + written + text[end + 1 :]
    return text


def _written(name: str, arguments: list[str]) -> str | None:
    if name == "FiniteSet":
        return rf"\{{{', '.join(arguments)}\}}"
    if name == "Union":
        return r" \cup ".join(arguments)
    if name in _SUMS:
        bounds = split(arguments[-1].strip("() "), ",")
        if len(arguments) == 2 and len(bounds) == 3 and _SUMS[name] == r"\int":
            return rf"\int_{{{bounds[1]}}}^{{{bounds[2]}}} ({arguments[0]}) d{bounds[0]}"
        if len(arguments) == 2 and len(bounds) == 1 and name == "integrate":
            return rf"\int ({arguments[0]}) d{bounds[0]}"
        if len(arguments) != 2 or len(bounds) != 3:
            return None
        high = r"\infty" if bounds[2] == "oo" else bounds[2]
        return rf"{_SUMS[name]}_{{{bounds[0]}={bounds[1]}}}^{{{high}}} ({arguments[0]})"
    form = _CALLS.get((name, len(arguments)))
    if form is None:
        return None
    if "|" in form and "|" in arguments[0]:
        form = r"\abs({0})"  # bars inside bars can be read in two ways
    written = form.format(*arguments)
    if name.startswith("Interval"):  # infinity belongs to no interval
        written = re.sub(r"^\[(?=\s*-\s*oo)", "(", re.sub(r"(?<=oo)\s*\]$", ")", written))
    return written


_GREEK = (
    "α alpha β beta γ gamma δ delta ε epsilon θ theta λ lambda μ mu π pi ρ rho σ sigma φ phi ω omega ϕ phi ϵ epsilon"
)
_GREEK += " ζ zeta η eta ι iota κ kappa ν nu ξ xi τ tau χ chi ψ psi"
_GREEK += " Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Σ Sigma Φ Phi Ψ Psi Ω Omega"
_SIGNS = {
    **{"×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ", "±": r"\pm ", "∓": r"\mp "},
    **{"≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\neq ", "≈": r"\approx ", "∈": r"\in "},
    **{"∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ", "√": r"\sqrt ", "∛": r"\sqrt[3]"},
    **{"∠": r"\angle ", "∨": r"\lor ", "∧": r"\land ", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "°": r"^{\circ}"},
    **{"½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}"},
    **{"→": r"\to ", "⇒": r"\Rightarrow ", "⇔": r"\iff ", "∥": r"\parallel ", "⊥": r"\perp ", "¬": r"\neg "},
    **{"∉": r"\notin ", "⊂": r"\subset ", "⊆": r"\subseteq ", "∀": r"\forall ", "∃": r"\exists "},
    **{"…": r"\ldots ", "⁄": "/", "、": ", ", "¢": r"\text{ cents}"},
}
_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("−–—﹣－", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u3000\t\r\n\v\f", " "),
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u2060", ""),
        **{sign: f"({digit})," for digit, sign in enumerate("①②③④⑤⑥⑦⑧⑨", 1)},
        **dict.fromkeys("′’", "'"),
        "″": "''",
        **dict(zip("（），；：＝＜＞＋％∗∣", "(),;:=<>+%*|", strict=True)),
        **_SIGNS,
        **{sign: rf"\{name} " for sign, name in zip(*[iter(_GREEK.split())] * 2, strict=True)},
    }
)
_ROOT = re.compile(r"([√∛])\s*(\d+(?:\.\d+)?|\([^()]*\))")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_LEVEL = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺₀₁₂₃₄₅₆₇₈₉", "0123456789-+0123456789")


_CHINESE_UNITS = {
    **{"千米": "km", "公里": "km", "厘米": "cm", "毫米": "mm", "米": "m", "公斤": "kg", "千克": "kg", "克": "g"},
    **{"小时": "h", "分钟": "min", "秒": "s", "升": "L", "元": "yuan"},
}
_CHINESE_UNIT = re.compile(r"(?<=[\d)}])\s*(平方|立方)?([\u4e00-\u9fff]{1,4})\s*$")
_NO_UNIT = re.compile("[百千万亿半多几余倍分以上下内外的方阶乘加减除非不无错吗或和是]")  # arithmetic, bounds, doubt
_OR = re.compile(r"\s*(?:或者?|和|以及)\s*(?=[-\d(\\A-Za-z])")


def _from_chinese(text: str) -> str:
    """`28.26平方厘米` with its unit as LaTeX, `5个` as 5, and `x=3或x=2` as a list."""
    text = _OR.sub(", ", text)
    unit = _CHINESE_UNIT.search(text)
    if unit is None or ((known := _CHINESE_UNITS.get(unit[2])) is None and _NO_UNIT.search(unit[2])):
        return text
    size = {"平方": "square ", "立方": "cubic "}.get(unit[1], "")
    return text[: unit.start()] + (rf"\text{{ {size}{known}}}" if known else "")


# a command whose backslash and first letter were read as one escape of a string, as `\f` in `\frac`
_DAMAGED = re.compile(
    "(\x0c)(?=rac)|(\x08)(?=egin|ar\\b|inom|oxed|eta)|(\t)(?=ext|imes|heta)|(\r)(?=ight|ho)|(\x07)(?=lpha|rc|ngle)"
)
_ESCAPES = {"\x0c": r"\f", "\x08": r"\b", "\t": r"\t", "\r": r"\r", "\x07": r"\a"}


def in_latex(text: str) -> str:
    """The same with Unicode signs as LaTeX names, and single spaces."""
    text = _DAMAGED.sub(lambda escape: _ESCAPES[escape[0]], text)
    text = re.sub(r"(?<=[\w})])[ \t]*\n\s*(?=[A-Za-z]\s*=)", ", ", text)  # a line for each value
    text = _RAISED.sub(lambda run: f"^{{{run[0].translate(_LEVEL)}}}", text)
    text = _LOWERED.sub(lambda run: f"_{{{run[0].translate(_LEVEL)}}}", text)
    text = _ROOT.sub(lambda root: f"{root[1]}{{{root[2].strip('()')}}}", text)
    return re.sub(r"\s+", " ", _from_chinese(text.translate(_CHARACTERS)))

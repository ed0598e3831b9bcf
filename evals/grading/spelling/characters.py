"""Unicode signs as LaTeX or ASCII: `≤`, `π`, `x²`, `½`, full-width punctuation."""

from __future__ import annotations

import re

_GREEK = "α alpha β beta γ gamma δ delta ε epsilon θ theta λ lambda μ mu π pi ρ rho σ sigma φ phi ω omega"
_SIGNS = {
    **{"×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ", "±": r"\pm ", "∓": r"\mp "},
    **{"≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\neq ", "≈": r"\approx ", "∈": r"\in "},
    **{"∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ", "√": r"\sqrt ", "∛": r"\sqrt[3]"},
    **{"∠": r"\angle ", "∨": r"\lor ", "∧": r"\land ", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "°": r"^{\circ}"},
    **{"½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}"},
    "…": r"\ldots ",
}
_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("−–—﹣－", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u3000\t\r\n\v\f", " "),
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u2060", ""),
        **dict.fromkeys("′’", "'"),
        **dict(zip("（），；：＝＜＞＋％∗∣", "(),;:=<>+%*|", strict=True)),
        **_SIGNS,
        **{sign: rf"\{name} " for sign, name in zip(*[iter(_GREEK.split())] * 2, strict=True)},
    }
)
_ROOT = re.compile(r"([√∛])\s*(\d+(?:\.\d+)?|\([^()]*\))")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_LEVEL = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺₀₁₂₃₄₅₆₇₈₉", "0123456789-+0123456789")


def in_latex(text: str) -> str:
    """The same with signs that LaTeX has a name for, and one space wherever there is any."""
    text = _RAISED.sub(lambda run: f"^{{{run[0].translate(_LEVEL)}}}", text)
    text = _LOWERED.sub(lambda run: f"_{{{run[0].translate(_LEVEL)}}}", text)
    text = _ROOT.sub(lambda root: f"{root[1]}{{{root[2].strip('()')}}}", text)
    return re.sub(r"\s+", " ", text.translate(_CHARACTERS))

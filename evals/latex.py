"""A table with its caption and its note, for a paper in LaTeX. Needs booktabs, and graphicx, which makes a table as
narrow as the text."""

from __future__ import annotations

SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"$\sim$", "^": r"\textasciicircum{}", "−": "$-$", "×": r"$\times$", "–": "--",
}  # fmt: skip


def latex_text(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(SIGNS.get(sign, sign) for sign in text)


def latex_table(tabular: str, caption: str, label: str, note: str) -> str:
    """A floating table.

    Args:
        tabular: the LaTeX of its cells. caption, note: texts, above and below it. label: after "tab:".
    """
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_text(caption)}}}",
        rf"\label{{tab:{label}}}",
        r"\smallskip",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        f"{tabular}}}",
        r"\par\medskip",
        rf"\parbox{{\linewidth}}{{\footnotesize {latex_text(note)}}}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)

"""A table to print, as Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Grid:
    """A table to print: a caption, what holds for all rows, a header, rows of text, and notes under it."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    above: str = ""  # one line between caption and header

    def markdown(self) -> str:
        lines = [f"### {self.caption}", "", *([self.above, ""] if self.above else [])]
        lines += [_md(self.header), _md(["---"] * len(self.header)), *map(_md, self.rows)]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes), ""])

    def turned(self, corner: str) -> Grid:
        """Rows and columns exchanged; `corner` heads the first column."""
        (_, *header), *rows = zip(self.header, *self.rows, strict=True)
        return replace(self, header=(corner, *header), rows=tuple(rows))

    def latex(self) -> str:
        """A LaTeX table for a document with the packages booktabs and graphicx; scaled down to the page width if
        wider."""
        body = [" & ".join(map(_tex, row)) + r" \\" for row in self.rows]
        return "\n".join(
            [
                r"\begin{table}[h]",
                r"\centering",
                rf"\caption{{{_tex('. '.join(filter(None, (self.caption, self.above))))}}}",
                r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
                rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
                r"\toprule",
                " & ".join(map(_tex, self.header)) + r" \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}}",
                *(rf"\par\smallskip\footnotesize {_tex(note)}" for note in self.notes),
                r"\end{table}",
                "",
            ]
        )


def _md(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",  # in LaTeX ~ is a space: the mark of an approximate interval would vanish
        "^": r"\textasciicircum{}",
        **{c: f"\\{c}" for c in "&%_#${}"},
        "±": r"$\pm$",
        "–": "--",
        "−": "$-$",
        "<": "$<$",
        ">": "$>$",
        "α": r"$\alpha$",
        "δ": r"$\delta$",
        "|": r"$|$",
    }
)


def _tex(text: str) -> str:
    return text.translate(_TEX)

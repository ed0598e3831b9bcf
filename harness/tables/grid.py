"""A table to print, as Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A table to print: a caption, a header, rows of text, and notes under it."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        lines = [f"### {self.caption}", "", _md(self.header), _md(["---"] * len(self.header)), *map(_md, self.rows)]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes), ""])

    def latex(self) -> str:
        body = [" & ".join(map(_tex, row)) + r" \\" for row in self.rows]
        return "\n".join(
            [
                r"\begin{table}[h]",
                rf"\caption{{{_tex(self.caption)}}}",
                rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
                r"\hline",
                " & ".join(map(_tex, self.header)) + r" \\ \hline",
                *body,
                r"\hline",
                r"\end{tabular}",
                *(rf"\par {_tex(note)}" for note in self.notes),
                r"\end{table}",
                "",
            ]
        )


def _md(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _tex(text: str) -> str:
    for plain, escaped in (("\\", r"\textbackslash{}"), ("&", r"\&"), ("%", r"\%"), ("_", r"\_"), ("#", r"\#")):
        text = text.replace(plain, escaped)
    return text.replace("±", r"$\pm$").replace("–", "--").replace("−", "$-$").replace("<", "$<$").replace(">", "$>$")

"""A table to print, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evals.markdown import markdown_text


@dataclass(frozen=True)
class Grid:
    """A table to print: a caption, what holds for all rows, a header, rows of text, and notes under it."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    above: str = ""  # one line between caption and header
    names: tuple[tuple[str, str], ...] = ()  # column, and what it is called where there is no caption

    def markdown(self) -> str:
        lines = [f"### {self.caption}", "", *([self.above, ""] if self.above else [])]
        lines += [_md(self.header), _md(["---"] * len(self.header)), *map(_md, self.rows)]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes), ""])


def _md(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"

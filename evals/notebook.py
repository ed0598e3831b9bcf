"""Results for people: tables as text, notebook output as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table for a terminal; the first `left` columns are aligned left, the others right."""
    from tabulate import tabulate

    cells = [list(row) for row in rows]
    alignment = ["left" if i < left else "right" for i in range(len(header))]
    colalign = alignment if cells else None
    text: str = tabulate(cells, list(header), "simple", disable_numparse=True, colalign=colalign)
    return text


def html_text(text: str) -> str:
    """A text with its lines as they are."""
    return f"<pre>{escape(text)}</pre>"


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """An HTML table with its text escaped; the caption is printed under it."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    note = f"<p><small>{escape(caption)}</small></p>" if caption else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"

"""Text for a terminal of 80 columns: tables and paragraphs."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

WIDTH = 80


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table for people; the first `left` columns are aligned left, the others right."""
    from tabulate import tabulate

    alignment = ["left" if i < left else "right" for i in range(len(header))]
    return tabulate(
        [list(row) for row in rows],
        headers=list(header),
        tablefmt="simple",
        disable_numparse=True,
        colalign=alignment if rows else None,
    )


def paragraph(text: str, indent: str = "") -> str:
    """Words wrapped at 80 columns; paths and links stay whole."""
    return fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def sentence(text: str) -> str:
    """A label as a sentence: capitalised, with a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + "." * (not text.endswith("."))

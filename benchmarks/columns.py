"""Text in aligned columns, which is also a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate


def columns(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """The first `left` columns aligned left, the others right."""
    table = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    sides = ["left" if i < left else "right" for i in range(len(header))]
    return str(tabulate(table[1:], table[0], "pipe", disable_numparse=True, colalign=sides, preserve_whitespace=True))

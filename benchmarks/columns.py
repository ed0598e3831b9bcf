"""Text in aligned columns, which is also a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence


def columns(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """The first `left` columns aligned left, the others right."""
    table = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = (c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join(f"{'-' * (w + 1)}{'-' if i < left else ':'}" for i, w in enumerate(widths)) + "|"
    return "\n".join([line(table[0]), rule, *map(line, table[1:])])

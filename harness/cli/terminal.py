"""Text for a terminal of 80 columns: tables and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import fill, wrap

WIDTH = 80


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table for people; the first `left` columns are aligned left, the others right."""
    import tabulate

    tabulate.MIN_PADDING = 0  # or a column of numbers is two wider than its header
    alignment = ["left" if i < left else "right" for i in range(len(header))]
    return tabulate.tabulate(
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


def wrapped(text: str, width: int = WIDTH) -> str:
    """Each line that is too long, wrapped below its beginning."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        fits = len(line) <= width
        lines.append(line if fits else fill(line, width, subsequent_indent=f"{indent}    ", break_on_hyphens=False))
    return "\n".join(lines)


def sentence(text: str) -> str:
    """A label as a sentence: capitalised, with a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + "." * (not text.endswith("."))


_DEEP = 8  # spaces before a line that continues a meaning
_NARROWEST = 35  # columns that a meaning may be wrapped in
_FULL = 70  # characters of a line after which its paragraph goes on


def fitted(text: str, width: int) -> str:
    """A command's help in `width` columns: meanings stay in their column, paragraphs are wrapped again."""
    blocks: list[tuple[str, str, str]] = []  # indent of the first line with what stands in it, of the others, words
    before = ""
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        entry = _last_gap(line)
        if entry is not None:
            blocks.append((entry[0], " " * len(entry[0]), entry[1]))
        elif blocks and (len(indent) >= _DEEP or (len(before) >= _FULL and blocks[-1][0] == indent and _goes_on(line))):
            blocks[-1] = (*blocks[-1][:2], f"{blocks[-1][2]} {line.strip()}")
        else:
            blocks.append((indent, indent, line.strip()))
        before = line
    return "\n".join(
        fill(
            words,
            width,
            initial_indent=first,
            subsequent_indent=others if len(others) <= width - _NARROWEST else first[: -len(first.lstrip())] + "  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        if words
        else ""
        for first, others, words in blocks
    )


def _goes_on(line: str) -> bool:
    """Whether a line of a paragraph is no heading such as "options:"."""
    return bool(line.strip()) and not line.endswith(":")


def _last_gap(line: str) -> tuple[str, str] | None:
    """A line of help before and after its last gap of two spaces; None without one."""
    gaps = list(re.finditer(r"(?<=\S)\s{2,}(?=\S)", line))
    return (line[: gaps[-1].end()], line[gaps[-1].end() :]) if gaps else None


LONGEST_CELL = 36  # characters; a longer cell is wrapped


def narrow(page: str, width: int = WIDTH) -> str:
    """A Markdown page for a terminal: text is wrapped, and a table that is too wide becomes several below each other,
    each with the first column again."""
    lines: list[str] = []
    rows: list[list[str]] = []
    for line in [*page.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
            continue
        if rows:
            lines += _pieces(rows[0], rows[2:], width)
            rows = []
        lines.append(paragraph(line) if line.strip() else "")
    return "\n".join(lines[:-1])


def _pieces(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The columns of a table, as many beside each other as fit."""
    cells = [["\n".join(wrap(cell, LONGEST_CELL, break_on_hyphens=False)) for cell in row] for row in [header, *rows]]
    widths = [max(len(line) for row in cells for line in [*row[i].split("\n"), ""]) for i in range(len(header))]
    groups: list[list[int]] = [[]]
    for i in range(1, len(header)):
        if groups[-1] and widths[0] + sum(widths[j] + 2 for j in [*groups[-1], i]) > width:
            groups.append([])
        groups[-1].append(i)
    of = [[[row[j] for j in (0, *group)] for row in cells] for group in groups]
    return "\n\n".join(table(first, others) for first, *others in of).splitlines()

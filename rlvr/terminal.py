"""Text for a terminal: tables and paragraphs of 80 columns, and no control characters of others' text."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from textwrap import fill, wrap
from typing import Any

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
    tables = [[[row[j] for j in (0, *group)] for row in cells] for group in groups]
    return "\n\n".join(table(first, others) for first, *others in tables).splitlines()


OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that would control a terminal: control characters except tab and line feed, characters that change the
reading direction, and lone surrogates, which cannot be sent to a terminal."""


def shown(text: str) -> str:
    """The text with each such character as its escape (`\\x1b`)."""
    return OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class _Shown:
    """A text stream that writes `shown` text to another."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(shown(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def inert_stdout() -> Iterator[None]:
    """Inside this context, stdout passes through `shown`."""
    with redirect_stdout(_Shown(sys.stdout)):
        yield

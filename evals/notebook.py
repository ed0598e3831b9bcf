"""Results for people and for other programs. People see blocks, which `as_text` and `as_html` write. Programs read
rows, in data frames, LaTeX, Markdown and files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from evals.csv_text import csv_text
from evals.errors import RefusedError
from evals.files import write_bytes
from evals.markdown import markdown_text

if TYPE_CHECKING:
    import pandas as pd


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, form: str = "simple") -> str:
    """A table for a terminal, or in another form of tabulate's. The first `left` columns are aligned left, the others
    right."""
    from tabulate import tabulate

    pipe = form == "pipe"  # Markdown
    cells = [[cell.replace("|", "\\|") if pipe else cell for cell in row] for row in (header, *rows)]
    alignment = ["left" if i < left else "right" for i in range(len(header))] if len(cells) > 1 else None
    more: dict[str, Any] = {"disable_numparse": True, "colalign": alignment, "preserve_whitespace": pipe}
    return str(tabulate(cells[1:], cells[0], form, **more))


markdown_table = partial(text_table, form="pipe")


class Heading(str):
    """A line in bold."""


class Outcome(str):
    """A cell that says how something went: a terminal colours it."""


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Args:
        left: number of columns that are aligned left. The others are aligned right. caption: lines below the table.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    caption: str = ""


Block = str | Table
"""A part of a result: one or more lines, or a table."""


def as_text(blocks: Iterable[Block], shown: Callable[[str], str] = str) -> str:
    """Blocks for a terminal. `shown` gives what is printed of a line or a cell."""
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, Table):
            header, *rows = ([shown(cell) for cell in row] for row in (block.header, *block.rows))
            parts += [text_table(header, rows, block.left), *filter(None, [shown(block.caption)])]
        else:
            parts.append(shown(block))
    return "\n".join(parts)


def as_html(blocks: Iterable[Block]) -> str:
    """Blocks for a notebook."""
    parts = []
    for is_table, group in groupby(blocks, lambda block: isinstance(block, Table)):
        if is_table:
            parts += [_html_table(block) for block in group if isinstance(block, Table)]
        elif lines := "\n".join(map(_html_line, group)).strip("\n"):
            parts.append(f"<pre>{lines}</pre>")
    return "".join(parts)


def _html_line(line: object) -> str:
    text = escape(str(line))
    return f"<b>{text}</b>" if isinstance(line, Heading) else text


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    note = f"<p><small>{escape(table.caption)}</small></p>" if table.caption else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


class Checked(Protocol):
    """The files that a call read."""

    def refuse(self, key: str, output: Path) -> None:
        """Raise UsageError if an output is one of them. `key` names the option."""


class Tabular:
    """A result with rows, which becomes a data frame, LaTeX, or a file."""

    inputs: Checked | None = None  # what the call read that made it; no file of it is written over
    printed: Sequence[Table] = ()  # the tables of LaTeX and Markdown; none: `rows`

    def rows(self) -> Sequence[Mapping[str, object]]:
        """The table, a dictionary a row. Empty if there is none."""
        raise NotImplementedError

    def blocks(self) -> Sequence[Block]:
        """The blocks that a terminal and a notebook show."""
        raise NotImplementedError

    def __str__(self) -> str:
        return as_text(self.blocks())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self.blocks())

    def as_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.rows(), indent=2, default=plain)

    def to_pandas(self) -> pd.DataFrame:
        """The table. Raises ValueError if there is none."""
        import pandas as pd

        if not self.rows():
            raise RefusedError("this result has no table. as_json() has all of it")
        return pd.DataFrame([dict(row) for row in self.rows()])

    def to_latex(self) -> str:
        """The table in LaTeX, with booktabs' rules."""
        return self._tabulated("latex_booktabs", lambda text: " ".join(text.split()))

    def to_markdown(self) -> str:
        """The table in Markdown, its texts without tags."""
        return self._tabulated("github", markdown_text)

    def formats(self) -> dict[str, Callable[[], str | bytes]]:
        """Suffix of a file -> what makes its content."""
        return {
            ".json": self.as_json,
            ".csv": lambda: csv_text(self.to_pandas()),
            ".parquet": self._parquet,
            ".tex": self.to_latex,
            ".md": self.to_markdown,
            ".txt": self.__str__,
        }

    def _parquet(self) -> bytes:
        """A column of several kinds of values, which Parquet has no type for, becomes text."""
        frame = self.to_pandas()
        mixed = [name for name in frame if len({type(v) for v in frame[name] if v is not None}) > 1]
        paths = [name for name in frame if any(isinstance(v, os.PathLike) for v in frame[name])]
        for name in {*mixed, *paths} - set(frame.select_dtypes("number")):
            frame[name] = [None if value is None else str(value) for value in frame[name]]
        return bytes(frame.to_parquet())

    def _tabulated(self, form: str, text: Callable[[str], str]) -> str:
        from tabulate import tabulate

        tables: list[Sequence[Sequence[object]]] = [(table.header, *table.rows) for table in self.printed]
        if not tables:
            frame = self.to_pandas()
            tables = [(list(frame), *frame.itertuples(index=False))]
        texts = [[[text(c) if isinstance(c, str) else c for c in row] for row in table] for table in tables]
        if not self.printed:
            return "\n\n".join(tabulate(table, "firstrow", form, disable_numparse=_texts(table)) for table in texts)
        return "\n\n".join(
            tabulate(table, "firstrow", form, disable_numparse=True, colalign=_alignment(table[1:]) or None)
            for table in texts
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, in the format of its suffix (`formats`).

        Raises:
            ValueError: another suffix, no such folder, or a table is wanted and there is none.
        """
        target, write = Path(path), self.formats()
        if target.suffix not in write:
            raise RefusedError(f"out={target}: expected a file that ends in {', '.join(write)}")
        if not target.parent.is_dir():
            raise RefusedError(f"out={target}: there is no folder {str(target.parent)!r}")
        if self.inputs is not None:
            self.inputs.refuse("out", target)
        content = write[target.suffix]()
        write_bytes(target, content if isinstance(content, bytes) else f"{content.rstrip()}\n".encode())
        return target


def _texts(table: Sequence[Sequence[object]]) -> list[int]:
    """The columns with a text below the header: an id 007 is no number."""
    return sorted({column for row in table[1:] for column, cell in enumerate(row) if isinstance(cell, str)})


def _alignment(rows: Sequence[Sequence[object]]) -> list[str]:
    """The alignment of each column: right where every cell begins with a number ("+3.0", "~[1, 2]", "< 0.001", "–"),
    else left."""
    number = re.compile(r"[<~ ]*\[?[-+−]?\d.*|–?")
    return [
        "right" if all(number.fullmatch(str(cell)) for cell in column) else "left" for column in zip(*rows, strict=True)
    ]


def plain(value: object) -> Any:
    """A plain value for one that JSON has no form of: collections become lists, anything else its text."""
    return list(value) if hasattr(value, "__iter__") else str(value)

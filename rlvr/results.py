"""What the functions of `rlvr` return: text on a terminal, HTML and SVG in a notebook, tables for other programs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evals.files import csv_text, write_bytes
from evals.notebook import html_table, html_text, text_table
from harness.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class Tabular:
    """What has rows, and so becomes a data frame, LaTeX, or a file."""

    columns: tuple[str, ...] = ()  # of LaTeX and Markdown; all, if it names none

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The table, a dictionary a row; empty if there is none."""
        raise NotImplementedError

    def as_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.rows(), indent=2, default=_plain)

    def to_pandas(self) -> pd.DataFrame:
        """The table.

        Raises:
            ValueError: there is none.
        """
        import pandas as pd

        if not self.rows():
            raise UsageError("this result has no table; as_json() has all of it")
        return pd.DataFrame([dict(row) for row in self.rows()])

    def to_latex(self) -> str:
        """The table in LaTeX, with booktabs' rules."""
        return self._tabulated("latex_booktabs")

    def to_markdown(self) -> str:
        """The table in Markdown, its texts without tags."""
        return self._tabulated("github", lambda cell: escape(" ".join(cell.split()), quote=False).replace("|", "\\|"))

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

    def _tabulated(self, form: str, text: Callable[[str], str] = str) -> str:
        from tabulate import tabulate

        frame = self.to_pandas()
        frame = frame[list(self.columns)] if self.columns else frame
        records = [
            {text(str(k)): text(v) if isinstance(v, str) else v for k, v in row.items()}
            for row in frame.to_dict("records")
        ]
        return str(tabulate(records, headers="keys", tablefmt=form))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, in the format of its suffix (`formats`).

        Raises:
            ValueError: another suffix, no such folder, or a table is wanted and there is none.
        """
        target, write = Path(path), self.formats()
        if target.suffix not in write:
            raise UsageError(f"out={target}: expected a file that ends in {', '.join(write)}")
        if not target.parent.is_dir():
            raise UsageError(f"out={target}: there is no folder {str(target.parent)!r}")
        content = write[target.suffix]()
        write_bytes(target, content if isinstance(content, bytes) else f"{content.rstrip()}\n".encode())
        return target


class Result(Tabular):
    """A document of plain values with its text; `result["key"]` is a part of it.

    Args:
        document: dicts, lists, numbers and strings, as `as_json` writes them.
        text: for people, or a function that makes it when it is first needed.
        rows: the result as a table, a dictionary a row; empty if it has none.
        exit_code: of the command that returns it: 1 if something in it failed.
    """

    def __init__(
        self,
        document: Any,
        text: str | Callable[[], str],
        rows: Sequence[Mapping[str, Any]] = (),
        *,
        exit_code: int = 0,
    ) -> None:
        self.document = document
        self.exit_code = exit_code
        self._text = text
        self._rows = rows

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return self._rows

    def __getitem__(self, key: Any) -> Any:
        return self.document[key]

    def __str__(self) -> str:
        return self._text if isinstance(self._text, str) else self._text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def as_json(self) -> str:
        return json.dumps(self.document, indent=2, default=_plain)


class Rows(list[T], Tabular):
    """A list that a notebook shows as a table; a subclass defines the columns."""

    header: tuple[str, ...] = ()
    caption: str = ""

    def cells(self, row: T) -> tuple[str, ...]:
        """The text of a row's cells."""
        raise NotImplementedError

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [dict(zip(self.header, self.cells(row), strict=True)) for row in self]

    def _repr_html_(self) -> str:
        return html_table(self.header, map(self.cells, self), self.caption)

    def __str__(self) -> str:
        return f"{text_table(self.header, map(self.cells, self), left=len(self.header))}\n{self.caption}".rstrip()

    __repr__ = __str__


def _plain(value: Any) -> Any:
    """What JSON has no form of: collections become lists, anything else its text."""
    return list(value) if hasattr(value, "__iter__") else str(value)


def results_folder() -> Path:
    """Where what is made of runs goes: beside the runs, never into a checkout's own results."""
    from harness.runs.track import make_home

    return make_home() / "results"

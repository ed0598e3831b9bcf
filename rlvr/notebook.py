"""Notebook output: tables as HTML, figures as SVG."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from evals.notebook import html_table

T = TypeVar("T")


class Rows(list[T]):
    """A list that a notebook shows as a table; a subclass defines the columns."""

    header: tuple[str, ...] = ()
    caption: str = ""

    def cells(self, row: T) -> tuple[str, ...]:
        """The text of a row's cells."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_table(self.header, map(self.cells, self), self.caption)

    def __str__(self) -> str:
        from tabulate import tabulate

        table = tabulate([self.cells(row) for row in self], headers=self.header, disable_numparse=True)
        return f"{table}\n{self.caption}".rstrip()

    __repr__ = __str__


class Figure:
    """A figure: shown inline in a notebook, written by `save`."""

    def __init__(self, write: Callable[[Path], None]) -> None:
        self._write = write

    def save(self, path: str | Path) -> Path:
        """Write it to a file that ends in .svg or .png.

        Raises:
            ValueError: another suffix, or no such folder.
        """
        target = Path(path)
        self._write(target)
        return target

    def _repr_svg_(self) -> str:
        with TemporaryDirectory() as folder:
            return self.save(Path(folder) / "figure.svg").read_text(encoding="utf-8")

"""The results of the functions of `rlvr`: text on a terminal, HTML and SVG in a notebook, tables for other programs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from evals.errors import UsageError
from evals.notebook import Block, Table, Tabular, plain

T = TypeVar("T")
Report = str | list[Block]
FILES = (".pdf", ".svg", ".png", ".html", ".xlsx", ".ods", ".docx", ".tsv", ".zip", ".gz", ".xz", ".jsonl")


def as_folder(out: str | os.PathLike[str], also: str = "") -> Path:
    """A folder for results; UsageError for what looks like a file of a form that is not written.

    Args:
        out: as it was given. also: what else it may be.
    """
    path = Path(out)
    if path.suffix.lower() in FILES and not path.is_dir():
        tables = "FILE.csv, .parquet, .tex, .md, .txt or .json for the tables alone"
        raise UsageError(f"out={path}: expected a folder, {also}or {tables}")
    return path


class Result(Tabular):
    """A document of plain values with its text; `result["key"]` is a part of it.

    Args:
        document: dicts, lists, numbers and strings, as `as_json` writes them.
        report: for people, as a text or as blocks, or a function that makes it when it is needed.
        rows: the result as a table, a dictionary a row; empty if it has none.
        printed: the tables for LaTeX and Markdown (default: `rows`).
        exit_code: of the command that returns it: 1 if something in it failed.
    """

    def __init__(
        self,
        document: Any,
        report: Report | Callable[[], Report],
        rows: Sequence[Mapping[str, object]] = (),
        *,
        printed: Sequence[Table] = (),
        exit_code: int = 0,
    ) -> None:
        self.document = document
        self.exit_code = exit_code
        self._report = report
        self._rows = rows
        self.printed = printed

    def rows(self) -> Sequence[Mapping[str, object]]:
        return self._rows

    def __getitem__(self, key: object) -> object:
        return self.document[key]

    def blocks(self) -> Sequence[Block]:
        made = self._report() if callable(self._report) else self._report
        return [made] if isinstance(made, str) else made

    def as_json(self) -> str:
        return json.dumps(self.document, indent=2, default=plain)


class Rows(list[T], Tabular):
    """A list that a notebook shows as a table; a subclass defines the columns."""

    header: tuple[str, ...] = ()
    caption: str = ""

    def cells(self, row: T) -> tuple[str, ...]:
        """The text of a row's cells."""
        raise NotImplementedError

    def rows(self) -> Sequence[Mapping[str, object]]:
        return [dict(zip(self.header, self.cells(row), strict=True)) for row in self]

    @property
    def printed(self) -> list[Table]:  # type: ignore[override]
        return [Table(self.header, [self.cells(row) for row in self], len(self.header), self.caption)]

    def blocks(self) -> list[Block]:
        return [*self.printed]

    __str__ = __repr__ = Tabular.__str__  # not the list's


def results_folder() -> Path:
    """Where what is made of runs goes: beside the runs, never into a checkout's own results."""
    from harness.runs.track import make_home

    return make_home() / "results"

"""What the functions of `rlvr` return: text on a terminal, HTML in a notebook, and tables for other programs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.notebook import html_text
from harness.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".json", ".csv", ".parquet", ".tex", ".md", ".txt")


class Result:
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

    def __getitem__(self, key: Any) -> Any:
        return self.document[key]

    def __str__(self) -> str:
        return self._text if isinstance(self._text, str) else self._text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def as_json(self) -> str:
        """The document as JSON."""
        return json.dumps(self.document, indent=2, default=_plain)

    def to_pandas(self) -> pd.DataFrame:
        """The table.

        Raises:
            ValueError: the result has no table.
        """
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self._table()])

    def to_latex(self) -> str:
        """The table in LaTeX, with booktabs' rules."""
        return self._tabulated("latex_booktabs")

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return self._tabulated("github")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, in the format of its suffix: .json, .csv, .parquet, .tex, .md or .txt.

        Raises:
            ValueError: another suffix, no such folder, or a table is wanted and there is none.
        """
        target = Path(path)
        if target.suffix not in SUFFIXES:
            raise UsageError(f"out={target}: expected a file that ends in {', '.join(SUFFIXES)}")
        if not target.parent.is_dir():
            raise UsageError(f"out={target}: there is no folder {str(target.parent)!r}")
        if target.suffix == ".parquet":
            self.to_pandas().to_parquet(target)
            return target
        write = {
            ".json": self.as_json,
            ".csv": lambda: self.to_pandas().to_csv(index=False),
            ".tex": self.to_latex,
            ".md": self.to_markdown if self._rows else self.__str__,
            ".txt": self.__str__,
        }
        target.write_text(write[target.suffix]().rstrip("\n") + "\n", encoding="utf-8")
        return target

    def _tabulated(self, form: str) -> str:
        from tabulate import tabulate

        return tabulate([dict(row) for row in self._table()], headers="keys", tablefmt=form)

    def _table(self) -> Sequence[Mapping[str, Any]]:
        if not self._rows:
            raise UsageError("this result has no table; as_json() has all of it")
        return self._rows


def _plain(value: Any) -> Any:
    """What JSON has no form of: collections become lists, anything else its text."""
    return list(value) if isinstance(value, (set, frozenset, tuple)) or hasattr(value, "__iter__") else str(value)


def results_folder() -> Path:
    """Where what is made of runs goes: beside the runs, never into a checkout's own results."""
    from harness.runs.track import make_home

    return make_home() / "results"

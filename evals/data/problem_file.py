"""A user's file of problems, whose columns may have other names than ours.

Declarations and records keep it as one text, `FILE?problem=question&answer=gold`. This file alone writes and reads it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from evals.data.rows import SUFFIXES
from evals.errors import UsageError
from evals.suggest import expected


@dataclass(frozen=True)
class ProblemFile:
    """A file, and our columns -> the file's, where these have other names."""

    path: str
    columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, known: Collection[str] | None = None) -> ProblemFile:
        """Read its text.

        Args:
            known: our columns. None: any.
        Raises:
            UsageError: a pair is not of the form OURS=THEIRS, or we have no such column.
        """
        path, _, query = text.partition("?")
        columns = {}
        for pair in filter(None, query.split("&")):
            column, _, source = map(unquote_plus, pair.partition("="))
            if not source:
                raise UsageError(f"{text}: expected {path}?OURS=THEIRS&OURS=THEIRS, got {pair!r}")
            if known is not None and column not in known:
                raise UsageError(f"columns={column}:{source}: {expected(column, known)}, then the file's column")
            columns[column] = source
        return cls(path, columns)

    def __str__(self) -> str:
        pairs = (f"{column}={re.sub('[%&+]', _quoted, source)}" for column, source in self.columns.items())
        return f"{self.path}?{'&'.join(pairs)}" if self.columns else self.path


def is_problem_file(text: str) -> bool:
    """Whether a text is a `ProblemFile`, by the ending of the file's name."""
    return text.partition("?")[0].endswith(SUFFIXES)


def _quoted(sign: re.Match[str]) -> str:
    return f"%{ord(sign[0]):02X}"

"""What a rewrite is: a name, what it looks for, and what it puts there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

END = r"(?![A-Za-z])"  # the end of a command's name
FUNCTIONS = "arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp"


class Rewrite(NamedTuple):
    """One way of writing replaced by another that says the same."""

    name: str
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]

    def __call__(self, text: str) -> str:
        return self.pattern.sub(self.replacement, text)


def table(*rows: tuple[str, str, str | Callable[[re.Match[str]], str]], flags: int = 0) -> tuple[Rewrite, ...]:
    """Rewrites from (name, pattern, replacement), in the order in which they are made."""
    return tuple(Rewrite(name, re.compile(pattern, flags), replacement) for name, pattern, replacement in rows)

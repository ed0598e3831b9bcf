"""Text of models, files and servers on a terminal: shown, never obeyed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal would obey: control characters but tab and line feed, and those that turn the reading direction; and
half surrogates, which no terminal can be sent."""


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
    """Inside, whatever is printed to stdout goes through `shown`."""
    with redirect_stdout(_Shown(sys.stdout)):
        yield

"""Escape control characters in text of models, files and servers before a terminal shows it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

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

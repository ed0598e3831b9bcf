"""Text for a terminal of 80 columns."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from textwrap import fill
from typing import TextIO

from evals.notebook import Heading, Outcome

BOLD, RED, GREEN, YELLOW = 1, 31, 32, 33
COLOURS = {
    **dict.fromkeys(("higher", "finished", "yes"), GREEN),
    **dict.fromkeys(("lower", "failed", "diverged", "trained nothing", "damaged", "no"), RED),
    **dict.fromkeys(("not resolved", "stopped", "running", "submitted"), YELLOW),
}
# Characters that would control a terminal: control characters except tab and line feed, characters that change the
# reading direction, and lone surrogates, which cannot be sent to a terminal.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str) -> str:
    """The text with every character that would control a terminal as its escape (`\\x1b`)."""
    return OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def painted(stream: TextIO) -> Callable[[str], str]:
    """The function that shows a line or a cell (`shown`). If the stream is a terminal that has colours, and NO_COLOR is
    not set, headings are bold and outcomes coloured."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return shown

    def paint(part: str) -> str:
        text = shown(part)
        word = text.rstrip("*†")  # the signs of a verdict
        code = BOLD if isinstance(part, Heading) else COLOURS.get(word) if isinstance(part, Outcome) else None
        return text if code is None else f"\x1b[{code}m{word}\x1b[0m{text[len(word) :]}"

    return paint


def paragraph(text: str, indent: str = "") -> str:
    """Words wrapped at 80 columns; paths and links stay whole."""
    return fill(
        text, 80, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def sentence(text: str) -> str:
    """A label as a sentence: capitalised, with a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + "." * (not text.endswith("."))

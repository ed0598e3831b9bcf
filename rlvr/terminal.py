"""Text for a terminal of 80 columns."""

from __future__ import annotations

import os
import re
from textwrap import fill
from typing import TextIO

from evals.notebook import text_table as table

__all__ = ["coloured", "paragraph", "sentence", "table"]
CODES = {"good": 32, "bad": 31, "open": 33, "bold": 1}
# cells of a table, outcomes at the start of a line, and headings
WORDS = re.compile(
    r"(?<=  )(?:(?P<good>higher|finished|yes)|(?P<bad>lower|failed|diverged|trained nothing|damaged|no)|"
    r"(?P<open>not resolved|stopped|"
    r"running|submitted))(?=[*†]?(?:  |$))|^(?P<bold>[A-Za-z ]+:|[A-Z]{5,})$",
    re.MULTILINE,
)


def coloured(text: str, stream: TextIO) -> str:
    """The text with its outcomes in colour, if the stream is a terminal that has it and NO_COLOR is not set."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return WORDS.sub(lambda found: f"\x1b[{CODES[str(found.lastgroup)]}m{found[0]}\x1b[0m", text)


def paragraph(text: str, indent: str = "") -> str:
    """Words wrapped at 80 columns; paths and links stay whole."""
    return fill(
        text, 80, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def sentence(text: str) -> str:
    """A label as a sentence: capitalised, with a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + "." * (not text.endswith("."))

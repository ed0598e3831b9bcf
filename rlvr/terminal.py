"""Text for a terminal of 80 columns."""

from __future__ import annotations

from textwrap import fill

from evals.notebook import text_table as table

__all__ = ["paragraph", "sentence", "table"]


def paragraph(text: str, indent: str = "") -> str:
    """Words wrapped at 80 columns; paths and links stay whole."""
    return fill(
        text, 80, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def sentence(text: str) -> str:
    """A label as a sentence: capitalised, with a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + "." * (not text.endswith("."))

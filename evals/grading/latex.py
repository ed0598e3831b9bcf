"""The brackets of a cleaned answer: what matches what, and the parts between separators outside of them."""

from __future__ import annotations

import re


def literal(text: str) -> str:
    """A cleaned answer without spaces, except between digits (`1 1/2` is not `11/2`)."""
    return re.sub(r"(?<!\d)\s+|\s+(?![\d.])", "", text)


def matching(text: str, start: int) -> int:
    """The index of the bracket that closes the one at `start`, or -1. Any closes any: `(0, 1]` is an interval."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] in "([{":
            depth += 1
        elif text[index] in ")]}":
            depth -= 1
            if depth == 0:
                return index
    return -1


def split(text: str, separators: str) -> list[str]:
    """The parts of a cleaned answer between separators (single characters) that are outside all brackets, stripped."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char in separators and depth <= 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]

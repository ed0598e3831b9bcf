"""Our docstrings in the form that the API reference reads: a blank line before a section, a line a parameter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import griffe


class Sections(griffe.Extension):
    """Rewrite each docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is None:
            return
        names = [p.name for p in obj.parameters] if obj.is_function else list(obj.members)
        text = re.sub(r"\n( *)(Args|Returns|Raises):\n", r"\n\n\1\2:\n", obj.docstring.value)
        text = re.sub(r"(?<=\nArgs:\n).*?(?=\n\n|\n\S|\Z)", lambda m: parameters(m[0], names), text, flags=re.S)
        obj.docstring.value = text.replace("][", r"]\[")  # a shape such as [P][n], which Markdown takes for a link


def parameters(section: str, names: Iterable[str]) -> str:
    """`a, b: text. c: text.` -> a line for each of a, b and c, when they are parameters; other colons are text."""
    name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    if not name:
        return section
    text = " ".join(section.split())
    start = rf"(?:^|(?<=[.;)] ))((?:{name})(?:(?:, | and )(?:{name}))*): "
    _, *parts = re.split(start, text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    lines = [f"    {parameter}: {words.strip()}" for heads, words in pairs for parameter in re.split(", | and ", heads)]
    return "\n".join(lines) or section

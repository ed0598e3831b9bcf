"""Our docstrings in the form that the API reference reads: a blank line before a section."""

from __future__ import annotations

import re

import griffe


class Sections(griffe.Extension):
    """Rewrite each docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring is not None:
            text = re.sub(r"\n( *)(Args|Returns|Raises):\n", r"\n\n\1\2:\n", obj.docstring.value)
            obj.docstring.value = text.replace("][", r"]\[")  # a shape such as [P][n], which Markdown takes for a link

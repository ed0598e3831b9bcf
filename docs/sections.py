"""Our docstrings put no blank line before `Returns:` and `Raises:`; the parser of the API reference needs one."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Sections(griffe.Extension):
    """Put a blank line before each section of a docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"\n( *)(Args|Returns|Raises):\n", r"\n\n\1\2:\n", obj.docstring.value)

"""The text that the cells of a notebook printed. Its tables of HTML become tables with bars."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping


def notebook_text(whole: Mapping[str, object]) -> str | None:
    """The text of all outputs; None of an object that is no notebook."""
    cells = whole.get("cells")
    if "nbformat" not in whole or not isinstance(cells, list):
        return None
    return "\n".join(_texts(cells))


def _texts(cells: list[object]) -> Iterator[str]:
    for cell in cells:
        outputs = cell.get("outputs") if isinstance(cell, Mapping) else None
        for output in outputs if isinstance(outputs, list) else ():
            data = output.get("data", output) if isinstance(output, Mapping) else {}
            table = _joined(data.get("text/html"))
            plain = _joined(data.get("text/plain")) or _joined(data.get("text"))
            yield _with_bars(table) if "<table" in table else plain


def _joined(value: object) -> str:
    """A text that a notebook has whole or by lines; empty without one."""
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


def _with_bars(table: str) -> str:
    rows = re.sub(r"</?tr[^>]*>", "\n", re.sub(r"\s+", " ", table))
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"</t[dh]>", " | ", rows)))

"""Tables of the study's page that other pages repeat: a page has a mark, and `rlvr study write=true` fills it.

<!-- study table: Methods: accuracy -->                  the table with its heading and notes
<!-- study table: Methods: accuracy; first 5 rows -->    only the header and these rows
<!-- end of study table -->
"""

from __future__ import annotations

import re
from pathlib import Path

from evals.files import write_text

NAME = "README.md"
_PLACE = re.compile(
    r"(?P<start><!-- study table: (?P<title>[^;\n]+?)(?:; first (?P<rows>\d+) rows)? -->\n)"
    r".*?(?P<end><!-- end of study table -->)",
    re.DOTALL,
)


def write_excerpts(folder: Path) -> list[Path]:
    """Fill the marked places from the page in `folder`; returns the pages that have changed."""
    changed = stale_excerpts(folder)
    for path, text in changed.items():
        write_text(path, text)
    return list(changed)


def stale_excerpts(folder: Path) -> dict[Path, str]:
    """The README files one and two folders above that differ from the page in `folder` at their marks -> their correct
    text."""
    page = (folder / NAME).read_text(encoding="utf-8")
    stale = {}
    for path in (folder.resolve().parents[0] / NAME, folder.resolve().parents[1] / NAME):
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        new = filled(old, page)
        if new != old:
            stale[path] = new
    return stale


def filled(text: str, page: str) -> str:
    """The text with each mark filled from the tables of a page.

    Raises:
        ValueError: a mark names a table that the page does not have.
    """
    return _PLACE.sub(lambda mark: mark["start"] + _excerpt(page, mark["title"], mark["rows"]) + mark["end"], text)


def _excerpt(page: str, title: str, rows: str | None) -> str:
    _, heading, after = page.partition(f"### {title}\n")
    if not heading:
        raise ValueError(f"study table {title!r}: the study's page has no such table")
    section = re.split(r"^(?=### |!\[)", after, maxsplit=1, flags=re.MULTILINE)[0].strip()
    if rows is None:
        return f"{heading}\n{section}\n"
    return "".join(f"{line}\n" for line in section.splitlines()[: 2 + int(rows)])

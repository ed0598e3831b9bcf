"""The report as one HTML file: a pure function of the gathered content. No network, no foreign script.

All text of models is in the page as JSON in a data block, and the viewer shows it as plain text. Jinja2 escapes all
else (report.jinja). A content security policy allows only the page's own style and script, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from harness.tables.grid import Grid

NO_ROWS = Grid("", (), ())
PX = 4 / 3  # pixels of a point, matplotlib's unit
OUTCOMES = {
    "holds": "●",
    "does not hold": "✕",
    "not resolved": "◐",
    "few seeds": "◔",
    "not tested": "=",
    "not measured": "○",
}


@dataclass(frozen=True)
class ClaimRow:
    """A claim, its outcome (a key of OUTCOMES), its comparisons, and its unmeasured parts."""

    text: str
    where: str
    outcome: str
    evidence: Grid | None
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A rendered figure. `svg` is a whole SVG file, `csv` the numbers behind it."""

    name: str
    title: str
    caption: str
    source: str
    svg: str
    csv: str


@dataclass(frozen=True)
class Document:
    """All that the page shows. `viewer` is what `viewer.pack` returns, or None where no responses were kept."""

    paper: str
    title: str
    scale_label: str
    made_by: tuple[str, ...]  # commands, commits
    results: tuple[Grid, ...]  # what was measured at this scale. Their notes stand once, under all
    compared: tuple[Grid, ...] = ()  # pairs of runs, each with its own notes, because each has its own A and B
    answer: tuple[str, ...] = ()  # what the page says, in a sentence or two
    arxiv: str | None = None
    scale: str = ""
    claims: tuple[ClaimRow, ...] = ()
    tables: tuple[Grid, ...] = ()  # the paper's tables, where they are not the results
    figures: tuple[tuple[str, tuple[Figure, ...]], ...] = ()  # family title -> its figures
    values: Grid = NO_ROWS
    assumed: Grid = NO_ROWS
    departures: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    environment: Grid = NO_ROWS
    notes: tuple[str, ...] = ()  # what was skipped, and why
    warnings: tuple[str, ...] = ()  # about trainings that may have learned little. The page shows them first.
    viewer: dict[str, object] | None = field(default=None)
    running: tuple[str, ...] = ()  # what trains while the page is made
    refresh: int | None = None  # seconds until an open page reloads itself
    made: str = ""  # by which version, and when


def render(document: Document) -> str:
    """The page."""
    style, scripts = asset("style.css"), [asset("viewer.js")]
    if document.viewer is not None and document.viewer["mathematics"]:
        scripts.insert(0, asset("temml.min.js"))  # LaTeX to MathML, in the browser
    hashes = " ".join(f"'{_hash(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src {hashes}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = _template()
    contents: list[tuple[str, str]] = []  # (key, title) of each section
    main = template.body(document, Markup(asset("viewer.html")) if document.viewer is not None else "", contents)
    data = "" if document.viewer is None else Markup(inert(document.viewer))
    return str(template.page(document, main, contents, policy, Markup(style), list(map(Markup, scripts)), data))


ICON = (  # the favicon: a claimed interval and a measured one
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#0b5394"/>'
    '<g stroke="#fff" stroke-width="2.5"><path d="M6 11h20M9 21h17"/></g>'
    '<circle cx="20" cy="11" r="4" fill="#fff"/><circle cx="15" cy="21" r="4" fill="#e8892b"/></svg>'
)


@cache
def _template() -> Any:
    """The macros of report.jinja. Every text that they are given is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("harness.report", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "picture": lambda svg: Markup(picture(svg)),
        "pixels": pixels,
        "csv": lambda text: Markup(_csv(text)),
        "outcomes": _outcomes,
        "notes": notes_of,
        "first_upper": lambda text: text[:1].upper() + text[1:],
    }
    environment.globals |= {"marks": OUTCOMES, "icon": Markup(picture(ICON))}
    return environment.get_template("report.jinja").module


def table(grid: Grid, kind: str = "table") -> str:
    """A table that scrolls in its own box, which the keyboard can reach, with its notes."""
    return str(_template().table(grid, kind))


def notes_of(grids: Sequence[Grid]) -> list[str]:
    """The notes of some tables, each once. A note that is the start of another one is dropped."""
    notes = list(dict.fromkeys(note for grid in grids for note in grid.notes))
    return [
        note for note in notes if not any(note_beside != note and note_beside.startswith(note) for note_beside in notes)
    ]


def pixels(svg: str) -> tuple[int, int] | tuple[None, None]:
    """Width and height of a picture, or None if not stated."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    return (round(float(box[1]) * PX), round(float(box[2]) * PX)) if box else (None, None)


def _outcomes(claims: Sequence[ClaimRow]) -> list[tuple[str, int]]:
    """Each outcome that occurs, with its count, in the order of OUTCOMES."""
    counts = Counter(c.outcome for c in claims)
    return sorted(counts.items(), key=lambda item: ([*OUTCOMES, item[0]].index(item[0]), item[0]))


def inert(value: object) -> str:
    """JSON that can stand inside a script element: nothing in it closes the element or is read as markup.

    The result is ASCII where HTML or JavaScript would see more than text, and parses to the same value.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _DANGEROUS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_DANGEROUS = re.compile("[<>&\u2028\u2029\ud800-\udfff\ufeff\x7f]")


def asset(name: str) -> str:
    """A file of this package."""
    return resources.files("harness.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def picture(svg: str) -> str:
    """A data URI of a picture: as an image, an SVG can neither run a script nor style or number anything else."""
    return "data:image/svg+xml," + svg.translate(_IN_URI)


_IN_URI = str.maketrans({c: f"%{ord(c):02X}" for c in '%#<>"&\n'})


def _csv(text: str) -> str:
    return f"data:text/csv;base64,{base64.b64encode(text.encode()).decode()}"

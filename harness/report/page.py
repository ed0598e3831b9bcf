"""The report as one HTML file: a pure function from what was gathered to text. No network, no script but its own.

Everything that comes from a model reaches the page as JSON in a data block and is shown by the viewer as text; all else
is escaped here. A content security policy allows the page's own style and script, by their hashes, and nothing more.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from typing import Any

from harness.tables.grid import Grid

PX = 4 / 3  # pixels of a point, matplotlib's unit
OUTCOMES = {"holds": "●", "does not hold": "✕", "not resolved": "◐", "not measured": "○"}


@dataclass(frozen=True)
class ClaimRow:
    """A claim, its outcome (a key of OUTCOMES), the comparisons behind it, and what of it was not measured."""

    text: str
    where: str
    outcome: str
    evidence: Grid | None
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A drawn figure. `svg` is a whole SVG file, `csv` the numbers behind it."""

    name: str
    title: str
    caption: str
    source: str
    svg: str
    csv: str


@dataclass(frozen=True)
class Link:
    """A measured run, and where MLflow's interface shows it."""

    name: str
    run_id: str
    url: str


@dataclass(frozen=True)
class Document:
    """All that the page shows. `viewer` is what `viewer.pack` returns; None where no responses were kept."""

    paper: str
    title: str
    arxiv: str
    scale: str
    scale_label: str
    made_by: tuple[str, ...]  # commands, commits
    claims: tuple[ClaimRow, ...]
    tables: tuple[Grid, ...]
    figures: tuple[tuple[str, tuple[Figure, ...]], ...]  # family title -> its figures
    values: Grid
    assumed: Grid
    departures: tuple[str, ...]
    doubts: tuple[str, ...]
    environment: Grid
    links: tuple[Link, ...]
    link_note: str
    notes: tuple[str, ...] = ()  # what was left out, and why
    viewer: dict[str, Any] | None = field(default=None)


def render(document: Document) -> str:
    """The page."""
    style, script = asset("style.css"), asset("viewer.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    sections = [(key, title, body) for key, title, body in _sections(document) if body]
    nav = "".join(f'<li><a href="#{key}">{title}</a></li>' for key, title, _ in sections)
    main = "\n".join(
        f'<section id="{key}" aria-labelledby="h-{key}"><h2 id="h-{key}">{title}</h2>\n{body}</section>'
        for key, title, body in sections
    )
    viewer = (
        ""
        if document.viewer is None
        else f'<script type="application/json" id="data">{inert(document.viewer)}</script>\n'
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(document.paper)}, {escape(document.scale)} scale: reproduction report</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header>
<p class="kicker">Reproduction report · {escape(document.paper)}</p>
<h1>{escape(document.title)}</h1>
<p><a href="https://arxiv.org/abs/{escape(document.arxiv)}" rel="noreferrer">arXiv {escape(document.arxiv)}</a></p>
<p class="scale"><strong>{escape(_first_upper(document.scale_label))}.</strong></p>
{"".join(f"<p class='made'>{escape(line)}</p>" for line in document.made_by)}
<nav aria-label="Sections"><ul>{nav}</ul></nav>
</header>
<main id="main">
{main}
</main>
{viewer}<script>{script}</script>
</body>
</html>
"""


def inert(value: Any) -> str:
    """JSON that can stand inside a script element: nothing in it closes the element or is read as markup.

    The result is ASCII where HTML or JavaScript would see more than text, and parses to the same value.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _DANGEROUS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_DANGEROUS = re.compile("[<>&\u2028\u2029\ud800-\udfff\ufeff\x7f]")


def asset(name: str) -> str:
    """A file of this package."""
    return resources.files("harness.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _sections(d: Document) -> list[tuple[str, str, str]]:
    return [
        ("claims", "Claims", _claims(d)),
        ("tables", "Tables", "".join(map(table, d.tables))),
        ("figures", "Figures", "".join(_family(title, figures) for title, figures in d.figures)),
        ("responses", "Responses", asset("viewer.html") if d.viewer is not None else ""),
        ("values", "Values", _values(d)),
        ("differences", "Departures and doubts", _differences(d)),
        ("provenance", "Runs and environment", _provenance(d)),
    ]


def _claims(d: Document) -> str:
    if not d.claims:
        return ""
    counts = ", ".join(f"{outcome}: {n}" for outcome in OUTCOMES if (n := sum(c.outcome == outcome for c in d.claims)))
    stand_ins = (
        ""
        if d.scale == "paper"
        else f"<p><strong>Every verdict here is about the {escape(d.scale)} scale</strong>, whose model and benchmarks "
        "stand in for the paper's: it says what the method did there, and nothing about the claim itself.</p>"
    )
    return (
        "<p>What the paper says, in our words, and whether it came back in the runs measured here. A claim holds where "
        "every comparison is resolved in its direction; it does not hold where one is resolved against it.</p>"
        f"{stand_ins}<p class='note'>{counts}.</p><ol class='claims'>{''.join(map(_claim, d.claims))}</ol>"
    )


def _claim(c: ClaimRow) -> str:
    mark = f'<span aria-hidden="true">{OUTCOMES[c.outcome]}</span>'
    chip = f'<span class="chip {c.outcome.replace(" ", "-")}">{mark} {c.outcome}</span>'
    more = ""
    if c.evidence is not None:
        label = "1 comparison" if len(c.evidence.rows) == 1 else f"{len(c.evidence.rows)} comparisons"
        more = f"<details><summary>{label}</summary>{table(c.evidence)}</details>"
    if c.missing:
        more += f"<ul class='missing'>{_items(f'Not measured: {text}' for text in c.missing)}</ul>"
    return f"<li>{chip} {escape(c.text)} <span class='where'>{escape(c.where)}</span>{more}</li>"


def _items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def table(grid: Grid, kind: str = "table") -> str:
    """A table that scrolls in its own box, with its notes."""
    caption = escape(grid.caption)
    head = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in grid.header)
    rows = "".join(
        f"<tr><th scope='row'>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>"
        for row in grid.rows
    )
    inner = f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in grid.notes)
    return f"<div class='{kind}'>{_scroll(grid.caption, inner)}{notes}</div>"


def _scroll(name: str, content: str) -> str:
    """A box of its own for what may be wider than the page; the keyboard can reach and scroll it."""
    return f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(name)}'>{content}</div>"


def _family(title: str, figures: Iterable[Figure]) -> str:
    return f"<h3>{escape(title)}</h3><div class='figures'>{''.join(map(_figure, figures))}</div>"


def _figure(f: Figure) -> str:
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', f.svg)
    size = f' width="{float(box[1]) * PX:.0f}" height="{float(box[2]) * PX:.0f}"' if box else ""
    title, caption = escape(f.title), escape(f.caption)
    image = f'<img alt="{title}. {caption}" src="{picture(f.svg)}"{size}>'
    source = f" <span class='where'>Redraws {escape(f.source)}.</span>" if f.source else ""
    numbers = f' <a download="{escape(f.name)}.csv" href="{_csv(f.csv)}">Numbers (CSV)</a>' if f.csv else ""
    words = f"<figcaption><strong>{title}.</strong> {caption}{source}{numbers}</figcaption>"
    return f"<figure id='figure-{escape(f.name)}'>{image}{words}</figure>"


def picture(svg: str) -> str:
    """A data URI of a picture: as an image, a plot can neither run a script nor style or number anything else."""
    return "data:image/svg+xml," + smaller(svg).translate(_IN_URI)


_IN_URI = str.maketrans({c: f"%{ord(c):02X}" for c in '%#<>"&\n'})


def smaller(svg: str) -> str:
    """The same picture without metadata, comments and the white space between elements, paths to 0.01 pt."""
    for noise in (r"<\?xml.*?\?>", r"<!DOCTYPE.*?>", r"<metadata>.*?</metadata>", r"<!--.*?-->"):
        svg = re.sub(noise, "", svg, flags=re.DOTALL)
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
    return re.sub(r">\s+<", "><", svg).strip()


def _csv(text: str) -> str:
    return f"data:text/csv;base64,{base64.b64encode(text.encode()).decode()}"


def _values(d: Document) -> str:
    if not d.values.rows:
        return ""
    assumed = table(d.assumed, "table words") if d.assumed.rows else ""
    every = f"<details><summary>All {len(d.values.rows)} values</summary>{table(d.values, 'table words')}</details>"
    return (
        "<p>Every value that decides a run has a source. These were assumed, because the paper does not state them, or "
        f"replaced, by the scale or on the command line:</p>{assumed}{every}"
    )


def _differences(d: Document) -> str:
    parts = (
        ("What we do differently", d.departures),
        ("Doubts about the paper's numbers", d.doubts),
        ("Left out here", d.notes),
    )
    return "".join(f"<h3>{title}</h3><ul>{_items(texts)}</ul>" for title, texts in parts if texts)


def _provenance(d: Document) -> str:
    links = "".join(
        f'<li>{escape(link.name)}: <a href="{escape(link.url)}" rel="noreferrer">{escape(link.run_id[:8])}</a></li>'
        for link in d.links
    )
    note = f"<p class='note'>{escape(d.link_note)}</p>"
    runs = f"<h3>Runs in MLflow</h3>{note}<ul class='runs'>{links}</ul>" if links else ""
    return runs + (table(d.environment, "table words") if d.environment.rows else "")


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]

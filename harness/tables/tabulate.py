"""The paper's tables again, published beside measured.

Published and measured numbers never share a column; a cell that was not measured says why; a number from another scale
is never shown as the paper's.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness import catalogue
from harness.catalogue import Published
from harness.scales import SCALES
from harness.tables.grid import Grid
from harness.tables.measured import Measured, gather
from harness.track import Tracker

LEVEL = 0.05  # of the corrected p-values


def published_grids(paper: str, measured: list[Measured]) -> list[Grid]:
    """Each table of the paper: published columns, measured columns (paper scale only), and what the measuring was."""
    cells = catalogue.published(paper)
    at_scale = [m for m in measured if m.scale == "paper"]
    grids = []
    for table in dict.fromkeys(c.table for c in cells):
        mine = [c for c in cells if c.table == table]
        columns = list(dict.fromkeys((c.benchmark, c.metric, c.column) for c in mine))
        models = list(dict.fromkeys(c.model for c in mine))
        header = ["method", *(f"{column} {side}" for *_, column in columns for side in ("published", "measured"))]
        rows = []
        for model, arm, title in dict.fromkeys((c.model, c.arm, c.row) for c in mine):
            found = [m for m in at_scale if (m.model, m.arm) == (model, arm)]
            for match in found or (None,):
                name = title if len(models) == 1 else f"{model}: {title}"
                row = [name if match is None else match.label(name)]
                for benchmark, metric, _ in columns:
                    cell = next(
                        (c for c in mine if (c.arm, c.model, c.benchmark, c.metric) == (arm, model, benchmark, metric)),
                        None,
                    )
                    row.append("" if cell is None else cell.printed)
                    row.append(_beside(cell, _score_of(match, benchmark, metric)) if match else "–")
                rows.append((*row, *_how(match)))
        notes = [
            "Percent. Measured: mean [95 % interval], marked + where the published value lies inside the interval and "
            f"x where it does not; n samples a problem x training seeds.{_rough(rows)}"
        ]
        if len(at_scale) < len(dict.fromkeys((c.model, c.arm) for c in cells)):
            notes.append("– : not measured; this store holds no finished run of that arm at paper scale.")
        grids.append(Grid(f"{paper} {table}", (*header, *_HOW), tuple(rows), tuple(notes)))
    return grids


_HOW = ("n x seeds", "values assumed", "values replaced")


def _how(match: Measured | None) -> tuple[str, ...]:
    if match is None:
        return ("–", "–", "–")
    n = "/".join(str(v) for v in dict.fromkeys(match.n.values()))
    replaced = match.origins.get("scale", 0) + match.origins.get("user", 0)
    return (f"{n} x {len(match.seeds)}", str(match.origins.get("assumed", 0)), str(replaced))


def scale_grids(paper: str, measured: list[Measured]) -> list[Grid]:
    """What was measured at other scales, under that scale's own label and benchmarks."""
    grids = []
    for scale in dict.fromkeys(m.scale for m in measured if m.scale != "paper"):
        arms = [m for m in measured if m.scale == scale]
        left_out = _left_out(paper, arms, scale)
        for benchmark in dict.fromkeys(b for m in arms for b in m.scores):
            every = dict.fromkeys(key for m in arms for key in m.scores.get(benchmark, {}))
            keys = [k for k in every if _wanted(k, every)]
            names = {
                k: next(m.scores[benchmark][k].name for m in arms if k in m.scores.get(benchmark, {})) for k in keys
            }
            rows = [
                (m.label(m.arm), *(_show(m.scores.get(benchmark, {}).get(k)) for k in keys), *_how(m)) for m in arms
            ]
            notes = (
                f"{SCALES[scale].label}. Percent, but tokens and, of unsolvable problems, the number; mean "
                f"[95 % interval over {_covers(arms, benchmark)}].{_rough(rows)}",
                *left_out,
            )
            left_out = []  # once is enough
            grids.append(
                Grid(
                    f"{paper}, {scale} scale: {benchmark}",
                    ("arm", *(names[k] for k in keys), *_HOW),
                    tuple(rows),
                    notes,
                )
            )
    return grids


def _left_out(paper: str, measured: list[Measured], scale: str) -> list[str]:
    """One note for each arm of the measured models that no backend in the store can train at this scale."""
    from harness.backends import refusals
    from harness.hardware import Hardware
    from harness.resolve import resolve

    have = {(m.model, m.arm) for m in measured}
    models = list(dict.fromkeys(m.model for m in measured))
    refused = [
        refusals(resolve(paper, models=models, scale=scale, backend=backend), Hardware())
        for backend in dict.fromkeys(m.backend for m in measured)
    ]
    return [
        f"Left out {model}/{arm}: {refused[0][model, arm]}"
        for model, arm in (refused[0] if refused else {})
        if (model, arm) not in have and all((model, arm) in other for other in refused)
    ]


def _wanted(key: str, keys: Iterable[str]) -> bool:
    """Of pass@k, maj@k and unsolvable@k only the largest k is shown; the CSV has all."""
    metric, _, k = key.partition("_at_")
    if metric not in ("pass", "maj", "unsolvable"):
        return True
    return int(k) == max(int(other.partition("_at_")[2]) for other in keys if other.startswith(f"{metric}_at_"))


def _covers(arms: list[Measured], benchmark: str) -> str:
    found = {s.interval.covers for m in arms for s in m.scores.get(benchmark, {}).values() if s.interval}
    return " or ".join(sorted(found)) or "nothing: no interval could be computed"


def _rough(rows: Iterable[Iterable[str]]) -> str:
    """What "~" means, where a cell has it."""
    from evals.intervals import ROUGH

    return f" {ROUGH}." if any("~[" in cell for row in rows for cell in row) else ""


def difference_grid(paper: str, measured: list[Measured]) -> Grid | None:
    """Each trained arm against every arm declared before it, on the same problems, same scale, same backend."""
    from evals.intervals import holm
    from evals.score import compare

    pairs = [
        (a, b, benchmark)
        for i, a in enumerate(measured)
        for b in measured[:i]
        if (a.scale, a.backend, a.model, _shared(a)) == (b.scale, b.backend, b.model, _shared(b))
        for benchmark in a.scores
        if benchmark in b.scores
    ]
    compared = [
        (a, b, benchmark, compare(a.verdicts[benchmark], b.verdicts[benchmark], "avg").result)
        for a, b, benchmark in pairs
    ]
    adjusted = iter(holm([r.p_value for *_, r in compared if r is not None and r.p_value is not None]))
    rows = []
    for a, b, benchmark, result in compared:
        if result is None or result.p_value is None or result.interval is None:
            rows.append((f"{a.label(a.arm)} − {b.label(b.arm)}", a.scale, benchmark, "–", "–", "too few problems"))
            continue
        p = next(adjusted)
        low, high = result.interval.low, result.interval.high
        resolved = p <= LEVEL and not low <= 0 <= high
        verdict = ("higher" if low > 0 else "lower") if resolved else "not resolved"
        rows.append(
            (
                f"{a.label(a.arm)} − {b.label(b.arm)}",
                a.scale,
                benchmark,
                f"{100 * result.difference:+.1f} {result.interval.mark}[{100 * low:+.1f}, {100 * high:+.1f}]",
                f"{p:.3g}",
                verdict,
            )
        )
    if not rows:
        return None
    return Grid(
        f"{paper}: paired differences of mean accuracy",
        ("difference", "scale", "benchmark", "points [95 % interval]", "p (Holm)", "verdict"),
        tuple(rows),
        (
            "Paired by problem. P-values are corrected for the number of rows (Holm). A difference whose interval "
            f"holds zero, or whose p-value is above {LEVEL}, is not resolved.{_rough(rows)}",
        ),
    )


def _shared(m: Measured) -> str:
    """The overrides that decide the base model and the measuring: arms that differ in these are not compared."""
    return " ".join(o for o in m.overrides.split() if o.startswith(("protocol.", "base_model=")))


def _score_of(match: Measured, benchmark: str, metric: str) -> Any:
    """The score that a published metric asks for; "avg" is avg@n whatever n was."""
    scores = match.scores.get(benchmark, {})
    if metric == "avg":
        return next((s for s in scores.values() if s.metric == "avg"), None)
    return scores.get(metric.replace("@", "_at_"))


def _beside(cell: Published | None, score: Any) -> str:
    """A measured cell, with whether the published value lies in its interval."""
    inside = comes_back(cell, score)
    return _show(score) + {True: " +", False: " x", None: ""}[inside]


def comes_back(cell: Published | None, score: Any) -> bool | None:
    """Whether the published value lies in the measured interval; None where one of the two is missing."""
    if cell is None or score is None or score.interval is None:
        return None
    value = cell.value / 100 if cell.unit == "%" else cell.value
    return bool(score.interval.low <= value <= score.interval.high)


def _show(score: Any) -> str:
    if score is None:
        return "–"
    if score.value is None:
        return f"– ({score.why})"
    factor = score.factor
    text = f"{factor * score.value:.1f}"
    if score.interval is not None:
        text += f" {score.interval.mark}[{factor * score.interval.low:.1f}, {factor * score.interval.high:.1f}]"
    return text + (f" ({score.unscored} unscored)" if score.unscored else "")


def long_rows(paper: str, measured: list[Measured]) -> list[dict[str, Any]]:
    """Every published and every measured cell, one a row, for the CSV and the JSON document."""
    cells = catalogue.published(paper)
    rows = [_long(cell, m) for cell in cells for m in (_matching(cell, measured) or (None,))]
    claimed = {(r["digest"], r["benchmark"], r["key"]) for r in rows if r["digest"]}
    for m in measured:
        for benchmark, scores in m.scores.items():
            for key, score in scores.items():
                if (m.digest, benchmark, key) not in claimed:
                    rows.append(_long(None, m, benchmark, score))
    return rows


def _matching(cell: Published, measured: list[Measured]) -> list[Measured]:
    return [m for m in measured if m.scale == "paper" and (m.model, m.arm) == (cell.model, cell.arm)]


def _long(cell: Published | None, m: Measured | None, benchmark: str = "", score: Any = None) -> dict[str, Any]:
    if cell is not None:
        benchmark = cell.benchmark
        score = _score_of(m, benchmark, cell.metric) if m else None
    value = None if score is None else score.value
    interval = None if score is None else score.interval
    why = None
    if m is None:
        why = "no finished run of this arm at paper scale"
    elif value is None:
        why = "the run did not measure it" if score is None else score.why
    return {
        "table": cell.table if cell else None,
        "model": cell.model if cell else m.model if m else None,
        "arm": cell.arm if cell else m.arm if m else None,
        "row": cell.row if cell else None,
        "benchmark": benchmark,
        "column": cell.column if cell else None,
        "metric": cell.metric if cell else score.name,
        "key": None if score is None else score.key,
        "published": cell.value if cell else None,
        "published_unit": cell.unit if cell else None,
        "measured": value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "published_in_interval": comes_back(cell, score),
        "interval_covers": interval.covers if interval else None,
        "why_missing": why,
        "scale": m.scale if m else None,
        "backend": m.backend if m else None,
        "overrides": m.overrides if m else None,
        "n": m.n.get(benchmark) if m else None,
        "seeds": len(m.seeds) if m else None,
        "problems": score.problems if score is not None else None,
        "unscored": score.unscored if score is not None else None,
        "assumed_values": m.origins.get("assumed", 0) if m else None,
        "replaced_values": m.origins.get("scale", 0) + m.origins.get("user", 0) if m else None,
        "digest": m.digest if m else None,
    }


@dataclass(frozen=True)
class Report:
    """All tables of a paper, ready to write."""

    paper: str
    grids: tuple[Grid, ...]
    rows: tuple[dict[str, Any], ...]
    header: str
    footer: str

    def markdown(self) -> str:
        return "\n".join([self.header, *(g.markdown() for g in self.grids), self.footer])

    def latex(self) -> str:
        return "\n".join(g.latex() for g in self.grids)

    def csv(self) -> str:
        if not self.rows:  # nothing published, nothing measured
            return ""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(self.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()

    def as_dict(self) -> dict[str, Any]:
        return {"paper": self.paper, "cells": list(self.rows), "tables": [asdict(g) for g in self.grids]}

    def write(self, folder: Path) -> list[Path]:
        """tables.md, tables.csv and tables.tex under the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for suffix, text in ((".md", self.markdown()), (".csv", self.csv()), (".tex", self.latex())):
            path = folder / f"tables{suffix}"
            path.write_text(text)
            written.append(path)
        return written


def report(paper: str, tracker: Tracker) -> Report:
    """Everything that MLflow holds about a paper, beside what the paper printed."""
    reproduction = catalogue.load(paper)
    measured = gather(paper, tracker)
    grids = [*published_grids(paper, measured), *scale_grids(paper, measured)]
    difference = difference_grid(paper, measured)
    header = [
        f"# {reproduction.title}",
        "",
        f"arXiv {reproduction.arxiv}. Written by `rlvr tables paper={paper}` from the verdicts in MLflow; not edited "
        "by hand.",
        "",
    ]
    commits = sorted({c for m in measured for c in m.commits})
    if commits:
        commands = sorted({f"`{c}`" for m in measured for c in m.commands if c})
        header += [f"Measured with code at {', '.join(commits)}, by {', '.join(commands) or 'an unknown command'}.", ""]
    footer = []
    for heading, notes in (
        ("What we do differently", reproduction.departures),
        ("Doubts about the tables", reproduction.doubts),
    ):
        if notes:
            footer += [f"### {heading}", "", *(f"- {note}" for note in notes), ""]
    return Report(
        paper,
        (*grids, *([difference] if difference else [])),
        tuple(long_rows(paper, measured)),
        "\n".join(header),
        "\n".join(footer),
    )

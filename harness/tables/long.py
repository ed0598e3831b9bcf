"""Every cell as a separate row, for the CSV and the JSON document."""

from __future__ import annotations

from typing import Any

from evals.stats.prediction import Comeback
from harness.spec import catalogue
from harness.spec.catalogue import Published
from harness.tables.comeback import cell_margin, judge, measured_score
from harness.tables.measured import Measured


def long_rows(paper: str, measured: list[Measured]) -> list[dict[str, Any]]:
    """Every published and every measured cell, one per row, for the CSV and the JSON document."""
    cells = catalogue.published(paper)
    reproduction = catalogue.load(paper)
    at_scale = [m for m in measured if m.scale == "paper"]
    rows = []
    for cell in cells:
        margin = cell_margin(reproduction, cell)
        matching = [m for m in at_scale if (m.model, m.arm) == (cell.model, cell.arm)]
        for m in matching:
            score, judged = measured_score(m, cell, cells), judge(reproduction, cell, m, cells)
            rows.append(_row(cell, m, cell.benchmark, score, judged, None if margin is None else margin[0]))
        if not matching:
            rows.append(_row(cell, None, cell.benchmark, None, None, None))
    claimed = {(r["digest"], r["benchmark"], r["key"]) for r in rows if r["digest"]}
    for m in measured:
        for benchmark, scores in m.scores.items():
            for key, score in scores.items():
                if (m.digest, benchmark, key) not in claimed:
                    rows.append(_row(None, m, benchmark, score, None, None))
    return rows


def _row(
    cell: Published | None,
    m: Measured | None,
    benchmark: str,
    score: Any,
    judged: Comeback | None,
    margin: float | None,
) -> dict[str, Any]:
    value = None if score is None else score.value
    interval = None if score is None else score.interval
    why = None
    if m is None:
        why = "no finished run of this arm at paper scale"
    elif value is None:
        why = m.divergence() or ("the run did not measure it" if score is None else score.why)
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
        "comes_back": judged.answer if judged else None,
        "prediction_low": judged.low if judged else None,
        "prediction_high": judged.high if judged else None,
        "margin": margin,
        "what_would_tell": judged.why if judged else None,
        "interval_covers": interval.covers if interval else None,
        "why_missing": why,
        "scale": m.scale if m else None,
        "backend": m.backend if m else None,
        "overrides": m.overrides if m else None,
        "n": m.n.get(benchmark) if m else None,
        "seeds": len(m.seeds) if m else None,
        "problems": score.problems if score is not None else None,
        "unscored": score.unscored if score is not None else None,
        "unscored_as_wrong": score.as_wrong if score is not None else None,
        "assumed_values": m.origins.get("assumed", 0) if m else None,
        "replaced_values": m.origins.get("scale", 0) + m.origins.get("user", 0) if m else None,
        "digest": m.digest if m else None,
    }

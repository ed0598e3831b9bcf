"""Every cell as a separate row, for the CSV and the JSON document."""

from __future__ import annotations

from evals.stats.prediction import Comeback
from evals.stats.score import Score
from harness.spec import catalogue
from harness.spec.catalogue import Published
from harness.tables.comeback import cell_margin, judge, measured_score
from harness.tables.measured import Measured


def long_rows(paper: str, measured: list[Measured]) -> list[dict[str, object]]:
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


COLUMNS = (
    *("table", "model", "arm", "row", "benchmark", "column", "metric", "key", "published", "published_unit"),
    *("measured", "low", "high", "comes_back", "prediction_low", "prediction_high", "margin", "what_would_tell"),
    *("interval_covers", "why_missing", "scale", "backend", "overrides", "n", "seeds", "problems", "unscored"),
    *("unscored_as_wrong", "unscored_as_right", "assumed_values", "replaced_values", "digest"),
)


def _row(
    cell: Published | None,
    m: Measured | None,
    benchmark: str,
    score: Score | None,
    judged: Comeback | None,
    margin: float | None,
) -> dict[str, object]:
    """A row with what each part says, None elsewhere. The cell's own names stand before the run's."""
    parts: dict[str, object] = {"benchmark": benchmark, "margin": margin, "why_missing": _why_missing(m, score)}
    parts |= {} if m is None else _of_run(m, benchmark)
    parts |= {} if score is None else _of_score(score)
    parts |= {} if judged is None else _of_judgement(judged)
    parts |= {} if cell is None else _of_cell(cell)
    return {column: parts.get(column) for column in COLUMNS}


def _why_missing(m: Measured | None, score: Score | None) -> str | None:
    if m is None:
        return "no finished run of this arm at paper scale"
    if score is not None and score.value is not None:
        return None
    return m.divergence() or ("the run did not measure it" if score is None else score.why)


def _of_cell(cell: Published) -> dict[str, object]:
    columns = {key: getattr(cell, key) for key in ("table", "model", "arm", "row", "column", "metric")}
    return {**columns, "published": cell.value, "published_unit": cell.unit}


def _of_run(m: Measured, benchmark: str) -> dict[str, object]:
    columns = {"model": m.base} | {key: getattr(m, key) for key in ("arm", "scale", "backend", "overrides", "digest")}
    replaced = m.origins.get("scale", 0) + m.origins.get("user", 0)
    counts = {"n": m.n.get(benchmark), "seeds": len(m.seeds)}
    return {**columns, **counts, "assumed_values": m.origins.get("assumed", 0), "replaced_values": replaced}


def _of_score(score: Score) -> dict[str, object]:
    counts = {"problems": score.problems, "unscored": score.unscored, "unscored_as_wrong": score.as_wrong}
    counts["unscored_as_right"] = score.as_right
    interval = {} if score.interval is None else {"low": score.interval.low, "high": score.interval.high}
    covers = None if score.interval is None else score.interval.covers
    named = {"metric": score.name, "key": score.key, "measured": score.value, "interval_covers": covers}
    return {**named, **interval, **counts}


def _of_judgement(judged: Comeback) -> dict[str, object]:
    prediction = {"prediction_low": judged.low, "prediction_high": judged.high}
    return {"comes_back": judged.answer, **prediction, "what_would_tell": judged.why}

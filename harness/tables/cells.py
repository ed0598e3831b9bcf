"""One cell of a table: a score with its interval, and whether the published value lies in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evals.stats.intervals import ROUGH
from harness.spec.catalogue import Published
from harness.tables.measured import Measured

HOW = ("n x seeds", "values assumed", "values replaced")


def how(match: Measured | None) -> tuple[str, ...]:
    """The cells of `HOW`: how an arm was measured and how much of it the paper does not state."""
    if match is None:
        return ("–", "–", "–")
    n = "/".join(str(v) for v in dict.fromkeys(match.n.values()))
    replaced = match.origins.get("scale", 0) + match.origins.get("user", 0)
    return (f"{n} x {len(match.seeds)}", str(match.origins.get("assumed", 0)), str(replaced))


def show(score: Any) -> str:
    """A measured cell: percent (or the unit's own), interval, and how many samples are unscored."""
    if score is None:
        return "–"
    if score.value is None:
        return f"– ({score.why})"
    factor = score.factor
    text = f"{factor * score.value:.1f}"
    if score.interval is not None:
        text += f" {score.interval.mark}[{factor * score.interval.low:.1f}, {factor * score.interval.high:.1f}]"
    return text + (f" ({score.unscored} unscored)" if score.unscored else "")


def beside(cell: Published | None, score: Any) -> str:
    """A measured cell, with whether the published value lies in its interval."""
    inside = comes_back(cell, score)
    return show(score) + {True: " +", False: " x", None: ""}[inside]


def comes_back(cell: Published | None, score: Any) -> bool | None:
    """Whether the published value lies in the measured interval; None where one of the two is missing."""
    if cell is None or score is None or score.interval is None:
        return None
    value = cell.value / 100 if cell.unit == "%" else cell.value
    return bool(score.interval.low <= value <= score.interval.high)


def score_of(match: Measured, benchmark: str, metric: str) -> Any:
    """The score that a published metric asks for; "avg" is avg@n whatever n was."""
    scores = match.scores.get(benchmark, {})
    if metric == "avg":
        return next((s for s in scores.values() if s.metric == "avg"), None)
    return scores.get(metric.replace("@", "_at_"))


def rough(rows: Iterable[Iterable[str]]) -> str:
    """What "~" means, where a cell has it."""
    return f" {ROUGH}." if any("~[" in cell for row in rows for cell in row) else ""

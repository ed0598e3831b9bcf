"""One cell of a table: a score with its interval, and whether the published value comes back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evals.stats.formatting import NONE, score_text
from evals.stats.intervals import ROUGH
from harness.tables.measured import Measured

HOW = ("n x seeds", "values assumed", "values replaced")


def how(match: Measured | None) -> tuple[str, ...]:
    """The cells of `HOW`: how an arm was measured and how much of it the paper does not state."""
    if match is None:
        return (NONE, NONE, NONE)
    n = "/".join(str(v) for v in dict.fromkeys(match.n.values())) or NONE
    seeds = f"{len(match.seeds)} of {match.all_seeds}" if match.diverged else str(len(match.seeds))
    replaced = match.origins.get("scale", 0) + match.origins.get("user", 0)
    return (f"{n} x {seeds}", str(match.origins.get("assumed", 0)), str(replaced))


def show(score: Any, match: Measured | None = None) -> str:
    """A measured cell: percent (or the metric's own unit), interval, unscored samples, and seeds that diverged."""
    if score is None and match is not None and match.diverged and not match.seeds:
        return "diverged"
    text = score_text(score)
    if score is not None and score.value is not None and match is not None and match.diverged:
        text += f" ({len(match.seeds)} of {match.all_seeds} seeds, the others diverged)"
    return text


def score_of(match: Measured, benchmark: str, metric: str) -> Any:
    """The score that a published metric asks for; "avg" is avg@n for the n of the run."""
    scores = match.scores.get(benchmark, {})
    if metric == "avg":
        return next((s for s in scores.values() if s.metric == "avg"), None)
    return scores.get(metric.replace("@", "_at_"))


def rough(rows: Iterable[Iterable[str]]) -> str:
    """What "~" means, where a cell has it."""
    return f" {ROUGH}." if any("~[" in cell for row in rows for cell in row) else ""

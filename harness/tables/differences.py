"""Each arm against those before it: paired by problem, corrected for their number."""

from __future__ import annotations

from harness.tables.cells import rough
from harness.tables.grid import Grid
from harness.tables.measured import Measured

LEVEL = 0.05  # of the corrected p-values


def difference_grid(paper: str, measured: list[Measured]) -> Grid | None:
    """Each trained arm against every arm declared before it, on the same problems, same scale, same backend."""
    from evals.stats.differences import holm
    from evals.stats.score import compare

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
            f"holds zero, or whose p-value is above {LEVEL}, is not resolved.{rough(rows)}",
        ),
    )


def _shared(m: Measured) -> str:
    """The overrides that decide the base model and the measuring: arms that differ in these are not compared."""
    return " ".join(o for o in m.overrides.split() if o.startswith(("protocol.", "base_model=")))

"""`rlvr power`: the document and the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evals.provenance import Origin, assumed
from evals.stats.power import MOST, Spread, carried_by, power, problems_needed, seeds_needed
from evals.stats.variance_components import measured_spread
from harness.cli.terminal import paragraph, table
from harness.runs.find import load_run

FEW_CARRY = 0.1  # share of problems that carries the whole difference, in the pessimistic case


def override(spread: Spread, values: dict[str, float]) -> Spread:
    """The spread with the command line's values.

    Raises:
        ValueError: as `Spread`.
    """
    known = spread.sourced()
    return replace(spread, **{key: known[key].replace(v, Origin.USER, "command line") for key, v in values.items()})


def measured(source: str, versus: str | None, benchmark: str | None, fallback: Spread) -> tuple[str, Spread]:
    """(benchmark, its spread as measured on one run or two).

    Raises:
        ValueError: a run has several benchmarks and none was chosen, or as `load_run` and `measured_spread`.
    """
    run = load_run(source)
    other = load_run(versus) if versus is not None else None
    names = [name for name in run.tables if other is None or name in other.tables]
    if benchmark is None and len(names) == 1:
        (benchmark,) = names
    if benchmark not in names:
        where = ", ".join(names) or "none"
        raise ValueError(f"benchmark={benchmark}: expected one that {source} has: {where}")
    name = source if versus is None else f"{source} and {versus}"
    table = None if other is None else other.tables[benchmark]
    return benchmark, measured_spread(run.tables[benchmark], name, fallback=fallback, other=table)


def power_document(
    difference: float,
    spread: Spread,
    *,
    benchmark: str | None,
    problems: int,
    samples: Sequence[int],
    seeds: Sequence[int],
    wanted: float,
    level: float,
) -> dict[str, Any]:
    """For each number of samples: the power with each number of seeds, the seeds that `wanted` needs, and the problems
    that it needs with each number of seeds.

    `power_low_by_seeds`: the same power if `FEW_CARRY` of the problems carry the whole difference; absent where two
    runs showed how much the problems differ.
    """
    rows: list[dict[str, Any]] = []
    few = None
    if spread.correlation.origin is not Origin.USER and spread.effect_sd.origin is not Origin.USER:
        heavy = carried_by(difference, FEW_CARRY)
        few = replace(spread, effect_sd=assumed(min(1.0, heavy), "a tenth of the problems carries the difference"))
    for n in samples:
        at = {str(s): power(difference, spread, problems=problems, samples=n, seeds=s, level=level) for s in seeds}
        needed = {
            str(s): problems_needed(difference, spread, wanted=wanted, samples=n, seeds=s, level=level) for s in seeds
        }
        fewest = seeds_needed(difference, spread, wanted=wanted, problems=problems, samples=n, level=level)
        rows.append({"samples": n, "power_by_seeds": at, "seeds_needed": fewest, "problems_needed_by_seeds": needed})
        if few is not None:
            rows[-1]["power_low_by_seeds"] = {
                str(s): power(difference, few, problems=problems, samples=n, seeds=s, level=level) for s in seeds
            }
    return {
        "difference": difference,
        "power": wanted,
        "level": level,
        "benchmark": benchmark,
        "problems": problems,
        "model": {key: sourced.as_dict() for key, sourced in spread.sourced().items()},
        "most": MOST,
        "rows": rows,
    }


def as_text(document: dict[str, Any]) -> str:
    """Two tables, then the model's values with their sources."""
    rows, wanted = document["rows"], f"{100 * document['power']:.0f} %"
    where = f"{document['benchmark']}, " if document["benchmark"] else ""
    seeds = list(rows[0]["power_by_seeds"])
    by_seeds = [f"{s} seed" if s == "1" else f"{s} seeds" for s in seeds]

    def count(value: int | None) -> str:
        return f"> {document['most']}" if value is None else str(value)

    def chance(row: dict[str, Any], s: str) -> str:
        low = row.get("power_low_by_seeds", {}).get(s)
        high = f"{100 * row['power_by_seeds'][s]:.0f} %"
        return high if low is None else f"{100 * low:.0f}-{high}"

    at = [(str(r["samples"]), *(chance(r, s) for s in seeds), count(r["seeds_needed"])) for r in rows]
    needed = [(str(r["samples"]), *map(count, r["problems_needed_by_seeds"].values())) for r in rows]
    lines = [
        paragraph(
            f"A difference of {100 * document['difference']:g} points between two methods on the same problems, "
            f"two-sided test at the {100 * (1 - document['level']):.0f} % level; seeds are for each method."
        ),
        "",
        paragraph(f"Power with {where}{document['problems']} problems, and the seeds that {wanted} needs:"),
        table(("samples", *by_seeds, f"seeds for {wanted}"), at),
        "",
        f"Problems that {wanted} needs:",
        table(("samples", *by_seeds), needed),
        "",
    ]
    if "power_low_by_seeds" in rows[0]:
        lines.append(
            paragraph(
                "The range: from a difference that a tenth of the problems carries alone to one that is the same on "
                "every problem. from=RUN versus=RUN measures it; effect_sd= states it."
            )
        )
    if "1" in seeds:
        lines.append(
            paragraph("With one seed the test covers problems only: it says nothing about other training seeds.")
        )
    lines.append("Standard deviations in points, and where they come from:")
    for key, sourced in document["model"].items():
        value = f"{sourced['value']:.2f}" if key == "correlation" else f"{100 * sourced['value']:.1f}"
        source = paragraph(f"{sourced['origin']}: {sourced['note']}", " " * 25).lstrip()
        lines.append(f"  {key:<15} {value:>5}  {source}")
    return "\n".join(lines)

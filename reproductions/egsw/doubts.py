"""Numbers of training runs that fit the averages in EGSW's tables, computed from the CSV. Section 5 states three."""

from __future__ import annotations

from decimal import Decimal

from evals.data import benchmarks
from harness.spec import catalogue

STATED = 3
RUNS = (1, 2, 3)


def fits(printed: str, benchmark: str, runs: int) -> list[int]:
    """Numbers of correct answers over `runs` runs, one sample per problem, that can print as `printed` (percent).

    Each run's score may have been rounded to one decimal before averaging (11.65 is the mean of 10.0 and 13.3).
    """
    total = runs * benchmarks.task(benchmark)["metadata"]["rows"]
    value = Decimal(printed)
    reach = _half_a_digit(printed) + Decimal("0.05")
    near = int(value * total / 100)
    return [c for c in range(max(0, near - 2), near + 4) if abs(100 * Decimal(c) / total - value) <= reach]


def _half_a_digit(printed: str) -> Decimal:
    """How far a share may be from what is printed: half of its last digit, in percent."""
    return Decimal(1).scaleb(Decimal(printed).as_tuple().exponent) / 2  # type: ignore[arg-type]


def doubts() -> tuple[str, ...]:
    """A sentence for each trained row of tables 1 and 2 with a cell that three runs cannot give."""
    rows: dict[tuple[str, str, str], list[catalogue.Published]] = {}
    for cell in catalogue.published("egsw"):
        if cell.arm != "base":
            rows.setdefault((cell.table, cell.model, cell.row), []).append(cell)
    return tuple(
        _sentence(table, row, cells)
        for (table, _, row), cells in rows.items()
        if not all(fits(c.printed, c.benchmark, STATED) for c in cells)
    )


def _sentence(table: str, row: str, cells: list[catalogue.Published]) -> str:
    bad = [c for c in cells if not fits(c.printed, c.benchmark, STATED)]
    text = f"{table}, {row}: {', '.join(f'{c.column} {c.printed}' for c in bad)} cannot be averages of {STATED} runs."
    whole = [runs for runs in RUNS if all(fits(c.printed, c.benchmark, runs) for c in cells)]
    if not whole:
        return f"{text} No number of runs up to {max(RUNS)} gives all cells of the row."
    shares = ", ".join(f"{c.column} {_share(c, whole[0])}" for c in cells)
    early = (
        f" {c.column} {c.printed} is {_share(c, whole[0])} ({_percent(c, whole[0]):.2f}) only if each run was rounded "
        "to one decimal before averaging."
        for c in cells
        if abs(_percent(c, whole[0]) - Decimal(c.printed)) > _half_a_digit(c.printed)
    )
    return f"{text} All cells fit {whole[0]} ({shares}).{''.join(early)}"


def _share(cell: catalogue.Published, runs: int) -> str:
    """The fitting share nearest to the printed value."""
    return "{}/{}".format(*_nearest(cell, runs))


def _percent(cell: catalogue.Published, runs: int) -> Decimal:
    correct, total = _nearest(cell, runs)
    return 100 * Decimal(correct) / total


def _nearest(cell: catalogue.Published, runs: int) -> tuple[int, int]:
    """(correct, all) answers of the fitting share nearest to the printed value."""
    total = runs * benchmarks.task(cell.benchmark)["metadata"]["rows"]
    return min(fits(cell.printed, cell.benchmark, runs), key=lambda c: abs(100 * c / total - cell.value)), total

"""Which numbers of the published tables fit the stated sample counts, computed from the CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from statistics import fmean

from evals.stats.printed_counts import counts
from harness.spec import catalogue
from harness.spec.catalogue import Published

PROBLEMS: dict[str, tuple[int, ...]] = {  # the number of problems of a benchmark. AMC exists in two versions
    "aime24": (30,),
    "aime25": (30,),
    "amc23": (40, 83),
    "math500": (500,),
    "gpqa_diamond": (198,),
    "minerva": (272,),
    "humaneval": (164,),
}


def fitting_sizes(cell: Published) -> list[int]:
    """The benchmark sizes that a cell fits: with n samples a problem for avg@n, by whole problems for pass@k, maj@k."""
    kind, _, k = cell.metric.partition("@")
    samples = int(k) if kind == "avg" else 1
    return [size for size in PROBLEMS[cell.benchmark] if counts(cell.printed, size * samples)]


def doubts() -> tuple[str, ...]:
    """One sentence for each number in tables 3 to 6 that is impossible, or possible in only one way."""
    cells = catalogue.published("trial_and_error")
    return (*_amc(cells), *_misfits(cells), _programs(cells), *_averages(cells), _printed_position())


def _amc(cells: Iterable[Published]) -> Iterable[str]:
    of_amc = [cell for cell in cells if cell.benchmark == "amc23"]
    sizes = {id(cell): fitting_sizes(cell) for cell in of_amc}
    small, large, both, none = (
        [cell for cell in of_amc if sizes[id(cell)] == fit] for fit in ([40], [83], [40, 83], [])
    )
    yield (
        f"AMC23 is not one set in tables 3, 4 and 6. Of {len(of_amc)} cells, {len(small)} fit only 40 problems, "
        f"{len(large)} fit only 83, {len(both)} fit both, and {len(none)} fit neither. Only 83: {_names(large)}. "
        f"Neither: {_names(none)}."
    )


MISFITS = {
    "avg": "a share that no number of correct responses among the stated samples gives.",
    "maj": "no whole number of problems, as maj@8 of 8 samples must be. Averages over resamples need not be whole.",
    "pass": "no whole number of problems, as pass@k of k samples must be. They must come from more samples, or from "
    "sampling with replacement.",
}


def _misfits(cells: Iterable[Published]) -> Iterable[str]:
    sized = [cell for cell in cells if cell.benchmark in PROBLEMS and cell.benchmark != "amc23"]
    for kind, means in MISFITS.items():
        for table in sorted({cell.table for cell in sized}):
            of_metric = [cell for cell in sized if cell.table == table and cell.metric.startswith(f"{kind}@")]
            bad = [cell for cell in of_metric if not fitting_sizes(cell)]
            if bad:
                padded = sum(cell.printed.endswith("0") and bool(fitting_sizes(_shorter(cell))) for cell in bad)
                rest = f" {padded} of them would fit with one decimal less." if padded else ""
                yield f"{table}: {len(bad)} of {len(of_metric)} cells print {means}{rest} The cells: {_names(bad)}."


def _programs(cells: Iterable[Published]) -> str:
    """HumanEval in table 6: the caption says pass@4, and the numbers say avg@4."""
    of_programs = [cell for cell in cells if cell.benchmark == "humaneval"]
    (problems,), samples = PROBLEMS["humaneval"], 4
    whole = [cell for cell in of_programs if counts(cell.printed, problems)]
    shares = [counts(cell.printed, problems * samples) for cell in of_programs]
    given = ", ".join(str(fitting[0]) for fitting in shares if fitting)
    return (
        f"Table 6, HumanEval: the caption says pass@{samples}, which is a whole number of {problems} problems for "
        f"{samples} samples. {len(whole)} of {len(of_programs)} cells are one. {sum(map(bool, shares))} are whole "
        f"numbers of {problems * samples} samples ({given}), so the column looks like avg@{samples}. It is compared as "
        f"avg@{samples}."
    )


def _shorter(cell: Published) -> Published:
    """The cell without the last digit that it prints."""
    return replace(cell, printed=cell.printed[:-1])


def _averages(cells: Iterable[Published]) -> Iterable[str]:
    """Averages that do not match their rows."""
    cells = list(cells)
    for average in (cell for cell in cells if cell.benchmark == "average"):
        kind = average.metric.partition("@")[0]
        row = [
            cell.value
            for cell in cells
            if (cell.table, cell.model, cell.row) == (average.table, average.model, average.row)
            and cell.benchmark != "average"
            and (average.metric == "pass" or cell.metric.partition("@")[0] == kind)  # "pass": of the whole row
        ]
        if abs(fmean(row) - average.value) > 0.011:  # rounded or cut off
            yield (
                f"{average.table}, {average.model} {average.row}, {average.column}: printed {average.printed}, while "
                f"the mean of its row is {fmean(row):.2f}."
            )


def _printed_position(m: float = 15.0, n: float = -0.5) -> str:
    least, most = (1 / (1 + math.exp(-m * (position - n))) for position in (0.0, 1.0))
    return (
        f"Section 4.4.2 prints m = {m:g} and n = {n:g}. The sigmoid of Eq. 8 is then between {least:.4f} and "
        f"{most:.4f} at every position, which is a constant bonus. The released code has n = 0.5."
    )


def _names(cells: Iterable[Published]) -> str:
    """`7b BASE, AIME24 maj@8 (9.88), ...`, the first four of them."""
    shown = [f"{cell.model} {cell.row}, {cell.column} ({cell.printed})" for cell in cells]
    return ", ".join(shown[:4]) + (f", and {len(shown) - 4} more" if len(shown) > 4 else "")

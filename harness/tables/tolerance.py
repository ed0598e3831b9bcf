"""The largest difference that counts as none: declared, or half of the gain that the paper's tables print."""

from __future__ import annotations

from functools import cache

from harness.spec import Claim, Reproduction, catalogue
from harness.spec.catalogue import Published
from harness.tables.measured import Measured


def published_margin(paper: Reproduction, claim: Claim, a: Measured, metric: str) -> float | None:
    """Half of the mean gain that the paper prints for a claim's arms in this metric, a fraction (tokens for lengths).

    None at other scales, where the paper's gain has no meaning, and if no table has both arms.
    """
    if a.scale != "paper" or claim.direction not in ("higher", "lower"):
        return None
    gains = [
        _value(cell) - _value(other)
        for cell in cells(paper.key)
        for other in cells(paper.key)
        if (cell.model, cell.arm) == (a.model, claim.arm)
        and (other.model, other.arm) == (claim.than_model or a.model, claim.than)
        and (cell.table, cell.benchmark, cell.metric) == (other.table, other.benchmark, other.metric)
        and cell.metric.partition("@")[0] == metric
        and (not claim.benchmarks or cell.benchmark in claim.benchmarks)
    ]
    gain = sum(gains) / len(gains) if gains else 0.0
    return abs(gain) / 2 or None


def cell_margin(paper: Reproduction, cell: Published) -> tuple[float, str] | None:
    """(half of the gain that the paper prints for a cell, of which arms), for "comes back".

    The gain is that of the first claim that the cell's arm beats another arm in the same table; else its gain over the
    untrained base model; for the base model, the gain of the table's first other arm over it. None if there is none.
    """
    others = {
        (c.model, c.arm): c
        for c in cells(paper.key)
        if (c.table, c.benchmark, c.metric) == (cell.table, cell.benchmark, cell.metric)
    }
    pairs = [
        ((cell.model, c.arm), (c.than_model or cell.model, c.than))
        for c in paper.claims
        if c.arm == cell.arm and (not c.models or cell.model in c.models)
    ]
    pairs.append(((cell.model, cell.arm), (cell.model, "base")))
    if cell.arm == "base":
        pairs += [(other, (cell.model, "base")) for other in others if other[0] == cell.model]
    for one, other in pairs:
        if one in others and other in others and one != other:
            gain = abs(_value(others[one]) - _value(others[other]))
            if gain > 0:
                return gain / 2, f"{one[1]} − {other[1]}"
    return None


@cache
def cells(paper: str) -> tuple[Published, ...]:
    """The paper's printed cells; none where it has no tables (for example a declaration made in a test)."""
    return tuple(catalogue.published(paper)) if paper in catalogue.papers() else ()


def _value(cell: Published) -> float:
    return cell.value / 100 if cell.unit == "%" else cell.value

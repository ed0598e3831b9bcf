"""Which numbers of correct tries print as a score: rounded, cut off, or padded with zeros."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from evals.errors import UsageError

How = Literal["rounded", "cut", "padded"]
_COUNT = re.compile(r"(\d+)\s*/\s*(\d+)")
_NUMBER = re.compile(r"\d+(\.\d*)?")


@dataclass(frozen=True)
class Counts:
    """The numbers of correct tries, `low` to `high` of `tries`, that print as a score.

    Attributes:
        how: the score is "rounded". "cut", if its further digits were left off, or "padded": it has fewer digits than
            it shows, as 88.30 for 88.3.
    """

    low: int
    high: int
    tries: int
    how: How = "rounded"


def counts(printed: str, total: int) -> list[int]:
    """The whole numbers c for which 100 c / total prints as `printed`, rounded or cut off.

    Args:
        printed: a percentage with its decimals. total: what the count is out of.
    """
    return [c for c, _ in _fitting(printed, total)]


def _fitting(printed: str, total: int) -> Iterator[tuple[int, bool]]:
    """(count, whether rounding gives the digits)."""
    value = Decimal(printed)
    unit = Decimal(1).scaleb(int(value.as_tuple().exponent))
    near, reach = int(value * total / 100), 1 + int(unit * total / 100)
    for c in range(max(0, near - reach), min(total, near + 1 + reach) + 1):
        # exact: |100 c - value total| in units of the last digit
        excess = 100 * c - value * total
        if (rounds := abs(excess) <= unit * total / 2) or 0 <= excess < unit * total:
            yield c, rounds


def counts_of(printed: str, tries: int) -> Counts | None:
    """The counts that a printed percentage can stand for, by the first reading that has any: rounded, cut, padded.

    Args:
        printed: a percentage ("47.4", "47.4%") or a count ("13/30"). tries: problems x samples (x seeds).
    Returns:
        None if no number of correct tries prints so.
    Raises:
        UsageError: as `percent`.
    """
    if count := _COUNT.fullmatch(printed.strip()):
        percent(printed)
        scaled = int(count[1]) * tries
        exact, rest = divmod(scaled, int(count[2]))
        return None if rest else Counts(exact, exact, tries)
    text = percent(printed)
    shown = text
    while True:
        fitting = list(_fitting(shown, tries))
        by_rounding = [c for c, rounds in fitting if rounds]
        if by_rounding:
            return Counts(min(by_rounding), max(by_rounding), tries, "rounded" if shown == text else "padded")
        if fitting:
            [(ending, _)] = fitting  # two counts in the upper half of a digit would mean a third in the lower half
            return Counts(ending, ending, tries, "cut" if shown == text else "padded")
        if "." not in shown or not shown.endswith("0"):
            return None
        shown = shown[:-1].removesuffix(".")


def nearest_counts(printed: str, tries: int) -> tuple[int, int]:
    """The counts next below and next above a printed percentage."""
    below = int(Decimal(percent(printed)) * tries / 100)
    return min(below, tries), min(below + 1, tries)


def percent(printed: str) -> str:
    """The digits of a percentage, from "47.4", "47.4%" or "13/30".

    Raises:
        UsageError: it is no number from 0 to 100.
    """
    text = printed.strip()
    if (count := _COUNT.fullmatch(text)) and 0 < int(count[2]) >= int(count[1]):
        return f"{100 * int(count[1]) / int(count[2]):.4f}"
    digits = text.removesuffix("%").strip()
    if not _NUMBER.fullmatch(digits) or float(digits) > 100:
        raise UsageError(f"{printed!r} is no score. Type a percentage such as 47.4, or a count such as 13/30.")
    return digits.removesuffix(".")

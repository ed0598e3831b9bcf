"""A score as it is printed, and what rounds to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evals.errors import UsageError

_SPREAD = re.compile(r"±|\+|\\pm|[(\[_^]")
_COUNT = re.compile(r"(\d+)\s*/\s*(\d+)")


@dataclass(frozen=True)
class Printed:
    """A score as it is printed.

    Attributes:
        text: its digits, such as "46.7" (also "46.7%", "46.7 ± 1.2" or "46.7 (1.2)"): their number gives the rounding.
            A count, such as "13/30", is read as a percentage with two digits after the point.
        where: it is printed.
        k: it is pass@k. 1 for an average over samples.
        share: it is printed as a share, such as 0.467, and not in percent.
    """

    text: str
    where: str = ""
    k: int = 1
    share: bool = False

    def __post_init__(self) -> None:
        try:
            valid = 0 <= self.value <= 1
        except (ValueError, ZeroDivisionError):
            valid = False
        if not valid or self.k < 1:
            raise UsageError(f"printed: expected a percentage such as 46.7 and k >= 1, got {self.text!r}, k = {self.k}")

    @property
    def digits(self) -> str:
        """The number alone, without percent sign and spread."""
        if count := _COUNT.fullmatch(self.text.strip()):
            return f"{100 * int(count[1]) / int(count[2]):.2f}"
        number = _SPREAD.split(self.text.replace("$", ""))[0]
        return number.strip().removesuffix("%").removesuffix("\\").strip()

    @property
    def spread(self) -> str:
        """The part after the number, such as "± 1.2" or "(1.2)", or "" without any."""
        match = _SPREAD.search(self.text) if not _COUNT.fullmatch(self.text.strip()) else None
        return "" if match is None else self.text[match.start() :].strip()

    @property
    def may_be_share(self) -> bool:
        """Whether it may be a share: at most 1, with digits after the point (a bare 0 or 1 is none that is known to
        half a point), and neither marked as a percentage nor a count."""
        return not {"%", "/"} & set(self.text) and "." in self.digits and float(self.digits) <= 1

    @property
    def value(self) -> float:
        """As a share in [0, 1]."""
        return float(self.digits) / (1 if self.share else 100)

    @property
    def unit(self) -> float:
        """One of its last digit, as a share."""
        return 10.0 ** -(len(self.digits.partition(".")[2]) + (0 if self.share else 2))

    def rounds_from(self, value: float, resolution: float = 0.0) -> bool:
        """The printed digits are this share, rounded. It is known to half a `resolution` itself, or exactly, and then
        rounds both ways from half-way."""
        return abs(value - self.value) <= (self.unit + resolution) / 2 + (-1e-9 if resolution else 1e-9)

    def may_be_one_of(self, samples: int | None) -> bool:
        """It is a share of this many samples, where such shares are further apart than its digits."""
        return (
            samples is not None and 1 / samples > self.unit and self.rounds_from(round(self.value * samples) / samples)
        )

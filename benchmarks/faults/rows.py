"""What a fault case reports."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Row:
    """One promise: how often it was tried, and where it was not kept."""

    promise: str
    test: str  # what was done
    tried: int = 0
    broken: list[str] = field(default_factory=list)
    note: str = ""

    def check(self, name: str, wrong: str | None) -> None:
        """Count a trial; `wrong`: what was not as promised."""
        self.tried += 1
        if wrong is not None:
            self.broken.append(f"{name}: {wrong}")
            print(f"    not kept: {name}: {wrong}", flush=True)

    @property
    def result(self) -> str:
        kept = f"{self.tried - len(self.broken)} of {self.tried} kept"
        return "; ".join([kept, *([self.note] if self.note else [])])

"""What a fault case reports."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

LOG: list[Path] = []  # the file with this case's trials, so that a stopped case resumes


@dataclass
class Row:
    """One promise: how often it was tried, and the trials in which it was not kept."""

    promise: str
    test: str  # what was done
    tried: int = 0
    broken: list[str] = field(default_factory=list)
    note: str = ""

    def check(self, name: str, wrong: str | None, *, trials: int = 1) -> None:
        """Count a trial, or several with one result; `wrong`: how it broke the promise."""
        self._count(name, wrong, trials)
        if LOG:
            with LOG[0].open("a") as file:
                line = {"promise": self.promise, "name": name, "wrong": wrong, "trials": trials}
                file.write(json.dumps(line) + "\n")
        if wrong is not None:
            print(f"    not kept: {name}: {wrong}", flush=True)

    def again(self, name: str) -> bool:
        """Whether a stopped command has already done this trial; if so, count it."""
        if not LOG or not LOG[0].exists():
            return False
        for text in LOG[0].read_text().splitlines():
            known = json.loads(text)
            if (known["promise"], known["name"]) == (self.promise, name):
                self._count(name, known["wrong"], known["trials"])
                return True
        return False

    def _count(self, name: str, wrong: str | None, trials: int) -> None:
        self.tried += trials
        if wrong is not None:
            self.broken.append(f"{name}: {wrong}")

    @property
    def result(self) -> str:
        kept = f"{self.tried - len(self.broken)} of {self.tried} kept"
        return "; ".join([kept, *([self.note] if self.note else [])])

"""The cases of the docket, each with the answer of `rlvr agree`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evals.stats.agree import DIFFERENCE, NOISE, UNDECIDED, Answer
from evals.stats.agreement import SEED_SD, SEED_SOURCE, Agreement, Setting, Side, agreement

CASES = Path(__file__).parent / "cases.toml"
Kind = Literal["extraction", "prompt", "length", "decoding", "version", "selection", "protocol", "training", ""]


class Reply(BaseModel):
    """The reply of one side by the issue form."""

    model_config = ConfigDict(extra="forbid")
    date: str
    link: str
    text: str


class Case(BaseModel):
    """One row of `cases.toml`, whose head explains the keys."""

    model_config = ConfigDict(extra="forbid")
    id: str = Field(pattern=r"^[a-z0-9.-]+$")
    link: str = Field(pattern=r"^https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+$")
    what: str
    problems: int | tuple[int, int] | None = None
    printed: str = ""
    measured: str = ""
    n: tuple[str, str] = ("?", "?")
    seeds: tuple[int, int] | None = None
    best_of: tuple[int, int] = (1, 1)
    temperature: Literal[0] | None = None
    known: str
    assumed: str = ""
    cause: str = ""
    kind: Kind = ""
    undecided: str = ""
    audit: str = ""
    overturn: str = ""
    answers: tuple[Reply, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Case:
        if not self.undecided and not (self.printed and self.measured and self.problems and self.assumed):
            raise ValueError(f"{self.id}: printed, measured, problems and assumed are needed, or undecided")
        if bool(self.cause) != bool(self.kind):
            raise ValueError(f"{self.id}: a cause has a kind")
        return self

    @property
    def sizes(self) -> tuple[int, int] | None:
        """Problems of both sides."""
        return (self.problems, self.problems) if isinstance(self.problems, int) else self.problems


@dataclass(frozen=True)
class Ruled:
    """A case and the answer about its two numbers."""

    case: Case

    @cached_property
    def agreement(self) -> Agreement | None:
        """None if the case has no two numbers to compare."""
        case, sizes = self.case, self.case.sizes
        if case.undecided or sizes is None:
            return None
        seeds = case.seeds or (1, 1)
        a, b = (
            Side(text, sizes[i], None if case.n[i] == "?" else int(case.n[i]), seeds[i], case.best_of[i])
            for i, text in enumerate((case.printed, case.measured))
        )
        spread = (SEED_SD, SEED_SOURCE) if case.seeds else (0.0, "")
        setting = Setting(seed_sd=spread[0], seed_source=spread[1], greedy=case.temperature == 0)
        return agreement(a, b, setting)

    @property
    def answer(self) -> Answer:
        return UNDECIDED if self.agreement is None else self.agreement.answer

    @property
    def sentence(self) -> str:
        """The sentence that could be posted in the thread."""
        if self.agreement is None:
            return f"These numbers cannot decide it. {self.case.undecided}"
        return self.agreement.sentence

    @property
    def why_undecided(self) -> str:
        """The reason of a case that cannot be decided: "no numbers", "unlike", "unknown samples" or "few samples"."""
        if self.agreement is None:
            return "unlike" if self.case.printed and self.case.measured else "no numbers"
        if self.agreement.refused:
            return "unlike"
        return "unknown samples" if len({case.answer for case in self.agreement.cases}) > 1 else "few samples"

    @property
    def overturn(self) -> str:
        """The facts that would change the ruling."""
        if self.case.overturn:
            return self.case.overturn
        needed = None if self.agreement is None else self.agreement.needed
        again = f"a new measurement with {needed[0]:,} {needed[1]} on both sides" if needed else ""
        if self.answer == DIFFERENCE:
            unnamed = "a setting that differs between the sides and is not named"
            several = {*self.case.n, *map(str, self.case.seeds or ())} - {"1", "?"}
            return f"fewer samples than assumed, or {unnamed}" if several else unnamed
        if self.answer == NOISE:
            return f"the same gap {f'in {again}' if again else 'on more problems'}"
        if self.agreement is not None and not self.agreement.refused:
            more = again or "more problems"
            return f"the numbers of samples, or {more}" if self.why_undecided == "unknown samples" else more
        return "both scores at one setting, on the same problems"

    @property
    def badge(self) -> str:
        """Text for a README."""
        scores = f"printed {self.case.printed or 'unknown'}, measured {self.case.measured or 'unknown'}"
        return f"Docket: {self.case.what}: {scores}: {self.answer}"


def read(path: Path = CASES) -> list[Ruled]:
    """Every case, in the order of the file.

    Raises:
        ValueError: a key that is missing or unknown, or an id that is there twice.
    """
    cases = [Case(**row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["case"]]
    ids = [case.id for case in cases]
    if twice := sorted({case_id for case_id in ids if ids.count(case_id) > 1}):
        raise ValueError(f"{path}: ids that are there twice: {', '.join(twice)}")
    return [Ruled(case) for case in cases]

"""How a verdict came about: what was extracted, how it was read, which rule decided, what math-verify alone says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from evals.grading.verdicts import Verdict


class Step(NamedTuple):
    """One comparison: of the whole answers, or of two parts of them. `rule` decided it."""

    gold: str
    answer: str
    rule: str
    equal: bool


@dataclass(frozen=True)
class Explanation:
    """How a verdict came about; prints as text.

    `read_gold` and `read_answer` are what was compared, in one spelling. The last of `steps` compares the whole
    answers, those before it their parts. `math_verify` is what math-verify alone says, or why it says nothing.
    """

    policy: str | None
    gold: str
    read_gold: str
    extracted: str | None
    read_answer: str | None
    steps: tuple[Step, ...]
    math_verify: bool | str | None
    verdict: Verdict
    reason: str | None

    def __str__(self) -> str:
        lines = [f"gold       {self.gold}", f"  read as  {self.read_gold}"]
        lines += [
            f"extracted  {'nothing' if self.extracted is None else self.extracted}  (policy {self.policy or 'none'})"
        ]
        if self.read_answer is not None:
            lines += [f"  read as  {self.read_answer}"]
        for step in self.steps:
            lines += [f"step       {step.gold}  {'==' if step.equal else '!='}  {step.answer}  by {step.rule}"]
        if self.extracted is not None:
            alone = {True: "equal", False: "not equal"}.get(self.math_verify, self.math_verify)  # type: ignore[arg-type]
            lines += [f"math-verify alone: {alone}"]
        return "\n".join([*lines, f"verdict    {self.verdict}" + (f" ({self.reason})" if self.reason else "")])

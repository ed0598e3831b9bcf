"""How many verdicts another extraction policy would change: the policy alone can explain a published gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from evals.grading.grader import Grade, Grader
from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("boxed_last", "boxed_strict", "answer_line", "qwen")  # policies of papers' evaluators; boxed_last is ours


@dataclass(frozen=True)
class PolicyEffect:
    """The same responses under another extraction policy.

    `correct` of `rows` are correct under it; `gained` of them are not under the policy in use, and `lost` are correct
    under the policy in use alone. Unscored verdicts count as not correct in all of these; `unscored` says how many.
    """

    policy: str
    rows: int
    correct: int
    gained: int
    lost: int
    unscored: int

    @property
    def changed(self) -> int:
        return self.gained + self.lost

    def __add__(self, other: PolicyEffect) -> PolicyEffect:
        """The effect on both sets of responses."""
        counts = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "policy"}
        return replace(self, **counts)

    def __str__(self) -> str:
        share = f"{100 * self.correct / self.rows:.1f} %" if self.rows else "no rows"
        return (
            f"policy {self.policy:<13} {share} correct, {self.changed} verdicts change (+{self.gained}, -{self.lost})"
        )


def under_policy(table: pd.DataFrame, policy: str, grader: Grader) -> pd.DataFrame:
    """A verdict table with the verdicts of another extraction policy; the classes of answers are unknown in it."""
    columns = zip(table["gold"], table["response"], table["finish_reason"], strict=True)
    rows = [(gold, response, finish if isinstance(finish, str) else None) for gold, response, finish in columns]
    grades = grader.grade_responses(rows, policy)
    new: dict[str, Any] = {
        "answer": [grade.answer for grade in grades],
        "answer_class": None,
        "verdict": [str(grade.verdict) for grade in grades],
        "reason": [grade.reason for grade in grades],
    }
    return table.assign(**new)


def policy_effects(
    rows: Sequence[tuple[str, str, str | None]],
    grades: Sequence[Grade],
    grader: Grader,
    used: str,
    policies: Sequence[str] = SHOWN,
) -> list[PolicyEffect]:
    """The changes under each other policy.

    Args:
        rows: (gold, response, finish reason or None) each, as for `Grader.grade_responses`.
        grades: of `rows`, under the policy `used`.
    """
    correct = [grade.verdict is Verdict.CORRECT for grade in grades]
    effects = []
    for policy in policies:
        if policy == used:
            continue
        others = grader.grade_responses(rows, policy)
        then = [grade.verdict is Verdict.CORRECT for grade in others]
        effects.append(
            PolicyEffect(
                policy,
                rows=len(rows),
                correct=sum(then),
                gained=sum(b and not a for a, b in zip(correct, then, strict=True)),
                lost=sum(a and not b for a, b in zip(correct, then, strict=True)),
                unscored=sum(grade.verdict is Verdict.UNSCORED for grade in others),
            )
        )
    return effects

"""How many verdicts another extraction policy would change: the policy alone can explain a published gap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evals.grading import Grade, Grader
from evals.grading.verdicts import Verdict

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

    def __str__(self) -> str:
        share = f"{100 * self.correct / self.rows:.1f} %" if self.rows else "no rows"
        change = "1 verdict changes" if self.changed == 1 else f"{self.changed} verdicts change"
        return f"policy {self.policy:<13} {share} correct, {change} (+{self.gained}, -{self.lost})"


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
    for policy in (policy for policy in policies if policy != used):
        verdicts = [grade.verdict for grade in grader.grade_responses(rows, policy)]
        changes = Counter((was, then is Verdict.CORRECT) for was, then in zip(correct, verdicts, strict=True))
        gained, lost = changes[False, True], changes[True, False]
        unscored = verdicts.count(Verdict.UNSCORED)
        effects.append(PolicyEffect(policy, len(rows), sum(correct) + gained - lost, gained, lost, unscored))
    return effects

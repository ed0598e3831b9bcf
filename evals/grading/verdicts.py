"""The verdict on one sampled response, the table that holds them, and how many another extraction policy would change.

Every metric is computed from a verdict table: one row per (benchmark, problem, sample). Scores can always be recomputed
from it; nothing else is authoritative. The policy alone can explain a published gap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from evals.grading.grader import Grade, Grader


class Verdict(StrEnum):
    """The grader's verdict on one response. Only `UNSCORED` means that the verdict is unknown."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"  # the response ended without an answer in the required form
    TRUNCATED = "truncated"  # the response was cut off before it gave an answer
    UNSCORED = "unscored"  # the grader failed (time, memory, crash); the `reason` column says how


def schema() -> pa.Schema:
    """The Parquet schema of a verdict table, one row per problem and sample.

    `sample` counts from 0 within a problem. `answer_class` numbers the equivalence classes of a problem's answers under
    the verifier, counted from 0 in order of appearance; it is null where there is no answer or no verdict. `seed` is
    the seed that sampled the response and `tokens` its length in tokens; both are null when the responses came from a
    file without them. `reason` is null except for unscored rows.
    """
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("benchmark", pa.string(), nullable=False),
            pa.field("problem_id", pa.string(), nullable=False),
            pa.field("sample", pa.int32(), nullable=False),
            pa.field("seed", pa.int64()),
            pa.field("gold", pa.string(), nullable=False),
            pa.field("response", pa.string(), nullable=False),
            pa.field("tokens", pa.int32()),
            pa.field("finish_reason", pa.string()),  # "stop" | "length" | null when unknown
            pa.field("boxed", pa.bool_(), nullable=False),  # the response holds a complete \boxed{...}
            pa.field("answer", pa.string()),
            pa.field("answer_class", pa.int32()),
            pa.field("verdict", pa.string(), nullable=False),
            pa.field("reason", pa.string()),
        ]
    )


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
        return (
            f"policy {self.policy:<13} {share} correct, {self.changed} verdicts change (+{self.gained}, -{self.lost})"
        )


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

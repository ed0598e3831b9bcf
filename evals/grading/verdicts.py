"""The verdict on one sampled response, and the table that holds them.

Every metric is computed from a verdict table: one row per (benchmark, problem, sample). Scores can always be recomputed
from it. Nothing else is authoritative.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

WITHHELD = ("content_filter", "no_text", "error")  # finish reasons of a response that is not whole


class Verdict(StrEnum):
    """The grader's verdict on one response. Only `UNSCORED` means that the verdict is unknown."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    TRUNCATED = "truncated"
    UNSCORED = "unscored"


MEANING = {
    Verdict.CORRECT: "The extracted answer equals the gold.",
    Verdict.WRONG: "The extracted answer differs from the gold.",
    Verdict.NO_ANSWER: "The response ended without an answer in the form that the policy looks for.",
    Verdict.TRUNCATED: "The response was cut off before it gave an answer, or its reasoning never ended.",
    Verdict.UNSCORED: "The grader could not decide, or the response never came. The record has the reason.",
}


def schema() -> pa.Schema:
    """The Parquet schema of a verdict table, one row per problem and sample.

    `sample` counts from 0 within a problem. `answer_class` numbers the equivalence classes of a problem's answers under
    the verifier, counted from 0 in order of appearance. It is null where there is no answer or no verdict. `seed` is
    the seed that sampled the response and `tokens` its length in tokens. Both are null when the responses came from a
    file without them. `reason` is null except for unscored rows. `problem` is the question, with its choices as they
    were offered. `thought_begun` says whether the prompt began the thought, as some chat templates do. It is null where
    that is not known.
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
            pa.field("finish_reason", pa.string()),  # "stop" | "length" | null when unknown | what else a server says
            pa.field("boxed", pa.bool_(), nullable=False),  # the response holds a complete \boxed{...}
            pa.field("answer", pa.string()),
            pa.field("answer_class", pa.int32()),
            pa.field("verdict", pa.string(), nullable=False),
            pa.field("reason", pa.string()),
            pa.field("problem", pa.string()),
            pa.field("thought_begun", pa.bool_()),
        ]
    )

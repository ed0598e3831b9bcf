"""Grading programs: the model's function is run against the benchmark's tests (`evals.sandbox`).

A gold answer is JSON: `prompt` (the code that the model was shown, with the helpers that tests may use), `tests` (code
that defines `check`), `entry_point` (the function's name). The program is that prompt followed by the response's last
Python block that defines the function; a response without one has no answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from evals import sandbox
from evals.grading import Grade
from evals.sandbox import Limits, Outcome
from evals.verdicts import Verdict

POLICY = "program"
FIELDS = ("prompt", "tests", "entry_point")
_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?:python|python3|py)?[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE | re.IGNORECASE
)


def gold(prompt: str, tests: str, entry_point: str) -> str:
    """The gold answer of a problem."""
    return json.dumps(dict(zip(FIELDS, (prompt, tests, entry_point), strict=True)), ensure_ascii=False)


def extract(response: str, entry_point: str) -> str | None:
    """The last fenced Python block that defines the function; None where there is none."""
    defines = re.compile(rf"^(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}\b", re.MULTILINE)
    found = [block for block in _BLOCK.findall(response) if defines.search(block)]
    return found[-1] if found else None


class ProgramGrader:
    """Grades responses that hold programs; `workers` of them at a time. Each distinct program is run once."""

    def __init__(self, workers: int = 2, limits: Limits | None = None) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers!r}; expected a positive number")
        self._workers = workers
        self._limits = limits
        self._known: dict[tuple[str, str], Outcome] = {}

    def grade_responses(self, rows: Sequence[tuple[str, str, str | None]], policy: str = POLICY) -> list[Grade]:
        """Grades of (gold, response, finish reason or None), in order.

        Raises:
            ValueError: another policy, or the sandbox cannot be made here.
        """
        if policy != POLICY:
            raise ValueError(f"policy={policy!r}, expected {POLICY!r}")
        sandbox.require()
        answers = [extract(response, json.loads(gold)["entry_point"]) for gold, response, _ in rows]
        asked = {(gold, answer) for (gold, _, _), answer in zip(rows, answers, strict=True) if answer is not None}
        with ThreadPoolExecutor(self._workers, thread_name_prefix="programs") as threads:
            new = sorted(asked - self._known.keys())
            self._known.update(zip(new, threads.map(self._run, new), strict=True))
        return [
            _without_program(finish) if answer is None else _grade(answer, self._known[gold, answer])
            for (gold, _, finish), answer in zip(rows, answers, strict=True)
        ]

    def answer_classes(self, answers: Sequence[str | None], grades: Sequence[Grade]) -> list[int | None]:
        """Programs that pass are one class; others are alike where their text is. Unscored ones have no class."""
        keys = [
            None
            if grade.verdict not in (Verdict.CORRECT, Verdict.WRONG)
            else (grade.verdict == Verdict.CORRECT or answer)
            for answer, grade in zip(answers, grades, strict=True)
        ]
        numbers = {key: index for index, key in enumerate(dict.fromkeys(key for key in keys if key is not None))}
        return [None if key is None else numbers[key] for key in keys]

    def _run(self, pair: tuple[str, str]) -> Outcome:
        problem, answer = json.loads(pair[0]), pair[1]
        program = f"{problem['prompt']}\n\n{answer}"
        return sandbox.run(program, problem["prompt"], problem["tests"], problem["entry_point"], self._limits)


def _grade(answer: str, outcome: Outcome) -> Grade:
    if outcome.passed is None:
        return Grade(Verdict.UNSCORED, answer, outcome.why)
    return Grade(Verdict.CORRECT if outcome.passed else Verdict.WRONG, answer)


def _without_program(finish_reason: str | None) -> Grade:
    return Grade(Verdict.TRUNCATED if finish_reason == "length" else Verdict.NO_ANSWER, None)

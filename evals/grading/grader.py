"""The only answer checker: responses and bare answers against golds, to one of five verdicts.

Answers that the rules or random points decide are graded here, without a worker; the others need math-verify and go to
processes that can be killed (`evals.grading.pool`). Each (gold, answer) is compared once and cached.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any, NamedTuple

from evals.grading import LIMIT_S, MEMORY_MB, Conventions
from evals.grading.equivalence import DEFAULT, IN_PROCESS_S, LONGEST, Comparison, UndecidedError, UnscorableError, quick
from evals.grading.extraction import extract, locate
from evals.grading.pool import Outcome, Pool
from evals.grading.spelling import clean
from evals.grading.verdicts import Verdict
from evals.notebook import html_text


class Step(NamedTuple):
    """One comparison: of the whole answers, or of two parts of them. `rule` decided it."""

    gold: str
    answer: str
    rule: str
    equal: bool


@dataclass(frozen=True, repr=False)
class Explanation:
    """The explanation of a verdict; prints as text.

    `read_gold` and `read_answer` are the compared texts, in one spelling. The last of `steps` compares the whole
    answers, those before it their parts.
    """

    policy: str | None
    gold: str
    read_gold: str
    extracted: str | None
    read_answer: str | None
    steps: tuple[Step, ...]
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
        return "\n".join([*lines, f"verdict    {self.verdict}" + (f" ({self.reason})" if self.reason else "")])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_text(str(self))


_REMEMBERED = 200_000

Progress = Callable[[int, int], None]  # called with (finished, total) comparisons


@dataclass(frozen=True)
class Grade:
    """The verdict on one answer. `answer` is what was compared; `reason` says why it is unscored, its kind first.

    `boxed`: the response holds a complete, non-empty box (always False for bare answers).
    """

    verdict: Verdict
    answer: str | None
    reason: str | None = None
    boxed: bool = False


class Grader:
    """Grades answers, with at most `workers` processes that start when a comparison first needs math-verify.

    A context manager; `close` ends the workers. Safe to use from several threads.

    Args:
        workers: processes for comparisons that need math-verify, >= 1; None for one a core.
        limit_s: seconds of processor time that one comparison may take, > 0; then it is unscored.
        memory_mb: MiB that one worker may use; then the comparison is unscored.
        conventions: which answers count as equal (`evals.grading.Conventions`).
    """

    def __init__(
        self,
        workers: int | None = None,
        limit_s: float = LIMIT_S,
        memory_mb: int = MEMORY_MB,
        conventions: Conventions = DEFAULT,
    ) -> None:
        workers = len(os.sched_getaffinity(0)) if workers is None else workers
        for name, value in (("workers", workers), ("limit_s", limit_s), ("memory_mb", memory_mb)):
            if value <= 0:
                raise ValueError(f"{name} is {value!r}; expected a positive number")
        self.conventions = conventions
        self._pool = Pool(workers, limit_s, memory_mb, conventions)
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._out_of_time: set[str] = set()  # answers; none is given a worker again
        self._lock = threading.Lock()

    def __enter__(self) -> Grader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    @property
    def workers_started(self) -> int:
        """The number of worker processes started so far, replacements included."""
        return self._pool.started

    def worker_pids(self) -> list[int]:
        """The process ids of the idle workers."""
        return self._pool.idle_pids()

    def grade_responses(
        self, rows: Sequence[Sequence[str | None]], policy: str = "boxed_last", progress: Progress | None = None
    ) -> list[Grade]:
        """Grades of (gold, response, finish reason or None), in order.

        A response without an answer is truncated when it was cut ("length") or ends inside a box, unless it is known to
        have ended by itself ("stop"); otherwise it has no answer. An answer given before the cut is graded.

        Raises:
            ValueError: the extraction policy is unknown, or a row holds something else.
        """
        rows = _texts(rows, ("gold", "response", "finish_reason"))
        extracted = [extract(response or "", policy) for _, response, _ in rows]
        pairs = [(_gold(gold), found.answer) for (gold, _, _), found in zip(rows, extracted, strict=True)]
        grades = self._grade(pairs, progress)
        return [
            Grade(_without_answer(finish, found.truncated), None, None, found.boxed)
            if found.answer is None
            else Grade(grade.verdict, grade.answer, grade.reason, found.boxed)
            for grade, found, (_, _, finish) in zip(grades, extracted, rows, strict=True)
        ]

    def grade_answers(
        self, rows: Sequence[tuple[str | float, str | float | None]], progress: Progress | None = None
    ) -> list[Grade]:
        r"""Grades of (gold, bare answer), in order. Either may hold a `\boxed{}`, `$...$`, be a sentence, or a number.

        Raises:
            ValueError: a row holds something else.
        """
        texts = _texts(rows, ("gold", "answer"))
        return self._grade([(_gold(gold), locate(answer or "").strip() or None) for gold, answer in texts], progress)

    def explain(self, gold: str, response: str, policy: str | None = None) -> Explanation:
        """How a response, or a bare answer (`policy=None`), gets its verdict: each step of the comparison.

        Raises:
            ValueError: the extraction policy is unknown.
        """
        if policy is None:
            answer = locate(response).strip() or None
            [grade] = self.grade_answers([(gold, response)])
        else:
            answer = extract(response, policy).answer
            [grade] = self.grade_responses([(gold, response, None)], policy)
        located = _gold(gold)
        steps: list[Step] = []
        if answer is not None and max(len(answer), len(located)) <= LONGEST:
            comparison = Comparison(self.conventions, self._ask_worker, IN_PROCESS_S)
            with contextlib.suppress(UndecidedError):
                comparison(clean(located), clean(answer))
            steps = [Step(*step) for step in comparison.steps]
        read = None if answer is None else clean(answer)
        return Explanation(policy, gold, clean(located), answer, read, tuple(steps), grade.verdict, grade.reason)

    def _ask_worker(self, gold: str, answer: str) -> bool:
        [outcome] = self._pool.map([(gold, answer)])
        if isinstance(outcome, str):
            raise UndecidedError
        return outcome

    def answer_classes(self, answers: Sequence[str | None], grades: Sequence[Grade]) -> list[int | None]:
        """Which answers to one problem are equal: class numbers from 0 in order of appearance, None without an answer.

        All correct answers are one class. The others are compared with the first member of each class; a comparison
        that fails counts as different. Unscored answers have no class.
        """
        wrong = [answer for answer, grade in zip(answers, grades, strict=True) if grade.verdict is Verdict.WRONG]
        leader: dict[str, str] = {}
        remaining = list(dict.fromkeys(answer for answer in wrong if answer is not None))
        while remaining:
            first, *remaining = remaining
            equal = self._compare([(first, other) for other in remaining], None)
            leader |= {first: first} | {
                other: first for other, same in zip(remaining, equal, strict=True) if same is True
            }
            remaining = [other for other, same in zip(remaining, equal, strict=True) if same is not True]
        keys = [
            _CORRECT
            if grade.verdict is Verdict.CORRECT
            else leader.get(answer or "")
            if grade.verdict is Verdict.WRONG
            else None
            for answer, grade in zip(answers, grades, strict=True)
        ]
        numbers = {key: index for index, key in enumerate(dict.fromkeys(key for key in keys if key is not None))}
        return [None if key is None else numbers[key] for key in keys]

    def _grade(self, rows: Sequence[tuple[str, str | None]], progress: Progress | None) -> list[Grade]:
        pairs = [(gold, answer) for gold, answer in rows if answer is not None]
        outcomes = dict(zip(pairs, self._compare(pairs, progress), strict=True))
        return [
            Grade(Verdict.NO_ANSWER, None) if answer is None else _grade(answer, outcomes[gold, answer])
            for gold, answer in rows
        ]

    def _compare(self, pairs: Sequence[tuple[str, str]], progress: Progress | None) -> list[Outcome]:
        """The outcome of each pair, in order; each distinct one compared once."""
        distinct = list(dict.fromkeys(pairs))
        outcomes: dict[tuple[str, str], Outcome] = {}
        hard: list[tuple[str, str]] = []
        for pair in distinct:
            outcome = self._outcomes.get(pair)
            if outcome is None:
                try:
                    outcome = quick(*pair, self.conventions)
                except UnscorableError as error:
                    outcome = str(error)
            if outcome is None and pair[1] in self._out_of_time:
                outcome = "time: an earlier comparison of this answer had no verdict in time"
            if outcome is None:
                hard.append(pair)
            else:
                outcomes[pair] = outcome
        easy = len(outcomes)
        if progress:
            progress(easy, len(distinct))
        done = (lambda finished: progress(easy + finished, len(distinct))) if progress else None
        outcomes |= zip(hard, self._pool.map(hard, done), strict=True)
        self._remember(outcomes)
        return [outcomes[pair] for pair in pairs]

    def _remember(self, outcomes: dict[tuple[str, str], Outcome]) -> None:
        """Keep all but crashes, whose reason may have been the machine's; what ran out of time is never forgotten."""
        reasons = {pair: outcome.partition(":")[0] for pair, outcome in outcomes.items() if isinstance(outcome, str)}
        with self._lock:
            if len(self._outcomes) + len(outcomes) > _REMEMBERED:
                self._outcomes = {pair: outcome for pair, outcome in self._outcomes.items() if isinstance(outcome, str)}
            self._outcomes |= {pair: outcome for pair, outcome in outcomes.items() if reasons.get(pair) != "crash"}
            self._out_of_time |= {answer for (_, answer), reason in reasons.items() if reason == "time"}


def _gold(gold: str | None) -> str:
    return locate(gold or "", numbers=False)


def _texts(rows: Sequence[Any], columns: tuple[str, ...]) -> list[tuple[str | None, ...]]:
    """The rows with numbers as text. Raises ValueError where one is no row, or holds something else."""
    checked = []
    for index, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != len(columns):
            raise ValueError(f"row {index} is {row!r:.80}; expected ({', '.join(columns)})")
        for column, value in zip(columns, row, strict=True):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (isinstance(value, str) or number or (value is None and column != "gold")):
                raise ValueError(f"row {index}: {column} is {value!r:.80}; expected text or a number")
        checked.append(tuple(None if value is None else str(value) for value in row))
    return checked


_CORRECT = "\0correct"  # the class key of all correct answers; no answer can be this


def _grade(answer: str, outcome: Outcome) -> Grade:
    if isinstance(outcome, str):
        return Grade(Verdict.UNSCORED, answer, outcome)
    return Grade(Verdict.CORRECT if outcome else Verdict.WRONG, answer)


def _without_answer(finish_reason: str | None, opened: bool) -> Verdict:
    cut = finish_reason == "length" or (opened and finish_reason != "stop")
    return Verdict.TRUNCATED if cut else Verdict.NO_ANSWER


@cache
def shared_grader(workers: int, limit_s: float) -> Grader:
    """The one grader of this process with so many workers and this limit; its workers end with the process."""
    grader = Grader(workers=workers, limit_s=limit_s)
    atexit.register(grader.close)
    return grader

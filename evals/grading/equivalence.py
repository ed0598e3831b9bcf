"""Is an answer equal to the gold? `equal` decides it; `quick` decides most of it without math-verify."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

from evals.grading import rules
from evals.grading.conventions import Conventions
from evals.grading.evaluation import same_value
from evals.grading.latex import depth
from evals.grading.spelling import clean

LONGEST, DEEPEST = 10_000, 100
IN_PROCESS_S = 2.0  # of processor time for a comparison in the calling process; it then goes to a worker
_SHORT = 400  # characters; longer answers are only read in a worker, where a time limit holds
DEFAULT = Conventions()


class UnscorableError(Exception):
    """The answer is too large to be read safely; the message says why."""


class UndecidedError(Exception):
    """Only math-verify can decide, or only a worker, whose time is limited."""


class Comparison:
    """Compares cleaned answers: the first rule that applies decides, then random points, then math-verify.

    Rules receive it and compare the parts of answers with it. `limit_s` is processor time, after which it raises
    UndecidedError at the next comparison of parts (None: no limit). `steps` records (gold, answer, what decided,
    verdict) of every comparison and its parts, the whole one last.
    """

    def __init__(
        self,
        conventions: Conventions = DEFAULT,
        last: Callable[[str, str], bool] | None = None,
        limit_s: float | None = None,
    ) -> None:
        self.conventions = conventions
        self.steps: list[tuple[str, str, str, bool]] = []
        self._last = last or _math_verify
        self._until = None if limit_s is None else thread_time() + limit_s

    def __call__(self, gold: str, answer: str) -> bool:
        if self._until is not None and thread_time() > self._until:
            raise UndecidedError
        decided_by, verdict = self._decide(gold, answer)
        self.steps.append((gold, answer, decided_by, verdict))
        return verdict

    def _decide(self, gold: str, answer: str) -> tuple[str, bool]:
        for rule in rules.RULES:
            verdict = rule(gold, answer, self)
            if verdict is not None:
                return rule.__name__, verdict
        verdict = same_value(gold, answer, natural_log=self.conventions.natural_log)
        if verdict is not None:
            return "same_value", verdict
        if rules.form.words_beside_a_number(gold, answer):  # math-verify says the same, slowly
            return "words_beside_a_number", False
        return "math_verify", self._last(gold, answer)


def equal(gold: str, answer: str, conventions: Conventions = DEFAULT) -> bool:
    """Whether an answer equals the gold.

    May hang or exhaust memory on a hostile answer: call it through `evals.grading.Grader`, which runs it in a process
    that can be killed, unless `quick` already decides.

    Raises:
        UnscorableError: one of them is too long or too deeply nested.
    """
    known = quick(gold, answer, conventions)
    return Comparison(conventions)(clean(gold), clean(answer)) if known is None else known


def quick(gold: str, answer: str, conventions: Conventions = DEFAULT) -> bool | None:
    """The verdict wherever math-verify is not needed, mostly in well under a millisecond; None for the others.

    Runs in the calling process, where nothing can be killed: after IN_PROCESS_S it gives up, and the answer is None.

    Raises:
        UnscorableError: as `equal`.
    """
    if gold.strip() and gold == answer:
        return True
    for text in (gold, answer):
        if len(text) > LONGEST:
            raise UnscorableError(f"size: {len(text)} characters, more than {LONGEST}")
        if depth(text) > DEEPEST:
            raise UnscorableError(f"size: nested deeper than {DEEPEST}")
    left, right = clean(gold), clean(answer)
    if not left or not right:
        return False
    if len(left) > _SHORT or len(right) > _SHORT:
        return None
    try:
        return Comparison(conventions, _undecided, IN_PROCESS_S)(left, right)
    except UndecidedError:
        return None


def compare(gold: str, answer: str) -> bool:
    """Compare two cleaned answers under the default conventions."""
    return Comparison()(gold, answer)


def _math_verify(gold: str, answer: str) -> bool:
    from evals.grading.symbolic import same_expression

    return same_expression(gold, answer)


def _undecided(gold: str, answer: str) -> bool:
    raise UndecidedError

"""Answers made to hang, to fill the memory or to crash, between answers that are not
(tests/evals/grading/test_hostile.py)."""

from __future__ import annotations

from evals.grading import Grader
from evals.grading.verdicts import Verdict

HARD = (r"\int_0^1 2x\,dx+\frac{\sqrt{2}}{2}", r"1+\frac{1}{\sqrt{2}}")  # equal, but only math-verify can tell
# each with the kinds of reason it may have when it is unscored (which limit is met first is the machine's); none: the
# answer is wrong, and found to be so without a worker
HOSTILE = {
    "tower of powers": ("9^{9^{9^9}}", ()),
    "tower of powers of two": ("2^{2^{2^{2^{2^2}}}}", ()),
    "tower of powers of a symbol": ("x^{9^{9^9}}", ()),
    "nested factorials": ("((((((9!)!)!)!)!)!)!", ()),
    "exponential of a factorial": (r"\exp(1500!)", ()),
    "giant factorial": ("(10^{9})!", ()),
    "tower of powers that is not simplified": ("\\sin(9^{9^{9^9}})", ()),
    "huge sum": (r"\sum_{k=1}^{10^9} k!", ()),
    "huge product": (r"\prod_{n=1}^{10^8} n", ()),
    "huge binomial coefficient": (r"\binom{10^9}{10^8}", ()),
    "tiny power": ("10^{-999999999}", ()),
    "tower of powers in an integral": (r"\int_0^1 9^{9^{9^9}}\,dx", ("time", "memory", "crash")),
    "100,000 digits": ("1" * 100_000, ("size",)),
    "100,000 characters": ("x+" * 50_000, ("size",)),
    "5,000 braces": ("{" * 5000 + "5" + "}" * 5000, ("size",)),
    "open braces": ("{" * 5000, ("size",)),
    "huge set": (r"\{" + ",".join(map(str, range(20_000))) + r"\}", ("size",)),
}
SURE = (("5", "5"), HARD, (HARD[0], r"1+\frac{1}{\sqrt{3}}"))
EXPECTED = [Verdict.CORRECT, Verdict.CORRECT, Verdict.WRONG]


def rows() -> list[tuple[str, str]]:
    """Every hostile answer between two that are not."""
    return [*SURE, *(row for answer, _ in HOSTILE.values() for row in (("7", answer), *SURE))]


def graded() -> list[tuple[str, str | None]]:
    with Grader(workers=2, limit_s=2.0, memory_mb=512) as grader:
        return [(str(grade.verdict), grade.reason) for grade in grader.grade_answers(rows())]

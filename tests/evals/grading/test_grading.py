"""The grader: verdicts, order, limits that hold, and answer classes."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from evals.grading import Conventions, Grade, Grader
from evals.grading.grader import shared_grader
from evals.grading.verdicts import Verdict, policy_effects

HARD = (r"\int_0^1 2x\,dx+\frac{\sqrt{2}}{2}", r"1+\frac{1}{\sqrt{2}}")  # equal, but only math-verify can tell


@pytest.fixture(scope="module")
def grader():
    with Grader(workers=2, limit_s=30) as grader:
        yield grader


def verdicts(grades):
    return [grade.verdict for grade in grades]


def test_a_response_is_graded_by_its_last_box(grader):
    rows = [
        ("5", r"\boxed{4} no, \boxed{5}", None),
        ("5", r"\boxed{5} no, \boxed{4}", None),
        (HARD[0], rf"\boxed{{{HARD[1]}}}", None),
    ]
    assert verdicts(grader.grade_responses(rows)) == [Verdict.CORRECT, Verdict.WRONG, Verdict.CORRECT]


@pytest.mark.parametrize(
    ("response", "finish_reason", "verdict"),
    [
        ("I do not know", None, Verdict.NO_ANSWER),
        ("I do not know", "stop", Verdict.NO_ANSWER),
        ("I do not", "length", Verdict.TRUNCATED),
        (r"so \boxed{5", None, Verdict.TRUNCATED),
        (r"so \boxed{5", "stop", Verdict.NO_ANSWER),  # it ended by itself, with a brace missing
        (r"\boxed{}", None, Verdict.NO_ANSWER),
        (r"so \boxed{5} and then", "length", Verdict.CORRECT),  # the answer was given before the cut
        (r"so \boxed{5}. Check: \boxed{", "length", Verdict.CORRECT),
    ],
)
def test_a_response_without_an_answer_is_not_a_wrong_one(grader, response, finish_reason, verdict):
    assert verdicts(grader.grade_responses([("5", response, finish_reason)])) == [verdict]


def test_bare_answers_may_hold_a_box_or_mathematics_or_be_a_sentence(grader):
    rows = [("5", answer) for answer in (r"\boxed{5}", "$5$", "The answer is 5.", "5", "", "6")]
    assert verdicts(grader.grade_answers(rows)) == [Verdict.CORRECT] * 4 + [Verdict.NO_ANSWER, Verdict.WRONG]


def test_equal_limits_share_a_grader():
    assert shared_grader(1, 30.0) is shared_grader(1, 30.0) is not shared_grader(2, 30.0)


def test_plain_answers_need_no_worker():
    with Grader(workers=1) as grader:
        grader.grade_answers([("5", "5.0"), ("1/2", "0.5"), ("odd", "odd"), ("7", "8")])
        assert grader.workers_started == 0
        grader.grade_answers([HARD])
        assert grader.workers_started == 1


def test_memory_is_limited():
    # "memory_mb" below what sympy itself needs: the first look at the worker finds it over the limit.
    with Grader(workers=1, limit_s=30, memory_mb=40) as grader:
        [grade] = grader.grade_answers([HARD])
    assert grade.verdict is Verdict.UNSCORED
    assert str(grade.reason).startswith("memory")


def test_a_worker_that_dies_is_replaced(grader):
    grader.grade_answers([HARD])
    for pid in grader.worker_pids():
        os.kill(pid, signal.SIGKILL)
    grades = grader.grade_answers([(rf"{HARD[0]} + {n}", rf"{HARD[1]} + {n}") for n in range(6)])
    assert all(grade.verdict is Verdict.CORRECT or str(grade.reason).startswith("crash") for grade in grades)
    assert sum(grade.verdict is Verdict.CORRECT for grade in grades) >= 4  # two workers died, each cost at most one row
    assert verdicts(grader.grade_answers([(rf"{HARD[0]} + 7", rf"{HARD[1]} + 7")])) == [Verdict.CORRECT]


def test_works_from_threads(grader):
    results: list[list[Grade]] = []
    rows = [[(rf"{HARD[0]}+{n}", rf"{HARD[1]}+{n}"), (rf"{HARD[0]}+{n}", rf"{HARD[1]}-{n + 1}")] for n in range(10, 14)]
    threads = [threading.Thread(target=lambda r=r: results.append(grader.grade_answers(r))) for r in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [verdicts(grades) for grades in results] == [[Verdict.CORRECT, Verdict.WRONG]] * 4


def test_equal_pairs_are_compared_once_and_progress_counts_them():
    seen: list[tuple[int, int]] = []
    with Grader(workers=1) as grader:
        grades = grader.grade_answers(
            [("5", "5"), HARD, HARD, ("5", "5")], progress=lambda done, total: seen.append((done, total))
        )
    assert verdicts(grades) == [Verdict.CORRECT] * 4
    assert seen == [(1, 2), (2, 2)]


def test_answer_classes():
    # 1/2 and 0.5 are one wrong class; both spellings of 3 are the correct one; no answer and unscored have none.
    answers = ["1/2", "3", "0.5", None, "3.0", "7", "x"]
    grades = [
        Grade(Verdict.WRONG, "1/2"),
        Grade(Verdict.CORRECT, "3"),
        Grade(Verdict.WRONG, "0.5"),
        Grade(Verdict.NO_ANSWER, None),
        Grade(Verdict.CORRECT, "3.0"),
        Grade(Verdict.WRONG, "7"),
        Grade(Verdict.UNSCORED, "x", "time"),
    ]
    with Grader(workers=1) as grader:
        assert grader.answer_classes(answers, grades) == [0, 1, 0, None, 1, 2, None]
        assert grader.workers_started == 0


@pytest.mark.parametrize("limits", [{"workers": 0}, {"limit_s": 0}, {"memory_mb": -1}])
def test_impossible_limits_are_refused(limits):
    with pytest.raises(ValueError, match=f"{next(iter(limits))} is .*; expected a positive number"):
        Grader(**limits)


def test_an_unknown_policy_is_refused(grader):
    with pytest.raises(ValueError, match="extraction policy 'best' is unknown; expected one of boxed_last"):
        grader.grade_responses([("5", r"\boxed{5}", None)], policy="best")


def test_an_explanation_shows_each_step(grader):
    explanation = grader.explain("(1,2)", r"so \boxed{(1, \frac{4}{2})}", "boxed_last")
    assert explanation.extracted == r"(1, \frac{4}{2})"
    assert [(step.gold, step.answer, step.rule, step.equal) for step in explanation.steps] == [
        ("1", "1", "text", True),
        ("2", r"\frac{4}{2}", "plain_number", True),
        ("(1,2)", r"(1, \frac{4}{2})", "collection", True),
    ]
    assert explanation.verdict is Verdict.CORRECT
    assert "by collection" in str(explanation)


def test_an_explanation_without_an_answer(grader):
    explanation = grader.explain("5", "no idea", "boxed_last")
    assert (explanation.extracted, explanation.steps, explanation.verdict) == (None, (), Verdict.NO_ANSWER)


def test_conventions_are_switches():
    rows = [("1/3", "0.333"), ("1000.99", "1000,99"), ("120", r"120^\circ"), ("5", "5 cm"), (r"28\%", "28")]
    same = [("1/3", "0.33333"), (r"120^\circ", r"120^\circ"), (r"28\%", "0.28")]
    strict = Conventions(digits=4, decimal_comma=False, missing_unit=False)
    with Grader(workers=1) as usual, Grader(workers=1, conventions=strict) as other:
        assert verdicts(usual.grade_answers(rows + same)) == [Verdict.CORRECT] * 8
        assert verdicts(other.grade_answers(rows + same)) == [Verdict.WRONG] * 5 + [Verdict.CORRECT] * 3


def test_a_policy_that_changes_verdicts_is_counted():
    rows = [("5", r"\boxed{4} \boxed{5}", None), ("5", "The answer is 5", None), ("5", r"\boxed{5}", None)]
    with Grader(workers=1) as grader:
        grades = grader.grade_responses(rows)
        # boxed_last: "4, 5" is wrong, no box, 5. qwen: 5, 5, 5. Both gained.
        [qwen] = policy_effects(rows, grades, grader, "boxed_last", ["boxed_last", "qwen"])
    assert (qwen.rows, qwen.correct, qwen.gained, qwen.lost) == (3, 3, 2, 0)

"""The grader: verdicts, order, and answer classes."""

from __future__ import annotations

import pytest

from evals.answer_files.policies import policy_effects
from evals.grading import Conventions, Grade, Grader
from evals.grading.verdicts import Verdict

HARD = (r"1+\frac{\sqrt{2}}{2}", r"\frac{2+\sqrt{2}}{2}")


@pytest.fixture
def grader():
    return Grader()


def verdicts(grades):
    return [grade.verdict for grade in grades]


def test_a_response_is_graded_by_its_last_box(grader):
    rows = [
        ("5", r"\boxed{4} no, \boxed{5}", None),
        ("5", r"\boxed{5} no, \boxed{4}", None),
        (HARD[0], rf"\boxed{{{HARD[1]}}}", None),
    ]
    assert verdicts(grader.grade_responses(rows)) == [Verdict.CORRECT, Verdict.WRONG, Verdict.CORRECT]


def test_of_several_boxes_the_last_alone_may_be_the_gold_unless_words_join_them(grader):
    responses = [r"\boxed{3}, \boxed{5}", r"\boxed{x=3}\n\boxed{5}", r"\boxed{3} or \boxed{5}", r"\boxed{3}, \boxed{6}"]
    right = [
        verdict is Verdict.CORRECT for verdict in verdicts(grader.grade_responses([("5", r, None) for r in responses]))
    ]
    assert right == [True, True, False, False]


def test_a_sentence_that_concludes_nothing_that_is_read_is_unscored(grader):
    text = r"\boxed{\text{So }24^{32}\text{ divides }100!\text{ and the power }24^{33}\text{ does not.}}"
    [grade] = grader.grade_responses([("32", text, None)])
    assert grade.verdict is Verdict.UNSCORED and grade.reason is not None and grade.reason.startswith("prose")


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


def test_progress_counts_the_rows(grader):
    seen: list[tuple[int, int]] = []
    grader.grade_answers([("5", "5"), HARD, ("5", "")], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_answer_classes():
    # 1/2 and 0.5 are one wrong class. Both spellings of 3 are the correct one. No answer and unscored have none.
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
    grader = Grader()
    assert grader.answer_classes(answers, grades) == [0, 1, 0, None, 1, 2, None]


def test_an_unknown_policy_is_refused(grader):
    with pytest.raises(ValueError, match=r"extraction policy 'best' is unknown\. Expected one of boxed_last"):
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


def test_an_explanation_of_equal_texts_too_long_to_read(grader):
    assert [step.rule for step in grader.explain("x" * 3000, "x" * 3000).steps] == ["text"]


def test_conventions_are_switches():
    rows = [("1/3", "0.333"), ("1000.99", "1000,99"), ("120", r"120^\circ"), ("5", "5 cm"), (r"28\%", "28")]
    same = [("1/3", "0.33333"), (r"120^\circ", r"120^\circ"), (r"28\%", "0.28")]
    strict = Conventions(digits=4, decimal_comma=False, missing_unit=False)
    assert verdicts(Grader().grade_answers(rows + same)) == [Verdict.CORRECT] * 8
    assert verdicts(Grader(strict).grade_answers(rows + same)) == [Verdict.WRONG] * 5 + [Verdict.CORRECT] * 3


def test_the_digits_of_a_decimal_have_two_ends():
    assert (Conventions(digits=1).digits, Conventions(digits=1000).digits) == (1, 1000)
    for beyond in (0, 1001):
        with pytest.raises(ValueError, match=f"digits is {beyond}. Expected a whole number >= 1 and <= 1000"):
            Conventions(digits=beyond)


def test_a_policy_that_changes_verdicts_is_counted():
    rows = [("5", r"\boxed{4} and \boxed{5}", None), ("5", "The answer is 5", None), ("5", r"\boxed{5}", None)]
    grader = Grader()
    grades = grader.grade_responses(rows)
    # boxed_last: "4, 5" is wrong, no box, 5. qwen: 5, 5, 5. Both gained.
    [qwen] = policy_effects(rows, grades, grader, "boxed_last", ["boxed_last", "qwen"])
    assert (qwen.rows, qwen.correct, qwen.gained, qwen.lost) == (3, 3, 2, 0)
    # the first response boxes two texts: under boxed_strict it has no answer, as the second
    [strict] = policy_effects(rows, grades, grader, "boxed_last", ["boxed_strict"])
    assert (strict.unequal, strict.found, qwen.unequal) == (1, 1, None)
    assert str(strict).endswith("; 1 have boxes of different texts")

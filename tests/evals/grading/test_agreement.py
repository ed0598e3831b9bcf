"""The agreement page counts what it says it counts."""

from __future__ import annotations

import pytest

from benchmarks.agreement import line, matrix, ours, theirs
from benchmarks.rewrites import false_accepts, mutations, rewrites, table
from evals.grading import Grader
from evals.grading.verdicts import Verdict

GOLDS = [r"\frac{3}{4}", "12", "x^2+1", r"2\sqrt{13}", r"\left(3, \frac{\pi}{2}\right)", "1,-2", r"\{1,2,3\}", "-0.5"]


def test_the_four_kinds_and_the_unscored_ones() -> None:
    rows = [{"expected": label} for label in (True, True, True, False, False)]
    mine = matrix(rows, [True, False, None, True, False])  # one of each; agreed on 2 of 5, the unscored one not
    alone = matrix(rows, [True, True, True, False, False])
    assert line("x", alone, mine) == ("x", "5", "100.00", "40.00", "0", "0", "1", "1", "1")


def test_answers_and_responses_are_read_as_such() -> None:
    rows = [
        {"gold": "1/2", "prediction": "0.5", "kind": "answer"},
        {"gold": "7", "prediction": r"3 + 4 is \boxed{7}", "kind": "response"},
        {"gold": "7", "prediction": r"3 + 4 is \boxed{8}", "kind": "response"},
    ]
    assert ours(rows) == theirs(rows) == [True, True, False]


@pytest.mark.parametrize("gold", GOLDS)
def test_rewrites_keep_the_value_and_mutations_do_not(gold: str) -> None:
    with Grader(workers=1) as grader:
        for change, expected in ((rewrites, Verdict.CORRECT), (mutations, Verdict.WRONG)):
            made = [(gold, kind, text) for kind, text in change(gold)]
            assert len(made) >= 2
            lines, missed = table(made, grader, expected)
            assert missed == []
            assert lines[-1] == ("all", str(len(made)), str(len(made)), "0")


def test_false_accepts_are_counted() -> None:
    with Grader(workers=1) as grader:
        [line_of], accepted = false_accepts({"b": ["1/2", "0.5"]}, grader, pairs=50)
    # the only different pairs are 1/2 for 0.5 and 0.5 for 1/2, which are equal: all are accepted
    assert line_of[-1] == "10000.0"
    assert {pair[1:] for pair in accepted} == {("1/2", "0.5"), ("0.5", "1/2")}

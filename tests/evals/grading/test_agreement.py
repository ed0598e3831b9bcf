"""The agreement page counts what it says it counts."""

from __future__ import annotations

from benchmarks.agreement import line, matrix, ours, theirs


def test_the_four_kinds_and_the_unscored_ones() -> None:
    rows = [{"expected": label} for label in (True, True, True, False, False)]
    mine = matrix(rows, [True, False, None, True, False])  # one of each; agreed on 2 of 5, the unscored one not
    alone = matrix(rows, [True, True, True, False, False])
    assert line("x", mine, alone) == ("x", "5", "100.00", "40.00", "0", "0", "1", "1", "1")


def test_answers_and_responses_are_read_as_such() -> None:
    rows = [
        {"gold": "1/2", "prediction": "0.5", "kind": "answer"},
        {"gold": "7", "prediction": r"3 + 4 is \boxed{7}", "kind": "response"},
        {"gold": "7", "prediction": r"3 + 4 is \boxed{8}", "kind": "response"},
    ]
    assert ours(rows) == theirs(rows) == [True, True, False]

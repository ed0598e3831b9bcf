"""Training problems: read from files, checked row by row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.data.problems import count_rows, load_problems, load_solutions


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_answers_come_from_the_column_or_the_last_box(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"problem": "1+1?", "answer": "2", "level": "1"},
        {"problem": "2+2?", "solution": r"first \boxed{3}, no: \boxed{4}."},
    ]
    got = load_problems(write(tmp_path / "x.jsonl", rows))
    assert got == [{"problem": "1+1?", "answer": "2"}, {"problem": "2+2?", "answer": "4"}]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"problem": "1+1?"}], "row 1: expected text in 'answer', got None"),
        ([{"problem": "1", "answer": "1"}, {"problem": " ", "answer": "2"}], "row 2: expected text in 'problem'"),
        ([{"problem": "1", "gold": "2"}], "It has 'problem', 'gold', and columns=answer:NAME takes another"),
        ([{"question": "1", "gold": "2"}], "It has 'question', 'gold', and columns=answer:NAME takes another"),
        ([{"problem": "1", "answer": True}], "row 1: expected text in 'answer', got True"),
        ([], "expected rows"),
    ],
)
def test_errors_name_the_bad_row(rows: list[dict[str, object]], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load_problems(write(tmp_path / "x.jsonl", rows))


def test_numbers_are_answers_and_a_column_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [{"question": "1+1?", "gold": 2}, {"question": "1/2?", "gold": 0.5}])
    named = f"{path}?problem=question&answer=gold"
    assert [row["answer"] for row in load_problems(named)] == ["2", "0.5"]
    for read in (load_problems, count_rows):  # not filled from another column, as without columns=
        with pytest.raises(ValueError, match=r"columns=problem:questoin: no row of .* has such a column. Did you mean"):
            read(f"{path}?problem=questoin&answer=gold")


def test_columns_reach_inside_and_a_column_of_some_rows_is_told_by_how_many_have_it(tmp_path: Path) -> None:
    """FastChat's questions of MT-bench: `turns` is a list, and half of the rows have a `reference`."""
    rows: list[dict[str, object]] = [{"turns": ["1+1?", "Why?"]}, {"turns": ["2+2?", "Why?"], "reference": ["4"]}]
    path = write(tmp_path / "x.jsonl", rows)
    named = f"{path}?problem=turns.0&answer=reference.0"
    for read in (load_problems, count_rows):
        with pytest.raises(ValueError, match=r"row 1: no column 'reference.0' for answer, which 1 of 2 rows have"):
            read(named)
    write(tmp_path / "x.jsonl", rows[1:])
    assert load_problems(named) == [{"problem": "2+2?", "answer": "4"}]


def test_solutions_are_checked_like_problems(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"problem": "1+1?", "solution": r"\boxed{2}", "level": "Level 1"}]
    got = load_solutions(write(tmp_path / "x.jsonl", rows))
    assert got == [{"problem": "1+1?", "solution": r"\boxed{2}"}]
    with pytest.raises(ValueError, match="row 1: expected text in 'solution', got None"):
        load_solutions(write(tmp_path / "y.jsonl", [{"problem": "1+1?", "answer": "2"}]))
    assert [r["problem"] for r in load_solutions("tiny", seed=1)] == [
        r["problem"] for r in load_problems("tiny", seed=1)
    ]

"""Training problems: read from files, checked row by row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.data.problems import content_hash, load_problems, load_solutions


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_question_column_is_read_as_problem(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "1 + 1?", "answer": "2"}\n')
    assert load_problems(str(path)) == [{"problem": "1 + 1?", "answer": "2"}]


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
        ([{"problem": "1+1?"}], "row 0: expected text in 'answer', got None"),
        ([{"problem": "1", "answer": "1"}, {"problem": " ", "answer": "2"}], "row 1: expected text in 'problem'"),
        ([{"problem": "1", "answer": 2}], "row 0: expected text in 'answer', got 2"),
        ([], "expected rows"),
    ],
)
def test_errors_name_the_bad_row(rows: list[dict[str, object]], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load_problems(write(tmp_path / "x.jsonl", rows))


def test_a_file_that_cannot_be_read_is_the_data_sets(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"dataset: nowhere\.json: expected a file, there is none"):
        load_problems("nowhere.json")
    (tmp_path / "x.jsonl").write_text('{"problem": "1", "answer": "1"}\n\n{"problem": \n')
    with pytest.raises(ValueError, match=r"dataset: .*x\.jsonl, line 3: not JSON"):
        load_problems(str(tmp_path / "x.jsonl"))


def test_the_tiny_family_is_seeded() -> None:
    assert load_problems("tiny", seed=1) == load_problems("tiny", seed=1)
    assert content_hash(load_problems("tiny", seed=1)) != content_hash(load_problems("tiny", seed=2))


def test_solutions_are_checked_like_problems(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"problem": "1+1?", "solution": r"\boxed{2}", "level": "Level 1"}]
    got = load_solutions(write(tmp_path / "x.jsonl", rows))
    assert got == [{"problem": "1+1?", "solution": r"\boxed{2}"}]
    with pytest.raises(ValueError, match="row 0: expected text in 'solution', got None"):
        load_solutions(write(tmp_path / "y.jsonl", [{"problem": "1+1?", "answer": "2"}]))
    assert [r["problem"] for r in load_solutions("tiny", seed=1)] == [
        r["problem"] for r in load_problems("tiny", seed=1)
    ]

"""Training problems: read from files, checked row by row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.data import content_hash, load_problems, load_solutions
from harness.datasets import SETS, NamedSet, at_levels, shortest_solutions


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_question_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "1 + 1?", "answer": "2"}\n')
    assert load_problems(str(path)) == [{"problem": "1 + 1?", "answer": "2"}]


def test_a_file_with_answers_or_with_solutions(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"problem": "1+1?", "answer": "2", "level": "1"},
        {"problem": "2+2?", "solution": r"first \boxed{3}, no: \boxed{4}."},
    ]
    got = load_problems(write(tmp_path / "x.jsonl", rows))
    assert got == [{"problem": "1+1?", "answer": "2"}, {"problem": "2+2?", "answer": "4"}]


def test_parquet_is_the_same(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"problem": "1+1?", "answer": "2"}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    assert load_problems(str(tmp_path / "x.parquet")) == rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"problem": "1+1?"}], "row 0: expected text in 'answer', got None"),
        ([{"problem": "1", "answer": "1"}, {"problem": " ", "answer": "2"}], "row 1: expected text in 'problem'"),
        ([{"problem": "1", "answer": 2}], "row 0: expected text in 'answer', got 2"),
        ([], "expected rows"),
    ],
)
def test_a_bad_row_is_named(rows: list[dict[str, object]], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load_problems(write(tmp_path / "x.jsonl", rows))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected a file at .*nowhere\.jsonl, found none"):
        load_problems("nowhere.jsonl")


def test_the_tiny_family_is_seeded() -> None:
    assert load_problems("tiny", seed=1) == load_problems("tiny", seed=1)
    assert content_hash(load_problems("tiny", seed=1)) != content_hash(load_problems("tiny", seed=2))


def test_solutions_are_read_and_checked_like_problems(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"problem": "1+1?", "solution": r"\boxed{2}", "level": "Level 1"}]
    got = load_solutions(write(tmp_path / "x.jsonl", rows))
    assert got == [{"problem": "1+1?", "solution": r"\boxed{2}"}]
    with pytest.raises(ValueError, match="row 0: expected text in 'solution', got None"):
        load_solutions(write(tmp_path / "y.jsonl", [{"problem": "1+1?", "answer": "2"}]))
    assert [r["problem"] for r in load_solutions("tiny", seed=1)] == [
        r["problem"] for r in load_problems("tiny", seed=1)
    ]


def test_part_of_a_hub_set_by_level_and_length() -> None:
    lengths, levels = [5, 2, 9, 2, 1, 7], ["3", "5", "4", "5", "2", "?"]
    rows = [
        {"id": i, "solution": "x" * n, "level": f"Level {level}"}
        for i, (n, level) in enumerate(zip(lengths, levels, strict=True))
    ]
    hard = at_levels(rows, (3, 4, 5))
    assert [row["id"] for row in hard] == [0, 1, 2, 3]
    # the two shortest are 1 and 3; with one, of equal ones the earlier; the order stays
    assert [row["id"] for row in shortest_solutions(hard, 2)] == [1, 3]
    assert [row["id"] for row in shortest_solutions(hard, 1)] == [1]
    assert [row["id"] for row in shortest_solutions(hard, 3)] == [0, 1, 3]


def test_a_hub_set_with_too_few_rows_is_refused() -> None:
    part = NamedSet("some/set", "train", lambda rows: rows[:2], rows=2)
    assert part.take([{}, {}, {}]) == [{}, {}]
    with pytest.raises(ValueError, match=r"expected to keep 2 of the rows of some/set \(train\), kept 1 of 1"):
        part.take([{}])
    assert SETS["math_erpo"].rows == 8441

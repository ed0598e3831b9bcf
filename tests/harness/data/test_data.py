"""Training problems: read from files, checked row by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.data import files
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


def test_parquet_gives_the_same_rows(tmp_path: Path) -> None:
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
def test_errors_name_the_bad_row(rows: list[dict[str, object]], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load_problems(write(tmp_path / "x.jsonl", rows))


@pytest.mark.parametrize("name", ["nowhere.jsonl", "nowhere.json", "nowhere.parquet"])
def test_errors_name_a_missing_file(name: str) -> None:
    with pytest.raises(ValueError, match=f"expected a file at .*{name}, there is none"):
        load_problems(name)


def test_json_list_gives_the_same_rows(tmp_path: Path) -> None:
    rows = [{"problem": "1+1?", "answer": "2"}]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    assert load_problems(str(tmp_path / "x.json")) == rows


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.json", '{"problem": "1"}', "expected a JSON list of rows, got a dict"),
        ("x.json", "[", "expected JSON"),
        ("x.json", '[{"problem": "1", "answer": "1"}, "2"]', "row 1: expected a JSON object, got '2'"),
        ("x.jsonl", '{"problem": "1", "answer": "1"}\n\n{"problem": \n', "row 1: expected JSON, got"),
    ],
)
def test_errors_name_a_malformed_file(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=f"{name}.*{message}"):
        load_problems(str(tmp_path / name))


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


def test_byte_order_marks_are_skipped_and_lone_surrogates_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"problem": "1+1?", "answer": "2"}\n', encoding="utf-8-sig")
    assert load_problems(str(path)) == [{"problem": "1+1?", "answer": "2"}]
    path.write_text('{"problem": "1+1?", "answer": "\\ud800"}\n')
    with pytest.raises(ValueError, match="row 0: expected Unicode text in 'answer', got a lone surrogate"):
        load_problems(str(path))


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00", b'{"problem": "\xff"}', b'{"problem": ' + b"1" * 5000 + b"}", b"[" * 100_000]
)
def test_unreadable_bytes_are_one_clear_error(content: bytes, tmp_path: Path) -> None:
    for name in ("x.jsonl", "x.json", "x.parquet"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"dataset .*x\."):
            load_problems(str(tmp_path / name))


def test_a_file_is_read_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.data import problems

    reads: list[Path] = []

    def counted(path: Path) -> Any:
        reads.append(path)
        return files.read_rows(path)

    monkeypatch.setattr(problems, "read_rows", counted)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"problem": "1+1?", "answer": "2"}\n')
    first = load_problems(str(path))
    first.clear()  # what a caller does to its list is its own affair
    assert load_problems(str(path)) == [{"problem": "1+1?", "answer": "2"}]
    assert len(reads) == 1
    path.write_text('{"problem": "1+10?", "answer": "11"}\n')
    assert load_problems(str(path)) == [{"problem": "1+10?", "answer": "11"}]
    assert len(reads) == 2

"""Values that are missing, there twice, or none: each is refused by row or by name, or said. None is read as wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evals.answer_files import grade_file
from evals.answer_files.reading import Reading
from rlvr.cli import main
from tests.evals.answer_files.test_shapes import grade, lines, refused, score

RIGHT = r"so \boxed{2}"
OK = {"problem_id": "a", "gold": "2", "response": RIGHT}


def parquet(path: Path, **columns: list[Any]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def text(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


# -- golds that are none ----------------------------------------------------------------------------------------------

NO_GOLDS: dict[str, Any] = {
    "csv": lambda f: text(f / "a.csv", f"problem_id,gold,response\na,2,{RIGHT}\nb,,{RIGHT}\n"),
    "empty": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": ""}),
    "blank": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": " "}),
    "nan": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": math.nan}),
    "parquet": lambda f: parquet(f / "a.parquet", problem_id=["a", "b"], gold=[2.0, math.nan], response=[RIGHT] * 2),
    "null": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": None}),
    # variants
    "newline": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": "\n\t"}),
    "no_break_space": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": "\u00a0"}),
    "nan_text": lambda f: text(f / "a.csv", f"problem_id,gold,response\na,2,{RIGHT}\nb,nan,{RIGHT}\n"),
    "null_parquet": lambda f: parquet(f / "a.parquet", problem_id=["a", "b"], gold=["2", None], response=[RIGHT] * 2),
    "infinite": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": math.inf}),
    "list": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": [""]}),
    "empty_list": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": []}),
    "in_a_list": lambda f: lines(f / "a.jsonl", OK, {**OK, "problem_id": "b", "gold": ["2", ""]}),
    "verl": lambda f: lines(
        f / "a.jsonl", *({"input": i, "output": RIGHT, "gts": g} for i, g in (("a", "2"), ("b", "")))
    ),
    "inspect": lambda f: lines(
        f / "a.jsonl",
        *({"id": i, "target": g, "output": {"choices": [], "completion": RIGHT}} for i, g in ((1, "2"), (2, " "))),
    ),
}


@pytest.mark.parametrize("kind", NO_GOLDS)
def test_a_gold_that_is_none_is_refused_by_its_row(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, "grade", NO_GOLDS[kind](tmp_path), "golds=any")
    assert "row 2" in message and ("no gold answer" in message or "answer is" in message)


def test_golds_of_another_file_that_are_none_are_refused_by_their_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lines(tmp_path / "a.jsonl", *({"problem_id": i, "response": RIGHT} for i in "ab"))
    for gold in ("", " ", math.nan, None):
        golds = lines(tmp_path / "gold.jsonl", {"problem_id": "a", "gold": "2"}, {"problem_id": "b", "gold": gold})
        assert "row 2" in refused(capsys, "grade", path, f"gold={golds}")


def test_words_that_look_like_nothing_are_golds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`none` and `null` may be answers in words. `0` and `False` are values."""
    for gold in ("none", "null", "0", "False", "N/A", "∅"):
        path = lines(tmp_path / "a.jsonl", {"gold": gold, "response": rf"\boxed{{{gold}}}"})
        assert grade(capsys, "grade", path)["rows"] == 1


@pytest.mark.parametrize("gold", ["", " ", math.nan, None])
def test_a_benchmark_file_refuses_them_in_the_same_way(gold: Any, tmp_path: Path) -> None:
    from evals.data import benchmarks

    path = lines(
        tmp_path / f"mine_{id(gold)}.jsonl", {"problem": "1 + 1?", "answer": "2"}, {"problem": "2?", "answer": gold}
    )
    with pytest.raises(ValueError, match=r"row 1|row 2|line 2"):
        benchmarks.load(benchmarks.OwnBenchmark.parse(path))


# -- there twice ------------------------------------------------------------------------------------------------------

TWICE: dict[str, tuple[Any, str]] = {
    "csv": (lambda f: text(f / "a.csv", f"problem_id,gold,gold,response\na,2,3,{RIGHT}\n"), "gold"),
    "json": (lambda f: text(f / "a.jsonl", '{"gold": "3", "gold": "2", "response": "so \\\\boxed{2}"}\n'), "gold"),
    "parquet": (lambda f: _twice(f), "gold"),
    # variants
    "nested": (lambda f: text(f / "a.jsonl", '{"gold": "2", "response": "r", "m": {"a": 1, "a": 2}}\n'), "a"),
    "whole_json": (lambda f: text(f / "a.json", '[{"gold": "3", "gold": "2", "response": "r"}]'), "gold"),
    "semicolons": (lambda f: text(f / "a.csv", "response;gold;response\nr;2;s\n"), "response"),
    "tabs": (lambda f: text(f / "a.tsv", "response\tgold\tresponse\nr\t2\ts\n"), "response"),
    "spaces": (lambda f: text(f / "a.csv", "gold, gold,response\n2,3,r\n"), "gold"),
}


def _twice(folder: Path) -> Path:
    table = pa.Table.from_arrays(
        [pa.array(["3"]), pa.array(["2"]), pa.array([RIGHT])], names=["gold", "gold", "response"]
    )
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


@pytest.mark.parametrize("kind", TWICE)
def test_a_name_that_is_there_twice_is_refused(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, name = TWICE[kind]
    message = refused(capsys, "grade", make(tmp_path))
    assert f"{name!r}" in message and "twice" in message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.csv", "step,acc,acc\n1,0.4,0.5\n2,0.5,0.6\n"),
        ("c.jsonl", '{"step": 1, "acc": 0.4, "acc": 0.5}\n'),
        ("c.json", '{"log_history": [{"step": 1, "acc": 0.4, "acc": 0.5}]}'),
        ("d.csv", "step;acc;acc\n1;0,4;0,5\n"),
    ],
)
def test_a_metric_that_is_there_twice_is_refused(
    name: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, "audit", text(tmp_path / name, content), "printed=50.0", "metric=acc")
    assert "'acc'" in message and "twice" in message


# -- responses that are none ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["json", "parquet", "inspect", "verl", "nan"])
def test_a_response_that_is_null_did_not_come_as_in_an_evaluation(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for a server's reply without a text: unscored. An empty text is a response, without an answer."""
    rows = [(RIGHT, "a"), (None, "b")]
    path = {
        "json": lambda: lines(tmp_path / "a.jsonl", *({"problem_id": i, "gold": "2", "response": r} for r, i in rows)),
        "parquet": lambda: parquet(
            tmp_path / "a.parquet", problem_id=["a", "b"], gold=["2", "2"], response=[RIGHT, None]
        ),
        "inspect": lambda: lines(
            tmp_path / "a.jsonl",
            *(
                {"id": i, "target": "2", "output": {"choices": [{"stop_reason": "stop", "message": {"content": r}}]}}
                for r, i in rows
            ),
        ),
        "verl": lambda: lines(tmp_path / "a.jsonl", *({"input": i, "output": r, "gts": "2"} for r, i in rows)),
        "nan": lambda: lines(
            tmp_path / "a.jsonl", *({"problem_id": i, "gold": "2", "response": r or math.nan} for r, i in rows)
        ),
    }[kind]()
    assert grade(capsys, "grade", path)["verdicts"] == {"correct": 1, "unscored": 1}


def test_a_null_response_that_ran_into_the_limit_is_truncated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in an evaluation: a server with separate reasoning was cut off inside it."""
    path = lines(tmp_path / "a.jsonl", {"gold": "2", "response": None, "finish_reason": "length"})
    assert grade(capsys, "grade", path)["verdicts"] == {"truncated": 1}
    path = lines(tmp_path / "b.jsonl", {"gold": "2", "response": "", "finish_reason": "stop"})
    assert grade(capsys, "grade", path)["verdicts"] == {"no_answer": 1}


# -- golds in prose ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "right", "wrong"),
    [
        ("5 dollars (see above)", "5", "6"),
        ("A: 5", "5", "6"),
        ("5 (five)", "5", "6"),
        # variants
        ("Answer: 5 apples", "5", "6"),
        ("1/2 (one half)", r"\frac{1}{2}", "2"),
        ("$12 (twelve dollars)", "12", "10"),
        ("Ans: -3.5", "-3.5", "3.5"),
        ("1,200 (approximately)", "1200", "12"),
    ],
)
def test_a_gold_in_prose_is_read_and_said(
    gold: str, right: str, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"gold": gold, "response": rf"\boxed{{{answer}}}"} for answer in (right, wrong)]
    path = lines(tmp_path / "a.jsonl", *rows)
    assert main(["grade", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "row 1" in printed and "in prose" in printed and gold[:8] in printed
    assert score(grade(capsys, "grade", path)) == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    "gold",
    [
        "(2, 3)",
        "2 (mod 7)",
        "f(x)",
        r"5 \text{ (mod 12)}",
        "[1, 2)",
        "x = 5",
        "5 cm",
        "A",
        "sin(x)",
        "2:3",
        r"\text{(A)} 5",
    ],
)
def test_a_gold_that_is_no_prose_stays_as_it_is(gold: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lines(tmp_path / "a.jsonl", {"gold": gold, "response": rf"\boxed{{{gold}}}"})
    assert main(["grade", str(path), "policy=boxed_last"]) == 0
    assert "in prose" not in capsys.readouterr().out


# -- said or refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [["", ""], [None, None], [" ", "\t"], [math.nan, math.nan], ["a", ""]])
def test_a_verdict_table_without_ids_is_refused(
    ids: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lines(tmp_path / "t.jsonl", *({"id": i, "correct": ok} for i, ok in zip(ids, (True, False), strict=True)))
    message = refused(capsys, "audit", path, "printed=50.0")
    assert ("row 2" in message and "id" in message) or ("row 1" in message and "id" in message)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.csv", "step,acc\n1,0.4\n2,0.5\n3,nan\n"),
        ("c.jsonl", '{"step": 1, "acc": 0.4}\n{"step": 2, "acc": 0.5}\n{"step": 3, "acc": NaN}\n'),
        ("c.json", '{"log_history": [{"step": 1, "acc": 0.5}, {"step": 3, "acc": NaN}]}'),
        ("c.log", "step:1 - acc:0.5 - loss:1.0\nstep:3 - acc:nan - loss:1.0\n"),
        ("t.log", "{'acc': 0.5, 'epoch': 1.0}\n{'acc': nan, 'epoch': 2.0}\n"),
    ],
)
def test_a_curve_whose_last_score_is_nan_is_refused(
    name: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, "audit", text(tmp_path / name, content), "printed=50.0", "metric=acc")
    assert "nan" in message and "acc" in message


def test_a_score_that_is_not_measured_at_every_step_is_no_nan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = text(tmp_path / "c.csv", "step,acc,loss\n1,0.4,1\n2,0.5,1\n3,,1\n")
    assert grade(capsys, "audit", path, "printed=50.0", "metric=acc")["file"] == pytest.approx(0.5)
    path = text(tmp_path / "d.csv", "step,acc,loss\n1,nan,1\n2,0.5,1\n")
    assert grade(capsys, "audit", path, "printed=50.0", "metric=acc")["file"] == pytest.approx(0.5)


# -- CSV --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [131_073, 500_000])
@pytest.mark.parametrize("quoted", [True, False])
def test_a_long_cell_is_read(size: int, quoted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thought = "hm " * (size // 3) + RIGHT
    cell = f'"{thought}\nend"' if quoted else thought
    path = text(tmp_path / "a.csv", f"gold,response\n2,{cell}\n")
    assert score(grade(capsys, "grade", path)) == 1


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_may_end_in_any_way(end: str, last: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["problem_id,gold,response", f"a,2,{RIGHT}", 'b,2,"so\n\\boxed{3}"']
    (tmp_path / "a.csv").write_bytes((end.join(rows) + (end if last else "")).encode())
    document = grade(capsys, "grade", tmp_path / "a.csv")
    assert document["rows"] == 2 and score(document) == pytest.approx(1 / 2)


def test_a_short_row_of_a_file_with_carriage_returns_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_bytes(b"gold,response\r2,x\r2\r")
    message = refused(capsys, "grade", tmp_path / "a.csv")
    assert "line 3" in message and "expected 2 cells" in message and "line 0" not in message


def test_a_row_without_id_and_text_has_no_gold_in_another_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = lines(tmp_path / "rows.jsonl", {"responses": ["\\boxed{1}", "\\boxed{2}"]})
    golds = lines(tmp_path / "golds.jsonl", *({"problem_id": n, "answer": str(n)} for n in (1, 2)))
    message = refused(capsys, "grade", rows, "columns=response:responses", f"gold={golds}")
    assert "row 1: the row has no problem_id and no problem" in message and "columns=problem_id:PATH" in message


@pytest.mark.parametrize("key", ["problem_id", "problem"])
def test_two_golds_of_one_problem_are_refused_if_they_differ(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = lines(tmp_path / "a.jsonl", *({key: name, "response": RIGHT} for name in "ab"))
    golds = [{key: name, "answer": "2"} for name in "abba"]
    path = lines(tmp_path / "gold.jsonl", *golds)
    assert grade_file(rows, reading=Reading(gold=path)).verdicts == {"correct": 2}  # equal repeats say the same
    lines(path, *golds, {key: "b", "answer": "9"})
    message = refused(capsys, "grade", rows, f"gold={path}")
    assert f"a.jsonl, row 2: gold={path}: problem 'b' has the answer '2' in row 2 and '9' in row 5. Delete" in message

"""The notes of a report where a reader may have meant something else, and lines that are not proposed because of it."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evals.answer_files import grade_file
from evals.answer_files.reading import Reading, read_answers
from evals.data.rows import parsed
from evals.errors import UsageError

Rows = Sequence[dict[str, Any]]


def write(path: Path, rows: Rows | str) -> Path:
    path.write_text(rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows))
    return path


def notes(path: Path, **columns: str) -> str:
    return "".join(read.note for read in grade_file(path, reading=Reading(columns)).read)


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["18", "-0.5", "0.10", "1e3", "1E-07", "12345678901234567890.25", "5.00"])
def test_a_number_is_a_response_as_the_file_writes_it(tmp_path: Path, number: str) -> None:
    path = write(tmp_path / "a.jsonl", f'{{"gold": {number}, "response": {number}}}\n')
    report = grade_file(path, policy="whole")
    [row] = read_answers(path).rows
    assert (row.gold, row.response) == (number, number) and report.verdicts == {"correct": 1}
    assert "responses that are numbers: 1. Each is read as the file writes it" in str(report)
    assert parsed(number, "here") == float(number)  # and it is the same number for all who compute with it
    assert float(json.dumps(parsed(number, "here"))) == float(number)


def test_numbers_in_lists_and_cells_are_responses(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"gold": "2", "response": [2, 2.50, "2"]}\n')
    assert [row.response for row in read_answers(path).rows] == ["2", "2.50", "2"]
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["gold", "response"], ["0.10", "0.10"]])
    assert [row.response for row in read_answers(tmp_path / "a.csv").rows] == ["0.10"]


@pytest.mark.parametrize("value", [True, False, {"text": "2"}])
def test_truth_values_and_objects_are_no_responses(tmp_path: Path, value: object) -> None:
    path = write(tmp_path / "a.jsonl", [{"gold": "2", "response": value}])
    with pytest.raises(UsageError, match=r"response is .*\. Expected a text or a number"):
        read_answers(path)


# -- golds that may be the model's own answers -------------------------------------------------------------------------

GOLDS = ("17", "23", "31", "47", "59", "61")
ANSWERS = ("17", "24", "31", "48", "59", "62")  # the model's answers: three of six are right
FULL = [rf"We count, and so it is \boxed{{{answer}}}." for answer in ANSWERS]


def proposed(path: Path) -> bool:
    with pytest.raises(UsageError, match="no known format") as caught:
        read_answers(path)
    return "These columns read the whole file" in str(caught.value)


@pytest.mark.parametrize("name", ["answer", "final_answer"])
def test_the_models_own_answer_is_not_proposed_as_the_gold(tmp_path: Path, name: str) -> None:
    rows = [{"question": g, name: s, "output": f, "key_value": g} for g, s, f in zip(GOLDS, ANSWERS, FULL, strict=True)]
    assert not proposed(write(tmp_path / "own.jsonl", rows))
    alone = [{name: s, "output": f} for s, f in zip(ANSWERS, FULL, strict=True)]  # and the golds are in another file
    assert not proposed(write(tmp_path / "alone.jsonl", alone))
    whole = [{name: f, "output": g} for g, f in zip(GOLDS, FULL, strict=True)]  # the gold is called output
    assert not proposed(write(tmp_path / "whole.jsonl", whole))
    unread = [{name: s, "output": "I will not say", "key_value": g} for g, s in zip(GOLDS, ANSWERS, strict=True)]
    assert not proposed(write(tmp_path / "unread.jsonl", unread))


def test_golds_called_answer_are_proposed(tmp_path: Path) -> None:
    golds = [{"no": n, "answer": g, "output": f} for n, (g, f) in enumerate(zip(GOLDS, FULL, strict=True))]
    assert proposed(write(tmp_path / "a.jsonl", golds))
    sure = [{"target": s, "output": f, "key_value": g} for g, s, f in zip(GOLDS, ANSWERS, FULL, strict=True)]
    assert proposed(write(tmp_path / "b.jsonl", sure))  # no model's answer is called target


def test_a_report_says_that_answer_may_be_the_models_own(tmp_path: Path) -> None:
    """The columns have our own names, so the file is read without a question. All six verdicts are correct."""
    rows = [{"answer": s, "response": f, "key_value": g} for g, s, f in zip(GOLDS, ANSWERS, FULL, strict=True)]
    path = write(tmp_path / "own.jsonl", rows)
    assert grade_file(path).verdicts == {"correct": 6}
    assert "If that is the gold, type columns=answer:key_value,response:response" in notes(path)
    report = grade_file(path, reading=Reading({"answer": "key_value", "response": "response"}))
    assert report.verdicts == {"correct": 3, "wrong": 3} and "may be the model's own" not in str(report)
    golds = [{"answer": g, "response": f, "extracted": s} for g, s, f in zip(GOLDS, ANSWERS, FULL, strict=True)]
    assert notes(write(tmp_path / "golds.jsonl", golds)) == ""


# -- aliases, lists, systems -------------------------------------------------------------------------------------------


def test_golds_with_aliases_are_said_and_split_when_asked(tmp_path: Path) -> None:
    """As EVOUNA's TQ.json. `any:/` splits them."""
    rows = [{"answer": "David Seville/Ross", "response": "Ross"}, {"answer": "1/2", "response": "1/2"}]
    rows += [{"answer": r"\frac{ab}/{cd}", "response": ""}, {"answer": "9 miles/hour", "response": ""}]
    path = write(tmp_path / "a.jsonl", rows)
    text = notes(path)
    assert "golds with / between words: 1, such as 'David Seville/Ross'" in text and "golds=any" in text
    assert "type golds=any:/" in text
    graded = grade_file(path, policy="whole", reading=Reading(golds="any:/"))
    assert graded.verdicts["correct"] == 1 and graded.verdicts["no_answer"] == 2
    listed = write(tmp_path / "c.jsonl", [{"answer": ["David Seville", "Ross"], "response": "Ross"}])
    assert grade_file(listed, policy="whole", reading=Reading(golds="any")).verdicts == {"correct": 1}


def test_a_list_of_responses_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"gold": "2", "response": ["2", "3"]}, {"gold": "2", "response": ["2"]}])
    assert "rows with a list of responses: 1. Each item of a list is a sample" in notes(path)


def test_samples_of_several_systems_are_said(tmp_path: Path) -> None:
    rows = [
        {"problem_id": n, "gold": "2", "response": "2", "arm": arm, "seed": seed, "split": "test"}
        for n in range(3)
        for seed in range(2)
        for arm in ("teacher", "student")
    ]
    text = notes(write(tmp_path / "a.jsonl", rows))
    assert "every problem has rows of 2 values of arm (teacher, student), counted as its samples" in text
    assert "type 'rows=arm?teacher'" in text and "seed" not in text and "split" not in text
    single = [row for row in rows if row["arm"] == "student"]
    assert notes(write(tmp_path / "b.jsonl", single)) == ""  # as after the line that was said
    apart = [{**row, "arm": f"of problem {row['problem_id']}"} for row in rows]
    assert notes(write(tmp_path / "c.jsonl", apart)) == ""


def test_two_problems_of_one_text_are_said_where_an_id_tells_them_apart(tmp_path: Path) -> None:
    rows = [{"id": n, "problem": f"p{max(n, 1)}", "answer": "5", "response": r"\boxed{5}"} for n in range(5)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sentence = "rows whose problem has the text of another row's: 2."
    [note] = [note for note in read_answers(path, NAMED).sizes[0][4] if note.startswith("rows whose")]
    assert note.startswith(sentence) and note.endswith("type columns=problem_id:id")
    assert not any(
        note.startswith("rows whose")
        for note in read_answers(path, Reading({**NAMED.columns, "problem_id": "id"})).sizes[0][4]
    )
    for row in rows:  # samples of each problem, which ids number
        row["problem"] = f"p{int(row['id']) // 3}"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert not any(note.startswith("rows whose") for note in read_answers(path, NAMED).sizes[0][4])


NAMED = Reading({"answer": "answer", "response": "response"})

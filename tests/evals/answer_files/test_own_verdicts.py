"""Verdicts of this project, graded again: the gold is the gold, under the policy that decided them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evals.answer_files import grade_file
from evals.audit.graded import by_policy
from evals.files import write_parquet
from evals.grading import Grader
from evals.grading.verdicts import schema
from rlvr.cli import main

LINE = "so\nAnswer: {}"  # what the policy answer_line reads


def save(folder: Path, policy: str = "prompt", prompt: Any = "dapo", unscored: bool = False) -> Path:
    """An evaluation of two problems with two samples: golds 1 and 2, answers 1, 3, 3, 3: one of four is correct."""
    answers = [("a", "1", "1"), ("a", "1", "3"), ("b", "2", "3"), ("b", "2", "3")]
    rows = [
        {
            "benchmark": "sums", "problem_id": problem, "sample": i % 2, "gold": gold, "answer": answer,
            "response": LINE.format(answer), "boxed": False, "answer_class": 0, "finish_reason": "stop",
            "verdict": "correct" if gold == answer else "unscored" if unscored else "wrong",
        }
        for i, (problem, gold, answer) in enumerate(answers)
    ]  # fmt: skip
    (folder / "sums").mkdir(parents=True)
    write_parquet(pa.Table.from_pylist(rows, schema()), folder / "sums" / "verdicts.parquet")
    protocol = {"extraction": {"value": policy}, "prompt": {"value": prompt}}
    manifest = {"identity": {"benchmark": "sums"}, "record": {"protocol": protocol}}
    (folder / "sums" / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.mark.parametrize("place", ["", "sums", "sums/verdicts.parquet"])
@pytest.mark.parametrize(
    "how",
    [{}, {"prompt": {"default": "plain", "sums": "dapo"}}, {"policy": "answer_line", "prompt": "plain"}],
)
def test_the_gold_is_the_gold_and_the_policy_the_manifests(place: str, how: dict[str, Any], tmp_path: Path) -> None:
    report = grade_file(save(tmp_path / "e", **how) / place)
    assert report.verdicts == {"correct": 1, "wrong": 3} and report.policy == "answer_line"
    assert {s.name: s.value for s in report.scores["sums"]}["avg@2"] == pytest.approx(1 / 4)
    assert report.agreement is not None and report.agreement.rate == 1.0  # with the verdicts that are there
    report = grade_file(tmp_path / "e" / place, policy="boxed_last")  # another one, by name
    assert report.verdicts == {"no_answer": 4}
    assert "1 verdict differs from the verdicts in the file" in str(report) and "no_answer, was correct" in str(report)


@pytest.mark.parametrize(("stated", "verdict"), [("after", "truncated"), ("whole", "correct"), (None, "correct")])
def test_the_part_that_was_read_is_the_manifests(stated: str | None, verdict: str, tmp_path: Path) -> None:
    """Before there was a choice all of a response was read."""
    folder = save(tmp_path / "e") / "sums"
    rows = pq.read_table(folder / "verdicts.parquet").to_pylist()[:1]
    rows[0] |= {"response": "<think>\nAnswer: 1", "finish_reason": "length"}
    write_parquet(pa.Table.from_pylist(rows, schema()), folder / "verdicts.parquet")
    manifest = json.loads((folder / "manifest.json").read_text())
    if stated:
        manifest["record"]["protocol"]["reasoning"] = {"value": stated}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert grade_file(folder).verdicts == {verdict: 1}
    assert grade_file(folder, reasoning="whole").verdicts == {"correct": 1}


def test_what_grade_wrote_of_withheld_responses_is_unscored_again_and_explained_as_counted(tmp_path: Path) -> None:
    answers = [
        {"problem_id": "a", "answer": "4", "response": r"\boxed{4}", "finish_reason": "stop"},
        {"problem_id": "b", "answer": "4", "response": None, "finish_reason": "content_filter"},
        {"problem_id": "c", "answer": "4", "response": "half", "finish_reason": "error"},
        {"problem_id": "d", "answer": "4", "response": "half", "finish_reason": "length"},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    counts = {"correct": 1, "truncated": 1, "unscored": 2}
    report = grade_file(tmp_path / "a.jsonl", out=tmp_path / "graded.jsonl", explain=[4])
    assert report.verdicts == counts and str(report.explanations[4].verdict) == "truncated"
    again = grade_file(tmp_path / "graded.jsonl")
    assert again.verdicts == counts and again.unscored_reasons == report.unscored_reasons
    assert again.unscored_reasons["server: no whole response (content_filter)"] == 1


def test_an_evaluation_without_verdicts_yet_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "e" / "sums").mkdir(parents=True)
    (tmp_path / "e" / "sums" / "manifest.json").write_text("{}")
    with pytest.raises(ValueError, match=r"an evaluation without verdicts yet\. The same rlvr eval goes on"):
        grade_file(tmp_path / "e")


def test_an_unscored_verdict_is_no_label(tmp_path: Path) -> None:
    report = grade_file(save(tmp_path / "e", unscored=True))
    assert report.agreement is not None and report.agreement.rows == 1


def test_a_response_that_a_server_withheld_stays_unscored(tmp_path: Path) -> None:
    folder = save(tmp_path / "e") / "sums"
    rows = pq.read_table(folder / "verdicts.parquet").to_pylist()
    why = "server: its filter cut the response (content_filter)"
    rows[1] |= {"response": "", "finish_reason": "content_filter", "verdict": "unscored", "answer": None, "reason": why}
    write_parquet(pa.Table.from_pylist(rows, schema()), folder / "verdicts.parquet")
    report = grade_file(folder)
    assert report.verdicts == {"correct": 1, "unscored": 1, "wrong": 2}  # the second of the four rows
    assert "1 rows have no whole response" in str(report) and report.unscored_reasons == {why: 1}
    (fmt,) = [score for score in report.scores["sums"] if score.name == "fmt"]
    assert (fmt.value, fmt.problems) == (0.0, 2)
    rows[0] |= {"boxed": True, "response": r"\boxed{1}"}
    write_parquet(pa.Table.from_pylist(rows, schema()), folder / "verdicts.parquet")
    (fmt,) = [score for score in grade_file(folder, policy="boxed_last").scores["sums"] if score.name == "fmt"]
    assert fmt.value == 0.5  # a: the one reply that came is boxed. b: none of two


def test_the_wrong_ones_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(save(tmp_path / "e")), "explain=wrong", "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)["explanations"]
    assert [(e["row"], e["gold"], e["extracted"]) for e in explained] == [(2, "1", "3"), (3, "2", "3"), (4, "2", "3")]


def test_a_folder_of_several_benchmarks_and_none_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path / "e")
    (tmp_path / "e" / "sums").rename(tmp_path / "e" / "other")
    save(tmp_path / "f")
    (tmp_path / "f" / "sums").rename(tmp_path / "e" / "sums")
    assert main(["grade", str(tmp_path / "e")]) == 2
    assert (
        f"found several. Give one of {tmp_path / 'e' / 'other'}, {tmp_path / 'e' / 'sums'}" in capsys.readouterr().err
    )
    (tmp_path / "empty").mkdir()
    assert main(["grade", str(tmp_path / "empty")]) == 2 and "It has no verdicts.parquet" in capsys.readouterr().err


def test_what_grade_wrote_is_graded_the_same_again(tmp_path: Path) -> None:
    rows = [{"answer": 5, "response": r"\boxed{5}"}, {"answer": 6, "response": r"\boxed{5}"}]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps({"problem_id": i} | row) + "\n" for i, row in enumerate(rows))
    )
    first = grade_file(tmp_path / "rows.jsonl", out=tmp_path / "graded.jsonl")
    again = grade_file(tmp_path / "graded.jsonl")
    assert first.verdicts == again.verdicts == {"correct": 1, "wrong": 1}
    assert again.agreement is not None and again.agreement.rate == 1.0


def test_gold_and_answer_that_differ_are_not_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"gold": "1", "answer": "2", "response": r"\boxed{2}"}) + "\n")
    assert main(["grade", str(file)]) == 2
    assert "row 1: both gold and answer, and they differ: columns=answer:gold" in capsys.readouterr().err
    for column, verdict in (("gold", "wrong"), ("answer", "correct")):
        assert main(["grade", str(file), f"columns=answer:{column}", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["verdicts"] == {verdict: 1}


def test_an_unknown_verdict_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"problem_id": "a", "gold": "1", "response": "1", "verdict": "right"}) + "\n")
    assert main(["grade", str(file)]) == 2
    assert "row 1: verdict is 'right'. Expected one of correct, wrong" in capsys.readouterr().err


def test_a_graded_file_is_graded_again_under_its_own_policy(tmp_path: Path) -> None:
    """Two lines of which one is right: by `answer_line` half of them are correct. In a box there is none."""
    rows = [{"answer": "4", "response": LINE.format(answer)} for answer in (4, 5)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    grade_file(tmp_path / "rows.jsonl", policy="answer_line", reasoning="whole", out=tmp_path / "graded.jsonl")
    again = grade_file(tmp_path / "graded.jsonl")
    assert (again.policy, again.reasoning) == ("answer_line", "whole")
    assert again.verdicts == {"correct": 1, "wrong": 1} and again.differing == []
    other = grade_file(tmp_path / "graded.jsonl", policy="boxed_last", reasoning="after")
    assert other.verdicts == {"no_answer": 2}
    assert [d.cause for d in other.differing] == ["the file's verdict is of policy answer_line, reasoning whole"]


def test_more_wrong_rows_than_are_explained_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"answer": "4", "response": r"\boxed{5}"}] * 23
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["grade", str(tmp_path / "rows.jsonl"), "explain=wrong"]) == 0
    output = capsys.readouterr()
    assert "explain=wrong: the first 20 of 23 rows that are wrong; explain=[30,31] explains others" in output.err
    assert output.out.count("\nrow ") == 20


def test_another_policy_is_no_wrong_label(tmp_path: Path) -> None:
    report = grade_file(save(tmp_path / "e"), policy="qwen")  # the number after "Answer:", with or without a box
    assert report.verdicts == {"correct": 1, "wrong": 3} and report.differing == []
    report = grade_file(tmp_path / "e", policy="boxed_last")
    assert report.verdicts == {"no_answer": 4}
    assert [d.cause for d in report.differing] == ["the file's verdict is of policy answer_line, reasoning whole"]


def test_verdicts_that_do_not_say_who_began_the_thought_are_read_as_before(tmp_path: Path) -> None:
    folder = save(tmp_path / "e") / "sums"
    table = pq.read_table(folder / "verdicts.parquet").drop_columns(["thought_begun"])
    write_parquet(table, folder / "verdicts.parquet")
    assert grade_file(folder).verdicts == {"correct": 1, "wrong": 3}


def test_an_audit_reads_no_box_in_a_thought_that_the_template_began() -> None:
    from evals.answer_files.read import extracted
    from evals.answer_files.sample import Sample

    sample = Sample("a", ("7",), r"It is \boxed{7}. Wait", finish_reason="length")
    assert extracted(sample) == "7" and extracted(replace(sample, thought_begun=True)) is None
    for begun, boxed in ((False, 1.0), (True, 0.0)):
        rows = [replace(sample, thought_begun=begun, expected=True)]
        verdicts, _ = by_policy(rows, Grader(), ("answer_tag", "qwen"))
        assert (verdicts["qwen"][0], verdicts["truncated"][0]) == (boxed, 1.0)

"""The authors' verdicts: which values are one, over how many rows a score is, and what is said of the others."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import rlvr
from evals.answer_files import grade_file
from evals.answer_files.differing import in_words
from evals.answer_files.labels import as_label
from evals.answer_files.reading import Reading, read_answers
from evals.answer_files.their_scores import TheirScore
from evals.grading import Conventions
from rlvr.cli import main

DUMP = [  # veRL's, one right and one wrong, the wrong one with a reward for its form
    {"input": "a", "output": r"\boxed{1}", "gts": "1", "score": 1.0, "step": 10},
    {"input": "b", "output": r"\boxed{3}", "gts": "2", "score": 0.1, "step": 10},
]


def lines(folder: Path, *rows: Any, name: str = "rows.jsonl") -> Path:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / name


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (True, True), (False, False), (1, True), (0, False), (1.0, True), (-1.0, False), ("1", True), ("0.0", False),
        ("true", True), ("False", False), ("C", True), ("I", False), ("N", False), (" correct ", True),
        (None, None), (float("nan"), None), ("", None), ("NaN", None),
    ],
)  # fmt: skip
def test_what_a_label_is(value: Any, label: bool | None) -> None:
    assert as_label(value) is label


@pytest.mark.parametrize("value", [0.1, 0.5, 2, "0.9", "P", "maybe", {"a": 1}, [1]])
def test_what_no_label_is(value: Any) -> None:
    with pytest.raises(ValueError, match=r"is no verdict\. Expected true or false, 1 or 0"):
        as_label(value)


@pytest.mark.parametrize(
    ("value", "threshold", "label"),
    [(1.0, 1, True), (0.9, 1, False), (0.9, 0.9, True), ("0.1", 0.9, False), ("P", 0.5, True), ("C", 1, True),
     (True, 1, True), ("I", 1, False), (None, 1, None), (-1, 0.5, False)],
)  # fmt: skip
def test_a_threshold_reads_every_number(value: Any, threshold: float, label: bool | None) -> None:
    assert as_label(value, threshold) is label


def test_a_reward_between_is_an_error_or_is_read_by_a_named_rule(tmp_path: Path, capsys: Any) -> None:
    """One of two is correct: 50.0 stands, and 0.1 is never left out."""
    two = lines(tmp_path, *DUMP)
    for command in (["grade", str(two)], ["audit", str(two), "printed=50.0"]):
        assert main(command) == 2
        assert (
            "row 2: score: 0.1 is no verdict" in (message := capsys.readouterr().err) and "label_threshold=1" in message
        )
    assert main(["audit", str(two), "printed=50.0", "label_threshold=1", "--json"]) == 0
    audited = json.loads(capsys.readouterr().out)
    assert (audited["verdict"], audited["file"]) == ("stands", pytest.approx(0.5))
    file = read_answers(two, Reading(label_threshold=1))
    assert [row.expected for row in file.rows] == [True, False] and file.labelled == 2
    assert file.recomputed == {"score": TheirScore(0.5, 0.5, 0.5, 2, 2)}
    report = grade_file(lines(tmp_path, DUMP[0], {**DUMP[1], "score": 0}))
    assert report.agreement is not None and report.agreement.rows == 2 and report.agreement.rate == 1


def test_a_reward_of_parts(tmp_path: Path) -> None:
    """0.9 * acc + 0.1 * format: 1, 0.9 (right, without the form), 0.1 and 0: two of four are correct from 0.9 on."""
    rows = [{**DUMP[0], "input": str(i), "score": score} for i, score in enumerate((1.0, 0.9, 0.1, 0.0))]
    file = read_answers(lines(tmp_path, *rows), Reading(label_threshold=0.9))
    assert file.recomputed["score"].value == pytest.approx(2 / 4)


def inspect_log(folder: Path) -> Path:
    """Four samples: one right, one right, one that the scorer could not score (NaN), one whose engine failed."""

    def sample(number: int, value: Any, completion: str, error: Any = None) -> dict[str, Any]:
        scores = None if error else {"match": {"value": value, "answer": "1"}}
        output = {"completion": completion, "choices": [{"stop_reason": "stop", "message": {"content": completion}}]}
        return {"id": number, "input": "q", "target": "1", "output": output, "scores": scores, "error": error}

    samples = [
        sample(1, "C", r"\boxed{1}"), sample(2, "C", r"\boxed{1}"), sample(3, float("nan"), r"\boxed{2}"),
        sample(4, None, "", {"message": "rate limit", "traceback": "..."}),
    ]  # fmt: skip
    (folder / "log.json").write_text(json.dumps({"samples": samples}))
    return folder / "log.json"


def test_samples_without_a_verdict_give_a_range(tmp_path: Path) -> None:
    """2 of 4 are known to be correct: 50 to 100 %, not 100."""
    file = read_answers(inspect_log(tmp_path))
    assert (len(file.rows), file.labelled, file.errored) == (4, 2, 1)
    assert file.recomputed == {"match": TheirScore(1.0, 0.5, 1.0, 2, 4)}
    report = grade_file(tmp_path / "log.json")
    assert report.verdicts == {"correct": 2, "unscored": 1, "wrong": 1}  # an engine's failure is no wrong answer
    text = str(report)
    assert "score from their verdicts (match): 0.5000 to 1.0000 (2 of 4 rows are labelled; 1.0000 of these)" in text
    assert "the 2 of 4 rows that are labelled" in text and "1 rows have no whole response" in text


def test_an_audit_says_over_how_many_samples_a_score_is(tmp_path: Path, capsys: Any) -> None:
    assert main(["audit", str(inspect_log(tmp_path)), "printed=100.0"]) == 0
    message = " ".join(capsys.readouterr().out.split())
    assert "2 of 4 samples are labelled; 50.0 with the others as incorrect, 100.0 as correct" in message


def test_a_label_in_some_rows_only(tmp_path: Path, capsys: Any) -> None:
    """`acc` in two of five rows, `score` in all: score is the label that every row has."""
    rows = [{**DUMP[0], "input": str(i), "score": float(i < 2), **({"acc": True} if i < 2 else {})} for i in range(5)]
    path = lines(tmp_path, *rows)
    file = read_answers(path)
    assert (file.label, file.labels, file.labelled) == ("score", ("acc", "score"), 5)
    assert file.recomputed["score"].value == pytest.approx(2 / 5)
    assert file.recomputed["acc"] == TheirScore(1.0, pytest.approx(2 / 5), 1.0, 2, 5)
    assert read_answers(path, Reading(label="score")).labelled == 5
    assert read_answers(path, Reading(label="acc")).labelled == 2
    whole = lines(tmp_path, *({**row, "acc": False} for row in rows))
    assert read_answers(whole).label == "acc"  # where every row has it


@pytest.mark.parametrize("name", ["correct", "is_correct", "label", "acc", "score"])
def test_columns_that_may_be_verdicts_are_named_with_the_option(name: str, tmp_path: Path, capsys: Any) -> None:
    path = lines(tmp_path, *({"gold": "1", "response": r"\boxed{1}", name: right} for right in (1.0, 0.0)))
    assert main(["audit", str(path), "printed=50.0"]) == 2
    message = capsys.readouterr().err
    assert f"no verdicts of the authors. columns=expected:{name} compares with their verdict" in message
    assert f"columns=expected:{name}" in str(grade_file(path))
    assert main(["audit", str(path), "printed=50.0", f"columns=expected:{name}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == pytest.approx(0.5)


def test_one_rule_for_expected_and_for_a_named_column(tmp_path: Path) -> None:
    for value, label in ((1, True), (1.0, True), ("true", True), (0, False), (None, None)):
        row = {"gold": "1", "response": r"\boxed{1}"}
        by_our_name = read_answers(lines(tmp_path, {**row, "expected": value}))
        named = read_answers(lines(tmp_path, {**row, "score": value}), Reading({"expected": "score"}))
        assert by_our_name.rows[0].expected is named.rows[0].expected is label
    with pytest.raises(ValueError, match=r"row 1: expected: 0\.5 is no verdict"):
        read_answers(lines(tmp_path, {"gold": "1", "response": "", "expected": 0.5}))


def test_a_reason_names_the_option_and_its_direction(tmp_path: Path) -> None:
    path = lines(tmp_path, {"gold": "28", "response": r"\boxed{28\%}", "expected": True})
    [sample] = grade_file(path).differing
    assert (sample.verdict, sample.cause) == ("wrong", "a convention: percent_sign=true accepts it")
    path = lines(tmp_path, {"gold": "5 cm", "response": r"\boxed{5}", "expected": False})
    [sample] = grade_file(path).differing
    assert (sample.verdict, sample.cause) == ("correct", "a convention: missing_unit=false refuses it")


def test_a_missing_gold_is_named_with_all_columns_of_the_file(tmp_path: Path) -> None:
    row = {"step": 1, "prompt": "q", "completion": r"\boxed{1}", "solution": "1", "reward": 1.0}
    with pytest.raises(ValueError, match=r'no gold answer.*columns=answer:PATH.*(\n  .*)+\n  solution +text +"1"\n'):
        read_answers(lines(tmp_path, row))
    assert read_answers(lines(tmp_path, row), Reading({"answer": "solution"})).rows[0].gold == "1"


def test_no_page_where_no_verdict_differs(tmp_path: Path, capsys: Any) -> None:
    path = lines(tmp_path, {"gold": "1", "response": r"\boxed{1}", "expected": True})
    assert main(["grade", str(path), f"page={tmp_path / 'page.md'}"]) == 0
    out, err = capsys.readouterr()
    assert "page.md; no verdict differs from a label" in err and "100.00% of 1 labelled rows as expected" in out
    assert not (tmp_path / "page.md").exists()


def test_a_page_for_the_authors_is_in_their_words(tmp_path: Path) -> None:
    rows = [
        {"problem_id": 1, "gold": "5 cm", "response": r"\boxed{5}", "expected": False},
        {"problem_id": 2, "gold": r"x \in [-2,7]", "response": r"\boxed{[-2, 7]}", "expected": False},
    ]
    path = lines(tmp_path, *rows)
    assert main(["grade", str(path), f"page={tmp_path / 'page.md'}"]) == 0
    page = (tmp_path / "page.md").read_text()
    assert page.startswith(f"# Verdicts that differ: {path.name}\n") and str(tmp_path) not in page
    assert f"when rlvr-harness {rlvr.__version__} grades them" in page
    assert "- 1 x a unit stands on one side only, which we accept\n" in page and "=false" not in page
    assert "| correct | several values: read as equal, without the left-hand side |" in page
    switches = [f.name for f in fields(Conventions) if f.type == "bool"]
    options = [f"{name}={value}" for name in switches for value in ("false", "true")]
    assert len({in_words(f"a convention: {option} accepts it") for option in options}) == len(options) == 6
    assert not any("=" in in_words(f"a convention: {option} accepts it") for option in options)


@pytest.mark.parametrize("value", ["B", "maybe", 18, "18"])
def test_a_column_of_another_meaning_is_listed_with_the_others_and_nothing_is_proposed(
    tmp_path: Path, value: Any
) -> None:
    """`expected` is the gold of some files, and `answer` what they extracted."""
    path = lines(tmp_path, {"problem_id": 1, "expected": value, "response": "B", "answer": "B", "correct": True})
    with pytest.raises(ValueError, match="is no verdict") as caught:
        read_answers(path)
    message = str(caught.value)
    assert "type columns=answer:PATH,response:PATH,expected:PATH" in message and "label_threshold" not in message
    assert "  correct " in message and "  answer " in message
    columns = {"answer": "answer", "response": "response", "expected": "correct"}
    assert read_answers(path, Reading(columns)).rows[0].expected is True

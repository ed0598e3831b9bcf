"""Files of other tools: each format by a small file of its shape, and by the real files where they are at hand."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evals.answer_files import grade_file
from evals.answer_files.differing import GOLD_CUT, cause, differing
from evals.answer_files.reading import Reading, read_answers
from evals.answer_files.sample import Sample
from evals.errors import UsageError
from evals.grading import Grade, Grader
from evals.grading.verdicts import Verdict
from tests.shared import SHARED

LOGS = SHARED / "data" / "logs"


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path) -> tuple[str, list[tuple[Any, ...]]]:
    file = read_answers(path)
    return file.format, [(r.problem_id, r.gold, r.response, r.expected, r.finish_reason) for r in file.rows]


def labelled(gold: str, expected: bool) -> Sample:
    return Sample(golds=(gold,), expected=expected)


def test_lighteval_marks_cut_responses(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    doc = {"id": "4", "query": "q", "choices": ["a", "b"], "gold_index": 1, "generation_size": 3}
    response = {"text": ["x", "y"], "output_tokens": [[1, 2], [1, 2, 3]]}
    pq.write_table(
        pa.Table.from_pylist([{"doc": doc, "model_response": response, "metric": {"m": 0.5}}]), tmp_path / "d"
    )
    assert read(tmp_path / "d") == ("lighteval", [("4", "b", "x", None, "stop"), ("4", "b", "y", None, "length")])


def test_results_of_verl_oat_and_every_eval_ever(tmp_path: Path) -> None:
    dump = {"input": "q", "output": "r", "gts": 5, "score": 1.0, "step": 3}
    assert read(lines(tmp_path / "a.jsonl", dump)) == ("verl", [("q", "5", "r", True, None)])
    result = {"input": "q", "output": ["r", "s"], "scores": [0.0, 1.0], "reference": "5"}
    (tmp_path / "b.json").write_text(json.dumps([result]))
    assert read(tmp_path / "b.json") == ("oat", [("q", "5", "r", False, None), ("q", "5", "s", True, None)])
    instance = {"sample_id": "a", "input": {"raw": "q", "reference": ["5"]}, "evaluation": {"is_correct": True}}
    single, two = ({**instance, "output": {"raw": raw}} for raw in (["r"], ["r", "s"]))
    assert read(lines(tmp_path / "c.jsonl", single)) == ("every_eval_ever", [("a", "5", "r", True, None)])
    with pytest.raises(ValueError, match="expected one response"):
        read(lines(tmp_path / "d.jsonl", two))


def test_a_column_map_reads_lists_as_samples(tmp_path: Path) -> None:
    """A list of responses has as many verdicts. A list of one gold, or of the same twice, is that one."""
    row = {"prompt": "q", "gt": ["5", 5], "model_output": ["r", "s"], "reward": [0.0, 1.0]}
    columns = {"problem": "prompt", "answer": "gt", "response": "model_output", "expected": "reward"}
    rows = read_answers(lines(tmp_path / "a.jsonl", row), Reading(columns)).rows
    got = [(r.problem_id, r.gold, r.response, r.expected) for r in rows]
    assert got == [("q", "5", "r", False), ("q", "5", "s", True)]


def test_any_table_with_a_column_map(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("idx,answer,output\n1,5,x\n")
    rows = read_answers(tmp_path / "t.csv", Reading({"problem_id": "idx", "response": "output"})).rows
    assert [(r.problem_id, r.gold, r.response) for r in rows] == [("1", "5", "x")]
    with pytest.raises(ValueError, match=r"no column 'out' for response\. There are idx, answer, output"):
        read_answers(tmp_path / "t.csv", Reading({"problem_id": "idx", "response": "out"}))


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv"])
def test_gold_and_response_are_enough(tmp_path: Path, suffix: str) -> None:
    """Without ids each row is a problem of its own. Rows of one problem's text are its samples."""
    rows = [{"gold": "5", "response": "so \\boxed{5}"}, {"gold": "5", "response": "so \\boxed{6}"}]
    path = tmp_path / f"rows{suffix}"
    if suffix == ".csv":
        path.write_text("gold,response\n" + "".join(f"{row['gold']},{row['response']}\n" for row in rows))
    elif suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        lines(path, *rows)
    report = grade_file(path)
    assert (report.problems, report.verdicts) == (2, {"correct": 1, "wrong": 1})
    report = grade_file(lines(tmp_path / "p.jsonl", *({"problem": "2 + 3?", **row} for row in rows)))
    assert (report.problems, report.samples) == (1, (2, 2))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"no known format has these fields\.(.|\n)*\n  step +number +1\n  completion +text +.x"
    ):
        read_answers(lines(tmp_path / "trl.jsonl", {"step": 1, "completion": "x"}))
    uneven = {"idx": 1, "gt": "5", "code": ["a", "b"], "score": [True], "pred": ["5"]}
    with pytest.raises(ValueError, match="row 1: lists of other lengths: code 2, score 1, pred 1"):
        read_answers(lines(tmp_path / "q.jsonl", uneven))
    with pytest.raises(ValueError, match="expected rows, found none"):
        read_answers(lines(tmp_path / "e.jsonl"))
    (tmp_path / "j.jsonl").write_text('{"a": 1}\n{"a"')
    with pytest.raises(ValueError, match="line 2: not JSON"):
        read_answers(tmp_path / "j.jsonl")


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("8.7e8", "8.7 \\times 10^8", "scientific notation"),
        ("0.5", "50", "percent: a hundred times larger or smaller"),
        ("102018", "102019", "tolerance or rounding"),
        ("1,2", "2,1", "several values: order or brackets"),
        ("1,2", "\\{2, 1\\}", "several values: order or brackets"),
        ("-3,3", "3", "several values: one or some of a list"),
        ("1,2", "1,3", "several values: not the same ones"),
        ("52451256", "52{,}451{,}257", "other"),
        ("5", "x=5", "left-hand side or equation"),
        ("3", "3 \\text{cm}", "units, words or symbols"),
        ("3", "3 cm", "units, words or symbols"),
        ("e^{it}+Ax", "e^{i t} + xA", "other"),  # products of letters, and no words
        ("5 \\text{cm}", "6 \\text{cm}", "other"),
        ("(+5)(b+2)", "(a + 5)(b + 2)", GOLD_CUT),
        ("3", "4", "differs in value"),
        ("28", "28\\%", "the same number, written otherwise"),
        ("3", None, "no answer by any rule of extraction"),
    ],
)
def test_each_disagreement_has_its_cause(gold: str, answer: str | None, expected: str) -> None:
    grade = Grade(Verdict.WRONG if answer else Verdict.NO_ANSWER, answer)
    assert cause(labelled(gold, True), grade, {"qwen": grade}) == expected


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("27", "27", "equal to the gold, labelled incorrect"),
        ("1,000", "1000", "equal to the gold, labelled incorrect"),
        ("10,\\!080", "10080", "equal to the gold, labelled incorrect"),
        ("(2,4)", "(2, 4)", "equal to the gold, labelled incorrect"),
        ("(-7,-1)", "\\left( -7, \\ -1\\right)", "equal to the gold, labelled incorrect"),
        ("10^{3},10", "\\left( 1000, \\ 10\\right)", "several values: read as equal"),
        ("\\frac43", "\\frac{4}{3}", "equal in another form"),
    ],
)
def test_each_doubtful_label_has_its_cause(gold: str, answer: str, expected: str) -> None:
    [grade] = Grader().grade_answers([(gold, answer)])
    assert grade.verdict == "correct" and cause(labelled(gold, False), grade, {"qwen": grade}) == expected


def test_of_a_gold_that_is_a_solution_its_answer_is_compared() -> None:
    """A solution of GSM8K, with commas and equations before its answer. lm-eval's filter, which asks for ####, found
    none."""
    row = labelled("If 2 hens lay 3, 4 and 5 eggs, 2+3 = 5\n#### 20", False)
    [grade] = Grader().grade_answers([("20", "20")])
    assert cause(row, grade, {"qwen": grade}) == "equal to the gold, labelled incorrect"
    assert cause(replace(row, their_answer="[invalid]"), grade, {"qwen": grade}) == "no answer by their extraction"
    [disagreement] = differing([replace(row, problem_id="1", response="It is \\boxed{20}")], [grade], Grader(), "qwen")
    assert (disagreement.gold, disagreement.cause) == ("20", "equal to the gold, labelled incorrect")


def test_a_gold_that_their_normalisation_cut() -> None:
    """Their gold and their answer are both empty, for an answer in words. Ours is what the response says."""
    row = replace(labelled("", True), their_answer="")
    east = Grade(Verdict.WRONG, "\\text{east}")
    assert (
        cause(row, east, {}) == "the gold may be cut in the file: words, letters, braces, a percent sign or line breaks"
    )
    assert cause(replace(row, expected=False), Grade(Verdict.CORRECT, "\\text{east}"), {}).startswith("units")
    quarter = Grade(Verdict.WRONG, "\\frac{1}{4}")  # a pattern stopped at the first brace that closes
    assert cause(labelled("\\frac{1", True), quarter, {}).startswith("the gold may be cut in the file")
    assert cause(labelled("\\left\\{1", True), quarter, {}) == "other"
    assert cause(replace(row, their_answer="west"), east, {}).startswith("units")


def test_an_answer_in_another_form_is_said_of_the_policy_in_use() -> None:
    row, none, correct = labelled("5", True), Grade(Verdict.NO_ANSWER, None), Grade(Verdict.CORRECT, "5")
    assert cause(row, none, {"qwen": correct}) == "answer not in a box, but read by policy=qwen"
    assert cause(row, none, {"qwen": correct}, policy="hashes").startswith("answer not in the form of hashes, but")


def test_a_reason_says_only_what_was_computed() -> None:
    """A wrong part of a response explains no refusal, unless they extracted it. A policy that reads a value is one."""
    row, whole = labelled("\\frac43", False), Grade(Verdict.CORRECT, "\\frac{4}{3}")
    none = Grade(Verdict.NO_ANSWER, None)
    two = Grade(Verdict.WRONG, "2")
    assert cause(row, whole, {"qwen": two}, policy="whole") == "equal in another form"
    assert cause(replace(row, their_answer="2"), whole, {"qwen": two}) == "read by policy=qwen"
    read = cause(labelled("106", True), none, {"whole": two, "qwen": Grade(Verdict.WRONG, "106.12")})
    assert read == "no answer in a box, and another value read by policy=qwen"
    assert cause(labelled("106", True), none, {"whole": two, "qwen": none}) == "no answer by any rule of extraction"
    letter = {"whole": Grade(Verdict.CORRECT, '"C. Leucovorin')}
    assert cause(labelled("C", True), none, letter, policy="letter").endswith("letter, but read by policy=whole")


def test_cause_is_the_extraction_where_another_policy_agrees_with_the_label() -> None:
    wrong, boxed = Grade(Verdict.WRONG, "7"), Grade(Verdict.CORRECT, "5")
    row = labelled("5", True)
    assert cause(row, wrong, {"qwen": wrong, "boxed_first": boxed}) == "read by policy=boxed_first"
    nothing = Grade(Verdict.NO_ANSWER, None)  # no answer agrees with no label
    row = labelled("5", False)
    assert cause(row, Grade(Verdict.CORRECT, "5"), {"qwen": nothing}).startswith("equal to the gold")


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.skipif(not LOGS.is_dir(), reason="the logs of other labs are not on this machine")
def test_which_golds_make_the_difference_on_math500() -> None:
    """SkyThought's file of the untrained Qwen2.5-Math-7B, by its `gt` and by MATH-500's golds."""
    manifest = json.loads((LOGS / "manifest.json").read_text())
    (entry,) = (e for e in manifest if "Qwen2.5-Math-7B/math500" in e["path"])
    rows = read_answers(LOGS / entry["file"]).rows
    lines = gzip.decompress((LOGS / entry["file"]).read_bytes()).splitlines()
    whole = [json.loads(line)["answer"] for line in lines]
    labels = {row.problem_id: row.expected for row in rows}
    grader = Grader()
    correct = [
        {
            row.problem_id: grade.verdict == Verdict.CORRECT
            for row, grade in zip(rows, grader.grade_responses(triples, "qwen"), strict=True)
        }
        for triples in (
            [(row.gold, row.response, None) for row in rows],
            [(gold, row.response, None) for gold, row in zip(whole, rows, strict=True)],
        )
    ]
    assert [sum(verdicts.values()) for verdicts in (labels, *correct)] == [262, 257, 263]
    by_file, by_math500 = ({key for key in labels if labels[key] != verdicts[key]} for verdicts in correct)
    assert by_file == {"67", "97", "102", "205", "298", "419", "296"} and by_math500 == {"67", "198", "296"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "line 1: not UTF-8"),
        (b"PAR1xx", "not readable as Parquet"),
        (b"PK\x03\x04xx", "damaged or cut short"),
        (b"[" * 100_000, "line 1: nested too deeply"),
        (b"\x1f\x8bxx", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"x\.json.*{message}"):
        read_answers(path)


def test_a_rollouts_text_may_be_called_response(tmp_path: Path) -> None:
    def read(key: str) -> list[str]:
        row = {"qid": "a", "gold": "4", "rollouts": [{key: f"\\boxed{{{n}}}", "correct": n == 4} for n in (4, 5)]}
        (tmp_path / "nested.jsonl").write_text(json.dumps(row))
        return [row.response for row in read_answers(tmp_path / "nested.jsonl", Reading({})).rows]

    assert read("text") == read("response") == ["\\boxed{4}", "\\boxed{5}"]
    with pytest.raises(ValueError, match=r"rollouts.0: expected text \(or response\) of each, got one with "):
        read("words")


def test_of_two_filters_of_lm_eval_each_has_its_own_answer(tmp_path: Path) -> None:
    def row(name: str, extracted: str, right: float) -> dict[str, Any]:
        about = {"doc_id": 0, "doc": {"question": "4 + 5 = ?"}, "target": "5 + 4\n#### 9", "filter": name}
        return about | {"resps": [["The answer is 9."]], "filtered_resps": [extracted], "exact_match": right}

    rows = [row("strict-match", "[invalid]", 0.0), row("flexible-extract", "9", 1.0)]
    path = tmp_path / "samples_gsm8k.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for label, answer in (("exact_match,strict-match", "[invalid]"), ("exact_match,flexible-extract", "9")):
        [read] = read_answers(path, Reading({}, label=label)).rows
        assert read.their_answer == answer
    strict = Reading({}, label="exact_match,strict-match")
    [difference] = grade_file(path, policy="qwen", reading=strict).differing
    assert difference.cause == "no answer by their extraction"


def test_values_that_json_has_no_form_for(tmp_path: Path) -> None:
    """Images, times and decimals of a Parquet file: written as text, and listed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {"image": [b"\xff\xd8"], "when": [datetime(2026, 1, 2)], "cost": [Decimal("1.5")]}
    named = {"problem": ["1 + 1?"], "answer": ["2"], "response": [r"\boxed{2}"]}
    pq.write_table(pa.table(named | columns), tmp_path / "a.parquet")
    assert grade_file(tmp_path / "a.parquet", out=tmp_path / "out.jsonl").agreement is None
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (row["image"], row["when"], row["cost"]) == (r"b'\xff\xd8'", "2026-01-02 00:00:00", "1.5")
    assert row["verdict"] == "correct"
    pq.write_table(pa.table(columns), tmp_path / "b.parquet")
    with pytest.raises(UsageError, match=r"cost\s+object\s+\"1.5\""):
        grade_file(tmp_path / "b.parquet")


def test_several_samples_of_lm_eval_count_once_under_several_filters(tmp_path: Path) -> None:
    """Three problems with four samples, two of which are equal, under three filters: 12 samples."""
    texts = ["It is 1.", "It is 2.", "It is 2.", "It is 3."]
    rows = [
        {"doc_id": doc, "doc": {"question": f"q{doc}"}, "target": "2", "resps": [texts], "filtered_resps": ["2"]}
        | {"filter": name, "metrics": ["exact_match"], "exact_match": 1.0}
        for doc in range(3)
        for name in ("score-first", "maj@4", "maj@2")
    ]
    path = tmp_path / "samples_gsm8k.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = [(sample.problem_id, sample.response) for sample in read_answers(path).rows]
    assert read == [(str(doc), text) for doc in range(3) for text in texts]

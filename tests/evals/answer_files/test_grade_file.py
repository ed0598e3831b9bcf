"""`rlvr grade FILE`: checks before grading, metrics, agreement, and the written file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from evals.answer_files import grade_file
from evals.answer_files.policies import PolicyEffect
from evals.grading.extraction import POLICIES
from rlvr.cli import main

RESPONSES = [
    {"problem_id": "a", "answer": "5", "response": r"\boxed{5}", "note": 1},
    {"problem_id": "b", "answer": 7, "response": r"\boxed{8}", "note": 2},
    {"problem_id": "a", "answer": "5", "response": r"\boxed{4}", "note": 3},
    {"problem_id": "b", "answer": 7, "response": "no idea", "finish_reason": "length", "note": 4},
]
UNREAD = r"\text{So }24^{2}\text{ divides }9!\text{ and the power }24^{3}\text{ does not.}"  # unscored


@pytest.fixture
def write(tmp_path):
    def write(rows):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def test_responses_of_a_file_are_graded_and_scored(write, tmp_path):
    out = tmp_path / "graded.jsonl"
    report = grade_file(write(RESPONSES), out=out)
    assert report.verdicts == {"correct": 1, "truncated": 1, "wrong": 2}
    assert (report.rows, report.problems, report.samples) == (4, 2, (2, 2))
    # a: 1 of 2 right, b: 0 of 2. avg@2 = (1/2 + 0)/2 = 1/4. Pass@2 = (1 + 0)/2. 3 of 4 have a box.
    values = {score.name: score.value for score in report.scores["answers"]}
    assert values["avg@2"] == pytest.approx(1 / 4) and "pass@1" not in values
    assert values["pass@2"] == pytest.approx(1 / 2)
    assert values["fmt"] == pytest.approx(3 / 4)
    # maj@2: a has one vote each for 5 and 4, a tie, so 1/2. b has one vote, for a wrong answer.
    assert values["maj@2"] == pytest.approx(1 / 4)
    written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["note"] for row in written] == [1, 2, 3, 4]
    assert [row["verdict"] for row in written] == ["correct", "wrong", "wrong", "truncated"]
    assert [row["extracted"] for row in written] == ["5", "8", "4", None]
    assert json.loads(json.dumps(report.as_dict()))["verdicts"] == report.verdicts
    assert "2 problems, 2 samples each" in str(report)


def test_agreement_with_the_labels(write):
    answers = ["0.5", "0.6", "0.5", "0.7", UNREAD, "0.7"]
    expected = [True, True, False, False, False, None]
    rows = [
        {"gold": "1/2", "response": f"\\boxed{{{answer}}}", "expected": label}
        for answer, label in zip(answers, expected, strict=True)
    ]
    report = grade_file(write(rows))
    assert report.verdicts == {"correct": 2, "unscored": 1, "wrong": 3}
    assert report.unscored_reasons == {"prose: a sentence or derivation whose conclusion is not read": 1}
    total = report.agreement
    assert total is not None and total.rate == pytest.approx(2 / 5)  # an unscored row does not agree
    assert (total.true_accepted, total.true_refused, total.false_accepted, total.false_refused) == (1, 1, 1, 1)
    assert (total.unscored, total.rows) == (1, 5)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("{", "line 2: not JSON"),
        ("[" * 100_000, "line 2: nested too deeply"),
        (r'{"problem_id": "a", "answer": "1", "response": "\ud800"}', "line 2: half of a surrogate"),
        ("[1]", "line 2: expected a JSON object"),
        ('{"problem_id": 1, "answer": "5"}', "row 2: no field 'response'"),
        ('{"problem_id": 1, "answer": null, "response": ""}', "row 2: this row has no gold answer"),
        ('{"problem_id": 1, "answer": true, "response": ""}', "row 2: answer is True"),
        ('{"problem_id": 1.5, "answer": "5", "response": ""}', "row 2: problem_id is 1.5"),
        ('{"problem_id": 1, "answer": "5", "response": true}', "row 2: response is True"),
        ('{"problem_id": "a", "answer": "6", "response": ""}', "row 2: problem 'a' has the answer '6'.*row 1"),
        ('{"problem_id": 1, "answer": "5", "response": "", "finish_reason": 3}', "row 2: finish_reason is 3"),
        ('{"problem_id": 1, "answer": "5", "response": "", "expected": "yes"}', "row 2: expected: 'yes' is no verdict"),
    ],
)
def test_a_bad_line_is_named_before_grading(tmp_path, line, place):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(RESPONSES[0]) + "\n" + line + "\n", encoding="utf-8")
    out = tmp_path / "graded.jsonl"
    with pytest.raises(ValueError, match=r"rows\.jsonl, " + place):
        grade_file(path, out=out)
    assert not out.exists()


def test_what_cannot_be_written_or_scored_is_refused_before_grading(write, tmp_path):
    for name in ("graded.csv", "nowhere/graded.jsonl"):
        with pytest.raises(ValueError, match=r"ends in \.jsonl, in a folder that exists"):
            grade_file(write(RESPONSES), out=tmp_path / name)
    with pytest.raises(ValueError, match=r"k is 3\. Expected 1 to 2"):
        grade_file(write(RESPONSES), ks=[1, 3])
    with pytest.raises(ValueError, match="expected rows, found none"):
        grade_file(write([]))


def test_rows_of_one_problem_apart_and_columns_that_begin_late(write, tmp_path):
    rows = [
        {"problem_id": 1, "answer": "5", "response": r"\boxed{4}", "expected": True},
        {"problem_id": "2", "answer": 7, "response": r"\boxed{8}", "finish_reason": "stop"},
        {"problem_id": 1, "answer": "5", "response": r"\boxed{5.0}", "expected": False, "note": 1},
        {"problem_id": "2", "answer": 7, "response": "it is 7", "note": 2.5},
        {"problem_id": 1, "answer": "5", "response": rf"\boxed{{{UNREAD}}}", "verdict": "theirs"},
        {"problem_id": "2", "answer": 7, "response": r"\boxed{8.0}", "nested": {"a": [None]}},
        {"problem_id": 1, "answer": "5", "response": r"\boxed{4.0}", "nested": {"a": [1], "b": "x"}},
        {"problem_id": "2", "answer": 7, "response": "cut", "finish_reason": "length", "expected": True},
    ]
    path, progress = write(rows), []
    report = grade_file(path, out=tmp_path / "g.jsonl", explain=[4, 8], progress=lambda *at: progress.append(at))
    assert [at for at in progress if at[0] == "rows"] == [("rows", done, 8) for done in range(1, 9)]
    policy_progress = [at for at in progress if at[0] == "other policies"]
    assert (
        policy_progress == [("other policies", done, len(report.policies)) for done in range(len(report.policies))]
        and policy_progress
    )
    assert {row: explanation.gold for row, explanation in report.explanations.items()} == {4: "7", 8: "7"}
    # 4 and 4.0 are one wrong answer of problem 1, in rows 1 and 7. 5.0 is correct. A sentence has no verdict
    written = [json.loads(line) for line in (tmp_path / "g.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["answer_class"] for row in written] == [0, 0, 1, None, None, 0, 0, None]
    assert [row["sample"] for row in written] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert written[4]["verdict_in_file"] == "theirs"


SENTENCE = rf"\boxed{{{UNREAD}}}"
TOWER = r"\boxed{9^{9^{9^{9}}}}"  # not 4, and plainly so


@pytest.mark.parametrize(("rest", "ends"), [(SENTENCE, ("100.0", "25.0 to 100.0 if graded")), (TOWER, ("25.0", None))])
def test_one_correct_and_three_unscored_samples(
    rest: str, ends: tuple[str, str | None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    responses = [r"\boxed{4}", rest, rest, rest]
    rows = [{"problem_id": p, "answer": "4", "response": r} for p in ("a", "b") for r in responses]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["grade", str(path)]) == 0
    printed = capsys.readouterr().out
    # one of four samples is correct: avg@4 is 1/4, or 1 where the other three have no verdict
    [average] = [line for line in printed.splitlines() if "avg@4" in line]
    assert ends[0] in average
    assert ("if graded" in average) == (ends[1] is not None)
    assert ends[1] is None or ends[1] in average


def test_the_advice_names_the_form_that_most_responses_have(write):
    """512 answers after `####`, of which every second is right, by the default policy, which asks for a box."""
    rows = [{"gold": "42", "response": f"So it is so.\n#### {42 + i % 2}"} for i in range(512)]
    report = grade_file(write(rows))
    assert report.verdicts == {"no_answer": 512}
    assert {e.policy for e in report.policies} == set(POLICIES) - {"boxed_last", "letter"}  # no gold is a letter
    correct = [effect.correct for effect in report.policies]
    assert correct == sorted(correct, reverse=True)
    [hashes] = [effect for effect in report.policies if effect.policy == "hashes"]
    assert (hashes.correct, hashes.found, hashes.gained, hashes.lost) == (256, 512, 256, 0)
    assert hashes.changed == 512 and "512 verdicts change (correct: +256, -0)" in str(hashes)  # and 256 to wrong
    assert "512 of 512 responses have no answer in the form of boxed_last; 512 have one" in (text := str(report))
    assert "in the form of hashes: policy=hashes" in text and "policy=whole" not in text
    assert grade_file(write(rows), policy="hashes").advice is None
    assert "policy=whole" in str(grade_file(write([{"gold": "42", "response": "42"}])))
    half = [{"gold": f"{i}", "response": f"#### {i}" if i % 2 else f"It adds up. The answer is {i}."} for i in range(8)]
    assert (
        "policy=qwen" in (advice := grade_file(write(half)).advice or "") and "whole" not in advice
    )  # which reads half
    assert "4 have one in the form of hashes" in advice
    bare = [{"gold": f"{i}", "response": f"The answer is {i}."} for i in range(8)]
    assert (
        "policy=qwen" in (advice := grade_file(write(bare)).advice or "") and "whole" not in advice
    )  # no bare answers
    tagged = {"gold": "so \\boxed{42}", "response": "<think>hm, one more thought</think><answer>42</answer>"}
    assert "policy=answer_tag" in str(grade_file(write([tagged])))  # golds that are solutions, too
    assert grade_file(write([tagged]), policy="answer_tag").verdicts == {"correct": 1}


def test_the_advice_names_the_policy_that_reads_most_of_them_right(write):
    """As in a game of numbers: the last number of `(63 * 12) - 3` is not its value. `whole` reads it."""
    rows = [{"gold": str(n * 12 - 3), "response": f"({n} * 12) - 3"} for n in range(2, 12)]  # ten of ten are right
    advice = grade_file(write(rows)).advice or ""
    assert "policy=whole finds one in 10, and 10 are correct" in advice and "policy=qwen" not in advice


def test_the_advice_is_not_a_form_that_reads_less_right(write):
    """As with gemma: eight of ten have `Answer:` before the steps, and their last number is right in all ten."""
    line = "Answer:\nWe count the apples one by one. That gives {} apples"
    rows = [{"gold": str(n), "response": line.format(n) if n % 5 else f"That gives {n}"} for n in range(10, 20)]
    advice = grade_file(write(rows)).advice or ""
    assert "8 have one in the form of answer_line; policy=qwen finds one in 10, and 10 are correct" in advice


def test_golds_that_number_the_options_are_told_from_letters(write):
    """As in Fair-RLVR's predictions: every gold is an index, and every response is right by its letter."""
    rows = [{"gold": str(n % 3), "response": f"So it is <answer>({'abc'[n % 3]})</answer>"} for n in range(9)]
    report = grade_file(write(rows), policy="answer_tag")
    assert report.verdicts == {"wrong": 9}
    assert "no answer is correct: the golds are numbers, such as 0, and 9 of 9 answers are letters" in str(report)


def test_ten_letters_are_a_multiple_choice(write):
    """MMLU-Pro has options A to J. Ten rows, each with its own letter, and all are right."""
    rows = [
        {"gold": letter, "response": f"So it must be option {letter}. The answer is ({letter})."}
        for letter in "ABCDEFGHIJ"
    ]
    report = grade_file(write(rows))
    assert report.policy == "letter" and report.verdicts == {"correct": 10}


def test_truncated_responses_call_for_no_other_policy(write):
    rows = [{"gold": "1", "response": "<think>hm", "finish_reason": "length"}] * 3
    assert grade_file(write(rows)).advice is None


def test_a_share_of_scored_samples_names_how_many() -> None:
    # one of 8 scored is correct, 2 of 10 are not scored
    assert "12.5 % correct of 8 scored, 90.0 % have its form" in str(PolicyEffect("qwen", 10, 1, 1, 0, 2, 9, 10, 1))
    assert "10.0 % correct, 90.0 % have its form" in str(PolicyEffect("qwen", 10, 1, 1, 0, 0, 9, 10, 1))
    # two replies were withheld: 6 of the 8 that came are boxed
    assert "12.5 % correct of 8 scored, 75.0 % have its form; 0" in str(PolicyEffect("qwen", 10, 1, 0, 0, 2, 6, 8, 0))


def test_a_file_can_be_piped_in(tmp_path, monkeypatch, capsys):
    # two responses, one of them right. The answers of any format are found in the content
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    rows = [{"problem_id": p, "gold": "4", "response": rf"\boxed{{{p}}}"} for p in ("4", "5")]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False))
    assert main(["grade", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == {"correct": 1, "wrong": 1}
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    assert main(["grade", "-"]) == 2
    assert "-: nothing is piped in. Type cat FILE | rlvr grade -" in capsys.readouterr().err

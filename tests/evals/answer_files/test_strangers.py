"""Files as other projects write them, by the fields that their code names. Questions and answers are ours.

Four problems, one sample each (or the same one twice): the second is wrong, the third is equal in another form, so that
three of four are correct by their verdicts and by ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.answer_files import grade_file
from evals.answer_files.reading import Reading, read_answers

QUESTIONS = ["40 + 2?", "3 * 5?", "1/2 + 1/4?", "2^10?"]
GOLDS = ["42", "15", "\\frac{3}{4}", "1024"]
RESPONSES = [r"So \boxed{42}.", r"So \boxed{16}.", r"It is \boxed{0.75}.", r"\boxed{1024}"]
RIGHT = [True, False, True, True]


def chat(question: str, response: str) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    return [{"role": "user", "content": question}], [{"role": "assistant", "content": response}]


def skyrl(i: int, q: str, g: str, r: str, ok: bool) -> dict[str, Any]:
    extras = {"reward_spec": {"method": "rule", "ground_truth": g}, "extra_info": {"index": i}}
    return {
        "input_prompt": q, "output_response": r + "<|im_end|>", "score": [0.0, 0.0, float(ok)], "stop_reason": "stop",
        "env_class": "gsm8k", "env_extras": extras, "data_source": "openai/gsm8k",
    }  # fmt: skip


def verifiers(i: int, q: str, g: str, r: str, ok: bool) -> dict[str, Any]:
    prompt, completion = chat(q, r)
    return {
        "example_id": i, "prompt": prompt, "completion": completion, "info": {}, "answer": g, "reward": float(ok),
        "is_completed": True, "is_truncated": False, "metrics": {"correct_answer": float(ok), "format": 0.5},
    }  # fmt: skip


def lighteval_before(i: int, q: str, g: str, r: str, ok: bool) -> dict[str, Any]:
    return {
        "example": q, "full_prompt": q, "predictions": repr([r]) if i % 2 else [r], "gold": repr([g]), "choices": [g],
        "gold_index": [0], "metrics": {"extractive_match": float(ok)}, "specifics": {},
    }  # fmt: skip


def nemo_skills(i: int, q: str, g: str, r: str, ok: bool) -> dict[str, Any]:
    judged = f"Reasoning: ...\nJudgement: {'Yes' if ok else 'No'}"
    return {
        "problem": q, "expected_answer": g, "generation": r, "predicted_answer": "16", "num_generated_tokens": 7,
        **({"symbolic_correct": ok} if i else {"symbolic_correct": ok, "extra": None}), "judgement": judged,
    }  # fmt: skip


def open_r1(i: int, q: str, g: str, r: str, ok: bool) -> dict[str, Any]:
    return {
        "problem": q, "answer": g, "uuid": str(i), "generations": [f"<think>no</think>{r}"] * 2,
        "correctness_math_verify": [ok, ok], "correctness_llama": None, "finish_reasons": ["stop", "stop"],
    }  # fmt: skip


def verl_generation(i: int, q: str, g: str, r: str, ok: bool) -> dict[str, Any]:
    return {
        "data_source": "math", "prompt": chat(q, r)[0], "reward_model": {"style": "rule", "ground_truth": g},
        "extra_info": {"index": i}, "responses": [r, r],
    }  # fmt: skip


def opencompass(i: int, q: str, g: str, r: str, ok: bool) -> dict[str, Any]:
    return {"idx": i, "origin_prompt": [{"role": "HUMAN", "prompt": q}], "prediction": r, "gold": g}


MAKERS: dict[str, tuple[Callable[..., dict[str, Any]], str | None]] = {
    "skyrl": (skyrl, "score"),
    "verifiers": (verifiers, "reward"),
    "lighteval_before": (lighteval_before, "extractive_match"),
    "nemo_skills": (nemo_skills, "symbolic_correct"),
    "open_r1": (open_r1, "correctness_math_verify"),
    "verl_generation": (verl_generation, None),
    "opencompass": (opencompass, None),
}


def rows(make: Callable[..., dict[str, Any]]) -> list[dict[str, Any]]:
    return [make(i, *values) for i, values in enumerate(zip(QUESTIONS, GOLDS, RESPONSES, RIGHT, strict=True))]


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", MAKERS)
def test_three_of_four_are_correct(name: str, tmp_path: Path) -> None:
    make, label = MAKERS[name]
    report = grade_file(lines(tmp_path / "a.jsonl", rows(make)))
    assert report.stated is not None and (report.stated.format, report.stated.label) == (name, label)
    [scores] = report.scores.values()
    assert (report.problems, scores[0].value) == (4, pytest.approx(3 / 4))
    if label is not None:
        assert report.stated.recomputed[label].value == pytest.approx(3 / 4)
        assert report.agreement is not None and report.agreement.rate == 1


def test_opencompass_files_are_objects_by_number(tmp_path: Path) -> None:
    whole = {str(i): {k: v for k, v in row.items() if k != "idx"} for i, row in enumerate(rows(opencompass))}
    (tmp_path / "predictions.json").write_text(json.dumps(whole, indent=4))
    assert grade_file(tmp_path / "predictions.json").scores["answers"][0].value == pytest.approx(3 / 4)
    details = {
        str(i): {"prompt": q, "origin_prediction": r, "predictions": "16", "references": g, "correct": [ok]}
        for i, (q, g, r, ok) in enumerate(zip(QUESTIONS, GOLDS, RESPONSES, RIGHT, strict=True))
    }
    (tmp_path / "results.json").write_text(json.dumps({"accuracy": 75.0, "details": {"type": "GEN", **details}}))
    report = grade_file(tmp_path / "results.json")
    assert report.agreement is not None and (report.agreement.rows, report.agreement.rate) == (4, 1)


def test_a_gold_that_is_an_object_or_missing_is_an_error(tmp_path: Path) -> None:
    """Countdown's golds in veRL's dumps, and environments that keep the answer elsewhere: never graded as texts."""
    dump = {"input": "q", "output": r"\boxed{24}", "gts": {"target": 24, "numbers": [1, 3, 6]}, "score": 1.0, "step": 5}
    path = lines(tmp_path / "a.jsonl", [dump])
    with pytest.raises(ValueError, match=r"row 1: answer is \{'target': 24.*columns=answer:COLUMN\.KEY, which"):
        read_answers(path)
    assert read_answers(path, Reading({"answer": "gts.target"})).rows[0].gold == "24"
    with pytest.raises(ValueError, match="row 1: this row has no gold answer"):
        read_answers(lines(tmp_path / "b.jsonl", [{**verifiers(0, "q", "", "r", True)}]))


def test_several_golds_are_read_by_a_stated_rule(tmp_path: Path) -> None:
    """veRL's dumps do not say what a list of golds is: x^2 = 4 has two roots to list, a share two spellings."""
    dump = {"input": "q", "output": r"\boxed{-2}", "gts": ["2", "-2"], "score": 1.0, "step": 5}
    both = {**dump, "input": "p", "output": r"\boxed{-2, 2}", "score": 0.0}
    same = {**dump, "input": "r", "gts": ["-2", "-2"]}
    path = lines(tmp_path / "a.jsonl", [dump, both, same])
    message = r"row 1: answer is \['2', '-2'\], 2 golds. Expected golds=any .* or golds=all"
    with pytest.raises(ValueError, match=message):
        grade_file(path)
    alternatives = grade_file(path, reading=Reading(golds="any"), explain=[1, 2])
    assert alternatives.verdicts == {"correct": 2, "wrong": 1} and len(alternatives.differing) == 0
    assert "2 rows have several golds; any of them is right" in str(alternatives)
    assert alternatives.explanations[1].gold == "-2" and alternatives.explanations[2].gold == "2"
    parts = grade_file(path, reading=Reading(golds="all"))
    assert parts.verdicts == {"correct": 2, "wrong": 1} and [d.row for d in parts.differing] == [1, 2]
    assert "2 rows have several golds; a response must list them all" in str(parts)
    normalised = lines(tmp_path / "c.jsonl", [{**dump, "output": r"\boxed{2}", "gts": ["-2", "2"], "score": 0.0}])
    assert grade_file(normalised).verdicts == {"wrong": 1}  # 2 is -2 without its sign
    assert grade_file(normalised, reading=Reading(golds="any")).verdicts == {"correct": 1}
    with pytest.raises(ValueError, match=r"golds is 'some'\. Expected any, all, or any:/"):
        Reading(golds="some")
    with pytest.raises(ValueError, match=r"answer is \['2', None\], a list with None in it. Expected texts or numbers"):
        grade_file(lines(tmp_path / "b.jsonl", [{**dump, "gts": ["2", None]}]), reading=Reading(golds="any"))


def test_several_golds_of_tools_that_take_any(tmp_path: Path) -> None:
    """Written out and graded again they still count alike. Other policies are tried against each gold, too."""
    prompt = {"full_prompt": "a share?", "gold": ["60", "three fifths"], "metrics": {"em": 1.0}}
    words = [{**prompt, "predictions": [r"\boxed{\text{three fifths}}"]}, {**prompt, "predictions": [r"\boxed{60}"]}]
    other = {**prompt, "predictions": ["The answer is three fifths."], "metrics": {"em": 0.0}}
    path = lines(tmp_path / "a.jsonl", [*words, other])
    report = grade_file(path, out=tmp_path / "graded.jsonl")
    assert report.verdicts == {"correct": 2, "no_answer": 1} and report.agreement is not None
    assert report.agreement.rate == 1 and len(report.differing) == 0
    assert max(effect.correct for effect in report.policies) == 3  # qwen finds "three fifths", equal to the second gold
    again = grade_file(tmp_path / "graded.jsonl")
    assert again.verdicts == report.verdicts and "any of them is right" in str(again)
    assert {row["gold"] for row in map(json.loads, (tmp_path / "graded.jsonl").read_text().splitlines())} == {"60"}


def test_lighteval_s_gold_index_may_be_several(tmp_path: Path) -> None:
    row = {
        "doc": {"id": "1", "query": "q", "choices": ["5", "five", "6"], "gold_index": [0, 1]},
        "model_response": {"text": [r"\boxed{\text{five}}"]},
        "metric": {"em": 1.0},
    }
    report = grade_file(lines(tmp_path / "a.jsonl", [row]))
    assert report.verdicts == {"correct": 1} and report.agreement is not None and report.agreement.rate == 1


@pytest.mark.parametrize("name", MAKERS)
def test_each_format_can_be_compared(name: str, tmp_path: Path) -> None:
    """Graded, then compared: by the file's ids, and by the problems' texts, as for files that name them otherwise."""
    import rlvr

    make = MAKERS[name][0]
    for side, wrong in (("a", {7, 11}), ("b", {*range(0, 40, 2)})):
        values = [
            (f"{i} + 1?", str(i + 1), rf"\boxed{{{0 if i in wrong else i + 1}}}", i not in wrong) for i in range(40)
        ]
        lines(tmp_path / side, [make(i, *row) for i, row in enumerate(values)])
        rlvr.grade(tmp_path / side, out=tmp_path / f"{side}.jsonl")
        texts = {"columns": {"problem_id": "problem"}, "benchmark": "sums"}  # as compare advises
        rlvr.grade(tmp_path / side, out=tmp_path / f"{side}-texts.jsonl", **texts)
    for end in (".jsonl", "-texts.jsonl"):
        line = rlvr.compare(tmp_path / f"a{end}", tmp_path / f"b{end}", metrics=["avg"]).lines[0]
        # 38 of 40 right against 20 of 40, every sample of a problem alike
        assert (line["a"], line["b"], line["problems"]) == (38 / 40, 20 / 40, 40)
        assert line["difference"] == pytest.approx(18 / 40) and "higher" in line["verdict"]
    rows_of_text = [json.loads(line) for line in (tmp_path / "a-texts.jsonl").read_text().splitlines()]
    assert rows_of_text[0]["problem_id"] == "0 + 1?"  # also where the file has a conversation
    with pytest.raises(rlvr.UsageError, match="expected a file of verdicts, which `rlvr grade"):
        rlvr.compare(tmp_path / "a", tmp_path / "b")


def test_an_unknown_table_gets_the_option_with_its_own_columns(tmp_path: Path) -> None:
    row = {"index": 1, "question": "q", "meta": {"ground_truth": "5"}, "model_output": "5", "is_correct": True}
    with pytest.raises(ValueError, match=r"columns=problem:question,answer:meta\.ground_truth,response:model_output"):
        read_answers(lines(tmp_path / "a.jsonl", [row]))
    bare = {"input": "q", "output": "r", "score": 1.0, "step": 1}  # veRL's dumps before version 0.5: no golds
    with pytest.raises(ValueError, match=r"names of responses: output\.\nIf the gold answers are .* type gold=FILE"):
        read_answers(lines(tmp_path / "b.jsonl", [bare]))
    lines(tmp_path / "gold.jsonl", [{"problem": "q", "answer": "r"}])
    given = {"problem": "input", "response": "output", "expected": "score"}
    [read] = read_answers(tmp_path / "b.jsonl", Reading(given, tmp_path / "gold.jsonl")).rows
    assert (read.gold, read.expected) == ("r", True)


def test_benchmarks_are_scored_apart_whatever_their_problems_are_called(tmp_path: Path) -> None:
    triples = [("amc", 1, "5"), ("amc", 2, "6"), ("aime", 1, "7"), ("aime", 1, "7")]  # problem 1 of each is another one
    rows = [{"b": b, "problem_id": i, "answer": gold, "response": r"\boxed{5}"} for b, i, gold in triples]
    path, out = lines(tmp_path / "a.jsonl", rows), tmp_path / "g.jsonl"
    report = grade_file(path, out=out, reading=Reading({"benchmark": "b"}))
    assert (report.problems, report.samples) == (3, (1, 2))
    # amc: one of two problems. aime: none of two samples of one problem, which alone has a pass@2
    values = {name: {s.name: s.value for s in scores} for name, scores in report.scores.items()}
    assert {name: {k: v for k, v in metrics.items() if "@" in k} for name, metrics in values.items()} == {
        "amc": {"avg@1": 0.5},
        "aime": {"avg@2": 0, "pass@2": 0, "maj@2": 0},
    }
    text = [line.strip() for line in str(report).splitlines()]
    amc, aime = text.index("amc:"), text.index("aime:")
    assert text[amc + 1].startswith("avg@1      50.0") and text[aime + 1].startswith("avg@2      0.0")
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["sample"] for row in written] == [0, 0, 0, 1]
    with pytest.raises(ValueError, match="problem '1' has the answer '7', but row 1 says '5'"):
        grade_file(path)  # without their benchmarks


def test_a_column_that_tells_benchmarks_apart_is_suggested(tmp_path: Path) -> None:
    rows = [{"task_name": task, "question": "q", "target": "5", "completion": "5"} for task in ("amc", "aime")]
    with pytest.raises(
        ValueError, match=r"task_name has 2 values. In rlvr grade, benchmark:task_name scores each"
    ) as caught:
        read_answers(lines(tmp_path / "a.jsonl", rows))
    assert "read the whole file" not in str(caught.value)
    with pytest.raises(ValueError, match=r"response:completion\n"):  # one task alone is the file
        read_answers(lines(tmp_path / "b.jsonl", rows[:1]))


@pytest.mark.parametrize("name", ["model_response", "raw_generation", "output_response", "model_output"])
def test_a_response_by_another_name_is_suggested(name: str, tmp_path: Path) -> None:
    row = {"problem_id": 0, "gold_answer": "27", name: r"\boxed{27}", "finish_reason": "stop", "error": None}
    path = lines(tmp_path / "a.jsonl", [row])
    with pytest.raises(ValueError, match=rf"columns=problem_id:problem_id,answer:gold_answer,response:{name}\n"):
        read_answers(path)
    assert grade_file(path, reading=Reading({"answer": "gold_answer", "response": name})).verdicts == {"correct": 1}


def test_a_conversation_under_any_name_is_its_text(tmp_path: Path) -> None:
    prompt, completion = chat("q", r"\boxed{5}")
    turns = [*completion, {"role": "tool", "content": r"\boxed{6}"}]
    columns = {"problem": "ask", "answer": "key", "response": "said"}
    [read] = read_answers(
        lines(tmp_path / "a.jsonl", [{"ask": prompt, "said": turns, "key": "5"}]), Reading(columns)
    ).rows
    assert (read.problem, read.response) == ("q", r"\boxed{5}")


def test_log_likelihoods_are_no_responses(tmp_path: Path) -> None:
    row = {
        "doc_id": 0, "doc": {}, "target": 0, "resps": [[["-1.2", "False"]], [["-2.2", "False"]]], "filter": "none",
        "metrics": ["acc"], "acc": 1.0,
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"log-likelihoods of choices and no response.*columns=id:doc_id,correct:acc"):
        read_answers(lines(tmp_path / "a.jsonl", [row]))


def test_rows_with_the_same_question_are_samples_of_one_problem(tmp_path: Path) -> None:
    """Two questions, two rows each: 3 of 4 right. A problem is solved by any of its samples."""
    path = tmp_path / "a.csv"
    rows = [("What is 1+1?", "2", 2), ("What is 1+1?", "2", 3), ("What is 2+2?", "4", 4), ("What is 2+2?", "4", 4)]
    path.write_text("question,gold,response\n" + "".join(f"{q},{g},\\boxed{{{r}}}\n" for q, g, r in rows))
    assert [row.problem_id for row in read_answers(path).rows] == [question for question, _, _ in rows]


def test_golds_of_another_file_fill_those_that_a_row_lacks(tmp_path: Path) -> None:
    box = [{"response": rf"\boxed{{{i}}}"} for i in (1, 2, 3)]
    # the form that `rlvr help grade` describes, without any gold in the file
    apart = lines(tmp_path / "a.jsonl", [{"problem_id": i, **row} for i, row in enumerate(box)])
    golds = lines(tmp_path / "golds.jsonl", [{"problem_id": i, "answer": str(i + 1)} for i in range(3)])
    assert grade_file(apart, reading=Reading(gold=golds)).verdicts == {"correct": 3}
    # the golds of 2 and 3 are in the other file, that of 1 in its row
    kept = [{"gold": "1"}, {"gold": None}, {}]
    of_three = [{"problem_id": n, **gold, **row} for n, (gold, row) in enumerate(zip(kept, box, strict=True), 1)]
    partial = lines(tmp_path / "b.jsonl", of_three)
    rest = lines(tmp_path / "rest.jsonl", [{"problem_id": 2, "gold": "2"}, {"problem_id": 3, "gold": "3"}])
    assert [row.gold for row in read_answers(partial, Reading(gold=rest)).rows] == ["1", "2", "3"]
    # a column that is renamed in both
    ids = lines(tmp_path / "c.jsonl", [{"id": i, **row} for i, row in enumerate(box)])
    same = lines(tmp_path / "ids.jsonl", [{"id": i, "answer": str(i + 1)} for i in range(3)])
    renamed = Reading({"problem_id": "id"}, gold=same)
    assert grade_file(ids, reading=renamed).verdicts == {"correct": 3}
    keyless = lines(tmp_path / "keyless.jsonl", [{"name": i, "answer": str(i + 1)} for i in range(3)])
    with pytest.raises(ValueError, match=r"expected a column problem_id or problem.* in every row, found name, answer"):
        read_answers(apart, Reading(gold=keyless))
    other = lines(tmp_path / "other.jsonl", [{"problem_id": 7, "answer": "1"}])
    full = lines(tmp_path / "d.jsonl", [{"problem_id": 1, "answer": "1", **box[0]}])
    with pytest.raises(ValueError, match="has no answer for any problem"):
        read_answers(full, Reading(gold=other))


def test_columns_call_the_gold_gold_and_refuse_what_nothing_reads(tmp_path: Path) -> None:
    (path := tmp_path / "caps.csv").write_text("Gold,Response\n7,\\boxed{7}\n")
    for column in ("gold", "answer"):
        assert grade_file(path, reading=Reading({column: "Gold", "response": "Response"})).verdicts == {"correct": 1}
    with pytest.raises(ValueError, match="columns=reponse:Response: Did you mean 'response'"):
        Reading({"gold": "Gold", "reponse": "Response"})
    with pytest.raises(ValueError, match="answer or gold"):
        Reading({"gold": "Gold", "answer": "Gold"})


def test_the_hint_for_an_unknown_table_names_its_problems_and_then_its_verdicts(tmp_path: Path) -> None:
    head = "uid,question,ground_truth,completion,is_right\n"
    (path := tmp_path / "a.csv").write_text(head + "q1,a?,2,\\boxed{2},True\nq2,b?,6,\\boxed{5},False\n")
    hint = "columns=problem:question,answer:ground_truth,response:completion"
    with pytest.raises(ValueError, match=hint):
        read_answers(path)
    named = {"answer": "ground_truth", "response": "completion"}
    assert ",expected:is_right compares with their verdict" in str(grade_file(path, reading=Reading(named)))
    # two samples of one question: their ids are not the problem's
    path.write_text(head + "q1,a?,2,\\boxed{2},True\nq2,a?,2,\\boxed{5},False\n")
    with pytest.raises(ValueError, match=hint):
        read_answers(path)
    assert grade_file(path, reading=Reading({"problem": "question", **named})).samples == (2, 2)


def test_an_empty_text_is_a_response_without_an_answer_and_null_is_none(tmp_path: Path) -> None:
    (table := tmp_path / "a.csv").write_text("gold,response\n1,\\boxed{1}\n2,\n")
    report = grade_file(table)
    assert report.verdicts == {"correct": 1, "no_answer": 1}
    assert "1 of 2 responses are empty, and have no answer" in str(report)
    null = lines(tmp_path / "a.jsonl", [{"gold": "1", "response": r"\boxed{1}"}, {"gold": "2", "response": None}])
    report = grade_file(null)
    assert report.verdicts == {"correct": 1, "unscored": 1}
    assert "1 rows have no whole response" in str(report)

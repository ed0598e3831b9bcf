"""Forms of files in public repositories that a stranger brought: each is read, or refused with what to type."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evals.audit.curves import read_curve
from evals.errors import UsageError
from rlvr.cli import main

RIGHT, WRONG = r"so \boxed{2}", r"so \boxed{3}"


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=1))
    return path


def done(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    """The JSON of a command that must end well."""
    code = main([str(word) for word in words] + ["--json"])
    output = capsys.readouterr()
    assert code == 0, output.err
    document: dict[str, Any] = json.loads(output.out)
    return document


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """The message of a command that must end in 2: our words, none of Python's."""
    code = main([str(word) for word in words])
    output = capsys.readouterr()
    assert code == 2, output.out
    assert not re.search(r"Error|object is not|unhashable|Traceback", output.err), output.err
    return output.err


def score(document: dict[str, Any]) -> float:
    [scores] = document["scores"].values()
    return float(scores[0]["value"])


# -- steps of a curve --------------------------------------------------------------------------------------------------


def test_a_planned_number_of_steps_is_no_step() -> None:
    """LLaMA-Factory's trainer_log.jsonl has current_steps and total_steps: four lines are four steps."""
    rows = [{"current_steps": n, "total_steps": 40, "accuracy": n / 100} for n in (10, 20, 30, 40)]
    curve = read_curve("".join(json.dumps(row) + "\n" for row in rows))
    assert list(curve["step"]) == [10, 20, 30, 40]


def test_a_total_alone_is_refused_not_joined_to_one_step() -> None:
    text = "".join(json.dumps({"total_steps": 40, "accuracy": value}) + "\n" for value in (0.1, 0.2))
    with pytest.raises(UsageError, match="no column of steps"):
        read_curve(text)


def test_a_total_that_grows_is_the_step() -> None:
    text = "".join(json.dumps({"total_steps": n, "accuracy": n / 100}) + "\n" for n in (10, 20))
    assert list(read_curve(text)["step"]) == [10, 20]


# -- tables of verdicts ------------------------------------------------------------------------------------------------


def test_verdicts_beside_objects_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """tau-bench: 3 rewards of 6 are 1."""
    rows = [
        {"task_id": task, "reward": reward, "info": {"error": "x"}, "traj": [{"role": "user"}], "trial": trial}
        for task, trial, reward in [(0, 0, 1.0), (0, 1, 0.0), (1, 0, 1.0), (1, 1, 1.0), (2, 0, 0.0), (2, 1, 0.0)]
    ]
    path = whole(tmp_path / "results.json", rows)
    document = done(capsys, "audit", path, "printed=50.0", "columns=id:task_id,correct:reward")
    assert document["file"] == pytest.approx(1 / 2)


@pytest.mark.parametrize("path", ["outputs.iscorrect", "outputs.all.-1"])
def test_verdicts_inside_objects(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Open-Reasoner-Zero's dumps of a training: `score` is an advantage, and the verdict is inside. 3 of 4."""
    rows = [
        {"prompt": prompt, "score": score, "outputs": {"response": RIGHT, "iscorrect": right, "all": [False, right]}}
        for prompt, score, right in [("p1", 0.5, True), ("p1", -0.5, False), ("p2", 0.0, True), ("p2", 0.0, True)]
    ]
    file = whole(tmp_path / "iter7.json", rows)
    document = done(capsys, "audit", file, "printed=75.0", f"columns=id:prompt,correct:{path}")
    assert document["file"] == pytest.approx(3 / 4)


def test_a_column_that_no_row_has_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lines(tmp_path / "a.jsonl", {"id": 1, "outputs": {"ok": True}})
    message = refused(capsys, "audit", path, "printed=50.0", "columns=id:id,correct:outputs.right")
    assert "outputs.right" in message and "correct" in message and "field 'response'" not in message


def test_verdicts_without_an_id_say_what_to_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lines(tmp_path / "a.jsonl", {"program": "p", "ok": True}, {"program": "q", "ok": False})
    message = refused(capsys, "audit", path, "printed=50.0", "columns=correct:ok")
    assert "columns=id:THEIRS,correct:ok" in message


EVENTS = [
    {"spec": {"eval": "math"}},
    {"sample_id": "a", "type": "sampling", "data": {"sampled": ["4"]}},
    {"sample_id": "a", "type": "match", "data": {"correct": True}},
    {"final_report": {"accuracy": 1.0}},
]


def test_events_of_several_kinds_say_which_to_keep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenAI evals' log: one row of four is a verdict."""
    path = lines(tmp_path / "log.jsonl", *EVENTS)
    message = refused(capsys, "audit", path, "printed=50.0", "columns=id:sample_id,correct:data.correct")
    assert "1 of 4 rows" in message and "type rows=data.correct" in message
    kept = lines(tmp_path / "kept.jsonl", EVENTS[2])
    assert done(capsys, "audit", kept, "printed=100", "columns=id:sample_id,correct:data.correct")["file"] == 1.0


# -- golds of another file ---------------------------------------------------------------------------------------------


def test_columns_may_name_a_column_of_the_golds_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenRLHF's batch inference: input and output, and the data set calls the gold label. 1 of 2 right."""
    path = lines(tmp_path / "out.jsonl", {"input": "q1", "output": RIGHT}, {"input": "q2", "output": WRONG})
    gold = lines(tmp_path / "data.jsonl", {"input": "q1", "label": "2"}, {"input": "q2", "label": "2"})
    document = done(capsys, "grade", path, f"gold={gold}", "columns=problem:input,response:output,answer:label")
    assert score(document) == pytest.approx(1 / 2)


def test_turns_and_choices_with_golds_by_another_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """FastChat's and LiveBench's answers: the golds are ground_truth of question.jsonl."""
    answers = [
        {"question_id": q, "choices": [{"index": 0, "turns": [text]}]} for q, text in (("a", RIGHT), ("b", WRONG))
    ]
    path = lines(tmp_path / "answers.jsonl", *answers)
    gold = lines(tmp_path / "question.jsonl", *({"question_id": q, "ground_truth": "2"} for q in "ab"))
    message = refused(capsys, "grade", path)
    assert "\n  choices.*.turns  1 × 1 × text  " in message and "gold=FILE" in message
    columns = "columns=problem_id:question_id,response:choices.*.turns.0,gold:ground_truth"
    assert score(done(capsys, "grade", path, f"gold={gold}", columns)) == pytest.approx(1 / 2)


def test_a_gold_column_in_neither_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lines(tmp_path / "out.jsonl", {"input": "q1", "output": RIGHT})
    gold = lines(tmp_path / "data.jsonl", {"input": "q1", "label": "2"})
    message = refused(capsys, "grade", path, f"gold={gold}", "columns=problem:input,response:output,answer:lable")
    assert "data.jsonl" in message and "answer" in message


# -- rows inside an object ---------------------------------------------------------------------------------------------

EXAMPLES = [
    {"id": 60, "problem": "P", "expected_answer": "2", "model_outputs": [RIGHT, WRONG], "model_answers": ["2", "3"]},
    {"id": 61, "problem": "Q", "expected_answer": "2", "model_outputs": [RIGHT, RIGHT], "model_answers": ["2", "2"]},
]
EVALCHEMY = {
    "results": {"AIME24": {"examples": EXAMPLES, "num_total": 2, "run_stats": [{"repetition": 1, "accuracy": 0.5}]}},
    "config": {"model": "hf"},
}


def test_columns_find_the_list_that_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Evalchemy's results look like lm-eval's scores, but hold the samples. 3 of 4 right."""
    path = whole(tmp_path / "results.json", EVALCHEMY)
    message = refused(capsys, "grade", path)
    assert (
        "results.AIME24.examples" in message and "results.AIME24.run_stats" in message and "log_samples" not in message
    )
    columns = "columns=problem_id:id,answer:expected_answer,response:model_outputs"
    assert all(f"\n  {path} " in message for path in ("id", "expected_answer", "model_outputs"))
    assert score(done(capsys, "grade", path, columns)) == pytest.approx(3 / 4)


def _helm(number: int, text: str) -> dict[str, Any]:
    reference = {"output": {"text": "2"}, "tags": ["correct"]}
    instance = {"id": f"id{number}", "input": {"text": f"q{number}"}, "references": [reference]}
    return {"instance": instance, "result": {"success": True, "completions": [{"text": text}]}}


def test_the_only_list_is_the_rows_and_its_texts_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """HELM's scenario_state.json."""
    state = {"adapter_spec": {"method": "generation"}, "request_states": [_helm(1, RIGHT), _helm(2, WRONG)]}
    path = whole(tmp_path / "scenario_state.json", state)
    message = refused(capsys, "grade", path)
    ids = "problem_id:instance.id,problem:instance.input.text"
    columns = f"columns={ids},answer:instance.references.*.output.text,response:result.completions.*.text"
    assert all(f"\n  {pair.partition(':')[2]} " in message for pair in columns.split(","))
    assert score(done(capsys, "grade", path, columns)) == pytest.approx(1 / 2)


def test_a_conversation_is_no_list_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": RIGHT}]
    path = whole(tmp_path / "one.json", {"key": "2", "messages": talk})
    document = done(capsys, "grade", path, "columns=answer:key,response:messages.-1.content")
    assert document["rows"] == 1 and score(document) == 1.0


@pytest.mark.parametrize(
    "scores",
    [
        {"chars": 12.5, "score": 0.75, "score:std": 0.4},  # simple-evals
        {"humaneval": {"pass@1": 0.3}, "config": {"model": "m"}},  # bigcode-evaluation-harness
        {"num_samples": 500, "acc": 58.2, "type_acc": {"algebra": 70.1}},  # Qwen2.5-Math
    ],
)
@pytest.mark.parametrize("command", [["grade"], ["audit", "printed=75.0"]])
def test_scores_without_samples_are_named(
    scores: dict[str, Any], command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, command[0], whole(tmp_path / "scores.json", scores), *command[1:])
    assert "scores without samples" in message and "THEIRS" not in message


# -- other containers --------------------------------------------------------------------------------------------------


def test_yaml_says_how_it_is_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "17.yaml"
    path.write_text("question: q\nsamples:\n- '#### 2'\ngt_answer: '2'\n")
    message = refused(capsys, "grade", path)
    assert "YAML" in message and "yaml.safe_load" in message and "17.json" in message


def test_lists_of_texts_say_what_a_row_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """bigcode's generations.json."""
    message = refused(capsys, "grade", whole(tmp_path / "generations.json", [["def f(): pass"], ["def g(): pass"]]))
    assert "task_id" in message and "completion" in message and "problem_id" in message


# -- golds that are solutions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["A: 2", "Answer: 2", "Final answer: 2."])
def test_the_last_line_of_a_solution_is_its_value(
    last: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GSM8K's model solutions end their golds in `A: 18`."""
    gold = f"She makes 1 + 1 = $<<1+1=2>>2 a day.\n{last}"
    path = lines(tmp_path / "a.jsonl", {"gold": gold, "response": RIGHT}, {"gold": gold, "response": WRONG})
    document = done(capsys, "grade", path)
    assert score(document) == pytest.approx(1 / 2)

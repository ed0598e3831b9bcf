"""A file has a format if its rows have the format's types. Otherwise the user's columns decide, and the report shows
what was read."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evals.answer_files.golds import as_asked
from evals.answer_files.sample import Sample
from rlvr.cli import main

RIGHT, WRONG = r"so \boxed{2}", r"so \boxed{3}"


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def grade(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
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
    assert not re.search(r"Error|object is not|has no attribute|Traceback", output.err), output.err
    return output.err


def score(document: dict[str, Any]) -> float:
    [scores] = document["scores"].values()
    return float(scores[0]["value"])


TEXTS_FOR_OBJECTS: dict[str, dict[str, Any]] = {
    # the example
    "inspect": {"id": "a", "target": "2", "output": RIGHT},
    "inspect_scored": {"id": "a", "target": "2", "output": RIGHT, "input": "1 + 1?", "score": 1.0},
    "lm_eval": {"doc_id": 0, "target": "2", "resps": r"\boxed{2}"},
    "every_eval_ever": {"sample_id": "a", "input": "1 + 1?", "output": RIGHT, "evaluation": "good", "gold": "2"},
    "lighteval": {"doc": "1 + 1?", "model_response": RIGHT, "gold": "2"},
    "rollouts": {"qid": "a", "gold": "2", "rollouts": RIGHT},
    "human_eval": {"task_id": "gsm8k/1", "completion": RIGHT, "answer": "2"},
    # variants
    "evalplus": {"task_id": "gsm8k/1", "solution": RIGHT, "answer": "2"},
    "open_r1": {"generations": RIGHT, "correctness_math_verify": "yes", "answer": "2", "problem": "1 + 1?"},
    "skyrl": {"input_prompt": "1 + 1?", "output_response": RIGHT, "env_extras": "none", "score": 1.0, "gold": "2"},
    "verl_generation": {"prompt": "1 + 1?", "reward_model": "rule", "responses": RIGHT, "gold": "2"},
    "oat": {"input": "1 + 1?", "output": RIGHT, "scores": {"exact": 1}, "reference": "2"},
    "lighteval_before": {"full_prompt": "1 + 1?", "predictions": RIGHT, "gold": "2", "metrics": "none"},
    "qwen_math": {"idx": 0, "gt": "2", "code": RIGHT},
    "nemo_gym": {"responses_create_params": "1 + 1?", "response": RIGHT, "reward": 1.0, "gold": "2"},
    "evalscope": {"index": 0, "target": "2", "sample_score": "1.0", "output": RIGHT},
}
NAMED = {
    "every_eval_ever": "problem_id:sample_id,answer:gold,response:output",
    "lighteval": "problem:doc,answer:gold,response:model_response",
    "rollouts": "problem_id:qid,answer:gold,response:rollouts",
    "skyrl": "problem:input_prompt,answer:gold,response:output_response",
    "verl_generation": "problem:prompt,answer:gold,response:responses",
    "lighteval_before": "problem:full_prompt,answer:gold,response:predictions",
    "lm_eval": "problem_id:doc_id,answer:target,response:resps",
    "qwen_math": "problem_id:idx,answer:gt,response:code",
    "evalplus": "problem_id:task_id,answer:answer,response:solution",
}


@pytest.mark.parametrize("name", TEXTS_FOR_OBJECTS)
def test_texts_where_a_format_has_objects_are_no_format(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two rows, one right and one wrong: 50 %, once the columns are named."""
    right = TEXTS_FOR_OBJECTS[name]
    wrong = {key: WRONG if value in (RIGHT, r"\boxed{2}") else value for key, value in right.items()}
    changed = {"id": "b", "doc_id": 1, "sample_id": "b", "qid": "b", "task_id": "gsm8k/2", "idx": 1, "index": 1}
    wrong = {key: changed.get(key, value) for key, value in wrong.items()}
    wrong = {key: "2 + 0?" if value == "1 + 1?" else value for key, value in wrong.items()}
    path = lines(tmp_path / "a.jsonl", right, wrong)
    if name != "nemo_gym":  # which has gold and response, our own names
        message = refused(capsys, "grade", path)
        assert "columns=" in message and str(path) in message
        proposed = re.search(r"read the whole file: columns=(\S+)", message)
        columns = NAMED[name] if name in NAMED else proposed[1] if proposed else ""
        assert score(grade(capsys, "grade", path, f"columns={columns}")) == pytest.approx(1 / 2)
    else:
        assert score(grade(capsys, "grade", path)) == pytest.approx(1 / 2)


def test_lm_eval_saved_by_pandas_is_not_cut_into_letters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pandas as pd

    rows = [{"doc_id": i, "target": "2", "resps": [[RIGHT]], "filtered_resps": ["2"], "exact_match": 1} for i in (0, 1)]
    pd.DataFrame(rows).to_csv(tmp_path / "samples.csv", index=False)
    message = refused(capsys, "grade", tmp_path / "samples.csv")
    assert "lm_eval" in message and "resps" in message and "a list" in message


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_list_that_became_text_is_refused_in_other_formats_too(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OpenR1's generations and veRL's responses, as pandas writes lists into CSV."""
    row = {"problem": "1 + 1?", "answer": "2", "generations": repr([RIGHT, WRONG]), "correctness_math_verify": "[1, 0]"}
    path = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerow(row)
    else:
        lines(path, row)
    assert "columns=" in refused(capsys, "grade", path)


@pytest.mark.parametrize(
    "content",
    [
        {"version": 2, "status": "success", "eval": {"model": "m"}},
        {
            "version": 2,
            "status": "success",
            "eval": {"model": "m", "task": "math"},
            "results": {"scores": []},
            "stats": {},
        },
        {"eval": {"model": "m"}, "accuracy": 0.5},
        {"eval": {"a": {"b": 1}}},
        {"eval": {}},
        {"version": 2, "status": "success", "eval": {"model": "m"}, "samples": None},
        {"samples": []},
        {"samples": [1, 2]},
        {"details": {"a": 1}},
        {"eval": {"HumanEval/0": [["x"]]}},
    ],
)
def test_an_object_without_rows_is_named(content: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "grade", whole(tmp_path / "log.json", content))
    assert "log.json" in message
    if content.get("status") == "success":
        assert "inspect log without samples" in message


def test_an_inspect_zip_without_samples_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "status": "started", "eval": {}}))
    assert "inspect log without samples" in refused(capsys, "grade", tmp_path / "log.eval")


def test_a_later_row_of_another_shape_is_named_with_its_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = {"input": "q", "output": RIGHT, "gts": "2", "score": 1.0, "step": 5}
    message = refused(capsys, "grade", lines(tmp_path / "a.jsonl", dump, {**dump, "output": {"text": RIGHT}}))
    assert "row 2" in message and "output" in message and "verl" in message
    log = {"id": 1, "target": "2", "output": {"choices": [], "completion": RIGHT}}
    message = refused(capsys, "grade", lines(tmp_path / "b.jsonl", log, {**log, "output": {"choices": "none"}}))
    assert "row 2" in message and "output.choices" in message
    nested = {"qid": "a", "gold": "2", "rollouts": [{"text": RIGHT}]}
    message = refused(capsys, "grade", lines(tmp_path / "c.jsonl", nested, {**nested, "rollouts": [{"text": 5}]}))
    assert "row 2" in message and "rollouts.0.text" in message
    message = refused(capsys, "grade", lines(tmp_path / "d.jsonl", dump, {"input": "q", "gts": "2"}))
    assert "row 2" in message and "output" in message


# -- columns= ---------------------------------------------------------------------------------------------------------


CONSUMED: list[tuple[str, list[dict[str, Any]], str]] = [
    # the example: golds of 0 and 1 are no verdicts
    (
        "problem_id:id,answer:expected,response:output",
        [
            {"expected": 1, "output": r"\boxed{1}"},
            {"expected": 0, "output": r"\boxed{0}"},
            {"expected": 1, "output": r"\boxed{0}"},
        ],
        "answers",
    ),
    # variants: each column that is given away has one of our names
    (
        "gold:label,response:answer",
        [{"label": "2", "answer": RIGHT}, {"label": "2", "answer": RIGHT}, {"label": "2", "answer": WRONG}],
        "answers",
    ),
    (
        "answer:step,response:output",
        [{"step": 2, "output": RIGHT}, {"step": 2, "output": RIGHT}, {"step": 2, "output": WRONG}],
        "answers",
    ),
    (
        "problem:benchmark,answer:g,response:output",
        [{"benchmark": f"{i} + 1?", "g": "2", "output": r} for i, r in enumerate((RIGHT, RIGHT, WRONG))],
        "answers",
    ),
    (
        "answer:finish_reason,response:output",
        [
            {"finish_reason": "length", "output": r"\boxed{\text{length}}"},
            {"finish_reason": "length", "output": r"\boxed{\text{length}}"},
            {"finish_reason": "stop", "output": "no"},
        ],
        "answers",
    ),
    (
        "answer:problem_id,response:output",
        [{"problem_id": 2, "output": RIGHT}, {"problem_id": 2, "output": RIGHT}, {"problem_id": 2, "output": WRONG}],
        "answers",
    ),
]


@pytest.mark.parametrize(("columns", "rows", "benchmark"), CONSUMED)
def test_a_column_that_is_given_away_is_not_read_by_its_own_name(
    columns: str, rows: list[dict[str, Any]], benchmark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of three rows are right, each row is a problem of its own, and no verdict of the authors is there."""
    path = lines(tmp_path / "a.jsonl", *({"id": i, **row} for i, row in enumerate(rows)))
    document = grade(capsys, "grade", path, f"columns={columns}")
    assert list(document["scores"]) == [benchmark] and document["problems"] == 3
    assert score(document) == pytest.approx(2 / 3) and document["agreement"] is None
    message = refused(capsys, "audit", path, f"columns={columns}", "printed=66.7")
    assert "no verdicts of the authors" in message


def test_the_written_rows_do_not_hold_it_by_its_own_name_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lines(tmp_path / "a.jsonl", {"id": 1, "expected": 0, "output": r"\boxed{0}"})
    grade(capsys, "grade", path, "columns=problem_id:id,answer:expected,response:output", f"out={tmp_path / 'g.jsonl'}")
    [row] = map(json.loads, (tmp_path / "g.jsonl").read_text().splitlines())
    assert "expected" not in row and row["expected_in_file"] == 0 and row["gold"] == "0"


NAMED_WHOLLY: list[tuple[dict[str, Any], str]] = [
    # veRL's dump, whose response is in another column
    ({"input": "q", "output": WRONG, "gts": "3", "score": 1.0, "mine": RIGHT, "key": "2"}, "answer:key,response:mine"),
    # inspect's sample, lm-eval's, a table of verdicts
    (
        {"id": 1, "target": "3", "output": {"choices": [], "completion": WRONG}, "mine": RIGHT, "key": "2"},
        "answer:key,response:mine",
    ),
    (
        {"doc_id": 1, "target": "3", "resps": [[WRONG]], "exact_match": 1.0, "mine": RIGHT, "key": "2"},
        "answer:key,response:mine",
    ),
    (
        {"problem_id": 1, "gold": "3", "response": WRONG, "verdict": "correct", "mine": RIGHT, "key": "2"},
        "answer:key,response:mine",
    ),
]


@pytest.mark.parametrize(("row", "columns"), NAMED_WHOLLY)
def test_columns_for_all_that_is_needed_win_over_recognition(
    row: dict[str, Any], columns: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = grade(capsys, "grade", lines(tmp_path / "a.jsonl", row), f"columns={columns}")
    assert score(document) == 1 and document["agreement"] is None
    assert document["read"][0]["format"] == "columns"


@pytest.mark.parametrize(
    ("path", "right"),
    [("output.-1", 1), ("output.-2", 0), ("turns.-1.content", 1), ("turns.-1.parts.-1.text", 0)],
)
def test_paths_take_negative_indexes(path: str, right: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = [{"content": WRONG}, {"content": RIGHT, "parts": [{"text": RIGHT}, {"text": WRONG}]}]
    rows = lines(tmp_path / "a.jsonl", {"key": "2", "output": [WRONG, RIGHT], "turns": turns})
    assert score(grade(capsys, "grade", rows, f"columns=answer:key,response:{path}")) == right


def test_a_path_beyond_a_list_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = lines(tmp_path / "a.jsonl", {"key": "2", "output": [RIGHT]})
    for path in ("output.-2", "output.1", "output.x"):
        assert f"no column '{path}'" in refused(capsys, "grade", rows, f"columns=answer:key,response:{path}")


# -- what was read ----------------------------------------------------------------------------------------------------


def test_a_report_begins_with_what_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = {"input": "What is\n1 + 1?" + " please" * 50, "output": "word " * 100 + RIGHT, "gts": "2", "score": 1.0}
    path = lines(tmp_path / "a.jsonl", *[{**dump, "step": 5}] * 4)
    assert main(["grade", str(path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].endswith("4 rows, 1 problem, 4 samples each")
    head = "\n".join(printed[1:8])
    for word in ("verl", "What is 1 + 1?", r"so \boxed{2}", "gold", "extracted", "their verdict"):
        assert word in head, head
    assert all(len(line) <= 120 for line in printed[1:8])
    [read] = grade(capsys, "grade", path)["read"]
    assert (read["format"], read["rows"], read["problems"], read["samples"]) == ("verl", 4, 1, [4, 4])
    example = read["example"]
    assert example["gold"] == "2" and example["extracted"] == "2" and example["label"] is True
    assert example["response"].endswith(r"so \boxed{2}") and "\n" not in example["problem"]
    [audited] = grade(capsys, "audit", path, "printed=100.0")["read"]
    assert (audited["format"], audited["rows"], audited["samples"]) == ("verl", 4, [4, 4])
    assert main(["audit", str(path), "printed=100.0"]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert "a.jsonl" in first and "4 rows" in first


def test_what_was_read_of_our_own_rows_columns_and_verdict_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_rows = lines(tmp_path / "a.jsonl", {"gold": "2", "response": RIGHT, "expected": True})
    assert grade(capsys, "grade", own_rows)["read"][0]["format"] == "rows"
    other = lines(tmp_path / "b.jsonl", {"g": "2", "r": RIGHT})
    [read] = grade(capsys, "grade", other, "columns=answer:g,response:r")["read"]
    assert (read["format"], read["example"]["gold"], read["example"]["label"]) == ("columns", "2", None)
    table = lines(tmp_path / "c.jsonl", {"id": "a", "correct": True}, {"id": "b", "correct": False})
    [read] = grade(capsys, "audit", table, "printed=50.0")["read"]
    assert (read["format"], read["rows"], read["problems"]) == ("table of verdicts", 2, 2)
    (tmp_path / "curve.csv").write_text("step,acc\n1,0.4\n2,0.5\n")
    [read] = grade(capsys, "audit", tmp_path / "curve.csv", "printed=50.0", "metric=acc")["read"]
    assert (read["format"], read["rows"]) == ("curve", 2)


# -- new formats ------------------------------------------------------------------------------------------------------


def message(text: str, kind: str = "message") -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": kind, "id": "m", "role": "assistant", "status": "completed", "content": content}


def responses(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "created_at": 1.0, "model": "m", "output": list(output), **more}


THOUGHT = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": WRONG}]}
TOOL = {"type": "function_call", "name": "sum", "arguments": "{}", "call_id": "c"}


def gym(text: str, reward: float, task: int, rollout: int) -> dict[str, Any]:
    parameters = {"input": [{"role": "user", "content": f"{task} + 1?", "type": "message"}]}
    return {
        "responses_create_params": parameters,
        "reward": reward,
        "expected_answer": "2",
        "extracted_answer": "2",
        "response": responses(THOUGHT, message(text), usage={"output_tokens": 7}),
        "_ng_task_index": task,
        "_ng_rollout_index": rollout,
    }


def test_nemo_gym_rollouts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [gym(RIGHT, 1.0, 0, 0), gym(WRONG, 0.0, 0, 1), gym(RIGHT, 1.0, 1, 0), gym(RIGHT, 1.0, 1, 1)]
    document = grade(capsys, "grade", lines(tmp_path / "rollouts.jsonl", *rows))
    assert document["read"][0]["format"] == "nemo_gym" and document["problems"] == 2
    assert score(document) == pytest.approx(3 / 4) and document["agreement"]["rate"] == 1
    single = grade(capsys, "grade", lines(tmp_path / "one.jsonl", rows[0]))  # a file of one object is one row
    assert single["rows"] == 1
    cut = gym("so", 0.0, 2, 0)
    cut["response"] |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    document = grade(capsys, "grade", lines(tmp_path / "cut.jsonl", cut))
    assert document["verdicts"] == {"truncated": 1}


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({"answer": "2", **responses(message(RIGHT))}, None),
        ({"gold": "2", **responses(THOUGHT, message(WRONG), TOOL, message(RIGHT))}, None),  # the last message counts
        ({"gold": "2", "response": responses(THOUGHT, message(RIGHT))}, None),
        ({"gold": "2", "response": [THOUGHT, message(RIGHT)]}, None),
        ({"key": "2", "said": responses(message(RIGHT))}, "answer:key,response:said"),
        ({"key": "2", "said": [message(WRONG), message(RIGHT)]}, "answer:key,response:said"),
        ({"gold": "2", "output": [THOUGHT, message(RIGHT)]}, None),
    ],
)
def test_responses_objects(
    row: dict[str, Any], columns: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = [f"columns={columns}"] if columns else []
    document = grade(capsys, "grade", lines(tmp_path / "a.jsonl", row, row), *named)
    assert score(document) == 1 and document["rows"] == 2


def review(index: int, text: str, acc: float, **more: Any) -> dict[str, Any]:
    value = {
        "value": {"acc": acc},
        "extracted_prediction": "2",
        "prediction": text,
        "explanation": None,
        "metadata": {},
    }
    sample_score = {"score": value, "sample_id": index, "group_id": index // 2, "sample_metadata": {}}
    return {"index": index, "input": f"{index // 2} + 1?", "target": "2", "sample_score": {**sample_score, **more}}


def test_evalscope_reviews(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two repeats of two problems, told apart by the group. Three of four are right."""
    rows = [review(0, RIGHT, 1.0), review(1, WRONG, 0.0), review(2, RIGHT, 1.0), review(3, RIGHT, 1.0)]
    document = grade(capsys, "grade", lines(tmp_path / "gsm8k_main.jsonl", *rows))
    assert document["read"][0]["format"] == "evalscope" and document["problems"] == 2
    assert score(document) == pytest.approx(3 / 4) and document["agreement"]["rate"] == 1


def test_evalscope_reviews_before_version_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def choice(text: str, right: float) -> dict[str, Any]:
        about = {"gold": "2", "pred": "2", "result": right}
        return {"index": 0, "message": {"role": "assistant", "content": text}, "review": about}

    about = {"raw_input": {"question": "1 + 1?", "answer": "so\n#### 2"}, "review_id": "r", "reviewed": True}
    row = {"index": 0, "choices": [choice(RIGHT, 1.0), choice(WRONG, 0.0)], **about}
    document = grade(capsys, "grade", lines(tmp_path / "a.jsonl", row))
    assert document["read"][0]["format"] == "evalscope_before" and document["rows"] == 2
    assert score(document) == pytest.approx(1 / 2) and document["agreement"]["rate"] == 1


def swift(**more: Any) -> dict[str, Any]:
    responses = [RIGHT, WRONG, WRONG, WRONG]
    prompts = ["<|im_start|>user\n1 + 1?<|im_end|>\n<|im_start|>assistant\n"] * 4
    return {
        "step": ["5"] * 4,
        "prompt": prompts,
        "completion": responses,
        "MathAccuracy": [1.0, 0.0, 0.0, 0.0],
        "Format": [1.0, 1.0, 1.0, 1.0],
        "advantages": [1.5, -0.5, -0.5, -0.5],
        **more,
    }


def test_ms_swift_completions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each step, each column a list: one of four is right, 25 %, and not any of four golds."""
    golds = ["2", "3", "4", "5"]  # each of its own response. Only the first is met: 2 of 2, 3 of 3 would be right too
    responses = [RIGHT, r"\boxed{7}", r"\boxed{8}", r"\boxed{9}"]
    prompts = [f"problem {i}" for i in range(4)]
    path = lines(tmp_path / "completions.jsonl", swift(solution=golds, completion=responses, prompt=prompts))
    document = grade(capsys, "grade", path, "label=MathAccuracy")
    assert document["read"][0]["format"] == "ms_swift" and document["rows"] == 4
    assert score(document) == pytest.approx(1 / 4) and document["agreement"]["rate"] == 1


@pytest.mark.parametrize(
    "row",
    [
        swift(answer=["2"] * 4),
        {**swift(ground_truth=["2"] * 4), "gen_step": [0] * 4},
        {key: value for key, value in swift(solution=[r"\boxed{2}"] * 4).items() if key != "Format"},
        {key: value for key, value in swift(solution=["2"] * 4).items() if key != "advantages"},
    ],
)
def test_ms_swift_by_other_names(row: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lines(tmp_path / "completions.jsonl", row, {**row, "step": ["10"] * 4})
    columns = next((name for name in ("answer", "ground_truth") if name in row), None)
    named = [f"columns=answer:{columns}"] if columns == "ground_truth" else []
    document = grade(capsys, "grade", path, "label=MathAccuracy", *named)
    assert document["rows"] == 8 and document["problems"] == 1
    assert score(document) == pytest.approx(1 / 4) and document["agreement"]["rate"] == 1


def test_ms_swift_lists_of_other_lengths_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "grade", lines(tmp_path / "a.jsonl", swift(solution=["2", "2"])))
    assert "solution" in message and "row 1" in message and "golds=any" not in message


@pytest.mark.parametrize("name", ["results", "outputs", "samples", "data"])
def test_rows_inside_an_object(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"gold": "2", "response": text} for text in (RIGHT, WRONG)]
    path = whole(tmp_path / "all.json", {"model": "m", "accuracy": 0.5, name: rows})
    document = grade(capsys, "grade", path)
    assert document["rows"] == 2 and score(document) == pytest.approx(1 / 2)
    single = whole(tmp_path / "one.json", {"model": "m", name: rows[:1]})
    assert grade(capsys, "grade", single)["rows"] == 1


def test_one_row_with_a_list_of_outputs_is_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"key": "2", "outputs": [RIGHT, WRONG]}
    document = grade(capsys, "grade", whole(tmp_path / "a.json", row), "columns=answer:key,response:outputs")
    assert document["rows"] == 2 and score(document) == pytest.approx(1 / 2)


PRINTED = [
    "{'loss': 0.1, 'grad_norm': 1.2, 'reward': 0.25, 'eval_acc': 0.4, 'epoch': 0.1}",
    "{'loss': 0.05, 'grad_norm': 1.1, 'reward': 0.5, 'eval_acc': 0.5, 'epoch': 0.2}",
]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(PRINTED),
        "Some warning\n" + "\n".join(f" 10%|#   | 1/10 [00:01<00:09]{line}" for line in PRINTED) + "\nDone.\n",
        "\n".join(re.sub(r"(\d\.\d+)", r"'\1'", line) for line in PRINTED),  # transformers 5 prints texts
        "\r".join(PRINTED) + "\n{'train_runtime': 12.5, 'train_loss': 0.07, 'epoch': 0.2}\n",
    ],
)
def test_printed_lines_of_a_trainer_are_a_curve(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.log").write_text(text)
    document = grade(capsys, "audit", tmp_path / "train.log", "printed=50.0", "metric=eval_acc")
    assert document["file"] == pytest.approx(0.5)
    message = refused(capsys, "audit", tmp_path / "train.log", "printed=50.0")
    assert "metric=NAME" in message and "eval_acc" in message


# -- advice -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["grade"], ["audit", "printed=40.0"]])
@pytest.mark.parametrize(
    "content",
    [
        {"results": {"gsm8k": {"exact_match,strict-match": 0.4, "alias": "gsm8k"}}, "configs": {}, "n-shot": {}},
        {"results": {"math": {"acc,none": 0.4}}, "versions": {"math": 1}, "config": {"model": "hf"}},
        {"results": {"a": {"acc,none": 0.4, "acc_stderr,none": 0.1}}, "group_subtasks": {}, "configs": {"a": {}}},
    ],
)
def test_lm_evals_scores_without_samples_are_named(
    command: list[str], content: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = whole(tmp_path / "results_2026.json", content)
    message = refused(capsys, command[0], path, *command[1:])
    assert "scores without samples" in message and "--log_samples" in message


@pytest.mark.parametrize("indent", [None, 2])
def test_a_trainer_state_without_a_metric_lists_its_metrics(
    indent: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = {"global_step": 2, "log_history": [{"step": 1, "eval_acc": 0.4}, {"step": 2, "eval_acc": 0.5}]}
    (tmp_path / "trainer_state.json").write_text(json.dumps(state, indent=indent))
    message = refused(capsys, "audit", tmp_path / "trainer_state.json", "printed=50.0")
    assert "metric=NAME" in message and "eval_acc" in message
    message = refused(capsys, "grade", tmp_path / "trainer_state.json")
    assert "rlvr audit" in message and "eval_acc" in message


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("key", ["problem", "name", "uid"])
def test_a_column_of_truth_values_is_proposed_as_it_can_be_typed(
    key: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table with a truth value `correct` and no response: the advised option, as it is, reads it."""
    rows = [{key: "a", "correct": True}, {key: "b", "correct": False}]
    path = tmp_path / f"t.{suffix}"
    if suffix == "csv":
        path.write_text(f"{key},correct\n" + "".join(f"{row[key]},{row['correct']}\n" for row in rows))
    else:
        lines(path, *rows)
    message = refused(capsys, "audit", path, "printed=50.0")
    typed = re.findall(r"columns=([\w.:,-]+)", message)
    assert f"id:{key},correct:correct" in typed, message
    document = grade(capsys, "audit", path, "printed=50.0", f"columns=id:{key},correct:correct")
    assert document["verdict"] == "stands"


def test_a_gold_of_the_same_length_is_no_normalisation() -> None:
    """An interval and a closed one have the same letters. A normalisation leaves characters out."""
    with pytest.raises(ValueError, match=r"2 golds\. Expected golds=any"):
        as_asked(Sample(golds=("(1,2)", "[1,2]")), None, None)
    assert as_asked(Sample(golds=("(1,2)", "1,2")), None, None).golds == ("(1,2)",)

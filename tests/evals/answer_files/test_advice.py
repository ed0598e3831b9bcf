"""A file of no known format is refused, and its message lists the paths of row 1. `columns=` with paths of that list
must give the right number, and so must each whole line that a message proposes.

Each case is a public tool's shape with texts of ours, in which two of four responses are right (`RIGHT`, then `WRONG`,
in turn). Proposed lines are taken from the message, as a shell reads it.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.answer_files.listing import listing, paths_of
from evals.answer_files.prose import value_in
from evals.answer_files.what_to_type import unread
from evals.audit.curves import read_curve
from evals.data import benchmarks
from evals.data.benchmarks import OwnBenchmark
from evals.data.rows import read_rows
from evals.errors import UsageError
from evals.grading.grader import Grader
from evals.grading.verdicts import Verdict
from evals.paths import ABSENT, reach
from rlvr.cli import main

GOLDS = ("17", "23", "31", "47")
RIGHT = [True, False, True, False]
QUESTIONS = [f"What is {gold} + 0, if you think about it for a while?" for gold in GOLDS]
RESPONSES = [
    rf"We add nothing to the number, so it stays as it is: \boxed{{{gold if right else 5}}}."
    for gold, right in zip(GOLDS, RIGHT, strict=True)
]
ROWS = list(zip(QUESTIONS, GOLDS, RESPONSES, RIGHT, strict=True))


def talk(question: str, response: str, role_key: str = "role", what: str = "content") -> list[dict[str, str]]:
    return [
        {role_key: "user", what: question},
        {role_key: "assistant" if role_key == "role" else "gpt", what: response},
    ]


def each(make: Any) -> list[dict[str, Any]]:
    return [make(at, *row) for at, row in enumerate(ROWS)]


SHAPES: dict[str, list[dict[str, Any]]] = {
    "two lists of responses, a verdict of all and one of each": each(
        lambda i, q, g, r, ok: {
            "question": q, "generated_responses": [r], "generated_answers": ["5"], "id": i, "gold_answer": g,
            "is_correct": True, "answers_correctness": [ok],
        }
    ),
    "responses are objects": each(
        lambda i, q, g, r, ok: {
            "idx": i, "problem": q, "solution": f"It is {g}.", "answer": g, "input_conversation": talk(q, "")[:1],
            "responses": [{"content": r, "correctness": ok, "reason": "because"}], "token_usages": {"0": [1]},
        }
    ),
    "the best response stands beside all": each(
        lambda i, q, g, r, ok: {
            "question": q, "expected_answer": g, "best_model_answer": g, "best_full_model_response": rf"\boxed{{{g}}}",
            "best_score": 1.0, "mean_score": 0.5,
            "completions": [{"model_answer": "5", "full_model_response": r, "score": float(ok)}],
        }
    ),
    "correct is a list with the gold": each(
        lambda i, q, g, r, ok: {"question": q, "correct": [g, float(g)], "solution": r, "pred": "5"}
    ),
    "names with spaces": each(
        lambda i, q, g, r, ok: {"correct": ok, "gpt solution": r, "correct answer": g, "gpt answer": "5"}
    ),
    "answer is the response": each(
        lambda i, q, g, r, ok: {
            "problem_idx": i, "problem": q, "model_name": "m", "user_message": q, "answer": r, "output_tokens": 5,
            "gold_answer": g, "parsed_answer": "5", "correct": ok,
        }
    ),
    "objects around everything": each(
        lambda i, q, g, r, ok: {
            "testIdx": i, "vars": {"question": q, "answer": g}, "prompt": {"raw": q, "label": "p1"}, "success": ok,
            "response": {"output": r, "finishReason": "stop", "cached": False}, "provider": {"id": "m"},
        }
    ),
    "a reply of a chat server": each(
        lambda i, q, g, r, ok: {
            "custom_id": f"q{i}", "target": g,
            "response": {"status_code": 200, "body": {"id": f"c{i}", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": r}, "finish_reason": "stop"}]}},
        }
    ),
    "a conversation": each(lambda i, q, g, r, ok: {"messages": talk(q, r), "ground_truth": {"answer": g, "why": q}}),
    "a conversation as ShareGPT has it": each(
        lambda i, q, g, r, ok: {"conversations": talk(q, r, "from", "value"), "gt": g, "score": float(ok)}
    ),
    "a conversation as JSON in a cell": each(
        lambda i, q, g, r, ok: {"transcript": json.dumps(talk(q, r)), "reference": g, "label": int(ok)}
    ),
    "metadata as JSON in a cell": each(
        lambda i, q, g, r, ok: {"prompt": q, "extra": json.dumps({"gold": g, "src": "x"}), "model_output": r}
    ),
    "tokens and logprobs beside the text": each(
        lambda i, q, g, r, ok: {
            "prompt": q, "prompt_tokens": [1, 2], "output_text": r, "output_tokens": [3, 4], "logprobs": [-0.1, -2.0],
            "label": g, "reward": float(ok), "advantage": 0.5,
        }
    ),
    "golds as GSM8K has them": each(
        lambda i, q, g, r, ok: {"question": q, "answer": f"We add nothing.\n#### {g}", "prediction": r, "acc": ok}
    ),
    "golds in the box of a solution": each(
        lambda i, q, g, r, ok: {"problem": q, "solution": rf"So it is \boxed{{{g}}}.", "generated_text": r}
    ),
    "a verdict in words": each(
        lambda i, q, g, r, ok: {"input": q, "ideal": g, "sampled": r, "result": "match ok" if ok else "no match"}
    ),
    "a message in parts": each(
        lambda i, q, g, r, ok: {
            "custom_id": f"q{i}", "expected_output": g,
            "result": {"type": "succeeded", "message": {"id": "m", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": r}]}},
        }
    ),
    "candidates with parts": each(
        lambda i, q, g, r, ok: {
            "key": f"q{i}", "groundTruth": g, "modelVersion": "m",
            "response": {"candidates": [{"content": {"parts": [{"text": r}], "role": "model"}}]},
        }
    ),
    "names that end in list": each(
        lambda i, q, g, r, ok: {
            "question_id": i, "question_content": q, "output_list": [r], "code_list": ["5"], "graded_list": [ok],
            "reference_answer": g, "pass@1": float(ok),
        }
    ),
    "names in capital letters": each(
        lambda i, q, g, r, ok: {"Question": q, "GroundTruth": g, "ModelResponse": r, "IsCorrect": ok}
    ),
}  # fmt: skip


def write(path: Path, rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) if isinstance(rows, list) else json.dumps(rows))
    return path


def message(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    code = main([str(word) for word in words])
    output = capsys.readouterr()
    assert code == 2, output.out
    return output.err


PROPOSED = re.compile(r"(?:read the whole file: |For verdicts alone, type )('columns=[^']*'|columns=\S+)")


def proposed(text: str) -> list[str]:
    """The whole lines that a message proposes, as a shell reads them."""
    return [shlex.split(line)[0] for line in PROPOSED.findall(text) if "PATH" not in line]


def listed(text: str) -> list[str]:
    """The paths that a message lists: each is followed by its type."""
    return [line.strip().split("  ")[0] for line in text.splitlines() if line.startswith("  ")]


def paths_in(columns: str) -> list[str]:
    """The paths of `columns=OURS:PATH,...`, without what a verdict says."""
    return [pair.partition(":")[2].partition("?")[0] for pair in columns.removeprefix("columns=").split(",")]


def graded(capsys: pytest.CaptureFixture[str], path: Path, *words: str) -> Mapping[str, Any]:
    code = main(["grade", str(path), *words, "--json"])
    output = capsys.readouterr()
    assert code == 0, output.err
    document: dict[str, Any] = json.loads(output.out)
    return document


NAMED = {
    "two lists of responses, a verdict of all and one of each":
        "problem_id:id,answer:gold_answer,response:generated_responses,expected:answers_correctness",
    "responses are objects": "problem:problem,answer:answer,response:responses.*.content,"
        "expected:responses.*.correctness",
    "the best response stands beside all": "problem:question,answer:expected_answer,"
        "response:completions.*.full_model_response,expected:completions.*.score",
    "correct is a list with the gold": "problem:question,answer:correct.0,response:solution",
    "names with spaces": "answer:correct answer,response:gpt solution,expected:correct",
    "answer is the response": "problem_id:problem_idx,answer:gold_answer,response:answer,expected:correct",
    "objects around everything": "problem:vars.question,answer:vars.answer,response:response.output,expected:success",
    "a reply of a chat server": "problem_id:custom_id,answer:target,response:response.body.choices.*.message.content",
    "a conversation": "answer:ground_truth.answer,response:messages",
    "a conversation as ShareGPT has it": "answer:gt,response:conversations,expected:score",
    "a conversation as JSON in a cell": "answer:reference,response:transcript,expected:label",
    "metadata as JSON in a cell": "problem:prompt,answer:extra.gold,response:model_output",
    "tokens and logprobs beside the text": "problem:prompt,answer:label,response:output_text,expected:reward",
    "golds as GSM8K has them": "problem:question,answer:answer,response:prediction,expected:acc",
    "golds in the box of a solution": "problem:problem,answer:solution,response:generated_text",
    "a verdict in words": "problem:input,answer:ideal,response:sampled,expected:result?match ok",
    "a message in parts": "problem_id:custom_id,answer:expected_output,response:result.message.content",
    "candidates with parts": "problem_id:key,answer:groundTruth,response:response.candidates.*.content.parts.*.text",
    "names that end in list": "problem_id:question_id,answer:reference_answer,response:output_list,"
        "expected:graded_list",
    "names in capital letters": "problem:Question,answer:GroundTruth,response:ModelResponse,expected:IsCorrect",
}  # fmt: skip
"""What a person who reads the listing names."""


@pytest.mark.parametrize("shape", SHAPES)
def test_the_listed_paths_and_a_proposed_line_give_the_right_number(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", SHAPES[shape])
    text = message(capsys, "grade", path)
    named = NAMED[shape]
    assert {*paths_in(named)} <= {*listed(text)}, text
    named = named.replace("content.parts.*", "content.parts.0")  # a list inside a list: one item of each
    for columns in [f"columns={named}", *proposed(text)]:
        document = graded(capsys, path, columns)
        assert document["verdicts"] == {"correct": 2, "wrong": 2}, columns
        assert document["samples"] == [1, 1] and document["rows"] == 4
        if (agreement := document["agreement"]) is not None:
            assert agreement["rate"] == 1.0


def test_a_list_inside_a_list_is_refused_with_a_path_that_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second level is not cut in silence: here the first of two texts would be taken."""
    rows = [{"g": g, "choices": [{"turns": ["so", r]}]} for _, g, r, _ in ROWS]
    path = write(tmp_path / "a.jsonl", rows)
    assert "choices.*.turns" in listed(message(capsys, "grade", path))
    text = message(capsys, "grade", path, "columns=answer:g,response:choices.*.turns")
    assert "a list inside a list" in text and ".-1 for its last" in text
    document = graded(capsys, path, "columns=answer:g,response:choices.*.turns.-1")
    assert document["verdicts"] == {"correct": 2, "wrong": 2}


UNSURE: dict[str, dict[str, Any]] = {
    "two golds": {"gold": "17", "reference": "18", "completion": RESPONSES[0]},
    "two responses": {"gold": "17", "completion": RESPONSES[0], "output": RESPONSES[1]},
    "a name of golds and of responses": {"solution": RESPONSES[0], "pred": "17", "question": QUESTIONS[0]},
    "a response beside one that may be one": {"gold": "17", "output": "17", "text": RESPONSES[0]},
    "a response in each example": {"gold": "17", "shots": [{"output": RESPONSES[1]}], "said": RESPONSES[0]},
    "a gold in each step": {"steps": [{"target": "1"}, {"target": "17"}], "completion": RESPONSES[0]},
    "no name of responses": {"gold": "17", "said": RESPONSES[0]},
    "a gold that is an object in another row": {"gold": "17", "completion": RESPONSES[0]},
    "several golds": {"golds": ["17", "18"], "completion": RESPONSES[0]},
}


@pytest.mark.parametrize("case", UNSURE)
def test_no_line_is_proposed_where_names_leave_a_choice_or_the_file_is_not_read(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [UNSURE[case], {**UNSURE[case], **({"gold": {"a": 1}} if case.endswith("another row") else {})}]
    text = message(capsys, "grade", write(tmp_path / "a.jsonl", rows))
    assert proposed(text) == [] and "gold" in text and len(listed(text)) >= 2


def test_a_line_is_proposed_for_golds_in_another_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.jsonl", [{"question_id": i, "completion": r} for i, (_, _, r, _) in enumerate(ROWS)])
    gold = write(tmp_path / "g.jsonl", [{"problem_id": i, "answer": g} for i, g in enumerate(GOLDS)])
    assert proposed(message(capsys, "grade", path)) == []
    [columns] = proposed(message(capsys, "grade", path, f"gold={gold}"))
    assert graded(capsys, path, f"gold={gold}", columns)["verdicts"] == {"correct": 2, "wrong": 2}


RUNS = [{"name": "run", "correct": ok} for ok in RIGHT]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (RUNS, None),  # one name in all rows is no id of a problem
        ([{**row, "name": name} for row, name in zip(RUNS, "aabc", strict=True)], None),
        ([{**row, "name": name} for row, name in zip(RUNS, "aabb", strict=True)], "columns=id:name,correct:correct"),
        ([{**row, "judge": {"id": i}} for i, row in enumerate(RUNS)], None),  # an id of something inside the row
        ([{"uid": i, "passed": True, "model": m} for i, m in enumerate("aabb")], None),
        ([{"uid": i, "passed": ok, "score": 1} for i, ok in enumerate(RIGHT)], None),  # two names of verdicts
        ([{"id": i, "passed": ok} for i, ok in enumerate(RIGHT)], "columns=id:id,correct:passed"),
        ([{"id": i, "score": 0.5} for i in range(4)], None),  # no verdicts: the file is not read
    ],
)
def test_a_line_for_verdicts_is_proposed_where_it_is_certain(
    rows: list[dict[str, Any]], line: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "v.jsonl", rows)
    text = message(capsys, "audit", path, "printed=50.0")
    assert proposed(text) == ([line] if line else [])


@pytest.mark.parametrize("values", [[True, None, False], ["True", "", "False"], [[True, False], [False], [True]]])
def test_truth_values_may_be_missing_or_in_lists(values: list[Any]) -> None:
    assert unread([{"solved_by_them": value, "n": 1} for value in values], {}) == ("solved_by_them",)


NESTED = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "[1]", '{"a": "b"}', "['u', 1]"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b.c", "role", "d|e", "f?"]), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", "a.b", "b", "c,d", "e:f", "0", "*"]), NESTED, min_size=1, max_size=4))
def test_each_listed_path_leads_to_a_value(row: dict[str, Any]) -> None:
    paths = paths_of(row)
    assert len(paths) == len({*paths})
    assert all(reach(row, path) is not ABSENT for path in paths)
    assert len(listing(row).splitlines()) == min(len(paths), 30) + (len(paths) > 30)


def test_a_name_with_a_comma_is_proposed_as_it_can_be_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.jsonl", [{"o": {"x,y": {"gold": g}}, "completion": r} for _, g, r, _ in ROWS])
    [columns] = proposed(message(capsys, "grade", path))
    assert graded(capsys, path, columns)["verdicts"] == {"correct": 2, "wrong": 2}


def test_a_csv_of_a_data_frame_has_lists_in_its_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """pandas writes a list of responses as Python prints it."""
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["task", "expected", "outputs", "passed"])
        out.writerows([q, g, repr([r, r]), repr([str(ok), str(ok)])] for q, g, r, ok in ROWS)
    text = message(capsys, "grade", path)
    columns = "columns=problem:task,answer:expected,response:outputs.*,expected:passed.*"
    assert {*paths_in(columns)} <= {*listed(text)} and proposed(text) == []  # a text, or a list of texts
    document = graded(capsys, path, columns)
    assert document["verdicts"] == {"correct": 4, "wrong": 4} and document["samples"] == [2, 2]


def test_a_container_with_several_lists_names_columns_of_the_responses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = {"results": {"prompts": [{"raw": "p", "label": "l"}], "results": SHAPES["objects around everything"]}}
    path = write(tmp_path / "r.json", whole)
    columns = NAMED["objects around everything"]
    text = message(capsys, "grade", path)
    assert {*paths_in(columns)} <= {*listed(text)} and "results.results.*, 4 rows" in text
    assert graded(capsys, path, f"columns={columns}")["verdicts"] == {"correct": 2, "wrong": 2}


def test_responses_that_are_json_are_read_at_their_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ZeroEval: the gold is `# 17`, and one response was cut before its JSON ended: it is wrong, and stays."""
    texts = [json.dumps({"reasoning": "so it is", "answer": g if ok else "5"}) for _, g, _, ok in ROWS]
    rows = [{"id": f"q{i}", "output": t, "answer": f"# {g}"} for i, (t, g) in enumerate(zip(texts, GOLDS, strict=True))]
    rows[2]["output"] = texts[2][:-4]
    path = write(tmp_path / "a.jsonl", rows)
    text = message(capsys, "grade", path)
    assert "output.answer" in listed(text) and proposed(text) == []  # answer and output.answer: two names of golds
    columns = "columns=problem_id:id,answer:answer,response:output.answer|output"
    assert graded(capsys, path, columns, "policy=whole")["verdicts"] == {"correct": 1, "wrong": 3}


def test_rows_of_several_models_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"question": q, "target": g, "completion": r, "model": m} for q, g, r, _ in ROWS for m in ("a", "b")]
    text = message(capsys, "grade", write(tmp_path / "a.jsonl", rows))
    assert "model has 2 values" in text and proposed(text) == []
    assert "type 'rows=model?a'" in text


def test_a_line_is_proposed_only_if_it_reads_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`rlvr grade A B C`: the first file alone has the columns, or all have them."""
    first = write(tmp_path / "a.jsonl", [{"question": q, "target": g, "completion": r} for q, g, r, _ in ROWS])
    same = write(tmp_path / "b.jsonl", [{"question": q, "target": g, "completion": r + " "} for q, g, r, _ in ROWS])
    other = write(tmp_path / "c.jsonl", [{"question": q, "gt": g, "text": r} for q, g, r, _ in ROWS])
    [columns] = proposed(message(capsys, "grade", first, same))
    assert main(["grade", str(first), str(same), columns]) == 0
    assert proposed(message(capsys, "grade", first, same, other)) == []


PANDAS = {"question": QUESTIONS, "target": list(GOLDS), "completion": RESPONSES, "correct": RIGHT}
TABLES: dict[str, Any] = {
    "columns and data": {"columns": [*PANDAS], "data": [list(row) for row in ROWS]},
    "lists of one length": PANDAS,
    "a data frame's columns": {
        name: {str(i): cell for i, cell in enumerate(values)} for name, values in PANDAS.items()
    },
}


@pytest.mark.parametrize("form", TABLES)
def test_a_table_that_is_one_object_has_rows(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "t.json", TABLES[form])
    [columns] = proposed(message(capsys, "grade", path))
    document = graded(capsys, path, f"{columns},expected:correct")
    assert document["verdicts"] == {"correct": 2, "wrong": 2} and document["problems"] == 4
    assert document["agreement"]["rate"] == 1.0


# -- verdicts alone ----------------------------------------------------------------------------------------------------

STATUSES = ["pass", "fail", "pass", "timeout"]
VERDICTS: dict[str, Any] = {
    "statuses of programs": {"eval": {f"T/{i}": [{"task_id": f"T/{i}", "solution": "x = 1", "status": s, "details": {}}]
                                      for i, s in enumerate(STATUSES)}},
    "rewards of 10": [{"step": 1, "prompt_idx": i, "reward": 10.0 * (s == "pass"), "tokens": [1], "advantage": 0.1}
                      for i, s in enumerate(STATUSES)],
    "an object by id": {"accuracy": 0.5, "per_task": {f"m-{i}": {"acc": float(s == "pass"), "parse_rate": 1.0}
                                                      for i, s in enumerate([*STATUSES, "pass", "fail"])}},
    "an exit code beside the status": [
        {"name": f"T{i}", "prompt": "def f():", "results": [
            {"program": "x", "exit_code": int(s != "pass"), "status": "OK" if s == "pass" else "Exception"}]}
        for i, s in enumerate(STATUSES)],
    "a list with one reward": [{"content": [talk("q", "r")], "rewards": [float(s == "pass")], "idx": i}
                               for i, s in enumerate(STATUSES)],
}  # fmt: skip


NAMED_VERDICTS = {
    "statuses of programs": "id:task_id,correct:status?pass",
    "rewards of 10": "id:prompt_idx,correct:reward?10",
    "an object by id": "id:problem_id,correct:acc",
    "an exit code beside the status": "id:name,correct:results.*.status?OK",
    "a list with one reward": "id:idx,correct:rewards",
}


@pytest.mark.parametrize("shape", VERDICTS)
def test_the_listed_paths_of_verdicts_give_their_share(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of four are right (three of six by id)."""
    path = write(tmp_path / "v.json", VERDICTS[shape])
    text = message(capsys, "audit", path, "printed=50.0")
    named = NAMED_VERDICTS[shape]
    assert {*paths_in(named)} <= {*listed(text)}, text
    if "?" in named:  # "pass" says correct in any file. "OK" and 10 do not
        assert proposed(text) == ([f"columns={named}"] if named.endswith("?pass") else []), text
    for columns in [f"columns={named}", *proposed(text)]:
        assert main(["audit", str(path), "printed=50.0", columns, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["file"] == pytest.approx(1 / 2)


def test_one_file_for_each_problem_is_no_series_of_checkpoints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MultiPL-E writes one file per problem. After `cat`, JSON stands after JSON without a line between."""
    rows = VERDICTS["an exit code beside the status"]
    paths = [write(tmp_path / f"{row['name']}.results.json", row) for row in rows]
    columns = "columns=id:name,correct:results.*.status?OK"
    text = message(capsys, "audit", *paths, "printed=50.0", columns)
    assert "no two of these files share a problem" in text and "cat" in text
    joined = tmp_path / "all.jsonl"
    joined.write_text("".join(path.read_text() for path in paths))
    assert main(["audit", str(joined), "printed=50.0", columns, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == pytest.approx(1 / 2)


# -- paths -------------------------------------------------------------------------------------------------------------

ROW = {"a": [{"b": 1, "s": "OK"}, {"b": 2, "s": "fail"}], "t": '{"x": {"y": 3}}', "n": None, "p": "['u', 'v']", "q?": 7}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.*.b", [1, 2]),
        ("a.-1.b", 2),
        ("a.*.s?ok", [True, False]),
        ("a.*.c", ABSENT),
        ("a.0.b?1", True),
        ("a.0.b?1.0", True),
        ("a.0.b?x", False),
        ("t.x.y", 3),
        ("p.*", ["u", "v"]),
        ("p.1", "v"),
        ("n?x", None),
        ("z?x", ABSENT),
        ("z|t.x.y", 3),
        ("q?", 7),
    ],
)
def test_paths_reach_into_lists_and_texts(path: str, value: object) -> None:
    assert reach(ROW, path) == value


def test_an_item_without_the_key_keeps_its_place() -> None:
    assert reach({"a": [{"b": 1}, {}]}, "a.*.b") == [1, None]


def test_names_with_dots_inside_a_path_are_found() -> None:
    """A container by models: `qwen2.5` is one name, and `qwen2` is another."""
    row = {"by": {"qwen2.5": {"text": "a", "of.all": 1}, "qwen2": {"text": "b"}}, "v1.0": [{"x.y": 2}]}
    assert (reach(row, "by.qwen2.5.text"), reach(row, "by.qwen2.text")) == ("a", "b")
    assert (reach(row, "by.qwen2.5.of.all"), reach(row, "v1.0.0.x.y")) == (1, 2)
    assert reach(row, "by.qwen2.6.text") is ABSENT
    assert {"by.qwen2.5.text", "by.qwen2.text"} <= {*paths_of(row)}


def test_of_several_lists_the_line_takes_the_longest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = {name: [{"text": r, "gold": g} for _, g, r, _ in ROWS] for name in ("qwen2.5", "phi-4")}
    path = write(tmp_path / "a.json", {"meta": {"models": [{"id": "m"}, {"id": "n"}]}, "runs": lists})
    text = message(capsys, "grade", path)
    assert "type 'rows=runs.qwen2.5.*'" in text and "runs.phi-4.*, 4 rows:" in text
    columns = "columns=answer:gold,response:text"
    assert graded(capsys, path, columns, "rows=runs.phi-4.*")["rows"] == 4


# -- curves ------------------------------------------------------------------------------------------------------------

LOGS = {
    "torchtune": "Step {s} | rewards:1.5 acc:{v} lr:1e-06 \n",
    "a logger": "2025-09-01 10:03:00,123 - INFO - step: {s}, loss: 0.25, acc: {v}\n",
    "Ray": "(Actor pid=12) [2025-09-01 10:03:00] m.py:9 - eval {s}: {{'acc': {v}, 'len': 3.0}}\n",
    "JSON behind a word": 'INFO step {s}: {{"acc": {v}, "note": "x"}}\n',
    "Megatron": " iteration {s:8d}/ 100 | elapsed time per iteration (ms): 3.4 | acc: {v} | lm loss: 2.3E+00 |\n",
    "equals": "[Epoch 1] [step {s}/60] acc={v} kl=0.01\n",
    "nanoGPT": "step {s}: train loss 1.9876, acc {v}\n",
    "a block below a step": "Validation at step {s}:\n    - acc: {v}\n    - length: 310.5 tokens/s\n",
    "Keras": "Epoch {s}/60\n10/10 [====] - 1s 5ms/step - loss: 0.5 - acc: {v}\n",
    "fairseq": '2026-01-01 00:00:00 | INFO | valid | {{"epoch": 1, "acc": "{v}", "global_step": {s}}}\n',
    "a step in the object": "{{'acc': {v}, 'step': {s}}}\n",
}


@pytest.mark.parametrize("log", LOGS)
def test_lines_that_count_a_step_are_a_curve(log: str) -> None:
    points = [(0, 0.25), (20, 0.5), (40, 0.75)]
    text = "some words: 3 of them\n" + "".join(LOGS[log].format(s=step, v=value) for step, value in points)
    curve = read_curve(text)
    assert list(curve["step"]) == [0, 20, 40] and list(curve["acc"]) == [0.25, 0.5, 0.75]


def test_lines_without_a_count_are_steps_as_they_stand() -> None:
    curve = read_curve("{'loss': 0.5, 'epoch': 0.1}\n{'loss': 0.25, 'epoch': 0.2}\n")
    assert list(curve["step"]) == [1, 2]


def test_prose_is_no_curve() -> None:
    with pytest.raises(UsageError, match="no curve was recognised"):
        read_curve("In step 3 we found: nothing.\nThe answer is 5.\n")


def test_the_column_of_steps_and_the_reward_are_advised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"fitness": 0.5 + g / 10, "era": g, "seconds": 2.5} for g in range(3)]
    path = write(tmp_path / "h.jsonl", rows)
    assert "columns=step:era" in message(capsys, "curves", path)
    text = message(capsys, "curves", path, "columns=step:era")
    assert "columns=train/reward:fitness,step:era" in text
    assert main(["audit", str(path), "printed=0.7", "metric=fitness", "columns=step:era", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == pytest.approx(0.7)


# -- files without samples, and files of problems ----------------------------------------------------------------------


@pytest.mark.parametrize("metric", [[], ["metric=Overall"]])
def test_a_row_of_final_shares_is_said_to_have_no_samples(
    metric: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """VLMEvalKit's *_acc.csv."""
    path = tmp_path / "acc.csv"
    path.write_text('"split","Overall","AR"\n"dev","0.7328","0.7638"\n')
    text = message(capsys, "audit", path, "printed=73.3", *metric)
    assert "scores without samples" in text or "final scores and no curve" in text
    assert "THEIRS" not in text


def test_problems_stand_inside_objects_of_a_json_file(tmp_path: Path) -> None:
    """Open-Reasoner-Zero's evaluation data."""
    rows = [{"prompt": [{"from": "user", "value": q}], "final_answer": g} for q, g, _, _ in ROWS]
    path = write(tmp_path / "aime.json", {"x": rows})
    path.write_text(json.dumps(rows))
    name = OwnBenchmark.parse(f"{path}?problem=prompt.0.value&answer=final_answer")
    pairs = [(problem.problem, problem.answer) for problem in benchmarks.load(name).problems]
    assert pairs == [(q, g) for q, g, _, _ in ROWS]


@pytest.mark.parametrize("choices", [{"options": ["(A)2", "(B)4"]}, {"A": "2 cm", "B": "4 cm"}])
@pytest.mark.parametrize("shown", [False, True])
def test_choices_that_no_problem_shows_are_refused(choices: dict[str, Any], shown: bool, tmp_path: Path) -> None:
    """AGIEval and VLMEvalKit: letters as answers, and the choices in columns of their own."""
    texts = choices.get("options", [*choices.values()])
    after = " ".join(texts) if shown else ""
    rows = [{"question": f"What is {x}? {after}", "label": letter, **choices} for x, letter in ("xA", "yB")]
    path = write(tmp_path / "sat.jsonl", rows)
    name = OwnBenchmark.parse(f"{path}?problem=question&answer=label")
    if shown:
        assert len(benchmarks.load(name).problems) == 2
    else:
        with pytest.raises(UsageError, match="no problem shows its choices") as caught:
            benchmarks.load(name)
        assert "jq -c '(arrays[], objects) | .problem = .question" in str(caught.value)


@pytest.mark.parametrize(("gold", "value"), [("# 18", "18"), ("24.1@@kJ", "24.1 kJ"), ("-2.5@@", "-2.5"), ("#3", None)])
def test_signs_around_a_gold_are_read_away(gold: str, value: str | None) -> None:
    assert value_in(gold) == value


def test_several_json_values_one_after_another_are_rows(tmp_path: Path) -> None:
    """As `jq .` and `cat` write them."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"gold": g, "response": r}, indent=2) for _, g, r, _ in ROWS))
    assert [row["gold"] for row in read_rows(path)] == list(GOLDS)
    path.write_text(path.read_text() + "{")
    with pytest.raises(UsageError, match="not JSON"):
        list(read_rows(path))


def test_one_row_of_whole_numbers_is_no_row_of_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.jsonl", [{"doc_id": 0, "target": "2", "resps": r"\boxed{2}"}])
    assert listed(message(capsys, "grade", path)) == ["doc_id", "target", "resps"]
    columns = "columns=problem_id:doc_id,answer:target,response:resps"
    assert graded(capsys, path, columns)["verdicts"] == {"correct": 1}


def test_lists_in_the_cells_of_lm_evals_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = each(lambda i, q, g, r, ok: {"doc_id": i, "target": g, "resps": repr([[r]]), "exact_match": float(ok)})
    path = tmp_path / "lm.csv"
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    assert "resps.*" in listed(message(capsys, "grade", path))
    document = graded(capsys, path, "columns=problem_id:doc_id,answer:target,response:resps.*.0,expected:exact_match")
    assert document["verdicts"] == {"correct": 2, "wrong": 2} and document["agreement"]["rate"] == 1.0


@pytest.mark.parametrize("names", [("prompts", "solutions", "completions"), ("problem", "gold", "response")])
def test_a_list_of_golds_beside_as_many_responses_is_refused_with_a_line_that_runs(
    names: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One row holds four samples: `golds=any` would count three of four right where one is."""
    question, golds, texts = names
    row = {question: QUESTIONS, texts: RESPONSES[:1] + RESPONSES[1:2] * 3, golds: list(GOLDS), "n": 4}
    path = write(tmp_path / "a.jsonl", [row, row])
    columns = [] if golds == "gold" else [f"columns=problem:{question},answer:{golds},response:{texts}"]
    text = message(capsys, "grade", path, *columns)
    each = f"columns=problem:{question}.*,answer:{golds}.*,response:{texts}.*"
    assert f"type {shlex.quote(each)}. If" in text
    assert graded(capsys, path, each)["verdicts"] == {"correct": 2, "wrong": 6}
    document = graded(capsys, path, *columns, "golds=any")  # a person may still say so
    assert document["rows"] == 8


# -- what a second stranger brought ------------------------------------------------------------------------------------


def test_a_table_with_objects_in_its_cells_is_a_table() -> None:
    """RLlib's progress.csv."""
    text = "a,config,reward\n" + "".join(f"{n},\"{{'lr': 0.1, 'n': {n}}}\",{n / 4}\n" for n in (1, 2, 3))
    curve = read_curve(text, step="a")
    assert list(curve["step"]) == [1, 2, 3] and list(curve["reward"]) == [0.25, 0.5, 0.75]


def test_comments_above_a_table_are_no_rows_and_each_row_may_be_a_step() -> None:
    """Stable-Baselines' monitor.csv has no column of steps."""
    text = '#{"t_start": 16.5, "env_id": "x"}\nr,l,t\n47.0,47,0.75\n11.0,11,0.5\n'
    with pytest.raises(UsageError, match="columns=step:row"):
        read_curve(text)
    assert list(read_curve(text, step="row")["r"]) == [47.0, 11.0]


def test_percent_signs_in_cells_are_percent() -> None:
    assert list(read_curve("step,acc\n1,30%\n2,40%\n")["acc"]) == [30, 40]


def test_training_and_validation_lines_in_turn() -> None:
    lines = [f"step:{s}/60 {name}_loss:{v} time:9ms" for s, v in ((20, 0.5), (40, 0.25)) for name in ("train", "val")]
    curve = read_curve("import torch\nfor step in range(10): x = 1\n" + "\n".join(lines))
    assert list(curve["val_loss"]) == [0.5, 0.25] and list(curve["train_loss"]) == [0.5, 0.25]


def test_the_problem_is_no_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """rLLM's episodes: the problem stands in `task`, and each is rolled out twice."""
    rows = [
        {"id": f"{i}:{n}", "task": {"question": q, "ground_truth": g, "idx": i}, "trajectories": [{"reward": float(ok),
         "steps": [{"chat_completions": talk(q, r)}]}]}
        for i, (q, g, r, ok) in enumerate(ROWS) for n in range(2)
    ]  # fmt: skip
    path = write(tmp_path / "e.jsonl", rows)
    columns = "problem:task.question,answer:task.ground_truth,response:trajectories.*.steps.*.chat_completions"
    assert {*paths_in(columns)} <= {*listed(message(capsys, "grade", path))}
    document = graded(capsys, path, f"columns={columns.replace('steps.*', 'steps.-1')}")
    assert document["samples"] == [2, 2] and document["problems"] == 4 and list(document["scores"]) == ["answers"]
    assert document["verdicts"] == {"correct": 4, "wrong": 4}


def test_zeros_and_ones_by_an_unknown_name_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tree of Thoughts: five plans per puzzle, each with its r."""
    rows = [
        {"idx": i, "steps": [], "ys": ["a", "b"], "infos": [{"r": int(ok)}, {"r": 0}]} for i, ok in enumerate(RIGHT)
    ]
    path = write(tmp_path / "t.json", {"x": 1})
    path.write_text(json.dumps(rows))
    columns = "columns=id:idx,correct:infos.*.r"
    assert {*paths_in(columns)} <= {*listed(message(capsys, "audit", path, "printed=25.0"))}
    assert main(["audit", str(path), "printed=25.0", columns, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == pytest.approx(2 / 8)


def test_nested_scores_are_no_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = {"total": 105.0, "rate": 0.933}
    whole = {
        "model_name": "m",
        "rate": 0.722,
        "subject": {f"s{i}": {**scores, "type": {"a": scores}} for i in range(6)},
    }
    assert "scores without samples" in message(capsys, "audit", write(tmp_path / "s.json", whole), "printed=72.2")


@pytest.mark.parametrize("name", ["evaluations.npz", "data-00000-of-00001.arrow", "events.out.tfevents.17.host"])
@pytest.mark.parametrize("command", [["grade"], ["audit", "printed=1", "metric=x"], ["curves"]])
def test_a_file_that_is_not_read_says_how_to_convert_it(
    name: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(b"PK\x03\x04")
    text = message(capsys, command[0], path, *command[1:])
    assert "not read" in text and ("python -c" in text or "Download" in text)


def test_a_text_that_is_no_table_says_what_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.log"
    path.write_text("*****\nQ: What is it?\nA: 5\n")
    text = message(capsys, "grade", path)
    assert "no table" in text and "problem_id" in text and "Expecting value" not in text


def test_json_lines_in_a_json_file_are_problems_and_repeated_ids_are_none(tmp_path: Path) -> None:
    """AQuA's dev.json is JSON Lines. GSM-Symbolic's `id` names a template."""
    path = tmp_path / "dev.json"
    path.write_text("".join(json.dumps({"id": 0, "question": q, "gold": g}) + "\n" for q, g, _, _ in ROWS))
    name = OwnBenchmark.parse(f"{path}?problem=question&answer=gold")
    problems = benchmarks.load(name).problems
    assert [problem.id for problem in problems] == ["dev-0", "dev-1", "dev-2", "dev-3"]


def test_a_letter_in_chinese_brackets() -> None:
    [grade] = Grader().grade_responses([("D", "【解析】 A 错误。 <eoe>\n【答案】 D <eoa>", None)], "letter")
    assert (grade.answer, grade.verdict) == ("D", Verdict.CORRECT)


def test_advice_with_spaces_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.txt"
    text = "".join(f"step: {s} | average reward score: {s / 4} | time (s): 3.5\n" for s in (1, 2))
    path.write_text(text.replace(" (s)", ""))
    assert "'columns=train/reward:average reward score'" in message(capsys, "curves", path)
    path.write_text(text)  # a pair cannot have brackets, and the next name may be time (s)
    assert """'columns={"train/reward": "average reward score"}'""" in message(capsys, "curves", path)


def test_a_metric_of_an_mlflow_store_is_a_curve() -> None:
    curve = read_curve("1764374400000 0.25 10\n1764374460000 0.5 20\n")
    assert list(curve["step"]) == [10, 20] and list(curve["value"]) == [0.25, 0.5]


def test_an_archive_that_is_no_log_names_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("out/rows.jsonl", "{}")
    assert "Unpack it" in (text := message(capsys, "grade", path)) and "out/rows.jsonl" in text


def test_a_text_in_utf_16_says_how_it_is_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("gold,response\n2,2\n".encode("utf-16"))
    assert "iconv -f UTF-16" in message(capsys, "grade", path)

"""Files of programs as other tools save them: lm-eval, human-eval, evalplus. Problems and programs are ours."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evals.answer_files import grade_file
from evals.answer_files.reading import Reading
from rlvr.cli import main

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
TASKS = [
    {
        "task_id": f"HumanEval/{i}",
        "prompt": f'def f{i}(x):\n    """x + {i}"""\n',
        "test": f"def check(candidate):\n    assert candidate(1) == {1 + i}\n",
        "entry_point": f"f{i}",
    }
    for i in range(3)
]
BODIES = ["    return x + 0\n", "    return x\n", "    return x + 2\n"]  # the second is wrong
PASSED = [True, False, True]


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def golds(tmp_path: Path) -> Path:
    path = tmp_path / "HumanEval.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(task) + "\n" for task in TASKS).encode()))
    return path


def lm_eval_rows(labels: list[bool]) -> list[Any]:
    return [
        {
            "doc_id": i, "doc": task, "target": f"{task['test']}\ncheck({task['entry_point']})", "resps": [[body]],
            "filtered_resps": [[task["prompt"] + body]], "filter": "create_test", "metrics": ["pass@1"],
            "pass@1": float(label),
        }
        for i, (task, body, label) in enumerate(zip(TASKS, BODIES, labels, strict=True))
    ]  # fmt: skip


def test_lm_evals_samples_are_run_and_not_read_as_mathematics(tmp_path: Path) -> None:
    path = write(tmp_path / "samples_humaneval_x.jsonl", lm_eval_rows(PASSED))
    report = grade_file(path)
    assert (report.policy, report.scores["answers"][0].value) == ("program", pytest.approx(2 / 3))
    assert report.agreement is not None and report.agreement.rate == 1.0
    assert {effect.policy: effect.correct for effect in report.policies}["program_fenced"] == 0  # no fence in them


def test_human_evals_results_need_its_problems(tmp_path: Path, golds: Path) -> None:
    rows = [
        {"task_id": task["task_id"], "completion": body, "result": "passed" if label else "failed", "passed": label}
        for task, body, label in zip(TASKS, BODIES, [True, True, True], strict=True)  # one label is wrong
    ]
    path = write(tmp_path / "samples.jsonl_results.jsonl", rows)
    with pytest.raises(ValueError, match=r"row 1: this row has no gold answer\. .* type gold=FILE"):
        grade_file(path)
    report = grade_file(path, reading=Reading(gold=golds))
    assert (report.policy, report.scores["answers"][0].value) == ("program_completion", pytest.approx(2 / 3))
    assert [(sample.row, sample.cause) for sample in report.differing] == [(2, "the program does not pass the tests")]
    with pytest.raises(ValueError, match=r"policy=boxed_last: the answer of row 1 is the test of a program"):
        grade_file(path, reading=Reading(gold=golds), policy="boxed_last")


def test_programs_that_nobody_has_run_yet_are_run(tmp_path: Path, golds: Path) -> None:
    """human-eval's samples before its evaluation, and evalplus's: no verdicts of theirs."""
    bodies = [{"task_id": task["task_id"], "completion": body} for task, body in zip(TASKS, BODIES, strict=True)]
    whole = [{"task_id": t["task_id"], "solution": t["prompt"] + body} for t, body in zip(TASKS, BODIES, strict=True)]
    for rows in (bodies, whole):
        report = grade_file(write(tmp_path / "samples.jsonl", rows), reading=Reading(gold=golds))
        assert report.scores["answers"][0].value == pytest.approx(2 / 3) and report.agreement is None


def test_evalpluss_results_have_two_verdicts(tmp_path: Path, golds: Path) -> None:
    samples = {
        task["task_id"]: [
            {"task_id": task["task_id"], "solution": task["prompt"] + body, "base_status": "pass" if label else "fail",
             "plus_status": "fail", "base_fail_tests": [], "plus_fail_tests": []}
        ]
        for task, body, label in zip(TASKS, BODIES, PASSED, strict=True)
    }  # fmt: skip
    path = tmp_path / "x_eval_results.json"
    path.write_text(json.dumps({"date": "2026-11-27 00:00", "hash": "x", "eval": samples}))
    base = grade_file(path, reading=Reading(gold=golds, label="base"))
    assert (base.policy, base.rows, base.scores["answers"][0].value) == ("program_whole", 3, pytest.approx(2 / 3))
    assert base.agreement is not None and base.agreement.rate == 1.0
    plus = grade_file(path, reading=Reading(gold=golds, label="plus"))
    assert plus.agreement is not None and plus.agreement.rate == pytest.approx(1 / 3)


def test_the_command_grades_and_audits_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "samples_humaneval_x.jsonl", lm_eval_rows(PASSED))
    assert main(["grade", str(path), "policy=program"]) == 0
    assert "100.00% of 3 labelled rows as expected" in capsys.readouterr().out
    wrong = write(tmp_path / "wrong.jsonl", lm_eval_rows([True, True, True]))
    assert main(["audit", str(wrong), "printed=100.0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["file"], document["ours"]) == (1.0, pytest.approx(2 / 3))


def test_programs_that_only_their_fence_breaks_name_the_policy_that_reads_them(tmp_path: Path, golds: Path) -> None:
    """human-eval appends the completion to the prompt, so the fence of a chat model is a syntax error."""
    fenced = [f"```python\n{task['prompt']}    return x + {i}\n```" for i, task in enumerate(TASKS)]
    rows = [
        {"task_id": task["task_id"], "completion": text, "passed": True}
        for task, text in zip(TASKS, fenced, strict=True)
    ]
    report = grade_file(write(tmp_path / "samples.jsonl_results.jsonl", rows), reading=Reading(gold=golds))
    assert (report.policy, report.verdicts) == ("program_completion", {"wrong": 3})
    advised = "0 of 3 programs pass in the form of program_completion; policy=program, 3 correct"
    assert report.advice == advised and advised in str(report)
    assert {sample.cause for sample in report.differing} == {
        "the program does not pass the tests. It passes under policy=program"
    }

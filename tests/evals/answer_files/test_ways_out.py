"""The line that a refusal or an advice says to type does what it says: shapes of public files, with values of ours."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rlvr
from evals.answer_files import grade_file
from evals.audit.verdict_rows import verdict_table
from evals.data import benchmarks
from evals.data.rows import read_rows
from evals.errors import UsageError
from rlvr.cli import main

MONITOR = '#{"t_start": 1614619328.3, "env_id": "CartPole-v1"}\nr,l,t\n11.0,11,0.78\n47.0,47,0.86\n'


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def output_of(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main([str(word) for word in words]) == 2
    return capsys.readouterr().err


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# -- curves ------------------------------------------------------------------------------------------------------------


def test_a_comment_before_the_header_of_a_csv_is_skipped(tmp_path: Path) -> None:
    """Stable-Baselines3's monitor."""
    path = tmp_path / "0.monitor.csv"
    path.write_text(MONITOR)
    assert list(read_rows(path)) == [{"r": "11.0", "l": "11", "t": "0.78"}, {"r": "47.0", "l": "47", "t": "0.86"}]
    hashed = tmp_path / "hashed.csv"
    hashed.write_text("#,problem\n1,q\n")  # a name of a column, and no comment
    assert list(read_rows(hashed)) == [{"#": "1", "problem": "q"}]


def test_a_time_is_no_reward_and_a_name_with_spaces_is_quoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("step,began,mean reward score\n1,1614619328,0.5\n2,1614619329,0.25\n")
    message = output_of(capsys, "curves", path)
    typed = shlex.split(message.partition("Type ")[2].partition(", or")[0])
    assert typed == ["columns=train/reward:mean reward score"] and main(["curves", str(path), *typed]) == 0
    path.write_text("step,began,loss\n1,1614619328,0.5\n2,1614619329,0.25\n")
    assert "columns=train/reward:NAME" in output_of(capsys, "curves", path)


# -- forms that are not read -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_a_binary_file_is_named_and_converted(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"a file{suffix}"
    if suffix == ".npz":
        np.savez(path, timesteps=np.array([10, 20]), results=np.array([[1.0, 3.0], [4.0, 6.0]]))
    else:
        np.save(path, np.array([[10.0, 2.0], [20.0, 5.0]]))
    assert "which is not read" in output_of(capsys, "curves", path)
    message = output_of(capsys, "grade", path)
    _, option, code = shlex.split(message.partition("Convert it: ")[2])[:3]
    made = subprocess.run([sys.executable, option, code], check=True, capture_output=True, text=True).stdout
    table = [line.split(",") for line in made.split()]
    # a row for each evaluation, with the mean over its episodes: (1 + 3) / 2 and (4 + 6) / 2
    assert [[float(cell) for cell in row] for row in table[1:]] == [[10, 2], [20, 5]]


@pytest.mark.parametrize("suffix", [".pkl", ".pt", ".db", ".xlsx"])
def test_every_other_container_is_named(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"\x80\x04")
    assert "which is not read. Convert it: python -c" in output_of(capsys, "audit", path, "printed=5.0", "metric=a")
    with pytest.raises(UsageError, match="which is not read"):
        benchmarks.check_name(str(path))


# -- columns and verdicts ----------------------------------------------------------------------------------------------


def test_extracted_answers_are_graded_as_a_whole_and_no_policy_is_advised_that_reads_no_more(tmp_path: Path) -> None:
    """As in GAOKAO-Bench, whose extraction knew more than our policies do."""
    plain = [
        {"problem_id": i, "answer": [g], "response": f"If it is {g}, it is so, but I would rather not say. " * 2}
        for i, g in enumerate("ABCD")
    ]
    report = grade_file(jsonl(tmp_path / "a.jsonl", plain), policy="letter")
    by_policy = {effect.policy: effect.correct for effect in report.policies}
    assert by_policy["qwen"] == 0 and "policy=qwen" not in (report.advice or "")
    assert "columns=response:COLUMN with policy=whole" in (report.advice or "")


def test_a_threshold_that_no_value_reaches_is_not_advised(tmp_path: Path) -> None:
    for top, advised in ((1, True), (0.9, False)):
        path = jsonl(tmp_path / "a.jsonl", [{"id": 1, "correct": 0.5}, {"id": 2, "correct": top}])
        with pytest.raises(UsageError, match=r"0\.5 is no verdict") as caught:
            verdict_table(path, {})
        assert ("label_threshold=1" in str(caught.value)) is advised


def test_a_verdict_inside_an_object_is_named_by_its_path(tmp_path: Path) -> None:
    """The tree of thoughts: `infos` is a list of objects with one verdict each."""
    path = jsonl(tmp_path / "a.jsonl", [{"idx": i, "infos": [{"r": 0}, {"r": i}]} for i in range(2)])
    with pytest.raises(UsageError, match="is no verdict") as caught:
        verdict_table(path, {"id": "idx", "correct": "infos"})
    [typed] = shlex.split(str(caught.value).partition("Type ")[2])
    columns = dict(pair.split(":") for pair in typed.removeprefix("columns=").split(","))
    table = verdict_table(path, columns)
    assert isinstance(table, pd.DataFrame) and table["label"].tolist() == [0, 0, 0, 1]


def test_an_id_that_is_a_list_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in a file of one object whose keys are ids, `{"0": [[true, false]]}`. It ended in a KeyError."""
    path = tmp_path / "all_results.json"
    path.write_text('{"0": [[true, false]], "1": [[true]]}', encoding="utf-8")
    assert main(["audit", str(path), "printed=50.0", "columns=id:0,correct:0.0"]) == 2
    error = capsys.readouterr().err
    assert "id is a list. Type columns=id:THEIRS" in error and "KeyError" not in error


def test_a_file_with_two_columns_of_verdicts_in_words_proposes_both(tmp_path: Path) -> None:
    """evalplus writes pass, fail or timeout for its base tests, and for all of its tests. Both lines can be typed."""
    statuses = [("pass", "pass"), ("pass", "fail"), ("timeout", "timeout"), ("pass", "timeout")]
    tasks = {
        f"HumanEval/{i}": [{"task_id": f"HumanEval/{i}", "solution": "x", "base_status": base, "plus_status": plus}]
        for i, (base, plus) in enumerate(statuses)
    }
    path = tmp_path / "eval_results.json"
    path.write_text(json.dumps({"date": "2026-01-01", "hash": "a", "eval": tasks}))
    with pytest.raises(UsageError) as refused:
        rlvr.audit(path, printed="75.0")
    lines = re.findall(r"'columns=([^']*)'", str(refused.value).rpartition("For verdicts alone")[2])
    assert lines == ["id:task_id,correct:base_status?pass", "id:task_id,correct:plus_status?pass"]
    for line, score in zip(lines, ("75.0", "25.0"), strict=True):
        columns = dict(pair.split(":") for pair in line.split(","))
        assert str(rlvr.audit(path, printed=score, columns=columns)["verdict"]) == "stands"

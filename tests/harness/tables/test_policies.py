"""`rlvr tables policies=` and `rlvr show policies=`: the same responses under two extraction policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evals.grading.verdicts import schema
from harness.record.run import Run
from harness.tables.measured import Measured
from harness.tables.policies import policy_grids, used_policy
from rlvr.cli import main

# gold 5. boxed_last reads only a box: correct, wrong, no answer, no answer. qwen also takes "the answer is", else the
# last number: correct, wrong, correct, wrong. boxed_strict: the second response boxes two things and has no answer.
RESPONSES = {
    r"so \boxed{5}": "correct",
    r"\boxed{5}, no, \boxed{6}": "wrong",
    "The answer is 5.": "no_answer",
    "no 7": "no_answer",
}


def write(folder: Path, benchmark: str = "math500") -> None:
    rows = [
        {"benchmark": benchmark, "problem_id": str(i), "sample": 0, "gold": "5", "response": response, "boxed": True}
        | {"verdict": verdict, "finish_reason": "stop", "tokens": 3}
        for i, (response, verdict) in enumerate(RESPONSES.items())
    ]
    path = folder / benchmark / "verdicts.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema()), path)


def arm(settings: dict[str, Any], **more: Any) -> Measured:
    known = {"model": "m", "arm": "grpo", "title": "GRPO", "scale": "tiny", "backend": "trl", "overrides": ""}
    empty: dict[str, Any] = {"digest": "d", "seeds": (0,), "commits": (), "commands": (), "origins": {}, "n": {}}
    filled = {"scores": {}, "verdicts": {"math500": None}, "records": {0: {"settings": settings}}}
    return Measured(**(known | empty | filled | more))


BOXED = {"protocol.prompt": {"value": {"default": "boxed_system"}}, "protocol.extraction": {"value": "prompt"}}


def test_both_scores_are_side_by_side(tmp_path: Path) -> None:
    write(tmp_path)
    [grid] = policy_grids("p", [arm(BOXED, runs={0: Run(tmp_path)})], ["boxed_last", "qwen"])
    assert grid.header == ("arm", "benchmark", "policy", "responses", "as recorded", "boxed_last", "qwen")
    # recorded 1 of 4; qwen also reads "The answer is 5.": 2 of 4, one gained, none lost
    assert grid.rows == (("grpo", "math500", "boxed_last", "4", "25.0", "25.0 (+0, -0)", "50.0 (+1, -0)"),)


def test_without_policies_no_table_and_without_responses_no_number(tmp_path: Path) -> None:
    assert policy_grids("p", [arm(BOXED, runs={0: Run(tmp_path)})], []) == []
    write(tmp_path)
    path = tmp_path / "math500" / "verdicts.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["response"]), path)
    [grid] = policy_grids("p", [arm(BOXED, runs={0: Run(tmp_path)})], ["qwen"])
    assert grid.rows == (("grpo", "math500", "boxed_last", "0", *["no responses in the store"] * 2),)


def test_programs_have_no_extraction_policy(tmp_path: Path) -> None:
    settings = {"protocol.prompt": {"value": "humaneval"}}
    assert policy_grids("p", [arm(settings, runs={0: Run(tmp_path)})], ["qwen"]) == []


def test_the_policy_of_a_run() -> None:
    assert used_policy({"settings": BOXED}, "math500") == "boxed_last"
    stated = {**BOXED, "protocol.extraction": {"value": {"default": "prompt", "aime24": "qwen"}}}
    assert used_policy({"settings": stated}, "aime24") == "qwen"
    assert used_policy({"settings": stated}, "math500") == "boxed_last"


def test_show_counts_changed_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "eval")
    assert main(["show", str(tmp_path / "eval"), "policies=[boxed_last,qwen,boxed_strict]", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["policies"]
    assert [(a["policy"], a["value"], a["gained"], a["lost"], a["unscored"]) for a in again] == [
        ("boxed_last", 0.25, 0, 0, 0),
        ("qwen", 0.5, 1, 0, 0),
        ("boxed_strict", 0.25, 0, 0, 0),
    ]
    assert main(["show", str(tmp_path / "eval"), "policies=[qwen]"]) == 0
    assert "+1 -0" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["tables", "paper=egsw", "policies=[qwn]"], ["tables", "check=x", "policies=[qwen]"]]
)
def test_bad_input_says_what_was_expected(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    assert "policies" in capsys.readouterr().err

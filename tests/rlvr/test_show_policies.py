"""`rlvr show policies=`: the same responses under two extraction policies."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evals.grading.verdicts import schema
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


def test_bad_input_says_what_was_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "x", "policies=[qwn]"]) == 2
    assert "policies" in capsys.readouterr().err

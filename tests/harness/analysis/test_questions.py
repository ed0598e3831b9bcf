"""The questions on a page: of graded answers, of a user's file, of a folder of benchmarks. Never of another file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evals.data import benchmarks
from harness.analysis.questions import questions, shared
from harness.record.run import Run

ROWS = [{"id": "p0", "problem": "What is $1+1$?", "answer": "2"}, {"id": "p1", "problem": "3?", "answer": "3"}]
TABLE = pd.DataFrame({"problem_id": ["p0", "p1"]})


def run_with(manifest: Any) -> Any:
    """A run with this manifest."""
    run = Run(Path())
    run.manifest = lambda benchmark: manifest  # type: ignore[method-assign]
    return run


def measured(name: str, **record: Any) -> Any:
    dataset = benchmarks.load(name, allow_changed_data=True, data_dir=record.get("data_dir"))
    data = {"sha256": dataset.sha256, "changed": dataset.changed, "choice_seed": dataset.choice_seed}
    return {"identity": {"data": data}, "record": record}


@pytest.mark.parametrize("column", ["problem", "question", "prompt"])
def test_graded_answers_have_them_in_a_column(column: str) -> None:
    table = TABLE.assign(**{column: ["What?", None]})
    assert questions(run_with(None), "b", table, data_dir=None) == {"p0": "What?"}
    assert questions(run_with(None), "b", TABLE, data_dir=None) == {}


def test_an_own_file_is_read_again_unless_it_was_changed(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    manifest = measured(benchmarks.OwnBenchmark.parse(file), own_benchmarks=[str(file)])
    assert questions(run_with(manifest), "own", TABLE, data_dir=None) == {"p0": "What is $1+1$?", "p1": "3?"}
    file.write_text(json.dumps(ROWS[0]) + "\n")
    assert questions(run_with(manifest), "own", TABLE, data_dir=None) == {}
    file.unlink()
    assert questions(run_with(manifest), "own", TABLE, data_dir=None) == {}


def test_a_folder_of_benchmarks_is_given_or_stands_in_the_manifest(tmp_path: Path) -> None:
    row = {"id": "0", "problem": "Which?", "answer": "a"}
    (tmp_path / "math500.jsonl").write_text(json.dumps(row) + "\n")
    manifest = measured("math500", data_dir=str(tmp_path))
    assert questions(run_with(manifest), "math500", TABLE, data_dir=None) == {"0": "Which?"}
    del manifest["record"]["data_dir"]
    assert questions(run_with(manifest), "math500", TABLE, data_dir=None) == {}  # nothing is asked of the hub
    assert questions(run_with(manifest), "math500", TABLE, data_dir=str(tmp_path)) == {"0": "Which?"}


def test_a_run_without_questions_is_shown_with_anothers() -> None:
    assert shared([{"b": {"p": "first"}}, {"b": {"p": "second", "q": "other"}}]) == {
        ("b", "p"): "first",
        ("b", "q"): "other",
    }

"""One default time limit of grading, wherever it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evals.grading import LIMIT_S
from harness.backends.trl.hardware import TrlHardware
from rlvr.cli import main


def test_grade_and_training_have_the_limit_of_the_grader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def grade_file(file: str, **options: Any) -> Any:
        given.update(options)
        raise ValueError("seen enough")

    monkeypatch.setattr("evals.answer_files.grade_file", grade_file)
    answers = tmp_path / "answers.jsonl"
    answers.write_text("{}\n")
    assert main(["grade", str(answers)]) == 2
    assert given["limit_s"] == LIMIT_S == TrlHardware().grader_limit_s

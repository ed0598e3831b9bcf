"""What a model wrote is shown on a terminal, never obeyed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlvr.cli import main, shown


@given(st.text(st.characters(exclude_categories=())))
def test_no_control_sequence_is_left(text: str) -> None:
    inert = shown(text)
    assert not any((ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160 for c in inert)
    inert.encode("utf-8")  # no half surrogate
    if text.isprintable():
        assert inert == text


def test_a_graded_answer_cannot_clear_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"problem_id": "p", "answer": "3", "response": "\\boxed{\x1b[2J3}"}) + "\n")
    assert main(["grade", str(file), "explain=[1]", "workers=1"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[2J3" in out


def test_files_of_a_command_are_not_world_writable(capsys: pytest.CaptureFixture[str]) -> None:
    before = os.umask(0)
    try:
        assert main(["list"]) == 0
        assert os.umask(0) & 0o002
    finally:
        os.umask(before)

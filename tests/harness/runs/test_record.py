"""The code in a record."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.runs import record


def test_any_changed_file_and_new_code_are_uncommitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "ROOT", tmp_path)
    assert not record.uncommitted()  # no checkout
    (tmp_path / "prompts.yaml").write_text("a: 1")
    author = ("-c", "user.name=x", "-c", "user.email=x@localhost")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "first")):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    (tmp_path / "q.jsonl").touch()  # data
    assert not record.uncommitted()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "method.py").touch()
    assert record.uncommitted()
    (tmp_path / "mine" / "method.py").unlink()
    (tmp_path / "prompts.yaml").write_text("a: 2")
    assert record.uncommitted()

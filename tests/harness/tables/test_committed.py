"""The committed tables are what the committed runs give, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlvr.cli import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def test_committed_tables_come_from_the_committed_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["tables", "check=results/records"]) == 0, capsys.readouterr().err

"""The GPU benchmark refuses a machine without a GPU, and its dry run gives rows without errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks.gpu import DRY, PARTS, Bench, main, measure


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_it_says_that_there_is_no_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "torch sees no GPU" in capsys.readouterr().err


def test_a_dry_run_writes_a_row_for_each_measurement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.jsonl"
    assert main(["--dry-run", "--only", "tokens,methods", "--out", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert capsys.readouterr().out.splitlines() == out.read_text().splitlines()
    assert rows[0]["part"] == "machine" and all(row["dry_run"] for row in rows)
    assert {row.get("method") for row in rows} >= {"grpo", "egsw-step", "erpo", "forking_tokens"}
    assert [row["what"] for row in rows if row["part"] == "tokens"] == ["token pass", "copy and TRL's head"]


def test_a_part_that_fails_is_a_row_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(bench: Bench) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setitem(PARTS, "tokens", broken)  # type: ignore[arg-type]
    _, row = measure(Bench("cpu", DRY), ["tokens"])
    assert row == {"part": "tokens", "error": "RuntimeError: out of memory"}

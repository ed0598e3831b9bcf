"""The GPU benchmark refuses a machine without a GPU, and its dry run gives rows without errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks.gpu.__main__ import DRY, PARTS, Bench, main, measure
from benchmarks.gpu.scoring import declared_methods, methods
from benchmarks.gpu.tiny import RECORDS, of_seeds, prediction, row
from harness.command.resolve import resolve


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "torch sees no GPU" in capsys.readouterr().err


def test_a_dry_run_writes_a_row_for_each_measurement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.jsonl"
    assert main(["--dry-run", "--only", "tokens,methods", "--out", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert capsys.readouterr().out.splitlines() == out.read_text().splitlines()
    assert rows[0]["part"] == "machine" and all(row["dry_run"] for row in rows)
    measured = {row["method"] for row in rows if "seconds" in row and "method" in row}
    assert measured >= {"egsw/grpo", "egsw/egsw", "erpo/erpo", "forking_tokens/top20"}
    assert {row["method"] for row in rows if "method" in row} == set(declared_methods())
    parts = [row["what"] for row in rows if row["part"] == "tokens"]
    assert parts == ["token pass", "copy and TRL's kernel", "TRL's fused head"]


def test_a_methods_cost_is_a_share_of_the_step_that_was_measured() -> None:
    bench = Bench("cpu", DRY, {"small": 2.0})  # seconds of a step for each token
    measured = next(row for row in methods(bench) if "seconds" in row)
    assert measured["share_of_step"] == {"small": pytest.approx(measured["seconds"] / (2.0 * measured["tokens"]))}
    assert next(row for row in methods(Bench("cpu", DRY)) if "seconds" in row)["share_of_step"] is None


def test_the_prediction_interval_by_hand_and_of_the_committed_runs() -> None:
    # 0.4 and 0.6: mean 0.5, deviation 0.1414; t(0.975, 1) = 12.706; half 12.706 * 0.1414 * sqrt(1.5) = 2.2
    assert prediction([0.4, 0.6]) == (0.0, 1.0) and prediction([0.5]) is None
    low, high = prediction([0.50, 0.51, 0.52]) or (0.0, 0.0)
    # mean 0.51, deviation 0.01; t(0.975, 2) = 4.3027; half 4.3027 * 0.01 * sqrt(4 / 3) = 0.04968
    assert (low, high) == (pytest.approx(0.51 - 0.04968, abs=1e-4), pytest.approx(0.51 + 0.04968, abs=1e-4))
    assert row(0.6, [0.50, 0.51, 0.52])["inside"] is False and row(0.5, [])["inside"] is None
    for arm in ("grpo", "egsw"):
        (job,) = resolve("egsw", arms=[arm], seeds=[0])
        settings = json.loads(json.dumps({k: {"value": v.value} for k, v in job.settings().items()}, default=list))
        names = {key: getattr(job, key) for key in ("paper", "model", "arm", "scale", "backend")}
        known = of_seeds(RECORDS, {**names, "settings": settings})
        assert known and all(len(seeds) >= 5 for seeds in known.values())
        other = {**settings, "learning_rate": {"value": 1.0}}
        assert of_seeds(RECORDS, {**names, "settings": other}) == {}


def test_a_part_that_fails_is_a_row_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(bench: Bench) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setitem(PARTS, "tokens", broken)  # type: ignore[arg-type]
    _, row = measure(Bench("cpu", DRY), ["tokens"])
    assert row == {"part": "tokens", "error": "RuntimeError: out of memory"}

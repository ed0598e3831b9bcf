"""`rlvr run minutes=N`: a training whose time is over is saved, evaluated as it is, not finished, and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.files import read_jsonl
from harness.record.run import Run
from harness.runs import interrupt
from rlvr.cli import main

WORDS = "run paper=egsw arm=grpo seeds=1 max_steps=6 protocol.n=1 protocol.rows=4 protocol.ks=[1] prompts_per_rollout=4"


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", ["", pytest.param("launcher=local jobs=1 hardware.processes=2", marks=pytest.mark.exhaustive)]
)
def test_a_training_whose_time_is_over_is_evaluated_and_goes_on(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    words = [*WORDS.split(), *how.split(), "hardware.device=cpu"]
    assert main([*words, "minutes=0.0001"]) == 75  # over before the first step, which is made nevertheless
    output = capsys.readouterr()
    (folder,) = (path.parent for path in tmp_path.glob("egsw/tiny/*/run.json"))
    run = Run(folder)
    assert not run.is_finished and run.so_far == "0.0001 minutes of training are over after step 1 of 6"
    assert "It is not finished: the same command goes on." in " ".join(output.out.split())
    (point,) = read_jsonl(folder / "curve.jsonl")
    assert point["step"] == 1 and "avg_at_1" in point["scores"]["tiny_short"]
    assert not list((folder / "train" / "snapshots").iterdir()) and not (folder / "train" / "final").exists()

    assert main(words) == 0
    run = Run(folder)
    assert run.is_finished and run.so_far is None
    assert run.record["training"]["resumed_from"].endswith("checkpoint-1")
    assert sorted(step for step, metrics in run.curve.items() if "train/reward" in metrics) == [1, 2, 3, 4, 5, 6]


def test_the_time_is_of_the_block_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(interrupt.time, "monotonic", lambda: now[0])
    with interrupt.budget(None), interrupt.budget(2):
        now[0] = 219.0
        assert not interrupt.requested()
        now[0] = 220.0
        assert interrupt.requested() and interrupt.Interrupted("after step 3").signal == interrupt.MINUTES
    assert not interrupt.requested() and interrupt.Interrupted("after step 3").signal == "SIGINT"


@pytest.mark.parametrize("wrong", ["0", "-1", "true", "inf", "soon"])
def test_a_time_that_is_none_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS.split(), f"minutes={wrong}"]) == 2
    assert "minutes" in capsys.readouterr().err

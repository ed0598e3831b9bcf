"""A model evaluated while it trains: the same training, a curve, and the snapshots that stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.backends.trl.hardware import TrlHardware
from harness.command.resolve import resolve
from harness.command.watch import take_watch
from harness.jobs.run import check_data, run_jobs
from harness.jobs.watching import beside_training
from harness.record.run import CURVE, Run
from tests.sizes import SIZES

pytestmark = pytest.mark.slow

SMALL = {**SIZES, "max_steps": 5}
WATCH = {"eval.every": 2, "eval.rows": 3, "eval.n": 4, "eval.ks": [1], "keep": 4}


def train(home: Path, model: Path, monkeypatch: pytest.MonkeyPatch, watch: dict[str, Any], **more: Any) -> Path:
    monkeypatch.setenv("RLVR_HOME", str(home))
    jobs = resolve("egsw", arms=["grpo"], seeds=[0], overrides={**SMALL, "base_model": str(model), **more})
    (outcome,) = run_jobs(
        jobs,
        hardware=TrlHardware(device="cpu"),
        data_dir=check_data(jobs, None),
        command="test",
        watch=take_watch(dict(watch)),
    )
    assert outcome.folder is not None
    return outcome.folder


def test_evaluations_leave_the_training_as_it_is_and_give_a_curve(
    random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load_file

    watched = train(tmp_path / "a", random_model, monkeypatch, WATCH)
    plain = train(tmp_path / "b", random_model, monkeypatch, {})
    final = "train/final/model.safetensors"
    assert (watched / final).read_bytes() == (plain / final).read_bytes()
    assert watched.name == plain.name  # the evaluations are no part of a job's identity
    rows = [json.loads(line) for line in (watched / CURVE).read_text().splitlines()]
    assert [row["step"] for row in rows] == [0, 2, 4, 5]  # the base model, every second step, and the last
    for row in rows:
        score = row["scores"]["tiny_short"]
        assert score["avg_at_4"]["value"] is not None
    assert [step for step, _ in Run(watched).metrics("curve/tiny_short/avg_at_4")] == [0, 2, 4, 5]
    assert Run(watched).evaluated_steps == [0, 2, 4, 5] and not Run(watched).damage()
    (kept,) = (watched / "train" / "snapshots").iterdir()
    assert kept.name == "step-000004"
    assert not (plain / "train" / "snapshots").exists() and not (plain / CURVE).exists()

    # a snapshot is the model after that step: a training of four steps ends with it
    four = train(tmp_path / "c", random_model, monkeypatch, {}, max_steps=4)
    ours, theirs = load_file(kept / "model.safetensors"), load_file(four / final)
    assert all(ours[name].equal(theirs[name]) for name in ours) and ours.keys() == theirs.keys()

    again = train(tmp_path / "a", random_model, monkeypatch, WATCH)  # finished: nothing is done twice
    assert len((again / CURVE).read_text().splitlines()) == 4


def test_a_training_that_was_killed_completes_its_curve(
    random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.jobs import watching

    evaluated: list[int] = []
    real = watching.Watcher.measure

    def measure(self: Any, step: int, folder: Any, **options: Any) -> None:
        if step == 4 and not evaluated.count(4):
            evaluated.append(step)
            raise RuntimeError("killed here")
        evaluated.append(step)
        real(self, step, folder, **options)

    monkeypatch.setattr(watching.Watcher, "measure", measure)
    with pytest.raises(RuntimeError, match="killed here"):
        train(tmp_path, random_model, monkeypatch, WATCH)
    folder = train(tmp_path, random_model, monkeypatch, WATCH)
    rows = [json.loads(line) for line in (folder / CURVE).read_text().splitlines()]
    assert [row["step"] for row in rows] == [0, 2, 4, 5]


def test_evaluations_beside_a_training_leave_the_gpus_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from evals.sampling import engines

    made: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(engines, "create", lambda name, model, **options: made.append((name, options)))
    for hardware in (TrlHardware(device="cpu"), TrlHardware(device="gpu", engine="vllm", engine_replicas=8)):
        with beside_training(hardware, "m"):
            pass
    assert made == [("transformers", {"device": "cpu"}), ("transformers", {})]

"""A model evaluated while it trains: the same training, a curve, and the snapshots that stay."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.backends.snapshots import Held, snapshot_folder, snapshots, writing
from harness.backends.trl.hardware import TrlHardware
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.command.watch import Watch, watch_of
from harness.jobs.run import check_data, run_jobs
from harness.jobs.watching import Watcher
from harness.record.record import CURVE
from harness.record.run import Run
from harness.record.write import Recorder
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
        watch=watch_of(RunOptions.from_keys(watch)),
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
    weights_kept, weights_watched = load_file(kept / "model.safetensors"), load_file(four / final)
    assert (
        all(weights_kept[name].equal(weights_watched[name]) for name in weights_kept)
        and weights_kept.keys() == weights_watched.keys()
    )

    again = train(tmp_path / "a", random_model, monkeypatch, WATCH)  # finished: nothing is done twice
    assert len((again / CURVE).read_text().splitlines()) == 4


def test_a_training_that_was_killed_completes_its_curve(
    random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evals.sampling import evaluate as sampling

    real, evaluated = sampling.evaluate, []

    def evaluate(*arguments: Any, **options: Any) -> Any:
        evaluated.append(options["out_dir"].name)
        if evaluated[2:] == ["step-000004"]:
            raise RuntimeError("killed here")
        return real(*arguments, **options)

    monkeypatch.setattr(sampling, "evaluate", evaluate)
    with pytest.raises(RuntimeError, match="killed here"):
        train(tmp_path, random_model, monkeypatch, WATCH)
    folder = train(tmp_path, random_model, monkeypatch, WATCH)
    rows = [json.loads(line) for line in (folder / CURVE).read_text().splitlines()]
    assert [row["step"] for row in rows] == [0, 2, 4, 5]


ALONE = TrlHardware(device="gpu", rollouts="vllm_colocate")
ALL = [0, 2, 4]


@pytest.mark.parametrize(
    ("hardware", "longest", "during", "by_the_rollouts"),
    [
        (TrlHardware(device="cpu"), 24, ALL, False),
        (ALONE, 24, ALL, True),
        (ALONE, 25, [], False),  # longer than the responses of the rollouts
        (replace(ALONE, processes=8), 24, [], False),
    ],
)
def test_a_training_keeps_its_gpus(
    hardware: TrlHardware,
    longest: int,
    during: list[int],
    by_the_rollouts: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[int, bool] = {}
    monkeypatch.setattr(Watcher, "measure", lambda _, step, model, held: seen.setdefault(step, held is not None))
    values = {**SMALL, "max_completion_tokens": 24, "protocol.max_tokens": 30}
    (job,) = resolve("egsw", arms=["grpo"], seeds=[0], overrides=values)
    watcher = Watcher(job, "base", Watch(2, {"max_tokens": longest}, 4), Recorder(tmp_path), hardware, None)
    watcher()
    for step in ALL:
        with writing(snapshot_folder(tmp_path / "train", step)) if step else nullcontext():
            pass
        watcher(Held(step, nullcontext))
    assert [*seen] == during
    watcher(ended=True)
    assert seen == dict.fromkeys(ALL, by_the_rollouts)
    assert [step for step, _ in snapshots(tmp_path / "train")] == [4]  # that of step 2 went when it was measured

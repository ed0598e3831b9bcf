"""A whole command on a random model of a few thousand weights: run, again, killed and continued, tabulated.

Real processes, the real trainer and the real evaluator. Only the sizes are small.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.forked import Command
from tests.harness.launch.small import folder_of, outcome
from tests.sizes import WORDS

pytestmark = pytest.mark.slow

SMALL = ["paper=egsw", "arm=base,egsw", "seeds=1", "max_steps=6", "kl_beta=0.04", *WORDS]
SMALL += ["hardware.save_every=1", "hardware.device=cpu"]


def start(home: Path, model: Path, *more: str) -> Command:
    replaced = {option.partition("=")[0] for option in more}
    kept = [option for option in SMALL if option.partition("=")[0] not in replaced]
    environment = {**os.environ, "RLVR_HOME": str(home)}
    environment.pop("MLFLOW_TRACKING_URI", None)
    return Command(["run", *kept, f"base_model={model}", *more], environment)


def finish(process: Command) -> tuple[str, str]:
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    return out, err


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, random_model: Path) -> tuple[Path, str]:
    home = tmp_path_factory.mktemp("unbroken")
    out, _ = finish(start(home, random_model))
    return home, out


def test_the_record_holds_every_value_with_its_source(unbroken: tuple[Path, str]) -> None:
    record = json.loads((folder_of(unbroken[0], "egsw") / "run.json").read_text())
    assert record["settings"]["egsw.alpha"]["origin"] == "paper"
    assert record["settings"]["max_steps"]["origin"] == "user"
    assert record["settings"]["learning_rate"]["origin"] == "scale"
    assert all(s["note"] for s in record["settings"].values())
    assert record["training"]["prompt_nats"]["share_of_a_guess"] > 0.9  # the weights are random
    assert record["training"]["reward_limits_s"] == {}  # no reward of the user's
    assert record["training"]["steps"] == 6 and record["seed"] == 0 and record["scale"] == "tiny"
    assert record["environment"]["packages"]["trl"] and len(record["base_model"]["sha256"]) == 64


def test_mlflow_holds_params_metrics_and_the_files_of_the_folder(
    unbroken: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.runs.track import Tracker

    monkeypatch.setenv("RLVR_HOME", str(unbroken[0]))
    tracker = Tracker.open()
    runs = tracker.arms("egsw")
    assert sorted(r.data.tags["rlvr.arm"] for r in runs) == ["base", "egsw"]
    trained = next(r for r in runs if r.data.tags["rlvr.arm"] == "egsw")
    assert trained.data.params["egsw.temperature"] == "1.0"
    model = Path(trained.data.params["base_model"]).name  # the command line's, not the paper's math-7b
    assert trained.info.run_name.startswith(f"{model}/egsw/seed0 [") and trained.data.params["seed"] == "0"
    sources = Path(trained.info.artifact_uri.removeprefix("file://")) / "values.csv"
    assert "egsw.temperature,1.0,paper,section 5" in sources.read_text().splitlines()
    assert "max_steps,6,user,command line (was " in sources.read_text().replace('"', "")
    history = tracker.client.get_metric_history(trained.info.run_id, "train/entropy")
    assert sorted(m.step for m in history) == [1, 2, 3, 4, 5, 6] and all(m.value > 0 for m in history)
    assert {"train/entropy_negative", "train/accuracy", "train/zero_variance_groups"} <= trained.data.metrics.keys()
    assert "verdicts/tiny_short/pass_at_2" in trained.data.metrics
    assert {a.path for a in tracker.client.list_artifacts(trained.info.run_id)} == {
        "run.json", "metrics.jsonl", "eval", "values.csv", "samples.json",
    }  # fmt: skip


def test_finished_arms_are_not_run_again(unbroken: tuple[Path, str], random_model: Path) -> None:
    home, printed = unbroken
    files = [p for p in folder_of(home, "egsw").rglob("*") if p.is_file() and p.name != ".lock"]
    before = {p: p.stat().st_mtime_ns for p in files}
    out, err = finish(start(home, random_model))
    assert err.count("finished already") == 2
    assert {p: p.stat().st_mtime_ns for p in files} == before
    assert out == printed


def test_a_killed_run_resumes_and_ends_the_same(unbroken: tuple[Path, str], random_model: Path, tmp_path: Path) -> None:
    process = start(tmp_path, random_model)
    deadline = time.monotonic() + 300
    # the third checkpoint exists, whole or in pieces: the kill falls at any point of its writing or of the next step
    while not list(tmp_path.glob("egsw/tiny/*-egsw-*/train/checkpoint-3")):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert "training" not in json.loads((folder_of(tmp_path, "egsw") / "run.json").read_text())
    finish(start(tmp_path, random_model))
    record = json.loads((folder_of(tmp_path, "egsw") / "run.json").read_text())
    assert record["training"]["resumed_from"] is not None and "checkpoint-" in record["training"]["resumed_from"]
    weights, verdicts = outcome(tmp_path, "egsw")
    want_weights, want_verdicts = outcome(unbroken[0], "egsw")
    assert hashlib.sha256(weights).hexdigest() == hashlib.sha256(want_weights).hexdigest()
    assert verdicts == want_verdicts

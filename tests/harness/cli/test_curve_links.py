"""The link to a paper's curves names its trained arms, finished or not, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from harness.cli.curves import curve_links
from harness.runs.track import Tracker


def test_trained_arms_are_in_the_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    tracker = Tracker.open()
    experiment = tracker.experiment("egsw")
    tracker.experiment("erpo")  # without runs

    def arm(name: str, kind: str = "arm", reward: float | None = 1.0) -> str:
        run = tracker.run(experiment, None, name, {"rlvr.kind": kind})
        if reward is not None:
            tracker.metrics(run, 1, {"train/reward": reward})
        return run

    under_way, done = arm("egsw"), arm("grpo")
    tracker.finish(done, "FINISHED")
    arm("base", reward=None)
    arm("command", kind="command")

    links = curve_links(tracker, ["egsw", "erpo", "forking_tokens"], "http://h:1")
    assert list(links) == ["egsw"]
    address, _, query = links["egsw"].partition("?")
    assert address == "http://h:1/#/metric"
    found = {key: json.loads(values[0]) for key, values in parse_qs(query).items() if values[0].startswith("[")}
    assert sorted(found["runs"]) == sorted([under_way, done])
    assert found["experiments"] == [experiment]
    assert found["plot_metric_keys"] == ["train/reward", "train/entropy"]

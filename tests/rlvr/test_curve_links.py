"""The link to a paper's curves opens a view of its trained arms: one chart a metric, grouped by arm."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import pytest

from harness.runs.track import Tracker
from rlvr.curve_links import curve_links, view


def test_trained_arms_are_in_the_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    tracker = Tracker.open()
    experiment = tracker.experiment("egsw")
    tracker.experiment("erpo")  # without runs

    def arm(name: str, kind: str = "arm", reward: float | None = 1.0) -> str:
        run_id = str(tracker.client.create_run(experiment, run_name=name, tags={"rlvr.kind": kind}).info.run_id)
        if reward is not None:
            tracker.client.log_metric(run_id, "train/reward", reward, step=1)
        return run_id

    under_way, done = arm("egsw"), arm("grpo")
    tracker.client.set_terminated(done, "FINISHED")
    arm("base", reward=None)
    arm("command", kind="command")

    links = curve_links(tracker, ["egsw", "erpo", "forking_tokens"], "http://h:1")
    assert list(links) == ["egsw"]
    address, _, query = links["egsw"].partition("?")
    assert address == f"http://h:1/#/experiments/{experiment}/runs"
    key = parse_qs(query)["viewStateShareKey"][0]
    tags = tracker.client.get_experiment(experiment).tags
    state = json.loads(tags[f"mlflow.sharedViewState.{key}"])
    assert [chart["selectedMetricKeys"] for chart in state["compareRunCharts"]] == [["train/reward"]]
    assert state["groupBy"]["groupByKeys"] == [{"mode": "tag", "groupByData": "rlvr.arm"}]
    assert under_way != done


def run(tags: dict[str, str], *metrics: str) -> Any:
    data = SimpleNamespace(metrics=dict.fromkeys(metrics, 1.0), tags={f"rlvr.{k}": v for k, v in tags.items()})
    return SimpleNamespace(data=data)


def test_runs_are_grouped_by_what_differs_and_evaluation_scores_are_folded() -> None:
    one = run({"arm": "egsw", "scale": "tiny", "overrides": ""}, "train/entropy", "eval/tiny_short/avg@8")
    two = run({"arm": "egsw", "scale": "tiny", "overrides": "egsw.alpha=0.8"}, "train/kl", "train/accuracy")
    state = view([one, two])
    assert [key["groupByData"] for key in state["groupBy"]["groupByKeys"]] == ["rlvr.arm", "rlvr.overrides"]
    # a chart holds one metric, so one unit; the order is that of METRICS
    assert [c["metricKey"] for c in state["compareRunCharts"]] == ["train/accuracy", "train/entropy", "train/kl"]
    assert [(s["name"], s["display"]) for s in state["compareRunSections"]][:2] == [
        ("train", True), ("eval/tiny_short", False)
    ]  # fmt: skip

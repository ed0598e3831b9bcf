"""Pages are artifacts in MLflow: a report of a run of its own, a page on runs of each of these."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.record.evaluations import sync, to_mlflow
from harness.record.mirror import sync_run
from harness.record.pages import has_store, show_page, show_report
from harness.record.run import Run
from harness.record.write import record_evaluation
from harness.runs.track import Tracker
from tests.harness.record.folders import finished

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RLVR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path / "home"


def text_of(run_id: str, name: str) -> str:
    return Path(Tracker.open().client.download_artifacts(run_id, name)).read_text(encoding="utf-8")


def test_a_report_is_a_run_beside_the_papers_and_the_next_one_replaces_it(home: Path, tmp_path: Path) -> None:
    assert not has_store()
    run = finished(home)
    sync_run(run.folder, Tracker.open())
    assert has_store()
    for text in ("<p>one</p>", "<p>two</p>"):
        (tmp_path / "r.html").write_text(text)
        show_report("egsw", "tiny", tmp_path / "r.html", {"curve": SVG})
    client = Tracker.open().client
    experiment = client.get_experiment_by_name("egsw")
    assert experiment is not None
    (report,) = client.search_runs([experiment.experiment_id], "tags.`rlvr.kind` = 'report'")
    assert (report.info.run_name, report.info.status) == ("report, tiny scale", "FINISHED")
    assert text_of(report.info.run_id, "page.html") == "<p>two</p>"
    assert text_of(report.info.run_id, "figures/curve.svg") == SVG
    assert len(Tracker.open().arms("egsw")) == 1  # it is no arm


def evaluation_of(arm: Run, home: Path) -> Path:
    """The folder of an evaluation that has an arm's verdicts."""
    folder = home / "evaluations" / "it's mine"
    (folder / "b").mkdir(parents=True)
    for name in ("verdicts.parquet", "manifest.json"):
        (folder / "b" / name).write_bytes((arm.folder / "eval" / "b" / name).read_bytes())
    record_evaluation(folder, "model", {"b": folder / "b" / "verdicts.parquet"})
    return folder


def test_sync_sends_an_evaluation_to_another_store_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = evaluation_of(finished(home), home)
    to_mlflow(folder, {"model": "model", "benchmarks": "c"}, {"c/avg_at_1": 0.5})  # an earlier call's
    to_mlflow(folder, {"model": "model"}, {"b/avg_at_1": 0.625})
    assert sync() == 0
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{home}/other.db")
    assert [sync(), sync()] == [1, 0]
    client = Tracker.open().client
    experiment = client.get_experiment_by_name("evaluations")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert sorted(str(run.data.metrics) for run in runs) == ["{'b/avg_at_1': 0.625}", "{'c/avg_at_1': 0.5}"]
    (run,) = (run for run in runs if "benchmarks" not in run.data.params)
    assert (run.data.params, run.data.metrics) == ({"model": "model"}, {"b/avg_at_1": 0.625})
    assert {a.path for a in client.list_artifacts(run.info.run_id)} >= {"b", "run.json"}


def test_a_page_is_in_each_run_that_mlflow_has(home: Path, tmp_path: Path) -> None:
    arm, apart = finished(home), finished(home, seed=1)
    tracker = Tracker.open()
    sync_run(arm.folder, tracker)
    folder = evaluation_of(arm, home)
    to_mlflow(folder, {"model": "model"}, {"b/avg_at_1": 0.625})
    (tmp_path / "p.html").write_text("<p>both</p>")
    show_page([arm, apart, Run(folder)], tmp_path / "p.html", {})
    experiments = tracker.client.search_experiments()
    runs = tracker.client.search_runs([e.experiment_id for e in experiments])
    assert sorted(run.info.run_name or "" for run in runs) == ["it's mine", "tiny/grpo/seed0"]
    assert [text_of(run.info.run_id, "page.html") for run in runs] == ["<p>both</p>"] * 2

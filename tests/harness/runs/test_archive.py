"""Exported runs: imported again they give the same tables, byte for byte; a changed table or archive is noticed."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from evals.files import DamagedFileError
from evals.grading.verdicts import schema
from evals.sampling.engines.base import sample_seed
from harness.runs.archive import _reduced, export_runs, import_runs, imported, read_archive, verdict_table
from harness.runs.source import ArchivedRuns
from harness.runs.track import Tracker
from harness.tables.tabulate import report
from rlvr.cli import main
from tests.harness.tables.test_tabulate import log_arm

CORRECT = {"math500": 300, "aime24": 10, "aime25": 3, "gpqa_diamond": 60}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two arms of two seeds, logged as a run logs them, with a training curve; exported."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    tracker = Tracker.open()
    (tmp_path / "logged").mkdir()
    for seed in (0, 1):
        log_arm(tracker, tmp_path / "logged", "grpo", seed, {k: v + seed for k, v in CORRECT.items()})
        log_arm(tracker, tmp_path / "logged", "egsw", seed, {k: v + 2 for k, v in CORRECT.items()}, unscored=1)
    for run in tracker.arms("egsw"):
        for step in (1, 2):
            tracker.metrics(run.info.run_id, step, {"train/reward": 0.5 * step})
    assert export_runs("egsw", tracker, tmp_path / "records" / "egsw.zip") == 4
    report("egsw", tracker).write(tmp_path / "results" / "egsw")
    return tmp_path / "records" / "egsw.zip"


def test_imported_runs_give_the_same_tables(archive: Path, tmp_path: Path) -> None:
    with imported([archive]) as tracker:
        written = report("egsw", tracker).write(tmp_path / "again")
    for path in written:
        assert path.read_bytes() == (tmp_path / "results" / "egsw" / path.name).read_bytes(), path.name


def test_an_archive_reads_like_its_import(archive: Path, tmp_path: Path) -> None:
    runs = ArchivedRuns([archive, archive])  # a run that two archives hold counts once
    with imported([archive]) as tracker:
        read, logged = runs.arms("egsw"), tracker.arms("egsw")
        assert len(read) == len(logged) == 4
        for mine, theirs in zip(read, logged, strict=True):
            assert mine.data.tags.items() <= theirs.data.tags.items()
            assert mine.data.metrics == theirs.data.metrics
            for metric in (*mine.data.metrics, "absent"):
                steps = tracker.history(theirs.info.run_id, metric)
                assert runs.history(mine.info.run_id, metric) == steps
    for path in report("egsw", runs).write(tmp_path / "read"):
        assert path.read_bytes() == (tmp_path / "results" / "egsw" / path.name).read_bytes(), path.name
    assert runs.arms("erpo") == runs.runs("egsw", "log") == []
    with pytest.raises(FileNotFoundError, match="no artifact verdicts/amc23"):
        runs.fetch(runs.arms("egsw")[0], "verdicts/amc23", tmp_path)


def test_exported_again_the_bytes_are_the_same(archive: Path, tmp_path: Path) -> None:
    with imported([archive]) as tracker:
        assert export_runs("egsw", tracker, tmp_path / "again.zip") == 4
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_seeds_of_samples_survive_and_are_kept_only_where_the_run_does_not_give_them(tmp_path: Path) -> None:
    """Offset 0: the seeds that an evaluation of the run uses. 1: others, as of samples from elsewhere."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for offset in (0, 1):
        rows = [
            {
                **{"benchmark": "math500", "problem_id": problem, "sample": sample, "gold": "1", "response": ""},
                **{"boxed": True, "verdict": "wrong", "seed": sample_seed(3, "math500", (problem, sample)) + offset},
            }
            for problem in ("a", "b")
            for sample in range(2)
        ]
        pq.write_table(pa.Table.from_pylist(rows, schema=schema()), tmp_path / "verdicts.parquet")
        reduced = _reduced(tmp_path / "verdicts.parquet", 3)
        assert ("seed" in pq.read_table(io.BytesIO(reduced)).column_names) == bool(offset)
        assert verdict_table(reduced, 3).to_pylist() == pq.read_table(tmp_path / "verdicts.parquet").to_pylist()


def test_curves_survive(archive: Path) -> None:
    with imported([archive]) as tracker:
        (run, *_) = tracker.arms("egsw")
        points = tracker.client.get_metric_history(run.info.run_id, "train/reward")
    assert [(point.step, point.value) for point in points] == [(1, 0.5), (2, 1.0)]


def test_runs_already_in_the_store_are_skipped(archive: Path) -> None:
    assert import_runs(archive, Tracker.open()) == 0  # the store that they were exported from
    with imported([archive]) as tracker:
        assert import_runs(archive, tracker) == 0 and len(tracker.arms("egsw")) == 4


def test_environment_is_unchanged(archive: Path, tmp_path: Path) -> None:
    import os

    with imported([archive]):
        assert os.environ["RLVR_HOME"] != str(tmp_path / "home")
    assert os.environ["RLVR_HOME"] == str(tmp_path / "home")


def test_check_passes_and_fails_on_an_edited_number(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ["tables", f"check={archive.parent}", f"out={tmp_path / 'results'}"]
    assert main(check) == 0
    table = tmp_path / "results" / "egsw" / "tables.csv"
    text = table.read_text()
    assert "0.601" in text  # grpo, math500: 300 and 301 of 500
    table.write_text(text.replace("0.601", "0.611", 1))
    capsys.readouterr()
    assert main(check) == 1
    said = capsys.readouterr().err
    assert "tables.csv differs from what the exported runs give" in said and "0.611" in said


def test_absent_paper_and_damaged_archives_are_named(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", "paper=erpo", f"check={archive.parent}"]) == 2
    assert "expected an exported archive of erpo" in capsys.readouterr().err
    archive.write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(DamagedFileError, match="not a zip file"):
        read_archive(archive)
    with zipfile.ZipFile(archive, "w") as other:
        other.writestr("a.txt", "b")
    assert main(["import", f"{archive}"]) == 2
    assert "no index.json" in capsys.readouterr().err


def test_an_imported_store_marks_missing_responses(archive: Path) -> None:
    index = json.loads(read_archive(archive)["index.json"])
    assert {entry["tags"]["rlvr.seed"] for entry in index} == {"0", "1"}
    with imported([archive]) as tracker:
        (run, *_) = tracker.arms("egsw")
        assert "responses are not kept" in run.data.tags["rlvr.imported"]

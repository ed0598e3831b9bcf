"""An archive of one run, and its verification: whole, rewritten."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness.record.archive import read_archive, write_archive
from harness.record.record import with_sha256
from harness.record.run import Run
from rlvr.cli import main
from tests.harness.record.folders import finished


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLVR_CACHE", str(tmp_path / "cache"))
    return finished(tmp_path / "home", {"math500": 5, "sums": 3}).folder


def test_an_archive_of_one_run_is_whole_and_the_same_twice(job: Path, tmp_path: Path) -> None:
    first, second = (tmp_path / f"{name}.tar.xz" for name in ("one", "two"))
    for out in (first, second):
        assert main(["export", str(job), f"out={out}"]) == 0
    assert first.read_bytes() == second.read_bytes() and main(["verify", str(first)]) == 0
    (run,) = read_archive(first)
    assert run.curve == Run(job).curve and run.samples("sums").equals(Run(job).samples("sums"))
    assert main(["export", str(job), f"out={first}"]) == 2  # it exists already
    assert main(["export", str(job), f"out={tmp_path / 'b.zip'}"]) == 2


def test_an_archive_of_a_run_that_came_without_responses_says_so(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(job), f"out={tmp_path / 'whole.tar.xz'}"]) == 0
    assert "without responses" not in capsys.readouterr().out
    write_archive([Run(job)], tmp_path / "sent.tar.xz")
    assert main(["export", str(tmp_path / "sent.tar.xz"), f"out={tmp_path / 'again.tar.xz'}"]) == 0
    assert "without responses: " in capsys.readouterr().out


def test_an_archive_of_an_evaluation_without_a_record(job: Path, tmp_path: Path) -> None:
    shutil.copytree(job / "eval", tmp_path / "copied")
    assert main(["export", str(tmp_path / "copied"), f"out={tmp_path / 'b.tar.xz'}"]) == 0
    (run,) = read_archive(tmp_path / "b.tar.xz")
    assert run.benchmarks == ["math500", "sums"] and main(["verify", str(tmp_path / "b.tar.xz")]) == 0


def test_scores_that_do_not_follow_from_the_verdicts_are_named(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = dict(Run(job).record)
    record["scores"]["sums"]["avg_at_1"]["value"] = 0.9
    (job / "run.json").write_text(json.dumps(with_sha256(record)))
    write_archive([Run(job)], tmp_path / "b.tar.xz")
    assert main(["verify", str(tmp_path / "b.tar.xz")]) == 1
    output = capsys.readouterr().out
    assert "sums avg_at_1" in output and "0.9" in output and "math500" not in output


def test_a_score_that_cannot_be_computed_again_is_named(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = dict(Run(job).record)
    record["scores"]["sums"]["avg_at_64"] = {"value": 0.9}
    (job / "run.json").write_text(json.dumps(with_sha256(record)))
    write_archive([Run(job)], tmp_path / "b.tar.xz")
    assert main(["verify", str(tmp_path / "b.tar.xz")]) == 1
    output = " ".join(capsys.readouterr().out.split())
    assert "sums avg_at_64: run.json says 0.9, the verdicts give no such one. They give avg_at_" in output
    assert "every score comes back" not in output

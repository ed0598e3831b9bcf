"""An archive of one run, and its verification: whole, damaged, rewritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.record.archive import read_archive, write_archive
from harness.record.run import Run, with_sha256
from rlvr.cli import main


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_CACHE", str(tmp_path / "cache"))


def bundle(job: Path, out: Path) -> Path:
    assert main(["export", str(job), f"out={out}"]) == 0
    return out


def test_a_bundle_is_whole_and_the_same_twice(job: Path, tmp_path: Path) -> None:
    one, two = (bundle(job, tmp_path / f"{name}.tar.xz") for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert main(["import", str(one), "verify=true"]) == 0
    (run,) = read_archive(one)
    assert run.curve == {} and run.benchmarks == ["math500", "sums"] and run.samples("sums")["response"].all()
    assert main(["export", str(job), f"out={one}"]) == 2  # it exists already
    assert main(["export", str(job), f"out={tmp_path / 'b.zip'}"]) == 2


def test_the_bundle_of_an_evaluation_without_a_record(job: Path, tmp_path: Path) -> None:
    (job / "run.json").unlink()
    (run,) = read_archive(bundle(job / "eval", tmp_path / "b.tar.xz"))
    assert run.benchmarks == ["math500", "sums"] and main(["import", str(tmp_path / "b.tar.xz"), "verify=true"]) == 0


def test_scores_that_do_not_follow_from_the_verdicts_are_named(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = dict(Run(job).record)
    record["scores"]["sums"]["avg_at_2"]["value"] = 0.9
    (job / "run.json").write_text(json.dumps(with_sha256(record)))
    write_archive([Run(job)], tmp_path / "b.tar.xz")
    assert main(["import", str(tmp_path / "b.tar.xz"), "verify=true"]) == 1
    said = capsys.readouterr().out
    assert "sums avg_at_2" in said and "0.9" in said and "math500" not in said

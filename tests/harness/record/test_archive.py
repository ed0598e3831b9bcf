"""Archives: they give the same tables as the runs, byte for byte. Hostile ones are refused."""

from __future__ import annotations

import io
import lzma
import os
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evals import unpacked
from evals.errors import DamagedFileError
from evals.grading.verdicts import schema
from evals.sampling.engines.base import sample_seed
from harness.analysis.questions import questions
from harness.record.archive import import_archive, newest, read_archive, without_responses, write_archive
from harness.record.find import runs
from harness.record.names import folder_name, folder_of
from harness.record.run import Run
from harness.tables.tabulate import report
from rlvr.cli import main
from tests.harness.record.folders import finished

PROBLEMS = {"math500": 500, "aime24": 30}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RLVR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "home"


@pytest.fixture
def archive(tmp_path: Path, home: Path) -> Path:
    """Two arms of two seeds at paper scale, with their tables."""
    for seed in (0, 1):
        correct = {"math500": 300 + seed, "aime24": 10 + seed}
        finished(home, correct, problems=PROBLEMS, arm="grpo", seed=seed, scale="paper")
        finished(home, {**correct, "math500": 310}, problems=PROBLEMS, unscored=1, arm="egsw", seed=seed, scale="paper")
    assert write_archive(newest(runs()), tmp_path / "records" / "egsw.tar.xz") == 4
    report("egsw", runs()).write(tmp_path / "results" / "egsw")
    return tmp_path / "records" / "egsw.tar.xz"


def test_an_archive_gives_the_tables_and_curves_of_its_runs(archive: Path, tmp_path: Path) -> None:
    archived = runs(archive)
    assert [run.folder.name for run in archived] == [run.folder.name for run in runs()]
    for path in report("egsw", archived).write(tmp_path / "again"):
        assert path.read_bytes() == (tmp_path / "results" / "egsw" / path.name).read_bytes(), path.name
    assert [run.curve for run in archived] == [run.curve for run in runs()]
    assert not (archived[0].folder / "train").exists()
    assert main(["tables", "paper=egsw", f"runs={archive.parent}", f"out={tmp_path / 'third'}"]) == 0
    csv = (tmp_path / "third" / "egsw" / "tables.csv").read_text()
    assert csv == (tmp_path / "results" / "egsw" / "tables.csv").read_text()
    with pytest.raises(ValueError, match="without the responses"):
        archived[0].samples("math500")


def test_a_bundle_has_the_questions_and_an_export_has_none(home: Path, tmp_path: Path) -> None:
    run = finished(home)  # whose benchmark is nowhere on this machine
    for responses in (True, False):
        write_archive([run], tmp_path / f"{responses}.tar.xz", responses=responses)
    whole, small = (read_archive(tmp_path / f"{responses}.tar.xz")[0] for responses in (True, False))
    texts = questions(whole, "b", whole.samples("b"), data_dir=None)
    assert texts == {str(i): f"What is {i}?" for i in range(8)} == questions(run, "b", run.verdicts("b"), data_dir=None)
    assert "problem" not in small.verdicts("b")


def test_an_archive_with_responses_fills_a_run_that_came_without(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_run = finished(home)
    for responses in (True, False):
        write_archive([finished_run], tmp_path / f"{responses}.tar.xz", responses=responses)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "other"))
    assert import_archive(tmp_path / "False.tar.xz") == (1, 0, 0)
    assert import_archive(tmp_path / "True.tar.xz") == (0, 1, 0)
    (run,) = runs()
    assert run.keeps_responses and run.damage() == [] and run.samples("b")["response"].tolist() == ["text"] * 8
    assert import_archive(tmp_path / "False.tar.xz") == (0, 0, 1)  # nothing is taken away
    assert Run(run.folder).keeps_responses
    assert [path.name for path in run.folder.parent.iterdir()] == [run.folder.name]


@pytest.mark.parametrize("named_first", [True, False])
def test_who_measured_a_run_stays_known_whichever_archive_comes_first(
    named_first: bool, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_run = finished(home)
    write_archive([finished_run], tmp_path / "small.tar.xz", by="Jane Doe")
    write_archive([finished_run], tmp_path / "whole.tar.xz", responses=True)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "other"))
    archives = [tmp_path / "small.tar.xz", tmp_path / "whole.tar.xz"]
    first, second = archives if named_first else archives[::-1]
    assert import_archive(first) == (1, 0, 0) and import_archive(second) == (0, 1, 0)
    (run,) = runs()
    assert run.by == "Jane Doe" and run.keeps_responses and run.damage() == []
    assert import_archive(first) == import_archive(second) == (0, 0, 1)


def test_a_run_is_found_under_the_papers_name_of_its_model_and_a_new_one_has_the_trained_models(
    home: Path, tmp_path: Path
) -> None:
    run = finished(home)
    assert run.folder.name.startswith("tiny-grpo-") and folder_of(run.folder.parent, run.record) == run.folder
    old = run.folder.rename(run.folder.with_name(run.folder.name.replace("tiny-", "math-7b-")))
    assert folder_of(old.parent, run.record) == old and Run(old).record == run.record
    write_archive([Run(old)], tmp_path / "egsw.tar.xz")
    assert import_archive(tmp_path / "egsw.tar.xz") == (0, 0, 1)  # it This file exists already
    record = {**run.record, "settings": {"base_model": {"value": "/data/..my model (7B)/", "origin": "user"}}}
    assert folder_name(record).startswith("my-model-7B--grpo-")


def test_equal_runs_give_equal_bytes(archive: Path, tmp_path: Path) -> None:
    write_archive(newest(runs()), tmp_path / "again.tar.xz")
    assert (tmp_path / "again.tar.xz").read_bytes() == archive.read_bytes()
    write_archive(runs(archive), tmp_path / "again.tar.xz")
    assert [run.record for run in runs(tmp_path / "again.tar.xz")] == [run.record for run in runs(archive)]


def test_a_paper_is_exported_into_a_file_without_its_unfinished_jobs(
    archive: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = home / "egsw" / "paper" / "math-7b-egsw-0-0-seed9"
    failed.mkdir()
    (failed / "error.json").write_text('{"error": "RuntimeError: no space", "when": "now"}')
    out = tmp_path / "mine.tar.xz"
    assert main(["export", "paper=egsw", f"out={out}"]) == 0 and out.read_bytes() == archive.read_bytes()
    printed = capsys.readouterr().out
    assert "4 runs" in printed and "without the unfinished: 1 failed" in printed
    assert f"check it with: rlvr verify {out}" in printed
    assert main(["export", f"out={out}"]) == 2 and "one paper" in capsys.readouterr().err
    assert main(["export", "paper=egsw", f"out={out}"]) == 2 and "This file exists already" in capsys.readouterr().err
    assert out.read_bytes() == archive.read_bytes()  # it may say who measured its runs
    for replaced in (False, True):
        assert main(["export", "paper=egsw", f"out={tmp_path / 'folder'}"]) == 0
        assert ("in place of the file that was there" in capsys.readouterr().out) is replaced


def test_an_import_adds_what_is_not_there(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    assert import_archive(archive) == (0, 0, 4)  # the home that they are from
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "other"))
    assert import_archive(archive) == (4, 0, 0) and import_archive(archive) == (0, 0, 4)
    assert report("egsw", runs()).csv() == report("egsw", runs(archive)).csv()
    from harness.record.record import ms
    from harness.runs.track import Tracker

    # and MLflow has them, which ended when they ended (one that took less than a second has no end there)
    arms = Tracker.open().arms("egsw")
    assert sorted(run.info.end_time or run.info.start_time for run in arms) == sorted(
        ms(str(run.finished)) for run in runs()
    )
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'other' / 'mlflow.db'}")
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "third"))
    assert report("egsw", runs()).csv() == report("egsw", runs(archive)).csv()


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir()
    with lzma.open(archive) as packed, tarfile.open(fileobj=packed) as tar:
        tar.extractall(folder, filter="data")


def _pack(folder: Path, archive: Path) -> None:
    with lzma.open(archive, "wb") as out, tarfile.open(fileobj=out, mode="w") as tar:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            tar.add(file, file.relative_to(folder))


def test_a_run_that_was_taken_out_of_an_archive_is_missed(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whole is the archive, whatever was done to its copy in the cache. Not one with a run's files and no record."""
    (first, *_) = read_archive(archive)
    (first.folder / "run.json").unlink()
    assert main(["verify", str(archive)]) == 0
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "other"))
    assert main(["import", str(archive)]) == 0 and "runs added: 4" in capsys.readouterr().out
    _unpack(archive, tmp_path / "x")
    (lost, *_) = sorted((tmp_path / "x").glob("*/*/*/run.json"))
    lost.unlink()
    _pack(tmp_path / "x", tmp_path / "less.tar.xz")
    for command in ("verify", "import"):
        assert main([command, str(tmp_path / "less.tar.xz")]) == 1
        assert f"({lost.parent.name} in it has no run.json)" in capsys.readouterr().out


def test_a_changed_record_of_an_archive_is_got_again_not_deleted(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _unpack(archive, tmp_path / "x")
    (record, *_) = sorted((tmp_path / "x").glob("*/*/*/run.json"))
    record.write_text(record.read_text().replace('"seed": 0', '"seed": 7'))
    _pack(tmp_path / "x", tmp_path / "forged.tar.xz")
    assert main(["verify", str(tmp_path / "forged.tar.xz")]) == 1
    assert "run.json is damaged" in (out := capsys.readouterr().out) and "get it again" in out and "delete" not in out


@pytest.mark.parametrize("offset", [0, 1])
def test_seeds_of_samples_are_kept_only_where_the_run_does_not_give_them(tmp_path: Path, offset: int) -> None:
    """Offset 0: the seeds that an evaluation of the run uses. 1: others, as of samples from elsewhere."""
    rows = [
        {
            **{"benchmark": "math500", "problem_id": problem, "sample": sample, "gold": "1", "response": ""},
            **{"boxed": True, "verdict": "wrong", "seed": sample_seed(3, "math500", (problem, sample)) + offset},
        }
        for problem in ("a", "b")
        for sample in range(2)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema()), tmp_path / "verdicts.parquet")
    kept = pq.read_table(io.BytesIO(without_responses(tmp_path / "verdicts.parquet", 3)))
    assert ("seed" in kept.column_names) == bool(offset) and "response" not in kept.column_names


def packed(path: Path, name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = "") -> Path:
    with lzma.open(path, "wb") as out, tarfile.open(fileobj=out, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, link
        member.size = len(data) if kind == tarfile.REGTYPE else 0
        tar.addfile(member, io.BytesIO(data))
    return path


def test_hostile_and_damaged_archives_are_refused(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacked, "LARGEST", 1000)
    hostile = [
        packed(tmp_path / "up.tar.xz", "../../up"),
        packed(tmp_path / "root.tar.xz", "/tmp/root"),
        packed(tmp_path / "link.tar.xz", "link", kind=tarfile.SYMTYPE, link="/etc"),
        packed(tmp_path / "hard.tar.xz", "link", kind=tarfile.LNKTYPE, link="/etc/passwd"),
        packed(tmp_path / "device.tar.xz", "device", kind=tarfile.CHRTYPE),
        packed(tmp_path / "bomb.tar.xz", "a/b/c/run.json", bytes(50_000_000)),
        packed(tmp_path / "other.tar.xz", "a.txt"),
    ]
    (tmp_path / "cut.tar.xz").write_bytes(archive.read_bytes()[:-30])
    (tmp_path / "text.tar.xz").write_text("no archive")
    for path in (*hostile, tmp_path / "cut.tar.xz", tmp_path / "text.tar.xz"):
        with pytest.raises(DamagedFileError, match=path.name):
            read_archive(path)
        assert main(["verify", str(path)]) == 1
    kept = [name for name in os.listdir(tmp_path / "cache" / "archives") if name.startswith(".part")]
    assert not kept and not (tmp_path / "up").exists()


@pytest.mark.parametrize("name", ["", "nowhere.tar.xz", "samples.jsonl"])
def test_an_import_of_anything_else_is_refused(name: str, home: Path, tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text("{}")
    assert main(["import", *([str(tmp_path / name)] if name else [])]) == 2 and not home.exists()


def test_the_newest_of_two_runs_of_one_digest_and_seed_counts(tmp_path: Path) -> None:
    first, second = (finished(tmp_path / name, {"b": n}) for n, name in ((3, "a"), (4, "b")))
    for run, when in ((first, "2026-01-02T00:00:00Z"), (second, "2026-01-01T00:00:00Z")):
        from harness.record.write import Recorder

        Recorder(run.folder).update(finished=when)
    (kept,) = newest([Run(second.folder), Run(first.folder)])
    assert kept.folder == first.folder

"""A number is never read from a file that is not its own: every change of a run's folder is one error with the file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evals.errors import DamagedFileError
from evals.files import append_jsonl, read_jsonl
from harness.record.archive import read_archive, write_archive
from harness.record.find import runs, together
from harness.record.models import check_whole
from harness.record.record import FINAL, SHAPE, with_sha256
from harness.record.run import Run
from harness.record.write import Recorder
from rlvr.cli import main
from tests.damages import DAMAGES
from tests.harness.record.folders import MODEL, finished, started

VERDICTS, MANIFEST = "eval/b/verdicts.parquet", "eval/b/manifest.json"


def read_all(folder: Path) -> None:
    """The parts of a run that tables, comparisons and analyses read."""
    run = Run(folder)
    together([run], "a")
    assert run.metrics("train/loss") and run.model_folder and run.scale == "tiny"


@pytest.mark.parametrize("name", [VERDICTS, MANIFEST, "metrics.jsonl", "run.json", *(f"{FINAL}/{n}" for n in MODEL)])
@pytest.mark.parametrize("change", ["cut", "a bit flipped", "empty", "deleted", "another's", "a folder"])
def test_a_changed_file_is_found_and_named(name: str, change: str, tmp_path: Path) -> None:
    run, other = finished(tmp_path / "home", {"b": 5}), finished(tmp_path / "home", {"b": 6}, arm="egsw", steps=4)
    if name == MANIFEST and change == "another's":
        (other.folder / name).write_text((other.folder / name).read_text().replace("transformers", "vllm"))
    read_all(run.folder)
    DAMAGES[change](run.folder / name, other.folder / name)
    with pytest.raises((DamagedFileError, IsADirectoryError), match=Path(name).name):
        read_all(run.folder)
    if name.startswith("train/final"):
        with pytest.raises(DamagedFileError):
            check_whole(run.folder / "train" / "final")


def test_a_benchmark_is_never_missing_without_a_word(tmp_path: Path) -> None:
    run = finished(tmp_path, {"a": 3, "b": 5})
    shutil.rmtree(run.folder / "eval" / "a")
    with pytest.raises(DamagedFileError, match="missing"):
        together([Run(run.folder)], "a")
    shutil.copytree(run.folder / "eval" / "b", run.folder / "eval" / "c")
    with pytest.raises(DamagedFileError, match="does not list it"):
        _ = Run(run.folder).benchmarks


VALUES: list[Any] = [None, [], 7, "text", {"a": 1}]
WRONG_KINDS = [(field, value) for field, kind in SHAPE.items() for value in VALUES if not isinstance(value, kind)]


@pytest.mark.parametrize(("field", "value"), [*WRONG_KINDS, ("finished", []), ("responses", 7)])
def test_a_sealed_record_of_another_shape_is_refused_by_every_reader(
    field: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in an archive from elsewhere, whose hashes all fit."""
    run = finished(tmp_path / "home")
    (run.folder / "run.json").write_text(json.dumps(with_sha256({**run.record, field: value})))
    for words in (["show", str(run.folder)], ["tables", f"runs={run.folder}", "paper=egsw", f"out={tmp_path}"]):
        code = main(words)
        message = capsys.readouterr().err
        assert code in ((2,) if field in SHAPE else (0, 2)) and "--debug" not in message, message
        assert code == 0 or "run.json" in message
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    assert main(["show"]) == 0  # the list has it, as damaged where it cannot be read


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        *(({"files": {name: "0" * 64}}, "is no file of a run") for name in ("../../secret", "/etc/passwd")),
        ({"seed": 1}, "of another run"),
    ],
)
def test_a_record_with_other_values_and_a_fitting_hash_is_refused(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    run = finished(tmp_path)
    (run.folder / "run.json").write_text(json.dumps(with_sha256({**run.record, **changed})))
    with pytest.raises(DamagedFileError, match=message):
        read_all(run.folder)


def test_a_record_that_does_not_say_whose_it_is_is_refused(tmp_path: Path) -> None:
    """As where a process goes on after its folder was deleted: it writes its state alone."""
    run = finished(tmp_path)
    (run.folder / "run.json").write_text(json.dumps(with_sha256({"state": "stopped"})))
    with pytest.raises(DamagedFileError, match="digest is missing"):
        read_all(run.folder)


def test_another_run_s_evaluation_is_refused_though_every_hash_fits(tmp_path: Path) -> None:
    """Files and record agree. The identity inside the files is another run's."""
    run, other = finished(tmp_path), finished(tmp_path, {"b": 6}, seed=1)
    for name in (VERDICTS, MANIFEST):
        shutil.copy(other.folder / name, run.folder / name)
    recorder = Recorder(run.folder)
    recorder.update(files={**run.record["files"], **recorder.hashes([run.folder / VERDICTS, run.folder / MANIFEST])})
    with pytest.raises(DamagedFileError, match="another seed"):
        Run(run.folder).verdicts("b")


def test_verdicts_swapped_between_evaluation_folders_are_refused(tmp_path: Path) -> None:
    """No run.json has their hashes."""
    first, second = (tmp_path / name for name in ("first", "second"))
    for seed, folder in enumerate((first, second)):
        shutil.copytree(finished(tmp_path / "home", {"b": 5 + seed}, seed=seed).folder / "eval", folder)
        assert len(Run(folder).verdicts("b")) == 8
    first_file, second_file = first / "b" / "verdicts.parquet", second / "b" / "verdicts.parquet"
    before = first_file.read_bytes()
    shutil.copy(second_file, first_file)
    with pytest.raises(DamagedFileError, match="verdicts") as error:
        Run(first).verdicts("b")
    assert error.value.path == first_file
    (alone,) = runs(first_file)
    with pytest.raises(DamagedFileError, match="verdicts"):
        alone.verdicts("b")
    first_file.write_bytes(before)
    assert len(Run(first).verdicts("b")) == 8


def test_lost_steps_are_found(tmp_path: Path) -> None:
    recorder = started(tmp_path)
    for step in (1, 2, 3):
        recorder.metrics(step, {"train/loss": 1.0})
    path = recorder.folder / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    with pytest.raises(DamagedFileError, match="step 2 is missing"):
        _ = Run(recorder.folder).curve
    path.unlink()  # all lost: the resumed training notices it at its first step
    with pytest.raises(DamagedFileError, match="step 3 is missing"):
        Recorder(recorder.folder).metrics(4, {"train/loss": 1.0})
    path.write_text(lines[0] + lines[1] + lines[2][:9])  # a kill while a line was written: trained again
    Recorder(recorder.folder).metrics(3, {"train/loss": 2.0})
    assert Run(recorder.folder).metrics("train/loss") == [(1, 1.0), (2, 1.0), (3, 2.0)]


def test_a_training_that_goes_on_from_an_earlier_step_forgets_what_came_after_it(tmp_path: Path) -> None:
    """Killed after step 3 with a checkpoint of step 2: the second step 3 leads to the model, with other metrics."""
    recorder = started(tmp_path)
    for step in (1, 2, 3):
        recorder.metrics(step, {"train/loss": 0.9, "train/kl": 0.9})
    for step in (2, 3):
        append_jsonl(recorder.folder / "curve.jsonl", {"step": step, "scores": {}})
        (recorder.folder / "curve" / f"step-{step:06d}").mkdir(parents=True)
    before = (recorder.folder / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    Recorder(recorder.folder).rewind(2)  # by a training in another process
    assert (recorder.folder / "metrics.jsonl").read_bytes() == b"".join(before[:2])
    recorder.metrics(3, {"train/loss": 0.3, "train/entropy": 0.5})
    assert Run(recorder.folder).curve[3] == {"train/loss": 0.3, "train/entropy": 0.5}
    assert [row["step"] for row in read_jsonl(recorder.folder / "curve.jsonl")] == [2]
    assert [path.name for path in (recorder.folder / "curve").iterdir()] == ["step-000002"]


def test_a_finished_run_whose_model_is_made_again_keeps_its_steps(tmp_path: Path) -> None:
    """The record has the hash of the file."""
    run = finished(tmp_path)
    before = (run.folder / "metrics.jsonl").read_bytes()
    Recorder(run.folder).rewind(0)
    Recorder(run.folder).metrics(1, {"train/loss": 9.0, "train/reward": 9.0})
    assert (run.folder / "metrics.jsonl").read_bytes() == before


def test_an_unpacked_archive_that_was_changed_is_refused_until_it_is_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "other"))
    write_archive([finished(tmp_path / "home")], tmp_path / "a.tar.xz")
    (run,) = read_archive(tmp_path / "a.tar.xz")
    (run.folder / VERDICTS).write_bytes(b"PAR1")  # the unpacked copy in the cache
    with pytest.raises(DamagedFileError, match=r"verdicts\.parquet"):
        together(runs(tmp_path / "a.tar.xz"), "a")
    assert main(["verify", str(tmp_path / "a.tar.xz")]) == 0  # the archive itself
    assert together(runs(tmp_path / "a.tar.xz"), "a").tables
    assert main(["import", str(tmp_path / "a.tar.xz")]) == 0 and (tmp_path / "other" / "egsw").exists()


def test_an_unchanged_file_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evals import files as module

    folder = finished(tmp_path).folder
    hashed: list[Path] = []
    real = module.file_sha256
    monkeypatch.setattr(module, "file_sha256", lambda path: (hashed.append(path), real(path))[1])
    read_all(folder)
    first = len(hashed)
    read_all(folder)
    assert first == 5 and len(hashed) == first
    path = folder / VERDICTS
    DAMAGES["a bit flipped"](path, path)
    with pytest.raises(DamagedFileError):
        read_all(folder)

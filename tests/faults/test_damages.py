"""Damaged files: each is made again, or named in an error that says what to delete. No number changes."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from harness.backends.checkpoints import seal
from tests.damages import DAMAGES
from tests.faults import CASES
from tests.faults.commands import SAVE_OFTEN, STEPS, copy, ending, job_folder, run, sends, when
from tests.faults.conftest import Undisturbed

DAMAGES_TRIED = ("not text", "empty", "cut", "a bit flipped")


def check(home: Path, undisturbed: Undisturbed) -> None:
    """Run the command again. If it names a file to delete, delete it and run it once more."""
    ended = run(SAVE_OFTEN, home)
    if ended.code == 2:
        assert "Traceback" not in ended.err and "delete" in ended.err, ended
        words = [word.strip(":,;()'\"") for word in ended.err.split()]
        named = [Path(word) for word in (*words[words.index("delete") :], *words) if word.startswith(str(home))]
        assert named, ended.err
        named = [home] if "delete the run's folder" in ended.err else named  # its MLflow run too: a new one is made
        shutil.rmtree(named[0]) if named[0].is_dir() else named[0].unlink()
        ended = run(SAVE_OFTEN, home)
    assert ended.code == 0 and "Traceback" not in ended.err, ended
    assert ending(home) == undisturbed.ending


def selected(cases: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return random.Random(0).sample(cases, min(CASES, len(cases)))


@pytest.mark.parametrize("measured", [True, False], ids=["finished", "without verdicts"])
def test_files_of_a_run(measured: bool, finished: Path, undisturbed: Undisturbed, tmp_path: Path) -> None:
    folder = job_folder(finished)
    kept = {".json", ".jsonl", ".parquet", ".safetensors", ".jinja"}
    files = [str(p.relative_to(finished)) for p in sorted(folder.rglob("*")) if p.suffix in kept]
    files = [file for file in files if "checkpoint-" not in file]
    if not measured:
        files = [file for file in files if "shards" in file or "final" in file]
    assert len(files) >= 3
    for file, damage in selected([(file, damage) for file in files for damage in DAMAGES_TRIED]):
        home = copy(finished, tmp_path)
        if not measured:
            copied = job_folder(home)
            for path in (*copied.glob("run.json"), *copied.rglob("verdicts.parquet")):
                path.unlink()
        DAMAGES[damage](home / file, home)
        check(home, undisturbed)


def test_a_damaged_checkpoint_is_not_used(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """The one before it is."""
    for step in (4, STEPS):
        killed = tmp_path / f"killed-{step}"
        saved = f"train/checkpoint-{step}/whole"
        run(SAVE_OFTEN, killed, meanwhile=when(lambda _, s=saved, h=killed: any(h.rglob(s)), sends(signal.SIGKILL)))
        (newest,) = killed.rglob(f"checkpoint-{step}")
        files = [str(p.relative_to(killed)) for p in sorted(newest.rglob("*")) if p.is_file()]
        for file, damage in selected([(file, damage) for file in files for damage in (*DAMAGES_TRIED, "deleted")]):
            home = copy(killed, tmp_path)
            DAMAGES[damage](home / file, home)
            check(home, undisturbed)


def _pickle_in_a_sealed_checkpoint(train: Path) -> None:
    shutil.rmtree(train / f"checkpoint-{STEPS}")  # at the last step no optimizer is read
    newest = train / f"checkpoint-{STEPS - 1}"
    torch.save({"step": Planted()}, newest / "optimizer.pt")
    seal(newest)


class Planted:
    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, (os.environ["PLANTED"],)


def _a_file_for_the_folder(train: Path) -> None:
    shutil.rmtree(train)
    train.write_text("x")


ODD: dict[
    str, tuple[Callable[[Path], object], bool]
] = {  # what is in train/. Returns whether the command ends as if it was not
    "a folder with no step": (lambda train: (train / "checkpoint-abc").mkdir(), True),
    "a file named like a checkpoint": (lambda train: (train / "checkpoint-99").write_text("x"), True),
    "a pickle": (_pickle_in_a_sealed_checkpoint, False),
    "a file": (_a_file_for_the_folder, False),
    "another seed's checkpoint": (lambda train: _resealed_as(train, "-seed0", "-seed1"), True),
    "another step's checkpoint": (lambda train: _resealed_as(train, f"-{STEPS}", "-1"), True),
}


def _resealed_as(train: Path, before: str, after: str) -> None:
    path = train / f"checkpoint-{STEPS}" / "whole"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


@pytest.mark.parametrize("name", ODD)
def test_what_is_no_checkpoint_of_this_run_is_not_used(
    name: str, finished: Path, undisturbed: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", str(tmp_path / "planted"))
    home, (change, equal) = copy(finished, tmp_path), ODD[name]
    folder = job_folder(home)
    for path in (*folder.glob("run.json"), *folder.rglob("verdicts.parquet")):
        path.unlink()
    shutil.rmtree(folder / "train" / "final")
    change(folder / "train")
    ended = run(SAVE_OFTEN, home)
    assert "Traceback" not in ended.err and not (tmp_path / "planted").exists(), ended
    named = str(folder / "train") in ended.err and ("optimizer.pt" in ended.err or name != "a pickle")
    assert ended.code == 0 if equal else ended.code in (1, 2) and named, ended
    assert not equal or ending(home) == undisturbed.ending


@pytest.mark.parametrize("damage", [*DAMAGES_TRIED, "deleted"])
def test_a_damaged_local_store_is_filled_again(
    damage: str, finished: Path, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    home = copy(finished, tmp_path)
    store = home / "mlflow.db"
    if damage == "a bit flipped":  # in the header. SQLite cannot detect it elsewhere
        store.write_bytes(b"\x00" + store.read_bytes()[1:])
    else:
        DAMAGES[damage](store, store)
    check(home, undisturbed)

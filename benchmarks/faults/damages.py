"""Damaged files: each is detected, then made again or named in an error, without a traceback or a changed number."""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.faults.interruptions import SAVE_OFTEN
from benchmarks.faults.lives import Life, difference, job_folder, live, reached, when
from benchmarks.faults.rows import Row

Damage = Callable[[Path], None]


def _garbage(path: Path) -> None:
    path.write_bytes(b"\x00\xff{garbage" * 20)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(bytes(data))


def _edit(path: Path) -> None:
    value = json.loads(path.read_text())
    value["scores"] = {} if "scores" in value else value.get("scores")
    value["steps"] = 7
    path.write_text(json.dumps(value))


HOW: dict[str, Damage] = {"garbage": _garbage, "empty": _empty, "truncated": _truncate, "a bit flipped": _flip}
JSON_FILES = ("record.json", "trained.json", "mlflow.json", "mlflow.jsonl", "eval/tiny_short/manifest.json")
FINISHED = ("eval/tiny_short/verdicts.parquet", "eval/tiny_short/shards/000000-*.parquet", "train/metrics.jsonl")
copies = [0]
limit: list[int | None] = [None]
CHECKPOINT = ("model.safetensors", "optimizer.pt", "rng_state.pth", "trainer_state.json", "scheduler.pt", "whole")


def rows(root: Path, expected: dict[str, Any], *, most: int | None) -> Iterator[Row]:
    """`most`: the maximum number of damages of each kind, chosen at random (seed 0)."""
    limit[0] = most
    yield _finished(root, expected)
    yield _measuring(root, expected)
    yield _stopped(root, expected)
    yield _store(root, expected)


def _some(all_of_them: list[Any]) -> list[Any]:
    if limit[0] is None or limit[0] >= len(all_of_them):
        return all_of_them
    return random.Random(0).sample(all_of_them, limit[0])


def _finished(root: Path, expected: dict[str, Any]) -> Row:
    """Damage a finished run; the command, run again, must not change or trust anything."""
    row = Row(
        "A damaged file of a finished run is made again, or an error (exit code 2) names what to delete; deleting it "
        "gives the same result",
        f"{', '.join(HOW)}, edited: {', '.join((*JSON_FILES, *FINISHED))}",
    )
    whole = root / "finished"
    shutil.rmtree(whole, ignore_errors=True)
    assert live(SAVE_OFTEN, whole).code == 0
    every = [(file, how) for file in (*JSON_FILES, *FINISHED) for how in HOW] + [("record.json", "edited")]
    for file, how in _some(every):
        if row.again(f"{file} {how}"):
            continue
        home = _copy(whole, root / "damaged")
        (target,) = job_folder(home).glob(file)
        {**HOW, "edited": _edit}[how](target)
        row.check(f"{file} {how}", _outcome(home, target, expected))
    return row


def _measuring(root: Path, expected: dict[str, Any]) -> Row:
    """Damage a run that has samples but no record yet."""
    row = Row(
        "A damaged shard, verdict file or trained model is made again",
        f"{', '.join(HOW)}: a run that has samples but no record and no verdicts yet",
    )
    files = ("eval/tiny_short/shards/000000-*.parquet", "train/final/model.safetensors", "train/final/config.json")
    for file, how in _some([(file, how) for file in files for how in HOW]):
        if row.again(f"{file} {how}"):
            continue
        home = _copy(root / "finished", root / "damaged")
        folder = job_folder(home)
        (folder / "record.json").unlink()
        (folder / "eval" / "tiny_short" / "verdicts.parquet").unlink()
        (target,) = folder.glob(file)
        HOW[how](target)
        row.check(f"{file} {how}", _outcome(home, target, expected))
    return row


def _stopped(root: Path, expected: dict[str, Any]) -> Row:
    """Damage the newest checkpoint of a killed run: the previous one is used."""
    row = Row(
        "Checkpoints are verified before use; if one is damaged, the previous one is used",
        f"{', '.join(HOW)}, missing: {', '.join(CHECKPOINT)} of the newest checkpoint of a run killed after step 4, "
        "and of the last step's",
    )
    for name, step in (("killed", 4), ("killed-at-the-end", 6)):
        killed = root / name
        shutil.rmtree(killed, ignore_errors=True)
        live(SAVE_OFTEN, killed, meanwhile=when(_checkpoint(killed, step), lambda pid: _kill(pid)))
        for file, how in _some([(file, how) for file in CHECKPOINT for how in (*HOW, "missing")]):
            if row.again(f"{name}/{file} {how}"):
                continue
            home = _copy(killed, root / "damaged")
            checkpoints = sorted(job_folder(home).glob("train/checkpoint-*"), key=lambda p: int(p.name.split("-")[1]))
            {**HOW, "missing": Path.unlink}[how](checkpoints[-1] / file)
            (job_folder(home) / "trained.json").unlink(missing_ok=True)
            row.check(f"{name}/{file} {how}", _outcome(home, checkpoints[-1] / file, expected))
    return row


def _store(root: Path, expected: dict[str, Any]) -> Row:
    row = Row(
        "An error names a damaged local MLflow store; once deleted, it is filled again from the runs' folders",
        ", ".join((*HOW, "deleted")),
    )
    for how, damage in {**HOW, "deleted": Path.unlink}.items():
        home = _copy(root / "finished", root / "damaged")
        if how == "a bit flipped":  # in the header; SQLite cannot detect it elsewhere
            data = (home / "mlflow.db").read_bytes()
            (home / "mlflow.db").write_bytes(b"\x00" + data[1:])
        else:
            damage(home / "mlflow.db")
        row.check(how, _outcome(home, home / "mlflow.db", expected))
    return row


def _outcome(home: Path, target: Path, expected: dict[str, Any]) -> str | None:
    """Run the command again; if it names a file to delete, delete it. Returns what is wrong, or None."""
    life = live(SAVE_OFTEN, home)
    if life.code == 2 and not life.traceback and "delete" in life.err:
        named = _to_delete(life, home)
        if named is None:
            return f"names no file to delete: {life.err[-300:]}"
        shutil.rmtree(named) if named.is_dir() else named.unlink()
        life = live(SAVE_OFTEN, home)
    if life.code != 0 or life.traceback:
        return f"exit code {life.code}: {life.err[-400:]}"
    wrong = difference(home, expected)
    if wrong is None:
        shutil.rmtree(home)
    return wrong


def _to_delete(life: Life, home: Path) -> Path | None:
    """The file or folder that the message says to delete."""
    words = [word.strip(":,;()'") for word in life.err.split()]
    after = words[words.index("delete") + 1 :]
    paths = [word for word in (*after, *words) if word.startswith(str(home))]
    return Path(paths[0]) if paths else None


def _copy(whole: Path, home: Path) -> Path:
    """A copy of a home folder, under a new name each time, because MLflow keeps stores open by their address. Artifact
    folders stay in the original."""
    copies[0] += 1
    home = home.with_name(f"{home.name}{copies[0]}")
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(whole, home)
    return home


def _checkpoint(home: Path, step: int) -> Callable[[], bool]:
    def there() -> bool:
        logged = reached(home, min(step + 1, 6))
        return any(home.glob(f"egsw/tiny/*/train/checkpoint-{step}/whole")) and logged()

    return there


def _kill(pid: int) -> None:
    import os

    os.kill(pid, signal.SIGKILL)

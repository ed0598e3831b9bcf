"""Every command that reads, on every file of a run, an archive and an MLflow store, damaged in every way: the numbers
of the whole files, or one sentence that names the file and exit code 1 or 2. Never a traceback, never other numbers.

The commands run in this process, bound by the permissions of files as a user who is not root.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evals.files import append_jsonl, write_json
from harness.record.archive import newest, write_archive
from harness.record.find import runs
from harness.record.mirror import sync
from harness.record.write import Recorder
from tests.damages import DAMAGES
from tests.harness.record.folders import finished

NO_NUMBERS = ("idle_s", "bytes")


class Home(NamedTuple):
    folder: Path  # RLVR_HOME
    run: Path  # the folder whose files are damaged
    other: Path  # the folder of another run
    archive: Path
    other_archive: Path


@pytest.fixture(scope="module", autouse=True)
def _bound_by_permissions() -> Iterator[None]:
    """Root may read every file. Without two capabilities it may not."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    before = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable. Twice 32 bits
    assert libc.capget(header, before) == 0
    now = (ctypes.c_uint32 * 6)(*before)
    now[0] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(header, now) == 0
    yield
    assert libc.capset(header, before) == 0


@pytest.fixture(scope="module")
def place(_bound_by_permissions: None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="rlvr-reads-"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"RLVR_HOME": folder / "home", "RLVR_CACHE": folder / "cache", "HOME": folder}.items():
            patch.setenv(name, str(value))
        patch.chdir(folder)
        yield folder
    clean(folder)


def clean(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(stat.S_IRWXU)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def home(place: Path) -> Home:
    """An untrained model and two seeds of a trained one, with an evaluation in training. Mirrored in MLflow."""
    folder = place / "home"
    finished(folder, {"tiny_short": 3}, arm="base", steps=0)
    made = [
        finished(folder, {"tiny_short": 5 + seed, "tiny_long": 4}, arm="grpo", seed=seed, steps=4 + seed).folder
        for seed in (0, 1)
    ]
    for run in made:
        curve = run / "curve" / "step-000002" / "tiny_short"
        shutil.copytree(run / "eval" / "tiny_short", curve)
        append_jsonl(run / "curve.jsonl", {"step": 2, "scores": {}})
        recorder = Recorder(run)
        added = [run / "curve.jsonl", curve / "verdicts.parquet", curve / "manifest.json"]
        record = json.loads((run / "run.json").read_text())
        recorder.update(files={**record["files"], **recorder.hashes(added)})
        write_json(run / "error.json", {"error": "an earlier try", "when": "2026-11-24T07:00:00Z"})
    sync()
    archives = [place / "records" / f"{number}.tar.xz" for number in (0, 1)]
    for number, archive in enumerate(archives):
        write_archive(
            [run for run in newest(runs()) if run.seed == number and run.arm == "grpo"], archive, responses=True
        )
    return Home(folder, *made, *archives)


def output(words: list[str]) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of a command."""
    from rlvr.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def numbers(out: str) -> Any:
    """The numbers that a command printed, without those that change with the time."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: kept(v) for k, v in value.items() if k not in NO_NUMBERS}
        return [kept(v) for v in value] if isinstance(value, list) else value

    return kept(json.loads(out))


def readers(run: str, place: Path) -> dict[str, list[str]]:
    """Commands that read a run, and the store it is in."""
    base = str(next((place / "home" / "egsw" / "tiny").glob("*-base-*")))
    return {
        "show": ["show", run],
        "states": ["show"],
        "compare": ["compare", run, base, "metrics=[avg]"],
        "tables": ["tables", "paper=egsw", f"out={place / 'tables'}"],
        "report": ["report", "paper=egsw", "only=none", "tokens=false", f"out={place / 'report.html'}"],
        "records": ["export", "paper=egsw", f"out={place / 'exported'}"],
        "bundle": ["export", run, f"out={place / 'bundle.tar.xz'}"],
    }


class Tried:
    """The commands, what they print on whole files, and how each fared on a damaged one."""

    def __init__(self, commands: dict[str, list[str]], place: Path) -> None:
        self.commands, self.place = commands, place
        self.reads, self.refused, self.broken = 0, 0, list[str]()
        self.whole = {}
        for name in commands:
            code, out, err = self._run(name)
            assert code == 0, (name, err)
            self.whole[name] = numbers(out)

    def _run(self, name: str) -> tuple[int, str, str]:
        (self.place / "bundle.tar.xz").unlink(missing_ok=True)
        return output([*self.commands[name], "--json"])

    def all(self, damaged: Path, what: str) -> None:
        for name in self.commands:
            code, out, err = self._run(name)
            self.reads += 1
            if code == 0:
                kept = numbers(out) == self.whole[name] or (name == "states" and damaged.name in out)
            else:
                self.refused += 1
                *_, last = err.strip().splitlines() or [""]
                kept = code in (1, 2) and "Traceback" not in err and "--debug" not in last and damaged.name in last
            if not kept:
                self.broken.append(f"{name}, {damaged.name}, {what}: exit code {code}: {err[-400:].strip()}")

    def report(self, what: str) -> None:
        print(f"{self.reads} damaged reads of {what}: {self.refused} refused, {len(self.broken)} promises broken")
        assert not self.broken, "\n".join(self.broken)


def test_files_of_a_run(home: Home, place: Path) -> None:
    tried = Tried(readers(str(home.run), place), place)
    files = sorted(p.relative_to(home.run) for p in home.run.rglob("*") if p.is_file())
    assert len(files) > 10
    for file in files:
        path, before = home.run / file, (home.run / file).read_bytes()
        for what, damage in DAMAGES.items():
            damage(path, home.other / file)
            tried.all(path, what)
            restore(path, before)
    tried.report("a run")
    assert tried.refused > tried.reads // 4


def restore(path: Path, content: bytes) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        path.rmdir()
    path.write_bytes(content)


def test_archives(home: Home, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(place / "empty"))
    (place / "empty").mkdir()
    commands = {
        "verify": ["verify", str(home.archive)],
        "show": ["show", str(home.archive)],
        "tables": ["tables", "paper=egsw", f"runs={home.archive}", f"out={place / 'tables'}"],
        "import": ["import", str(home.archive)],
    }
    tried, content = Tried(commands, place), home.archive.read_bytes()
    for what, damage in DAMAGES.items():
        if what != "another's":  # a whole archive of another run is that run's
            damage(home.archive, home.other_archive)
            tried.all(home.archive, what)
            restore(home.archive, content)
    tried.report("an archive")
    assert tried.refused == tried.reads


def test_an_mlflow_store(home: Home, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The artifacts where the store has them, and the database in copies, because MLflow keeps a database open."""
    monkeypatch.setenv("RLVR_HOME", str(place / "other-home"))
    commands = {name: words for name, words in readers(str(home.run), place).items() if name in ("tables", "records")}
    stores = iter(place / f"store-{number}.db" for number in range(1000))

    def use_copy() -> Path:
        store = next(stores)
        shutil.copyfile(home.folder / "mlflow.db", store)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{store}")
        return store

    use_copy()
    tried = Tried(commands, place)
    kept = {json.loads(p.read_text())["id"]: p.parent for p in (home.folder / "artifacts").rglob("run.json")}
    run_folder, other_folder = (
        kept[json.loads((run / "run.json").read_text())["id"]] for run in (home.run, home.other)
    )
    for path in sorted(p for p in run_folder.rglob("*") if p.is_file()):
        before = path.read_bytes()
        for what, damage in DAMAGES.items():
            damage(path, other_folder / path.relative_to(run_folder))
            tried.all(path, what)
            restore(path, before)
    for what, damage in DAMAGES.items():
        if what not in ("another's", "a bit flipped"):  # SQLite cannot detect the second
            store = use_copy()
            damage(store, store)
            tried.all(store, what)
    tried.report("a store")
    assert tried.refused > tried.reads // 3

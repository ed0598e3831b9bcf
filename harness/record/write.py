"""Write a run's folder (`harness.record.run`): its record, its curve, and the hashes of its files."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from evals.errors import DamagedFileError
from evals.files import append_jsonl, file_sha256, mend_jsonl, read_jsonl, read_object, write_json, write_jsonl
from evals.redaction import redact_all
from harness.record.record import CURVE, LINK, RECORD, TRAINING_LOG, read_record, with_sha256

FREE = ("overrides", "settings", "own_files", "hardware", "environment", "stopped", "so_far")
"""Fields with text of the user, where a credential may be; the others are names and hashes, of which readers need every
letter, also where a credential is an ordinary word."""


class Recorder:
    """The writer of one run's folder, and what a trainer logs to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._logged: set[tuple[int, str]] = set()  # (step, metric)
        self._version: tuple[int, int] | None = None  # the file's that `_logged` is from

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Log the metrics of one step. A metric that the step has already is not written again, so no curve has a point
        twice."""
        path = self.folder / TRAINING_LOG
        if self._version is None:
            mend_jsonl(path)
        if self._version != _version(path):  # a training in other processes logs too, and rewinds
            self._logged = {
                (row["step"], name) for row in read_jsonl(path, "step", "metrics") for name in row["metrics"]
            }
        if (
            step > 1
            and any(map(_of_training, values))
            and not any(at == step - 1 and _of_training(name) for at, name in self._logged)
        ):
            raise DamagedFileError(path, f"step {step - 1} is missing", "delete the run's folder to train it again")
        if new := {name: value for name, value in values.items() if (step, name) not in self._logged}:
            append_jsonl(path, {"step": step, "metrics": new, "time": int(time.time() * 1000)})
            self._logged |= {(step, name) for name in new}
        self._version = _version(path)

    def rewind(self, step: int) -> None:
        """Forget what was logged and measured after a step, from whose checkpoint the training goes on: no model comes
        from it. A finished run keeps everything, because its record has the hashes."""
        if (read_record(self.folder / RECORD) or {}).get("state") == "finished":
            return
        for path in (self.folder / TRAINING_LOG, self.folder / CURVE):
            rows = read_jsonl(path, "step")
            kept = [row for row in rows if row["step"] <= step]
            if len(kept) < len(rows):
                write_jsonl(path, kept)
        for point in (self.folder / "curve").glob("step-*"):
            if int(point.name.removeprefix("step-")) > step:
                shutil.rmtree(point)

    def start(self, **fields: object) -> dict[str, object]:
        """Begin or resume the run; what it has from before (its id, a finished training) stays."""
        before = read_record(self.folder / RECORD) or {"id": self._mirrored(), "started": now(), "files": {}}
        kept = {key: value for key, value in before.items() if key not in ("stopped", "so_far", "finished")}
        return self._write({**kept, **fields, "state": "running"})

    def _mirrored(self) -> str:
        """A new id, or that of the run in MLflow where only the record was lost."""
        with suppress(DamagedFileError):
            link = read_object(self.folder / LINK) or {}
            if link.get("folder") == self.folder.name:
                return str(link.get("run"))
        return uuid4().hex

    def update(self, **fields: object) -> dict[str, object]:
        """Replace fields of the record."""
        return self._write({**(read_record(self.folder / RECORD) or {}), **fields})

    def hashes(self, files: Iterable[Path]) -> dict[str, str]:
        """Name -> SHA-256 of files of the run, for the record."""
        return {path.relative_to(self.folder).as_posix(): file_sha256(path) for path in sorted(files)}

    def _write(self, record: Mapping[str, object]) -> dict[str, object]:
        plain = json.loads(json.dumps(record, default=list))
        whole = with_sha256({key: redact_all(value) if key in FREE else value for key, value in plain.items()})
        write_json(self.folder / RECORD, whole)
        return whole


def record_evaluation(folder: Path, model: str, verdicts: Mapping[str, Path]) -> None:
    """Write or extend the record of an evaluation without training (`rlvr eval`): the benchmarks that it has, and the
    hashes of their files."""
    recorder = Recorder(folder)
    so_far = read_record(folder / RECORD) or {}
    tables = [place for path in verdicts.values() for place in (path, path.with_name("manifest.json"))]
    files = {**so_far.get("files", {}), **recorder.hashes(tables)}
    benchmarks = dict.fromkeys([*so_far.get("benchmarks", ()), *verdicts])
    if so_far.get("state") == "finished" and so_far["files"] == files:
        return  # nothing was measured
    recorder.start(kind="evaluation", evaluated_model=model)
    recorder.update(benchmarks=list(benchmarks), files=files, state="finished", finished=now())


def _version(path: Path) -> tuple[int, int]:
    """Two numbers that change with the content of a file that is appended to or replaced."""
    if not path.is_file():
        return 0, 0
    status = path.stat()
    return status.st_ino, status.st_size


def _of_training(name: str) -> bool:
    return name.startswith("train/")


def now() -> str:
    """The time, as the records have it: ISO 8601, UTC, seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

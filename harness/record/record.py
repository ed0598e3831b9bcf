"""The record of a run, run.json: what it is, the SHA-256 of its files, and of itself."""

from __future__ import annotations

import calendar
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals.errors import DamagedFileError
from evals.files import read_object, text_sha256

RECORD, TRAINING_LOG, CURVE, FINAL, LINK = "run.json", "metrics.jsonl", "curve.jsonl", "train/final", "mlflow.json"
SHA256 = "sha256"  # the key of a record's own hash
SCORES = "scores.json"  # in an evaluation's folder: of each call with other values, the params and scores for MLflow
CURVES = "curves"  # the kind of a run that is another tool's curve alone (`harness.record.curves`)
IDENTITY = ("paper", "model", "arm", "scale", "backend", "seed")
AGAIN = "the same `rlvr eval` makes it again, from the samples that are stored"
RESTORE = "restore it from where it came, or delete the run's folder and the same command makes it again"

SHAPE: Mapping[str, Any] = {
    **dict.fromkeys(("kind", "state", "paper", "model", "arm", "scale", "backend", "digest", "title"), str),
    **dict.fromkeys(("files", "settings", "overrides", "environment", "base_model", "scores"), dict),
    **dict.fromkeys(("training", "diverged"), (dict, type(None))),
    "seed": int,
    "benchmarks": list,
}
"""What the fields of a record are, as far as readers rely on it."""
ARM = (*IDENTITY, "digest", "settings", "overrides", "environment", "base_model", "state")  # what a job's record has


def read_record(path: Path) -> dict[str, Any] | None:
    """The record of a run, or None without one.

    Raises:
        DamagedFileError: it cannot be read, or was changed after it was written.
    """
    record = read_object(path)
    if record is None:
        return None
    if record.get(SHA256) != record_sha256(record):
        raise DamagedFileError(path, "its content does not match its sha256")
    needed = ARM if record.get("kind") == "arm" else ()
    for field, kind in SHAPE.items():
        if (field in needed or field in record) and not isinstance(record.get(field), kind):
            raise DamagedFileError(path, f"{field}: expected another kind of value than {record.get(field)!r:.60}")
    for name, sha256 in record.get("files", {}).items():
        if name.startswith("/") or ".." in name.split("/") or not isinstance(sha256, str):
            raise DamagedFileError(path, f"files: {name!r:.60} is no file of a run")
    return record


def record_sha256(record: Mapping[str, object]) -> str:
    """The hash of a record's content, without this hash."""
    return text_sha256(json.dumps({key: value for key, value in record.items() if key != SHA256}, sort_keys=True))


def with_sha256(record: Mapping[str, object]) -> dict[str, object]:
    """A record with the hash of its content."""
    plain = json.loads(json.dumps(record, default=list))
    return {**plain, SHA256: record_sha256(plain)}


def run_identity(record: Mapping[str, Any]) -> dict[str, Any]:
    """The identity that stands in every evaluation of a run, so that no file is taken for another run's."""
    base = record["base_model"]["sha256"]
    return {**{key: record[key] for key in IDENTITY}, "digest": record["digest"], "base_model": base}


def ms(time_text: str) -> int:
    """Milliseconds since 1970 of a time in a record. ValueError for another text."""
    return calendar.timegm(time.strptime(time_text, "%Y-%m-%dT%H:%M:%SZ")) * 1000

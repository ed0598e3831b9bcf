"""Records of a job: JSON files with the hash of their content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evals.files import DamagedFileError, read_jsonl, read_object, text_sha256, write_json
from evals.redaction import redact_all
from harness.step.mismatch import mismatch_summary

SHA256 = "sha256"


def write_record(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Write a record, without credentials and with the hash of its content; returns the written form."""
    plain = json.loads(json.dumps(redact_all(record), default=list))
    whole = {**plain, SHA256: _content(plain)}
    write_json(path, whole)
    return whole


def read_record(path: Path) -> dict[str, Any] | None:
    """A record, or None without one.

    Raises:
        DamagedFileError: it cannot be read, or was changed after it was written.
    """
    record = read_object(path)
    if record is not None and record.get(SHA256) != _content(record):
        raise DamagedFileError(path, "its content does not match its sha256")
    return record


def mismatches(folder: Path) -> dict[str, dict[str, float]]:
    """How often and how much a job's sampler differed from its trainer (`mismatch_summary`); {} if it did not."""
    return mismatch_summary({row["step"]: row["metrics"] for row in read_jsonl(folder / "train" / "metrics.jsonl")})


def _content(record: dict[str, Any]) -> str:
    return text_sha256(json.dumps({key: value for key, value in record.items() if key != SHA256}, sort_keys=True))

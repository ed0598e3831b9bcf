"""Samples on disk, so that a killed evaluation goes on where it was.

    <folder>/manifest.json      what the samples were drawn with; samples drawn otherwise are refused
    <folder>/shards/*.parquet   the samples, one file for each finished batch, written whole or not at all

A batch that is being drawn when the process dies is lost; nothing else is.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from evals.provenance import differing_fields
from evals.sampling.engines.base import Completion, Key

if TYPE_CHECKING:
    import pyarrow as pa


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Run `write` on a file beside `path` and rename it to `path`: a reader sees the old file or the whole new one."""
    part = path.with_name(f".{path.name}.part")
    write(part)
    with part.open("rb") as written:
        os.fsync(written.fileno())
    part.replace(path)


class SampleStore:
    """The samples of one benchmark, in one folder. Use it inside `locked()` when writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shards = folder / "shards"
        self.manifest = folder / "manifest.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder: a second process that evaluates into it gets a ValueError instead of doubling samples."""
        self.shards.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            _lock(lock, self.folder)
            yield

    def open(self, identity: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        """Begin, or go on with, samples of this identity.

        Args:
            identity: what decides the samples (JSON values).
            record: what is worth knowing besides, kept as it was at the start.
        Raises:
            ValueError: the folder holds samples of another identity; each differing field with its old and new value.
        """
        old = self.read_manifest()
        if old is None:
            if any(self.shards.glob("*.parquet")):
                raise ValueError(f"{self.folder} holds samples without a manifest.json that says what they are")
            self._write_manifest({"identity": dict(identity), "record": dict(record), "grown": []})
            return
        changes = list(differences(old["identity"], json.loads(json.dumps(identity))))
        if changes:
            raise ValueError(
                f"{self.folder} holds samples drawn otherwise: {'; '.join(changes)}. Use another out_dir to keep both."
            )

    def read_manifest(self) -> dict[str, Any] | None:
        """The manifest, or None where there is none."""
        if not self.manifest.is_file():
            return None
        manifest: dict[str, Any] = json.loads(self.manifest.read_text(encoding="utf-8"))
        return manifest

    def grow(self, n: int) -> list[tuple[int, int]]:
        """Note that `n` samples are wanted for each problem.

        Returns the ranges [start, stop) of samples in which they are to be drawn: those of earlier calls, so that a
        resumed run forms the same batches as an unbroken one.
        """
        manifest = self.read_manifest()
        assert manifest is not None, "open() comes first"
        stops = sorted({*manifest["grown"], n})
        if stops != manifest["grown"]:
            self._write_manifest({**manifest, "grown": stops})
        wanted = [stop for stop in stops if stop <= n]
        return list(zip([0, *wanted], wanted, strict=False))

    def add(self, completions: Sequence[Completion]) -> None:
        """Write a finished batch."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [{"problem_id": c.key[0], "sample": c.key[1], **asdict(c)} for c in completions]
        table = pa.Table.from_pylist(rows, schema=_sample_schema())
        number = 1 + max((int(path.stem) for path in self.shards.glob("*.parquet")), default=-1)
        write_whole(self.shards / f"{number:06d}.parquet", lambda path: pq.write_table(table, path))

    def samples(self) -> dict[Key, Completion]:
        """Every sample that is there, by (problem id, sample)."""
        import pyarrow.parquet as pq

        found: dict[Key, Completion] = {}
        for path in sorted(self.shards.glob("*.parquet")):
            for row in pq.read_table(path).to_pylist():
                key = (row.pop("problem_id"), row.pop("sample"))
                found[key] = Completion(key=key, **row)
        return found

    def _write_manifest(self, manifest: Mapping[str, Any]) -> None:
        text = json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True)
        write_whole(self.manifest, lambda path: _write_text(path, text + "\n"))


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Where two JSON values differ: "field was X, now Y", down to the single field."""
    for field, before, now in differing_fields(old, new, at):
        yield f"{field} was {json.dumps(before)}, now {json.dumps(now)}"


def _sample_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("problem_id", pa.string(), nullable=False),
            pa.field("sample", pa.int32(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("tokens", pa.int32(), nullable=False),
            pa.field("finish_reason", pa.string(), nullable=False),
        ]
    )


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _lock(lock: IO[str], folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ValueError(f"another process is evaluating into {folder}; wait for it, or use another out_dir") from error

"""Samples on disk, so that a killed evaluation resumes where it was.

    <folder>/manifest.json      all settings that decide the samples. Other settings are refused. With the verdicts it
                                changes, so that both always say the same. It holds no credentials, only their hashes
    <folder>/growing.json       while more samples are drawn: how many of each problem
    <folder>/shards/*.parquet   the samples, one file for each finished batch. The hash of its content is in its name

A kill loses the batch that is being sampled and nothing else. A damaged shard is sampled again.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.errors import DamagedFileError, RefusedError
from evals.files import check_hashed, locked, read_object, read_parquet, text_sha256, write_hashed, write_json
from evals.provenance import differing_fields
from evals.redaction import redact
from evals.sampling.engines.base import Completion, Key

if TYPE_CHECKING:
    import pyarrow as pa


GROWING = "growing.json"
SHARD = re.compile(r"\d{6,}-[0-9a-f]{16}\.parquet")
PROMPT_NATS = "prompt_nats"  # key of a record: how well the model predicts its prompts, null if not measured
OWNER = "rlvr.owner"  # key in the metadata of verdicts.parquet
FREE = ("decoding", "engine", "prompt", "protocol")  # parts of a manifest with texts of the user


def _hidden(part: object) -> Any:
    """A part of a manifest without credentials. A text that has one ends with the hash of the whole text."""
    if isinstance(part, str):
        shown = redact(part)
        return part if shown == part else f"{shown}{_mark(part)}"
    if isinstance(part, dict):
        return {key: _hidden(value) for key, value in part.items()}
    return [_hidden(value) for value in part] if isinstance(part, list | tuple) else part


def _mark(text: str) -> str:
    return f" sha256:{text_sha256(text)}"


def _as_written(now: object, before: object) -> object:
    """A value of today, as the manifest has it where it hides the same value."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {key: _as_written(value, before.get(key)) for key, value in now.items()}
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        return [_as_written(*pair) for pair in zip(now, before, strict=True)]
    same = isinstance(now, str) and isinstance(before, str) and before.endswith(_mark(now))
    return before if same else now


def _without_credentials(parts: Mapping[str, object]) -> dict[str, object]:
    """The parts of a manifest, the user's texts without credentials."""
    plain: dict[str, object] = json.loads(json.dumps(parts, default=list))
    return {key: _hidden(part) if key in FREE else part for key, part in plain.items()}


def owner_of(manifest: Mapping[str, Any]) -> dict[str, object]:
    """{benchmark, seed, identity: hash of all that decides the samples, run: None without one}, so that a file of
    verdicts can be told from that of another model, run or benchmark."""
    identity = manifest["identity"]
    text = json.dumps(identity, sort_keys=True)
    owner = {"benchmark": identity.get("benchmark"), "seed": identity.get("seed"), "identity": text_sha256(text)}
    return {**owner, "run": manifest.get("run")}


class SampleStore:
    """The samples of one benchmark, in one folder. Use it inside `locked()` when writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shards = folder / "shards"
        self.manifest = folder / "manifest.json"
        self._growing = folder / GROWING

    def _files(self) -> list[Path]:
        """The shards that were written. Another file of the folder is not ours to read or delete."""
        return sorted(path for path in self.shards.glob("*.parquet") if SHARD.fullmatch(path.name))

    def locked(self) -> AbstractContextManager[None]:
        """Hold the folder: a second process that evaluates into it gets a BusyError instead of doubled samples."""
        self.shards.mkdir(parents=True, exist_ok=True)
        return locked(
            self.folder, f"another process is evaluating into {self.folder}; wait for it, or give another folder"
        )

    def open(
        self, identity: Mapping[str, object], record: Mapping[str, object], run: Mapping[str, object] | None = None
    ) -> None:
        """Start or resume the samples of this identity.

        Args:
            identity: what decides the samples (JSON values).
            record: metadata stored beside the samples. Not part of their identity.
            run: the run that they are of, if any.
        Raises:
            ValueError: the folder holds samples of another identity. Each differing field with its old and new value.
            DamagedFileError: the manifest cannot be read.
        """
        old = self.read_manifest()
        if old is None:
            if any(self._files()):
                raise RefusedError(
                    f"{self.folder} holds samples without a manifest.json that says what they are. Delete the folder "
                    "to sample again"
                )
            of_run = {} if run is None else {"run": dict(run)}
            parts = {"identity": _without_credentials(identity), **of_run, "record": _without_credentials(record)}
            write_json(self.manifest, {**parts, "grown": []})
            return
        self.check(identity)

    def check(self, identity: Mapping[str, object]) -> None:
        """Raise as `open` if the folder holds samples of other values of this identity, or of this part of one."""
        if (manifest := self.read_manifest()) is None:
            return
        old = {key: manifest["identity"].get(key) for key in identity}
        new = _as_written(json.loads(json.dumps(identity)), old)
        changes = [
            f"{field} was {json.dumps(_hidden(before))}, now {json.dumps(_hidden(now))}"
            for field, before, now in differing_fields(old, new)
        ]
        if changes:
            raise RefusedError(
                f"{self.folder} holds samples of other settings: {'; '.join(changes)}. "
                "Use another folder (out=) to keep both."
            )

    def read_manifest(self) -> dict[str, Any] | None:
        """The manifest, or None where there is none.

        Raises:
            DamagedFileError: it cannot be read: the samples beside it may be others.
        """
        try:
            return read_object(self.manifest, "identity", "record", "grown")
        except DamagedFileError as error:
            remedy = f"delete the folder {self.folder}, and the same command samples again"
            raise DamagedFileError(self.manifest, error.why, remedy) from error

    def owner(self) -> dict[str, object]:
        """The owner of these verdicts, for the metadata of their file: `owner_of` the manifest."""
        manifest = self.read_manifest()
        assert manifest is not None, "open() comes first"
        return owner_of(manifest)

    def grow(self, n: int) -> list[tuple[int, int]]:
        """Note that `n` samples are wanted for each problem.

        Returns the ranges [start, stop) in which to sample: those of earlier calls first, so that a resumed run forms
        the same batches as an uninterrupted one.
        """
        stops = sorted({*self._grown(), n})
        if stops != self._grown():
            write_json(self._growing, {"grown": stops})
        ends = [stop for stop in stops if stop <= n]
        return list(zip([0, *ends], ends, strict=False))

    def _grown(self) -> list[int]:
        manifest = self.read_manifest()
        assert manifest is not None, "open() comes first"
        return list((read_object(self._growing, "grown") or manifest)["grown"])

    def growing(self) -> tuple[int, int] | None:
        """(samples that are there, samples of each problem that are wanted) while more are drawn; else None."""
        import pyarrow.parquet as pq

        wanted = read_object(self._growing, "grown")
        if wanted is None:
            return None
        drawn = sum(pq.read_metadata(path).num_rows for path in self._files())
        return drawn, max(wanted["grown"])

    def describe(self, record: Mapping[str, object]) -> None:
        """Note what the verdicts, which have just been written, are of: the values of this call, and the versions with
        which the sampling began. How well the model read its prompts stays, if this call has not measured it."""
        manifest = self.read_manifest()
        assert manifest is not None, "open() comes first"
        before = manifest["record"]
        kept = {key: before[key] for key in (PROMPT_NATS,) if key in before and key not in record}
        now = {**_without_credentials(record), **kept}
        now |= {key: before[key] for key in ("versions",) if key in before}
        write_json(self.manifest, {**manifest, "record": now, "grown": self._grown()})
        self._growing.unlink(missing_ok=True)

    def add(self, completions: Sequence[Completion]) -> None:
        """Write a finished batch."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [{"problem_id": c.key[0], "sample": c.key[1], **asdict(c)} for c in completions]
        table = pa.Table.from_pylist(rows, schema=_sample_schema())
        number = 1 + max((int(path.stem.partition("-")[0]) for path in self._files()), default=-1)
        write_hashed(self.shards, f"{number:06d}", ".parquet", lambda part: pq.write_table(table, part))

    def samples(self) -> dict[Key, Completion]:
        """All stored samples, by (problem id, sample). A damaged shard is deleted with a warning: its samples are
        missing then, and the caller samples them again from the same seeds."""
        samples: dict[Key, Completion] = {}
        for path in self._files():
            try:
                check_hashed(path)
                table = read_parquet(path)
                if [(f.name, f.type) for f in table.schema] != [(f.name, f.type) for f in _sample_schema()]:
                    raise DamagedFileError(path, f"its columns are {', '.join(table.column_names)}")
                rows = table.to_pylist()
            except DamagedFileError as error:
                warnings.warn(f"{error.path} is damaged ({error.why}): its samples are generated again", stacklevel=2)
                path.unlink()
                continue
            for row in rows:
                key = (row.pop("problem_id"), row.pop("sample"))
                samples[key] = Completion(key=key, **row)
        return samples


def _sample_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("problem_id", pa.string(), nullable=False),
            pa.field("sample", pa.int32(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("tokens", pa.int32()),  # null, as the next, where a server does not say
            pa.field("finish_reason", pa.string()),
        ]
    )

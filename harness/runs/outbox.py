"""A run's log for MLflow, on disk first: the training process writes it, a `Courier` delivers it.

    <folder>/<stem>.jsonl   one line for each message, in order; never rewritten
    <folder>/<stem>.json    the MLflow run, and how many messages have been delivered

The training only appends lines, so a slow, failing or unreachable server does not delay it. The file has the complete
history of the run, so it can fill a new or another store.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from evals.files import append_jsonl, mend_jsonl, read_jsonl, read_object, write_json
from evals.provenance import Sourced
from evals.redaction import redact, redact_all

Message = dict[str, Any]


class Outbox:
    """The messages of one run."""

    def __init__(self, folder: Path, stem: str = "mlflow") -> None:
        self.folder, self.stem = folder, stem
        self.file = folder / f"{stem}.jsonl"
        self.link = folder / f"{stem}.json"
        self._steps: set[int] | None = None

    @classmethod
    def at(cls, file: Path) -> Outbox:
        """The outbox whose messages are in that file."""
        return cls(file.parent, file.name.removesuffix(".jsonl"))

    # -- writing -------------------------------------------------------------------------------------------------

    def start(self, experiment: str, name: str, tags: Mapping[str, str], parent: Outbox | None = None) -> None:
        """Describe the run, once; later starts only set its status to running again."""
        mend_jsonl(self.file)
        # the file was damaged and deleted: send everything again, once
        if not self.file.exists() and self.link.exists():
            self.note_delivered(self.delivered()[0], 0)
        if not any(m["op"] == "run" for m in self.messages()):
            at = None if parent is None else os.path.relpath(parent.file, self.folder)
            self._add(op="run", experiment=experiment, name=redact(name)[:250], tags=redact_all(dict(tags)), parent=at,
                      token=uuid4().hex)  # fmt: skip
        self._add(op="status", status="RUNNING")

    def settings(self, settings: Mapping[str, Sourced[Any]]) -> None:
        """Each value as a param, and its origin and note as `<key>.source`; once."""
        if any(m["op"] == "params" for m in self.messages()):
            return
        params: dict[str, str] = {}
        for key, sourced in settings.items():
            source = f"{sourced.origin}: {sourced.note}"
            if sourced.was is not None:
                source += f" (was {sourced.was.value!r}, {sourced.was.origin}: {sourced.was.note})"
            params |= {key: redact(str(sourced.value)), f"{key}.source": redact(source)}
        self._add(op="params", params=params)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """The metrics of one step. A step that is already there (trained again after a kill) is not written again, so
        no curve has a point twice."""
        if self._steps is None:
            self._steps = {m["step"] for m in self.messages() if m["op"] == "metrics"}
        if step not in self._steps:
            self._steps.add(step)
            self._add(op="metrics", step=step, values=dict(values))

    def scores(self, step: int, values: Mapping[str, float]) -> None:
        """The scores at the end of a run; once."""
        if not any(m["op"] == "scores" for m in self.messages()):
            self._add(op="scores", step=step, values=dict(values))

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        """The scores of an evaluation while training; once a step."""
        if not any(m["op"] == "curve" and m["step"] == step for m in self.messages()):
            self._add(op="curve", step=step, values=dict(values))

    def tags(self, tags: Mapping[str, str]) -> None:
        self._add(op="tags", tags=redact_all(dict(tags)))

    def artifact(self, path: Path, folder: str | None = None) -> None:
        """Upload a file of this folder; it must stay until it is delivered."""
        message = {"op": "artifact", "file": os.path.relpath(path, self.folder), "to": folder}
        if not any(m.items() >= message.items() for m in self.messages()):
            self._add(**message)

    def finish(self, status: str) -> None:
        """status: "FINISHED", "FAILED" or "KILLED". A run that ended before its start leaves nothing."""
        if status != "FINISHED" and not self.started():
            self.file.unlink(missing_ok=True)
        else:
            self._add(op="status", status=status)

    def _add(self, **message: Any) -> None:
        append_jsonl(self.file, {**message, "time": int(time.time() * 1000)})

    # -- reading -------------------------------------------------------------------------------------------------

    def messages(self) -> list[Message]:
        """All complete messages.

        Raises:
            DamagedFileError: a line is not JSON.
        """
        return read_jsonl(self.file)

    def started(self) -> bool:
        """Whether there is something to deliver: a step, a result, or a run that MLflow already has. A command that
        could not start leaves no run in MLflow."""
        if self.delivered()[0] is not None:
            return True
        return any(m["op"] in ("metrics", "scores") or m.get("status") == "FINISHED" for m in self.messages())

    def finished(self) -> bool:
        """Whether the outbox of a run is complete: the run's end is its last message."""
        return next((m["status"] for m in reversed(self.messages()) if m["op"] == "status"), None) == "FINISHED"

    def delivered(self) -> tuple[str | None, int]:
        """(the MLflow run, how many messages it has)."""
        link = read_object(self.link) or {}
        return link.get("run_id"), int(link.get("delivered", 0))

    def note_delivered(self, run_id: str | None, count: int) -> None:
        write_json(self.link, {"run_id": run_id, "delivered": count})

    def pending(self) -> int:
        """The number of pending messages."""
        return max(0, len(self.messages()) - self.delivered()[1]) if self.started() else 0


def outboxes(home: Path) -> list[Outbox]:
    """Every outbox under the home folder; those of commands first, because their runs are the parents of the others."""
    files = [*home.glob("*/*/command-*.jsonl"), *home.glob("*/*/*/mlflow.jsonl")]
    return [Outbox.at(file) for file in sorted(files, key=lambda f: (f.name == "mlflow.jsonl", str(f)))]

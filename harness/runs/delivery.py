"""Deliver outboxes to MLflow: in order, each message once, in a background thread."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from evals.files import BusyError, locked, read_jsonl_from
from evals.redaction import redact
from harness.runs.outbox import Message, Outbox
from harness.runs.track import METRICS_AT_ONCE

if TYPE_CHECKING:
    from harness.runs.track import Tracker

POLL_S = 0.5
PATIENCE_S = 15.0  # at the end of a command, without any progress
_PERMANENT = {"INVALID_PARAMETER_VALUE", "BAD_REQUEST", "PERMISSION_DENIED"}


@dataclass
class _Progress:
    """The state of the delivery of one outbox in this process."""

    run_id: str | None = None
    count: int = 0
    offset: int = 0  # of the byte after the messages that were delivered
    known: set[tuple[str, int]] | None = None  # (metric, step) that MLflow has; None: must be asked
    attached: bool = False


@dataclass
class Deliverer:
    """Brings MLflow up to date with outboxes. Not thread-safe."""

    tracker: Tracker
    warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True)
    _progress: dict[Path, _Progress] = field(default_factory=dict)

    def deliver(self, outbox: Outbox) -> int:
        """Send pending messages; returns how many were sent. A failure raises, and the message is sent again next time,
        but never twice if it had arrived."""
        if self._told_all(outbox) or not outbox.started():
            return 0
        try:
            with locked(outbox.folder, name=f".{outbox.stem}-delivery.lock"):
                return self._deliver(outbox)
        except BusyError:  # another process is delivering it
            return 0

    def _told_all(self, outbox: Outbox) -> bool:
        """Whether nothing was written since the last delivery. A study checks hundreds of finished runs at every poll,
        so this reads only the file's size."""
        progress = self._progress.get(outbox.file)
        if progress is None or not progress.attached:
            return False
        try:
            return outbox.file.stat().st_size == progress.offset
        except FileNotFoundError:
            return False

    def _deliver(self, outbox: Outbox) -> int:
        progress = self._progress.setdefault(outbox.file, _Progress())
        if not progress.attached or outbox.delivered() != (progress.run_id, progress.count):
            self._attach(outbox, progress)
        waiting = read_jsonl_from(outbox.file, progress.offset)
        sent = 0
        while sent < len(waiting):
            count = _batch([message for message, _ in waiting[sent:]])
            messages = [message for message, _ in waiting[sent : sent + count]]
            try:
                self._send(outbox, progress, messages)
            except Exception as error:  # retried, unless MLflow will never take the message
                if getattr(error, "error_code", None) not in _PERMANENT:
                    progress.known = None  # it may still have arrived
                    raise
                self.warn(f"MLflow refuses {messages[0]['op']} of {outbox.file}: {redact(str(error))}")
            sent += count
            progress.count, progress.offset = progress.count + count, waiting[sent - 1][1]
            outbox.note_delivered(progress.run_id, progress.count)
        return sent

    def _attach(self, outbox: Outbox, progress: _Progress) -> None:
        """Read how far another process has delivered; a store without the run gets everything."""
        progress.run_id, progress.count = outbox.delivered()
        progress.known = None
        if progress.run_id is not None and not self.tracker.has_run(progress.run_id):
            progress.run_id, progress.count = None, 0
        ends = [end for _, end in read_jsonl_from(outbox.file, 0)][: progress.count]
        progress.count, progress.offset = len(ends), ends[-1] if ends else 0  # fewer: the file is a new one
        progress.attached = True

    def _send(self, outbox: Outbox, progress: _Progress, messages: Sequence[Message]) -> None:
        message = messages[0]
        op = message["op"]
        if op == "run":
            if progress.run_id is None:
                progress.run_id = self._start(outbox, message)
            return
        run_id = progress.run_id
        if run_id is None:
            raise ValueError(f"{outbox.file}: its first message is {op!r}, expected 'run'; delete the file")
        if op in ("metrics", "scores", "curve"):
            self._send_metrics(run_id, progress, messages)
        elif op == "params":
            self.tracker.params(run_id, message["params"])
        elif op == "tags":
            self.tracker.tags(run_id, message["tags"])
        elif op == "artifact":
            self.tracker.artifact(run_id, outbox.folder / message["file"], message["to"])
        elif op == "status":
            self.tracker.status(run_id, message["status"], message["time"])

    def _start(self, outbox: Outbox, message: Message) -> str:
        tags = dict(message["tags"])
        if message["parent"] is not None:
            parent = Outbox.at((outbox.folder / message["parent"]).resolve())
            self.deliver_run(parent)
            tags["mlflow.parentRunId"] = str(parent.delivered()[0])
        return self.tracker.run_of(message["experiment"], message["name"], tags, message["token"], message["time"])

    def deliver_run(self, outbox: Outbox) -> None:
        """Make sure that the run of an outbox exists, also without messages."""
        run_id, _ = outbox.delivered()
        if run_id is not None and self.tracker.has_run(run_id):
            return
        with locked(outbox.folder, name=f".{outbox.stem}-delivery.lock"):
            messages = outbox.messages()
            run_id = self._start(outbox, messages[0])
            outbox.note_delivered(run_id, 1)

    def _send_metrics(self, run_id: str, progress: _Progress, messages: Sequence[Message]) -> None:
        points = [(name, m["step"], m["time"], value) for m in messages for name, value in m["values"].items()]
        if progress.known is None:
            progress.known = self.tracker.points(run_id, {name for name, *_ in points})
        new = [point for point in points if point[:2] not in progress.known]
        if new:
            self.tracker.log_points(run_id, new)


def _batch(messages: Sequence[Message]) -> int:
    """How many messages go into the next call: metrics of several steps together."""
    count = size = 0
    for message in messages:
        if message["op"] not in ("metrics", "scores", "curve"):
            break
        size += len(message["values"])
        if size > METRICS_AT_ONCE:
            break
        count += 1
    return max(count, 1)


class Courier:
    """A thread that delivers outboxes as they grow. A context manager: its exit waits while there is progress."""

    def __init__(self, tracker: Tracker) -> None:
        self._deliverer = Deliverer(tracker)
        self._outboxes: dict[Path, Outbox] = {}
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._last_success = time.monotonic()
        self.error: Exception | None = None
        # a daemon: a hung server must not block the process
        self._thread = threading.Thread(target=self._work, name="mlflow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def watch(self, *outboxes: Outbox) -> None:
        """Deliver these, from now on."""
        for outbox in outboxes:
            self._outboxes.setdefault(outbox.file, outbox)
        self._wake.set()

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """Deliver the rest, as long as there is progress."""
        self._closing.set()
        self._wake.set()
        self._last_success = time.monotonic()
        while self._thread.is_alive() and time.monotonic() - self._last_success < patience_s:
            self._thread.join(0.05)

    def pending(self) -> dict[Path, int]:
        """Pending messages, by file."""
        counts = {outbox.file: outbox.pending() for outbox in self._outboxes.values()}
        return {file: count for file, count in counts.items() if count}

    def _work(self) -> None:
        pause = POLL_S
        while True:
            last = self._closing.is_set()
            failed = not self._round(list(self._outboxes.values()))
            if last and not failed:
                return
            pause = min(2 * pause, 30.0) if failed else POLL_S
            self._wake.wait(min(pause, 2.0) if self._closing.is_set() else pause)
            if not self._closing.is_set() or failed:
                self._wake.clear()

    def _round(self, outboxes: Iterable[Outbox]) -> bool:
        try:
            for outbox in outboxes:
                if self._deliverer.deliver(outbox):
                    self._last_success = time.monotonic()
        except Exception as error:  # any error: it is reported at the end, and the training continues
            self.error = error
            return False
        self.error = None
        return True

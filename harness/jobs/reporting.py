"""Report a command to MLflow: a parent run for each paper and scale, and a courier that delivers."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from evals.redaction import redact
from harness.runs.delivery import Courier
from harness.runs.outbox import Outbox, outboxes
from harness.runs.track import Tracker, home, shown_uri
from harness.spec.job import Job
from harness.spec.scales import SCALES

Key = tuple[int, str, str]  # number of the command, paper, scale


class Delivery(Protocol):
    """What delivers outboxes to MLflow; in this process, a `Courier`."""

    def watch(self, *outboxes: Outbox) -> None: ...


class NoDelivery:
    """Delivers nothing: the process that started this one delivers."""

    def watch(self, *outboxes: Outbox) -> None:
        """Do nothing."""


@dataclass
class Reporting:
    """State of running commands: the deliverer, the parent run of each paper and scale, and the commands with a
    failure."""

    courier: Courier
    parents: dict[Key, Outbox]
    failed: set[int]

    def parent(self, job: Job, command: int = 0) -> Outbox:
        return self.parents[command, job.paper, job.scale]


@contextmanager
def reporting(commands: Sequence[tuple[Sequence[Job], str]]) -> Iterator[Reporting]:
    """Open the store, start the parent runs, deliver while the block runs, and close everything at its end, even after
    an error.

    Args:
        commands: the jobs of each command, and its text. A number put in `failed` marks its parent runs as failed.
    Raises:
        RefusedError: the store cannot be used.
    """
    courier = Courier(Tracker.open())
    courier.watch(*(outbox for outbox in outboxes(home()) if outbox.pending()))  # of earlier commands
    parents = {
        (number, *key): _parent(of, command)
        for number, (jobs, command) in enumerate(commands)
        for key, of in _by_paper(jobs).items()
    }
    this = Reporting(courier, parents, set())
    status: str | None = "FAILED"  # of all; None: by command
    courier.start()
    try:
        courier.watch(*parents.values())
        yield this
        status = None
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        for (number, *_), outbox in parents.items():
            outbox.finish(status or ("FAILED" if number in this.failed else "FINISHED"))
        courier.close()
        _say_pending(courier)


def say(text: str) -> None:
    """Progress goes to stderr; stdout is for results."""
    print(text, file=sys.stderr, flush=True)


def _by_paper(jobs: Sequence[Job]) -> dict[tuple[str, str], list[Job]]:
    """The jobs of each (paper, scale)."""
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.paper, job.scale), []).append(job)
    return groups


def _parent(jobs: Sequence[Job], command: str) -> Outbox:
    """The parent run of this command; the same command again continues the same one."""
    key = hashlib.sha256(" ".join(f"{job.digest}-{job.seed}" for job in jobs).encode()).hexdigest()[:8]
    first = jobs[0]
    outbox = Outbox(home() / first.paper / first.scale, f"command-{key}")
    tags = {"rlvr.kind": "command", "rlvr.paper": first.paper, "rlvr.scale": first.scale, "rlvr.command": command,
            "mlflow.note.content": f"`{command}`\n\n{SCALES[first.scale].label}"}  # fmt: skip
    arms, seeds = list(dict.fromkeys(job.arm for job in jobs)), len({job.seed for job in jobs})
    shown = ", ".join(arms[:4]) + (f" and {len(arms) - 4} more" if len(arms) > 4 else "")
    outbox.start(first.paper, f"{first.scale}: {shown} ({seeds} seed{'s' * (seeds != 1)})", tags)
    return outbox


def _say_pending(courier: Courier) -> None:
    if pending := courier.pending():
        why = f": {redact(str(courier.error)).splitlines()[0][:200]}" if courier.error else ""
        say(
            f"MLflow at {shown_uri()} has not taken {sum(pending.values())} messages of {len(pending)} runs yet{why}. "
            "They are kept; `rlvr export format=mlflow`, or the next run, delivers them"
        )

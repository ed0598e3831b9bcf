"""The display of launched jobs: a live table on a terminal, plain lines elsewhere. Both read the jobs' own files."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.redaction import redact
from harness.jobs.pace import duration
from harness.launch.orders import Order
from harness.runs.state import last_step
from harness.spec.job import Job

LINES_S = 60.0  # between two plain lines of what runs
TABLE_S = 1.0  # between two readings of the files for the table


@dataclass
class Row:
    """One job. `total`: optimiser steps of its training; None: it has none, or not a fixed number."""

    name: str
    folder: Path
    total: int | None
    state: str = "waiting"
    worker: int | None = None
    since: float | None = None
    error: str | None = None
    step: int | None = None
    reward: float | None = None
    first: tuple[int, float] | None = None  # the first step seen by this launch, and when

    def read(self, now: float) -> None:
        """Read the training's progress."""
        self.step, self.reward = last_step(self.folder / "train" / "metrics.jsonl")
        if self.step is not None and self.first is None:
            self.first = (self.step, now)

    def eta(self, now: float) -> float | None:
        """Seconds left at the pace so far; None without a pace or a fixed end."""
        if self.state != "running" or self.total is None or self.step is None or self.first is None:
            return None
        done = self.step - self.first[0]
        return (self.total - self.step) * (now - self.first[1]) / done if done > 0 else None

    def doing(self) -> str:
        """The state in a word."""
        if self.state == "running":
            return "evaluating" if self.total is None or self.step == self.total else "training"
        return self.state


class View:
    """The display as plain lines; gets each start and end."""

    def __init__(self, rows: Sequence[Row], clock: Callable[[], float] = time.monotonic) -> None:
        self.rows = list(rows)
        self._by_folder = {str(row.folder): row for row in rows}
        self._clock = clock
        self._shown = clock()

    def started(self, folder: str, worker: int | None = None) -> None:
        row = self._by_folder[folder]
        row.state, row.worker, row.since = "running", worker, self._clock()
        self.say(row, "started" if worker is None else f"started by worker {worker + 1}")

    def ended(self, folder: str, state: str, error: str | None = None) -> None:
        row = self._by_folder[folder]
        row.state, row.error = state, error
        took = "" if row.since is None else f" after {duration(self._clock() - row.since)}"
        self.say(row, f"{state}{took}" + (f": {redact(error)}" if error else ""))

    def say(self, row: Row, text: str) -> None:
        number = self.rows.index(row) + 1
        print(f"[{number}/{len(self.rows)}] {row.name}: {text}", file=sys.stderr, flush=True)

    def refresh(self) -> None:
        """Called several times a second."""
        now = self._clock()
        if now - self._shown < LINES_S:
            return
        self._shown = now
        for row in self.rows:
            if row.state == "running":
                row.read(now)
                self.say(row, progress(row, now))


class Table(View):
    """A table that is updated in place."""

    def __init__(self, rows: Sequence[Row], live: Any) -> None:
        super().__init__(rows)
        self._live = live

    def say(self, row: Row, text: str) -> None:
        if row.error:
            self._live.console.print(f"{row.name}: {redact(row.error)}", markup=False, highlight=False)
        self._refresh()

    def refresh(self) -> None:
        if self._clock() - self._shown >= TABLE_S:
            self._refresh()

    def _refresh(self) -> None:
        self._shown = self._clock()
        for row in self.rows:
            if row.state == "running":
                row.read(self._shown)
        self._live.update(rendered(self.rows, self._shown), refresh=True)


def rendered(rows: Sequence[Row], now: float, most: int = 20) -> Any:
    """The table; with many jobs, waiting and finished ones are only counted."""
    from rich.table import Table as RichTable

    listed = [row for row in rows if row.state == "running"] if len(rows) > most else list(rows)
    counts = {state: sum(row.state == state for row in rows) for state in dict.fromkeys(row.state for row in rows)}
    caption = ", ".join(f"{n} {state}" for state, n in counts.items())
    made = RichTable(caption=caption, caption_justify="left", box=None)
    for heading in ("job", "state", "step", "reward", "ETA"):
        side: Any = "left" if heading in ("job", "state") else "right"
        made.add_column(heading, justify=side, no_wrap=True)
    for row in listed:
        left = row.eta(now)
        step = "–" if row.step is None else str(row.step) + (f"/{row.total}" if row.total else "")
        reward = "–" if row.reward is None else f"{row.reward:.3f}"
        made.add_row(shortened(row.name, 36), row.doing(), step, reward, "–" if left is None else duration(left))
    return made


def progress(row: Row, now: float) -> str:
    """A row in words: "training, step 12/60, reward 1.312, 4 min left"."""
    words = [row.doing()]
    if row.step is not None:
        words.append(f"step {row.step}" + (f"/{row.total}" if row.total else ""))
    if row.reward is not None:
        words.append(f"reward {row.reward:.3f}")
    left = row.eta(now)
    if left is not None:
        words.append(f"{duration(left)} left")
    return ", ".join(words)


def shortened(text: str, width: int) -> str:
    """A name without its middle; the seed at its end stays."""
    return text if len(text) <= width else text[: width - 10] + "…" + text[-9:]


@contextmanager
def view(jobs: Sequence[Job], orders: Sequence[Order]) -> Iterator[View]:
    """The view for this stderr."""
    several = len({job.paper for job in jobs}) > 1
    rows = [
        Row(f"{job.paper} {job.name}" if several else job.name, Path(order.folder), _steps(job))
        for job, order in zip(jobs, orders, strict=True)
    ]
    if not sys.stderr.isatty():
        yield View(rows)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False) as live:
        yield Table(rows, live)


def _steps(job: Job) -> int | None:
    steps = getattr(job.experiment, "max_steps", None)
    return None if steps is None else int(steps.value)

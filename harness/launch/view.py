"""The display of launched jobs, read from their files: a live line for each on a terminal, else plain lines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.redaction import redact
from harness.jobs.pace import duration
from harness.launch.orders import Task
from harness.record.run import METRICS

LINES_S = 60.0  # between two plain lines of what runs
TABLE_S = 1.0  # between two readings of the files for a terminal
MOST = 20  # with more jobs, a terminal shows those that run
SHOWN = {"train/reward": "reward", "train/entropy": "entropy"}


@dataclass
class Row:
    """One job. `total`: optimiser steps of its training; None: it has none, or not a fixed number."""

    name: str
    folder: Path
    total: int | None
    state: str = "waiting"
    since: float | None = None
    step: int | None = None
    metrics: str = ""
    first: tuple[int, float] | None = None  # the first step seen by this launch, and when

    def read(self, now: float) -> None:
        """Read the training's progress from the last whole line of its metrics."""
        path = self.folder / METRICS
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        for line in reversed(lines[-2:]):
            try:
                last = json.loads(line)
            except ValueError:  # being written, or cut by a kill: the line before it is whole
                continue
            shown = [f"{name} {last['metrics'][key]:.3f}" for key, name in SHOWN.items() if key in last["metrics"]]
            self.step, self.metrics = int(last["step"]), ", ".join(shown)
            self.first = self.first or (self.step, now)
            return

    def left(self, now: float) -> float | None:
        """Seconds left at the pace so far; None without a pace or a fixed end."""
        if self.total is None or self.step is None or self.first is None or self.step == self.first[0]:
            return None
        return (self.total - self.step) * (now - self.first[1]) / (self.step - self.first[0])

    def text(self, now: float) -> str:
        """ "training, step 12/60, reward 1.312, entropy 0.241, 4 min left"."""
        if self.state != "running":
            return self.state
        words = ["evaluating" if self.total is None or self.step == self.total else "training"]
        if self.step is not None:
            words += [f"step {self.step}" + (f"/{self.total}" if self.total else ""), self.metrics]
        left = self.left(now)
        return ", ".join([*filter(None, words), *([f"{duration(left)} left"] if left else [])])


class View:
    """The display; gets each start and end. `live`: a `rich.live.Live` on a terminal, else None."""

    def __init__(self, rows: Sequence[Row], live: Any = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.rows, self._live, self._clock = list(rows), live, clock
        self._by_folder = {str(row.folder): row for row in rows}
        self._shown = clock()

    def started(self, folder: str) -> None:
        row = self._by_folder[folder]
        row.state, row.since = "running", self._clock()
        self._say(row, "started")

    def ended(self, folder: str, state: str, error: str | None = None) -> None:
        row = self._by_folder[folder]
        row.state = state
        took = "" if row.since is None else f" after {duration(self._clock() - row.since)}"
        self._say(row, f"{state}{took}" + (f": {redact(error)}" if error else ""))

    def refresh(self) -> None:
        """Called every few seconds at least."""
        now = self._clock()
        if now - self._shown < (LINES_S if self._live is None else TABLE_S):
            return
        self._shown = now
        for row in self.rows:
            if row.state == "running":
                row.read(now)
                if self._live is None:
                    self._say(row, row.text(now))
        if self._live is not None:
            self._live.update(table(self.rows, now), refresh=True)

    def _say(self, row: Row, text: str) -> None:
        line = f"[{self.rows.index(row) + 1}/{len(self.rows)}] {row.name}: {text}"
        if self._live is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._live.console.print(line, markup=False, highlight=False)


def table(rows: Sequence[Row], now: float) -> Any:
    """A line for each job; with many jobs, waiting and finished ones are only counted."""
    from rich.table import Table

    counts = {state: sum(row.state == state for row in rows) for state in dict.fromkeys(row.state for row in rows)}
    made = Table(box=None)
    made.add_column(max_width=30, no_wrap=True)
    made.add_column(no_wrap=True)
    for row in rows:
        if row.state == "running" or len(rows) <= MOST:
            made.add_row(shortened(row.name, 30), row.text(now))
    made.add_row("", ", ".join(f"{n} {state}" for state, n in counts.items()))
    return made


def shortened(text: str, width: int) -> str:
    """A name without its middle; the seed at its end stays."""
    return text if len(text) <= width else text[: width - 10] + "…" + text[-9:]


@contextmanager
def view(tasks: Sequence[Task]) -> Iterator[View]:
    """The view for this stderr."""
    several = len({task.job.paper for task in tasks}) > 1
    rows = []
    for task in tasks:
        steps = getattr(task.job.experiment, "max_steps", None)
        name = f"{task.job.paper} {task.job.name}" if several else task.job.name
        rows.append(Row(name, Path(task.order.folder), None if steps is None else steps.value))
    if not sys.stderr.isatty():
        yield View(rows)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False) as live:
        yield View(rows, live)

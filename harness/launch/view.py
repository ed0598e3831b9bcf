"""The display of launched jobs: a line for each start and end, and a live line for each that runs. Without a terminal
a line every 30 s for each that has made a step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from evals.log import draws, logger
from evals.redaction import redact
from harness.launch.task import Task
from harness.plan.costs import training_steps
from harness.record.record import TRAINING_LOG
from harness.record.state import last_step


class View:
    """Gets each start and end of a job. Steps and rewards are read from the jobs' files."""

    def __init__(self, tasks: Sequence[Task], console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[metrics]}"),
            TimeRemainingColumn(compact=True),
            console=self._console,
            speed_estimate_period=3600,  # a step may take minutes
            redirect_stdout=False,
            disable=not (self._console.is_terminal and draws()),
        )
        self._jobs = {task.folder: task.job for task in tasks}
        self._rows: dict[Path, TaskID] = {}  # the jobs that run
        self._started: dict[Path, float] = {}
        self._read = 0.0

    def __enter__(self) -> View:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def shows(self, folder: Path, state: str) -> None:
        """A job begins to run, or waits again."""
        self._remove(folder)
        if state == "running":
            steps = training_steps(self._jobs[folder]) or None
            self._rows[folder] = self._bars.add_task(self._jobs[folder].name, total=steps, metrics="")
            self._started[folder] = time.monotonic()
        self._say(folder, state)

    def ended(self, folder: Path, state: str, error: str | None = None) -> None:
        """A job has ended."""
        self._remove(folder)
        took = f" after {time.monotonic() - self._started[folder]:.0f} s" if folder in self._started else ""
        self._say(folder, f"{state}{took}" + (f": {redact(error)}" if error else ""))

    def refresh(self) -> None:
        """Read the jobs' files, once in a second at most, without a terminal in 30."""
        if time.monotonic() - self._read < (30 if self._bars.disable else 1):
            return
        self._read = time.monotonic()
        before = {bar.id: bar.completed for bar in self._bars.tasks}
        for folder, row in self._rows.items():
            step, metrics = last_step(folder / TRAINING_LOG)
            if step is not None:
                shown = [f"{k} {metrics[f'train/{k}']:.3f}" for k in ("reward", "entropy") if f"train/{k}" in metrics]
                self._bars.update(row, completed=step, metrics="  ".join(shown))
                if self._bars.disable and step != before[row]:
                    self._say(folder, "  ".join((f"step {step}", *shown)))

    def _remove(self, folder: Path) -> None:
        if folder in self._rows:
            self._bars.remove_task(self._rows.pop(folder))

    def _say(self, folder: Path, text: str) -> None:
        number = list(self._jobs).index(folder) + 1
        logger.info(f"[{number}/{len(self._jobs)}] {self._jobs[folder].name}: {text}")

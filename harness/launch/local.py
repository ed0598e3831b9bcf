"""`launcher=local jobs=N`: the jobs of one or several commands in N worker processes of this machine.

Each worker takes jobs from one queue, so that it imports the trainer once. Threads and GPUs are divided among the
workers. A failed job or a killed worker does not affect the others. A first signal reaches every worker, which ends its
step, saves and stops; a second stops them at once. Workers also save and stop if their parent is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evals.environment import variables
from harness.jobs.reporting import reporting
from harness.jobs.run import Outcome
from harness.launch.devices import worker_environments
from harness.launch.orders import Task, tasks_of
from harness.launch.prepare import Prepared
from harness.launch.view import View, view
from harness.launch.worker import END
from harness.plan.machine import gpu_count
from harness.runs.disk import full_disk_named
from harness.runs.interrupt import Interrupted, StoppedAtOnce, finishing, handled, requested
from harness.runs.launched import forget, note
from harness.runs.outbox import Outbox
from harness.runs.track import make_home

LAST_S = 10.0  # seconds that a worker has to end after a second signal, before it is killed


class FailedJobError(RuntimeError):
    """A job that failed in another process; the text is that process's."""


def run_local(commands: Sequence[Prepared], workers: int) -> list[Outcome]:
    """Run the jobs of all commands, `workers` at once; one outcome for each job of each command, in their order.

    Raises:
        RefusedError: MLflow's store cannot be used. Interrupted: a signal asked to stop; everything is saved.
    """
    machines = [machine for prepared in commands for machine in prepared.hardware.values()]
    environments = worker_environments(machines, workers, gpus=gpu_count())
    with (
        handled(),
        full_disk_named(make_home()),
        reporting([(prepared.jobs, prepared.command) for prepared in commands]) as reports,
    ):
        tasks = tasks_of(commands, reports)
        for task in tasks:
            note(Path(task.order.folder), "local", task.order.command)
        with finishing(), view([task.job for task in tasks], [task.order for task in tasks]) as shown:
            ended = _Pool(tasks, environments[: len(tasks)], shown, lambda outbox: reports.courier.watch(outbox)).run()
        for task in tasks:
            if ended[task.order.folder].error is not None:
                reports.failed.update(task.commands)
    return outcomes_of(commands, tasks, ended)


def outcomes_of(commands: Sequence[Prepared], tasks: Sequence[Task], ended: Mapping[str, Outcome]) -> list[Outcome]:
    """The outcome of each job of each command, from those of the tasks, by folder."""
    folders = {
        (number, task.job.name, task.job.digest): task.order.folder for task in tasks for number in task.commands
    }
    return [
        replace(ended[folders[number, job.name, job.digest]], job=job)
        for number, prepared in enumerate(commands)
        for job in prepared.jobs
    ]


@dataclass(eq=False)
class _Worker:
    number: int
    process: subprocess.Popen[bytes]
    task: Task
    unread: bytes = b""


class _Pool:
    """Workers and the tasks that they take."""

    def __init__(
        self,
        tasks: Sequence[Task],
        environments: Sequence[dict[str, str]],
        shown: View,
        watch: Callable[[Outbox], None],
    ) -> None:
        self._tasks = list(tasks)
        self._waiting = deque(tasks)
        self._total = len(tasks)
        self._environments = environments
        self._shown, self._watch = shown, watch
        self._outcomes: dict[str, Outcome] = {}
        self._stopped: list[Task] = []
        self._workers: dict[int, _Worker] = {}
        self._selector = selectors.DefaultSelector()

    def run(self) -> dict[str, Outcome]:
        """Outcome of each task, by the job's folder. Raises Interrupted once every worker has saved and ended."""
        told_to_stop = False
        try:
            while self._waiting or self._workers:
                if requested() and not told_to_stop:
                    told_to_stop = True
                    self._signal()
                if not told_to_stop:
                    for number in range(len(self._environments)):
                        if number not in self._workers and self._waiting:
                            self._start(number, self._waiting.popleft())
                elif not self._workers:
                    break
                for key, _ in self._selector.select(timeout=0.3):
                    self._hear(key.data)
                self._shown.refresh()
        except StoppedAtOnce:
            self._signal()
            raise
        finally:
            self._end()
            for task in self._tasks:
                forget(Path(task.order.folder))
        if told_to_stop:
            raise Interrupted(f"after {len(self._outcomes)} of {self._total} jobs, with what the others had saved")
        return self._outcomes

    def _start(self, number: int, task: Task) -> None:
        task.order.log.parent.mkdir(parents=True, exist_ok=True)
        with task.order.log.open("ab") as log:  # so that it also has errors before the first job
            process = subprocess.Popen(
                [sys.executable, "-m", "harness.launch.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**variables(), **self._environments[number]},
                start_new_session=True,  # a Ctrl-C must reach it once, through this process
            )
        worker = _Worker(number, process, task)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)
        self._workers[number] = worker
        self._give(worker, task)

    def _give(self, worker: _Worker, task: Task) -> None:
        worker.task = task
        self._shown.started(task.order.folder, worker.number)
        self._watch(Outbox(task.order.log.parent))
        self._write(worker, task.order.to_json())

    def _write(self, worker: _Worker, line: str) -> None:
        assert worker.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it is dead; the end of its stdout reports that
            worker.process.stdin.write(f"{line}\n".encode())
            worker.process.stdin.flush()

    def _hear(self, worker: _Worker) -> None:
        assert worker.process.stdout is not None
        data = worker.process.stdout.read()
        if data is None:
            return
        if not data:
            self._gone(worker)
            return
        worker.unread += data
        while b"\n" in worker.unread:
            line, worker.unread = worker.unread.split(b"\n", 1)
            self._answered(worker, json.loads(line))

    def _answered(self, worker: _Worker, answer: dict[str, Any]) -> None:
        folder = worker.task.order.folder
        if "stopped" in answer:
            return  # its process ends now
        if "error" in answer:
            self._failed(worker.task, answer["error"])
        else:
            log = worker.task.order.log.parent
            self._outcomes[folder] = Outcome(worker.task.job, log, diverged=answer["diverged"])
            self._shown.ended(folder, "diverged" if answer["diverged"] else "finished")
        if self._waiting and not requested():
            self._give(worker, self._waiting.popleft())
        else:
            self._write(worker, END)

    def _failed(self, task: Task, text: str) -> None:
        self._outcomes[task.order.folder] = Outcome(task.job, None, FailedJobError(text))
        self._shown.ended(task.order.folder, "failed", text)

    def _gone(self, worker: _Worker) -> None:
        """Handle a worker whose stdout has ended: it is done, was stopped, or died."""
        self._selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        code = worker.process.wait()
        for pipe in (worker.process.stdin, worker.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]
        del self._workers[worker.number]
        if worker.task.order.folder in self._outcomes:
            return
        if requested():
            self._shown.ended(worker.task.order.folder, "stopped")
            return
        self._failed(worker.task, _death(code, worker.task))

    def _signal(self) -> None:
        for worker in self._workers.values():
            with contextlib.suppress(ProcessLookupError):
                worker.process.send_signal(signal.SIGTERM)

    def _end(self) -> None:
        """End every worker, after an error too."""
        deadline = time.monotonic() + LAST_S
        for worker in self._workers.values():
            with contextlib.suppress(BrokenPipeError):
                worker.process.stdin.close()  # type: ignore[union-attr]
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(worker.process.pid, signal.SIGKILL)
                worker.process.wait()
        self._selector.close()


def _death(code: int, task: Task) -> str:
    how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
    why = " (out of memory?)" if code == -signal.SIGKILL else ""
    return f"its worker ended with {how}{why}; {task.order.log} has its output"

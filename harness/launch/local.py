"""`launcher=local jobs=N`: worker processes of this machine, among which its threads and GPUs are divided.

Each worker takes one job after another, so that it imports the trainer once. A failed job does not affect the others; a
job whose worker was killed is started once more, from its last checkpoint. Workers save and stop when their parent
does, also if it is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.environment import variables
from harness.errors import UsageError
from harness.jobs.run import say
from harness.launch.orders import Task
from harness.launch.watching import RUNNING, WAITING
from harness.launch.worker import END
from harness.runs.interrupt import StoppedAtOnce
from harness.runs.launched import forget, note
from harness.spec.hardware import Hardware

LAST_S = 10.0  # seconds that a worker has to end after a second signal, before it is killed
THREADS, VISIBLE = "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"


def worker_environments(
    machines: Iterable[Hardware], workers: int, *, gpus: int, environ: Mapping[str, str] = os.environ
) -> list[dict[str, str]]:
    """The environment variables of each worker.

    GPUs: each worker gets as many as the largest job needs; no two workers share one, and CPU threads are divided. Jobs
    on the CPU see no GPU, and each has as many threads as when it runs alone, because the number of threads decides the
    last bits of its sums; `hardware.threads` gives each fewer.

    Args:
        machines: of all jobs, with their device. gpus: how many there are.
    Raises:
        UsageError: fewer GPUs than the workers need.
    """
    machines = list(machines)
    if not any(machine.device == "gpu" for machine in machines):
        return [{VISIBLE: ""} for _ in range(workers)]
    common = {} if THREADS in environ else {THREADS: str(max(1, len(os.sched_getaffinity(0)) // workers))}
    each = max(machine.gpus for machine in machines)
    names = [name for name in environ.get(VISIBLE, "").split(",") if name] or [str(i) for i in range(gpus)]
    most = len(names) // each
    if workers > most:
        raise UsageError(
            f"jobs={workers}: expected at most {most}: a job needs {each} of the {len(names)} GPUs here, got {workers}"
        )
    return [{**common, VISIBLE: ",".join(names[i * each : (i + 1) * each])} for i in range(workers)]


def start_worker(log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A `harness.launch.worker`; what it prints before its first job goes to that job's log too."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "harness.launch.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            env={**variables(), **environment},
            start_new_session=True,  # a Ctrl-C must reach it once, through this process
        )


def death(code: int) -> str:
    """How a process ended, from its exit code."""
    how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
    return f"its worker ended with {how}" + (" (out of memory?)" if code == -signal.SIGKILL else "")


@dataclass
class Worker:
    """A process and the job it has; `task` is None between two jobs."""

    process: subprocess.Popen[bytes]
    task: Task | None = None
    unread: bytes = b""


class Local:
    """The workers of one command, as a `harness.launch.watching.Cluster`."""

    poll_s, late_s = 0.3, 0.0

    def __init__(self, environments: Sequence[Mapping[str, str]]) -> None:
        self._environments = environments
        self._waiting: deque[Task] = deque()
        self._workers: dict[int, Worker] = {}
        self._states: dict[str, str] = {}
        self._died: set[str] = set()  # folders of jobs whose worker was killed once

    def submit(self, tasks: Sequence[Task]) -> None:
        """As `Cluster.submit`."""
        for task in tasks:
            note(Path(task.order.folder), "local", task.order.command)
        self._waiting.extend(tasks)
        self._states = {task.order.folder: WAITING for task in tasks}

    def states(self) -> Mapping[str, str]:
        """As `Cluster.states`; gives waiting jobs to free workers first."""
        for number, environment in enumerate(self._environments):
            worker = self._workers.get(number)
            if worker is not None:
                self._hear(number, worker)
            worker = self._workers.get(number)
            if worker is not None and worker.task is None and not self._waiting:
                send(worker.process, END)
                worker.process.wait()
                del self._workers[number]
            elif self._waiting and (worker is None or worker.task is None):
                task = self._waiting.popleft()
                if worker is None:
                    worker = self._workers[number] = Worker(start_worker(task.order.log, environment))
                    assert worker.process.stdout is not None
                    os.set_blocking(worker.process.stdout.fileno(), False)
                worker.task, self._states[task.order.folder] = task, RUNNING
                send(worker.process, task.order.to_json())
        return dict(self._states)

    def _hear(self, number: int, worker: Worker) -> None:
        """Read a worker's answers, and see whether it lives."""
        code = worker.process.poll()  # before the answers: what it wrote is then all there
        assert worker.process.stdout is not None
        worker.unread += worker.process.stdout.read() or b""
        while b"\n" in worker.unread:
            line, worker.unread = worker.unread.split(b"\n", 1)
            assert worker.task is not None
            self._states[worker.task.order.folder] = " ".join(json.loads(line).values())
            worker.task = None
        if code is None:
            return
        del self._workers[number]
        if (task := worker.task) is None:
            return
        folder, how = task.order.folder, death(code)
        if folder in self._died:
            self._states[folder] = f"{how}, as the time before"
            return
        self._died.add(folder)
        say(f"{task.job.name}: {how}; it is started once more, from its last checkpoint")
        self._states[folder] = WAITING
        self._waiting.appendleft(task)

    def close(self) -> str:
        """Every worker saves and ends; a second signal stops them at once."""
        self._waiting.clear()
        try:
            for worker in self._workers.values():
                worker.process.send_signal(signal.SIGTERM)
            for worker in self._workers.values():
                worker.process.wait()
        except StoppedAtOnce:
            for worker in self._workers.values():
                worker.process.send_signal(signal.SIGTERM)
                try:
                    worker.process.wait(LAST_S)
                except subprocess.TimeoutExpired:
                    os.killpg(worker.process.pid, signal.SIGKILL)
            raise
        finally:
            for folder in self._states:
                forget(Path(folder))
        return ", with what the others had saved"


def send(process: subprocess.Popen[bytes], line: str) -> None:
    """A line for a worker; one that has died is noticed by its exit code."""
    assert process.stdin is not None
    try:
        process.stdin.write(f"{line}\n".encode())
        process.stdin.flush()
    except BrokenPipeError:
        return

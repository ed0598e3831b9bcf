"""`launcher=local jobs=N`: at most N jobs at once on this machine, a process each. GPUs are divided among them.

A failed job does not affect the others. A job whose process was killed is started once more, from its last checkpoint.
The processes save and stop when their parent does, also if it is killed.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from evals.environment import JOBS_ON_CARD, variables
from evals.errors import RefusedError
from evals.log import logger
from harness.backends.checkpoints import WHOLE
from harness.launch.task import RUNNING, WAITING, Task
from harness.plan.machine import sharing
from harness.runs.interrupt import StoppedAtOnce
from harness.spec.hardware import Hardware
from harness.spec.host import this_host

THREADS, VISIBLE = "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"


def slot_environments(machines: Iterable[Hardware], slots: int, *, gpus: int) -> list[dict[str, str]]:
    """The environment variables of the jobs that run at once.

    GPUs: each slot has as many as the largest job needs, and CPU threads are divided. Where a job needs one and there
    are more slots, they share the cards, and each may take its part of the memory.

    Jobs on the CPU see no GPU, and each has as many threads as when it runs alone, because the number of threads
    decides the last bits of its sums. `hardware.threads` gives each fewer.

    Args:
        machines: of all jobs, with their device. gpus: how many there are.
    Raises:
        RefusedError: fewer GPUs than the slots need.
    """
    machines = list(machines)
    if not any(machine.device == "gpu" for machine in machines):
        return [{VISIBLE: ""} for _ in range(slots)]
    common = {} if THREADS in os.environ else {THREADS: str(max(1, this_host().cores // slots))}
    each = max(machine.gpus for machine in machines)
    names = [name for name in os.environ.get(VISIBLE, "").split(",") if name] or [str(i) for i in range(gpus)]
    most = len(names) // each
    if slots > most and each == 1:
        share = {JOBS_ON_CARD: str(sharing(slots, each, len(names)))}
        return [{**common, **share, VISIBLE: names[i % len(names)]} for i in range(slots)]
    if slots > most:
        raise RefusedError(
            f"jobs={slots}: expected at most {most}: a job needs {each} of the {len(names)} GPUs here, got {slots}"
        )
    return [{**common, VISIBLE: ",".join(names[i * each : (i + 1) * each])} for i in range(slots)]


def start(task: Task, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A process that runs the task."""
    with task.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.launch.task"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**variables(), **environment},
            start_new_session=True,  # a Ctrl-C must reach it once, through this process
        )
    assert process.stdin is not None
    try:
        process.stdin.write(pickle.dumps(task))
        process.stdin.flush()  # it stays open: its end says that this process has ended
    except BrokenPipeError:  # it has died: its exit code says how
        pass
    return process


class Local:
    """The processes of one command, for `harness.launch.watching.run_on`."""

    poll_s, late_s = 0.3, 0.0  # between two looks. Until the file of an ended job may be visible here

    def __init__(self, environments: Sequence[Mapping[str, str]]) -> None:
        self._environments = environments
        self._waiting: deque[Task] = deque()
        self._running: dict[int, tuple[Task, subprocess.Popen[bytes]]] = {}  # by slot
        self._states: dict[Path, str] = {}
        self._killed: set[Path] = set()  # folders of jobs whose process was killed once

    def submit(self, tasks: Sequence[Task]) -> None:
        """Let these jobs wait for a slot."""
        self._waiting.extend(tasks)
        self._states = {task.folder: WAITING for task in tasks}

    def states(self) -> Mapping[Path, str]:
        """By the job's folder: waiting, running, or how it ended. Free slots take waiting jobs first."""
        for slot, environment in enumerate(self._environments):
            if slot in self._running:
                task, process = self._running[slot]
                if process.poll() is None:
                    continue
                del self._running[slot]
                self._ended(task, process.returncode)
            if self._waiting:
                task = self._waiting.popleft()
                self._running[slot] = task, start(task, environment)
                self._states[task.folder] = RUNNING
        return dict(self._states)

    def _ended(self, task: Task, code: int) -> None:
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        how = f"its process ended with {how}" + (" (out of memory?)" if code == -signal.SIGKILL else "")
        if code < 0 and task.folder not in self._killed:
            self._killed.add(task.folder)
            kept = any(task.folder.rglob(WHOLE)) or any(task.folder.rglob("final"))
            where = "from its last checkpoint" if kept else "from its beginning, as it had no checkpoint yet"
            logger.warning(f"{task.job.name}: {how}; it is started once more, {where}")
            self._states[task.folder] = WAITING
            self._waiting.appendleft(task)
        else:
            self._states[task.folder] = how + (", as the time before" if task.folder in self._killed else "")

    def close(self) -> str:
        """Every process saves and ends. A second signal stops them at once."""
        self._waiting.clear()
        processes = [process for _, process in self._running.values()]
        try:
            for process in processes:
                process.send_signal(signal.SIGTERM)
            for process in processes:
                process.wait()
        except StoppedAtOnce:
            for process in processes:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            raise
        return "; rlvr show says what the others have saved"

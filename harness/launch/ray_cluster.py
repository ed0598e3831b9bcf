"""`launcher=ray`: jobs as tasks of a running Ray cluster, each with its requested resources. A task only supervises a
worker process (`harness.launch.worker`), so signals work as elsewhere. If its node or process dies, a task resumes
elsewhere from its last checkpoint. The tasks end with the command, which lets every job save first.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.launch.launcher import Launcher
from harness.launch.local import death, start_worker
from harness.launch.orders import LOG, Order, Task
from harness.launch.watching import RUNNING, WAITING
from harness.launch.worker import END
from harness.runs.launched import note
from harness.spec.hardware import Hardware

RETRIES = 3
STOP_S = 600.0  # seconds that jobs have to save after a request to stop


@contextmanager
def ray_cluster(launcher: Launcher) -> Iterator[RayCluster]:
    """The cluster of one command, which leaves it at the end.

    While connected, a thread of Ray prints reports of its daemons (for example, that a task is retried) to stdout, even
    with log_to_driver=False. The command's stdout is for its results, so these reports go to stderr.
    """
    import ray

    connected_before = ray.is_initialized()
    with redirect_stdout(sys.stderr):
        try:
            yield RayCluster(launcher)
        finally:
            if not connected_before:
                ray.shutdown()


class RayCluster:
    """The jobs that one command runs on a cluster, as a `harness.launch.watching.Cluster`: a Ray task each."""

    poll_s, late_s = 2.0, 20.0

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._waiting: deque[Task] = deque()
        self._tasks: dict[str, Any] = {}  # by folder: Ray's reference to the result
        self._log_sizes: dict[str, int] = {}

    def submit(self, tasks: Sequence[Task]) -> None:
        """Connect to the cluster and hand it the jobs, `jobs=N` at a time; it starts as many as its resources allow.

        Raises:
            UsageError: there is no cluster, or it can never give a job what it asks for.
        """
        import ray

        address = self._launcher.options.get("address", "auto")
        try:
            ray.init(address=address, log_to_driver=False, logging_level="warning", ignore_reinit_error=True)
        except (ConnectionError, ValueError, RuntimeError) as error:
            why = str(error).splitlines()[0]
            token = "" if "RAY_AUTH_MODE" in os.environ else "; if it asks for a token: RAY_AUTH_MODE=token"
            raise UsageError(f"launcher.address={address}: expected a running Ray cluster ({why}){token}") from error
        has = ray.cluster_resources()
        for task in tasks:
            wants = resources(self._launcher, task.order.machine)
            named = {"CPU": wants["num_cpus"], "GPU": wants["num_gpus"], **wants["resources"]}
            for name, amount in named.items():
                if amount > has.get(name, 0):
                    raise UsageError(
                        f"launcher=ray: a job asks for {amount} {name}, and the whole cluster has {has.get(name, 0):g}"
                    )
            note(Path(task.order.folder), "ray", task.order.command)
        self._waiting.extend(tasks)

    def _fill(self, running: int) -> None:
        import ray

        while self._waiting and (self._launcher.jobs is None or running < self._launcher.jobs):
            running += 1
            order = (task := self._waiting.popleft()).order
            self._log_sizes[order.folder] = order.log.stat().st_size if order.log.is_file() else 0
            remote = ray.remote(run_order).options(
                **resources(self._launcher, order.machine),
                name=f"{task.job.paper} {task.job.name}",
                max_retries=self._launcher.options.get("max_retries", RETRIES),
                retry_exceptions=[WorkerDiedError],
            )
            self._tasks[order.folder] = remote.remote(order.to_json())

    def states(self) -> Mapping[str, str]:
        """As `Cluster.states`."""
        import ray

        tasks = list(self._tasks.values())
        ready = ray.wait(tasks, num_returns=len(tasks), timeout=0)[0] if tasks else []
        self._fill(len(tasks) - len(ready))
        states = {folder: _how(task) if task in ready else self._state(folder) for folder, task in self._tasks.items()}
        return {task.order.folder: WAITING for task in self._waiting} | states

    def close(self) -> str:
        """Jobs end with the command; each saves first."""
        import ray

        self._waiting.clear()
        tasks = list(self._tasks.values())
        for task in tasks:
            ray.cancel(task)
        if tasks:
            ray.wait(tasks, num_returns=len(tasks), timeout=STOP_S)
        return ", with what the others had saved"

    def _state(self, folder: str) -> str:
        """A job runs once its worker has written to the log."""
        log = Path(folder) / LOG
        return RUNNING if log.is_file() and log.stat().st_size > self._log_sizes[folder] else WAITING


def resources(launcher: Launcher, machine: Hardware) -> dict[str, Any]:
    """The resources that one job requests."""
    own = launcher.options
    asked: dict[str, Any] = {
        "num_cpus": own.get("num_cpus", machine.threads or 1),
        "num_gpus": own.get("num_gpus", machine.gpus),
        "resources": dict(own.get("resources", {})),
    }
    if "memory_gb" in own:
        asked["memory"] = own["memory_gb"] * 10**9
    return asked


def _how(task: Any) -> str:
    import ray

    try:
        return str(ray.get(task) or "done")
    except ray.exceptions.RayError as error:
        return f"Ray ended it: {str(error).strip().splitlines()[-1]}"


# -- in the task -------------------------------------------------------------------------------------------------------


class WorkerDiedError(RuntimeError):
    """The worker process ended without an answer; the task may be tried again."""


def run_order(text: str) -> str:
    """Carry out an order in a separate process; returns how it ended. A cancelled task lets the worker save and end.

    Raises:
        WorkerDiedError: the process was killed.
    """
    order = Order.from_json(text)
    order.log.parent.mkdir(parents=True, exist_ok=True)
    worker = start_worker(order.log, {"RLVR_HOME": order.home, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    assert worker.stdin is not None and worker.stdout is not None
    try:
        worker.stdin.write(f"{text}\n{END}\n".encode())
        worker.stdin.flush()
        answer = worker.stdout.readline()  # empty if the process ends
        code = worker.wait()
    except BaseException:  # cancelled
        worker.send_signal(signal.SIGTERM)
        worker.wait()
        raise
    if not answer:
        raise WorkerDiedError(death(code))
    return str(json.loads(answer).get("error") or "")

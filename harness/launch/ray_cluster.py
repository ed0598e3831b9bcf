"""`launcher=ray`: jobs as tasks of a running Ray cluster, each with its requested resources. A task only supervises a
worker process (`harness.launch.worker`), so signals work as elsewhere. If its node or process dies, a task resumes
elsewhere from its last checkpoint. The tasks end with the command, which lets every job save first.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.launch.devices import gpus_of
from harness.launch.launcher import Launcher
from harness.launch.orders import Task
from harness.launch.ray_job import WorkerDiedError, run_order
from harness.launch.remote import RUNNING, WAITING
from harness.runs.launched import note
from harness.runs.state import ERROR
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
    """The jobs that one command runs on a cluster."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._waiting: deque[Task] = deque()
        self._started: dict[str, Any] = {}  # by folder: Ray's reference to the result
        self._log_sizes: dict[str, int] = {}
        self._ended: dict[str, str] = {}

    def submit(self, tasks: Sequence[Task]) -> None:
        """Connect to the cluster and start as many jobs as may run at once.

        Raises:
            UsageError: there is no cluster, or it can never give a job what it asks for.
        """
        import ray

        address = self._launcher.options.get("address", "auto")
        try:
            ray.init(address=address, log_to_driver=False, logging_level="warning", ignore_reinit_error=True)
        except (ConnectionError, ValueError, RuntimeError) as error:
            said = str(error).splitlines()[0]
            token = "" if "RAY_AUTH_MODE" in os.environ else "; if it asks for a token: RAY_AUTH_MODE=token"
            raise UsageError(f"launcher.address={address}: expected a running Ray cluster ({said}){token}") from error
        has = ray.cluster_resources()
        for task in tasks:
            wants = resources(self._launcher, task.order.machine)
            named = {"CPU": wants["num_cpus"], "GPU": wants["num_gpus"], **wants["resources"]}
            for name, amount in named.items():
                if amount > has.get(name, 0):
                    raise UsageError(
                        f"launcher=ray: a job asks for {amount} {name}, and the whole cluster has {has.get(name, 0):g}"
                    )
            (Path(task.order.folder) / ERROR).unlink(missing_ok=True)  # left by the previous try
            note(Path(task.order.folder), "ray", task.order.command)
        self._waiting.extend(tasks)
        self._fill()

    def states(self) -> Mapping[str, str]:
        """By the job's folder: waiting, running, or how its task ended."""
        import ray

        if self._started:
            ready, _ = ray.wait(list(self._started.values()), num_returns=len(self._started), timeout=0)
            for folder, task in list(self._started.items()):
                if task in ready:
                    self._ended[folder] = _how(task)
                    del self._started[folder]
        self._fill()
        waiting = {task.order.folder: WAITING for task in self._waiting}
        return waiting | {folder: self._state(folder) for folder in self._started} | self._ended

    def close(self) -> str:
        """Jobs end with the command; each saves first."""
        import ray

        self._waiting.clear()
        for task in self._started.values():
            ray.cancel(task)
        if self._started:
            ray.wait(list(self._started.values()), num_returns=len(self._started), timeout=STOP_S)
        return ", with what the others had saved"

    def _fill(self) -> None:
        import ray

        most = self._launcher.jobs
        while self._waiting and (most is None or len(self._started) < most):
            order = (task := self._waiting.popleft()).order
            self._log_sizes[order.folder] = order.log.stat().st_size if order.log.is_file() else 0
            asked = resources(self._launcher, task.order.machine)
            remote = ray.remote(run_order).options(
                **asked,
                name=f"{task.job.paper} {task.job.name}",
                max_retries=self._launcher.options.get("max_retries", RETRIES),
                retry_exceptions=[WorkerDiedError],
            )
            self._started[order.folder] = remote.remote(order.to_json())

    def _state(self, folder: str) -> str:
        """A job runs once its worker has written to the log."""
        log = Path(folder) / "log.txt"
        return RUNNING if log.is_file() and log.stat().st_size > self._log_sizes[folder] else WAITING


def resources(launcher: Launcher, machine: Hardware) -> dict[str, Any]:
    """The resources that one job requests."""
    own = launcher.options
    asked: dict[str, Any] = {
        "num_cpus": own.get("num_cpus", machine.threads or 1),
        "num_gpus": own.get("num_gpus", gpus_of(machine)),
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

"""Divide the threads and GPUs of a machine among worker processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from harness.errors import UsageError
from harness.spec.hardware import Hardware

THREADS = "OMP_NUM_THREADS"
VISIBLE = "CUDA_VISIBLE_DEVICES"


def worker_environments(
    machines: Iterable[Hardware], workers: int, *, gpus: int, environ: Mapping[str, str] = os.environ
) -> list[dict[str, str]]:
    """The environment variables of each worker.

    GPUs: each worker gets as many as the largest job needs; no two workers share one, and CPU threads are divided. Jobs
    on the CPU see no GPU, and each has as many threads as when it runs alone, because the number of threads decides the
    last bits of its sums; `hardware.threads` gives each fewer. Waiting threads sleep.

    Args:
        machines: of all jobs, with their device. gpus: how many there are.
    Raises:
        UsageError: fewer GPUs than the workers need.
    """
    machines = list(machines)
    common = {"OMP_WAIT_POLICY": environ.get("OMP_WAIT_POLICY", "PASSIVE")}
    if not any(machine.device == "gpu" for machine in machines):
        return [{**common, VISIBLE: ""} for _ in range(workers)]
    if THREADS not in environ:
        common[THREADS] = str(max(1, len(os.sched_getaffinity(0)) // workers))
    each = max(gpus_of(machine) for machine in machines)
    names = [name for name in environ.get(VISIBLE, "").split(",") if name] or [str(i) for i in range(gpus)]
    fit = len(names) // each
    if workers > fit:
        raise UsageError(
            f"jobs={workers}: expected at most {fit}: a job needs {each} of the {len(names)} GPUs here, got {workers}"
        )
    return [{**common, VISIBLE: ",".join(names[i * each : (i + 1) * each])} for i in range(workers)]


def gpus_of(machine: Hardware) -> int:
    """GPUs that one job needs at a time: to train, or to sample."""
    if machine.device != "gpu":
        return 0
    return max(machine.processes, machine.engine_replicas)

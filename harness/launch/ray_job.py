"""The code of a Ray task: start a worker process for one order, and wait for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from evals.environment import variables


class WorkerDiedError(RuntimeError):
    """The worker process ended without an answer; the task may be tried again."""


def run_order(text: str) -> str:
    """Carry out an order in a separate process; returns how it ended, unless its files say so. A cancelled task lets
    the worker save and end.

    Raises:
        WorkerDiedError: the process was killed.
    """
    from harness.launch.orders import Order
    from harness.launch.worker import END

    order = Order.from_json(text)
    order.log.parent.mkdir(parents=True, exist_ok=True)
    environment = {**variables(), "RLVR_HOME": order.home, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    with order.log.open("ab") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "harness.launch.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            start_new_session=True,
            text=True,
        )
    assert worker.stdin is not None and worker.stdout is not None
    try:
        worker.stdin.write(f"{text}\n{END}\n")
        worker.stdin.flush()
        answer = worker.stdout.readline()  # empty if the process ends
        code = worker.wait()
    except BaseException:  # cancelled
        worker.send_signal(signal.SIGTERM)
        worker.wait()
        raise
    if not answer:
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        raise WorkerDiedError(f"the worker process ended with {how}")
    return str(json.loads(answer).get("error") or "")

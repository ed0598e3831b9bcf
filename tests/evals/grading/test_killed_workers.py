"""What reaches a grading process from outside: a request to stop costs nothing, a kill at most its own comparison."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.grading import Conventions
from evals.grading.pool import Pool
from evals.processes import STOPPING

pytestmark = pytest.mark.slow

PAIR = ("1/2", "0.5")


@pytest.fixture
def pool() -> Iterator[Pool]:
    one = Pool(workers=1, limit_s=60, memory_mb=2048, conventions=Conventions())
    yield one
    one.close()


def test_a_signal_to_every_process_costs_no_verdict(pool: Pool) -> None:
    """Ctrl-C at a terminal and Slurm reach the workers too, in which nothing handles them."""
    assert pool.map([PAIR]) == [True]
    (pid,) = pool.idle_pids()
    for number in sorted(STOPPING):
        os.kill(pid, number)
    assert pool.map([PAIR]) == [True]
    assert pool.idle_pids() == [pid]
    assert pool.started == 1
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) & STOPPING == set()  # ours reach us again


def test_a_worker_killed_while_it_waits_costs_no_verdict(pool: Pool) -> None:
    assert pool.map([PAIR]) == [True]
    (pid,) = pool.idle_pids()
    os.kill(pid, signal.SIGKILL)
    while "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]:
        time.sleep(0.01)
    assert pool.map([PAIR]) == [True]
    assert pool.started == 2


def test_a_comparison_ends_by_itself_when_its_parent_is_gone() -> None:
    """The worker's own timer ends it, whoever waits."""
    command = [sys.executable, "-m", "evals.grading.worker", "{}"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        assert json.loads(worker.stdout.readline()) == {"ready": True}
        worker.stdin.write(json.dumps(["5", r"\int_0^1 9^{9^{9^9}}\,dx", 0.5]).encode() + b"\n")
        worker.stdin.flush()
        assert worker.wait(60) == -signal.SIGPROF

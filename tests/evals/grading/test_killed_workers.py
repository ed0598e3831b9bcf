"""What reaches a grading process from outside: a request to stop costs nothing, a kill at most its own comparison."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from evals.grading import Conventions
from evals.grading.pool import Pool
from evals.grading.worker import ALONE_S
from evals.processes import STOPPING

pytestmark = pytest.mark.slow

PAIR = ("1/2", "0.5")


@pytest.fixture
def pool() -> Pool:
    return Pool(workers=1, limit_s=60, memory_mb=2048, conventions=Conventions())


def test_a_signal_to_every_process_costs_no_verdict(pool: Pool) -> None:
    """Ctrl-C at a terminal and Slurm reach the workers too, in which nothing handles them."""
    with pool:
        assert pool.map([PAIR]) == [True]
        (pid,) = pool.idle_pids()
        for number in sorted(STOPPING):
            os.kill(pid, number)
        assert pool.map([PAIR]) == [True]
        assert pool.idle_pids() == [pid]
        assert pool.started == 1
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) & STOPPING == set()  # ours reach us again


def test_a_worker_killed_while_it_waits_costs_no_verdict(pool: Pool) -> None:
    with pool:
        assert pool.map([PAIR]) == [True]
        (pid,) = pool.idle_pids()
        os.kill(pid, signal.SIGKILL)
        while "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]:
            time.sleep(0.01)
        assert pool.map([PAIR]) == [True]
        assert pool.started == 2


@pytest.mark.skipif(not hasattr(psutil.Process, "rlimit"), reason="no limits of other processes on this system")
def test_a_comparison_whose_parent_was_killed_ends_by_itself(pool: Pool) -> None:
    with pool:
        assert pool.map([PAIR]) == [True]
        process = psutil.Process(pool.idle_pids()[0])
        soft, _ = process.rlimit(psutil.RLIMIT_CPU)
        used = sum(process.cpu_times()[:2])
        # the pool's limit and a minute from the start of the comparison, which took less than 60 s
        assert 60 + ALONE_S <= soft <= 60 + ALONE_S + used + 1
        assert pool.map([PAIR]) == [True] and process.rlimit(psutil.RLIMIT_CPU)[0] >= soft  # counted again for each

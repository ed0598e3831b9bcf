"""`launcher=ray` on a Ray cluster of this machine: what is killed resumes, and ends as a serial run does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.harness.launch.small import EGSW, GRPO, outcome, saved, start_run
from tests.harness.launch.small import wait_for as wait_for_seconds
from tests.needs_verl import need_verl

need_verl()

ARMS = (GRPO, EGSW)
wait_for = partial(wait_for_seconds, seconds=900)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    os.environ["RAY_AUTH_MODE"] = "token"  # as Ray chooses for a local cluster; commands inherit it
    import ray

    for tries in range(3):  # Ray gives its own daemons 30 s, which a busy machine may not
        try:
            context = ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 * 2**20)
            break
        except Exception as error:
            ray.shutdown()
            if "timed out during startup" not in str(error) or tries == 2:
                raise
    yield context.address_info["address"]
    ray.shutdown()


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.experiments import save_random_model

    return save_random_model(tmp_path_factory.mktemp("model"))


def start(home: Path, model: Path, *more: str) -> subprocess.Popen[str]:
    return start_run(home, model, f"arm={','.join(ARMS)}", "max_steps=16", *more)


def workers(home: Path) -> list[Any]:
    """The worker processes of jobs in this folder."""
    import psutil

    processes = []
    for process in psutil.process_iter():
        try:
            mine = process.environ().get("RLVR_HOME") == str(home) and "harness.launch.worker" in process.cmdline()
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        processes += [process] if mine else []
    return processes


@pytest.mark.timeout(2400)
def test_a_killed_job_is_tried_again_and_ends_the_same(address: str, model_dir: Path, tmp_path: Path) -> None:
    serial, home = tmp_path / "serial", tmp_path / "ray"
    alone = start(serial, model_dir)
    printed, err = alone.communicate(timeout=1200)
    assert alone.returncode == 0, err

    process = start(home, model_dir, "launcher=ray", f"launcher.address={address}", "jobs=2")
    wait_for(process, saved(home, EGSW, 3))
    killed = workers(home)
    assert len(killed) in (1, 2)
    for worker in killed:
        worker.kill()
    out, err = process.communicate(timeout=1500)
    assert process.returncode == 0, err
    (log,) = home.glob(f"egsw/tiny/math-7b-{ARMS[1]}-*/log.txt")
    assert log.read_text().count("== ") == 2  # it ran twice
    for arm in ARMS:
        assert outcome(home, arm) == outcome(serial, arm)
    assert out.replace(str(home), "") == printed.replace(str(serial), "")


@pytest.mark.timeout(600)
def test_missing_cluster_resources_are_reported_before_the_start(address: str, model_dir: Path, tmp_path: Path) -> None:
    process = start(tmp_path, model_dir, "launcher=ray", f"launcher.address={address}", "launcher.num_cpus=64")
    _, err = process.communicate(timeout=500)
    assert process.returncode == 2, err
    assert "a job asks for 64 CPU, and the whole cluster has 2" in err

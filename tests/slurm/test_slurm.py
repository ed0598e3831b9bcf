"""A real Slurm (`nox -s slurm`): a job stopped and queued again ends as a serial run does, to the byte."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.forked import Command
from tests.harness.launch.small import EGSW, GRPO, folder_of, outcome, saved
from tests.harness.launch.small import start as start_run
from tests.harness.launch.small import wait_for as wait_for_seconds
from tests.slurm.cluster import cluster

pytestmark = [
    pytest.mark.skipif("RLVR_TESTS_NEED_SLURM" not in os.environ, reason="needs Slurm's daemons: nox -s slurm"),
    pytest.mark.timeout(2400),
]

ARMS = (GRPO, EGSW)


@pytest.fixture(scope="module")
def slurm() -> Iterator[dict[str, str]]:
    with cluster() as environment:
        yield environment


def start(home: Path, model: Path, slurm: dict[str, str], *more: str) -> Command:
    more = more if any(option.startswith("max_steps") for option in more) else (*more, "max_steps=16")
    return start_run(home, model, f"arm={','.join(ARMS)}", *more, env=slurm)


wait_for = partial(wait_for_seconds, seconds=900)


def ask(slurm: dict[str, str], *command: str) -> str:
    done = subprocess.run(command, env={**os.environ, **slurm}, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


def log(home: Path, arm: str) -> str:
    (log,) = home.glob(f"egsw/tiny/*-{arm}-*/log.txt")
    return log.read_text()


def job_ids(home: Path) -> dict[str, str]:
    import json

    return {arm: json.loads((folder_of(home, arm) / "slurm.json").read_text())["id"] for arm in ARMS}


def test_jobs_that_are_stopped_and_queued_again_end_the_same(
    slurm: dict[str, str], random_model: Path, tmp_path: Path
) -> None:
    serial, home = tmp_path / "serial", tmp_path / "slurm"
    alone = start(serial, random_model, slurm)
    printed, err = alone.communicate(timeout=1200)
    assert alone.returncode == 0, err

    process = start(home, random_model, slurm, "launcher=slurm", "jobs=2")
    preempted, killed = ARMS
    wait_for(process, saved(home, preempted, 3))
    ids = job_ids(home)
    ask(slurm, "scancel", "--signal=TERM", ids[preempted])  # what a preemption sends
    wait_for(process, saved(home, killed, 3))
    ask(slurm, "scontrol", "requeue", ids[killed])
    for arm in ARMS:
        wait_for(process, lambda arm=arm: "PENDING" in ask(slurm, "squeue", "-h", "-j", ids[arm], "-o", "%T"))
        # Slurm waits two minutes before it starts a job again
        wait_for(process, lambda arm=arm: not ask(slurm, "scontrol", "update", f"jobid={ids[arm]}", "starttime=now"))
    out, err = process.communicate(timeout=1500)
    assert process.returncode == 0, err
    assert f"scontrol requeue {ids[preempted]}: done" in log(home, preempted)
    for arm in ARMS:
        assert "Restarts=1" in ask(slurm, "scontrol", "show", "job", ids[arm])
        assert log(home, arm).count("\n== ") + log(home, arm).startswith("== ") == 2  # it ran twice
        assert outcome(home, arm) == outcome(serial, arm)
    assert outcome(home, ARMS[0])[0] != outcome(home, ARMS[1])[0] != (random_model / "model.safetensors").read_bytes()
    assert out.replace(str(home), "") == printed.replace(str(serial), "")  # the summary too


def test_a_restarted_command_finds_its_jobs_and_a_cancelled_job_stays_cancelled(
    slurm: dict[str, str], random_model: Path, tmp_path: Path
) -> None:
    options = ("launcher=slurm", "max_steps=2000")  # long enough to be cancelled on any machine
    process = start(tmp_path, random_model, slurm, *options)
    for arm in ARMS:
        wait_for(process, saved(tmp_path, arm, 3))
    ids = job_ids(tmp_path)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 75 and f"scancel {ids[ARMS[0]].partition('_')[0]}" in err, err
    process = start(tmp_path, random_model, slurm, *options)
    wait_for(process, lambda: "running" in process.err)
    assert job_ids(tmp_path) == ids  # the command watched them, and did not submit them again
    ask(slurm, "scancel", *ids.values())
    _, err = process.communicate(timeout=1200)
    assert process.returncode == 1, err
    assert err.count("Slurm ended it: CANCELLED") >= 2, err
    for arm in ARMS:
        assert log(tmp_path, arm).count("== ") == 1 and "not queued again" in log(tmp_path, arm)


def test_a_refusal_of_sbatch_is_reported(slurm: dict[str, str], random_model: Path, tmp_path: Path) -> None:
    process = start(tmp_path, random_model, slurm, "launcher=slurm", "launcher.partition=nowhere")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 2 and "sbatch refused the jobs" in err and "nvalid partition" in err, err

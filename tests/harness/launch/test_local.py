"""Jobs in processes of their own: the same bytes as one after another, after any stop. A failure costs only itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evals.files import locked
from evals.fingerprint import model_fingerprint
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.command.watch import Watch
from harness.jobs.run import job_folder
from harness.launch import local
from harness.launch.prepare import prepare
from harness.launch.task import Task
from harness.record.run import Run
from harness.record.state import ERROR
from tests.forked import HOLD
from tests.harness.launch.small import EGSW, GRPO, SMALL, outcome, saved, start, wait_for
from tests.options import options_of

pytestmark = pytest.mark.slow


def test_stopped_and_killed_jobs_end_like_serial_ones(random_model: Path, tmp_path: Path) -> None:
    import psutil

    serial, beside = tmp_path / "serial", tmp_path / "local"
    options: tuple[str, ...] = (f"arm={GRPO},{EGSW}", "max_steps=12")
    alone = start(serial, random_model, *options)
    printed, err = alone.communicate(timeout=500)
    assert alone.returncode == 0, err

    options += ("launcher=local", "jobs=2")
    process = start(beside, random_model, *options, env={HOLD: "3"})
    wait_for(process, saved(beside, EGSW, 3))
    process.send_signal(signal.SIGTERM)  # to the parent alone: it tells its workers
    _, err = process.communicate(timeout=300)
    assert process.returncode == 75 and "the same command resumes there" in err, err
    (stopped,) = beside.glob(f"egsw/tiny/*-{EGSW}-*")
    assert not Run(stopped).is_finished

    process = start(beside, random_model, *options, env={HOLD: "6"})
    wait_for(process, lambda: len(process.jobs) == 2 and saved(beside, GRPO, 6)())
    workers = [psutil.Process(pid) for pid in process.jobs]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=300)  # they see that it is gone
    assert alive == []

    process = start(beside, random_model, *options)
    out, err = process.communicate(timeout=500)
    assert "started once more" not in err, err
    assert process.returncode == 0, err
    for arm in (GRPO, EGSW):
        assert outcome(beside, arm) == outcome(serial, arm)
    assert outcome(beside, GRPO)[0] != outcome(beside, EGSW)[0] != (random_model / "model.safetensors").read_bytes()
    assert out.replace(str(beside), "") == printed.replace(str(serial), "")  # the summary too


def test_a_failed_job_costs_the_others_nothing_and_a_killed_one_is_repeated(
    random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    words = [*SMALL, f"base_model={random_model}", "max_steps=12"]
    options = ("max_steps=12", f"arm={GRPO},{EGSW}", "launcher=local", "jobs=1")
    (first,) = prepare(*options_of([*words, f"arm={GRPO}"]), "rlvr run").jobs
    with locked(job_folder(first, model_fingerprint(random_model))):  # as if another process ran it
        process = start(tmp_path, random_model, *options, env={HOLD: "3"})  # resumed from there, it does not wait again
        wait_for(process, saved(tmp_path, EGSW, 3))
        os.kill(process.jobs[-1], signal.SIGKILL)  # as the kernel does when memory ends
        _, err = process.communicate(timeout=500)
    assert process.returncode == 1
    assert f"/{GRPO}/seed0: failed" in err and "is in use by another process" in err
    assert f"/{EGSW}/seed0: its process ended with SIGKILL" in err and "once more, from its last checkpoint" in err
    assert f"/{EGSW}/seed0: finished" in err
    (log,) = tmp_path.glob(f"egsw/tiny/*-{EGSW}-*/log.txt")
    assert "step 12/12" in log.read_text()
    again = start(tmp_path, random_model, *options)
    _, err = again.communicate(timeout=500)
    assert again.returncode == 0 and f"/{GRPO}/seed0: finished after" in err, err  # the error of before is gone


def ended(folder: Path) -> str:
    """How a job of a model that is nowhere ended, alone in a pool."""
    (job,) = resolve("egsw", arms=["grpo"], seeds=[0])
    machine = prepare("egsw", RunOptions(arm="grpo", seeds=1), "").hardware[job.model, job.arm]
    pool = local.Local([{}])
    pool.submit([Task(job, "model", machine, None, "", Watch(), folder, folder)])
    deadline = time.monotonic() + 60
    while (state := pool.states()[folder]) in ("waiting", "running"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return state


def test_a_job_is_a_python_of_its_own_whose_error_is_found_in_its_folder(tmp_path: Path) -> None:
    assert ended(tmp_path) == "its process ended with exit code 1"
    assert "model 'model': no such folder" in json.loads((tmp_path / ERROR).read_text())["error"]
    assert "Traceback" in (tmp_path / "log.txt").read_text()


def test_a_job_whose_process_is_killed_twice_has_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(task: Any, environment: Any) -> Any:
        return subprocess.Popen([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])

    monkeypatch.setattr(local, "start", start)
    state = ended(tmp_path)
    assert "SIGKILL" in state and "as the time before" in state
    assert "once more, from its beginning, as it had no checkpoint yet" in capsys.readouterr().err

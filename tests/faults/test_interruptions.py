"""Signals, and SIGKILL at chosen moments: the same command then ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.faults import CASES
from tests.faults.commands import RUN, SAVE_OFTEN, STEPS, Ended, at_step, ending, run, sends, when
from tests.faults.conftest import Undisturbed
from tests.forked import Command, is_stopped


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1"])
def test_a_first_signal_finishes_the_step_saves_and_exits_with_75(
    name: str, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    first = run(RUN, tmp_path / "h", meanwhile=at_step(2, sends(getattr(signal, name))))
    assert first.code == 75 and "Traceback" not in first.err, first
    assert f"stopped by {name} after step" in first.err
    next_step = int(first.err.split("after step ")[1].split()[0]) + 1
    again = run(RUN, tmp_path / "h")
    assert again.code == 0, again.err
    assert f"step 1/{STEPS}" not in again.err and f"step {next_step}/{STEPS}" in again.err
    assert ending(tmp_path / "h") == undisturbed.ending


def test_a_second_signal_stops_at_once(undisturbed: Undisturbed, tmp_path: Path) -> None:
    first = run(RUN, tmp_path / "h", meanwhile=at_step(1, sends(signal.SIGTERM, signal.SIGTERM)))
    assert first.code in (143, 75) and "Traceback" not in first.err, first
    assert run(RUN, tmp_path / "h").code == 0
    assert ending(tmp_path / "h") == undisturbed.ending


def test_a_signal_before_the_first_step_and_a_second_process_cost_nothing(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    home = tmp_path / "h"
    early = run(RUN, home, meanwhile=when(lambda process: "[1/1]" in process.err, sends(signal.SIGINT)))
    assert early.code == 75 and "the same command resumes there" in early.err, early
    second: list[Ended] = []

    def beside(process: Command) -> None:
        process.send_signal(signal.SIGSTOP)  # on a busy machine, it could end before the second process looks
        second.append(run(RUN, home))
        process.send_signal(signal.SIGCONT)

    first = run(RUN, home, meanwhile=at_step(2, beside))
    assert second[0].code == 2 and "in use by another process" in second[0].err, second
    assert first.code == 0, first
    assert ending(home) == undisturbed.ending


def test_checkpoints_are_also_saved_by_time(undisturbed: Undisturbed, tmp_path: Path) -> None:
    often = [*RUN, "hardware.save_minutes=0.0001"]  # save_every stays 50
    run(often, tmp_path / "h", meanwhile=at_step(4, sends(signal.SIGKILL)))
    again = run(often, tmp_path / "h")
    assert again.code == 0 and f"step 1/{STEPS}" not in again.err
    assert ending(tmp_path / "h") == undisturbed.ending


def test_two_processes_stop_and_resume_as_one(tmp_path: Path) -> None:
    """A scheduler signals all processes of a job at once."""
    two = [*RUN, "hardware.processes=2"]
    assert run(two, tmp_path / "whole").code == 0
    whole = ending(tmp_path / "whole")

    def every_process(process: Command) -> None:
        for pid in [process.pid, *descendants(process.pid)]:
            os.kill(pid, signal.SIGUSR1)

    for name, send in (("SIGTERM", sends(signal.SIGTERM)), ("SIGUSR1", every_process)):
        first = run(two, tmp_path / name, meanwhile=at_step(2, send))
        assert first.code == 75 and f"stopped by {name} after step" in first.err, first
        again = run(two, tmp_path / name)
        assert again.code == 0 and f"step 1/{STEPS}" not in again.err, again
        assert ending(tmp_path / name) == whole


def descendants(pid: int) -> list[int]:
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [process for child in children for process in (child, *descendants(child))]


def test_sigkill_before_each_write_loses_nothing(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """One run stops itself before each call that writes a file, and around each that sends to MLflow, while its folder
    is copied: a kill would leave the same files. The command then runs on each copy, in the original's place."""
    home, copies = tmp_path / "h", tmp_path / "copies"
    taken: list[str] = []

    def copy_each_time(process: Command) -> None:
        log = home / "moments.txt"
        while process.poll() is None:
            moments = log.read_text().splitlines() if log.exists() else []
            if len(moments) > len(taken) and is_stopped(process.pid):
                shutil.copytree(home, copies / str(len(taken)))
                taken.append(moments[-1])
                with suppress(ProcessLookupError):  # it may have ended: two threads can stop it at once
                    process.send_signal(signal.SIGCONT)
            time.sleep(0.002)

    assert run(SAVE_OFTEN, home, call=stop_at_each_write, meanwhile=copy_each_time).code == 0
    assert ending(home) == undisturbed.ending
    assert len(taken) > 50  # 148 in November 2026
    for number in sorted(random.Random(0).sample(range(len(taken)), min(CASES, len(taken)))):
        shutil.rmtree(home)
        shutil.copytree(copies / str(number), home)
        again = run(SAVE_OFTEN, home)
        assert again.code == 0, f"{taken[number]}: {again.err}"
        assert ending(home) == undisturbed.ending, taken[number]


def stop_at_each_write(arguments: list[str]) -> int:
    """The command, in a process that stops itself (SIGSTOP, all threads) at each call that writes."""
    import safetensors.torch
    import torch
    from mlflow import MlflowClient

    from rlvr.cli import main

    log = Path(os.environ["RLVR_HOME"]) / "moments.txt"
    writing = threading.Lock()  # the thread that delivers to MLflow writes too

    def stop(name: str) -> None:
        with writing:
            with log.open("a") as file:
                file.write(f"{name}\n")
            os.kill(os.getpid(), signal.SIGSTOP)

    def wrap(owner: Any, name: str, after: bool) -> None:
        call: Callable[..., Any] = getattr(owner, name)

        def stopping(*args: Any, **kwargs: Any) -> Any:
            path = next((Path(a).name for a in reversed(args) if isinstance(a, str | Path)), "")
            stop(f"before {name} {path}")
            result = call(*args, **kwargs)
            if after:
                stop(f"after {name} {path}")
            return result

        setattr(owner, name, stopping)

    for owner, name in (
        (os, "fsync"),
        (os, "replace"),
        (os, "rename"),
        (torch, "save"),
        (safetensors.torch, "save_file"),
    ):
        wrap(owner, name, after=False)
    sent = ("create_run", "delete_run", "log_batch", "log_artifact", "log_artifacts", "set_terminated", "update_run")
    for name in sent:
        wrap(MlflowClient, name, after=True)  # so that the answer is lost
    return main(arguments)

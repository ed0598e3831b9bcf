"""Trainings with veRL that are killed at a write, interrupted, or find a damaged checkpoint: the same command ends with
the weights and verdicts of a training that nothing disturbed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.needs_verl import need_verl

need_verl()

from evals.files import file_sha256, read_json  # noqa: E402
from harness.backends.verl.processes import members  # noqa: E402
from tests.damages import DAMAGES  # noqa: E402
from tests.forked import is_stopped  # noqa: E402
from tests.verl.runs import finish, session_of, start, steps, train_folder, wait_for  # noqa: E402

pytestmark = pytest.mark.timeout(7200)
SMALL = ("paper=egsw", "arm=grpo", "max_steps=4", "prompts_per_rollout=8", "hardware.save_every=1")
OPTIONS = (*SMALL, "protocol.benchmarks=[tiny_short]", "protocol.rows=4")
MOMENTS: dict[str, Callable[[Path], object]] = {  # in the folder train/: what has just been written
    "half a checkpoint": lambda train: [*train.glob("checkpoints/global_step_2/**/*.pt")],
    "a sealed checkpoint": lambda train: (train / "checkpoints/global_step_2/whole").exists(),
    "the last checkpoint": lambda train: (train / "checkpoints/global_step_4/whole").exists(),
    "a part of the final model": lambda train: (train / ".final.part").exists(),
    "the final model": lambda train: (train / "final").exists(),
    "the first samples": lambda train: [*train.parent.glob("eval/**/*.jsonl")],
}


def ending(home: Path) -> dict[str, str]:
    train = train_folder(home)
    assert train is not None
    assert sorted(steps(home)) == [1, 2, 3, 4]
    (verdicts,) = train.parent.glob("eval/*/verdicts.parquet")
    return {"weights": file_sha256(train / "final" / "model.safetensors"), "verdicts": file_sha256(verdicts)}


def copied_at_each_moment(run: subprocess.Popen[str], home: Path, copies: Path) -> list[str]:
    """Stop all processes of a run at each of `MOMENTS` that is seen, and copy its files: a SIGKILL leaves the same."""
    taken: list[str] = []
    while run.poll() is None:
        train = train_folder(home)
        for name in [n for n, written in MOMENTS.items() if n not in taken and train is not None and written(train)]:
            processes = [run.pid, *members(session_of(run))]
            signal_all(processes, signal.SIGSTOP)
            while not all(map(is_stopped, processes)):  # a write that has begun ends first
                time.sleep(0.01)
            shutil.copytree(home, copies / name)
            signal_all(processes, signal.SIGCONT)
            taken.append(name)
        time.sleep(0.01)
    return taken


def signal_all(processes: list[int], number: signal.Signals) -> None:
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def test_a_run_that_is_killed_or_damaged_ends_like_one_that_nothing_disturbed(tmp_path: Path) -> None:
    home, copies = tmp_path / "home", tmp_path / "copies"
    run = start(home, *OPTIONS)
    taken = copied_at_each_moment(run, home, copies)
    code, output = finish(run)
    assert code == 0, output
    whole = ending(home)
    assert {"half a checkpoint", "a sealed checkpoint", "the final model"} <= set(taken)
    for name in [*taken, "a damaged checkpoint"]:
        shutil.rmtree(home)
        shutil.copytree(copies / ("a sealed checkpoint" if name == "a damaged checkpoint" else name), home)
        if name == "a damaged checkpoint":
            (weights,) = home.glob("*/tiny/*/train/checkpoints/global_step_2/actor/model_*.pt")
            DAMAGES["a bit flipped"](weights, weights)
        code, output = finish(start(home, *OPTIONS))
        assert code == 0 and "Traceback" not in output, (name, output)
        assert ("global_step_2 cannot be used" in output) == (name == "a damaged checkpoint"), output
        assert ending(home) == whole, name

    stopped = start(home := tmp_path / "stopped", *OPTIONS)
    wait_for(lambda: len(steps(home)) >= 1, stopped)
    stopped.send_signal(signal.SIGTERM)
    code, output = finish(stopped)
    assert code == 75 and "stopped by SIGTERM after step" in output and "Traceback" not in output, output
    code, output = finish(start(home, *OPTIONS))
    assert code == 0 and "step 1/4" not in output, output
    assert ending(home) == whole
    train = train_folder(home)
    assert train is not None and read_json(train.parent / "run.json")["training"]["resumed_from"] is not None

"""Options, devices and what is shown, without starting anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.backends.trl.hardware import TrlHardware
from harness.errors import UsageError
from harness.jobs.pace import duration
from harness.launch.launcher import Launcher, take_launcher
from harness.launch.local import worker_environments
from harness.launch.view import Row, View, table


def test_launcher_options_are_taken_from_the_others() -> None:
    assert take_launcher({}) == Launcher("serial", 1, ())
    values = {"launcher": "local", "jobs": 3, "paper": "egsw"}
    assert take_launcher(values) == Launcher("local", 3, ("launcher", "jobs")) and values == {"paper": "egsw"}
    assert take_launcher({"launcher": "local"}).jobs == 2


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"launcher": "locale"}, "launcher=locale: no such launcher; did you mean 'local'?"),
        ({"launcher": "local", "jobs": 0}, "jobs: expected a whole number >= 1, got 0"),
        ({"launcher": "local", "jobs": "2"}, "jobs: expected int, got '2'"),
        ({"jobs": 2}, "expected launcher=local with it"),
    ],
)
def test_wrong_options_are_named(values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        take_launcher(values)
    assert said in str(raised.value)


def test_gpus_are_divided_and_never_shared() -> None:
    gpu = TrlHardware(device="gpu", processes=2)
    environments = worker_environments([gpu, TrlHardware(device="gpu")], 2, gpus=5, environ={})
    # two GPUs a job, the most that any needs: five make two pairs, and one stays idle
    assert [env["CUDA_VISIBLE_DEVICES"] for env in environments] == ["0,1", "2,3"]
    named = worker_environments([gpu], 2, gpus=4, environ={"CUDA_VISIBLE_DEVICES": "7,5,3,1"})
    assert [env["CUDA_VISIBLE_DEVICES"] for env in named] == ["7,5", "3,1"]
    with pytest.raises(UsageError, match="expected at most 2: a job needs 2 of the 5 GPUs here, got 3"):
        worker_environments([gpu], 3, gpus=5, environ={})


def test_on_a_cpu_no_job_gets_other_threads_than_alone() -> None:
    for env in worker_environments([TrlHardware(device="cpu")], 4, gpus=8, environ={"OMP_NUM_THREADS": "3"}):
        assert env["CUDA_VISIBLE_DEVICES"] == "" and "OMP_NUM_THREADS" not in env  # inherited


def row(tmp_path: Path) -> Row:
    return Row("math-7b/egsw/seed0", tmp_path, 10, state="running")


def log(folder: Path, step: int, cut: str = "") -> None:
    line = json.dumps({"step": step, "metrics": {"train/reward": 0.25, "train/entropy": 1.5}})
    (folder / "metrics.jsonl").write_text(line + "\n" + cut)


def test_the_time_left_follows_from_the_pace_of_this_launch(tmp_path: Path) -> None:
    job = row(tmp_path)
    job.read(0.0)
    assert job.text(0.0) == "training" and job.left(0.0) is None
    log(tmp_path, 4)  # of an earlier launch: no pace yet
    job.read(100.0)
    assert job.left(160.0) is None
    log(tmp_path, 6, cut='{"step": 7, "met')  # the next line is being written
    job.read(160.0)
    # 2 steps in 60 s, 4 are left: 120 s
    assert job.left(160.0) == 120.0
    for part in ("training", "step 6/10", "reward 0.250", "entropy 1.500", "2.0 min left"):
        assert part in job.text(160.0)
    log(tmp_path, 10)
    job.read(400.0)
    assert job.text(400.0).startswith("evaluating")


def test_durations_are_in_seconds_minutes_or_hours() -> None:
    assert [duration(s) for s in (0, 99, 100, 5399, 5400)] == ["0 s", "99 s", "1.7 min", "90.0 min", "1.5 h"]


def test_without_a_terminal_the_view_prints_plain_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    job = Row("egsw/seed0", tmp_path, 10)
    shown = View([job], clock=lambda: now[0])
    shown.started(str(tmp_path))
    log(tmp_path, 3)
    shown.refresh()  # too soon
    now[0] = 61.0
    shown.refresh()
    now[0] = 90.0
    shown.ended(str(tmp_path), "failed", "ValueError: no rows")
    started, running, failed = capsys.readouterr().err.splitlines()
    assert "started" in started and "step 3/10" in running and "failed after 90 s: ValueError: no rows" in failed


def test_the_lines_fit_a_terminal(tmp_path: Path) -> None:
    from io import StringIO

    from rich.console import Console

    log(tmp_path, 3)
    rows = [
        Row("qwen-math-7b/grpo_with_a_long_name+random_reward/seed10", tmp_path, 10, state="running", first=(1, 0.0)),
        Row("b", tmp_path / "b", None),
    ]
    rows[0].read(600.0)
    plain = Console(file=StringIO(), width=100)
    with plain.capture() as captured:
        plain.print(table(rows, 600.0))
    text = captured.get()
    assert "3/10" in text and "left" in text and "1 running, 1 waiting" in text
    many = [Row(str(i), tmp_path, None) for i in range(50)]
    many[7].state = "running"
    with plain.capture() as captured:
        plain.print(table(many, 0.0))
    assert "49 waiting, 1 running" in captured.get() and len(captured.get().splitlines()) < 6

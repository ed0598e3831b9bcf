"""Options, devices and what is shown, without starting anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.backends.trl.hardware import TrlHardware
from harness.errors import UsageError
from harness.jobs.pace import duration
from harness.launch.devices import worker_environments
from harness.launch.launcher import Launcher, launcher_alone, take_launcher
from harness.launch.view import Row, Table, View, progress, rendered


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


def test_a_batch_takes_nothing_else() -> None:
    with pytest.raises(UsageError, match="job"):
        launcher_alone({"launcher": "local", "job": 2})


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


def row(tmp_path: Path, **more: object) -> Row:
    return Row("math-7b/egsw/seed0", tmp_path, 10, state="running", **more)  # type: ignore[arg-type]


def log(folder: Path, step: int) -> None:
    (folder / "train").mkdir(exist_ok=True)
    line = json.dumps({"step": step, "metrics": {"train/reward": 0.25}})
    (folder / "train" / "metrics.jsonl").write_text(line + "\n")


def test_the_time_left_follows_from_the_pace_of_this_launch(tmp_path: Path) -> None:
    job = row(tmp_path)
    job.read(0.0)
    assert progress(job, 0.0) == "training" and job.eta(0.0) is None
    log(tmp_path, 4)  # of an earlier launch: no pace yet
    job.read(100.0)
    assert job.eta(160.0) is None
    log(tmp_path, 6)
    job.read(160.0)
    # 2 steps in 60 s, 4 are left: 120 s
    assert job.eta(160.0) == 120.0
    assert progress(job, 160.0) == "training, step 6/10, reward 0.250, 2.0 min left"
    log(tmp_path, 10)
    job.read(400.0)
    assert job.doing() == "evaluating"


def test_durations_are_in_seconds_minutes_or_hours() -> None:
    assert [duration(s) for s in (0, 99, 100, 5399, 5400)] == ["0 s", "99 s", "1.7 min", "90.0 min", "1.5 h"]


def test_without_a_terminal_the_view_prints_plain_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    job = Row("egsw/seed0", tmp_path, 10)
    shown = View([job], lambda: now[0])
    shown.started(str(tmp_path), 1)
    log(tmp_path, 3)
    shown.refresh()  # too soon
    now[0] = 61.0
    shown.refresh()
    now[0] = 90.0
    shown.ended(str(tmp_path), "failed", "ValueError: no rows")
    assert capsys.readouterr().err.splitlines() == [
        "[1/1] egsw/seed0: started by worker 2",
        "[1/1] egsw/seed0: training, step 3/10, reward 0.250",
        "[1/1] egsw/seed0: failed after 90 s: ValueError: no rows",
    ]


def test_the_table_fits_a_terminal(tmp_path: Path) -> None:
    from io import StringIO

    from rich.console import Console
    from rich.live import Live

    log(tmp_path, 3)
    out = StringIO()
    console = Console(file=out, width=80, force_terminal=True)
    rows = [
        Row("qwen-math-7b/grpo_with_a_long_name+random_reward/seed10", tmp_path, 10),
        Row("b", tmp_path / "b", None),
    ]
    with Live(console=console, auto_refresh=False) as live:
        Table(rows, live).started(str(tmp_path), 0)
    assert "3/10" in out.getvalue() and "1 running, 1 waiting" in out.getvalue()
    plain = Console(file=StringIO(), width=80)
    with plain.capture() as captured:
        plain.print(rendered(rows, 0.0))
    assert max(map(len, captured.get().splitlines())) <= 80
    many = [Row(str(i), tmp_path, None) for i in range(50)]
    many[7].state = "running"
    with plain.capture() as captured:
        plain.print(rendered(many, 0.0))
    assert "49 waiting, 1 running" in captured.get() and len(captured.get().splitlines()) < 6

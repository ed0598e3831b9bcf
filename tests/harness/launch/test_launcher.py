"""Options, devices and what is shown, without starting anything."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from evals.data.problem_file import ProblemFile
from evals.errors import RefusedError
from harness.backends.trl.hardware import TrlHardware
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.command.watch import Watch
from harness.errors import UsageError
from harness.launch.launcher import Launcher, launcher_of
from harness.launch.local import slot_environments
from harness.launch.prepare import _read, prepare
from harness.launch.slurm_parameters import executor
from harness.launch.task import Task, tasks_of
from harness.launch.view import View
from harness.plan import machine
from harness.plan.machine import check_sharing
from harness.plan.profiles import judge
from harness.record.state import ERROR, job_states, note_slurm
from harness.spec.host import given
from tests.hosts import WITHOUT_BFLOAT16


def test_launcher_options_are_read() -> None:
    assert launcher_of(RunOptions()) == Launcher("serial", 1)
    assert launcher_of(RunOptions(launcher="local", jobs=3)) == Launcher("local", 3)
    assert launcher_of(RunOptions.from_keys({"launcher": "local"})).jobs == 2


def test_jobs_of_one_gpu_share_cards_where_there_are_more_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (environment, *_) = same = slot_environments([TrlHardware(device="gpu")], 5, gpus=1)
    assert (
        environment["CUDA_VISIBLE_DEVICES"] == "0"
        and environment["RLVR_JOBS_ON_CARD"] == "5"
        and same == [environment] * 5
    )
    two = slot_environments([TrlHardware(device="gpu")], 5, gpus=2)  # three on one of them, so a third for each
    assert [(env["CUDA_VISIBLE_DEVICES"], env["RLVR_JOBS_ON_CARD"]) for env in two] == [
        ("0", "3"), ("1", "3"), ("0", "3"), ("1", "3"), ("0", "3")
    ]  # fmt: skip
    assert "RLVR_JOBS_ON_CARD" not in slot_environments([TrlHardware(device="gpu")], 2, gpus=2)[0]


def test_commands_that_share_a_card_are_each_planned_for_their_part(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"arm": ["grpo"], "seeds": 1, "scale": "small", "hardware": "h100", "max_completion_tokens": 384}
    monkeypatch.setenv("RLVR_JOBS_ON_CARD", "4")
    apart = _read("egsw", RunOptions.from_keys(values))
    monkeypatch.delenv("RLVR_JOBS_ON_CARD")
    together = _read("egsw", RunOptions.from_keys({**values, "seeds": 4, "launcher": "local", "jobs": 4}))
    assert apart.machine.on_a_card == 4
    assert apart.hardware == together.hardware != _read("egsw", RunOptions.from_keys(values)).hardware


def test_the_remedy_of_jobs_that_share_a_card_is_no_vllm() -> None:
    values = {"arm": ["egsw"], "seeds": 1, "scale": "small", "hardware": "h100", "max_completion_tokens": 384}
    (job,) = (prepared := _read("egsw", RunOptions.from_keys(values))).jobs
    assert job.experiment is not None
    settings = replace(prepared.machine.shared_by(4).settings_of(job), micro_batch=None)
    part = settings.card.memory / 4
    whole = judge(job.experiment, job.backend, settings, memory=part, shared=True).remedy
    assert "hardware.micro_batch=" in whole and "vllm" not in whole
    assert "vllm" in judge(job.experiment, job.backend, settings, memory=part).remedy
    few = judge(job.experiment, job.backend, replace(settings, micro_batch=1), memory=5e9, shared=True)
    assert few.remedy == "fewer jobs on a card"


def test_a_profile_plans_jobs_that_share_its_card_for_their_part_of_it() -> None:
    values = {"arm": ["grpo", "egsw"], "seeds": 2, "scale": "small", "launcher": "local", "hardware": "h100"}
    values["max_completion_tokens"] = 384
    alone = _read("egsw", RunOptions.from_keys({**values, "jobs": 1}))
    shared = _read("egsw", RunOptions.from_keys({**values, "jobs": 4}))
    assert (alone.machine.on_a_card, shared.machine.on_a_card) == (1, 4)
    assert all(isinstance(h, TrlHardware) and h.rollouts == "vllm_colocate" for h in alone.hardware.values())
    for job in shared.jobs:
        settings = shared.hardware[job.model, job.arm]
        assert isinstance(settings, TrlHardware) and job.experiment is not None
        assert (settings.engine, settings.rollouts) == ("transformers", "transformers")
        assert judge(job.experiment, job.backend, settings, memory=settings.card.memory / 4).fits


def test_vllm_is_refused_on_a_shared_card() -> None:
    (job,) = resolve("egsw", arms=["grpo"], seeds=[0])
    for settings, expected in (
        (TrlHardware(device="gpu", rollouts="vllm_colocate"), "hardware.rollouts=transformers"),
        (TrlHardware(device="gpu", engine="vllm"), "hardware.engine=transformers"),
    ):
        machines = {(job.model, job.arm): settings}
        check_sharing([job], machines, 2, 2)
        with pytest.raises(ValueError, match=rf"jobs=3: 2 jobs share a GPU.* expected {expected} with backend=trl"):
            check_sharing([job], machines, 3, 2)


def test_jobs_of_several_gpus_never_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpu = TrlHardware(device="gpu", processes=2)
    environments = slot_environments([gpu, TrlHardware(device="gpu")], 2, gpus=5)
    # two GPUs a job, the most that any needs: five make two pairs, and one stays idle
    assert [env["CUDA_VISIBLE_DEVICES"] for env in environments] == ["0,1", "2,3"]
    with pytest.raises(RefusedError, match="expected at most 2: a job needs 2 of the 5 GPUs here, got 3"):
        slot_environments([gpu], 3, gpus=5)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7,5,3,1")
    named = slot_environments([gpu], 2, gpus=4)
    assert [env["CUDA_VISIBLE_DEVICES"] for env in named] == ["7,5", "3,1"]


def test_no_more_jobs_at_once_than_the_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    values = {"arm": ["grpo", "egsw"], "seeds": 2, "launcher": "local", "jobs": 9, "hardware.device": "cpu"}
    options = RunOptions.from_keys(values)
    with given(WITHOUT_BFLOAT16):  # 64 GB
        assert (
            prepare("egsw", options, "").launcher.jobs == 4 and "at once" not in capsys.readouterr().err
        )  # the machine's memory holds four
    (job, *_), hardware = resolve("egsw", arms=["grpo"], seeds=[0]), TrlHardware(device="cpu")
    need = judge(job.experiment, job.backend, hardware, memory=1e15).need
    assert need is not None
    for room, fits in ((3.5, 3), (2.5, 2), (1.5, 1)):  # times what a job needs. Each at once has its share
        monkeypatch.setattr(machine, "device_memory", lambda _, slots, memory=room * need.peak: memory / slots)
        assert prepare("egsw", options, "").launcher.jobs == fits
        assert f"jobs=4: {fits} at once, as many as this machine's memory holds" in capsys.readouterr().err
    monkeypatch.setattr(machine, "device_memory", lambda _, slots: 0.5 * need.peak / slots)
    with pytest.raises(UsageError, match="needs about"):
        prepare("egsw", options, "")
    assert prepare("egsw", replace(options, force=True), "").launcher.jobs == 9


def test_real_models_on_gpus_without_hardware_are_told_of_auto(capsys: pytest.CaptureFixture[str]) -> None:
    for scale, advised in (("paper", True), ("tiny", False)):
        with given(replace(WITHOUT_BFLOAT16, gpus=1)):
            _read("egsw", RunOptions.from_keys({"arm": "grpo", "seeds": 1, "scale": scale}))
        assert ("hardware=auto chooses them" in capsys.readouterr().err) == advised


def test_on_a_cpu_no_job_gets_other_threads_than_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for env in slot_environments([TrlHardware(device="cpu")], 4, gpus=8):
        assert env["CUDA_VISIBLE_DEVICES"] == "" and "OMP_NUM_THREADS" not in env  # inherited


def display(tmp_path: Path, *, terminal: bool) -> tuple[View, Path, StringIO]:
    (job,) = resolve("egsw", arms=["grpo"], seeds=[0], overrides={"max_steps": 10})
    task = Task(job, "model", TrlHardware(), None, "rlvr run", Watch(), tmp_path, tmp_path)
    output = StringIO()
    return View([task], Console(file=output, force_terminal=terminal, width=120)), tmp_path, output


def test_starts_steps_and_ends_are_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    view, folder, _ = display(tmp_path, terminal=False)
    clock = iter((100.0, 100.0, 100.0, 110.0, 140.0, 140.0, 180.0, 180.0, 200.0))  # each is asked for
    monkeypatch.setattr("harness.launch.view.time", SimpleNamespace(monotonic=lambda: next(clock)))
    with view:
        view.shows(folder, "running")
        view.refresh()
        (folder / "metrics.jsonl").write_text('{"step": 4, "metrics": {"train/reward": 0.25}}\n')
        for _ in range(3):  # too early. A step. The same step
            view.refresh()
        view.ended(folder, "failed", "ValueError: no rows")
    started, step, failed = capsys.readouterr().err.splitlines()
    assert started == "[1/1] tiny/grpo/seed0: running" and step == "[1/1] tiny/grpo/seed0: step 4  reward 0.250"
    assert failed.startswith("[1/1] tiny/grpo/seed0: failed after ") and failed.endswith(" s: ValueError: no rows")


def test_a_terminal_shows_the_last_whole_step_of_each_running_job(tmp_path: Path) -> None:
    view, folder, output = display(tmp_path, terminal=True)
    line = json.dumps({"step": 4, "metrics": {"train/reward": 0.25}})
    (folder / "metrics.jsonl").write_text(line + '\n{"step": 5, "met')  # the next line is being written
    with view:
        view.shows(folder, "running")
        view.refresh()
    shown = output.getvalue()
    assert "4/10" in shown and "reward 0.250" in shown and "[1/1] tiny/grpo/seed0: running\n" in shown


def test_a_job_was_given_to_slurm_until_its_folder_says_otherwise(tmp_path: Path) -> None:
    folder = tmp_path / "egsw" / "tiny" / "job"
    folder.mkdir(parents=True)
    note_slurm(folder, "7_3")
    assert [s.state for s in job_states(tmp_path)] == ["submitted"]
    (folder / ERROR).write_text('{"error": "ValueError: no rows"}')
    assert [(s.state, s.error) for s in job_states(tmp_path)] == [("failed", "ValueError: no rows")]


def test_slurms_parameters_are_submitits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machines = [TrlHardware(device="gpu", processes=2), TrlHardware(threads=3)]
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="expected submitit and Slurm's commands"):
        executor(Launcher("slurm", None), machines)
    (tmp_path / "srun").touch(mode=0o755)
    options = {"partition": "gpu", "mem_gb": 64, "additional_parameters": {"nice": 10}}
    parameters = executor(Launcher("slurm", 4, options), machines)._executor.parameters
    wanted = {"partition": "gpu", "mem": "64GB", "cpus_per_task": 3, "gpus_per_node": 2, "array_parallelism": 4}
    assert {key: parameters[key] for key in wanted} == wanted
    assert parameters["additional_parameters"] == {"nice": 10} and parameters["time"] == 60
    with pytest.raises(ValueError, match="submitit refuses its parameters"):
        executor(Launcher("slurm", None, {"partitoin": "gpu"}), machines)


def test_another_process_knows_the_users_benchmarks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    rows = tmp_path / "fractions.jsonl"
    rows.write_text('{"question": "1/2 + 1/2?", "answer": "1"}\n')
    benchmark = f"{rows}?problem=question"
    values = {"arm": "base", "protocol.benchmarks": [benchmark], "launcher": "local", "hardware.device": "cpu"}
    (task,) = tasks_of(prepare("egsw", RunOptions.from_keys(values), ""))
    text = pickle.dumps(task)
    sent = pickle.loads(text)  # noqa: S301
    assert sent.job_run().folder == task.folder
    (name,) = sent.job.protocol.benchmarks.value
    assert (name, name.file) == ("fractions", ProblemFile(str(rows), {"problem": "question"}))
    rows.write_text('{"question": "1/2 + 1/2?", "answer": "2"}\n')
    with pytest.raises(RuntimeError, match="was changed since the launch"):
        pickle.loads(text).job_run()  # noqa: S301

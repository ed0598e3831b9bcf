"""A job that was given to a launcher waits for as long as the launcher is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.runs.launched import FILE, forget, launched, note
from harness.runs.state import ERROR, job_states
from rlvr import listing


def folder(home: Path, name: str) -> Path:
    made = home / "egsw" / "tiny" / name
    made.mkdir(parents=True)
    return made


def test_a_worker_waits_for_its_launcher_to_end(tmp_path: Path) -> None:
    job = folder(tmp_path, "math-7b-grpo-seed0")
    note(job, "local", "rlvr run paper=egsw")
    assert [s.state for s in job_states(tmp_path)] == ["waiting"]
    written = json.loads((job / FILE).read_text())
    (job / FILE).write_text(json.dumps({**written, "pid": 2**22 + 1}))  # above the largest process id
    assert [s.state for s in job_states(tmp_path)] == ["stopped"]
    (job / ERROR).write_text('{"error": "ValueError: no rows"}')
    assert [(s.state, s.error) for s in job_states(tmp_path)] == [("failed", "ValueError: no rows")]
    forget(job)
    assert launched(job) is None


def test_the_state_in_slurm_is_queried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        note(folder(tmp_path, f"job{number}"), "slurm", "rlvr run", f"7_{number}")
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    words = {"7_0": "PENDING", "7_1": "RUNNING", "7_2": "TIMEOUT"}
    monkeypatch.setattr("harness.launch.slurm.queue", lambda ids: words)
    states = listing.in_queue(job_states(tmp_path))
    assert [s.state for s in states] == ["waiting", "running", "stopped", "stopped"]
    assert [s.error for s in states] == [None, None, "Slurm ended it: TIMEOUT", "Slurm does not know it any more"]

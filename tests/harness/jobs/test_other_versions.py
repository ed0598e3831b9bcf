"""A job whose folder is new names the stopped runs of its arm and seed that do not go on in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.command.resolve import resolve
from harness.jobs.run import say_other_versions
from tests.harness.record.folders import finished, started


def test_stopped_runs_of_other_values_are_named_and_a_damaged_one_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (job,) = resolve("egsw", models=["math-7b"], arms=["grpo"], seeds=[0])
    stopped = started(tmp_path, arm="grpo", digest="11111111").folder
    damaged = started(tmp_path, arm="grpo", digest="22222222").folder
    (damaged / "run.json").write_text("{")
    finished(tmp_path, arm="grpo", digest="33333333")  # has its result, and nothing to go on
    started(tmp_path, arm="grpo", digest="44444444", seed=1)
    started(tmp_path, arm="egsw", digest="55555555")
    say_other_versions(job, stopped.with_name("tiny-grpo-00000000-00aabb-seed0"))
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"    begins anew: {stopped} is of other values, code or weights, and is kept"

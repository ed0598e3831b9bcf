"""Watching a driver: steps are handed on as they come, a failure says what the log says, a hung one is ended.

A small script takes the driver's place. `tests/verl` has the real one.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evals.files import write_text
from harness.backends.children import ORDER, read_order
from harness.backends.verl import PROMPT_NATS, launch
from harness.backends.verl.hardware import VerlHardware
from harness.backends.verl.order import Order
from tests.experiments import experiment

CPU = VerlHardware(device="cpu")
STEP = '{{"step": {0}, "total": 3, "metrics": {{"train/reward": 0.{0}}}}}\n'


def watch(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str, hardware: VerlHardware = CPU) -> list[Any]:
    """The lines that are handed on from a driver that runs `script` with the step file as `steps`."""
    head = "import sys, time\nfrom pathlib import Path\nsteps = Path(sys.argv[1]).with_name('steps.jsonl').open('a')\n"
    monkeypatch.setattr(launch, "DRIVER", (sys.executable, "-c", head + script))
    seen: list[Any] = []
    try:
        order = Order(experiment(), "m", folder, hardware, 0, 8, "boxed_last", 300, (0,))
        launch.run_driver(order, lambda *step: seen.append(step))
    finally:
        scratch = read_order(str(folder / ORDER)).scratch
        assert not scratch.exists()
    return seen


def test_steps_arrive_complete_and_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = [STEP.format(number) for number in (1, 2, 3)]
    script = "".join(
        f"steps.write({part!r}); steps.flush(); time.sleep(0.7)\n"
        for part in (lines[0], lines[1][:20], lines[1][20:] + lines[2])  # the second line comes in two pieces
    )
    seen = watch(monkeypatch, tmp_path, script)
    assert seen == [(n, 3, {"train/reward": n / 10}) for n in (1, 2, 3)]


@pytest.mark.parametrize(("first", "warning", "count"), [(1, "cannot read", 1), (1, None, 0), (2, "cannot read", 0)])
def test_a_model_that_cannot_read_its_prompts_is_named_once(
    first: int,
    warning: str | None,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_text(tmp_path / PROMPT_NATS, json.dumps({"record": {}, "warning": warning}))
    watch(monkeypatch, tmp_path, f"steps.write({STEP.format(first) + STEP.format(3)!r})\n")  # from 2: it was resumed
    assert capsys.readouterr().err.count("warning: cannot read") == count


def test_a_failure_quotes_the_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)exit code 1\..*No space left on device") as failure:
        watch(monkeypatch, tmp_path, "raise OSError(28, 'No space left on device')")
    assert str(tmp_path / launch.LOG) in str(failure.value)


def test_a_training_without_progress_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(RuntimeError, match=r"no step in 0\.02 minutes \(hardware\.stall_minutes\)"):
        watch(monkeypatch, tmp_path, "time.sleep(600)", VerlHardware(device="cpu", stall_minutes=0.02))
    assert time.monotonic() - started < 300


def test_steps_of_an_earlier_attempt_are_not_reported_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "steps.jsonl").write_text(STEP.format(1))
    assert watch(monkeypatch, tmp_path, "") == []

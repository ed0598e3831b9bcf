"""Two processes of FSDP on gloo give the loss and the gradient of one, for every method."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs_verl import need_verl

need_verl()

from harness.spec import Method  # noqa: E402
from tests.harness.cases import CASES  # noqa: E402
from tests.parity.rows import VERL  # noqa: E402


def test_two_processes_take_the_step_of_one(tmp_path: Path) -> None:
    from tests.experiments import save_random_model

    model = save_random_model(tmp_path / "model")
    script = str(Path(__file__).with_name("two_processes.py"))
    by_processes = {}
    for processes in (1, 2):
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
        command = [*torchrun, "-m", "tests.parity.two_processes", str(model), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(script).parents[2], check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        by_processes[processes] = json.loads((tmp_path / f"{processes}.json").read_text())
    assert by_processes[1].keys() == by_processes[2].keys() == set(VERL)
    for name, metrics in by_processes[1].items():
        method: Method = CASES[name].method
        if method.looks_at_micro_batches:
            continue  # a statistic of each forward pass: which sequences share one depends on the processes
        for key, value in metrics.items():
            assert by_processes[2][name][key] == pytest.approx(value, rel=1e-5, abs=1e-8), (name, key)

"""Two processes give loss, gradient and metrics of one: statistics cover the whole step; lengths differ by process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.experiments import save_random_model
from tests.harness.backends.test_trl_trainer import assert_close, declared_with, measured_by_hand, rollout, slow
from tests.harness.cases import CASES

STEP = Path(__file__).with_name("distributed_step.py")


# a softmax over the batch; and a random draw, which has to be the same one in both processes
@pytest.mark.parametrize("name", ["egsw-step", "entropy_advantage on dapo with clip_cov"])
def test_two_processes_equal_the_slow_computation(name: str, tmp_path: Path) -> None:
    model_dir = save_random_model(tmp_path / "model")
    out = tmp_path / "step.pt"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    environment = {**os.environ, "PYTHONPATH": str(STEP.parents[3]), "OMP_NUM_THREADS": "1"}
    environment |= {"ACCELERATE_USE_CPU": "true", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [*command, str(STEP), str(model_dir), name, str(out)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    got = torch.load(out)
    declared = declared_with(CASES[name])
    from transformers import AutoConfig

    fixed = rollout(AutoConfig.from_pretrained(model_dir).vocab_size)
    loss, gradient = slow(declared, CASES[name], model_dir, fixed)
    assert got["loss"] == pytest.approx(loss, rel=1e-5)
    assert_close(got["gradient"], gradient)
    assert got["metrics"] == measured_by_hand(model_dir, fixed)

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
METHODS = ["egsw-step", "entropy_advantage on dapo with clip_cov"]


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model and of what two processes made of it, method by method, in one start."""
    folder = tmp_path_factory.mktemp("distributed")
    model_dir = save_random_model(folder / "model")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    environment = {**os.environ, "PYTHONPATH": str(STEP.parents[3]), "OMP_NUM_THREADS": "1"}
    environment |= {"ACCELERATE_USE_CPU": "true", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [*command, str(STEP), str(model_dir), str(folder), *METHODS],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.parametrize("name", METHODS)
def test_two_processes_equal_the_slow_computation(name: str, steps: Path) -> None:
    got = torch.load(steps / f"{METHODS.index(name)}.pt")
    declared, model_dir = declared_with(CASES[name]), steps / "model"
    from transformers import AutoConfig

    fixed = rollout(AutoConfig.from_pretrained(model_dir).vocab_size)
    loss, gradient = slow(declared, CASES[name], model_dir, fixed)
    assert got["loss"] == pytest.approx(loss, rel=1e-5)
    assert_close(got["gradient"], gradient)
    assert got["metrics"] == measured_by_hand(model_dir, fixed)

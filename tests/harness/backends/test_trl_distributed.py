"""Two processes give loss, gradient and metrics of one: statistics cover the whole step. Lengths differ by process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from tests.experiments import save_random_model
from tests.forked import Command
from tests.harness.backends.distributed_step import main
from tests.harness.backends.test_trl_trainer import assert_close, declared_with, measured_by_hand, rollout, slow
from tests.harness.cases import CASES

pytestmark = pytest.mark.slow

# a softmax over the batch, and a random draw, which has to be the same one in both processes
METHODS = ["egsw-step", "entropy_advantage on dapo with clip_cov"]


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model and of what two processes made of it, method by method."""
    folder = tmp_path_factory.mktemp("distributed")
    model_dir = save_random_model(folder / "model")
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "GLOO_SOCKET_IFNAME": "lo"}
    environment |= {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}
    started = [
        Command([str(model_dir), str(folder), *METHODS], {**environment, "RANK": rank, "LOCAL_RANK": rank}, main)
        for rank in ("0", "1")
    ]
    for process in started:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err[-3000:]
    return folder


@pytest.mark.parametrize("name", METHODS)
def test_two_processes_equal_the_slow_computation(name: str, steps: Path) -> None:
    got = torch.load(steps / f"{METHODS.index(name)}.pt")
    declared, model_dir = declared_with(CASES[name]), steps / "model"
    from transformers import AutoConfig

    fixed = rollout(AutoConfig.from_pretrained(model_dir).vocab_size, declared)
    loss, gradient = slow(declared, CASES[name], model_dir, fixed)
    assert got["loss"] == pytest.approx(loss, rel=1e-5)
    assert_close(got["gradient"], gradient)
    # the penalty for long responses tells the last group's apart, whose lengths are 2, 6, 1 and 4
    equal = 0.0 if declared.method.rewards else 1 / 3
    assert got["metrics"] == measured_by_hand(model_dir, fixed, equal)

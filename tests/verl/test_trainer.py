"""A method in veRL's trainer gets the forward passes of a process, and the signals that it reads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.needs_verl import need_verl

need_verl()

from harness.backends.verl.hardware import VerlHardware  # noqa: E402
from harness.backends.verl.trainer import MethodTrainer  # noqa: E402


def trainer_of(**order: Any) -> Any:
    made = MethodTrainer.__new__(MethodTrainer)
    made.order = SimpleNamespace(**order)
    return made


def test_processes_that_share_a_sequence_hold_the_same_forward_passes() -> None:
    """64 sequences on 4 processes, of which 2 share each: 32 a process, in passes of 16."""
    hardware = VerlHardware(device="gpu", processes=4, sequence_parallel=2, micro_batch=16)
    passes = trainer_of(hardware=hardware)._micro_batches(64).tolist()
    assert passes == ([0] * 16 + [1] * 16) * 2
    assert trainer_of(hardware=VerlHardware(device="gpu", tokens_per_gpu=4096))._micro_batches(64) is None


@pytest.mark.parametrize("signal", ["logp", "entropies", "pi_squared", "old_entropies"])
def test_a_method_that_reads_one_signal_of_the_policy_gets_it_in_every_update(signal: str) -> None:
    experiment = SimpleNamespace(method=SimpleNamespace(reads=frozenset({signal})), entropy_search=None)
    assert trainer_of(experiment=experiment)._reads_policy()
    experiment.method.reads = frozenset({"rollout_logp"})
    assert not trainer_of(experiment=experiment)._reads_policy()

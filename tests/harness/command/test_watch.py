"""Evaluation while training: what a command line may ask for, and which snapshots stay."""

from __future__ import annotations

import pytest

from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.command.watch import Watch, check_watch, due, watch_of


def test_snapshots_are_saved_for_evaluations_and_for_keeping() -> None:
    assert watch_of(RunOptions()).snapshot_every is None
    assert watch_of(RunOptions.from_keys({"eval.every": 10})).snapshot_every == 10
    assert watch_of(RunOptions.from_keys({"keep": 25})).snapshot_every == 25
    assert watch_of(RunOptions.from_keys({"eval.every": 10, "keep": 25})).snapshot_every == 5  # gcd(10, 25)


def test_the_protocol_is_the_jobs_but_for_its_own_values() -> None:
    (job,) = resolve("egsw", arms=["grpo"], seeds=[0])
    watch = watch_of(
        RunOptions.from_keys({"eval.every": 2, "eval.n": 4, "eval.ks": [1, 4], "eval.benchmarks": ["tiny_short"]})
    )
    protocol = watch.protocol(job.protocol)
    assert (protocol.n.value, protocol.benchmarks.value) == (4, ("tiny_short",))
    assert protocol.temperature == job.protocol.temperature
    with pytest.raises(ValueError, match="n=0"):
        check_watch(Watch(2, {"n": 0}), [job])


@pytest.mark.parametrize("option", ["keep", "eval.every"])
def test_a_training_of_rounds_refuses_the_option_that_was_typed(option: str) -> None:
    (job,) = resolve("trial_and_error", arms=["rft"], seeds=[0])
    with pytest.raises(ValueError, match=rf"^{option}: \S+/rft trains in rounds"):
        check_watch(watch_of(RunOptions.from_keys({option: 5})), [job])


def test_a_backend_that_saves_after_whole_rollouts_measures_the_first_step_since_a_multiple() -> None:
    # 16 updates a rollout, every 24: 24 is in the rollout that ends at 32, 48 in that at 48, 72 in that at 80
    assert [step for step in range(16, 97, 16) if due(step, 24, 16)] == [32, 48, 80, 96]
    assert [step for step in range(1, 11) if due(step, 5, 1)] == [5, 10]
    assert [step for step in (16, 32, 48, 64, 80) if due(step, 40, 16)] == [48, 80]

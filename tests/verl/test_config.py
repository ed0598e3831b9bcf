"""The dry run: veRL's whole configuration of every paper at the paper's size, checked by veRL's own schema."""

from __future__ import annotations

import pytest
import yaml

from harness.command.options import RunOptions
from tests.needs_verl import need_verl

need_verl()

from harness.backends import refusals  # noqa: E402
from harness.backends.verl.hardware import VerlHardware  # noqa: E402
from harness.backends.verl.schema import compose, validate  # noqa: E402
from harness.command.resolve import resolve  # noqa: E402
from harness.plan.machine import machine_of  # noqa: E402
from harness.plan.plan import trainer_configs  # noqa: E402
from harness.plan.profiles import PROFILES  # noqa: E402
from harness.spec import Experiment  # noqa: E402
from harness.spec.catalogue import papers  # noqa: E402
from rlvr.cli import main  # noqa: E402

GPUS = VerlHardware(device="gpu", processes=8)


@pytest.mark.parametrize("paper", papers())
def test_verl_accepts_every_arm_that_is_not_refused(paper: str) -> None:
    jobs = resolve(paper, models=None, arms=None, scale="paper", backend="verl", seeds=[0], overrides={})
    refused = refusals(jobs, GPUS)
    trained = {(j.model, j.arm): j.experiment for j in jobs if isinstance(j.experiment, Experiment)}
    expected = trained.keys() - refused.keys()
    configs = trainer_configs([job for job in jobs if (job.model, job.arm) in expected], GPUS)
    assert configs.keys() == {f"{model}/{arm}" for model, arm in expected}
    assert bool(configs) == (paper != "erpo")  # whose arms train LoRA
    for model, arm in expected:
        e, config = trained[model, arm], configs[f"{model}/{arm}"]
        assert config["trainer"]["n_gpus_per_node"] == 8
        assert config["data"]["max_response_length"] == e.max_completion_tokens.value
        assert config["actor_rollout_ref"]["rollout"]["n"] == e.group_size.value
        assert config["actor_rollout_ref"]["actor"]["optim"]["lr"] == e.learning_rate.value


@pytest.mark.parametrize("profile", PROFILES)
def test_verl_accepts_what_each_profile_chooses(profile: str) -> None:
    for paper in papers():
        jobs = resolve(paper, scale="paper", backend="verl", seeds=[0])
        machines = machine_of(RunOptions.from_keys({"hardware": profile, "backend": "verl"})).by_arm(jobs)
        refused = refusals(jobs, machines)
        first = {job.model: job for job in jobs if job.experiment is not None and (job.model, job.arm) not in refused}
        for name, config in trainer_configs(first.values(), machines).items():
            chosen = machines[first[name.partition("/")[0]].model, name.partition("/")[2]]
            assert config["trainer"]["nnodes"] == PROFILES[profile].nodes
            assert config["actor_rollout_ref"]["actor"]["fsdp_config"]["param_offload"] == chosen.offload
            parallel = config["actor_rollout_ref"]["actor"]["fsdp_config"]["ulysses_sequence_parallel_size"]
            assert parallel == chosen.sequence_parallel


def test_stdout_holds_the_configuration_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "paper=egsw", "arm=egsw", "model=math-7b", "backend=verl", "scale=paper"]) == 0
    assert list(yaml.safe_load(capsys.readouterr().out)) == ["math-7b/egsw"]


def test_the_defaults_that_others_start_from_stay_as_they_are() -> None:
    assert compose({"trainer.nnodes": 7}).trainer.nnodes == 7
    assert compose({}).trainer.nnodes == 1


def test_a_key_and_a_value_that_verl_does_not_know_are_errors() -> None:
    with pytest.raises(ValueError, match=r"no 'trainer\.nodes'"):
        compose({"trainer.nodes": 2})
    with pytest.raises(AssertionError, match=r"train_batch_size \(4\) must be divisible by .* \(8\)"):
        validate(compose({"data.train_batch_size": 4, "trainer.n_gpus_per_node": 8}))

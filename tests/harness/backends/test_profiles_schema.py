"""TRL's and transformers' own classes take what a machine profile chooses (veRL's: tests/verl/test_config.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.backends import refusals
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.translate import to_grpo_config
from harness.backends.trl.translate_sft import to_sft_config
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.plan.machine import machine_of
from harness.plan.profiles import PROFILES
from harness.spec import Experiment, catalogue


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of 8 GPUs to what the classes ask of the machine that they run on."""
    import transformers.training_args as arguments

    monkeypatch.setattr(arguments, "is_torch_bf16_gpu_available", lambda: True)
    monkeypatch.setattr(arguments.TrainingArguments, "world_size", property(lambda self: 8))


def deepspeed_config(file: str) -> Any:
    """A DeepSpeed file as transformers reads it: its own class on accelerate's, which it only has where DeepSpeed is
    installed."""
    from accelerate.utils.deepspeed import HfDeepSpeedConfig
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    methods = {key: value for key, value in vars(HfTrainerDeepSpeedConfig).items() if not key.startswith("__")}
    config = type("Config", (HfDeepSpeedConfig,), methods)(file)
    config._dtype, config.mismatches = None, []
    return config


def configuration(training: Any, hardware: TrlHardware) -> dict[str, Any]:
    translate: Any = to_grpo_config if isinstance(training, Experiment) else to_sft_config
    arguments: dict[str, Any] = translate(training, hardware, seed=0, out_dir=Path("out"))
    return arguments


@pytest.mark.usefixtures("gpus")
def test_trl_accepts_what_each_profile_chooses() -> None:
    from trl import GRPOConfig, SFTConfig

    seen = set()
    machines_of_one_node = {name for name, settings in PROFILES.items() if settings.nodes == 1}
    for profile in sorted(machines_of_one_node):
        for paper in catalogue.papers():
            jobs = resolve(paper, scale="paper", backend="trl", seeds=[0])
            machines = machine_of(RunOptions.from_keys({"hardware": profile})).by_arm(jobs)
            refused = refusals(jobs, machines)
            for job in jobs:
                key = (job.model, job.arm)
                if job.experiment is None or key in refused:
                    continue
                arguments = configuration(job.experiment, machines[key])
                file = arguments.pop("deepspeed")
                kind = (profile, paper, job.model, file, arguments["per_device_train_batch_size"])
                if kind in seen:  # arms of one recipe: the same configuration but for the method
                    continue
                seen.add(kind)
                config = (GRPOConfig if isinstance(job.experiment, Experiment) else SFTConfig)(**arguments)
                if file is not None:
                    filled = deepspeed_config(file)
                    filled.trainer_config_process(config)
                    assert filled.mismatches == [], (kind, filled.mismatches)
                    assert filled.is_zero3() == (machines[key].zero_stage == 3)
                    assert filled.get_value("bf16.enabled") is True and filled.get_value("fp16.enabled") is False
    assert {kind[0] for kind in seen} == machines_of_one_node and len(seen) >= 12
    assert any(kind[3] for kind in seen)  # some of them shard


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("name", ["zero2", "zero3", "zero3_offload"])
def test_a_shipped_deepspeed_file_has_no_placeholder_left(name: str) -> None:
    from trl import GRPOConfig

    (job,) = resolve("egsw", scale="paper", models=["math-7b"], arms=["grpo"], seeds=[0])
    hardware = TrlHardware(device="gpu", processes=8, deepspeed=name, micro_batch=2, gradient_checkpointing=True)
    arguments = configuration(job.experiment, hardware)
    filled = deepspeed_config(arguments.pop("deepspeed"))
    config = GRPOConfig(**arguments)
    filled.trainer_config_process(config)

    class Model:
        class config:
            hidden_size = 3584

    filled.trainer_config_finalize(config, Model(), 66)
    assert "auto" not in str(filled.config)
    # 128 prompts of 7 responses are 896 sequences of one update: 8 processes with 2 at a time, 56 times
    assert filled.config["train_batch_size"] == 896
    assert filled.config["data_types"] == {"grad_accum_dtype": "fp32"}  # 56 sums in bfloat16 would lose small gradients
    assert filled.config["train_micro_batch_size_per_gpu"] == 2 and filled.config["gradient_accumulation_steps"] == 56

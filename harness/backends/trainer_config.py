"""Each arm's complete backend configuration, validated by the backend's own schema. A dry run: starts nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.spec import Experiment
from harness.spec.hardware import Hardware, of_job
from harness.spec.job import Job

OUT_DIR = Path("OUT_DIR")  # a placeholder for the folder of the run


def trainer_configs(
    jobs: Iterable[Job], hardware: Hardware | Mapping[tuple[str, str], Hardware]
) -> dict[str, dict[str, Any]]:
    """model/arm -> the trainer's configuration; veRL's includes every default.

    Arms without reinforcement learning have none. Does not read the data: `dataset_rows` gives the number of rows.

    Raises:
        CannotExpress: the backend has no way to train an arm. ValueError: veRL refuses it, or is not installed.
    """
    configs: dict[str, dict[str, Any]] = {}
    for job in jobs:
        name = f"{job.model}/{job.arm}"
        if isinstance(job.experiment, Experiment) and name not in configs:
            configs[name] = (_verl if job.backend == "verl" else _trl)(
                job, job.experiment, of_job(hardware, job.model, job.arm)
            )
    return configs


def _trl(job: Job, experiment: Experiment, hardware: Hardware) -> dict[str, Any]:
    from harness.backends.trl.common import to_lora_config
    from harness.backends.trl.translate import to_grpo_config

    config = to_grpo_config(experiment, hardware, seed=job.seed, out_dir=OUT_DIR)
    return {"GRPOConfig": config, "LoraConfig": to_lora_config(experiment)}


def _verl(job: Job, experiment: Experiment, hardware: Hardware) -> dict[str, Any]:
    from omegaconf import OmegaConf

    from evals.data import prompts
    from harness.backends.verl.launch import installed
    from harness.backends.verl.schema import compose, validate
    from harness.backends.verl.translate import to_verl_config

    installed(hardware)
    values = to_verl_config(
        experiment,
        hardware,
        base_model=experiment.base_model.value,
        rows=experiment.dataset_rows.value,
        policy=prompts.get(experiment.prompt.value).policy,
        seed=job.seed,
        out_dir=OUT_DIR,
    )
    config = compose(values)
    validate(config)
    container = OmegaConf.to_container(config, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}

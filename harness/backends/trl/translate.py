"""An experiment -> the arguments of TRL 1.16's GRPOConfig. Pure; imports neither TRL nor torch.

The loss is ours (`harness.step.loss`, called by `trainer.MethodTrainer`): TRL's loss cannot weight the KL term, does
not see a whole group when micro-batches split it, and fixes the advantage's epsilon at 1e-4. This file sets every TRL
default that could change the mathematics by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.backends.common import needs_gpu, needs_reference, whole_update
from harness.backends.errors import CannotExpress
from harness.backends.trl.common import trainer_arguments
from harness.backends.trl.hardware import TrlHardware
from harness.spec import Experiment
from harness.step.rewards import GROUP_REWARDS


@dataclass(frozen=True)
class Batching:
    """How one rollout is cut: counts of sequences over the whole machine, except `micro_batch` (per process)."""

    rollout: int  # sequences sampled before each round of updates
    update: int  # sequences of one optimiser step
    micro_batch: int  # sequences of one forward pass of one process
    accumulation: int  # forward passes of one process in an optimiser step


def batching(experiment: Experiment, hardware: TrlHardware) -> Batching:
    """Cut a rollout into updates and micro-batches so that every update holds whole prompt groups.

    Raises:
        ValueError: the counts do not divide (the key, its value and what was expected are named).
    """
    rollout = experiment.prompts_per_rollout.value * experiment.group_size.value
    update = rollout // experiment.updates_per_rollout.value
    per_process, rest = divmod(update, hardware.processes)
    if rest:
        raise ValueError(
            f"hardware.processes: expected a divisor of the {update} sequences of an update, got {hardware.processes}"
        )
    if experiment.updates_per_rollout.value > 1 and per_process % experiment.group_size.value:
        raise ValueError(
            f"hardware.processes: with updates_per_rollout={experiment.updates_per_rollout.value} each process must "
            f"hold whole groups of {experiment.group_size.value}, got {per_process} sequences on each of "
            f"{hardware.processes}"
        )
    micro = hardware.micro_batch or per_process
    if per_process % micro:
        raise ValueError(
            f"hardware.micro_batch: expected a divisor of the {per_process} sequences that a process holds of an "
            f"update, got {micro}"
        )
    return Batching(rollout, update, micro, per_process // micro)


# TRL's own loss is not used; these keep it from adding terms
_LOSS_NOT_USED = {
    "multi_objective_aggregation": "sum_then_normalize",
    "scale_rewards": "none",
    "loss_type": "dapo",
    "epsilon": 0.2,
    "epsilon_high": 0.2,
    "delta": None,
    "importance_sampling_level": "token",
    "mask_truncated_completions": False,
    "top_entropy_quantile": 1.0,
    "entropy_coef": 0.0,
    "use_adaptive_entropy": False,
    "off_policy_mask_threshold": None,
    "use_bias_correction_kl": False,
}


def to_grpo_config(experiment: Experiment, hardware: TrlHardware, *, seed: int, out_dir: Path) -> dict[str, Any]:
    """Keyword arguments for `trl.GRPOConfig`.

    Raises:
        CannotExpress: a value that TRL has no way to train with. ValueError: the batch cannot be cut.
    """
    _check_expressible(experiment, hardware)
    e = {key: sourced.value for key, sourced in experiment.settings().items()}
    cut = batching(experiment, hardware)
    if set(e["rewards"]) & set(GROUP_REWARDS) and cut.rollout // hardware.processes % e["group_size"]:
        raise ValueError(
            f"hardware.processes: with a reward that compares the responses of a group ({e['rewards']}) each process "
            f"must hold whole groups of {e['group_size']}, got {hardware.processes} for {cut.rollout} sequences"
        )
    return {
        **trainer_arguments(experiment, hardware, seed=seed, out_dir=out_dir),
        "per_device_train_batch_size": cut.micro_batch,
        "gradient_accumulation_steps": cut.accumulation,
        "steps_per_generation": cut.accumulation * e["updates_per_rollout"],
        "num_iterations": 1,
        "disable_dropout": True,
        "cast_lm_head_to_fp32": e["head_precision"] == "float32",
        # the rollout
        "num_generations": e["group_size"],
        "temperature": e["rollout_temperature"],
        "top_p": e["rollout_top_p"],
        "top_k": 0,
        "min_p": None,
        "repetition_penalty": 1.0,
        "max_completion_length": e["max_completion_tokens"],
        "shuffle_dataset": True,
        "beta": 1.0 if needs_reference(experiment) else 0.0,  # not 0: TRL computes the reference's signals
        "reward_weights": list(e["reward_weights"]),
        **_LOSS_NOT_USED,
        "sync_ref_model": e["reference_reset_every"] is not None,
        "ref_model_sync_steps": e["reference_reset_every"] or 512,
        "ref_model_mixup_alpha": 1.0,  # a reset copies the policy whole
        "vllm_importance_sampling_correction": False,
        # the sampler
        "use_vllm": hardware.rollouts != "transformers",
        "vllm_mode": "server" if hardware.rollouts == "vllm_server" else "colocate",
        "vllm_server_base_url": hardware.vllm_server_url,
        "vllm_gpu_memory_utilization": hardware.vllm_gpu_memory,
        "vllm_tensor_parallel_size": hardware.vllm_tensor_parallel,
        # else vLLM reserves a cache for the model's own context, or cuts a response at it without a word
        "vllm_max_model_length": e["max_prompt_tokens"] + e["max_completion_tokens"],
        "vllm_enable_sleep_mode": hardware.vllm_sleep,
        # checkpoints only at the end of a rollout, because TRL does not save the one in progress
        "save_steps": hardware.save_every * e["updates_per_rollout"],
    }


def _check_expressible(experiment: Experiment, hardware: TrlHardware) -> None:
    """
    Raises:
        CannotExpress, ValueError: a value that TRL has no way to train with.
    """
    for key, why in _UNSUPPORTED.items():
        sourced = experiment.settings()[key]
        if sourced.value:
            raise CannotExpress("TRL 1.16", key, sourced, why)
    whole_update("TRL 1.16", experiment)
    if experiment.lora_rank.value is not None and experiment.reference_reset_every.value is not None:
        raise CannotExpress(
            "TRL 1.16", "reference_reset_every", experiment.reference_reset_every, "with LoRA the reference is the base"
        )
    if hardware.deepspeed and experiment.reference_reset_every.value is not None:
        raise CannotExpress(
            "TRL 1.16",
            "reference_reset_every",
            experiment.reference_reset_every,
            "DeepSpeed shards the reference's weights, and its checkpoints do not hold them",
        )
    needs_gpu(experiment, hardware)
    for equation in experiment.method.uses():
        if "rollout_logp" in equation.reads and hardware.rollouts == "transformers":
            key, sourced = next(iter(equation.values.items()))
            raise CannotExpress(
                "TRL 1.16",
                f"{equation.name}.{key}",
                sourced,
                "hardware.rollouts: expected vllm_colocate or vllm_server with a method that reads the sampler's own "
                "log-probabilities, got 'transformers', where the trainer samples",
            )


_UNSUPPORTED = {
    "critic": "it has no trainer with a critic (PPO); use backend=verl",
    "dynamic_sampling": "it cannot resample groups whose rewards are all equal; use backend=verl",
}

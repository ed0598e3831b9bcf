"""An experiment -> the arguments of TRL 1.16's GRPOConfig. Pure. Imports neither TRL nor torch.

The loss is ours (`harness.step.loss`, called by `trainer.MethodTrainer`): TRL's loss cannot weight the KL term, does
not see a whole group when micro-batches split it, and fixes the advantage's epsilon at 1e-4. This file sets every TRL
default that could change the mathematics by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evals.data import prompts
from harness.backends.common import cut_update, is_self_taught, needs_gpu, needs_reference, whole_update
from harness.backends.errors import CannotExpress
from harness.backends.trl.common import trainer_arguments
from harness.backends.trl.hardware import TrlHardware
from harness.errors import UsageError
from harness.spec import Experiment
from harness.step.rewards import GROUP_REWARDS
from harness.step.step_metrics import OUTCOMES

NAME = "TRL 1.16"
# TRL's own loss is not used. These keep it from adding terms
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


def to_grpo_config(
    experiment: Experiment, hardware: TrlHardware, *, seed: int, out_dir: Path, rows: int | None = None
) -> dict[str, object]:
    """Keyword arguments for `trl.GRPOConfig`.

    Args:
        rows: training rows. None: those that are declared.
    Raises:
        CannotExpress: a value that TRL has no way to train with. ValueError: the batch cannot be cut.
    """
    _check_expressible(experiment, hardware)
    e: dict[str, Any] = {key: sourced.value for key, sourced in experiment.settings().items()}
    stop = prompts.get(e["prompt"]).stop
    rollout = e["prompts_per_rollout"] * e["group_size"]
    share, micro_batch = cut_update(rollout // e["updates_per_rollout"], hardware)
    if e["updates_per_rollout"] > 1 and share % e["group_size"]:
        raise UsageError(
            f"hardware.processes: with updates_per_rollout={e['updates_per_rollout']} each process must hold whole "
            f"groups of {e['group_size']}, got {share} sequences on each of {hardware.processes}"
        )
    if set(e["rewards"]) & set(GROUP_REWARDS) and rollout // hardware.processes % e["group_size"]:
        raise UsageError(
            f"hardware.processes: with a reward that compares the responses of a group ({e['rewards']}) each process "
            f"must hold whole groups of {e['group_size']}, got {hardware.processes} for {rollout} sequences"
        )
    return {
        **trainer_arguments(experiment, hardware, seed=seed, out_dir=out_dir, rows=rows),
        "per_device_train_batch_size": micro_batch,
        "gradient_accumulation_steps": share // micro_batch,
        "steps_per_generation": share // micro_batch * e["updates_per_rollout"],
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
        # not 0: TRL computes the signals of a reference that is another model
        "beta": 1.0 if needs_reference(experiment) and not is_self_taught(experiment) else 0.0,
        "reward_weights": list(e["reward_weights"]),
        **_LOSS_NOT_USED,
        "sync_ref_model": e["reference_reset_every"] is not None,
        "ref_model_sync_steps": e["reference_reset_every"] or 512,
        "ref_model_mixup_alpha": 1.0,  # a reset copies the policy whole
        "vllm_importance_sampling_correction": False,
        # the sampler
        "use_vllm": hardware.rollouts == "vllm_colocate",
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": hardware.vllm_gpu_memory,
        "vllm_tensor_parallel_size": hardware.vllm_tensor_parallel,
        # transformers' own sampling reads no text: the trainer cuts its responses
        "generation_kwargs": {"stop": list(stop)} if stop and hardware.rollouts == "vllm_colocate" else None,
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
    for key, why in _inexpressible(experiment, hardware).items():
        raise CannotExpress(NAME, key, getattr(experiment, key), why)
    whole_update(NAME, experiment)
    needs_gpu(experiment, hardware)
    for equation in experiment.method.uses():
        if "rollout_logp" in equation.reads and hardware.rollouts == "transformers":
            key, sourced = next(iter(equation.values.items()))
            why = (
                "hardware.rollouts: expected vllm_colocate with a method that reads the sampler's log-probabilities, "
                "got 'transformers', where the trainer samples"
            )
            raise CannotExpress(NAME, f"{equation.name}.{key}", sourced, why)


def _inexpressible(e: Experiment, hardware: TrlHardware) -> dict[str, str]:
    """Key -> why TRL has no way to train with its value."""
    reasons = {}
    if e.critic.value:
        reasons["critic"] = "it has no trainer with a critic (PPO); use backend=verl"
    if e.dynamic_sampling.value:
        reasons["dynamic_sampling"] = "it cannot resample groups whose rewards are all equal; use backend=verl"
    if e.reference_reset_every.value is not None and e.lora_rank.value is not None:
        reasons["reference_reset_every"] = "with LoRA the reference is the base"
    elif e.reference_reset_every.value is not None and hardware.deepspeed:
        reasons["reference_reset_every"] = (
            "DeepSpeed shards the reference's weights, and its checkpoints do not hold them"
        )
    if e.reference_model.value is not None and e.lora_rank.value is not None:
        reasons["reference_model"] = "with LoRA the reference is the base"
    if is_self_taught(e) and e.reference_reset_every.value is not None:
        reasons["reference_reset_every"] = "reference_model=self is the policy as it is"
    if is_self_taught(e) and not set(e.rewards.value) & set(OUTCOMES):
        reasons["rewards"] = f"reference_model=self is shown a correct response: give one of {', '.join(OUTCOMES)}"
    if e.old_policy.value == "sampler" and hardware.rollouts == "transformers":
        reasons["old_policy"] = "the trainer itself samples with hardware.rollouts=transformers; use vLLM"
    return reasons

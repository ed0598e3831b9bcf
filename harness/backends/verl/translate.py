"""An experiment -> veRL 0.9.1's configuration, as flat dotted keys. Pure. Imports neither veRL nor torch.

The loss, the advantages and the sampling of groups are ours, so veRL's own settings for these are not used. They are
still set to the experiment's values, or to off, so that the configuration that veRL prints is not misleading. Every
other veRL default that could change the mathematics is set here by name.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from evals.sampling.engines.encode import marker_tokens
from harness.backends.common import cut_update, needs_gpu, needs_reference, whole_update
from harness.backends.errors import CannotExpress
from harness.backends.verl import CHECKPOINTS, ROWS, TESTED, TRAINER
from harness.backends.verl.hardware import VerlHardware
from harness.backends.verl.order import Order
from harness.errors import UsageError
from harness.spec import Experiment, Training, assumed
from harness.spec.declarations import warmup_steps
from harness.step.batch import DRAWS
from harness.step.rewards import GROUP_REWARDS

NAME = f"veRL {TESTED}"
_FOLDER = Path(__file__).resolve().parent
_AGGREGATIONS = {
    "sequence_mean": "seq-mean-token-mean",
    "token_mean": "token-mean",
    "fixed_length": "seq-mean-token-sum-norm",
    "sequence_sum": "seq-mean-token-sum",
    "prompt_mean": "token-mean",  # veRL has none like it. The method's own weights decide
}


def check(training: Training, hardware: VerlHardware) -> None:
    """Raises CannotExpress for what veRL cannot train with, UsageError for settings and counts that do not fit."""
    if not isinstance(training, Experiment):
        raise CannotExpress(NAME, "dataset", training.dataset, "it is reinforcement learning only. Type backend=trl")
    whole_update(NAME, training)
    for key, why in _inexpressible(training).items():
        raise CannotExpress(NAME, key, getattr(training, key), why)
    if hardware.tokens_per_gpu and training.method.looks_at_micro_batches:
        raise UsageError(
            "hardware.tokens_per_gpu: expected null with a method whose statistic is over the forward pass, because "
            "the pass would depend on lengths and machine. Or state the method's own micro-batch "
            f"(forking_tokens.micro_batch_tokens), got {hardware.tokens_per_gpu}"
        )
    if "greedy_rewards" in training.method.reads:
        advantage = assumed(training.method.advantage.name, "the method")
        raise CannotExpress(NAME, "advantage", advantage, "its rollout has no greedy responses. Type backend=trl")
    if hardware.fused_kernels and training.method.reads_logits:
        raise UsageError(
            "hardware.fused_kernels: expected false with a method that reads pi_squared or the likeliest tokens, "
            "because the fused head keeps no logits, got true"
        )
    needs_gpu(training, hardware)
    update_rows(training, hardware)


def check_thoughts(experiment: Experiment, tokenizer: object) -> None:
    """Raises CannotExpress where rewards read what follows a thought whose markers veRL's text of a response lacks."""
    marks = marker_tokens(tokenizer)
    if marks and experiment.reasoning.value == "after":
        why = (
            f"it gives rewards the text without special tokens, and {', '.join(marks.values())}, which mark a thought, "
            "are special tokens of this model; use backend=trl, or reasoning=whole"
        )
        raise CannotExpress(NAME, "reasoning", experiment.reasoning, why)


def _inexpressible(e: Experiment) -> dict[str, str]:
    """Key -> why veRL has no way to train with its value."""
    reasons = {}
    if set(e.rewards.value) & set(GROUP_REWARDS):
        reasons["rewards"] = "its rewards see one response at a time; use backend=trl"
    if e.head_precision.value == "float32" and e.precision.value != "float32":
        reasons["head_precision"] = "its output head computes as the passes do; use backend=trl, or precision=float32"
    if e.lr_schedule.value == "linear":
        reasons["lr_schedule"] = "it has constant and cosine schedules"
    if e.lora_rank.value is not None:
        reasons["lora_rank"] = "LoRA was never run with it; use backend=trl"
    if e.reference_model.value is not None:
        reasons["reference_model"] = (
            "its reference copies the policy's model, and its teachers are vLLM servers on GPUs of their own; use "
            "backend=trl"
        )
    return reasons


def update_rows(experiment: Experiment, hardware: VerlHardware) -> tuple[int, int]:
    """(sequences of an optimiser step on one process, sequences of one of its forward passes). ValueError if the counts
    do not divide."""
    e = experiment
    return cut_update(e.prompts_per_rollout.value * e.group_size.value // e.updates_per_rollout.value, hardware)


def to_verl_config(order: Order) -> dict[str, object]:
    """veRL's configuration, without irrelevant defaults: dotted key -> value.

    Raises:
        CannotExpress, ValueError: as `check`.
    """
    experiment, hardware = order.experiment, order.hardware
    check(experiment, hardware)
    e = {key: sourced.value for key, sourced in experiment.settings().items()}
    _, micro_batch = update_rows(experiment, hardware)
    return {
        **_data(e, order),
        **_model(order),
        **_actor(e, order, micro_batch),
        **_reference(e, hardware, micro_batch),
        **_rollout(e, order, micro_batch),
        **(_critic(e, order, micro_batch) if e["critic"] else {"critic.enable": False}),
        **_rewards(e, order, [name for name in DRAWS if name in experiment.method.reads]),
        **_trainer(e, order),
    }


def _data(e: dict[str, object], order: Order) -> dict[str, object]:
    return {
        "data.train_files": str(order.out_dir / ROWS),
        "data.val_files": str(order.out_dir / ROWS),  # never read: evaluation is done by `evals`, on saved models
        "data.custom_cls.path": "pkg://harness.backends.verl.rows",
        "data.custom_cls.name": "PromptRows",
        "data.train_batch_size": e["prompts_per_rollout"],
        "data.max_prompt_length": e["max_prompt_tokens"],
        "data.max_response_length": e["max_completion_tokens"],
        "data.shuffle": True,
        "data.seed": order.seed,
        "data.dataloader_num_workers": 0,
    }


def _model(order: Order) -> dict[str, object]:
    hardware = order.hardware
    packed = hardware.device == "gpu" and hardware.packing  # packing needs flash attention, which a CPU lacks
    attention = "flash_attention_2" if packed else "sdpa"
    model: dict[str, Any] = {
        "path": order.base_model,
        "override_config.attn_implementation": attention,
        "use_remove_padding": packed,
        "use_fused_kernels": hardware.fused_kernels,
        "enable_gradient_checkpointing": hardware.gradient_checkpointing,
    }
    return {f"actor_rollout_ref.model.{key}": value for key, value in model.items()}


def _engine(prefix: str, precision: str, hardware: VerlHardware, *, trained: bool) -> dict[str, Any]:
    """FSDP of one model. veRL's default mixed precision, for each model separately, is bfloat16."""
    short = {"float32": "fp32", "float16": "fp16"}.get(precision, "bf16")
    return {
        f"{prefix}.full_determinism": hardware.deterministic,
        f"{prefix}.model_dtype": "fp32" if trained and precision != "pure_bfloat16" else short,
        f"{prefix}.mixed_precision": {"param_dtype": short, "reduce_dtype": "fp32", "buffer_dtype": "fp32"},
        f"{prefix}.param_offload": hardware.offload,
        f"{prefix}.optimizer_offload": hardware.offload and trained,
        f"{prefix}.use_torch_compile": hardware.device == "gpu",
        f"{prefix}.ulysses_sequence_parallel_size": hardware.sequence_parallel,
    }


def _optimiser(prefix: str, e: dict[str, object], *, warmup: int = 0) -> dict[str, object]:
    return {
        f"{prefix}.optimizer": "AdamW",
        f"{prefix}.optimizer_impl": "torch.optim",
        f"{prefix}.lr": e["learning_rate"],
        f"{prefix}.betas": [0.9, 0.999],
        f"{prefix}.override_optimizer_config": {"eps": 1e-8},
        f"{prefix}.weight_decay": e["weight_decay"],
        f"{prefix}.clip_grad": e["max_grad_norm"],
        f"{prefix}.lr_scheduler_type": e["lr_schedule"],
        f"{prefix}.lr_warmup_steps": warmup,
        f"{prefix}.lr_warmup_steps_ratio": 0.0,
        f"{prefix}.min_lr_ratio": 0.0,
        f"{prefix}.num_cycles": 0.5,
    }


def _batches(prefix: str, hardware: VerlHardware, micro_batch: int) -> dict[str, object]:
    """Micro-batches by count, or (`tokens_per_gpu`) by length."""
    return {
        f"{prefix}.use_dynamic_bsz": hardware.tokens_per_gpu is not None,
        f"{prefix}.ppo_max_token_len_per_gpu": hardware.tokens_per_gpu or 16384,
        f"{prefix}.ppo_micro_batch_size_per_gpu": micro_batch,
    }


def _actor(e: dict[str, Any], order: Order, micro_batch: int) -> dict[str, object]:
    actor, hardware = "actor_rollout_ref.actor", order.hardware
    reference = needs_reference(order.experiment)
    return {
        f"{actor}.strategy": "fsdp2",
        **_engine(f"{actor}.fsdp_config", e["precision"], hardware, trained=True),
        **_optimiser(f"{actor}.optim", e, warmup=warmup_steps(order.experiment, order.rows)),
        **_batches(actor, hardware, micro_batch),
        f"{actor}.use_torch_compile": hardware.device == "gpu",
        f"{actor}.grad_clip": e["max_grad_norm"],
        f"{actor}.ppo_mini_batch_size": e["prompts_per_rollout"] // e["updates_per_rollout"],
        f"{actor}.ppo_epochs": 1,
        f"{actor}.shuffle": False,
        f"{actor}.calculate_entropy": True,  # the current policy's, which methods and the loss read
        # veRL's own loss, which is not used
        f"{actor}.policy_loss.loss_mode": "vanilla",
        f"{actor}.clip_ratio": 0.2 if e["clip_low"] is None else e["clip_low"],
        f"{actor}.clip_ratio_low": math.inf if e["clip_low"] is None else e["clip_low"],
        f"{actor}.clip_ratio_high": math.inf if e["clip_high"] is None else e["clip_high"],
        f"{actor}.clip_ratio_c": math.inf if e["dual_clip"] is None else e["dual_clip"],
        f"{actor}.loss_agg_mode": _AGGREGATIONS[e["aggregation"]],
        f"{actor}.entropy_coeff": e["entropy_coefficient"],
        f"{actor}.use_kl_loss": reference,  # makes veRL compute the reference's log-probabilities
        f"{actor}.kl_loss_coef": e["kl_beta"],
        f"{actor}.kl_loss_type": "low_var_kl",
        f"{actor}.checkpoint.save_contents": ["model", "optimizer", "extra", "hf_model"],
    }


def _reference(e: dict[str, Any], hardware: VerlHardware, micro_batch: int) -> dict[str, object]:
    ref = "actor_rollout_ref.ref"
    return {
        f"{ref}.strategy": "fsdp2",
        **_engine(f"{ref}.fsdp_config", e["precision"], hardware, trained=False),
        f"{ref}.use_torch_compile": hardware.device == "gpu",
        f"{ref}.log_prob_micro_batch_size_per_gpu": micro_batch,
    }


def _rollout(e: dict[str, Any], order: Order, micro_batch: int) -> dict[str, object]:
    hardware, context = order.hardware, e["max_prompt_tokens"] + e["max_completion_tokens"]
    # vLLM on a CPU: little cache, and no prompt in pieces, after which a seeded sample takes a step back that no CPU
    # generator can ("CPU Generator does not use offset")
    small = {"max_num_seqs": 64, "max_num_batched_tokens": max(4096, context), "enable_chunked_prefill": False}
    rollout = {
        "name": "vllm",
        "mode": "async",
        "seed": order.seed,
        "n": e["group_size"],
        "temperature": e["rollout_temperature"],
        "top_p": e["rollout_top_p"],
        "top_k": -1,
        "do_sample": True,
        "ignore_eos": False,
        "calculate_log_probs": True,  # to measure the difference between sampler and trainer
        "dtype": "bfloat16" if e["precision"] == "pure_bfloat16" else e["precision"],
        "full_determinism": hardware.deterministic,
        "tensor_model_parallel_size": hardware.vllm_tensor_parallel,
        "gpu_memory_utilization": hardware.vllm_gpu_memory,
        "max_model_len": context,
        "enforce_eager": hardware.device == "cpu",
        "free_cache_engine": hardware.device == "gpu",
        "log_prob_micro_batch_size_per_gpu": micro_batch,
        "agent.num_workers": 1 if hardware.device == "cpu" else 8,
        "agent.default_agent_loop": TRAINER,
        "agent.agent_loop_config_path": str(_FOLDER / "rollout.yaml"),
    }
    if hardware.device == "cpu":
        rollout |= {**small, "enable_sleep_mode": False}
    return {f"actor_rollout_ref.rollout.{key}": value for key, value in rollout.items()}


def _critic(e: dict[str, Any], order: Order, micro_batch: int) -> dict[str, object]:
    hardware, rate = order.hardware, e["ppo.critic_learning_rate"]
    return {
        "critic.enable": True,
        "critic.strategy": "fsdp2",
        **_engine("critic.fsdp", e["precision"], hardware, trained=True),
        **_optimiser("critic.optim", e | {"lr_schedule": "constant", "learning_rate": rate}),
        **_batches("critic", hardware, micro_batch),
        "critic.grad_clip": e["max_grad_norm"],
        "critic.ppo_mini_batch_size": e["prompts_per_rollout"] // e["updates_per_rollout"],
        "critic.ppo_epochs": 1,
        "critic.shuffle": False,
        "critic.cliprange_value": e["ppo.value_clip"],
        "critic.loss_agg_mode": "token-mean",
        "critic.model.path": order.base_model,
        "critic.model.use_remove_padding": hardware.device == "gpu" and hardware.packing,
        "critic.model.enable_gradient_checkpointing": hardware.gradient_checkpointing,
    }


def _rewards(e: dict[str, Any], order: Order, draws: list[str]) -> dict[str, object]:
    hardware, reward = order.hardware, "reward.custom_reward_function"
    return {
        "reward.num_workers": 1 if hardware.device == "cpu" else 8,
        f"{reward}.path": "pkg://harness.backends.verl.rewards",
        f"{reward}.name": "compute_score",
        f"{reward}.reward_kwargs": {
            "names": list(e["rewards"]),
            "weights": list(e["reward_weights"]),
            "policy": order.policy,
            "unscored": e["unscored"],
            "reasoning": e["reasoning"],
            "draws": draws,
            "stop": list(order.stop),  # also read by `SampleLoop`
        },
        "reward.reward_model.enable": False,
    }


def _trainer(e: dict[str, Any], order: Order) -> dict[str, object]:
    hardware, resume_from = order.hardware, order.resume_from
    # veRL counts rollouts. The trainer skips the extra updates of the last one
    steps = math.ceil(order.steps / e["updates_per_rollout"])
    return {
        # the advantage is the method's; of veRL's estimators only "gae" comes with a critic
        "algorithm.adv_estimator": "gae" if e["critic"] else "grpo",
        "algorithm.use_kl_in_reward": False,
        "algorithm.filter_groups.enable": False,  # `rollout.GroupBuffer` resamples
        "algorithm.rollout_correction.rollout_is": None,
        "algorithm.rollout_correction.rollout_rs": None,
        "algorithm.rollout_correction.bypass_mode": False,  # the trainer does it, after this pass
        "trainer.use_v1": True,
        "trainer.v1.trainer_mode": TRAINER,
        "trainer.v1.sampler.custom_sampler.path": "pkg://harness.backends.verl.rollout",
        "trainer.v1.sampler.custom_sampler.name": "GroupBuffer",
        "trainer.v1.sampler.sampler_kwargs": {"dynamic": e["dynamic_sampling"], "rounds": hardware.resampling_rounds},
        "trainer.critic_warmup": e["ppo.critic_warmup_steps"] + 1 if e["critic"] else 0,  # the first step with a policy
        "trainer.total_training_steps": steps,
        "trainer.total_epochs": steps + 1,  # never reached: the number of steps ends the training
        "trainer.device": "cpu" if hardware.device == "cpu" else "cuda",
        "trainer.nnodes": hardware.nodes,
        "trainer.n_gpus_per_node": hardware.processes,
        "trainer.logger": [],
        "trainer.val_before_train": False,
        "trainer.test_freq": -1,
        "trainer.save_freq": hardware.save_every,
        "trainer.default_local_dir": str(order.out_dir / CHECKPOINTS),
        "trainer.checkpoint_callback_class": "harness.backends.verl.checkpoints.MarkWhole",
        "trainer.resume_mode": "resume_path" if resume_from else "disable",
        "trainer.resume_from_path": None if resume_from is None else str(resume_from),
        "trainer.balance_batch": False,
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1 if hardware.device == "cpu" else 8,
    }

"""The translation to TRL: values arrive, defaults that touch the mathematics are set, the rest is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from baselines.distillation import reverse_kl
from baselines.rollout_correction import rollout_rejection
from evals.provenance import Origin, code
from harness.backends.errors import CannotExpress
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.translate import to_grpo_config
from harness.command.resolve import resolve
from harness.spec import use
from tests.experiments import GRPO, experiment, ppo, sourced

USER = (Origin.USER, "a test")


def translated(values: dict[str, Any], **hardware: Any) -> dict[str, Any]:
    return to_grpo_config(experiment().override(values, *USER), TrlHardware(**hardware), seed=5, out_dir=Path("out"))


def test_every_declared_value_reaches_trl_or_our_own_code() -> None:
    # What TRL does not get is read by the trainer, the launcher or the plan: a new field must be put somewhere.
    by_harness = {
        "base_model",
        *("dataset", "dataset_rows"),
        "prompt",
        "rewards",
        "unscored",
        "reasoning",
        "max_prompt_tokens",
        "aggregation",
        "lora_rank",
        "lora_alpha",
        "lora_dropout",
        "critic",
        "dynamic_sampling",
        "prompts_per_rollout",
        "clip_low",
        "clip_high",
        "dual_clip",
        "denominator",
        "entropy_coefficient",
        "entropy_target",
        "grpo.std",
        "grpo.epsilon",
        "old_policy",
        "reference_model",
        "like",
    }
    changed = {
        "reward_weights": [2.0],
        "group_size": 2,
        "rollout_temperature": 0.5,
        "rollout_top_p": 0.5,
        "max_completion_tokens": 9,
        "updates_per_rollout": 2,
        "learning_rate": 0.5,
        "lr_schedule": "cosine",
        "warmup_ratio": 0.5,
        "weight_decay": 0.5,
        "max_grad_norm": 0.5,
        "kl_beta": 0.5,
        "max_steps": 5,
        "precision": "bfloat16",
        "head_precision": "float32",
    }
    assert set(experiment().settings()) == by_harness | set(changed) | {"reference_reset_every", "epochs"}
    before = translated({}, device="cpu")
    assert before["seed"] == before["data_seed"] == 5 and before["use_cpu"] is True
    for key, value in changed.items():
        assert translated({key: value}, device="cpu") != before, key
    assert translated({"kl_beta": 0.5, "reference_reset_every": 5})["ref_model_sync_steps"] == 5
    assert translated({"max_steps": None, "epochs": 5.0})["max_steps"] == 5000  # rollouts of 4 of the 4000 problems


def test_trl_trains_the_steps_of_the_plan_in_whole_rollouts() -> None:
    """By epochs, TRL would round up: 2.25 epochs of 2 rollouts are 4.5, and it would end within the fifth."""
    values = {"updates_per_rollout": 2, "max_steps": None, "epochs": 2.25, "warmup_ratio": 0.07}
    declared = experiment().override(values, *USER)
    got = to_grpo_config(declared, TrlHardware(), seed=0, out_dir=Path("out"), rows=11)
    assert got["max_steps"] == declared.steps(11) == 2 * 4  # 11 // 4 = 2 rollouts an epoch, 4 in 2.25 epochs
    assert got["warmup_steps"] == 1  # 0.56, rounded up
    assert "num_train_epochs" not in got


def test_float16_needs_a_gpu_and_a_scaled_loss() -> None:
    got = translated({"precision": "float16"}, device="gpu")
    assert got["fp16"] is True and got["bf16"] is False
    assert got["model_init_kwargs"] == {"dtype": "float32"}  # what the optimiser updates
    lora = translated({"precision": "float16", "lora_rank": 4}, device="gpu")
    assert lora["model_init_kwargs"] == {"dtype": "float16"}  # frozen
    with pytest.raises(ValueError, match="precision: expected float32, bfloat16 or pure_bfloat16 on a CPU"):
        translated({"precision": "float16"}, device="cpu")


def test_defaults_that_touch_the_mathematics_are_named() -> None:
    from dataclasses import fields

    from trl import GRPOConfig

    got = translated({})
    known = {f.name for f in fields(GRPOConfig)}
    assert set(got) <= known  # a renamed option would otherwise be silently lost
    named = {
        "loss_type",
        "scale_rewards",
        "beta",
        "num_iterations",
        "epsilon",
        "epsilon_high",
        "delta",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "repetition_penalty",
        "importance_sampling_level",
        "mask_truncated_completions",
        "sync_ref_model",
        "top_entropy_quantile",
        "entropy_coef",
        "use_adaptive_entropy",
        "off_policy_mask_threshold",
        "use_bias_correction_kl",
        "vllm_importance_sampling_correction",
        "multi_objective_aggregation",
        "disable_dropout",
        "adam_beta1",
        "adam_beta2",
        "adam_epsilon",
        "optim",
        "weight_decay",
        "max_grad_norm",
        "bf16",
    }
    assert named <= set(got)


def test_a_rollout_is_cut_into_whole_groups() -> None:
    # 4 prompts x 4 = 16 sequences. Two updates of 8. One process, 2 sequences a forward: 4 forwards an update
    sizes = ("per_device_train_batch_size", "gradient_accumulation_steps", "steps_per_generation", "save_steps")
    got = translated({"updates_per_rollout": 2}, micro_batch=2, save_every=3)
    assert [got[key] for key in sizes] == [2, 4, 8, 6]  # saved only where a rollout ends
    for hardware, message in (
        ({"micro_batch": 3}, r"hardware\.micro_batch: expected a divisor of the 8 .*got 3"),
        ({"processes": 3}, r"hardware\.processes: expected a divisor of the 8 .*got 3"),
        ({"processes": 4}, "whole groups of 4, got 2 sequences on each of 4"),
    ):
        with pytest.raises(ValueError, match=message):
            translated({"updates_per_rollout": 2}, **hardware)


def test_what_trl_cannot_do_is_refused_with_its_source() -> None:
    source = code(True, "the authors' script")
    for key, declared in (
        ("dynamic_sampling", replace(experiment(), dynamic_sampling=source)),
        ("critic", replace(ppo(), critic=source)),
    ):
        with pytest.raises(CannotExpress, match=rf"TRL 1\.16 cannot express {key}=True \(code: the authors' script\)"):
            to_grpo_config(declared, TrlHardware(), seed=0, out_dir=Path("out"))
    # a trainer that samples itself has no mismatch to correct
    gate = use(rollout_rejection, **sourced(statistic="k3", low=0.0, high=2.0))
    with pytest.raises(ValueError, match=r"hardware\.rollouts: expected vllm_colocate.*'transformers'"):
        to_grpo_config(experiment(replace(GRPO, gates=(gate,))), TrlHardware(), seed=0, out_dir=Path("out"))


def test_a_reference_that_deepspeed_splits_cannot_be_saved() -> None:
    declared = experiment().override({"kl_beta": 0.1, "reference_reset_every": 2}, *USER)
    with pytest.raises(CannotExpress, match=r"reference_reset_every=2 .*DeepSpeed shards"):
        to_grpo_config(declared, TrlHardware(deepspeed="zero3"), seed=0, out_dir=Path("out"))


def test_a_policy_that_teaches_itself_needs_a_reward_that_says_what_is_correct() -> None:
    method = replace(GRPO, advantage=use(reverse_kl))
    declared = replace(experiment(), method=method, reference_model=code("self", "a test"))
    assert to_grpo_config(declared, TrlHardware(), seed=0, out_dir=Path("out"))["beta"] == 0  # no other model
    for key, values in (
        ("rewards", {"rewards": ("boxed",)}),
        ("reference_reset_every", {"kl_beta": 1.0, "reference_reset_every": 2}),
    ):
        wrong = declared.override(values, *USER)
        with pytest.raises(CannotExpress, match=f"{key}=.*reference_model=self"):
            to_grpo_config(wrong, TrlHardware(), seed=0, out_dir=Path("out"))


def test_the_paper_scale_of_egsw() -> None:
    job = next(j for j in resolve("egsw", scale="paper") if j.arm == "egsw")
    assert job.experiment is not None
    got = to_grpo_config(job.experiment, TrlHardware(processes=8, micro_batch=16), seed=0, out_dir=Path("out"))
    # 128 prompts x 7 = 896 sequences over 8 processes = 112 each, 16 at a time: 7 forwards
    assert got["gradient_accumulation_steps"] == 7
    assert got["lr_scheduler_type"] == "cosine" and got["bf16"] is True
    assert (got["max_steps"], got["warmup_steps"]) == (66, 7)  # 8523 // 128 rollouts, and 0.1 of them rounded up


@pytest.mark.parametrize(("ratio", "steps"), [(0.0, 0), (0.1, 2), (0.07, 2), (1.0, 20)])
def test_the_warm_up_has_the_same_steps_with_both_backends(ratio: float, steps: int) -> None:
    """0.07 of 20 steps are 1.4, of which veRL makes 1. transformers reads a 1 that is no number of steps as one."""
    from transformers import TrainingArguments

    from harness.backends.verl.hardware import VerlHardware
    from harness.backends.verl.order import Order
    from harness.backends.verl.translate import to_verl_config

    declared = experiment().override({"warmup_ratio": ratio, "max_steps": 20}, *USER)
    got = to_grpo_config(declared, TrlHardware(), seed=0, out_dir=Path("out"))
    assert TrainingArguments(output_dir="out", warmup_steps=got["warmup_steps"]).get_warmup_steps(20) == steps
    order = Order(declared, "MODEL", Path("out"), VerlHardware(device="cpu"), 0, 100, "boxed_last", 300, (0,))
    optimiser = "actor_rollout_ref.actor.optim.lr_warmup_steps"
    config = to_verl_config(order)
    assert (config[optimiser], config[f"{optimiser}_ratio"]) == (steps, 0)  # veRL reads no step as the ratio


def test_vllm_gets_the_length_of_prompt_and_completion() -> None:
    """Else it would reserve a cache for the model's own context, or cut a response at it without a word."""
    declared = experiment().override({"max_prompt_tokens": 96, "max_completion_tokens": 160}, *USER)
    hardware = TrlHardware(rollouts="vllm_colocate", vllm_sleep=True)
    got = to_grpo_config(declared, hardware, seed=0, out_dir=Path("out"))
    assert (got["vllm_max_model_length"], got["vllm_enable_sleep_mode"]) == (256, True)

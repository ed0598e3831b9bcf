"""An experiment -> veRL's configuration: every value that decides the mathematics, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.provenance import Origin
from harness.backends.errors import CannotExpress
from harness.backends.verl import backend
from harness.backends.verl.hardware import VerlHardware
from harness.backends.verl.order import Order
from harness.backends.verl.translate import check, check_thoughts, to_verl_config, update_rows
from harness.command.resolve import resolve
from harness.spec import Experiment, catalogue
from tests.experiments import experiment, finetune, ppo
from tests.harness.backends.test_trl_trainer import declared_with
from tests.harness.cases import CASES

CPU = VerlHardware(device="cpu")


def translated(declared: Experiment, hardware: VerlHardware = CPU) -> dict[str, Any]:
    return to_verl_config(Order(declared, "MODEL", Path("OUT"), hardware, 3, 100, "boxed_last", 300, (0,)))


def with_values(declared: Experiment, **values: Any) -> Experiment:
    return declared.override(values, Origin.USER, "a test")


def test_what_decides_the_mathematics_is_set_by_name() -> None:
    declared = with_values(
        experiment(),
        clip_low=0.2,
        clip_high=0.28,
        dual_clip=10.0,
        kl_beta=0.04,
        weight_decay=0.1,
        warmup_ratio=0.1,
        lr_schedule="cosine",
        rollout_top_p=0.95,
        aggregation="token_mean",
        dynamic_sampling=True,
    )
    config = translated(declared)
    expected = {
        "data.train_batch_size": 4,
        "data.max_response_length": 8,
        "data.seed": 3,
        "actor_rollout_ref.actor.clip_ratio_low": 0.2,
        "actor_rollout_ref.actor.clip_ratio_high": 0.28,
        "actor_rollout_ref.actor.clip_ratio_c": 10.0,
        "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
        "actor_rollout_ref.actor.use_kl_loss": True,
        "actor_rollout_ref.actor.kl_loss_type": "low_var_kl",
        "actor_rollout_ref.actor.kl_loss_coef": 0.04,
        "actor_rollout_ref.actor.entropy_coeff": 0.0,
        "actor_rollout_ref.actor.calculate_entropy": True,
        "actor_rollout_ref.actor.optim.lr": 1e-3,
        "actor_rollout_ref.actor.optim.weight_decay": 0.1,
        "actor_rollout_ref.actor.optim.betas": [0.9, 0.999],
        "actor_rollout_ref.actor.optim.lr_scheduler_type": "cosine",
        "actor_rollout_ref.actor.optim.lr_warmup_steps": 1,  # 0.1 of 4 steps, rounded up as with TRL
        "actor_rollout_ref.actor.optim.lr_warmup_steps_ratio": 0.0,
        "actor_rollout_ref.actor.ppo_epochs": 1,
        "actor_rollout_ref.actor.shuffle": False,
        "actor_rollout_ref.rollout.n": 4,
        "actor_rollout_ref.rollout.temperature": 1.0,
        "actor_rollout_ref.rollout.top_p": 0.95,
        "actor_rollout_ref.rollout.top_k": -1,
        "algorithm.use_kl_in_reward": False,
        "algorithm.filter_groups.enable": False,
        "trainer.v1.sampler.sampler_kwargs": {"dynamic": True, "rounds": 20},
        "critic.enable": False,
    }
    assert {key: config[key] for key in expected} == expected


def test_a_bound_that_does_not_clip_is_infinite() -> None:
    config = translated(with_values(experiment(), clip_low=None, clip_high=None))
    for key in ("clip_ratio_low", "clip_ratio_high", "clip_ratio_c"):
        assert config[f"actor_rollout_ref.actor.{key}"] == math.inf


def test_all_models_compute_in_the_declared_precision() -> None:
    """veRL's default mixed precision is bfloat16, for each model separately."""
    for precision, short in (("float32", "fp32"), ("bfloat16", "bf16"), ("pure_bfloat16", "bf16")):
        config = translated(with_values(ppo(), precision=precision))
        for engine in ("actor_rollout_ref.actor.fsdp_config", "actor_rollout_ref.ref.fsdp_config", "critic.fsdp"):
            assert config[f"{engine}.mixed_precision"]["param_dtype"] == short
        assert config["actor_rollout_ref.rollout.dtype"] == precision.removeprefix("pure_")
        kept = "bf16" if precision == "pure_bfloat16" else "fp32"
        for trained in ("actor_rollout_ref.actor.fsdp_config", "critic.fsdp"):
            assert config[f"{trained}.model_dtype"] == kept


def test_ppo_has_a_critic_and_starts_the_policy_after_its_warm_up() -> None:
    config = translated(ppo())
    assert config["critic.enable"] is True
    assert config["critic.optim.lr"] == 1e-3
    assert config["critic.cliprange_value"] == 0.5
    assert config["trainer.critic_warmup"] == 3  # veRL's first step with a policy. 2 rollouts come before it
    assert translated(experiment())["trainer.critic_warmup"] == 0


@pytest.mark.parametrize(
    ("values", "key"), [({"lr_schedule": "linear"}, "lr_schedule"), ({"lora_rank": 8}, "lora_rank")]
)
def test_what_verl_has_no_way_to_train_is_refused_with_its_source(values: dict[str, Any], key: str) -> None:
    with pytest.raises(CannotExpress, match=f"veRL 0.9.1 cannot express {key}=.*a test") as refusal:
        check(with_values(experiment(), **values), CPU)
    assert refusal.value.asked_for
    with pytest.raises(CannotExpress, match="reinforcement learning only"):
        check(finetune(), CPU)
    with pytest.raises(ValueError, match=r"hardware\.processes: expected a divisor of the 16 sequences"):
        check(experiment(), VerlHardware(device="cpu", processes=3))


def test_steps_are_whole_rollouts_of_updates_unless_a_number_is_declared() -> None:
    declared = with_values(experiment(), updates_per_rollout=2, max_steps=None, epochs=1.5)
    assert declared.steps(rows=10) == 2 * 3  # 10 // 4 = 2 rollouts an epoch, 3 in 1.5 epochs
    assert with_values(experiment(), max_steps=None, epochs=0.29).steps(rows=400) == 29  # 100 * 0.29 is 28.99... here
    declared = with_values(experiment(), updates_per_rollout=4, max_steps=5)
    assert declared.steps(rows=10) == 5
    assert translated(declared)["trainer.total_training_steps"] == 2  # rollouts. The second gives one update


@pytest.mark.parametrize("paper", catalogue.papers())
def test_every_arm_of_every_paper_is_translated_or_refused_with_a_reason(paper: str) -> None:
    for job in resolve(paper, scale="paper", backend="verl", seeds=[0]):
        if job.experiment is None:
            continue
        try:
            check(job.experiment, VerlHardware(device="gpu", processes=8))
        except CannotExpress:  # an ordinary ValueError would be our mistake
            continue
        assert isinstance(job.experiment, Experiment)
        config = translated(job.experiment, VerlHardware(device="gpu", processes=8))
        assert config["actor_rollout_ref.actor.strategy"] == "fsdp2"


def test_a_method_that_states_its_micro_batch_may_have_forward_passes_cut_by_length() -> None:
    dynamic = VerlHardware(device="gpu", tokens_per_gpu=22528)
    top20 = next(arm.train for arm in catalogue.load("forking_tokens").arms if arm.key == "top20")
    assert isinstance(top20, Experiment)
    check(top20, dynamic)  # 180,224 tokens, for any size of a forward pass
    undefined = with_values(top20, **{"forking_tokens.micro_batch_tokens": None})
    with pytest.raises(ValueError, match=r"hardware\.tokens_per_gpu: expected null .*micro_batch_tokens"):
        check(undefined, dynamic)
    assert round(top20.warmup_ratio.value * (top20.max_steps.value or 0)) == 10 * 16  # 10 rollouts


def test_float16_determinism_and_a_float32_head() -> None:
    gpu = VerlHardware(device="gpu", deterministic=True)
    config = translated(with_values(experiment(), precision="float16"), gpu)
    for prefix in ("actor_rollout_ref.actor.fsdp_config", "actor_rollout_ref.ref.fsdp_config"):
        assert config[f"{prefix}.mixed_precision"]["param_dtype"] == "fp16"  # veRL scales the loss then
        assert config[f"{prefix}.full_determinism"] is True
    assert config["actor_rollout_ref.actor.fsdp_config.model_dtype"] == "fp32"
    assert config["actor_rollout_ref.rollout.dtype"] == "float16"
    assert config["actor_rollout_ref.rollout.full_determinism"] is True
    with pytest.raises(ValueError, match="precision: expected float32, bfloat16 or pure_bfloat16 on a CPU"):
        translated(with_values(experiment(), precision="float16"))
    with pytest.raises(CannotExpress, match="head_precision"):
        translated(with_values(experiment(), precision="bfloat16", head_precision="float32"))
    translated(with_values(experiment(), precision="float32", head_precision="float32"))


def test_processes_share_an_update_and_cut_it_into_forward_passes() -> None:
    # 4 prompts x 4 samples in 2 updates: 8 sequences each. 2 machines x 2 processes, 2 of which share a sequence
    declared = with_values(experiment(), updates_per_rollout=2)
    assert update_rows(declared, VerlHardware(processes=2, nodes=2, sequence_parallel=2)) == (4, 4)
    assert update_rows(declared, VerlHardware(processes=2, nodes=2, micro_batch=1)) == (2, 1)


def test_what_a_method_reads_may_be_missing() -> None:
    from baselines.otb import otb
    from baselines.remax import remax
    from harness.spec import assumed, use

    def with_advantage(advantage: Any) -> Experiment:
        return replace(experiment(), method=replace(experiment().method, advantage=advantage))

    with pytest.raises(CannotExpress, match=r"advantage='remax' .*no greedy responses\. Type backend=trl"):
        translated(with_advantage(use(remax)))
    with pytest.raises(CannotExpress, match=r"reference_model='a teacher' .*use backend=trl"):
        translated(with_values(experiment(), reference_model="a teacher"))
    token_baseline = with_advantage(use(otb, epsilon=assumed(1e-8, "a test")))
    translated(token_baseline)
    with pytest.raises(ValueError, match=r"hardware.fused_kernels: expected false with a method that reads pi_squared"):
        translated(token_baseline, replace(CPU, fused_kernels=True))
    sees_logits = declared_with(CASES["simko"])
    translated(sees_logits)
    with pytest.raises(ValueError, match=r"fused_kernels: .* or the likeliest tokens, because the fused head keeps no"):
        translated(sees_logits, replace(CPU, fused_kernels=True))


def test_markers_of_thoughts_that_its_text_lacks(random_model: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(random_model)
    check_thoughts(experiment(), tokenizer)
    tokenizer.add_special_tokens({"extra_special_tokens": ["[THINK]", "[/THINK]", "<|tool|>"]})
    message = (
        r"reasoning='after' .*and \[THINK\], \[/THINK\], which mark a thought, .*use backend=trl, or reasoning=whole"
    )
    with pytest.raises(CannotExpress, match=message):
        check_thoughts(experiment(), tokenizer)
    check_thoughts(with_values(experiment(), reasoning="whole"), tokenizer)


def test_the_rewards_and_so_the_sampler_get_the_stop_texts_of_the_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "find_spec", lambda _: None)  # what the harness sets, without veRL's defaults
    prompt_file = tmp_path / "own.yaml"
    prompt_file.write_text('user: "{problem}"\nstop: ["\\n\\n"]\n')
    declared = with_values(experiment(), prompt=str(prompt_file))
    config = backend.BACKEND.config(declared, CPU, seed=0, out_dir=tmp_path)
    assert config["reward.custom_reward_function.reward_kwargs"]["stop"] == ["\n\n"]

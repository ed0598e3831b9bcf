"""A small complete experiment, and a random model to run it on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from baselines.grpo import grpo
from baselines.ppo import gae
from evals.provenance import assumed
from harness.spec import PPO, Experiment, Finetune, Method, use
from harness.spec.architecture import Architecture, architecture

WHY = "a test"
GRPO = Method(
    advantage=use(grpo, std=assumed("sample", WHY), epsilon=assumed(1e-4, WHY)),
    aggregation=assumed("sequence_mean", WHY),
)


def sourced(**values: Any) -> dict[str, Any]:
    return {key: assumed(value, WHY) for key, value in values.items()}


COMMON = sourced(
    base_model="tiny",
    dataset="tiny",
    dataset_rows=4000,
    prompt="plain",
    learning_rate=1e-3,
    lr_schedule="constant",
    warmup_ratio=0.0,
    weight_decay=0.0,
    max_grad_norm=1.0,
    epochs=1.0,
    precision="float32",
    lora_rank=None,
    lora_alpha=64.0,
    lora_dropout=0.0,
)


def experiment(method: Method = GRPO) -> Experiment:
    """GRPO at a size that runs in seconds."""
    values = sourced(
        rewards=("accuracy",),
        reward_weights=(1.0,),
        dynamic_sampling=False,
        prompts_per_rollout=4,
        group_size=4,
        rollout_temperature=1.0,
        rollout_top_p=1.0,
        max_prompt_tokens=64,
        max_completion_tokens=8,
        critic=False,
        updates_per_rollout=1,
        clip_low=0.2,
        clip_high=0.2,
        dual_clip=None,
        kl_beta=0.0,
        reference_reset_every=None,
        entropy_coefficient=0.0,
        entropy_target=None,
        max_steps=4,
    )
    return Experiment(method=method, **COMMON, **values)


def ppo() -> Experiment:
    """The same with a critic instead of the group."""
    method = replace(GRPO, advantage=use(gae, **sourced(gamma=1.0, lam=1.0, whiten=True)))
    critic = PPO(**sourced(critic_learning_rate=1e-3, critic_warmup_steps=2, value_clip=0.5))
    return replace(experiment(), method=method, critic=assumed(True, WHY), ppo=critic)


def finetune() -> Finetune:
    """Supervised fine-tuning at a size that runs in seconds."""
    values = sourced(batch_size=4, max_steps=3, max_tokens=128, too_long="drop")
    return Finetune(**COMMON, **values)


def save_random_model(folder: Path, *, heads: int = 4) -> Path:
    """A Qwen2 with random weights and the tiny family's tokenizer. One head is of width 32, the least that vLLM has."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from harness.data.tiny import chain
    from harness.data.tiny.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(chain.FAMILY.pieces())
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=heads,
        num_key_value_heads=max(1, heads // 2),
        max_position_embeddings=256,
        initializer_range=0.3,  # far from uniform, so that entropies differ
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def shape_of(base_model: str) -> Architecture:
    """The shape of a model that is known by name."""
    shape = architecture(base_model)
    assert shape is not None
    return shape

"""A small complete experiment, and a random model to run it on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

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


def experiment(method: Method = GRPO) -> Experiment:
    """GRPO at a size that runs in seconds."""
    return Experiment(
        base_model=assumed("tiny", WHY),
        dataset=assumed("tiny", WHY),
        dataset_rows=assumed(4000, WHY),
        prompt=assumed("plain", WHY),
        rewards=assumed(("accuracy",), WHY),
        reward_weights=assumed((1.0,), WHY),
        method=method,
        dynamic_sampling=assumed(False, WHY),
        prompts_per_rollout=assumed(4, WHY),
        group_size=assumed(4, WHY),
        rollout_temperature=assumed(1.0, WHY),
        rollout_top_p=assumed(1.0, WHY),
        max_prompt_tokens=assumed(64, WHY),
        max_completion_tokens=assumed(8, WHY),
        critic=assumed(False, WHY),
        updates_per_rollout=assumed(1, WHY),
        learning_rate=assumed(1e-3, WHY),
        lr_schedule=assumed("constant", WHY),
        warmup_ratio=assumed(0.0, WHY),
        weight_decay=assumed(0.0, WHY),
        max_grad_norm=assumed(1.0, WHY),
        clip_low=assumed(0.2, WHY),
        clip_high=assumed(0.2, WHY),
        dual_clip=assumed(None, WHY),
        kl_beta=assumed(0.0, WHY),
        reference_reset_every=assumed(None, WHY),
        entropy_coefficient=assumed(0.0, WHY),
        entropy_target=assumed(None, WHY),
        epochs=assumed(1.0, WHY),
        max_steps=assumed(4, WHY),
        precision=assumed("float32", WHY),
        lora_rank=assumed(None, WHY),
        lora_alpha=assumed(64.0, WHY),
        lora_dropout=assumed(0.0, WHY),
    )


def ppo() -> Experiment:
    """The same with a critic instead of the group."""
    return replace(
        experiment(),
        method=replace(
            GRPO,
            advantage=use(gae, gamma=assumed(1.0, WHY), lam=assumed(1.0, WHY), whiten=assumed(True, WHY)),
        ),
        critic=assumed(True, WHY),
        ppo=PPO(
            critic_learning_rate=assumed(1e-3, WHY),
            critic_warmup_steps=assumed(2, WHY),
            value_clip=assumed(0.5, WHY),
        ),
    )


def finetune() -> Finetune:
    """Supervised fine-tuning at a size that runs in seconds."""
    return Finetune(
        base_model=assumed("tiny", WHY),
        dataset=assumed("tiny", WHY),
        dataset_rows=assumed(4000, WHY),
        prompt=assumed("plain", WHY),
        batch_size=assumed(4, WHY),
        learning_rate=assumed(1e-3, WHY),
        lr_schedule=assumed("constant", WHY),
        warmup_ratio=assumed(0.0, WHY),
        weight_decay=assumed(0.0, WHY),
        max_grad_norm=assumed(1.0, WHY),
        epochs=assumed(1.0, WHY),
        max_steps=assumed(3, WHY),
        max_tokens=assumed(128, WHY),
        too_long=assumed("drop", WHY),
        precision=assumed("float32", WHY),
        lora_rank=assumed(None, WHY),
        lora_alpha=assumed(64.0, WHY),
        lora_dropout=assumed(0.0, WHY),
    )


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

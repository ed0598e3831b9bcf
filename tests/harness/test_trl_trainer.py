"""The loss and its gradient through the TRL trainer equal an independent slow computation, micro-batches or not.

A fixed rollout (prompts, completions, rewards) takes the place of sampling; everything after it is the real trainer.
The slow side uses a plain forward of the model, full log-softmax, and the loops that the methods' own tests use.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from evals.provenance import Origin, assumed
from harness.batch import TokenBatch
from harness.hardware import Hardware
from harness.spec import Experiment, Method, use
from reproductions.egsw.method import egsw
from reproductions.entropy_advantage.method import entropy_advantage
from tests.baselines.test_grpo import slow_grpo
from tests.experiments import GRPO, experiment
from tests.reproductions.test_egsw import slow_egsw
from tests.reproductions.test_entropy_advantage import slow_entropy_advantage

WHY = "a test"
PROMPTS, GROUP, TOKENS = 3, 4, 6
LENGTHS = [6, 2, 4, 1, 5, 6, 3, 3, 2, 6, 1, 4]
REWARDS = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]  # the last group has no signal

EGSW: dict[str, Any] = {
    "alpha": 0.7,
    "temperature": 1.3,
    "level": "step",
    "entropy": "min_max",
    "over": "batch",
    "rescale": "none",
}
TRAJECTORY = {**EGSW, "level": "trajectory", "entropy": "z_score", "over": "group", "rescale": "mean_one"}


def weighted(settings: dict[str, Any]) -> Method:
    return replace(GRPO, weights=(use(egsw, **{k: assumed(v, WHY) for k, v in settings.items()}),))


METHODS = {
    "grpo": GRPO,
    "egsw-step": weighted(EGSW),
    "egsw-trajectory": weighted(TRAJECTORY),
    "entropy_advantage": replace(
        GRPO, shaping=(use(entropy_advantage, alpha=assumed(0.4, WHY), kappa=assumed(2.0, WHY)),)
    ),
}


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.experiments import save_random_model

    return save_random_model(tmp_path_factory.mktemp("model"))


def rollout(vocab: int) -> dict[str, torch.Tensor]:
    rows = PROMPTS * GROUP
    generator = torch.Generator().manual_seed(3)
    lengths = torch.tensor(LENGTHS)
    mask = (torch.arange(TOKENS) < lengths.unsqueeze(1)).long()
    prompts = torch.randint(2, vocab, (PROMPTS, 4), generator=generator).repeat_interleave(GROUP, 0)
    prompt_mask = torch.ones_like(prompts)
    prompt_mask[:GROUP, 0] = 0  # a shorter prompt, padded on the left
    completions = torch.randint(2, vocab, (rows, TOKENS), generator=generator)
    return {
        "prompt_ids": prompts,
        "prompt_mask": prompt_mask,
        "completion_ids": completions.masked_fill(mask == 0, 0),
        "completion_mask": mask,
        "rewards": torch.tensor(REWARDS),
        "groups": torch.arange(rows) // GROUP,
        "ref_per_token_logps": -torch.rand(rows, TOKENS, generator=generator) * 3,
        "old_per_token_logps": -torch.rand(rows, TOKENS, generator=generator) * 3 - 3,
    }


def make_trainer(declared: Experiment, model_dir: Path, tmp_path: Path, micro_batch: int | None) -> Any:
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig

    from harness.backends.trl.trainer import MethodTrainer
    from harness.backends.trl.translate import to_grpo_config

    hardware = Hardware(device="cpu", micro_batch=micro_batch)
    return MethodTrainer(
        declared,
        model=str(model_dir),
        reward_funcs=[lambda completions, **_: [0.0] * len(completions)],
        args=GRPOConfig(**to_grpo_config(declared, hardware, seed=0, out_dir=tmp_path)),
        train_dataset=Dataset.from_list([{"prompt": "1"}] * PROMPTS),
        processing_class=AutoTokenizer.from_pretrained(model_dir, padding_side="left"),
    )


def fast(trainer: Any, fixed: dict[str, torch.Tensor]) -> tuple[float, list[torch.Tensor]]:
    """One optimiser step's loss and gradient through the real trainer."""
    trainer._generate_and_score_completions = lambda _: dict(fixed)
    trainer.model.train()
    total = 0.0
    for step in range(trainer.args.gradient_accumulation_steps):
        trainer._step = step
        inputs = trainer._prepare_inputs(None)
        loss = trainer.compute_loss(trainer.model, inputs)
        loss.backward()
        total += loss.item()
    return total, [p.grad for p in trainer.model.parameters()]


def slow(
    declared: Experiment, name: str, model_dir: Path, fixed: dict[str, torch.Tensor]
) -> tuple[float, list[torch.Tensor]]:
    """The same step: plain forward, loops for the method, and the clipped objective token by token."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32)
    ids = torch.cat([fixed["prompt_ids"], fixed["completion_ids"]], 1)
    attention = torch.cat([fixed["prompt_mask"], fixed["completion_mask"]], 1)
    logits = model(input_ids=ids, attention_mask=attention).logits[:, -TOKENS - 1 : -1]
    log_probs = torch.log_softmax(logits, dim=-1)
    logp = log_probs.gather(-1, fixed["completion_ids"].unsqueeze(-1)).squeeze(-1)
    entropies = -(log_probs.exp() * log_probs).sum(-1).detach()
    mask = fixed["completion_mask"].bool()
    batch = TokenBatch(
        rewards=fixed["rewards"].double(),
        groups=fixed["groups"],
        mask=mask,
        vocab_size=logits.shape[-1],
        max_tokens=TOKENS,
    )
    advantages = torch.tensor(slow_grpo(batch, "sample", 1e-4)).unsqueeze(1) * mask
    batch = replace(batch, advantages=advantages.double(), entropies=entropies.double())
    weights = mask.double()
    if name == "entropy_advantage":
        batch = replace(batch, advantages=slow_entropy_advantage(batch, 0.4, 2.0))
    elif name.startswith("egsw"):
        # normalised by log |V| is never used here: VOCAB of the loops is not this model's
        weights = slow_egsw(batch, **(EGSW if name == "egsw-step" else TRAJECTORY))
    assert batch.advantages is not None
    loss = torch.zeros((), dtype=torch.float64)
    for i, length in enumerate(LENGTHS):
        for t in range(length):
            a = float(batch.advantages[i, t])
            ratio = (logp[i, t] - fixed["old_per_token_logps"][i, t]).exp()
            objective = torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a)
            d = fixed["ref_per_token_logps"][i, t] - logp[i, t]
            term = objective - declared.kl_beta.value * (d.exp() - d - 1)
            loss = loss - float(weights[i, t]) / length / len(LENGTHS) * term
    loss.backward()
    return loss.item(), [p.grad for p in model.parameters()]


@pytest.mark.parametrize("micro_batch", [None, 2], ids=["whole", "micro-batches"])
@pytest.mark.parametrize("name", METHODS)
def test_loss_and_gradient_equal_the_slow_computation(
    name: str, micro_batch: int | None, model_dir: Path, tmp_path: Path
) -> None:
    declared = experiment(METHODS[name]).override(
        {"prompts_per_rollout": PROMPTS, "group_size": GROUP, "max_completion_tokens": TOKENS, "kl_beta": 0.04},
        Origin.USER,
        WHY,
    )
    trainer = make_trainer(declared, model_dir, tmp_path, micro_batch)
    fixed = rollout(trainer.model.config.vocab_size)
    loss, gradient = fast(trainer, fixed)
    want, want_gradient = slow(declared, name, model_dir, fixed)
    assert loss == pytest.approx(want, rel=1e-5)
    scale = max(float(g.abs().max()) for g in want_gradient)
    for got, expected in zip(gradient, want_gradient, strict=True):
        assert torch.allclose(got, expected, rtol=1e-5, atol=1e-5 * scale)

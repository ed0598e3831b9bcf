"""One optimiser step (loss and gradient, no sampling) through our trainer against TRL's own, same batch, same model."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.bench.timing import Row, medians
from evals.provenance import Origin
from tests.experiments import experiment, save_random_model
from tests.harness.cases import CASES

PROMPTS, GROUP, TOKENS = 4, 8, 96
PARTS = 4  # micro-batches of a step with gradient accumulation
METHODS = ("grpo", "egsw-step", "entropy_advantage")


def run(rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        model = save_random_model(Path(folder) / "model")
        for name in METHODS:
            for parts in (1, PARTS):
                if parts > 1 and not CASES[name].method.reads:
                    continue
                steps = {
                    "ours": _step(name, model, Path(folder), parts, ours=True),
                    "theirs": _step(name, model, Path(folder), parts),
                }
                seconds = medians(steps, rounds, clock=time.process_time)
                tokens = PROMPTS * GROUP * TOKENS
                cut = "one micro-batch" if parts == 1 else f"{parts} micro-batches, whose graphs are kept together"
                yield Row(
                    f"TRL step, {name}, {parts} micro-batch{'es' if parts > 1 else ''}", "tokens/CPU s",
                    tokens / seconds["ours"], tokens / seconds["theirs"], "TRL's GRPO loss",
                    rounds, f"{PROMPTS * GROUP} x {TOKENS} tokens, tiny model, {cut}",
                )  # fmt: skip


def _step(name: str, model: Path, folder: Path, parts: int, *, ours: bool = False) -> Callable[[], None]:
    from dataclasses import replace

    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from harness.backends.trl.hardware import TrlHardware
    from harness.backends.trl.trainer import MethodTrainer
    from harness.backends.trl.translate import to_grpo_config

    sizes = {"prompts_per_rollout": PROMPTS, "group_size": GROUP, "max_completion_tokens": TOKENS, "kl_beta": 0.04}
    declared = replace(experiment().override(sizes, Origin.USER, "a benchmark of speed"), method=CASES[name].method)
    config = GRPOConfig(
        **to_grpo_config(
            declared, TrlHardware(device="cpu", micro_batch=PROMPTS * GROUP // parts), seed=0, out_dir=folder
        )
    )
    made: dict[str, Any] = {
        "model": str(model),
        "reward_funcs": [lambda completions, **_: [0.0] * len(completions)],
        "args": config,
        "train_dataset": Dataset.from_list([{"prompt": "1"}] * PROMPTS),
        "processing_class": AutoTokenizer.from_pretrained(model, padding_side="left"),
    }
    trainer: Any = MethodTrainer(declared, **made) if ours else GRPOTrainer(**made)
    batch = _rollout(trainer.model.config.vocab_size)
    trainer._generate_and_score_completions = lambda _: dict(batch)
    trainer.model.train()

    def step() -> None:
        trainer._step, trainer._buffered_inputs = 0, None
        trainer.current_gradient_accumulation_steps = trainer.args.gradient_accumulation_steps
        trainer.model.zero_grad()
        for part in range(parts):
            trainer._step = part
            trainer.compute_loss(trainer.model, trainer._prepare_inputs(None)).backward()

    return step


def _rollout(vocab: int) -> dict[str, torch.Tensor]:
    rows = PROMPTS * GROUP
    generator = torch.Generator().manual_seed(0)
    mask = torch.ones(rows, TOKENS, dtype=torch.long)
    rewards = torch.randint(0, 2, (rows,), generator=generator).float()
    return {
        "prompt_ids": torch.randint(2, vocab, (rows, 16), generator=generator),
        "prompt_mask": torch.ones(rows, 16, dtype=torch.long),
        "completion_ids": torch.randint(2, vocab, (rows, TOKENS), generator=generator),
        "completion_mask": mask,
        "ref_per_token_logps": -torch.rand(rows, TOKENS, generator=generator),
        "old_per_token_logps": -torch.rand(rows, TOKENS, generator=generator),
        "num_items_in_batch": mask.sum(),
        "rewards": rewards,  # read by ours
        "groups": torch.arange(rows) // GROUP,
        "advantages": rewards - rewards.mean(),  # read by TRL's
    }

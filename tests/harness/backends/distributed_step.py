"""One optimiser step on a fixed rollout that is split over processes, in each of which `main` runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from tests.harness.backends.test_trl_trainer import GROUP, PROMPTS, declared_with, make_trainer, rollout, step_log
from tests.harness.cases import CASES


def main(arguments: list[str]) -> int:
    """Save for each method, in folder/0.pt and so on, the loss and the gradient, averaged over processes as DDP does,
    and the step's metrics as the first process logs them.

    Args:
        arguments: the model's folder, the folder, the methods.
    """
    model_dir, folder, *methods = arguments
    world, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    dist.init_process_group("gloo", init_method=f"file://{folder}/processes", world_size=world, rank=rank)
    for number, method in enumerate(methods):
        step(model_dir, method, Path(folder) / f"{number}.pt")
    dist.destroy_process_group()
    return 0


def step(model_dir: str, method: str, out: Path) -> None:
    world, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    declared = declared_with(CASES[method])
    trainer = make_trainer(declared, Path(model_dir), out.parent, micro_batch=2, processes=world)
    fixed = rollout(trainer.model.config.vocab_size, declared)
    rows = PROMPTS * GROUP // world
    part: dict[str, Any] = {key: value[rank * rows : (rank + 1) * rows] for key, value in fixed.items()}
    # each process pads to its own longest response
    width = int(part["completion_mask"].sum(1).max())
    part = {k: v[:, :width] if v.dim() == 2 and not k.startswith("prompt") else v for k, v in part.items()}
    trainer._generate_and_score_completions = lambda _: dict(part)
    trainer.model.train()
    total = torch.zeros(())
    for position in range(trainer.args.gradient_accumulation_steps):
        trainer._step = position
        loss = trainer.compute_loss(trainer.model, trainer._prepare_inputs(None))
        loss.backward()
        total += loss.detach() / world
    gradient = [p.grad for p in trainer.model.parameters()]
    for tensor in (total, *gradient):
        dist.all_reduce(tensor)
    if rank == 0:
        made = {"loss": total.item(), "gradient": [g / world for g in gradient], "metrics": step_log(trainer)}
        torch.save(made, out)
    dist.barrier()

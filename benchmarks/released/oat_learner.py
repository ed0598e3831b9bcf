"""Drives the update step of a learner on oat."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest import mock

import torch
from torch import Tensor

from benchmarks.released.batches import Drawn, flat_gradient
from benchmarks.released.drivers import Driven, no_gpu
from benchmarks.released.script import arguments
from benchmarks.released.stubs import Stubs, load


@dataclass(frozen=True)
class OatLearner:
    """`ZeroMathLearner.learning_step` on oat's PPO, with the arguments of its run script.

    Args:
        script: path of the run script. entry: the file that it runs. module: the module of that file.
        framework: the folder of oat's checkout, beside this one.
        read: the script's arguments that the loss reads: name -> type.
    """

    script: str
    entry: str
    module: str
    framework: str
    read: tuple[tuple[str, type], ...]

    def start(self, root: Path, stubs: Stubs, driven: Driven) -> Callable[[Drawn, int], Tensor]:
        module = load(self.module, [root, root.parent / self.framework], stubs)
        ppo = __import__("oat.algorithms.ppo", fromlist=["ppo"])
        given = flags(arguments((root / self.script).read_text(encoding="utf-8"), self.entry))
        values = {f.name: f.default for f in dataclasses.fields(module.ZeroMathArgs)}
        values = {name: value for name, value in values.items() if value is not dataclasses.MISSING}
        for name, kind in self.read:
            if name in given:
                values[name] = kind(given[name])
            driven.values[name] = str(values.get(name))

        def gradient(drawn: Drawn, passes: int) -> Tensor:
            batch, leaves = drawn.with_gradient()
            for step in batch.steps():
                size = len(step.rewards) // passes if passes else 1
                group = len(step.rewards) // len(step.groups.unique())
                settings = {**values, "num_samples": group, "train_batch_size_per_device": size}
                with ExitStack() as stack:
                    no_gpu(stack)
                    _learn(module, ppo, stack, SimpleNamespace(**settings), step)
            return flat_gradient(leaves)

        return gradient


def flags(words: list[str]) -> dict[str, str]:
    """--name value pairs. A flag without a value is "True"."""
    values: dict[str, str] = {}
    for word, after in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--"):
            values[word[2:].replace("-", "_")] = "True" if after.startswith("--") else after
    return values


def _learn(module: ModuleType, ppo: ModuleType, stack: ExitStack, settings: SimpleNamespace, step: Drawn) -> None:
    """`learning_step` on one rollout, in float32, as oat computes. The optimiser gets the mean over its passes."""
    import numpy

    rows, length = step.mask.shape
    passes = rows // settings.train_batch_size_per_device
    learner = object.__new__(module.ZeroMathLearner)
    # The authors' _init chooses the aggregator. Only the base class's part and the data set are left out.
    stack.enter_context(mock.patch.object(ppo.PPOLearner, "_init", return_value=None))
    stack.enter_context(mock.patch.object(module, "load_from_disk", return_value={}))
    stack.enter_context(mock.patch.object(numpy.random, "permutation", numpy.arange))
    stack.enter_context(mock.patch("os.makedirs", return_value=None))
    settings.eval_data, settings.test_split = None, "all"
    passes_run = 0

    class Strategy:
        grad_acc_step = 10**9  # the optimiser never steps

        def is_rank_0(self) -> bool:
            return True

        def backward(self, loss: Tensor, *_: object) -> None:
            nonlocal passes_run
            passes_run += 1
            (loss.sum() / passes).backward()

        def optimizer_step(self, *_: object) -> None: ...

        def get_gradient_norm(self, *_: object) -> float:
            return 0.0

    def log_probabilities(logits: Tensor, ids: Tensor, masks: Tensor) -> Tensor:
        source = step.logp if torch.is_grad_enabled() else step.old_logp.detach()
        return source[ids[:, 0]][:, : masks.shape[1]].float() * masks

    learner.__dict__["strategy"] = Strategy()
    learner._init(settings, [])
    learner.__dict__.update(
        get_batch_logps=log_probabilities,
        model=lambda ids, attention_mask=None: {"logits": torch.zeros(*ids.shape, 3)},
        ref_model=None,
        critic=None,
        optimizer=None,
        scheduler=None,
    )
    ids = torch.arange(rows)[:, None].expand(rows, length + 1).clone()
    trajectory = {
        "input_ids": ids,
        "attention_mask": torch.cat([torch.ones(rows, 1, dtype=torch.long), step.mask.long()], 1),
        "rewards": [[float(reward)] for reward in step.rewards],
        "prompt_ids_lens": [1] * rows,
        "loss_masks": [True] * rows,
    }
    try:
        learner.learning_step(trajectory)
    except RuntimeError as error:
        # After its last backward it takes the largest gradient norm of its optimiser steps, of which there are none.
        if passes_run < passes or "max()" not in str(error):
            raise

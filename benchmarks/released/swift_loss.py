"""Drives the loss of ms-swift's GRPO trainer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest import mock

from torch import Tensor

from benchmarks.released.batches import Drawn, flat_gradient
from benchmarks.released.drivers import Driven
from benchmarks.released.oat_learner import flags
from benchmarks.released.script import arguments
from benchmarks.released.stubs import Stubs, answer, load
from benchmarks.released.trl_loss import OneProcess

if TYPE_CHECKING:
    from trl import GRPOTrainer

FOLDERS = "modelscope.hub.utils.utils", "get_cache_dir", "/nowhere"  # asked for while importing, for downloads


@dataclass(frozen=True)
class SwiftLoss:
    """`GRPOTrainer._compute_loss_and_metrics`, with the arguments of a run script.

    Args:
        script: path of the run script. read: the script's arguments that the loss reads: name -> type. The others have
            the defaults of `GRPOConfig`.
    """

    script: str
    read: tuple[tuple[str, type], ...]

    def start(self, root: Path, stubs: Stubs, driven: Driven) -> Callable[[Drawn, int], Tensor]:
        import trl.trainer.grpo_trainer  # noqa: F401  before a stub of vLLM is there, which TRL would ask for a version

        answer(*FOLDERS, stubs)
        trainer_class = load("swift.rlhf_trainers.grpo_trainer", [root], stubs).GRPOTrainer
        config = load("swift.rlhf_trainers.arguments", [root], stubs).GRPOConfig
        values = {f.name: f.default for f in dataclasses.fields(config) if f.default is not dataclasses.MISSING}
        given = flags(arguments((root / self.script).read_text(encoding="utf-8"), "rlhf"))
        for name, kind in self.read:
            if name in given:
                values[name] = given[name] == "true" if kind is bool else kind(given[name])
            driven.values[name] = str(values[name])

        def gradient(drawn: Drawn, passes: int) -> Tensor:
            if passes != 1:
                raise ValueError(f"passes: expected 1, got {passes}")
            batch, leaves = drawn.with_gradient()
            for step in batch.steps():
                trainer = self._trainer(trainer_class, SimpleNamespace(**values), step)
                loss, _ = trainer_class._compute_loss_and_metrics(trainer, trainer.model, {}, self._batch(step))
                loss.backward()
            return flat_gradient(leaves)

        return gradient

    def _trainer(self, trainer_class: type[GRPOTrainer], values: SimpleNamespace, step: Drawn) -> mock.MagicMock:
        """A trainer without a model, whose settings the authors' own method reads from the arguments."""
        trainer = mock.MagicMock()
        trainer.args = values
        trainer_class._prepare_algorithm_params(trainer)
        trainer.beta, trainer.num_generations = values.beta, len(step.rewards) // len(step.groups.unique())
        trainer.compute_entropy = trainer._has_teacher = False
        trainer.disable_rollout_importance_sampling, trainer.sdar_loss_coef = True, 0.0
        trainer.chord_sft_iterator, trainer.accelerator = None, OneProcess()
        trainer._get_per_token_logps_and_entropies = lambda *_, **__: (step.logp, step.entropies)
        trainer._compute_fipo_influence = lambda *a: trainer_class._compute_fipo_influence(trainer, *a)
        return trainer

    def _batch(self, step: Drawn) -> SimpleNamespace:
        return SimpleNamespace(
            completion_mask=step.mask,
            truncated_mask=step.mask.new_zeros(len(step.mask)),
            advantages=step.advantages,
            old_per_token_logps=step.old_logp,
            ref_per_token_logps=step.old_logp,
            rollout_per_token_logps=None,
            teacher_per_token_logps=None,
            num_items_in_batch=step.mask.sum(),
        )

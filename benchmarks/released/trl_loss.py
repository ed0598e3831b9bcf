"""Drives the loss of the installed TRL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from torch import Tensor

from benchmarks.released.batches import Drawn, flat_gradient
from benchmarks.released.drivers import Driven, Settings
from benchmarks.released.stubs import Stubs

if TYPE_CHECKING:
    from trl import GRPOTrainer


class OneProcess:
    """The accelerator of a single process: what it gathers is what it has."""

    num_processes = 1
    process_index = 0
    device = "cpu"

    def gather(self, values: Tensor) -> Tensor:
        return values

    gather_for_metrics = gather

    def reduce(self, values: Tensor, **_: object) -> Tensor:
        return values

    def pad_across_processes(self, values: Tensor, **_: object) -> Tensor:
        return values


@dataclass(frozen=True)
class TrlLoss:
    """`GRPOTrainer._compute_loss` of the installed TRL.

    Args:
        settings: of the trainer, such as loss_type.
    """

    settings: Settings

    def start(self, root: Path, stubs: Stubs, driven: Driven) -> Callable[[Drawn, int], Tensor]:
        from trl import GRPOTrainer

        driven.values.update({key: str(value) for key, value in self.settings})

        def gradient(drawn: Drawn, passes: int) -> Tensor:
            batch, leaves = drawn.with_gradient()
            for step in batch.steps():
                size = len(step.rewards) // passes
                for at in range(0, len(step.rewards), size):
                    rows = step.rows(slice(at, at + size))
                    trainer = self._trainer(GRPOTrainer, passes, rows)
                    GRPOTrainer._compute_loss(trainer, trainer.model, self._inputs(step, rows)).backward()
            return flat_gradient(leaves)

        return gradient

    def _trainer(self, trainer_class: type[GRPOTrainer], passes: int, rows: Drawn) -> mock.MagicMock:
        """A trainer without a model. A value that it reads only to log is a double."""
        trainer = mock.MagicMock(spec=trainer_class)
        given: dict[str, object] = {
            "aux_loss_enabled": False,
            "top_entropy_quantile": 1.0,
            "off_policy_mask_threshold": None,
            "importance_sampling_level": "token",
            "beta": 0.0,
            "use_vllm": False,
            "epsilon_low": 0.2,
            "_entropy_bonus_enabled": False,
            "current_gradient_accumulation_steps": passes,
            "args": mock.MagicMock(delta=None, steps_per_generation=passes),
            "accelerator": OneProcess(),
            "_metrics": mock.MagicMock(),
            "model": mock.MagicMock(training=True),
            "_get_per_token_logps_and_entropies": lambda *_, **__: (rows.logp, rows.entropies, None),
            "get_high_entropy_mask": lambda *a: trainer_class.get_high_entropy_mask(trainer, *a),
            **dict(self.settings),
        }
        for name, value in given.items():
            setattr(trainer, name, value)
        return trainer

    def _inputs(self, step: Drawn, rows: Drawn) -> dict[str, Tensor]:
        mask = rows.mask.long()
        empty = mask[:, :0]
        return {
            "prompt_ids": empty,
            "prompt_mask": empty,
            "completion_ids": mask,
            "completion_mask": mask,
            "advantages": rows.advantages[:, 0],
            "old_per_token_logps": rows.old_logp,
            "num_items_in_batch": step.mask.sum(),
        }

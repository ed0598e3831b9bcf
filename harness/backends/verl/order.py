"""The order for the processes of a training, in addition to veRL's configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.backends.verl.hardware import VerlHardware
from harness.command.watch import due
from harness.spec import Experiment


@dataclass(frozen=True)
class Order:
    """One training.

    Args:
        base_model: a folder or a hub id. out_dir: holds the rows, and gets steps and checkpoints. rows: how many
            training prompts there are. policy: of answer extraction. vocab_size: of the model's output.
        end_tokens: ids that end a response. One whose last token is another was cut off.
        stop: texts that end a response too. resume_from: a checkpoint. scratch: Ray's folder.
    """

    experiment: Experiment
    base_model: str
    out_dir: Path
    hardware: VerlHardware
    seed: int
    rows: int
    policy: str
    vocab_size: int
    end_tokens: tuple[int, ...]
    stop: tuple[str, ...] = ()
    resume_from: Path | None = None
    scratch: Path = Path()

    @property
    def steps(self) -> int:
        """Optimiser steps of the whole training."""
        return self.experiment.steps(self.rows)

    def snapshot_step(self, rollouts: int) -> int | None:
        """The optimiser step after so many rollouts, if its model is to be kept for an evaluation."""
        updates, every = self.experiment.updates_per_rollout.value, self.hardware.snapshot_every
        return rollouts * updates if every and due(rollouts * updates, every, updates) else None

"""How far a slow step is: a line every 30 s while it samples and updates, above the bar of a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

EVERY_S = 30.0  # since the last line


class Pulse:
    """Counts the forward passes of the trained model by the calls of its embedding.

    A pass without gradients samples one token of every response that is not ended (or reads a policy's
    log-probabilities); one with gradients is that of a micro-batch.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.last = self.began = time.monotonic()
        self.at: tuple[int, bool] | None = None  # step, and whether it updates
        self.passes = 0
        trainer.model.get_input_embeddings().register_forward_pre_hook(self)

    def __deepcopy__(self, _: Any) -> Pulse:
        """The copy of a model, made to merge an adapter, must not copy its trainer."""
        return self

    def __call__(self, *_: Any) -> None:
        import torch
        from tqdm import tqdm

        now, state = time.monotonic(), self.trainer.state
        at = (state.global_step + 1, torch.is_grad_enabled())
        if at != self.at:
            self.at, self.began, self.passes = at, now, 0
        self.passes += 1
        if now - self.last < EVERY_S:
            return
        self.last = now
        step, updates = at
        what = f"update, micro-batch {self.passes}" if updates else f"sampling, {self.passes} passes"
        line = f"    step {step}/{state.max_steps}: {what} after {now - self.began:.0f} s"
        tqdm.write(line, file=sys.stderr)
        sys.stderr.flush()

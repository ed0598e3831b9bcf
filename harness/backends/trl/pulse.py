"""How far a slow step is: a line every 30 s while it samples and updates, above the bar of a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

EVERY_S = 30.0  # since the last line, or since the step began


class Pulse:
    """Counts the forward passes of the trained model by the calls of its embedding.

    While the trainer samples (`trainer.phase`), a pass is one token of every response that is not ended. Other passes
    are of a micro-batch: with gradients its update, without them log-probabilities for the method.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.last = time.monotonic()
        self.step = -1
        self.passes: dict[str, int] = {}  # of this step, by phase
        self.began: dict[str, float] = {}
        trainer.model.get_input_embeddings().register_forward_pre_hook(self)

    def __deepcopy__(self, _: Any) -> Pulse:
        """The copy of a model, made to merge an adapter, must not copy its trainer."""
        return self

    def __call__(self, *_: Any) -> None:
        import torch
        from tqdm import tqdm

        now, state, args = time.monotonic(), self.trainer.state, self.trainer.args
        if state.global_step != self.step:
            self.step, self.last, self.passes, self.began = state.global_step, now, {}, {}
        phase = "update" if torch.is_grad_enabled() else self.trainer.phase or "log-probabilities"
        done = self.passes[phase] = self.passes.get(phase, 0) + 1
        began = self.began.setdefault(phase, now)
        if now - self.last < EVERY_S:
            return
        self.last = now
        if phase == "update":
            how_far = f"micro-batch {done} of {args.gradient_accumulation_steps}"
        elif phase == self.trainer.phase:
            how_far = f"{done} of at most {self.trainer.max_completion_length} tokens"
        else:
            how_far = f"{done} {'pass' if done == 1 else 'passes'}"
        line = f"    step {self.step + 1}/{state.max_steps}: {phase}, {how_far} after {now - began:.0f} s"
        tqdm.write(line, file=sys.stderr)
        sys.stderr.flush()

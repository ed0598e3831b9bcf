"""How far a slow step is: a line every 30 s while it samples and updates, above the bar of a terminal."""

from __future__ import annotations

import threading
import time
from typing import Any

from evals.log import logger

EVERY_S = 30.0  # since the last line, or since the step began
PASSES = ("update", "log-probabilities")  # phases of a micro-batch. The trainer names the others, and their end
LOOK_S = 1.0  # between two looks whether a line is due


class Pulse:
    """A context in which a slow step of a trainer says how far it is.

    The trainer names its phases (`trainer.phase`): sampling, rewards, the reference model's passes. The pulse also
    counts the forward passes of the trained model by the calls of its embedding. While the trainer samples, a pass is
    one token of every response that is not ended. Passes outside a named phase are of a micro-batch: with gradients its
    update, without them log-probabilities for the method. A thread of its own speaks, since one pass of a CPU can take
    minutes.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.last = time.monotonic()
        self.step, self.phase = -1, ""
        self.passes: dict[str, int] = {}  # this step's, by phase
        self.began: dict[str, float] = {}
        self.over, self.lock = threading.Event(), threading.Lock()
        self.thread = threading.Thread(target=self._speak, name="pulse", daemon=True)

    def __enter__(self) -> Pulse:
        self.hook = self.trainer.model.get_input_embeddings().register_forward_pre_hook(self)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hook.remove()
        self.over.set()
        self.thread.join()

    def __deepcopy__(self, _: object) -> Pulse:
        """The copy of a model, made to merge an adapter, must not copy its trainer."""
        return self

    def __call__(self, *_: object) -> None:
        """A pass of the model begins."""
        import torch

        phase = "update" if torch.is_grad_enabled() else self.trainer.phase or "log-probabilities"
        with self.lock:
            self._enter(phase)
            self.passes[phase] = self.passes.get(phase, 0) + 1

    def _enter(self, phase: str) -> None:
        """A phase is under way: the first look at it is its beginning."""
        now, step = time.monotonic(), self.trainer.state.global_step
        if step != self.step:
            self.step, self.last, self.passes, self.began = step, now, {}, {}
        self.phase = phase
        self.began.setdefault(phase, now)

    def line(self) -> str | None:
        """The line about what is under way, if 30 s have passed since the last line, or None before, and between two
        steps."""
        now, state, args = time.monotonic(), self.trainer.state, self.trainer.args
        with self.lock:
            if named := self.trainer.phase:  # also without a pass of the model: rewards, vLLM, another model
                self._enter(named)
            if now - self.last < EVERY_S or state.global_step != self.step or self.phase not in (named, *PASSES):
                return None
            self.last, phase = now, self.phase
            count, seconds = self.passes.get(phase, 0), now - self.began[phase]
        if phase == "update":
            how_far = f"micro-batch {count} of {args.gradient_accumulation_steps}"
        elif phase == "log-probabilities":
            how_far = f"{count} {'pass' if count == 1 else 'passes'}"
        else:
            how_far = f"{count} of at most {self.trainer.max_completion_length} tokens"
        how_far = f", {how_far}" if count else ""
        return f"    step {self.step + 1}/{state.max_steps}: {phase}{how_far} after {seconds:.0f} s"

    def _speak(self) -> None:
        while not self.over.wait(LOOK_S):
            if line := self.line():
                logger.info(line)

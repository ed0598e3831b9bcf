"""The live line of an evaluation: a bar on a terminal, else a line every 30 s with what is new. Trouble at once."""

from __future__ import annotations

import threading
import time
from typing import Any

from evals.log import logger, on_terminal

EVERY_S = 30.0  # between two lines without a terminal
REFRESH_S = 0.5  # seconds between two states of the bar
LOOK_S = 1.0  # between two looks whether a line is due


class Live:
    """Shows on stderr how many samples of a benchmark are stored, and the tokens of the batch under way.

    Args:
        total: samples in all. count: of these, stored before. shown: whether anything is shown.
    """

    def __init__(self, name: str, total: int, count: int, *, shown: bool) -> None:
        from tqdm import tqdm

        self._name, self._total, self._done, self._tokens, self._trouble = name, total, count, 0, ""
        self._before = count
        self._lines = shown and not on_terminal()
        self._started = self._last = time.monotonic()
        self._troubled = -EVERY_S  # the last time that trouble was shown: the first is said at once
        self._over, self._lock = threading.Event(), threading.RLock()
        self._bar: Any = None
        if shown and not self._lines:
            self._bar = tqdm(desc=name, unit="sample", total=total, initial=count, mininterval=REFRESH_S)

    def __enter__(self) -> Live:
        if self._lines:  # an engine can take minutes before its first token
            threading.Thread(target=self._look, name="progress", daemon=True).start()
        return self

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            self._show()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The bar stays as it is, and no line comes any more."""
        self._over.set()
        if self._bar is not None:
            self._bar.close()

    @property
    def state(self) -> str:
        """ "after 3 of 8 samples of aime24"."""
        return f"after {self._done} of {self._total} samples of {self._name}"

    def tokens(self, count: int, trouble: str = "") -> None:
        """The batch under way has so many tokens. `trouble`: what holds it up, in words."""
        self._tokens, self._trouble = count, trouble
        self._show()

    def stored(self, samples: int) -> None:
        """So many samples more are stored, and the next batch begins."""
        self._done, self._tokens = self._done + samples, 0
        if self._bar is not None:
            self._bar.set_postfix_str("", refresh=False)
            self._bar.update(samples)
        self._show()

    def _show(self) -> None:
        with self._lock:
            self._show_now()

    def _show_now(self) -> None:
        now = time.monotonic()
        new_trouble = self._trouble and now - self._troubled >= EVERY_S
        if now - self._last < (EVERY_S if self._lines and not new_trouble else REFRESH_S):
            return
        self._last = now
        if self._trouble:
            self._troubled = now
        under_way = f"{self._tokens:,} tokens of this batch" if self._tokens else ""
        under_way = f"asking again ({self._trouble})" if self._trouble else under_way
        if self._bar is not None:
            self._bar.set_postfix_str(under_way)
        elif self._lines:
            so_far = f"{self._done} of {self._total} samples" + (f", {under_way}," if under_way else "")
            logger.info(f"{self._name}: {so_far} after {_clock(now - self._started)}{self._left(now)}")

    def _left(self, now: float) -> str:
        """The time that the missing samples take at the speed so far. Empty before this call has stored one."""
        stored = self._done - self._before
        seconds = (now - self._started) * (self._total - self._done) / stored if stored else 0.0
        return f", about {_clock(seconds)} left" if seconds else ""


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"

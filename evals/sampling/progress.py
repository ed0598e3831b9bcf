"""Progress on stderr: a bar on a terminal, a plain line now and then elsewhere.

An evaluation shows problems, samples, tokens per second, pass@1 with its interval, and time left. Without `show`
nothing is printed or computed.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import Any

from evals.grading.verdicts import Verdict
from evals.sampling.engines import Completion
from evals.sampling.engines.base import Key

LINES_S = 30.0  # seconds between plain lines


class Bar:
    """Progress of `total` items on stderr.

    Args:
        done: items done by an earlier run. unit: the plural of the item's name.
        last: whether a plain line is printed at the end too.
    """

    def __init__(
        self,
        name: str,
        total: int,
        *,
        done: int = 0,
        unit: str = "samples",
        last: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._total, self._unit, self._last, self._clock = name, total, unit, last, clock
        self._done, self._printed = done, clock()
        self._text: Callable[[], str] = str
        bar: tuple[Any, Any] = _rich_bar(name, total, done) if sys.stderr.isatty() else (None, None)
        self._live, self._task = bar

    def update(self, done: int, text: Callable[[], str] = str) -> None:
        """Set the number done; `text` returns further text and is called only when something is shown."""
        self._done, self._text = done, text
        if self._live is not None:
            self._live.update(self._task, completed=done, text=text())
        elif self._clock() - self._printed >= LINES_S:
            self._line()

    def close(self) -> None:
        """End the bar, or print the last line."""
        if self._live is not None:
            self._live.stop()
        elif self._last:
            self._line()

    def _line(self) -> None:
        self._printed = self._clock()
        parts = [f"{self._done}/{self._total} {self._unit}", self._text()]
        print(f"{self._name}: {', '.join(part for part in parts if part)}", file=sys.stderr, flush=True)


def _rich_bar(name: str, total: int, done: int) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    )
    live = Progress(*columns, console=Console(stderr=True), redirect_stdout=False)
    task = live.add_task(name, total=total, completed=done, text="")
    live.start()
    return live, task


@contextmanager
def grading_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Shows how far a file is graded: called with (done, all) rows. Without a terminal, a short grading is silent."""
    bars: list[Bar] = []

    def report(done: int, total: int) -> None:
        if not bars:
            bars.append(Bar(name, total, unit="rows", last=False))
        bars[0].update(done)

    try:
        yield report
    finally:
        for bar in bars:
            bar.close()


class Progress:
    """The bar of one benchmark of `problems` problems with `n` samples each.

    Args:
        kept: samples of an earlier run; they count as done and not in the rates.
        show: whether to show anything.
        clock: seconds, for the rates.
    """

    def __init__(
        self, name: str, problems: int, n: int, kept: int, show: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._problems, self._n, self._clock = problems, n, clock
        self._begin = clock()
        self._sampled: Counter[str] = Counter()
        self._tokens = 0
        self._correct: dict[str, list[bool]] = {}
        self._done = kept
        self._bar = Bar(name, problems * n, done=kept, clock=clock) if show else None

    def sampled(self, completions: Sequence[Completion], *, kept: bool = False) -> None:
        """Count samples from the engine, or (`kept`) from an earlier run."""
        self._sampled.update(completion.key[0] for completion in completions)
        if not kept:
            self._tokens += sum(completion.tokens for completion in completions)
            self._done += len(completions)
            if self._bar is not None:
                self._bar.update(self._done, self.text)

    def graded(self, verdicts: Iterable[tuple[Key, Verdict]]) -> None:
        """Count verdicts."""
        if self._bar is None:
            return
        for (problem, _), verdict in verdicts:
            if verdict != Verdict.UNSCORED:
                self._correct.setdefault(problem, []).append(verdict == Verdict.CORRECT)
        self._bar.update(self._done, self.text)

    def text(self) -> str:
        """The text behind the bar."""
        whole = sum(count == self._n for count in self._sampled.values())
        seconds = self._clock() - self._begin
        parts = [f"problems {whole}/{self._problems}"]
        if self._tokens and seconds > 0:
            parts.append(f"{self._tokens / seconds:,.0f} tokens/s")
        if self._correct:
            parts.append(pass_at_1(self._correct))
        return ", ".join(parts)

    def close(self) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.close()


def pass_at_1(correct: Mapping[str, Sequence[bool]]) -> str:
    """pass@1 of the problems that have a scored sample so far, with its 95 % interval over problems."""
    from evals.stats.intervals import over_problems
    from evals.stats.score import bounds_text

    rates = [fmean(samples) for samples in correct.values()]
    interval = over_problems(rates)
    ends = "" if interval is None else f" {bounds_text(interval, 100)}"
    return f"pass@1={fmean(rates):.1%}{ends}"

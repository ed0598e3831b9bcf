"""The progress bars on stderr: of an evaluation, with tokens per second and pass@1 so far, and of a grading."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean

from evals.grading.verdicts import Verdict
from evals.sampling.engines import Completion
from evals.sampling.engines.base import Key

LINES_S = 30.0  # seconds between two states of a bar without a terminal


@contextmanager
def grading_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Shows on a terminal how far a file is graded: called with (done, all) rows."""
    from tqdm import tqdm

    with tqdm(desc=name, unit="row", disable=not sys.stderr.isatty()) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report


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
        from tqdm import tqdm

        self._problems, self._n, self._clock = problems, n, clock
        self._begin = clock()
        self._sampled: Counter[str] = Counter()
        self._tokens = 0
        self._correct: dict[str, list[bool]] = {}
        pause = 0.5 if sys.stderr.isatty() else LINES_S
        self._bar = tqdm(
            desc=name, total=problems * n, initial=kept, unit="sample", mininterval=pause, disable=not show
        )

    def sampled(self, completions: Sequence[Completion], *, kept: bool = False) -> None:
        """Count samples from the engine, or (`kept`) from an earlier run."""
        self._sampled.update(completion.key[0] for completion in completions)
        if not kept:
            self._tokens += sum(completion.tokens for completion in completions)
            self._bar.update(len(completions))

    def graded(self, verdicts: Iterable[tuple[Key, Verdict]]) -> None:
        """Count verdicts."""
        if self._bar.disable:
            return
        for (problem, _), verdict in verdicts:
            if verdict != Verdict.UNSCORED:
                self._correct.setdefault(problem, []).append(verdict == Verdict.CORRECT)
        self._bar.set_postfix_str(self.text(), refresh=False)

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
        self._bar.close()


def pass_at_1(correct: Mapping[str, Sequence[bool]]) -> str:
    """pass@1 of the problems that have a scored sample so far, with its 95 % interval over problems."""
    from evals.stats.intervals import over_problems
    from evals.stats.score import bounds_text

    rates = [fmean(samples) for samples in correct.values()]
    interval = over_problems(rates)
    ends = "" if interval is None else f" {bounds_text(interval, 100)}"
    return f"pass@1={fmean(rates):.1%}{ends}"

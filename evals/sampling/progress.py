"""What an evaluation shows while it runs: problems, samples, tokens a second, pass@1 with its interval, time left.

Nothing is shown, nor computed, unless it is asked for.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from evals.grading.verdicts import Verdict
from evals.sampling.engines import Completion
from evals.sampling.engines.base import Key


class Progress:
    """A line on stderr for one benchmark of `problems` problems with `n` samples each.

    Args:
        kept: samples that an earlier run left; they count as done, and for nothing in the rates.
        show: whether there is a line at all.
        clock: seconds, for the rates.
    """

    def __init__(
        self, name: str, problems: int, n: int, kept: int, show: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        from tqdm import tqdm

        self._problems, self._n, self._show, self._clock = problems, n, show, clock
        self._begin = clock()
        self._drawn: Counter[str] = Counter()
        self._tokens = 0
        self._right: dict[str, list[bool]] = {}
        self._bar = tqdm(
            total=problems * n, initial=kept, desc=name, unit="sample", disable=not show, file=sys.stderr, smoothing=0
        )

    def drawn(self, completions: Sequence[Completion], *, kept: bool = False) -> None:
        """Samples have come, from the engine or from an earlier run."""
        self._drawn.update(completion.key[0] for completion in completions)
        if not kept:
            self._tokens += sum(completion.tokens for completion in completions)
            self._bar.update(len(completions))

    def graded(self, verdicts: Iterable[tuple[Key, Verdict]]) -> None:
        """Samples have their verdicts."""
        if not self._show:
            return
        for (problem, _), verdict in verdicts:
            if verdict != Verdict.UNSCORED:
                self._right.setdefault(problem, []).append(verdict == Verdict.CORRECT)
        self._bar.set_postfix_str(self.text())

    def text(self) -> str:
        """What stands behind the bar."""
        whole = sum(count == self._n for count in self._drawn.values())
        seconds = self._clock() - self._begin
        parts = [f"problems {whole}/{self._problems}"]
        if self._tokens and seconds > 0:
            parts.append(f"{self._tokens / seconds:,.0f} tokens/s")
        if self._right:
            parts.append(pass_at_1(self._right))
        return ", ".join(parts)

    def close(self) -> None:
        """Leave the line as it is."""
        self._bar.close()


def pass_at_1(right: Mapping[str, Sequence[bool]]) -> str:
    """pass@1 of the problems that have a scored sample so far, with its 95 % interval over problems."""
    from evals.stats.intervals import over_problems

    rates = [fmean(samples) for samples in right.values()]
    interval = over_problems(rates)
    ends = "" if interval is None else f" [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
    return f"pass@1={fmean(rates):.1%}{ends}"

"""The progress bars on stderr: of an evaluation, with its tokens per second, and of a grading."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from evals.sampling.engines import Completion

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


@contextmanager
def sampling_bar(name: str, samples: int, kept: int, show: bool) -> Iterator[Callable[[Sequence[Completion]], None]]:
    """Shows how many of the `samples` of a benchmark are done: called with each new batch.

    Args:
        kept: samples of an earlier run; they count as done and not in the rates.
    """
    from tqdm import tqdm

    begin, tokens = time.monotonic(), 0
    pause = 0.5 if sys.stderr.isatty() else LINES_S
    with tqdm(desc=name, total=samples, initial=kept, unit="sample", mininterval=pause, disable=not show) as bar:

        def report(completions: Sequence[Completion]) -> None:
            nonlocal tokens
            tokens += sum(completion.tokens for completion in completions)
            bar.set_postfix_str(f"{tokens / max(time.monotonic() - begin, 1e-9):,.0f} tokens/s", refresh=False)
            bar.update(len(completions))

        yield report

"""The reasons why the scores of a training mislead, as its record has them."""

from __future__ import annotations

from collections.abc import Sequence

from harness.record.run import Run
from harness.step.learning import LIMITS, UNMOVED, warnings

NOT_COUNTED = ", so it does not count for its arm"


def cautions(seeds: Sequence[Run], unmoved: str = NOT_COUNTED) -> list[str]:
    """A sentence, without its full stop, for each reason: a training that moved no weight, problems of a benchmark
    among the training problems, or responses that the training could not learn from (`harness.step.learning`).

    Args:
        seeds: of one method.
        unmoved: what follows from weights that did not move. "" where the run counts all the same.
    """
    still = [str(run.seed) for run in seeds if run.trained_nothing]
    overlaps = dict.fromkeys(line for run in seeds for line in run.overlap.values())
    return [
        *([f"seed{'s' * (len(still) > 1)} {', '.join(still)} {UNMOVED}{unmoved}"] if still else []),
        *overlaps,
        *warnings([{name: run.metrics(name) for name in LIMITS} for run in seeds]),
    ]

"""The declaration of rejection-sampling fine-tuning: rounds of sample, filter, select, fine-tune. Trains nothing.

A paper brings its own filters and its own selection, each a function of ours with sourced values (`harness.spec.use`):

    filter      Sample -> Sample (kept, perhaps changed) or None (dropped), applied in their order
    selection   Pool -> the samples to fine-tune on
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from evals.provenance import Sourced
from harness.errors import UsageError
from harness.spec import Finetune, Use
from harness.spec.ranges import Count, Positive, Share


@dataclass(frozen=True)
class Sample:
    """One graded response. `correct` is None if it could not be scored.

    `mean_entropy` (nats) and `mean_branching` are means over the response's tokens under the model that sampled it
    (`evals.analysis.token_pass`). None until measured.
    """

    problem_id: str
    problem: str
    response: str
    correct: bool | None
    mean_entropy: float | None = None
    mean_branching: float | None = None


@dataclass(frozen=True)
class Pool:
    """The filtered samples of a round, correct and incorrect, from which a selection chooses. Unscored samples are in
    neither list. `size`: how many to select. `rng`: for random choices."""

    correct: tuple[Sample, ...]
    incorrect: tuple[Sample, ...]
    size: int
    rng: random.Random


@dataclass(frozen=True)
class Rejection(Finetune):
    """Rounds of rejection-sampling fine-tuning. Each round's model samples for the next.

    The fields of `Finetune` describe the fine-tuning of one round on the selected samples. `epochs`, `max_steps` and
    the schedule are per round. `dataset` has the problems with their answers.
    """

    filters: tuple[Use, ...]
    select: Use
    rounds: Sourced[Count]
    problems_per_round: Sourced[Count]  # sampled again for each round, without replacement
    samples_per_problem: Sourced[Count]
    rollout_temperature: Sourced[Positive]
    rollout_top_p: Sourced[Share]
    max_completion_tokens: Sourced[Count]
    branching_mass: Sourced[Share]  # probability mass of the tokens that count as branches
    selected: Sourced[Count]  # samples that a round fine-tunes on, at most
    start_from: Sourced[Literal["last", "base"]]  # the weights that a round's fine-tuning starts from

    PARTS: ClassVar[tuple[str, ...]] = ("filters", "select")
    SOLUTIONS: ClassVar[bool] = False
    IN_ROUNDS: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [u.name for u in self.uses()]
        if len(set(names)) != len(names):
            raise UsageError(f"filters: a function appears twice in {names}")

    def uses(self) -> tuple[Use, ...]:
        """Filters, then the selection."""
        return (*self.filters, self.select)

    def settings(self) -> dict[str, Sourced[object]]:
        """Every value by its key. Those of filters and selection as `<function>.<name>`."""
        return super().settings() | {f"{u.name}.{key}": v for u in self.uses() for key, v in u.values.items()}

    def _swapped_parts(self, swap: Callable[[str, Sourced[object]], Sourced[Any]]) -> dict[str, object]:
        return {"filters": tuple(rule.swapped(swap) for rule in self.filters), "select": self.select.swapped(swap)}

    def passed(self, sample: Sample) -> Sample | None:
        """The sample after all filters, or None if one drops it."""
        for rule in self.filters:
            kept: Sample | None = rule(sample)
            if kept is None:
                return None
            sample = kept
        return sample

    def choose(self, samples: Sequence[Sample], rng: random.Random) -> list[Sample]:
        """The selection from samples that passed the filters.

        Raises:
            UsageError: there is nothing to select from.
        """
        correct = tuple(s for s in samples if s.correct is True)
        incorrect = tuple(s for s in samples if s.correct is False)
        chosen: list[Sample] = self.select(Pool(correct, incorrect, self.selected.value, rng))
        if not chosen:
            raise UsageError(
                f"{self.select.name}: expected samples to fine-tune on, got none from {len(correct)} correct and "
                f"{len(incorrect)} incorrect ones that passed the filters. Raise problems_per_round or "
                "samples_per_problem"
            )
        return chosen

    @property
    def sequence_tokens(self) -> int:
        return max(self.max_tokens.value, self.max_completion_tokens.value + 1)

    def equations(self) -> list[str]:
        return [*(u.name for u in self.uses()), *super().equations()]

    def steps(self, rows: int | None = None) -> int:
        """Optimiser steps of rounds with enough samples."""
        return self.rounds.value * self.steps_per_start()

    @property
    def rows_per_start(self) -> int:
        return self.selected.value

    def tokens(self) -> tuple[int, int]:
        samples = self.rounds.value * self.problems_per_round.value * self.samples_per_problem.value
        return samples * self.max_completion_tokens.value, super().tokens()[1]

    def check_rows(self) -> None:
        if self.dataset_rows.value < self.problems_per_round.value:
            raise UsageError(
                f"dataset: expected at least problems_per_round={self.problems_per_round.value} problems, got "
                f"{self.dataset_rows.value} (dataset_rows) in {self.dataset.value!r}"
            )

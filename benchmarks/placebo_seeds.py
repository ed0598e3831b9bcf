"""The study's placebo comparisons and gains, from a subset of the training seeds: do later seeds repeat the result of
the first?

    python -m benchmarks.placebo_seeds 2-9      a Markdown table on stdout, from results/study/records

The corrections are those of the study's page: over all placebo comparisons of a family, and over all its gains in one
metric.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.tables.measured import Measured

RECORDS = Path("results") / "study" / "records"


def parse_seeds(text: str) -> range:
    """ "2-9" -> 2 to 9, both included.

    Raises:
        ValueError: another form, or the first is above the last.
    """
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise ValueError(f"expected FIRST-LAST, for example 2-9, got {text!r}")
    return range(int(first), int(last) + 1)


def with_seeds(measured: Measured, seeds: Collection[int]) -> Measured:
    """The arm with these training seeds only; the untrained base model stays as it is.

    Raises:
        ValueError: none of the seeds has finished.
    """
    if not measured.trained:
        return measured
    kept = tuple(seed for seed in measured.seeds if seed in seeds)
    if not kept:
        raise ValueError(f"{measured.arm}: expected a seed of {sorted(seeds)}, got {list(measured.seeds)}")
    verdicts = {name: table.only(kept) for name, table in measured.verdicts.items()}
    return replace(measured, seeds=kept, verdicts=verdicts)


def main(arguments: list[str]) -> None:
    from evals.stats.score import difference_text, p_text
    from harness.runs.source import ArchivedRuns
    from studies.tiny.design import STUDY
    from studies.tiny.outcomes import gains, measured_arms, placebos
    from studies.tiny.tuning import accuracies, search

    seeds = parse_seeds(" ".join(arguments))
    runs = ArchivedRuns(sorted(RECORDS.glob("*.zip")))
    arms = measured_arms(STUDY, search(STUDY, accuracies(runs, STUDY)).settings, runs)
    chosen = {key: with_seeds(measured, seeds) for key, measured in arms.items()}
    print("| family | difference | metric | seeds | points | p (Holm) | word |\n|" + " --- |" * 7)
    for d in [*placebos(STUDY, chosen), *gains(STUDY, chosen)]:
        line = d.line
        seeds_of = f"{line.seeds_a} and {line.seeds_b}"
        cells = (line.name, seeds_of, difference_text(line), p_text(line.p_holm), line.verdict)
        print(f"| {d.scale} | {d.a} − {d.b} | {' | '.join(cells)} |")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ValueError as error:
        sys.exit(f"error: {error}")

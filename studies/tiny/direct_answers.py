"""How often do models of the study's search family answer without searching, and how often are these answers correct?

    python -m studies.tiny.direct_answers     a Markdown table on stdout, from the study's runs under RLVR_HOME

A response of this family tries expressions ("try 3 + 7 = 10 yes") and then boxes the operators. A response without
"try" is a guess: with two or more operators to choose, it is rarely correct. Needs the responses, which the committed
records do not contain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FAMILY = "tiny_search"
ATTEMPT = "try"


@dataclass(frozen=True)
class Direct:
    """One run: the share of its responses without an attempt, and the accuracy of these and of the others (None: no
    such response)."""

    share: float
    guessed: float | None
    searched: float | None


def direct(responses: Iterable[tuple[str, bool]]) -> Direct:
    """Count the responses (text, correct) of one run.

    Raises:
        ValueError: no response.
    """
    counts: dict[bool, list[bool]] = {True: [], False: []}
    for text, correct in responses:
        counts[ATTEMPT not in text].append(correct)
    total = sum(map(len, counts.values()))
    if not total:
        raise ValueError("expected one response or more, got none")
    guessed, searched = (
        sum(outcomes) / len(outcomes) if outcomes else None for outcomes in (counts[True], counts[False])
    )
    return Direct(len(counts[True]) / total, guessed, searched)


def runs(home: Path) -> dict[str, dict[int, Direct]]:
    """`paper arm` -> training seed -> its responses, counted."""
    from harness.record.run import RECORD, Run

    answers: dict[str, dict[int, Direct]] = defaultdict(dict)
    for record in sorted(home.glob(f"*/{FAMILY}/*/{RECORD}")):
        run = Run(record.parent)
        # a trial of the search has the validation set alone
        if not run.is_finished or run.diverged or len(run.benchmarks) < 2:
            continue
        samples = [run.samples(benchmark) for benchmark in run.benchmarks]
        rows = (row for table in samples for row in zip(table["response"], table["verdict"] == "correct", strict=True))
        answers[f"{run.paper} {run.arm}"][run.seed] = direct(rows)
    return answers


def main() -> int:
    from harness.runs.track import home

    print(
        "| run | seeds | without an attempt, % | correct: without, % | with, % |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for name, seeds in runs(home()).items():
        cells = [
            " / ".join("–" if value is None else f"{100 * value:.1f}" for value in column)
            for column in zip(*((d.share, d.guessed, d.searched) for _, d in sorted(seeds.items())), strict=True)
        ]
        print(f"| {name} | {len(seeds)} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

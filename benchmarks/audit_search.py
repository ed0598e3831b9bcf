"""Does the search of `rlvr audit` find compositions drawn at random, and does it leave numbers of other files alone?

Both are measured on evidence of several kinds, each made anew: verdicts of one to eight samples, responses with our
verdicts, checkpoints, seeds and curves. `benchmarks.audit` writes the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evals.audit import Evidence, Printed, audit
from evals.audit.composition import Composition
from evals.audit.result import NOT_FOUND
from evals.audit.search import Tried, search_in, tried_of
from evals.stats.intervals import Interval, over_problems

DRAWN = 60  # compositions
SETS = 24  # sets of files of each kind, each asked about foreign numbers: the scores of all others, and
ANY = 20  # numbers with one digit, and as many with two
NEAR = 0.1  # a foreign number is within ten points of the file's score
UNEXPLAINED = ("cannot tell", NOT_FOUND)


def verdicts(
    rng: np.random.Generator, problems: int, samples: int = 1, seeds: int = 1, steps: int = 1, responses: bool = False
) -> Evidence:
    """Verdicts of a training that learns, on problems of every difficulty and five levels."""
    rates, levels, tables = rng.beta(0.8, 1.0, problems), rng.integers(1, 6, problems).astype(str), []
    for seed in range(seeds):
        rates_of_seed = np.clip(rates + 0.03 * rng.standard_normal(), 0, 1)
        for step in range(steps):
            learned = rates_of_seed * min(1.0, 0.6 + 0.4 * (step + 1) / max(steps - 2, 1))
            label = (rng.random((problems, samples)) < learned[:, None]).astype(float).ravel()
            problem = np.repeat(np.arange(problems), samples)
            table = pd.DataFrame({"problem_id": problem, "level": levels[problem], "label": label})
            if responses:
                wrong = [f"{i} or {i + rng.integers(1, 4)}" for i in problem]
                table["ours"] = np.where(rng.random(len(label)) < 0.02, 1 - label, label)
                table["strict"] = np.where(rng.random(len(label)) < 0.04, 0, table["ours"])
                table["truncated"] = (rng.random(len(label)) < 0.1) * (1 - label)
                table["answer"] = np.where(label == 1, problem.astype(str), wrong)
            tables.append(table.assign(seed=str(seed), checkpoint=step))
    return Evidence.of_samples(pd.concat(tables, ignore_index=True))


def curves(rng: np.random.Generator, seeds: int, points: int, problems: int | None) -> Evidence:
    """Scores of checkpoints with four digits after the point."""
    rise = 0.2 * np.sqrt(np.arange(points) / points)
    values = rng.uniform(0.2, 0.5) + rise + 0.012 * rng.standard_normal((seeds, points))
    rows = [(str(s), 10 * c, round(float(values[s, c]), 4)) for s in range(seeds) for c in range(points)]
    return Evidence.of_scores(pd.DataFrame(rows, columns=["seed", "checkpoint", "value"]), problems)


KINDS: Mapping[str, Callable[[np.random.Generator], Evidence]] = {
    "200 verdicts": lambda rng: verdicts(rng, 200),
    "200 problems, 8 samples": lambda rng: verdicts(rng, 200, 8),
    "500 responses": lambda rng: verdicts(rng, 500, responses=True),
    "30 problems, 16 responses": lambda rng: verdicts(rng, 30, 16, responses=True),
    "8 checkpoints, 200 problems": lambda rng: verdicts(rng, 200, steps=8),
    "3 seeds of 5 checkpoints": lambda rng: verdicts(rng, 200, seeds=3, steps=5),
    "a curve of 20, 500 problems": lambda rng: curves(rng, 1, 20, 500),
    "three curves of 12, 500 problems": lambda rng: curves(rng, 3, 12, 500),
    "three curves of 40": lambda rng: curves(rng, 3, 40, None),
}
FRUITFUL = ("200 problems, 8 samples", "500 responses", "3 seeds of 5 checkpoints", "a curve of 20, 500 problems")


@dataclass(frozen=True)
class Draw:
    """A composition drawn at random from the grammar of some files, and what the audit said of its number."""

    kind: str
    steps: int
    words: str
    verdict: str
    reading: str
    is_found: bool


def draw(number: int) -> Draw:
    """One composition of one to three steps, each composition of them as likely, whose number no simpler one has. It is
    printed with two digits after the point. It is found if the audit stands by the digits and names it."""
    rng = np.random.default_rng([58, number])
    kind = FRUITFUL[number % len(FRUITFUL)]
    evidence = KINDS[kind](rng)
    tried = tried_of(evidence, Printed("50.00"), None)
    _, first = np.unique(np.round(tried.values, 9), return_index=True)
    new = [i for i in sorted(first) if tried.compositions[i].choices and 0.02 < tried.values[i] < 0.98]
    lengths = np.array([len(tried.compositions[i].choices) for i in new])
    steps = int(rng.choice(np.unique(lengths)))
    chosen = int(rng.choice(np.array(new)[lengths == steps]))
    printed = Printed(f"{100 * tried.values[chosen]:.2f}")
    result, matches = audit(printed, evidence), search_in(tried, printed, evidence).matches
    composition: Composition = tried.compositions[chosen]
    named = result.reading.startswith(composition.words) or composition.words in str(result)
    is_identified = composition in matches and named and result.verdict not in UNEXPLAINED
    return Draw(kind, steps, composition.words, result.in_words, result.reading, is_identified)


SORTS: Mapping[str, int] = {"another model's score": 1, "any number, one digit": 1, "any number, two digits": 2}
OUTCOMES = ("explained", *UNEXPLAINED)


@dataclass(frozen=True)
class Foreign:
    """The verdicts of the search on numbers of no relation to some sets of files of one kind.

    Attributes:
        counts: sort of number -> how many are explained, cannot be told, and are not found.
        explained: [SETS], the share of the numbers that are explained, of each set of files.
    """

    counts: Mapping[str, tuple[int, ...]]
    explained: tuple[float, ...]


def foreign(kind: str, files: int = SETS, numbers: int = ANY) -> Foreign:
    """Another model's score on the same benchmark, and any number within `NEAR` of the file's score, with one and with
    two digits. The numbers of a set of files are searched once, and serve for all that are asked about it."""
    rngs = [np.random.default_rng([58, number, *map(ord, kind)]) for number in range(files)]
    sets = [KINDS[kind](rng) for rng in rngs]
    scores = [float(evidence.last["value"].mean()) for evidence in sets]
    outcomes_of_files: list[list[tuple[str, str]]] = []
    for number, (evidence, rng) in enumerate(zip(sets, rngs, strict=True)):
        tried = tried_of(evidence, Printed("50.0"), None)
        values = {"another model's score": [score for position, score in enumerate(scores) if position != number]}
        for sort in [*SORTS][1:]:
            values[sort] = (scores[number] + rng.uniform(-NEAR, NEAR, numbers)).tolist()
        outcomes_of_files.append(
            [
                (sort, outcome(tried, Printed(f"{100 * np.clip(value, 0.02, 0.98):.{SORTS[sort]}f}"), evidence))
                for sort, numbers_of_sort in values.items()
                for value in numbers_of_sort
            ]
        )
    every = [entry for entries in outcomes_of_files for entry in entries]
    counts = {sort: tuple(every.count((sort, word)) for word in OUTCOMES) for sort in SORTS}
    return Foreign(
        counts,
        tuple(float(np.mean([word == "explained" for _, word in entries])) for entries in outcomes_of_files),
    )


def outcome(tried: Tried, printed: Printed, evidence: Evidence) -> str:
    """Whether the audit stands by the digits, with or without a choice, else its verdict, which rests on the search."""
    match = search_in(tried, printed, evidence)
    return "explained" if match.explained else NOT_FOUND if match.first is None else "cannot tell"


def drawn_rows(draws: Sequence[Draw]) -> list[tuple[str, str, str, str]]:
    """The rows of a table: kind of evidence, composition, verdict, whether it was found."""
    return [(case.kind, case.words, case.verdict, "yes" if case.is_found else "no") for case in draws]


def foreign_rows(foreign_by_kind: Mapping[str, Foreign]) -> list[tuple[str, ...]]:
    """The rows of a table: kind, sort of number, how many, explained, cannot tell, not found. The last rows have all
    kinds."""
    rows = [
        (kind, sort, sum(counts), *counts)
        for kind, counts_of_kind in foreign_by_kind.items()
        for sort, counts in counts_of_kind.counts.items()
    ]
    every = [(sort, [row[2:] for row in rows if sort in ("", row[1])]) for sort in (*SORTS, "")]
    totals = [("all", sort, *np.sum(counts, axis=0).tolist()) for sort, counts in every]
    return [tuple(map(str, row)) for row in (*rows, *totals)]


def explained_share(foreign_by_kind: Mapping[str, Foreign]) -> tuple[float, Interval]:
    """The share of all foreign numbers that are explained, with its 95 % interval over the sets of files."""
    shares = [share for counts_of_kind in foreign_by_kind.values() for share in counts_of_kind.explained]
    interval = over_problems(shares)
    assert interval is not None
    return float(np.mean(shares)), interval

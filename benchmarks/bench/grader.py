"""The grader against math-verify in a loop, on real responses of a 7B model: 41 problems, 8 responses each.

The golds go to math-verify in a box, parsed once a problem (bare ones it misreads; see shared/data/README.md).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.bench.timing import Row
from evals.grading import Grader
from evals.grading.equivalence import UnscorableError, quick
from evals.grading.extraction import extract, locate
from evals.grading.numbers import same_text
from evals.grading.spelling import clean
from evals.grading.verdicts import Verdict

PROBLEMS, SAMPLES = 30, 256
Pair = tuple[str, str]  # gold, response


def run(rounds: int) -> Iterator[Row]:
    """The pass@k workload, the responses once each, and the kinds of comparison apart."""
    real = _responses()
    workload = [pair for pairs in list(real.values())[:PROBLEMS] for pair in (pairs * SAMPLES)[:SAMPLES]]
    once = [pair for pairs in real.values() for pair in pairs]
    repeat = "each problem's 8 real responses repeat"
    name = f"grader, {PROBLEMS} problems x {SAMPLES} responses"
    yield _row(name, workload, rounds, f"{repeat}; workers running, nothing remembered", warm=True)
    yield _row(f"{name}, cold", workload, rounds, f"{repeat}; workers start within the time")
    yield _row("grader, 328 real responses once", once, rounds, "workers running, nothing remembered", warm=True)
    for kind, pairs in _by_kind(once).items():
        yield _row(f"grader, {kind} only", pairs, rounds, f"{len(pairs)} responses, workers running", warm=True)
    yield _row("grader, cached only", once, rounds, "328 responses graded before", warm=True, remembered=True)


def _row(
    name: str, pairs: Sequence[Pair], rounds: int, note: str, *, warm: bool = False, remembered: bool = False
) -> Row:
    theirs_seconds, theirs = _loop(pairs, rounds)
    ours_seconds, ours = _ours(pairs, rounds, warm, remembered)
    both = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    same = sum(a == b for a, b in both)
    return Row(
        name, "verdicts/s", len(pairs) / ours_seconds, len(pairs) / theirs_seconds, "math-verify loop", rounds,
        f"{note}; {same} of {len(both)} verdicts identical",
    )  # fmt: skip


def _ours(pairs: Sequence[Pair], rounds: int, warm: bool, remembered: bool) -> tuple[float, list[bool | None]]:
    seconds, verdicts = [], []
    rows = [(gold, response, "stop") for gold, response in pairs]
    for _ in range(rounds):
        start = time.perf_counter()
        with Grader(workers=2) as grader:
            if warm:  # a comparison that no fast path decides starts the workers
                grader.grade_answers([(rf"\sqrt{{{i}}}+x", rf"x+\sqrt{{{i}}}") for i in (2, 3, 5, 7)])
            if remembered:
                grader.grade_responses(rows)
            if warm:
                start = time.perf_counter()
            grades = grader.grade_responses(rows)
            seconds.append(time.perf_counter() - start)
        verdicts = [None if g.verdict is Verdict.UNSCORED else g.verdict is Verdict.CORRECT for g in grades]
    return median(seconds), verdicts


def _loop(pairs: Sequence[Pair], rounds: int) -> tuple[float, list[bool | None]]:
    """math-verify on each response in turn. Repeated responses are a pass over the distinct ones, many times: as its
    work on each is the same, one pass is timed a round."""
    distinct = list(dict.fromkeys(pairs))
    share = len(pairs) / len(distinct)
    seconds, verdicts = [], {}
    for _ in range(rounds):
        start = time.perf_counter()
        verdicts = {pair: _math_verify(*pair) for pair in distinct}
        seconds.append(time.perf_counter() - start)
    return median(seconds) * share, [verdicts[pair] for pair in pairs]


_golds: dict[str, Any] = {}


def _math_verify(gold: str, response: str) -> bool | None:
    from math_verify import parse, verify

    if gold not in _golds:
        _golds[gold] = parse(rf"\boxed{{{gold}}}")
    parsed = parse(response)
    return bool(verify(_golds[gold], parsed)) if _golds[gold] else None


def _by_kind(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """The responses by what decides them: equal text, two plain numbers, or the workers."""
    kinds: dict[str, list[Pair]] = {"literal": [], "numeric": [], "symbolic": []}
    for gold, response in pairs:
        answer = extract(response).answer
        if answer is None:
            continue
        bare = locate(gold, numbers=False)
        try:
            decided = quick(bare, answer)
        except UnscorableError:
            continue
        if decided is None:
            kinds["symbolic"].append((gold, response))
        elif bare == answer or same_text(clean(bare), clean(answer)):
            kinds["literal"].append((gold, response))
        else:
            kinds["numeric"].append((gold, response))
    return {kind: own for kind, own in kinds.items() if own}


def _responses() -> dict[str, list[Pair]]:
    """(gold, response) by problem. Raises FileNotFoundError where the shared data are not there."""
    root = Path(__file__).resolve().parents[2]
    shared = Path(os.environ.get("RLVR_SHARED", root.parent / "shared"))
    by_problem: dict[str, list[Pair]] = {}
    with (shared / "data" / "grader" / "qwen_math_responses.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            by_problem.setdefault(row["problem_id"].rsplit("-", 1)[0], []).append((row["gold"], row["prediction"]))
    return by_problem

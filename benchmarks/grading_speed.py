"""The speed of the grader beside math-verify's, by CPU time: a section of the page of `benchmarks.agreement`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import rewrites
from evals.grading import Grader
from evals.grading.numbers import number
from evals.grading.spelling import clean
from harness.cli.columns import columns


def speed(data: Path, given: list[tuple[str, str]], size: int) -> str:
    """CPU seconds for distinct answers: ours, workers included, and math-verify in a loop, each gold parsed once."""
    sets = rewrites.golds(data)
    changes = [
        (gold, text) for kind in ("rewrites", "mutations") for gold, _, text in rewrites.changed(sets, kind, size)
    ]
    distinct = [(gold, answer) for gold, answer in dict.fromkeys(given + changes) if gold != answer]
    kinds: dict[str, list[tuple[str, str]]] = {"numbers": [], "text": [], "LaTeX": []}
    for one in distinct:
        plain = [number(clean(text)) is not None for text in one]
        kinds["numbers" if all(plain) else "LaTeX" if "\\" in "".join(one) else "text"].append(one)
    cells = []
    for name, pairs in (*kinds.items(), ("all", distinct)):
        sample = pairs[:: max(1, len(pairs) // 100)]
        mine = cpu_seconds(lambda own=pairs: _ours(own)) / len(pairs)
        alone = cpu_seconds(lambda own=sample: _theirs(own)) / len(sample)
        counts = (str(len(pairs)), str(len(sample)))
        cells.append((name, *counts, f"{1 / mine:.0f}", f"{1 / alone:.0f}", f"{alone / mine:.1f}"))
    header = ("distinct answers", "ours", "math-verify", "ours per CPU s", "math-verify per CPU s", "ratio")
    return (
        "## Speed\n\nDistinct pairs whose texts differ, of the triples and the changed golds, so that no verdict is "
        "cached. CPU time of this process and the workers, their start excluded; math-verify in a loop on every n-th "
        'pair, with each gold parsed once. "ours", "math-verify": how many each graded.\n\n'
        + columns(header, cells, left=1)
        + "\n"
    )


def cpu_seconds(work: Callable[[], float]) -> float:
    """CPU seconds of this process and of the workers that ended, less what `work` says was only starting them."""
    start = os.times()
    excluded = work()
    end = os.times()
    used = sum(end[:4]) - sum(start[:4])
    return max(used - excluded, 1e-9)


def _ours(pairs: list[tuple[str, str]]) -> float:
    """Grades; returns the CPU seconds that starting the workers took."""
    grader = Grader()
    grader.grade_answers(pairs)
    started = grader.workers_started
    grader.close()
    return started * _worker_start()


_START: list[float] = []


def _worker_start() -> float:
    if not _START:
        start = os.times()
        with Grader(workers=1) as grader:
            grader.grade_answers([(r"f(x)+\frac{\sqrt{2}}{2}", r"f(x)+\frac{1}{\sqrt{2}}")])
        end = os.times()
        _START.append(sum(end[2:4]) - sum(start[2:4]))
    return _START[0]


def _theirs(pairs: list[tuple[str, str]]) -> float:
    from math_verify import parse, verify

    parsed: dict[str, Any] = {}
    for gold, answer in pairs:
        if gold not in parsed:
            parsed[gold] = parse(rf"\boxed{{{gold}}}")
        verify(parsed[gold], parse(rf"\boxed{{{answer}}}"))
    return 0.0

"""Scores of a large verdict table: 500 problems x 640 samples, with the intervals that the tables print."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.bench.timing import Row, medians

PROBLEMS, SAMPLES, ANSWERS = 500, 640, 12
KS = (1, 16, 640)
LIMIT_S = 1.0


def verdicts() -> Any:
    """A table in which a problem's answers have unequal frequencies, as with real models; answer 0 is correct."""
    import pandas as pd

    random = np.random.default_rng(0)
    frequencies = random.dirichlet(np.full(ANSWERS, 0.4), size=PROBLEMS)
    answers = np.stack([random.choice(ANSWERS, size=SAMPLES, p=p) for p in frequencies])
    return pd.DataFrame(
        {
            "benchmark": "made_up",
            "problem_id": np.repeat([str(i) for i in range(PROBLEMS)], SAMPLES),
            "sample": np.tile(np.arange(SAMPLES), PROBLEMS),
            "gold": "1",
            "boxed": True,
            "tokens": random.integers(10, 500, PROBLEMS * SAMPLES),
            "finish_reason": "stop",
            "answer_class": answers.ravel(),
            "verdict": np.where(answers.ravel() == 0, "correct", "wrong"),
        }
    )


def run(rounds: int) -> Iterator[Row]:
    from evals.stats.score import score

    table = verdicts()
    for metrics in (("avg", "pass"), ("maj",), ("avg", "pass", "maj", "fmt", "mean_tokens", "truncation_rate")):
        calls = {"ours": lambda metrics=metrics: score(table, ks=list(KS), metrics=metrics)}
        seconds = medians(calls, rounds, clock=time.process_time)["ours"]
        rows = PROBLEMS * SAMPLES
        yield Row(
            f"scores: {', '.join(metrics)}", "rows/CPU s", rows / seconds, rows / LIMIT_S, f"{LIMIT_S:g} s", rounds,
            f"{PROBLEMS} problems x {SAMPLES} samples, k = {', '.join(map(str, KS))}, with intervals: {seconds:.2f} s",
        )  # fmt: skip

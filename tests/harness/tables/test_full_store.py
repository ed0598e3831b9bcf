"""Every published cell of every paper is filled or explained, once all arms were measured at paper scale."""

from __future__ import annotations

import math
from functools import cache
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evals.data import protocols
from evals.stats.score import score
from evals.stats.verdict_table import VerdictTable
from harness.spec.catalogue import ALL, AVERAGE, BASELINES, Published, load, papers, published
from harness.tables.comeback import GAIN, UNCOUNTED, averaged, judge, measured_score
from harness.tables.long import long_rows
from harness.tables.measured import TABULATED, Measured
from harness.tables.published import published_grids
from tests.evals.stats.runs import random_verdicts

PROBLEMS = 3


@cache
def verdicts(benchmark: str, samples: int, ks: tuple[int, ...], seeds: int, draw: int) -> tuple[VerdictTable, Any]:
    """Verdicts on three problems, and their scores. Few draws, because a score with 640 samples takes its time."""
    rng = np.random.default_rng([draw, samples, *benchmark.encode()])
    size = (seeds, PROBLEMS, samples)
    rows = random_verdicts(
        rng, benchmark, size, rng.random((1, PROBLEMS, 1)), tokens=rng.integers(5, 50, math.prod(size))
    )
    table = VerdictTable.of_rows(rows)
    return table, {s.key: s for s in score(table, ks=ks, metrics=TABULATED)}


@cache
def full(paper: str) -> list[Measured]:
    """Every arm with two seeds (an untrained one with one), under its own protocol."""
    reproduction = load(paper)
    runs = []
    for number, arm in enumerate(reproduction.arms):
        protocol = protocols.get(arm.protocol or reproduction.protocol)
        seeds = (0, 1) if arm.train is not None else (0,)
        n = {b: protocol.value("n", b) for b in protocol.benchmarks.value}
        tables = {b: verdicts(b, n[b], tuple(protocol.value("ks", b)), len(seeds), number % 2) for b in n}
        runs.append(
            Measured(
                arm.model, arm.key, arm.title, "paper", "trl", "", f"{arm.model}-{arm.key}", seeds, (), (), {}, n,
                {b: table for b, (table, _) in tables.items()}, {b: scores for b, (_, scores) in tables.items()},
                trained=arm.train is not None,
            )
        )  # fmt: skip
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("paper", [p for p in papers() if p != BASELINES])
def test_every_published_cell_is_filled_or_explained(paper: str) -> None:
    measured = full(paper)
    rows = [r for r in long_rows(paper, measured) if r["published"] is not None]
    assert len(rows) == len(published(paper))
    for row in rows:
        assert (row["measured"] is None) == bool(row["why_missing"]), row
        assert row["measured"] is not None or row["why_missing"] in (UNCOUNTED, GAIN), row
        assert row["measured"] is None or row["comes_back"] in ("comes back", "does not come back", "cannot tell"), row
    text = "\n".join(grid.markdown() for grid in published_grids(paper, measured))
    assert "did not measure" not in text


@pytest.mark.parametrize(("paper", "cells"), [("trial_and_error", 24), ("erpo", 28), ("forking_tokens", 12)])
def test_an_average_is_the_mean_of_the_cells_beside_it(paper: str, cells: int) -> None:
    rows: list[dict[str, Any]] = [r for r in long_rows(paper, full(paper)) if r["published"] is not None]
    every = published(paper)
    averages = [(cell, row) for cell, row in zip(every, rows, strict=True) if cell.benchmark == AVERAGE]
    assert len(averages) == cells
    for cell, row in averages:
        cells_beside = [
            r["measured"]
            for c, r in zip(every, rows, strict=True)
            if (c.table, c.model, c.arm) == (cell.table, cell.model, cell.arm)
            and (c.benchmark, c.metric) in averaged(cell, every)
        ]
        assert len(cells_beside) >= 3 and row["measured"] == pytest.approx(fmean(cells_beside))
        assert row["low"] <= row["measured"] <= row["high"]


def test_a_cell_over_all_responses_is_no_part_of_an_average() -> None:
    def cell(benchmark: str, metric: str = "avg") -> Published:
        return Published("table", "m", "arm", "row", benchmark, benchmark, metric, "1", "%")

    cells = [cell("aime24"), cell(ALL), cell(AVERAGE), cell("amc23"), cell("aime24", "pass@8")]
    assert averaged(cell(AVERAGE), cells) == [("aime24", "avg"), ("amc23", "avg")]


def test_a_cell_over_all_responses_counts_each_problem_once() -> None:
    """The prediction is centred on the value beside it: 30 problems of 10 tokens and 10 of 50 have a mean of 20, not
    of 30."""

    def table(problems: int, tokens: int) -> VerdictTable:
        rows = [
            {"benchmark": "b", "train_seed": seed, "problem_id": f"p{p}", "sample": 0, "gold": "1", "boxed": True}
            | {"verdict": "correct", "answer_class": 0, "tokens": tokens + seed}
            for seed in range(3)
            for p in range(problems)
        ]
        return VerdictTable.of_rows(pd.DataFrame(rows))

    verdicts = {"math500": table(30, 9), "aime24": table(10, 49)}
    arm = Measured(
        "7b", "grpo", "GRPO", "paper", "trl", "", "d", (0, 1, 2), (), (), {}, dict.fromkeys(verdicts, 1), verdicts, {}
    )  # fmt: skip
    cell = Published("Table 1", "7b", "grpo", "GRPO", ALL, "length", "mean_tokens", "20", "tokens")
    judged = judge(load("erpo"), cell, arm, [cell])
    assert measured_score(arm, cell, [cell]).value == pytest.approx(20)
    assert judged is not None and judged.low is not None and judged.high is not None
    assert (judged.low + judged.high) / 2 == pytest.approx(20)

"""Perturbed responses, token by token, and what that costs where the outcome is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evals.analysis.effects import compare_groups
from evals.analysis.interventions import Sampling
from evals.sampling.engines import Decoding
from reproductions.erpo.figures import (
    chosen_responses,
    measure_perturbation,
    perturbations,
    plot_perturbation,
    random_other,
    sure_problems,
)
from tests.evals.analysis.intervention_frames import FRAME, LONG
from tests.evals.analysis.interventions import BENCHMARK, Rule, subject
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.token_tables import token_table

# ten tokens: entropy falls and rises again. Ids 40 to 49, alternatives 50 to 59
TABLE = token_table({(p, 0): [(40 + i, h, 50 + i) for i, h in enumerate((5, 1, 4, 0, 2, 9, 9, 9, 9, 3))] for p in "ab"})
DECODING = Decoding(1.0, 1.0, 20)


def prefixes_of(vocabulary: range = range(60, 64), seed: int = 0) -> tuple[pd.DataFrame, dict[str, tuple[int, ...]]]:
    plan = perturbations(TABLE, vocabulary, share=0.4, seed=seed)
    return plan.rows, {prefix.id: prefix.forced for prefix in plan.prefixes}


def test_all_selected_tokens_are_replaced_at_once() -> None:
    rows, forced = prefixes_of(range(60, 61))
    # the first half is kept: 5 tokens with entropies 5, 1, 4, 0, 2, of which 40 % are two
    kept = [40, 41, 42, 43, 44]
    for problem in "ab":
        assert forced[f"{problem}|0|5|as it was"] == tuple(kept)
        assert forced[f"{problem}|0|top|perturbed"] == (60, 41, 60, 43, 44)
        assert forced[f"{problem}|0|bottom|perturbed"] == (40, 60, 42, 60, 44)
    assert len(forced) == 6  # what is decoded again unperturbed is so once
    assert (rows["kept"] == 5).all() and (rows["replaced"] == 2).all()
    assert rows["original"].tolist() == ["a|0|5|as it was", "b|0|5|as it was"] * 2


def test_random_replacements_are_other_tokens_with_equal_probability() -> None:
    generator = np.random.default_rng(0)
    sampled = [random_other(generator, [3, 5, 8, 9], 5) for _ in range(3000)]
    counts = [sampled.count(token) for token in (3, 5, 8, 9)]
    assert counts[1] == 0
    assert all(abs(counts[i] - 1000) < 5 * 26 for i in (0, 2, 3))  # standard deviation sqrt(3000 * 2/9) = 26
    assert {random_other(generator, [3, 5], 7) for _ in range(50)} == {3, 5}  # a token from elsewhere excludes none
    assert {random_other(generator, [3, 5], 5) for _ in range(20)} == {3}
    _, forced = prefixes_of()
    assert set(forced["a|0|top|perturbed"]) - {41, 43, 44} <= {60, 61, 62, 63}
    assert prefixes_of()[1] == forced
    assert prefixes_of(seed=1)[1] != forced


def verdicts(**letters: str) -> pd.DataFrame:
    words = {"c": "correct", "w": "wrong", "u": "unscored"}
    rows = [
        {"problem_id": p, "sample": i, "verdict": words[c], "gold": "7"}
        for p, text in letters.items()
        for i, c in enumerate(text)
    ]
    return pd.DataFrame(rows)


def test_reliable_problems_are_always_solved() -> None:
    table = verdicts(a="ccc", b="ccw", c="cuc", d="uuu", e="www")
    assert sure_problems(table) == ["a", "c"]  # unscored is not wrong, and three of them say nothing


def test_the_first_correct_response_of_each_problem_is_chosen() -> None:
    samples = {(p, s): [(40, 1.0, 41)] for p in "abc" for s in (0, 1, 2)}
    tokens = token_table(samples)
    tokens.loc[(tokens["problem_id"] == "b") & (tokens["sample"] < 2), "verdict"] = "unscored"
    table = verdicts(a="ccc", b="uuc", c="wcc")
    taken = chosen_responses(tokens, table, seed=0)
    assert set(zip(taken["problem_id"], taken["sample"], strict=True)) == {("a", 0), ("b", 2)}
    few = [chosen_responses(tokens, table, problems=1, seed=s)["problem_id"].tolist() for s in range(20)]
    assert {tuple(problems) for problems in few} == {("a",), ("b",)}
    with pytest.raises(ValueError, match="whose samples are all correct, found none"):
        chosen_responses(tokens[tokens["problem_id"] == "c"], table, seed=0)


def test_measured_where_the_outcome_is_known(random_model: Path, tmp_path: Path) -> None:
    """Wrong as soon as token 40, of high entropy, is gone. Token 43, of low entropy, matters for problem b alone."""

    def right(request: Any) -> bool:
        return 40 in request.forced and (request.key[0][0] == "a" or 43 in request.forced)

    engine = Rule(random_model, right)
    sampling = Sampling(DECODING, 2, tmp_path, engine=engine)
    frame = measure_perturbation(subject(random_model, "ab"), BENCHMARK, TABLE, sampling)
    got = {(row.group, row.problem_id): (row.original, row.altered, row.drop) for row in frame.itertuples()}
    assert got == {
        ("top", "a"): (1, 0, 1), ("top", "b"): (1, 0, 1), ("bottom", "a"): (1, 1, 0), ("bottom", "b"): (1, 0, 1)
    }  # fmt: skip
    assert len(engine.requests) == 6 * 2


def test_the_figure_of_perturbation_shows_the_accuracy_lost() -> None:
    plot = plot_perturbation({"base": FRAME, LONG: FRAME}, ["base", LONG])
    # differences by problem 1, 0, 3/2: mean 5/6
    result = compare_groups(FRAME, "top", "bottom")
    assert result.difference == pytest.approx(5 / 6) and result.p_value is not None and 0.05 < result.p_value < 0.5
    assert "+83.3 points" in plot.caption and f"p = {result.p_value:.3f}" in plot.caption
    check_renders(plot)

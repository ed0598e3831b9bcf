"""Two checkpoints on the same tokens: changes, where they are."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evals.analysis.token_table import same_tokens
from reproductions.trial_and_error.figures.changes import (
    concentration,
    probability_change,
)
from tests.evals.analysis.token_tables import random_table


def test_changes_are_of_the_same_token() -> None:
    before, after = random_table(), random_table(shift=0.5)
    shuffled = after.sample(frac=1, random_state=0)
    change = probability_change(before, shuffled)
    for i in before.index:
        assert change[i] == pytest.approx(math.exp(after["logp"][i]) - math.exp(before["logp"][i]))
    assert (change.index == before.index).all() and (change != 0).any()


def test_other_tokens_are_refused() -> None:
    table = random_table()
    other = table.assign(token_id=table["token_id"].mask(table.index == 5, 99))
    for after in (other, table.iloc[1:], pd.concat([table, random_table(problems=5).query("problem_id == 'p4'")])):
        with pytest.raises(ValueError, match="expected the same tokens of the same responses"):
            same_tokens(table, after)
    with pytest.raises(ValueError, match="expected each token once"):
        same_tokens(table, pd.concat([table, table.iloc[:1]]))


def test_where_changes_are_against_loops() -> None:
    before = random_table(problems=3, samples=4, seed=2)
    change = probability_change(before, random_table(problems=3, samples=4, seed=2, shift=0.7))
    by_place = concentration(before, change, share=0.2)
    sizes = sorted(abs(change))
    least = sizes[len(sizes) - 1 - math.floor(0.2 * (len(sizes) - 1))]  # 1 + floor(rho (n - 1)) are at or above it
    # by position, in tenths: the changed tokens of each problem's tenth
    for row in by_place[by_place["by"] == "position"].to_dict("records"):
        of_problem: dict[str, list[bool]] = {}
        for i, t in before.iterrows():
            if t["position"] * 10 // t["length"] == row["bin"]:
                of_problem.setdefault(t["problem_id"], []).append(abs(change[i]) >= least)
        assert row["mean"] == pytest.approx(np.mean([np.mean(v) for v in of_problem.values()]))
    for by in ("entropy", "perplexity", "position"):  # all changed tokens are somewhere
        rows = by_place[by_place["by"] == by]
        assert (rows["pooled"] * rows["count"]).sum() == pytest.approx((change.abs() >= least).sum())


def test_changes_at_uncertain_tokens_are_reported_there() -> None:
    before = random_table(problems=5, samples=4)
    uncertain = before["entropy"] >= before["entropy"].quantile(0.9)
    by_entropy = concentration(before, uncertain.astype(float) * 0.5, share=0.1).query("by == 'entropy'")["pooled"]
    assert by_entropy.iloc[-1] == pytest.approx(1, abs=0.05) and by_entropy.iloc[:-1].max() < 0.05
    assert (concentration(before, 0.0 * before["logp"])["pooled"] == 0).all()  # no change is no change anywhere

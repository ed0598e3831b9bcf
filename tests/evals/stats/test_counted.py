"""A table of counts gives the scores of the rows that were counted, to the last bit."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.stats.counted import CountedTable, ProblemCounts
from evals.stats.score import score
from evals.stats.verdict_table import VerdictTable

# (verdict, answer class, boxed): class 0 is the correct one
SAMPLES = st.sampled_from(
    [
        ("correct", 0, True),
        *(("wrong", number, number > 1) for number in (1, 2, 3)),
        ("wrong", None, False),
        ("no_answer", None, False),
        ("truncated", None, True),
        ("unscored", None, True),
    ]
)


@settings(max_examples=40)
@given(st.lists(st.lists(SAMPLES, min_size=1, max_size=6), min_size=1, max_size=5))
def test_counts_score_as_their_rows(problems: list[list[tuple[str, int | None, bool]]]) -> None:
    rows = pd.DataFrame(
        [
            {"problem_id": f"p{p}", "sample": i, "verdict": verdict, "answer_class": number, "boxed": boxed}
            for p, samples in enumerate(problems)
            for i, (verdict, number, boxed) in enumerate(samples)
        ]
    ).astype({"answer_class": "Int64"})
    counts = {}
    for p, samples in enumerate(problems):
        scored = [sample for sample in samples if sample[0] != "unscored"]
        counts[f"p{p}"] = ProblemCounts(
            generated=len(samples),
            scored=len(scored),
            correct=sum(verdict == "correct" for verdict, _, _ in scored),
            boxed=sum(boxed for *_, boxed in samples),
            votes=list(Counter(number for _, number, _ in scored if number).values()),
        )
    metrics = ("avg", "pass", "maj", "unsolvable", "fmt")
    want = score(VerdictTable(rows), ks=[1, 3], metrics=metrics)
    assert score(CountedTable(counts), ks=[1, 3], metrics=metrics) == want


def test_what_is_not_counted_has_no_score() -> None:
    table = CountedTable({"p": ProblemCounts(2, 2, 1, 1, [1])})
    with pytest.raises(ValueError, match="metric 'mean_tokens' is not counted"):
        score(table, ks=[], metrics=("mean_tokens",))
    with pytest.raises(ValueError, match="no rows"):
        CountedTable({})

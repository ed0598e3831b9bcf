"""A table of counts gives the scores and the comparisons of the rows that were counted, to the last bit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.grading.verdicts import WITHHELD, schema
from evals.stats.compare import compare_runs
from evals.stats.measured_run import MeasuredRun
from evals.stats.score import score
from evals.stats.verdict_table import METRICS, VerdictTable

# (verdict, answer class, boxed, tokens, finish reason): class 0 is the correct one
SAMPLES = st.tuples(
    st.sampled_from(
        [
            ("correct", 0, True),
            *(("wrong", number, number > 1) for number in (1, 2, 3)),
            ("wrong", None, False),
            ("no_answer", None, False),
            ("truncated", None, True),
            ("unscored", None, True),
        ]
    ),
    st.sampled_from([None, 1, 2, 7]),
    st.sampled_from([None, "stop", "length", "content_filter"]),
).map(lambda sample: (*sample[0], *sample[1:]))
SEED = st.lists(st.lists(SAMPLES, min_size=1, max_size=6), min_size=1, max_size=5)
Sample = tuple[str, int | None, bool, int | None, str | None]


def rows_of(seeds: list[list[list[Sample]]]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {
            **{"benchmark": "b", "problem_id": f"p{p}", "sample": i, "gold": f"gold {p}", "train_seed": seed},
            **dict(zip(("verdict", "answer_class", "boxed", "tokens", "finish_reason"), sample, strict=True)),
        }
        for seed, problems in enumerate(seeds)
        for p, samples in enumerate(problems)
        for i, sample in enumerate(samples)
    ]
    return pd.DataFrame(rows).astype({"answer_class": "Int64", "tokens": "Int64"})


def file_of(rows: pd.DataFrame, path: Path) -> Path:
    more = rows.assign(seed=0, response="", answer=None, reason=None, problem=None, thought_begun=None)
    pq.write_table(pa.Table.from_pandas(more, schema=schema(), preserve_index=False), path)
    return path


def slow(seeds: list[list[list[Sample]]]) -> VerdictTable:
    """Counted sample by sample, without pandas."""
    counts = {}
    for seed, problems in enumerate(seeds):
        for p, samples in enumerate(problems):
            scored = [sample for sample in samples if sample[0] != "unscored"]
            known = [tokens for _, _, _, tokens, _ in samples if tokens is not None]
            reasons = [reason for *_, reason in samples if reason is not None]
            correct = sum(verdict == "correct" for verdict, *_ in scored)
            wrong = Counter(number for _, number, *_ in samples if number)
            counts[seed, f"p{p}"] = {
                "generated": len(samples),
                "scored": len(scored),
                "replied": sum(reason not in WITHHELD for *_, reason in samples),
                "correct": correct,
                "boxed": sum(boxed for _, _, boxed, _, reason in samples if reason not in WITHHELD),
                "no_answer": sum(verdict == "no_answer" for verdict, *_ in samples),
                "tokens": float(sum(known)),
                "known": len(known),
                "stopped": reasons.count("length"),
                "reasons": len(reasons),
                "gold": f"gold {p}",
                "right": correct,
                "rivals": tuple(sorted(wrong.values())),
            }
    frame = pd.DataFrame(counts.values(), pd.MultiIndex.from_tuples(counts))
    return VerdictTable(frame, dict.fromkeys(range(len(seeds)), 0))


@settings(max_examples=15, deadline=None)
@given(st.lists(SEED, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_files_score_and_compare_as_their_samples(
    tmp_path_factory: pytest.TempPathFactory, seeds: list[list[list[Sample]]], shuffling: Any
) -> None:
    rows, folder = rows_of(seeds), tmp_path_factory.mktemp("files")
    frames = []
    for seed, of_seed in rows.groupby("train_seed"):
        order = shuffling.sample(list(of_seed.index), len(of_seed))
        frames.append(pq.read_table(file_of(of_seed.loc[order], folder / f"{seed}.parquet")).to_pandas())
    table = VerdictTable.of_rows(pd.concat([frame.assign(train_seed=n) for n, frame in enumerate(frames)]))
    options: dict[str, Any] = {"ks": [1, 3], "metrics": METRICS}
    assert score(table, **options) == score(rows, **options) == score(slow(seeds), **options)
    assert table.fingerprints == VerdictTable.of_rows(rows).fingerprints
    assert table.golds == {f"p{p}": f"gold {p}" for p in range(max(map(len, seeds)))}
    first = rows[rows["train_seed"] == 0]
    assert score(table.only([0]), **options) == score(VerdictTable.of_rows(first), **options)
    runs = [MeasuredRun("a", {"b": each}, {"b": None}, trained=True) for each in (table, slow(seeds), table.only([0]))]
    assert compare_runs(runs[0], runs[2]) == compare_runs(runs[1], runs[2])


def test_one_change_of_a_sample_changes_the_fingerprint() -> None:
    rows = rows_of([[[("wrong", 1, True, 5, "stop"), ("wrong", 2, True, 5, "stop")]]])
    whole = VerdictTable.of_rows(rows).fingerprints
    assert VerdictTable.of_rows(rows.iloc[::-1]).fingerprints == whole
    for column, value in (("tokens", 6), ("tokens", None), ("answer_class", 3), ("verdict", "no_answer")):
        changed = rows.copy()
        changed.loc[0, column] = value
        assert VerdictTable.of_rows(changed).fingerprints != whole
    swapped = rows.assign(sample=[1, 0])
    assert VerdictTable.of_rows(swapped).fingerprints != whole

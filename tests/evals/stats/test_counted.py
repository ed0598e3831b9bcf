"""A table of counts gives the scores and the comparisons of the rows that were counted, to the last bit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.grading.verdicts import schema
from evals.stats import counted
from evals.stats.compare import compare_runs
from evals.stats.counted import SeedCounts, counted_file
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
    st.sampled_from([None, "stop", "length"]),
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
    more = rows.assign(seed=0, response="", answer=None, reason=None)
    pq.write_table(pa.Table.from_pandas(more, schema=schema(), preserve_index=False), path)
    return path


def slow(seeds: list[list[list[Sample]]]) -> VerdictTable:
    """Counted sample by sample, without pandas and Arrow."""
    counts = {}
    for seed, problems in enumerate(seeds):
        scored = [[sample for sample in samples if sample[0] != "unscored"] for samples in problems]
        known = [[tokens for _, _, _, tokens, _ in samples if tokens is not None] for samples in problems]
        reasons = [[reason for *_, reason in samples if reason is not None] for samples in problems]
        correct = [sum(verdict == "correct" for verdict, *_ in samples) for samples in scored]
        wrong = [Counter(number for _, number, *_ in samples if number) for samples in scored]
        counts[seed] = SeedCounts(
            problems=tuple(f"p{p}" for p in range(len(problems))),
            generated=np.array([len(samples) for samples in problems]),
            scored=np.array([len(samples) for samples in scored]),
            correct=np.array(correct),
            boxed=np.array([sum(boxed for _, _, boxed, _, _ in samples) for samples in problems]),
            lengths=(np.array([float(sum(of)) for of in known]), np.array([len(of) for of in known])),
            cut_off=(np.array([float(of.count("length")) for of in reasons]), np.array([len(of) for of in reasons])),
            votes={p: (correct[p], tuple(sorted(wrong[p].values()))) for p in range(len(problems))},
            golds=tuple(f"gold {p}" for p in range(len(problems))),
        )
    return VerdictTable(counts)


@pytest.mark.parametrize("in_order", [True, False])
@settings(max_examples=30, deadline=None)
@given(st.lists(SEED, min_size=1, max_size=3), st.integers(1, 9), st.randoms(use_true_random=False))
def test_files_read_in_parts_score_and_compare_as_their_rows(
    tmp_path_factory: pytest.TempPathFactory,
    in_order: bool,
    seeds: list[list[list[Sample]]],
    held: int,
    shuffling: Any,
) -> None:
    rows, folder = rows_of(seeds), tmp_path_factory.mktemp("parts")
    tables = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted, "ROWS", held)  # the parts of a file
        if in_order:
            patch.delattr(counted, "counts_of_rows")  # no file needs to be read whole
        counted._counted_file.cache_clear()
        for seed, own in rows.groupby("train_seed"):
            order = shuffling.sample(list(own.index), len(own))
            if in_order:  # the problems mixed, each one's samples in their order
                of = {problem: iter(group.index) for problem, group in own.groupby("problem_id")}
                order = [next(of[problem]) for problem in own["problem_id"].loc[order]]
            tables[seed] = counted_file(file_of(own.loc[order], folder / f"{seed}.parquet"))
    table = VerdictTable(tables)
    asked: dict[str, Any] = {"ks": [1, 3], "metrics": METRICS, "taus": [0.5]}
    assert score(table, **asked) == score(rows, **asked) == score(slow(seeds), **asked)
    assert table.fingerprints == VerdictTable.of_rows(rows).fingerprints
    assert table.golds == {f"p{p}": f"gold {p}" for p in range(max(map(len, seeds)))}
    first = rows[rows["train_seed"] == 0]
    assert score(table.only([0]), **asked) == score(VerdictTable.of_rows(first), **asked)
    runs = [MeasuredRun("a", {"b": own}, {"b": None}) for own in (table, slow(seeds), table.only([0]))]
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


@pytest.mark.parametrize("held", [1, 2, 3, 9])
def test_faults_are_found_across_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(counted, "ROWS", held)
    counted._counted_file.cache_clear()
    right, wrong = ("correct", 0, True, None, None), ("wrong", 0, True, None, None)
    other = ("correct", 1, True, None, None)
    twice = rows_of([[[right, right, right]]]).assign(sample=[0, 1, 0])
    for number, (rows, message) in enumerate(
        [
            (twice, r"holds the same sample twice: .*problem_id p0, sample 0"),
            (rows_of([[[right, right, wrong]]]), "answer class 0 is correct in one sample and not in another"),
            (rows_of([[[right, right, other]]]), r"problem 'p0': one answer class may be correct, got \[0, 1\]"),
            (twice.iloc[:0], "no rows"),
        ]
    ):
        with pytest.raises(ValueError, match=message):  # contradictions matter to maj@k alone
            VerdictTable({0: counted_file(file_of(rows, tmp_path / f"{number}.parquet"))}).values("maj", 1)


def test_a_file_of_equal_content_is_read_once(tmp_path: Path) -> None:
    rows = rows_of([[[("correct", 0, True, 5, "stop")]]])
    counted._counted_file.cache_clear()
    first, second = (counted_file(file_of(rows, tmp_path / f"{name}.parquet")) for name in "ab")
    assert second is first
    other = counted_file(file_of(rows.assign(tokens=6), tmp_path / "a.parquet"))  # the same path, another content
    assert other.lengths[0].tolist() == [6.0] and first.lengths[0].tolist() == [5.0]


def test_no_problem_is_no_table() -> None:
    with pytest.raises(ValueError, match="no rows"):
        VerdictTable({})

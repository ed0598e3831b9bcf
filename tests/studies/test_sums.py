"""The problems and the control of the training on two cores (results/sums.md)."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from evals.files import read_parquet
from studies.sums.__main__ import SIZES, write
from studies.sums.rewards import coin


def test_no_sum_is_in_both_files_and_every_answer_is_right(tmp_path: Path) -> None:
    write(tmp_path)
    rows = {name: [json.loads(line) for line in (tmp_path / name).read_text().splitlines()] for name in SIZES}
    assert {name: len(file_rows) for name, file_rows in rows.items()} == SIZES
    questions = [row["problem"] for file_rows in rows.values() for row in file_rows]
    assert len(set(questions)) == len(questions)
    for row in (row for file_rows in rows.values() for row in file_rows):
        a, b = map(int, row["id"].split("+"))
        assert row["problem"] == f"What is {a} + {b}?" and row["answer"] == str(a + b)
    again = tmp_path / "again"
    write(again)
    assert all((again / name).read_bytes() == (tmp_path / name).read_bytes() for name in SIZES)


def test_the_control_pays_half_of_all_responses_whatever_the_answer() -> None:
    """The share of heads among 4,000 fair coins is within 0.04 of 1/2 but once in two million times (five
    deviations)."""
    paid = [coin(f"the answer is {n}", "7") for n in range(4000)]
    assert set(paid) == {0.0, 1.0} and abs(sum(paid) / len(paid) - 0.5) < 0.04
    assert [coin(f"the answer is {n}", "8") for n in range(4000)] == paid


SUMS = Path(__file__).parents[2] / "results" / "sums"


def test_the_page_has_the_right_answers_of_its_committed_verdicts(tmp_path: Path) -> None:
    """Counted from the archive's files and the file beside it, without the code that makes tables."""
    with tarfile.open(SUMS / "runs.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    right = {
        path.parents[2].name: int((read_parquet(path).to_pandas()["verdict"] == "correct").sum())
        for path in tmp_path.rglob("verdicts.parquet")
    }
    by_seed = sorted(right, key=lambda name: name[-1])
    controls = [right[name] for name in by_seed if "dd4e149c" in name or "382090a0" in name]
    seeds = [right[name] for name in by_seed if "1a979e4f" in name or "7bac7267" in name]
    base = next(n for name, n in right.items() if "-base-" in name)
    assert len(right) == 1 + len(seeds) + len(controls) == 7
    page = SUMS.with_suffix(".md").read_text(encoding="utf-8")
    assert f"| {base} | 50 | |" in page and f"| {100 * base / 240:.1f} [" in page
    assert f"| {100 * sum(seeds) / 720:.1f} ~[" in page and f"| {', '.join(map(str, seeds))} | 0, 0, 0 | 3 |" in page
    assert f"| {', '.join(map(str, controls))} | 239, 240, 39 | 3 |" in page
    assert f"+{100 * (sum(seeds) - sum(controls)) / 720:.1f} ~[" in page
    assert f"+{100 * (sum(seeds) / 720 - base / 240):.1f} ~[" in page
    longer = pd.read_csv(SUMS / "tokens_96.csv")
    assert set(Counter(longer["model"]).values()) == {240}
    right = longer[longer["verdict"] == "correct"].groupby("model").size()
    assert [right[m] for m in ("base model", "grpo, seed 1", "grpo, seed 2", "control, seed 0")] == [50, 164, 160, 9]
    assert "| 50 (2 unscored) | 21.0 | 5 |" in page and "| 164, 160 | 68.3, 66.7 |" in page
    assert pytest.approx(21.0, abs=0.05) == 100 * 50 / 238

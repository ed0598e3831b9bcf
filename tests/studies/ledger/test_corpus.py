"""The corpus is read from git at a commit, and its tables are counted from the files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from evals.audit import Evidence
from studies.ledger.__main__ import different_pairs, page, summary
from studies.ledger.corpus import SERIES, Repository, Series, curves, verdicts


def commit(folder: Path, files: dict[str, str]) -> str:
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "files"], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def test_files_are_those_of_the_commit(tmp_path: Path) -> None:
    folder = tmp_path / "owner+name" / "repo"
    first = commit(folder, {"log.csv": "step,acc\n1,50.0\n2,60.0\n3,55.0\n"})
    commit(folder, {"log.csv": "step,acc\n1,99.0\n"})
    series = Series(Repository("owner/name", first[:7], "MIT"), "r", "b", curves(r"log\.csv", "acc", 100))
    evidence = series.read(series.repository.fetched(tmp_path))
    row = summary(series, evidence)
    assert evidence.scores["value"].tolist() == pytest.approx([0.5, 0.6, 0.55])
    assert (row["last"], row["largest"], row["mean_of_checkpoints"]) == pytest.approx((55.0, 60.0, 55.0))
    assert "| owner/name: r | b | 3 | 55.0 | 55.0 | 60.0 |" in page(pd.DataFrame([row]), [])


def test_a_commit_or_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "owner+name" / "repo"
    found = commit(folder, {"a.csv": "step,acc\n1,0.5\n"})
    with pytest.raises(RuntimeError, match="rev-parse"):
        Repository("owner/name", "0" * 40, "MIT").fetched(tmp_path)
    with pytest.raises(ValueError, match=r"b\\.csv"):
        curves(r"b\.csv", "acc", None)(Repository("owner/name", found, "MIT").fetched(tmp_path))


def test_verdicts_of_seeds_are_told_apart_by_the_path(tmp_path: Path) -> None:
    rows = {
        f"s{seed}.json": json.dumps([[str(i), int(i < correct)] for i in range(40)])
        for seed, correct in ((1, 5), (2, 35))
    }
    found = commit(tmp_path / "owner+name" / "repo", rows)
    evidence = verdicts(r"s(?P<seed>\d)\.json", json.loads)(Repository("owner/name", found, "MIT").fetched(tmp_path))
    assert evidence.last.set_index("seed")["value"].to_dict() == {"1": 0.125, "2": 0.875}
    assert different_pairs(evidence) == 1  # 30 of 40 problems differ, all in one direction


def test_equal_seeds_are_not_called_different() -> None:
    rows = [{"seed": seed, "problem_id": i, "label": i % 2} for seed in "abc" for i in range(40)]
    assert different_pairs(Evidence.of_samples(pd.DataFrame(rows))) == 0


def test_every_series_is_pinned_and_named_once() -> None:
    names = [(series.repository.name, series.recipe, series.benchmark) for series in SERIES]
    assert len(set(names)) == len(names)
    assert all(len(series.repository.commit) >= 7 for series in SERIES)

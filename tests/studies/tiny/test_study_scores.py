"""The study's tables: what is written is what is read."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evals.stats.verdict_table import VerdictTable
from studies.tiny.design import LATER, STUDY
from studies.tiny.jobs import LATER_FOLDER, read_settings
from studies.tiny.scores import read_arms, save_tables, write_tables
from tests.evals.stats.runs import random_verdicts

BENCHMARKS = ("tiny_short", "tiny_long", "tiny_rare")


def verdicts(arm: str, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([len(arm), seed])
    parts = [random_verdicts(rng, name, (1, 5, 4), 0.5, answer="1", finish_reason="stop") for name in BENCHMARKS]
    rows = pd.concat(parts, ignore_index=True).drop(columns="train_seed")
    return rows.assign(family="tiny", paper="egsw", arm=arm, seed=seed)


def test_arms_come_back_from_the_tables(tmp_path: Path) -> None:
    run = {"family": "tiny", "paper": "egsw", "digest": "d", "commit": "c", "command": "x", "diverged": ""}
    diverged = '{"quantity": "loss", "step": 3, "value": "nan"}'
    runs = [
        {**run, "arm": "base", "seed": 0},
        *({**run, "arm": "grpo", "seed": seed} for seed in (0, 1)),
        {**run, "arm": "grpo", "seed": 2, "diverged": diverged},
    ]
    rows = pd.concat([verdicts("base", 0), verdicts("grpo", 0), verdicts("grpo", 1)])
    at = {"family": "tiny", "paper": "egsw", "arm": "grpo", "metric": "train/entropy"}
    curves = pd.DataFrame(
        [{**at, "seed": seed, "step": step, "value": 0.1 * step} for seed in (0, 1) for step in (2, 1)]
    )
    save_tables(tmp_path, pd.DataFrame(runs), rows, curves)
    arms = read_arms(STUDY, tmp_path)
    assert list(arms) == [("tiny", "egsw", "base"), ("tiny", "egsw", "grpo")]
    grpo = arms["tiny", "egsw", "grpo"]
    assert grpo.seeds == (0, 1) and grpo.diverged == {2: {"quantity": "loss", "step": 3, "value": "nan"}}
    assert list(grpo.verdicts) == list(BENCHMARKS)
    for name in BENCHMARKS:
        rows_of_benchmark = rows[(rows["arm"] == "grpo") & (rows["benchmark"] == name)].rename(
            columns={"seed": "train_seed"}
        )
        np.testing.assert_array_equal(
            grpo.verdicts[name].values("avg", None), VerdictTable.of_rows(rows_of_benchmark).values("avg", None)
        )
    assert grpo.curves[1]["train/entropy"] == [(1, pytest.approx(0.1)), (2, pytest.approx(0.2))]


def test_runs_of_another_machine_stay_in_the_tables(tmp_path: Path) -> None:
    shutil.copytree(LATER_FOLDER, tmp_path, dirs_exist_ok=True)
    write_tables(LATER, read_settings(LATER), [], tmp_path)
    readers = {"runs.csv": pd.read_csv, "verdicts.parquet": pd.read_parquet, "curves.parquet": pd.read_parquet}
    for name, read in readers.items():
        pd.testing.assert_frame_equal(read(tmp_path / name), read(LATER_FOLDER / name))

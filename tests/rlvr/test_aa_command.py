"""`rlvr aa`: its page from made-up runs, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evals.stats.verdict_table import VerdictTable
from harness.tables import measured as store
from harness.tables.measured import Measured
from rlvr.cli import main


def arm(name: str, seeds: int, *, trained: bool = True) -> Measured:
    rng = np.random.default_rng(0)
    rates = 0.5 + 0.05 * rng.standard_normal(seeds)
    rows = pd.DataFrame(
        {
            "benchmark": "tiny_short",
            "problem_id": f"p{p}",
            "sample": 0,
            "gold": "1",
            "boxed": True,
            "verdict": "correct" if rng.random() < rate else "wrong",
            "answer_class": None,
            "train_seed": seed,
        }
        for seed, rate in enumerate(rates)
        for p in range(40)
    )
    return Measured(
        "math-7b", name, name, "tiny", "trl", "", "0", tuple(range(seeds)), (), (), {}, {"tiny_short": 1},
        {"tiny_short": VerdictTable.of_rows(rows)}, {}, trained=trained,
    )  # fmt: skip


@pytest.fixture
def arms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    held = [arm("base", 1, trained=False), arm("grpo", 8), arm("egsw", 1)]
    monkeypatch.setattr(store, "gather", lambda paper, tracker, arms: [m for m in held if m.arm in arms])


@pytest.mark.usefixtures("arms")
def test_aa_prints_a_page_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["power", "aa=true", "paper=egsw", "arm=grpo"]
    assert main([*command, "--json"]) == 0
    rates = json.loads(capsys.readouterr().out)["rates"]
    assert [(rate["arm"], rate["runs"], rate["seeds"]) for rate in rates] == [("grpo", 8, 1), ("grpo", 8, 3)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "### grpo: 8 runs" in printed and "tiny scale" in printed


@pytest.mark.usefixtures("arms")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["arm=grpo"], "paper"),
        (["paper=egsw"], "arm"),
        (["paper=egsw", "arm=base"], "arm=base: no trained arm at tiny scale"),
        (["paper=egsw", "arm=egsw"], "arm=egsw: expected at least two training seeds, got 1"),
        (["paper=egsw", "arm=grpo", "seeds=[0]"], "seeds"),
    ],
)
def test_what_cannot_be_tested_is_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", "aa=true", *options]) == 2
    assert message in capsys.readouterr().err

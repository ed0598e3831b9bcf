"""`rlvr power` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rlvr.cli import main
from tests.evals.stats.runs import save_run


def test_power_json_lists_samples_and_power_by_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["power", "difference=0.05", "benchmark=math500", "samples=[1,4]", "seeds=3", "seed_sd=0.01", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["problems"], [row["samples"] for row in document["rows"]]) == (500, [1, 4])
    (one, four) = document["rows"]
    assert list(one["power_by_seeds"]) == ["3"]
    assert one["power_by_seeds"]["3"] < four["power_by_seeds"]["3"]
    seed = document["model"]["seed_sd"]
    assert (seed["value"], seed["origin"], seed["was"]["origin"]) == (0.01, "user", "assumed")
    assert document["model"]["within_sd"]["origin"] == "paper"


def test_table_from_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = save_run(tmp_path / "a", "tiny_short", {"p": "+a", "q": "aa", "r": "++"})
    assert main(["power", "difference=0.05", f"runs={run}"]) == 0
    printed = capsys.readouterr().out
    # a path cannot be broken; all else fits the terminal
    text = " ".join(printed.split())
    assert "Power with tiny_short, 48 problems" in text
    # within 1/sqrt(6): see test_moments_by_hand
    assert f"within_sd 40.8 user: measured on {run}" in text

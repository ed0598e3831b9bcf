"""The report of a paper from an MLflow store (made-up verdicts, logged as a run logs them), through the command."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest

from evals.plots.plot import Plot
from harness.record.mirror import sync
from harness.report.data import environment_grid, rendered, values_grid
from harness.tables.measured import Measured
from rlvr.cli import main
from tests.harness.record.folders import finished
from tests.harness.tables.test_tabulate import BENCHMARKS, log_arm


def measured(arm: str, settings: dict[str, Any], commit: str = "a") -> Measured:
    record = {"settings": settings, "environment": {"commit": commit, "command": "x", "packages": {"torch": "2"}}}
    run: Any = SimpleNamespace(record=record, settings=settings)
    return Measured("m", arm, arm, "tiny", "trl", "", "0", (0,), (), (), {}, {}, {}, {}, runs={0: run})


def sourced(value: Any, origin: str, note: str = "why", was: Any = None) -> dict[str, Any]:
    return {"value": value, "origin": origin, "note": note, "was": was}


def test_values_state_their_source() -> None:
    was = sourced(0.4, "paper", "section 5")
    arms = [
        measured("a", {"lr": sourced(1e-6, "assumed"), "alpha": sourced(0.8, "user", "command line", was)}),
        measured("b", {"lr": sourced(1e-6, "assumed"), "n": sourced(8, "paper", "table 1")}),
    ]
    assert values_grid(arms, every=False).rows == (
        ("alpha", "0.8", "user", "command line (was 0.4, paper: section 5)", "a"),
        ("lr", "1e-06", "assumed", "why", "all"),
    )
    assert [row[0] for row in values_grid(arms, every=True).rows] == ["alpha", "lr", "n"]


def test_each_environment_has_a_column() -> None:
    grid = environment_grid([measured("a", {}), measured("b", {})])
    assert grid.header == ("", "all runs") and ("torch", "2") in grid.rows and ("gpus", "none") in grid.rows
    two = environment_grid([measured("a", {}), measured("b", {}, commit="b")])
    assert two.header == ("", "a (seed 0)", "b (seed 0)") and ("commit", "a", "b") in two.rows


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """base, grpo and egsw of EGSW's Table 1. Egsw is correct far more often than grpo on MATH-500 alone."""
    home = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RLVR_HOME", str(home))
        few = {"math500": 100, "aime24": 3, "aime25": 3, "gpqa_diamond": 20}
        for arm, right in (("base", few), ("grpo", few), ("egsw", {**few, "math500": 300})):
            log_arm(home, arm, 0, right)
        sync()
    return home


@pytest.fixture
def report(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("RLVR_HOME", str(store))

    def run(*options: str) -> tuple[dict[str, Any], str]:
        out = tmp_path / "report.html"
        assert main(["report", "paper=egsw", "only=none", f"out={out}", *options, "--json"]) == 0
        return json.loads(capsys.readouterr().out), out.read_text(encoding="utf-8")

    return run


def test_a_paper_in_one_command(report: Any) -> None:
    summary, page = report()
    outcomes = {claim["text"]: claim["outcome"] for claim in summary["claims"]}
    # each arm has one training seed, and a verdict on a method needs three
    assert outcomes["On Qwen2.5-Math-7B, EGSW scores higher than GRPO on all four benchmarks."] == "few seeds"
    instruct = [outcome for text, outcome in outcomes.items() if text.startswith("On Qwen2.5-Math-7B-Instruct")]
    assert instruct and set(instruct) == {"not measured"}
    assert summary["scale"] == "paper" and "stand in for the paper" not in page
    assert summary["responses"] == 3 * sum(BENCHMARKS.values()) == summary["responses_kept"]
    # the models are not on this machine: their responses are shown, without entropies
    assert len([n for n in summary["notes"] if "responses without entropies" in n]) == 3
    for piece in ("74.1", "boxed_system", "0123456789", "15/60"):
        assert piece in page


def test_a_watched_page_reloads_itself_until_the_command_ends(
    report: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, in_other_threads = [], time.sleep

    def sleep(seconds: float) -> None:
        if threading.current_thread() is not threading.main_thread():  # MLflow's
            return in_other_threads(seconds)
        seen.append((seconds, (tmp_path / "report.html").read_text()))
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    _, page = report("watch=7")
    ((seconds, while_it_waited),) = seen
    assert seconds == 7 and 'http-equiv="refresh" content="7"' in while_it_waited and "No runs train" in while_it_waited
    assert "refresh" not in page.partition("<style>")[0]
    monkeypatch.setattr("rlvr.writing._of_runs", Mock(side_effect=[KeyboardInterrupt, ValueError]))
    assert main(["page", "runs=[x]", "watch=7"]) == 130  # interrupted before the first page: none is made after it


def test_arms_can_be_chosen_and_the_others_are_named(report: Any) -> None:
    summary, _ = report("arm=[grpo,egsw]", "tokens=false")
    assert summary["responses"] == 2 * sum(BENCHMARKS.values())
    assert any("Measured too" in note and "tiny/base" in note for note in summary["notes"])


def test_the_page_names_an_unmeasured_scale(report: Any) -> None:
    summary, page = report("scale=tiny")
    assert {claim["outcome"] for claim in summary["claims"]} == {"not measured"}
    assert "Nothing was measured at this scale" in page and summary["responses"] == 0


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("arm=egws", "arm=egws: not measured at paper scale. Did you mean 'egsw'?"),
        ("model=7b", "model=7b: not measured at paper scale"),
    ],
)
def test_what_was_not_measured_is_named(
    option: str, message: str, store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(store))
    assert main(["report", "paper=egsw", option]) == 2
    assert message in capsys.readouterr().err


def test_an_arm_whose_seeds_all_trained_nothing_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    few = {"math500": 100, "aime24": 3, "aime25": 3, "gpqa_diamond": 20}
    finished(tmp_path, few, problems=BENCHMARKS, arm="base", scale="paper")
    finished(tmp_path, few, problems=BENCHMARKS, arm="grpo", scale="paper", unmoved=True)
    page = tmp_path / "page.html"
    assert main(["report", "paper=egsw", "scale=paper", "tokens=false", "only=none", f"out={page}"]) == 0
    assert "seed 0 trained nothing: every weight equals the base model" in page.read_text()


def test_nulls_of_a_table_are_not_printed_as_text() -> None:
    from harness.report.data import _shown

    row = {"problem_id": "p", "sample": 0, "verdict": "unscored", "answer": None, "gold": "1", "response": "r"}
    (shown,) = _shown("a", "b", pd.DataFrame([{**row, "tokens": float("nan")}]), {}, None, {})
    assert shown.answer is None and shown.length is None and shown.prompt is None and shown.tokens is None


def test_a_figure_names_a_paper_in_that_papers_report_alone() -> None:
    plot = Plot(
        "f", "A figure", "n = 1", "arXiv 1111.1, Fig. 2; arXiv 2222.2, Fig. 1a", pd.DataFrame(), lambda figure: None
    )
    assert rendered(plot).source == ""  # a page on any runs: a private benchmark is no paper's
    assert rendered(plot, "2222.2").source == "arXiv 2222.2, Fig. 1a"
    assert rendered(plot, "3333.3").source == ""

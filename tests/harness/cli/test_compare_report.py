"""`rlvr compare` from the command line: paths, MLflow runs, table, JSON and figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.main import main
from tests.evals.stats.runs import save_run

RIGHT, WRONG = {f"p{i}": "++" for i in range(12)}, {f"p{i}": "aa" for i in range(12)}


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    return str(save_run(tmp_path / "a", "x", RIGHT)), str(save_run(tmp_path / "b", "x", WRONG))


def test_table_and_json(sides: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *sides, "metrics=avg,unsolvable"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "avg@2" in line]
    # twelve differences of 1: of 2^12 sign patterns two are as far from zero, and Holm doubles that; the interval
    # reaches down to 1 - 2 (1 - 0.025^(1/12))
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "x", "avg@2", "100.0", "0.0", "+100.0", "[+47.1, +100.0]", "5e-04", "1e-03", "higher", "12",
    ]  # fmt: skip
    assert main(["compare", *sides, "metrics=avg", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["a"], document["lines"][0]["verdict"]) == (sides[0], "higher")


def test_a_different_measurement_needs_the_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = save_run(tmp_path / "a", "x", RIGHT)
    b = save_run(tmp_path / "b", "x", WRONG, decoding={"temperature": 0.6, "top_p": 1.0, "max_tokens": 64})
    command = ["compare", str(a), str(b), f"figure={tmp_path / 'f.svg'}"]
    assert main(command) == 2
    assert "decoding.temperature is 1.0 in A and 0.6 in B" in capsys.readouterr().err
    assert not (tmp_path / "f.svg").exists()
    assert main([*command, "allow_different=true"]) == 0
    assert "MEASURED DIFFERENTLY: x: decoding.temperature is 1.0 in A and 0.6 in B" in capsys.readouterr().out
    assert "MEASURED DIFFERENTLY" in (tmp_path / "f.svg").read_text()


def test_mlflow_runs_are_found_by_id(
    sides: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    unknown = "0123456789abcdef0123456789abcdef"
    assert main(["compare", unknown, sides[1]]) == 2
    assert "no MLflow store" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()  # looking for a run makes no store
    from harness.runs.track import Tracker

    tracker = Tracker.open()
    run = tracker.run(tracker.experiment("test"), None, "arm", {})
    for name in ("verdicts.parquet", "manifest.json"):
        tracker.artifact(run, Path(sides[0]) / "x" / name, "verdicts/x")
    assert main(["compare", run, sides[1], "metrics=avg", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["lines"][0]["difference"], document["notes"]) == (1.0, [])
    assert main(["compare", unknown, sides[1]]) == 2
    assert "no finished arm with verdicts" in capsys.readouterr().err

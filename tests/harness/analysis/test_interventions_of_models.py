"""`rlvr analyze` of models: what it samples itself."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from evals.sampling.engines import transformers as transformers_engine
from rlvr.cli import main
from tests.experiments import save_random_model

pytestmark = pytest.mark.slow

SMALL = ["protocol=tiny", "benchmarks=tiny_short", "rows=3", "n=2", "ks=[1,2]", "max_tokens=6"]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))


def test_continuations_of_changed_responses_are_sampled_and_cached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two folders end in the same name, as those of two runs do."""
    out = tmp_path / "out"
    for arm in ("base", "ours"):
        model = save_random_model(tmp_path / arm / "final")
        assert main(["eval", f"model={model}", *SMALL, f"out=evaluations/{arm}"]) == 0
    command = ["analyze", "runs=[evaluations/base,evaluations/ours]", "only=verdicts,interventions", "samples=1"]
    command += [f"out={out}", "--json"]
    capsys.readouterr()
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert [m["name"] for m in document["models"]] == ["base", "ours"]
    # random models solve nothing, and a perturbation is of responses to problems that are always solved
    assert document["skipped"] == [
        "interventions, tiny_short: perturbation: expected a problem of the token table whose samples are all correct, "
        "found none"
    ]
    assert "**Tiny scale: " in (out / "README.md").read_text()  # though no record says so
    table = pd.read_csv(out / "interventions" / "replacement_by_entropy_tiny_short.csv")
    groups = table.groupby("model")["group"].agg(list)
    assert groups["base"] == groups["ours"] == ["top", "bottom", "random"]
    assert set(table["k"]) == {1}

    class Loaded(Exception):
        """A model was asked for."""

    def load(*_: object) -> None:
        raise Loaded

    monkeypatch.setattr(transformers_engine.TransformersEngine, "generate", load)
    assert main(command) == 0  # again: all of it is there
    assert json.loads(capsys.readouterr().out)["figures"] == document["figures"]
    assert main([*command[:3], "samples=2", *command[4:]]) == 1 and "Loaded" in capsys.readouterr().err

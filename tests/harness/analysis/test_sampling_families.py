"""`rlvr analyze` of models: what it samples itself, and kept checkpoints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from evals.sampling.engines import transformers as transformers_engine
from harness.record.write import Recorder
from rlvr.cli import main
from tests.experiments import save_random_model
from tests.harness.record.folders import arm_record

pytestmark = pytest.mark.slow

SMALL = ["protocol=tiny", "benchmarks=tiny_short", "rows=3", "n=2", "ks=[1,2]"]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two folders that end in the same name, as those of two runs do."""
    folder = tmp_path_factory.mktemp("models")
    return [save_random_model(folder / arm / "final") for arm in ("base", "ours")]


def numbers(out: Path, family: str, name: str) -> pd.DataFrame:
    return pd.read_csv(out / family / f"{name}.csv")


def evaluated(model: Path, name: str, tokens: int = 6) -> Path:
    folder = Path("evaluations") / name
    assert main(["eval", f"model={model}", *SMALL, f"max_tokens={tokens}", f"out={folder}"]) == 0
    return folder


def test_temperatures_at_forks_are_sampled_and_cached(
    models: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    runs = [evaluated(model, name) for model, name in zip(models, ("base", "ours"), strict=True)]
    command = ["analyze", f"runs=[{runs[0]},{runs[1]}]", "only=verdicts,fork_temperature"]
    command += ["temperatures=[2]", f"out={out}", "--json"]
    capsys.readouterr()
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert [m["name"] for m in document["models"]] == ["base", "ours"]
    assert document["skipped"] == []
    assert "**Tiny scale: " in (out / "README.md").read_text()  # though no record says so
    table = numbers(out, "fork_temperature", "fork_temperature_tiny_short")
    pairs = [(1.0, 1.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0)]  # at forks, then elsewhere
    for _, rows in table.groupby("model"):
        assert list(zip(rows["fork_temperature"], rows["other_temperature"], strict=True)) == pairs
    assert set(table["samples"]) == {6}

    class Loaded(Exception):
        """A model was asked for."""

    def load(*_: object) -> None:
        raise Loaded

    monkeypatch.setattr(transformers_engine.TransformersEngine, "generate", load)
    assert main(command) == 0  # again: all of it is there
    assert json.loads(capsys.readouterr().out)["figures"] == document["figures"]
    with pytest.raises(Loaded):
        main([*command[:-1], "samples=3", "--json", "--debug"])


def test_checkpoints_of_a_training_are_read(
    models: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The slope of a token's entropy over steps, where the trainer has kept a model between the first and the last."""
    base = tmp_path / evaluated(models[0], "base", 12)
    job = tmp_path / "job"
    shutil.copytree(base, job / "eval")
    recorder = Recorder(job)
    recorder.start(**arm_record(settings={"learning_rate": {}}))
    for step in range(1, 10):
        recorder.metrics(step, {"train/reward": 1.0})
    shutil.copytree(models[0], job / "train" / "final")

    def plotted() -> tuple[set[str], list[str]]:
        capsys.readouterr()
        assert main(["analyze", f"runs=[{base},{job}]", "names=[base,ours]", "only=tokens", "out=b", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        return {f["name"] for f in document["figures"]}, document["skipped"]

    names, skipped = plotted()
    assert "entropy_drops_tiny_short" not in names
    assert len(skipped) == 1 and "no run's folder holds a checkpoint between" in skipped[0]
    shutil.copytree(models[0], job / "train" / "checkpoint-4")
    (job / "train" / "checkpoint-4" / "whole").touch()
    names, skipped = plotted()
    assert "entropy_drops_tiny_short" in names and not skipped
    assert (
        "ours: steps 0, 4, 9"
        in json.loads((tmp_path / "b/tokens/entropy_drops_tiny_short.json").read_text())["caption"]
    )

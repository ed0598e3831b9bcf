"""`rlvr analyze` of checkpoints, and of what it samples itself: the temperature at forks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from evals.sampling.engines import transformers as transformers_engine
from harness.errors import UsageError
from harness.record.write import Recorder
from rlvr.cli import main
from rlvr.writing import labels, planned_evaluations
from tests.experiments import save_random_model

pytestmark = pytest.mark.slow

SMALL = ["protocol=tiny", "benchmarks=tiny_short", "rows=3", "n=2", "ks=[1,2]", "max_tokens=6"]


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


def test_labels_tell_checkpoints_apart(tmp_path: Path) -> None:
    (tmp_path / "x" / "final").mkdir(parents=True)
    (tmp_path / "y" / "final").mkdir(parents=True)
    assert labels(["Qwen/A", "Qwen/B"]) == ["A", "B"]
    assert labels(["Qwen/A", "other/A"]) == ["Qwen-A", "other-A"]
    assert labels([str(tmp_path / "x/final"), "y/final"]) == ["x-final", "y-final"]


def test_every_checkpoint_is_checked_before_the_first_is_evaluated() -> None:
    values = {"n": 2, "ks": [1], "benchmarks": ["tiny_rare"]}
    first, second = planned_evaluations(["o/A", "o/B"], "tiny", values, "d")
    assert (first.out, second.out) == (Path("evaluations/A-tiny-seed0"), Path("evaluations/B-tiny-seed0"))
    assert second.protocol.value("n", "tiny_rare") == 2 and second.protocol.benchmarks.value == ("tiny_rare",)
    assert second.data_dir == "d"
    with pytest.raises(UsageError, match="samples_=3"):
        planned_evaluations(["o/A"], "tiny", {"samples_": 3}, None)


def test_one_command_evaluates_checkpoints_and_samples(
    models: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    command = ["analyze", f"checkpoints=[{models[0]},{models[1]}]", *SMALL, "only=verdicts,fork_temperature"]
    command += ["temperatures=[2]", f"out={out}", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert [m["name"] for m in document["models"]] == ["base-final", "ours-final"]
    assert document["skipped"] == []
    assert "**Tiny scale: " in (out / "README.md").read_text()  # though no record says so
    folders = {path.name for path in (tmp_path / "evaluations").iterdir()}
    assert folders == {"base-final-tiny-seed0", "ours-final-tiny-seed0"}

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
    command = ["analyze", f"checkpoints=[{models[0]}]", *SMALL[:-1], "max_tokens=12", "only=tokens", "out=a", "--json"]
    assert main(command) == 0
    base = tmp_path / "evaluations" / "final-tiny-seed0"
    job = tmp_path / "job"
    shutil.copytree(base, job / "eval")
    recorder = Recorder(job)
    recorder.start(kind="arm", arm="grpo", settings={"learning_rate": {}})
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

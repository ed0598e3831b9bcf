"""Curves of runs: training metrics, and scores of evaluations while they trained."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest

from evals.analysis.subjects import Subject
from evals.data.protocols import recorded_policy
from harness.analysis.material import Material
from harness.analysis.runs import Analysed, read_runs
from harness.record.run import Run
from tests.experiments import save_random_model
from tests.harness.record.folders import started


def test_scores_are_joined_with_the_metrics_of_their_step_of_every_seed(tmp_path: Path) -> None:
    """Steps 1 to 3, evaluated after 2 and 4 (where nothing of the training was kept)."""
    runs = []
    for seed in (0, 1):
        recorder = started(tmp_path, seed=seed)
        for step in (1, 2, 3):
            recorder.metrics(step, {"train/reward": float(step + seed)})
        for step in (2, 4):
            recorder.metrics(step, {"curve/b/avg_at_4": step / 10})
        runs.append(Run(recorder.folder))
    untrained = Run(started(tmp_path, seed=2).folder)
    models = [Analysed(Subject(name, {}), None, "", tuple(r)) for name, r in (("base", [untrained]), ("a", runs))]
    kept = Material(models, [], tmp_path).curves()
    assert kept["model"].tolist() == ["a"] * 8 and kept["seed"].tolist() == [0] * 4 + [1] * 4
    assert kept["step"].tolist() == [1, 2, 3, 4] * 2
    assert kept["curve/b/avg_at_4"].fillna(-1).tolist() == [-1, 0.2, -1, 0.4] * 2
    assert kept["train/reward"].fillna(-1).tolist() == [1, 2, 3, -1, 2, 3, 4, -1]


def test_the_arms_of_an_archive_are_models_of_their_own_with_their_curves() -> None:
    models = read_runs(["results/records/egsw.tar.xz"], None, data_dir=None)
    models_read = [(m.name, len(m.sources), bool(m.sources[0].curve)) for m in models]
    assert models_read == [("base", 1, False), ("egsw", 20, True), ("grpo", 20, True)]


@pytest.mark.parametrize("reasoning", ["after", "whole", None])
@pytest.mark.parametrize("extraction", ["qwen", "prompt", "answer_line"])
def test_interventions_are_graded_as_the_verdicts_of_the_run(
    extraction: str, reasoning: str | None, tmp_path: Path
) -> None:
    """Before there was a choice all of a response was read."""
    protocol = {"extraction": {"value": extraction}, "prompt": {"value": "benchmark"}}
    protocol |= {"reasoning": {"value": reasoning}} if reasoning else {}
    identity = {"benchmark": "b", "decoding": {"temperature": 1.0, "top_p": 1.0, "max_tokens": 9}}
    manifest = {"identity": {**identity, "prompt": {"name": "boxed_suffix"}}, "record": {"protocol": protocol}}
    run = Mock(manifest=lambda _: manifest)
    tables = {"b": pd.DataFrame({"problem_id": ["a"], "sample": [0], "response": ["x"], "verdict": ["wrong"]})}
    subject = Subject("ours", tables, str(save_random_model(tmp_path / "model")), {"b": {"a": "?"}})
    material = Material([Analysed(subject, subject, "", (run,))], ["b"], tmp_path)
    sampling = material.sampling(subject, "b", "perturbation")
    assert sampling.policy == recorded_policy(manifest) == ("boxed_last" if extraction == "prompt" else extraction)
    assert sampling.reasoning == (reasoning or "whole") and sampling.decoding.max_tokens == 9

"""The state that a method carries from step to step survives a checkpoint: the entropy search, and a reference that was
reset.

A run that is stopped after its third of four steps and resumed must end with the weights of an uninterrupted one.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from evals.provenance import Origin, assumed
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.train import train
from harness.backends.trl.trainer import REFERENCE_FILE
from harness.spec import EntropySearch, Experiment
from tests.experiments import WHY, experiment

pytestmark = pytest.mark.slow

# A strong pull to the reference, which is reset after step 2: step 4 shows which reference was in force. A random model
# solves nothing, so that no reward moves it. An entropy bonus does.
RESET = experiment().override(
    {"kl_beta": 5.0, "reference_reset_every": 2, "learning_rate": 1e-2, "entropy_coefficient": 1.0}, Origin.USER, WHY
)
# a target far above any entropy: the coefficient rises by 0.5 a step, and moves the weights more and more
SEARCH = replace(
    experiment(),
    entropy_target=assumed(100.0, WHY),
    entropy_search=EntropySearch(step=assumed(0.5, WHY), maximum=assumed(9.0, WHY)),
)


def run(declared: Experiment, random_model: Path, out_dir: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    from safetensors.torch import load_file

    hardware = TrlHardware(device="cpu", save_every=1)
    kept = train(
        declared, base_model=str(random_model), seed=0, out_dir=out_dir, hardware=hardware, on_metrics=lambda *_: None
    )
    return kept, load_file(out_dir / "final" / "model.safetensors")


@pytest.mark.parametrize("declared", [RESET, SEARCH], ids=["reference", "entropy_search"])
def test_a_run_stopped_after_three_steps_ends_with_equal_results(
    declared: Experiment, random_model: Path, tmp_path: Path
) -> None:
    _, want = run(declared, random_model, tmp_path)
    shutil.rmtree(tmp_path / "checkpoint-4")
    shutil.rmtree(tmp_path / "final")
    kept, got = run(declared, random_model, tmp_path)
    assert kept["resumed_from"] == str(tmp_path / "checkpoint-3")
    assert all(torch.equal(got[name], want[name]) for name in want)


def test_the_reference_is_the_policy_of_the_last_reset(random_model: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    declared = RESET.override({"max_steps": 3}, Origin.USER, WHY)
    run(declared, random_model, tmp_path)
    policy = load_file(tmp_path / "checkpoint-2" / "model.safetensors")
    base = load_file(random_model / "model.safetensors")
    assert not any(torch.equal(base[name], weights) for name, weights in policy.items())
    for step in (2, 3):
        reference = torch.load(tmp_path / f"checkpoint-{step}" / REFERENCE_FILE, weights_only=True)
        assert all(torch.equal(reference[name], weights) for name, weights in policy.items())

"""How far a training moved the weights: by hand, and of a real training whose only step has learning rate 0."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from harness.command.options import RunOptions
from harness.jobs.moved import Moved, moved, sentence
from harness.launch.prepare import planned
from harness.record.run import Run


def save(folder: Path, name: str, **tensors: object) -> Path:
    import torch
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    save_file({key: torch.as_tensor(value) for key, value in tensors.items()}, folder / name)
    return folder


def test_norm_and_share_by_hand(tmp_path: Path) -> None:
    """3 and 4 are added to two of five weights: the norm is 5, 2 of 5 changed. The base is in two files."""
    base = save(tmp_path / "base", "model-1.safetensors", a=[1.0, 2.0, 3.0])
    save(base, "model-2.safetensors", b=[[4.0, 5.0]])
    final = save(tmp_path / "final", "model.safetensors", a=[4.0, 2.0, 3.0], b=[[4.0, 9.0]])
    change = moved(str(base), final)
    assert change == Moved(5.0, 2, 5) and change.share == 0.4
    assert str(change) == "40 % of 5 weights changed, by a norm of 5"
    assert str(Moved(1.0, 9_980, 10_000)).startswith("99.8 % of") and str(Moved(1.0, 7, 7)).startswith("100 % of")
    same = moved(str(base), base)
    assert same == Moved(0.0, 0, 5) and "trained nothing" in str(same)
    other = save(tmp_path / "other", "model.safetensors", c=[1.0])
    assert moved(str(base), other) is None and "not known" in sentence(None, "float32")


def test_the_base_is_rounded_to_the_final_type_first(tmp_path: Path) -> None:
    """1.001 in bfloat16 is 1: a model that is only saved in another type has not moved."""
    import torch

    base = save(tmp_path / "base", "model.safetensors", a=[1.001])
    final = save(tmp_path / "final", "model.safetensors", a=torch.tensor([1.001]).bfloat16())
    assert moved(str(base), final) == Moved(0.0, 0, 1)


def test_pure_bfloat16_loses_updates_below_half_a_spacing(tmp_path: Path) -> None:
    """A step of 2^-20 (about 1e-6) changes a weight in [2^e, 2^(e+1)) if it is above 2^(e-8), half the spacing: for
    e = -13 it is, for e = -12 it is a tie that stays at an even weight, for e = -11 it is not. So 1 of 4 moves, and all
    weights from 2^-11 = 512 steps on stay: what the plan says."""
    import torch

    weights, step = torch.tensor([2.0**-13, 2.0**-12, 2.0**-11, 1.0]).bfloat16(), 2.0**-20
    base = save(tmp_path / "base", "model.safetensors", a=weights)
    final = save(tmp_path / "final", "model.safetensors", a=(weights.float() + step).bfloat16())
    change = moved(str(base), final)
    assert change is not None and change.share == 0.25
    reported = sentence(change, "pure_bfloat16")
    assert "25 % of 4 weights changed" in reported and "rounded the update of the other 75 %" in reported
    assert "rounded" not in sentence(change, "bfloat16")
    values = {"precision": "pure_bfloat16", "learning_rate": 2.0**-20, "seeds": 1, "scale": "small", "arm": "grpo"}
    from evals.notebook import as_text
    from harness.plan.text import blocks

    text = as_text(
        blocks(planned("egsw", RunOptions.from_keys({**values, "hardware": "rtx4090"}), check=False), brief=True)
    )
    assert f"each weight of {2.0**-11:.1g} or more" in text and math.isclose(2.0**-11, 512 * step)


@pytest.mark.slow
def test_a_training_whose_rate_is_0_trained_nothing(
    tmp_path: Path, random_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """max_steps=1 with warmup_ratio=0.1 has one step, of the warm-up, at learning rate 0."""
    from harness.record.find import runs
    from harness.record.state import job_state
    from harness.tables.measured import gather
    from harness.tables.tabulate import report
    from rlvr.cli import main
    from tests.sizes import WORDS

    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    kept_words = [word for word in WORDS if not word.startswith(("max_steps=", "warmup_ratio="))]
    words = ["run", "paper=egsw", "arm=grpo+random_reward", "seeds=1", *kept_words, f"base_model={random_model}"]
    words += ["hardware.device=cpu", "warmup_ratio=0.1"]
    assert main([*words, "max_steps=1"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Trained nothing: ") and "grpo+random_reward in 1 of 1 training seeds" in " ".join(
        out.split()
    )
    assert "trained nothing: all" in err
    (folder,) = tmp_path.glob("egsw/tiny/*-seed0")
    change = json.loads((folder / "run.json").read_text())["training"]["moved"]
    assert (change["changed"], change["norm"]) == (0, 0.0) and change["weights"] > 0
    assert Run(folder).trained_nothing and job_state(folder).state == "trained nothing"
    (arm,) = gather("egsw", runs())
    assert (arm.seeds, arm.nothing, arm.scores) == ((), (0,), {})  # it does not count for its arm
    assert "at tiny scale: seed 0 trained nothing" in report("egsw", runs()).markdown()
    assert main(["show", str(folder)]) == 0
    assert "Warning: seed 0 trained nothing" in capsys.readouterr().out

"""One update of each paper's main methods on the real model, and LoRA: adapter, merged model, evaluation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from evals.files import read_json, read_jsonl
from evals.sampling.prompt_nats import MOST_NATS
from rlvr.cli import main
from tests.real.training import ROLLOUT, words

pytestmark = pytest.mark.slow
ONE_UPDATE = (*ROLLOUT, "updates_per_rollout=1")
TUNED = ("batch_size=2", "max_tokens=128", "learning_rate=2e-5", "lr_schedule=constant", "warmup_ratio=0")
ARMS = {
    "egsw/egsw": ONE_UPDATE,
    "erpo/erpo": ONE_UPDATE,
    "entropy_advantage/grpo_entropy_advantage": ONE_UPDATE,
    "forking_tokens/top20": ONE_UPDATE,
    "trial_and_error/grpo_ppl": ONE_UPDATE,
    "trial_and_error/grpo_position": (*ONE_UPDATE, "position_advantage.first_step=0"),
    "erpo/sft": TUNED,
    "trial_and_error/rft": (
        *TUNED,
        "rounds=1",
        "problems_per_round=4",
        "samples_per_problem=4",
        "max_completion_tokens=64",
    ),
}
# two examples, because it seldom writes a box else, and rejection sampling reads boxes
PROMPT = r"""
user: |
  What is 1 + 1?
  \boxed{2}
  What is 4 + 4?
  \boxed{8}
  {problem}
chat: false
"""


def trained(model: Path, home: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> tuple[Path, dict[str, Any]]:
    """The folder of a run of one update, and its record."""
    monkeypatch.setenv("RLVR_HOME", str(home))
    prompt = home / "number.yaml"
    prompt.write_text(PROMPT)
    assert main(words(model, home, f"prompt={prompt}", "max_steps=1", *more)) == 0
    (run,) = (path.parent for path in home.glob("*/small/*/run.json"))
    return run, read_json(run / "run.json")


@pytest.mark.parametrize("name", ARMS)
def test_an_update_of_each_main_method(name: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paper, _, arm = name.partition("/")
    run, record = trained(model, tmp_path, monkeypatch, f"paper={paper}", f"arm={arm}", *ARMS[name])
    (step,) = (row["metrics"] for row in read_jsonl(run / "metrics.jsonl"))
    assert all(math.isfinite(value) for value in step.values())
    assert step["train/grad_norm"] > 1e-6
    assert record["training"]["steps"] == 1 and record["scores"]
    assert 0 < record["training"]["prompt_nats"]["nats_per_byte"] < MOST_NATS
    from safetensors.torch import load_file

    before, after = (load_file(folder / "model.safetensors") for folder in (model, run / "train" / "final"))
    assert before.keys() == after.keys()  # the tied output head is stored once
    assert any(not torch.equal(before[key].float(), after[key].float()) for key in before)


def test_lora_saves_its_adapter_and_a_merged_model_that_is_evaluated(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lora = ("lora_rank=4", "lora_alpha=8", "hardware.save_every=1")
    run, record = trained(model, tmp_path, monkeypatch, "paper=egsw", "arm=grpo", *ONE_UPDATE, *lora)
    assert record["scores"]
    from safetensors.torch import load_file

    adapter = load_file(run / "train" / "checkpoint-1" / "adapter_model.safetensors")
    before, after = (load_file(folder / "model.safetensors") for folder in (model, run / "train" / "final"))
    assert before.keys() == after.keys()
    changed = 0
    for name, weight in before.items():
        place = f"base_model.model.{name.removesuffix('.weight')}"
        a, b = (adapter.get(f"{place}.lora_{part}.weight") for part in "AB")
        if a is None or b is None:
            assert torch.equal(after[name].float(), weight.float()), name
            continue
        changed += 1
        torch.testing.assert_close(after[name], weight.float() + 8 / 4 * (b @ a), rtol=1e-6, atol=1e-7)
    assert changed == 30 * 7  # query, key, value, output. Gate, up, down
    assert float(sum(part.abs().sum() for name, part in adapter.items() if "lora_B" in name)) > 0

"""The model that a snapshot hands over in memory is the one that it saved."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.backends.trl.common import save_snapshot
from tests.experiments import save_random_model


@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("tied", [False, True])
def test_the_held_model_is_the_saved_one(tmp_path: Path, lora: bool, precision: Any, tied: bool) -> None:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = save_random_model(tmp_path / "base")
    model: Any = AutoModelForCausalLM.from_pretrained(base)
    if tied:
        model.config.tie_word_embeddings = True
        model.tie_weights()
    if lora:
        model = get_peft_model(model, LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM"))
        for name, weight in model.named_parameters():
            if "lora_B" in name:  # zero at the start: nothing would be merged
                weight.data.normal_(generator=torch.Generator().manual_seed(0))
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trainer = SimpleNamespace(
        model=model,
        model_wrapped=model,
        accelerator=SimpleNamespace(unwrap_model=lambda m: m, get_state_dict=lambda m: m.state_dict()),
        is_world_process_zero=lambda: True,
        processing_class=AutoTokenizer.from_pretrained(base),
    )
    held = save_snapshot(trainer, tmp_path / "saved", precision)
    assert held is not None
    ours, theirs = held(), AutoModelForCausalLM.from_pretrained(tmp_path / "saved")
    assert type(ours) is type(theirs) and ours.dtype == theirs.dtype == getattr(torch, precision)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    assert all(value.equal(theirs.state_dict()[name]) for name, value in ours.state_dict().items())
    assert ours.generation_config.to_dict() == theirs.generation_config.to_dict()
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        assert ours.eval()(input_ids=ids).logits.equal(theirs.eval()(input_ids=ids).logits)
    assert model.training and all(value.equal(before[name]) for name, value in model.state_dict().items())

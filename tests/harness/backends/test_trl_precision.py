"""Mixed precision: bf16 passes, float32 weights under the optimiser. The effect of small updates on the weights,
measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from evals.provenance import Origin
from harness.backends.trl.common import run_to_end, weights_dtype
from harness.backends.trl.hardware import TrlHardware
from tests.harness.backends.test_divergence import alternate, grpo_trainer

pytestmark = pytest.mark.slow

RATE = 1e-6  # papers train with this. A random weight of 0.02 has a bf16 neighbour 1e-4 away
USER = (Origin.USER, "a test")


def change(before: dict[str, torch.Tensor], model: Any) -> torch.Tensor:
    """By how much each weight moved, in one vector."""
    after = {name: p.detach().float() for name, p in model.named_parameters() if p.requires_grad}
    return torch.cat([(after[name] - before[name].float()).flatten() for name in sorted(after)])


def trained(random_model: Path, out: Path, precision: str, **values: Any) -> tuple[torch.Tensor, Any]:
    """(change of the weights over six steps, the trainer)."""
    values = {"max_steps": 6, "learning_rate": RATE, "precision": precision, "kl_beta": 0.01, **values}
    trainer = grpo_trainer(random_model, out, alternate, **values)
    before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
    trainer.train()
    return change(before, trainer.model), trainer


def test_a_small_learning_rate_moves_every_weight_in_mixed_precision(random_model: Path, tmp_path: Path) -> None:
    moved = {}
    for precision in ("float32", "bfloat16", "pure_bfloat16"):
        moved[precision], trainer = trained(random_model, tmp_path / precision, precision)
        kinds = {p.dtype for p in trainer.model.parameters()}
        assert kinds == {torch.bfloat16 if precision == "pure_bfloat16" else torch.float32}
        assert {p.dtype for p in trainer.ref_model.parameters()} == kinds
    share = {precision: float((m != 0).double().mean()) for precision, m in moved.items()}
    # weights of tokens that no text holds have no gradient: the same in all
    assert share["bfloat16"] > 0.99 * share["float32"]
    assert share["pure_bfloat16"] < 0.1 * share["float32"]
    # Adam's step is the learning rate for every weight, for any size of its gradient: six steps, at most 6 RATE
    # (and rounding: weights near 1 are known to 6e-8)
    assert float(moved["bfloat16"].abs().max()) < 6 * RATE + 5e-7
    cosine = torch.nn.functional.cosine_similarity(moved["bfloat16"], moved["float32"], dim=0)
    assert float(moved["bfloat16"].norm() / moved["float32"].norm()) == pytest.approx(1, abs=0.1)
    assert float(cosine) > 0.5  # rollouts part where bf16 rounds: the steps are not the same steps


def test_lora_trains_float32_adapters(random_model: Path, tmp_path: Path) -> None:
    assert weights_dtype("bfloat16", lora=True) == weights_dtype("pure_bfloat16", lora=False) == "bfloat16"
    values = {"max_steps": 2, "learning_rate": 1e-3, "precision": "bfloat16", "lora_rank": 4}
    trainer = grpo_trainer(random_model, tmp_path, alternate, **values)
    kinds = {(p.requires_grad, p.dtype) for p in trainer.model.parameters()}
    assert kinds == {(True, torch.float32), (False, torch.bfloat16)}
    run_to_end(trainer, tmp_path, TrlHardware(device="cpu"), precision="bfloat16")
    final = load_file(tmp_path / "final" / "model.safetensors")
    assert {tensor.dtype for tensor in final.values()} == {torch.bfloat16}
    assert not any("lora" in name for name in final)


def test_a_float32_head_gives_the_log_probabilities_of_float32_logits(random_model: Path, tmp_path: Path) -> None:
    """bfloat16 passes: the head's own rounding is gone, that of the hidden states stays."""
    ids = torch.arange(12).reshape(2, 6)
    mask = torch.ones_like(ids)
    errors = {}
    for head in ("passes", "float32"):
        values = {"precision": "bfloat16", "head_precision": head}
        trainer = grpo_trainer(random_model, tmp_path / head, alternate, **values)
        with torch.no_grad():
            logp, _, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, 3)
            with torch.autocast("cpu", torch.bfloat16):
                hidden = trainer.model.model(ids, attention_mask=mask).last_hidden_state
        exact = torch.nn.functional.linear(hidden.float(), trainer.model.lm_head.weight.float()).log_softmax(-1)
        wanted = exact[:, 2:-1].gather(-1, ids[:, 3:, None]).squeeze(-1)
        errors[head] = float((logp - wanted).abs().max().detach())
    assert errors["float32"] < 1e-6 < 1e-4 < errors["passes"]

"""Objectives against slow versions in Python floats, their special cases, and TRL's own losses to 1e-5."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.ce_gppo import ce_gppo
from baselines.cispo import cispo
from baselines.distillation import reverse_kl
from baselines.dppo import dppo
from baselines.dro import dro
from baselines.gmpo import gmpo
from baselines.gpg import policy_gradient
from baselines.gspo import gspo
from baselines.ipo import ipo, kimi_k25
from baselines.sapo import sapo
from baselines.vespo import vespo
from evals.provenance import assumed
from harness.spec import use
from harness.step.batch import TokenBatch
from harness.step.loss import aggregation_coefficients, clipped_objective, policy_loss
from tests import experiments
from tests.baselines.slow_objectives import slow_objective
from tests.batches import one_group

WHY = "a test"


def tensors(seed: int, rows: int = 4, tokens: int = 5, spread: float = 0.4) -> dict[str, torch.Tensor]:
    """Log-probabilities, old ones near them, an advantage a response (both signs, one 0), a ragged mask. Float64."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(tokens) < torch.tensor([5, 1, 3, 4])[:rows].unsqueeze(1)
    old = -torch.rand(rows, tokens, generator=generator, dtype=torch.float64) * 3 - 0.1
    logp = (old + spread * torch.randn(rows, tokens, generator=generator, dtype=torch.float64)).clamp(max=-1e-3)
    advantages = torch.tensor([1.3, -0.7, 0.0, -1.1], dtype=torch.float64)[:rows].unsqueeze(1) * mask
    return {"logp": logp * mask, "old_logp": old * mask, "advantages": advantages, "mask": mask}


CASES: dict[str, tuple[Callable[..., torch.Tensor], dict[str, Any]]] = {
    "gspo": (gspo, {"low": 0.05, "high": 0.08}),
    "cispo": (cispo, {"low": None, "high": 0.3}),
    "cispo-low": (cispo, {"low": 0.2, "high": 0.3}),
    "gmpo": (gmpo, {"low": 0.2, "high": 0.3}),
    "sapo": (sapo, {"tau_pos": 1.0, "tau_neg": 1.05}),
    "dppo-tv": (dppo, {"divergence": "binary_tv", "low": 0.03, "high": 0.05, "truncate": 1.2}),
    "dppo-kl": (dppo, {"divergence": "binary_kl", "low": 0.01, "high": 0.02, "truncate": 20.0}),
    "vespo": (vespo, {"k_pos": 2.0, "lambda_pos": 3.0, "k_neg": 3.0, "lambda_neg": 2.0}),
    "gpg": (policy_gradient, {}),
    "dro": (dro, {"beta": 0.7}),
    "ce_gppo": (ce_gppo, {"low": 0.2, "high": 0.3, "beta1": 0.5, "beta2": 0.8}),
    "ipo": (ipo, {"threshold": 0.05, "drift": 0.1}),
    "kimi_k25": (kimi_k25, {"low": 0.2, "high": 0.3, "drift": 0.1}),
}


def weighted(
    function: Callable[..., torch.Tensor], t: dict[str, torch.Tensor], values: dict[str, Any], how: Any
) -> Any:
    """(loss, gradient with respect to logp) under an aggregation."""
    logp = t["logp"].clone().requires_grad_()
    weights = aggregation_coefficients(t["mask"], how, max_tokens=9).to(logp.dtype)
    loss = policy_loss(
        logp,
        t["old_logp"],
        t["advantages"],
        weights,
        objective=lambda *tensors: function(*tensors, **values),
        mask=t["mask"],
    )
    (gradient,) = torch.autograd.grad(loss, logp)
    return loss.item(), gradient


@pytest.mark.parametrize("name", CASES)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_values_and_gradients_equal_the_slow_version(name: str, seed: int) -> None:
    function, values = CASES[name]
    how = "sequence_mean" if name in ("gspo", "gmpo") else "token_mean"  # their terms are those of whole responses
    t = tensors(seed)

    def slow(logp: torch.Tensor, old_logp: torch.Tensor, advantages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows = {"logp": logp, "old_logp": old_logp, "advantages": advantages, "mask": mask}
        return slow_objective(name.partition("-")[0], rows, values)

    torch.testing.assert_close(function(**t, **values) * t["mask"], slow(**t), rtol=1e-9, atol=1e-12)
    (loss, gradient), (expected, slow_gradient) = (weighted(f, t, v, how) for f, v in ((function, values), (slow, {})))
    assert loss == pytest.approx(expected, rel=1e-9)
    torch.testing.assert_close(gradient, slow_gradient, rtol=1e-6, atol=1e-9)


def test_special_cases_equal_simpler_objectives() -> None:
    t = tensors(0)
    on_policy = {**t, "old_logp": t["logp"].clone()}
    plain: dict[str, Any] = {}
    want = weighted(policy_gradient, on_policy, plain, "token_mean")[1]
    for name, (function, values) in CASES.items():  # at ratio 1 every objective has the plain policy gradient
        got = weighted(function, on_policy, values, "sequence_mean" if name == "gmpo" else "token_mean")[1]
        expected_loss = weighted(policy_gradient, on_policy, plain, "sequence_mean")[1] if name == "gmpo" else want
        torch.testing.assert_close(got, expected_loss, rtol=1e-9, atol=1e-12)
    # responses of one token: the sequence's ratio is the token's, so GSPO is PPO's clipping
    single_token = {key: value[:, :1] for key, value in tensors(1).items()}
    got = gspo(**single_token, low=0.2, high=0.28)
    ppo = clipped_objective(
        single_token["logp"], single_token["old_logp"], single_token["advantages"], clip_low=0.2, clip_high=0.28
    )
    torch.testing.assert_close(got, ppo)
    # without bounds CISPO has the gradient of the unclipped surrogate
    _, free = weighted(cispo, t, {"low": None, "high": 1e9}, "token_mean")
    _, unclipped = weighted(
        lambda logp, old, a, mask: clipped_objective(logp, old, a, clip_low=None, clip_high=None), t, {}, "token_mean"
    )
    torch.testing.assert_close(free, unclipped)
    # DPPO with a trust region that nothing leaves and no truncation is CISPO without bounds
    wide = {"divergence": "binary_tv", "low": 1.0, "high": 1.0, "truncate": 1e9}
    torch.testing.assert_close(dppo(**t, **wide), cispo(**t, low=None, high=1e9))  # type: ignore[arg-type]
    # CE-GPPO whose betas are 0 has the gradient of PPO's clipping
    _, none_kept = weighted(ce_gppo, t, {"low": 0.2, "high": 0.3, "beta1": 0.0, "beta2": 0.0}, "token_mean")
    _, clipped = weighted(
        lambda logp, old, a, mask: clipped_objective(logp, old, a, clip_low=0.2, clip_high=0.3), t, {}, "token_mean"
    )
    torch.testing.assert_close(none_kept, clipped)
    # DRO without its penalty is the plain policy gradient. Without bounds Kimi K2.5's and prime-rl's are one
    torch.testing.assert_close(dro(**t, beta=0.0), policy_gradient(**t))
    torch.testing.assert_close(ipo(**t, threshold=1.0, drift=0.2), kimi_k25(**t, low=1.0, high=1e9, drift=0.2))
    # LUSPO weighs a response of GSPO by its length
    lengths = t["mask"].sum(1, keepdim=True)
    luspo, of_gspo = (weighted(gspo, t, CASES["gspo"][1], how)[1] for how in ("sequence_sum", "sequence_mean"))
    torch.testing.assert_close(luspo, of_gspo * lengths)


def test_impossible_stacks_are_refused_with_the_reason() -> None:
    declared = experiments.experiment()
    objective = use(gmpo, low=assumed(0.4, WHY), high=assumed(0.4, WHY))
    with pytest.raises(ValueError, match=r"clip_low: expected null with the objective gmpo.*got 0\.2"):
        replace(declared, method=replace(declared.method, objective=objective))
    none: Any = assumed(None, WHY)
    free = replace(declared, clip_low=none, clip_high=none)
    token_mean: Any = assumed("token_mean", WHY)
    with pytest.raises(ValueError, match="gmpo cannot be used here: aggregation: expected sequence_mean"):
        replace(free, method=replace(declared.method, objective=objective, aggregation=token_mean))
    from tests.harness.cases import CASES as METHODS

    shaped = METHODS["entropy_advantage"].method
    with pytest.raises(ValueError, match="gmpo cannot be used here: method: expected one advantage a response"):
        replace(free, method=replace(shaped, objective=objective))
    with pytest.raises(ValueError, match="gmpo belongs to objective, got it among weights"):
        replace(declared, method=replace(declared.method, weights=(objective,)))
    # GSPO's token form takes shaped advantages, weights and gates
    tokens = use(gspo, low=assumed(0.1, WHY), high=assumed(0.1, WHY))
    replace(free, method=replace(METHODS["entropy_advantage on dapo with clip_cov"].method, objective=tokens))


# -- TRL's own losses --------------------------------------------------------------------------------------------------


BOUNDS = {"importance_sampling_level": "sequence", "epsilon_low": 0.05, "epsilon_high": 0.08}  # GSPO's
TRL: dict[str, tuple[dict[str, Any], str, Any]] = {  # name -> TRL's settings, our objective in CASES, our aggregation
    "gspo": ({"loss_type": "grpo", **BOUNDS}, "gspo", "sequence_mean"),
    "luspo": ({"loss_type": "luspo", **BOUNDS}, "gspo", "sequence_sum"),
    "cispo": ({"loss_type": "cispo", "epsilon_high": 1.3}, "cispo", "token_mean"),
    "sapo": ({"loss_type": "sapo"}, "sapo", "sequence_mean"),
    "vespo": ({"loss_type": "vespo"}, "vespo", "token_mean"),
    "gmpo": ({"epsilon_low": 0.2, "epsilon_high": 0.3}, "gmpo", "sequence_mean"),
    "off_policy_mask": (
        {"loss_type": "dapo", "epsilon_low": 0.2, "epsilon_high": 0.28, "off_policy_mask_threshold": 0.3},
        "off_policy_mask",
        "token_mean",
    ),
}


def _masked_surrogate(logp: Any, old: Any, a: Any, mask: Any) -> torch.Tensor:
    from baselines.off_policy_mask import off_policy_mask

    batch = one_group(advantages=a, logp=logp.detach(), old_logp=old, mask=mask)
    return off_policy_mask(batch, threshold=0.3) * clipped_objective(logp, old, a, clip_low=0.2, clip_high=0.28)


@pytest.mark.parametrize("name", TRL)
def test_loss_and_gradient_equal_trls(name: str, random_model: Path, tmp_path: Path, record_property: Any) -> None:
    from trl import GRPOTrainer
    from trl.experimental.gmpo import GMPOTrainer

    from tests.harness.backends.test_trl_trainer import declared_with, make_trainer, rollout
    from tests.harness.cases import CASES as METHODS

    trl_options, ours_of, aggregation = TRL[name]
    function, values = CASES.get(ours_of, (_masked_surrogate, {}))
    trainer = make_trainer(declared_with(METHODS["grpo"]), random_model, tmp_path, None)
    trainer.model.train()
    fixed = rollout(trainer.model.config.vocab_size)
    logp, _ = trainer._signals(trainer.model, fixed)
    noise = torch.randn(logp.shape, generator=torch.Generator().manual_seed(0))
    fixed["old_per_token_logps"] = logp.detach() + 0.3 * noise
    advantages = torch.linspace(-1, 1, len(logp))
    mask = fixed["completion_mask"].bool()
    # ours
    weights = aggregation_coefficients(mask, aggregation, max_tokens=6)
    filled = logp.masked_fill(~mask, 0.0), fixed["old_per_token_logps"].masked_fill(~mask, 0.0)
    loss = policy_loss(
        *filled,
        advantages.unsqueeze(1) * mask,
        weights,
        objective=lambda *tensors: function(*tensors, **values),
        mask=mask,
    )
    loss.backward()
    gradients = [p.grad.clone() for p in trainer.model.parameters()]
    trainer.model.zero_grad()
    # TRL's, in the same trainer
    for key, value in {"beta": 0.0, "current_gradient_accumulation_steps": 1, **trl_options}.items():
        setattr(trainer, key, value)
    inputs = {**fixed, "advantages": advantages, "num_items_in_batch": mask.sum()}
    trl_trainer = GMPOTrainer if name == "gmpo" else GRPOTrainer
    expected = trl_trainer._compute_loss(trainer, trainer.model, inputs)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5, abs=1e-7)
    scale = max(float(p.grad.abs().max()) for p in trainer.model.parameters())
    assert scale > 0
    gaps = [float((g - p.grad).abs().max()) for g, p in zip(gradients, trainer.model.parameters(), strict=True)]
    record_property("loss", abs(loss.item() / expected.item() - 1))  # what results/parity.md shows
    record_property("gradient", max(gaps) / scale)
    for got, parameter in zip(gradients, trainer.model.parameters(), strict=True):
        torch.testing.assert_close(got, parameter.grad, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize(
    ("name", "trl_options"),
    [
        ("grpo", {"scale_rewards": "group"}),
        ("lite_ppo", {"scale_rewards": "batch"}),
        ("gdpo", {"multi_objective_aggregation": "normalize_then_sum"}),
    ],
)
def test_advantages_equal_trls(name: str, trl_options: dict[str, Any], random_model: Path, tmp_path: Path) -> None:
    """The advantages that TRL itself makes of the fixed rollout's rewards."""
    from trl import GRPOTrainer

    from tests.harness.backends.test_trl_trainer import declared_with, make_trainer, rollout
    from tests.harness.cases import CASES as METHODS

    declared = declared_with(METHODS[name])
    trainer = make_trainer(declared, random_model, tmp_path, None)
    fixed = rollout(trainer.model.config.vocab_size, declared)
    for key, value in trl_options.items():
        setattr(trainer, key, value)
    mask = fixed["completion_mask"].bool()
    texts = [[ids[keep].tolist() for ids, keep in zip(fixed["completion_ids"], mask, strict=True)]] * 2
    trainer._generate = lambda prompts: (*texts, None, prompts, None, {}, None, [])
    trainer._calculate_rewards = lambda *_: fixed["reward_parts"]
    expected = GRPOTrainer._generate_and_score_completions(trainer, [{"prompt": "x"}] * len(mask))["advantages"]
    weights = declared.reward_weights.value
    batch = TokenBatch(fixed["rewards"], fixed["groups"], mask, 9, 6, 0, 0, fixed["reward_parts"], weights)
    assert float(expected.abs().max()) > 0.5
    torch.testing.assert_close(declared.method.advantage(batch), expected.unsqueeze(1) * mask, rtol=1e-5, atol=1e-6)


def test_a_star_po_has_trls_gradient(random_model: Path, tmp_path: Path) -> None:
    from trl.experimental.a2po import A2POTrainer

    from tests.harness.backends.test_trl_trainer import assert_close, declared_with, fast, make_trainer, rollout
    from tests.harness.cases import CASES as METHODS

    trainer = make_trainer(declared_with(METHODS["a_star_po"]), random_model, tmp_path, None)
    fixed = rollout(trainer.model.config.vocab_size)
    gradients = [gradient.clone() for gradient in fast(trainer, fixed)[1]]
    trainer.model.zero_grad()
    trainer.args.beta2, trainer.model_kwarg_keys = 0.1, ("logits_to_keep",)
    trainer._get_sequence_logps = partial(A2POTrainer._get_sequence_logps, trainer)
    inputs = {
        "input_ids": torch.cat([fixed["prompt_ids"], fixed["completion_ids"]], 1),
        "attention_mask": torch.cat([fixed["prompt_mask"], fixed["completion_mask"]], 1),
        "logits_to_keep": fixed["completion_ids"].size(1),
        "ref_logps": (fixed["ref_per_token_logps"] * fixed["completion_mask"]).sum(1),
        "rewards": fixed["rewards"],
        "v_star": 0.5 * (fixed["base_accuracy"] * math.exp(2) + 1 - fixed["base_accuracy"]).log(),
    }
    A2POTrainer.compute_loss(trainer, trainer.model, inputs).backward()
    assert_close(gradients, [p.grad for p in trainer.model.parameters()])


def test_reverse_kl_has_the_gradient_of_trls_sdpo() -> None:
    from trl.experimental.sdpo.loss_utils import compute_sampled_token_self_distillation_loss

    generator = torch.Generator().manual_seed(0)
    student, teacher = torch.randn(2, 4, 3, 7, generator=generator, dtype=torch.float64)
    tokens = torch.randint(7, (4, 3), generator=generator)
    student.requires_grad_()
    trl_loss = compute_sampled_token_self_distillation_loss(student, teacher, tokens, distillation_alpha=1.0)
    logp, ref_logp = (x.log_softmax(-1).gather(2, tokens[..., None])[..., 0] for x in (student, teacher))
    batch = one_group(old_logp=logp.detach(), ref_logp=ref_logp)
    objective = -reverse_kl(batch) * (logp - logp.detach()).exp()  # the first update: every ratio is 1
    gradients = [torch.autograd.grad(loss.sum(), student, retain_graph=True)[0] for loss in (objective, trl_loss)]
    torch.testing.assert_close(*gradients)
    assert gradients[0].abs().max() > 0.1

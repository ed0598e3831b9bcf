"""Objectives and advantages against veRL 0.9.1's own functions: loss and gradient to 1e-5, or the difference stated."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.needs_verl import need_verl

need_verl()

from verl.trainer.ppo import core_algos  # noqa: E402
from verl.workers.config import ActorConfig  # noqa: E402

from baselines.gdpo import gdpo  # noqa: E402
from baselines.gpg import gpg  # noqa: E402
from baselines.opo import opo  # noqa: E402
from baselines.otb import otb  # noqa: E402
from baselines.reinforce_pp import reinforce_pp  # noqa: E402
from baselines.remax import remax  # noqa: E402
from baselines.rloo import rloo  # noqa: E402
from baselines.rollout_correction import rollout_correction, rollout_rejection  # noqa: E402
from harness.step.batch import TokenBatch  # noqa: E402
from harness.step.loss import aggregation_coefficients, policy_loss  # noqa: E402
from tests.baselines.test_objectives import CASES, tensors  # noqa: E402

MEAN, TOKENS = ("sequence_mean", "seq-mean-token-mean"), ("token_mean", "token-mean")
# veRL's name -> our objective in CASES, veRL's bounds (low, high, c), the aggregation in both
OBJECTIVES: dict[str, tuple[str, tuple[float, float, float], tuple[str, str]]] = {
    "gspo": ("gspo", (0.05, 0.08, 3.0), MEAN),
    "cispo": ("cispo-low", (0.2, 0.3, 3.0), TOKENS),
    "geo_mean": ("gmpo", (0.2, 0.3, 3.0), MEAN),
    "sapo": ("sapo", (0.2, 0.2, 3.0), MEAN),
    "dppo_tv": ("dppo-tv", (0.03, 0.05, 1.2), TOKENS),
    "dppo_kl": ("dppo-kl", (0.01, 0.02, 20.0), TOKENS),
    "gpg": ("gpg", (0.2, 0.2, 3.0), TOKENS),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_loss_and_gradient_equal_verls(name: str, record_property: Any) -> None:
    case, (low, high, c), (aggregation, verl_aggregation) = OBJECTIVES[name]
    function, values = CASES[case]
    config = ActorConfig(
        strategy="fsdp2",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio_low=low,
        clip_ratio_high=high,
        clip_ratio_c=c,
        tau_pos=1.0,
        tau_neg=1.05,
    )
    gaps = []
    for seed in range(5):
        t = tensors(seed)
        pairs = []
        for of_verl in (False, True):
            logp = t["logp"].clone().requires_grad_()
            if of_verl:
                arguments = (t["old_logp"], logp, t["advantages"], t["mask"].to(logp.dtype))
                loss, _ = core_algos.get_policy_loss_fn(name)(*arguments, loss_agg_mode=verl_aggregation, config=config)
            else:
                weights = aggregation_coefficients(t["mask"], aggregation, max_tokens=9)  # type: ignore[arg-type]
                loss = policy_loss(
                    logp,
                    t["old_logp"],
                    t["advantages"],
                    weights.to(logp.dtype),
                    objective=lambda *tensors: function(*tensors, **values),
                    mask=t["mask"],
                )
            pairs.append((loss.item(), torch.autograd.grad(loss, logp)[0]))
        (our_loss, gradient), (expected, their_gradient) = pairs
        assert our_loss == pytest.approx(expected, rel=1e-5, abs=1e-8)
        assert float(their_gradient.abs().max()) > 0
        torch.testing.assert_close(gradient, their_gradient, rtol=1e-5, atol=1e-8)
        largest = float(their_gradient.abs().max())
        gaps.append((abs(our_loss / expected - 1), float((gradient - their_gradient).abs().max()) / largest))
    for what, of_seeds in zip(("loss", "gradient"), zip(*gaps, strict=True), strict=True):
        record_property(what, max(of_seeds))  # what results/parity.md shows


def scored(rewards: list[float]) -> tuple[TokenBatch, torch.Tensor, torch.Tensor, Any]:
    """A batch of groups of four, and veRL's arguments: token-level rewards, mask, index."""
    import numpy as np

    rows = len(rewards)
    mask = torch.arange(5) < torch.tensor([5, 2, 3, 4] * (rows // 4)).unsqueeze(1)
    token_level = torch.zeros(rows, 5)
    token_level[:, 0] = torch.tensor(rewards)
    batch = TokenBatch(
        rewards=torch.tensor(rewards),
        groups=torch.arange(rows) // 4,
        mask=mask,
        vocab_size=9,
        max_tokens=5,
        step=0,
        seed=0,
    )
    return batch, token_level, mask.float(), np.array([str(i // 4) for i in range(rows)], dtype=object)


REWARDS = [1.0, 0.0, 0.0, 1.0, 0.3, 1.0, -1.0, 0.0]


def test_advantages_equal_verls() -> None:
    batch, rewards, mask, index = scored(REWARDS)
    verl_result, _ = core_algos.compute_rloo_outcome_advantage(rewards.clone(), mask, index)
    torch.testing.assert_close(rloo(batch), verl_result, rtol=1e-5, atol=1e-6)
    verl_result, _ = core_algos.compute_opo_outcome_advantage(rewards.clone(), mask, index)
    torch.testing.assert_close(opo(batch), verl_result, rtol=1e-5, atol=1e-6)
    verl_result, _ = core_algos.compute_reinforce_plus_plus_baseline_outcome_advantage(rewards.clone(), mask, index)
    torch.testing.assert_close(reinforce_pp(batch, baseline="group"), verl_result, rtol=1e-5, atol=1e-6)
    # REINFORCE++ with the reward on the last token and gamma 1: the return is the reward on every token
    last = torch.zeros_like(rewards)
    for i, n in enumerate(mask.sum(1).long().tolist()):
        last[i, n - 1] = REWARDS[i]
    verl_result, _ = core_algos.compute_reinforce_plus_plus_outcome_advantage(
        last, mask, config=SimpleNamespace(gamma=1.0)
    )
    torch.testing.assert_close(reinforce_pp(batch, baseline="none"), verl_result, rtol=1e-5, atol=1e-6)
    greedy = torch.tensor([1.0] * 4 + [0.25] * 4)
    verl_result, _ = core_algos.compute_remax_outcome_advantage(last, greedy, mask)
    torch.testing.assert_close(remax(replace(batch, greedy_rewards=greedy)), verl_result, rtol=1e-5, atol=1e-6)
    logits = torch.randn(*mask.shape, 9, generator=torch.Generator().manual_seed(0))
    logp, squares = logits.log_softmax(-1)[..., 0], (logits.softmax(-1) ** 2).sum(-1)
    verl_result, _ = core_algos.compute_optimal_token_baseline_advantage(last, mask, index, logp, squares)
    assert float(verl_result.abs().max()) > 0.5
    advantages = otb(replace(batch, logp=logp, pi_squared=squares), epsilon=1e-8)
    torch.testing.assert_close(advantages, verl_result, rtol=1e-5, atol=1e-6)


def test_gpg_differs_from_verls_by_the_estimate_of_the_groups_that_learn() -> None:
    # veRL: alpha = B / (rewards that are not 0). Ours, as the paper: B / (responses of groups that learn)
    rewards = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]  # one group learns: ours 8 / 4. veRL's 8 / 5
    batch, token_level, mask, index = scored(rewards)
    verl_result, _ = core_algos.compute_gpg_outcome_advantage(token_level, mask, index)
    torch.testing.assert_close(gpg(batch, scale=1.0) / 2, verl_result / 1.6, rtol=1e-5, atol=1e-6)


def test_gdpo_differs_from_verls_by_whitening_tokens_instead_of_responses() -> None:
    batch, _, _, index = scored(REWARDS)
    batch = replace(batch, mask=torch.ones_like(batch.mask))  # equal lengths: only the degrees of freedom differ
    parts = torch.stack([batch.rewards, batch.rewards.roll(3)], 1)
    advantages = gdpo(replace(batch, reward_parts=parts, reward_weights=(1.0, 0.5)), epsilon=1e-6)
    verl_result, _ = core_algos.compute_gdpo_outcome_advantage(
        torch.zeros(8, 5),
        batch.mask.long(),
        index,
        config={"gdpo_reward_keys": ["a", "b"], "gdpo_reward_weights": [1.0, 0.5]},
        non_tensor_batch={"a": parts[:, 0].numpy(), "b": parts[:, 1].numpy()},
        batch={"prompts": torch.zeros(8, 2), "attention_mask": torch.ones(8, 7, dtype=torch.int64)},
    )
    # 8 responses: variance of 5 x 8 tokens over 39, ours of 8 responses over 7
    torch.testing.assert_close(advantages * (39 / (5 * 7)) ** 0.5, verl_result, rtol=1e-5, atol=1e-6)


def test_corrections_equal_verls() -> None:
    from verl.trainer.ppo import rollout_corr_helper as verls

    generator = torch.Generator().manual_seed(0)
    batch, _, mask, _ = scored(REWARDS * 4)
    old = -3 * torch.rand(mask.shape, generator=generator)
    gaps = 0.3 * torch.randn(mask.shape, generator=generator)
    batch = replace(batch, old_logp=old, rollout_logp=old - gaps)
    made = []
    for level in ("token", "sequence"):
        for outside, bounds, low, high in (("truncate", 1.1, 0.0, 1.1), ("mask", "0.9_1.2", 0.9, 1.2)):
            verl_result, _ = verls.compute_rollout_correction_weights(gaps, mask, level, bounds)
            values: Any = {"level": level, "outside": outside, "low": low, "high": high}
            made.append((rollout_correction(batch, **values), verl_result))
    # veRL bounds the inverse of the geometric mean
    for statistic, option, bounds, low, high in (
        ("geometric_mean", "seq_mean_k1", f"{1 / 1.1}_{1 / 0.9}", 0.9, 1.1),
        ("k3", "seq_mean_k3", "0.04", 0.0, 0.04),
    ):
        verl_result, _ = verls.compute_rollout_rejection_mask(gaps, mask, option, bounds)
        assert 0 < verl_result.sum() < mask.sum()
        made.append((rollout_rejection(batch, statistic=statistic, low=low, high=high), verl_result))  # type: ignore[arg-type]
    for weights, verl_result in made:
        torch.testing.assert_close(weights, verl_result, rtol=1e-5, atol=1e-6)

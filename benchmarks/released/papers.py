"""The papers' equations for each case: the method, its baseline, and known differences.

They come from this repository's declarations, or, for a paper that is not declared here, from its formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypedDict, Unpack
from unittest import mock

import torch
from torch import Tensor

from baselines.ce_gppo import ce_gppo
from baselines.cispo import cispo
from baselines.clip_cov import clip_cov, clip_cov_as_released
from baselines.dro import dro
from baselines.erc import erc
from baselines.fipo import fipo
from baselines.gmpo import gmpo
from baselines.gpg import policy_gradient
from baselines.grpo import grpo
from baselines.gspo import gspo
from baselines.ipo import ipo
from baselines.kl_cov import kl_cov
from baselines.real import real
from baselines.simko import simko
from baselines.stare import stare
from benchmarks.released.batches import Drawn, flat_gradient
from benchmarks.released.cases import ACTOR, CORE, TRIAL_CORE, Place
from benchmarks.released.drivers import in_row_order
from harness.step.batch import TokenBatch
from harness.step.likeliest import Distribution
from harness.step.loss import Aggregation, aggregation_coefficients, k3, policy_loss
from reproductions.forking_tokens.method import forking_tokens
from reproductions.trial_and_error.method import position_advantage, ppl_advantage

Loss = Callable[[Drawn], Tensor]
Objective = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
VOCABULARY = 100  # no equation of the table reads it


class Clip(TypedDict):
    clip_low: float
    clip_high: float


class Keys(TypedDict, total=False):
    """Further arguments of `policy_loss`."""

    clip_low: float
    clip_high: float
    dual_clip: float | None
    objective: Objective
    gates: Tensor | None
    penalties: Tensor
    ref_logp: Tensor
    kl_beta: float


@dataclass(frozen=True)
class Difference:
    """A way in which the code may differ: what it computes, with its place, and the equation changed in this way.

    The page says it only if the changed equation has the released gradient where the paper's has not.
    """

    says: str
    place: Place
    loss: Loss


@dataclass(frozen=True)
class Paper:
    """Equations of one case.

    Args:
        source: where the method is declared here, or what our reading of it comes from.
        differences: the smallest first. Each contains those before it, or stands alone.
    """

    method: Loss
    baseline: Loss
    source: str
    differences: tuple[Difference, ...] = ()


def token_batch(step: Drawn) -> TokenBatch:
    """The batch that a method of this repository sees."""
    return TokenBatch(
        rewards=step.rewards,
        groups=step.groups,
        mask=step.mask,
        vocab_size=VOCABULARY,
        max_tokens=step.mask.shape[1],
        step=0,
        seed=0,
        advantages=step.advantages,
        entropies=step.entropies,
        logp=step.logp.detach(),
        old_logp=step.old_logp,
        old_entropies=step.old_entropies,
    )


def loss(
    step: Drawn,
    *,
    advantages: Tensor | None = None,
    aggregation: Aggregation = "token_mean",
    limit: int | None = None,
    counted: Tensor | None = None,
    **keys: Unpack[Keys],
) -> Tensor:
    """`policy_loss` of one step.

    Args:
        limit: what "fixed_length" divides by.
    """
    coefficients = aggregation_coefficients(  # in float64, as all else here
        step.mask.double(), aggregation, max_tokens=limit or step.mask.shape[1], counted=counted
    )
    given = step.advantages if advantages is None else advantages
    return policy_loss(step.logp, step.old_logp, given, coefficients, mask=step.mask, **keys)


def gradient(equation: Loss, drawn: Drawn) -> Tensor:
    """The gradient of the summed losses of both optimiser steps, flat."""
    batch, leaves = drawn.with_gradient()
    with mock.patch("torch.randperm", in_row_order):  # as on the other side
        total = torch.stack([equation(step) for step in batch.steps()]).sum()
    if total.requires_grad:
        total.backward()
    return flat_gradient(leaves)


CLIP_HIGHER: Clip = {"clip_low": 0.2, "clip_high": 0.28}
CLIP: Clip = {"clip_low": 0.2, "clip_high": 0.2}
DUAL = 10.0


def grpo_loss(step: Drawn) -> Tensor:
    """GRPO: clip 0.2, the mean over a response, then over responses."""
    return loss(step, aggregation="sequence_mean", **CLIP)


def dapo_loss(step: Drawn, dual_clip: float | None = None) -> Tensor:
    """DAPO, Eq. 8: clip-higher, the mean over all tokens."""
    return loss(step, dual_clip=dual_clip, **CLIP_HIGHER)


def dual_clipped(step: Drawn) -> Tensor:
    return dapo_loss(step, DUAL)


# Forking tokens


def forking(
    step: Drawn, *, dual_clip: float | None = DUAL, gates: Tensor | None = None, all_count: bool = False
) -> Tensor:
    """As declared in reproductions/forking_tokens."""
    if gates is None:
        gates = forking_tokens(token_batch(step), rho=0.2, keep="top", scope="update")
    counted = None if all_count else gates.bool()
    return loss(step, gates=gates, counted=counted, dual_clip=dual_clip, **CLIP_HIGHER)


def one_threshold_fewer(step: Drawn) -> Tensor:
    """ceil(0.2 N) tokens exactly: of those that tie with the threshold, those that torch.topk takes."""
    kept = torch.zeros_like(step.entropies)
    valid = step.entropies[step.mask]
    mask = torch.zeros_like(valid)
    mask[valid.topk(-(-len(valid) // 5)).indices] = 1.0
    kept[step.mask] = mask
    return forking(step, gates=kept)


def float32_gates(step: Drawn) -> Tensor:
    """1 where H is at least TRL's threshold."""
    threshold = step.entropies[step.mask].float().quantile(1 - 0.2)
    return ((step.entropies >= threshold) & step.mask).double()


# Perplexity and position


def perplexity(step: Drawn, sign: Literal[1, -1], statistics: Literal["as_printed", "as_released"]) -> Tensor:
    return loss(
        step, advantages=ppl_advantage(token_batch(step), alpha=0.01, sign=sign, statistics=statistics), **CLIP_HIGHER
    )


def position(step: Drawn, n: float, bound: float | None) -> Tensor:
    shaped = position_advantage(token_batch(step), gamma=0.1, d=1.0, m=15.0, n=n, bound=bound, first_step=0, steps=None)
    return loss(step, advantages=shaped, **CLIP_HIGHER)


# Covariances


def clipped_at_covariance(step: Drawn, equation: Callable[..., Tensor], **values: float) -> Tensor:
    """Clip-Cov. The scripts' ratio clip of 1 on both sides."""
    return loss(step, gates=equation(token_batch(step), **values), clip_low=1.0, clip_high=1.0)


def penalised_at_covariance(step: Drawn) -> Tensor:
    """KL-Cov: k = 0.2 %, beta = 1, no clip."""
    return loss(step, penalties=kl_cov(token_batch(step), share=0.002, coefficient=1.0))


def clip_cov_paper(**values: float) -> Paper:
    return Paper(
        lambda step: clipped_at_covariance(step, clip_cov, **values),
        lambda step: loss(step, clip_low=1.0, clip_high=1.0),
        "baselines/clip_cov.py",
        (
            Difference(
                "tokens that the ratio clip stops already are no candidates",
                Place(CORE, "cov_all[clip_by_origin] = -torch.inf"),
                lambda step: clipped_at_covariance(step, clip_cov_as_released, clip_high=1.0, **values),
            ),
        ),
    )


# Dr. GRPO, GMPO, GSPO, CISPO: oat computes advantages, in float32


def dr_grpo(step: Drawn) -> Tensor:
    advantages = grpo(token_batch(step), std="none", epsilon=0.0)
    return loss(step, advantages=advantages, aggregation="fixed_length", limit=3000, **CLIP)


def oat_grpo(step: Drawn, **keys: Unpack[Keys]) -> Tensor:
    advantages = grpo(token_batch(step), std="sample", epsilon=1e-8)
    return loss(step, advantages=advantages, aggregation="sequence_mean", **(keys or CLIP))


def geometric(low: float, high: float) -> Objective:
    return partial(gmpo, low=low, high=high)


def sequence_ratio(step: Drawn) -> Tensor:
    """GSPO, Eq. 5, with the clip of the paper's section 5.1."""
    return loss(step, aggregation="sequence_mean", objective=partial(gspo, low=3e-4, high=4e-4))


def clipped_weights(step: Drawn, kl_beta: float = 0.0) -> Tensor:
    """CISPO without a lower bound, and an upper one of 1.2."""
    return loss(step, objective=partial(cispo, low=None, high=0.2), ref_logp=step.old_logp, kl_beta=kl_beta)


# CE-GPPO, Entropy Ratio Clipping


def preserved(
    step: Drawn, *, beta1: float, beta2: float, dual_clip: float | None = None, gates: Tensor | None = None
) -> Tensor:
    """CE-GPPO with clip 0.2: outside of it, where PPO has no gradient, that of beta times the bound."""

    def objective(logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        term = ce_gppo(logp, old_logp, advantages, mask, low=0.2, high=0.2, beta1=beta1, beta2=beta2)
        return term if dual_clip is None else term.where(advantages >= 0, term.maximum(dual_clip * advantages))

    return loss(step, objective=objective, gates=gates)


def likelihood_of_correct(step: Drawn) -> Tensor:
    """0.1 times the mean negative log-probability of the tokens of correct responses."""
    correct = step.mask & (step.rewards > 0)[:, None]
    return -0.1 * (step.logp * correct).sum() / correct.sum()


def entropy_ratio_gates(step: Drawn) -> Tensor:
    """1 where 0.95 < H_new / H_old < 1.05."""
    return erc(token_batch(step), low=0.05, high=0.05)


def with_two_terms(base: Callable[..., Tensor], coefficient: str) -> tuple[Difference, ...]:
    """The loss of the Klear repositories: dual clip, and 0.1 times the likelihood of correct responses."""
    return (
        Difference(
            "a dual clip at ratio 10 (clip_ratio_c), and 0.1 times the likelihood of correct responses, are added",
            Place(ACTOR, coefficient),
            lambda step: base(step, dual_clip=DUAL) + likelihood_of_correct(step),
        ),
    )


def erc_dapo(step: Drawn, dual_clip: float | None = None) -> Tensor:
    return loss(step, gates=entropy_ratio_gates(step), dual_clip=dual_clip, **CLIP_HIGHER)


def erc_gppo(step: Drawn, dual_clip: float | None = None) -> Tensor:
    return preserved(step, beta1=1.0, beta2=1.0, dual_clip=dual_clip, gates=entropy_ratio_gates(step))


def half_preserved(step: Drawn, dual_clip: float | None = None) -> Tensor:
    return preserved(step, beta1=0.5, beta2=1.0, dual_clip=dual_clip)


# DRO, IPO, FIPO, REAL


def penalised(step: Drawn) -> Tensor:
    """DRO, beta 0.05."""
    return loss(step, objective=lambda *tensors: dro(*tensors, beta=0.05))


def near(step: Drawn) -> Tensor:
    """prime-rl's IPO, with its defaults."""
    return loss(step, objective=lambda *tensors: ipo(*tensors, threshold=0.1, drift=1e-3))


def ahead(step: Drawn) -> Tensor:
    """FIPO, with the values of ms-swift's example."""
    shaped = fipo(token_batch(step), half_life=32.0, low=0.2, high=0.2, counted=10.0, safe=3.0)
    return loss(step, advantages=shaped, dual_clip=DUAL, **CLIP_HIGHER)


def classified(step: Drawn) -> Tensor:
    """REAL, tau 0.5."""
    shaped = real(token_batch(step), tau=0.5)
    return loss(step, advantages=shaped, objective=policy_gradient, aggregation="sequence_mean")


def with_k3(step: Drawn) -> Tensor:
    """And 0.001 times the mean k3 divergence over tokens to the reference, which is the old policy in these batches."""
    return classified(step) + 0.001 * (k3(step.logp, step.old_logp) * step.mask).sum() / step.mask.sum()


# STARE, SimKO


def surprising(step: Drawn, dual_clip: float | None = None) -> Tensor:
    """STARE's O1 with its gate open: 1.1 on the tenth of the tokens with A > 0 that surprises most."""
    shaped = stare(token_batch(step), share=0.1, positive=1.1, negative=1.0, target_entropy=1e9)
    return loss(step, advantages=shaped, dual_clip=dual_clip, **CLIP_HIGHER)


def shared(step: Drawn) -> Tensor:
    """SimKO, with the values of its script."""
    now = Distribution(step.entropies, step.top_logp, step.is_top.bool())
    values = {"low": 0.2, "high": 0.2, "alpha": 0.01, "penalty": 1.1, "quantile": 0.8}
    return loss(step, objective=lambda *tensors: simko(*tensors, now, likeliest=3, **values))


def shared_as_written(step: Drawn) -> Tensor:
    """SimKO's sum over the top 3 term by term, with correctness read along the tokens where the shapes allow it."""
    along_tokens = len(step.rewards) == step.mask.shape[1]
    quantiles = [step.entropies[row][step.mask[row]].quantile(0.8) for row in range(len(step.rewards))]
    forks = (step.entropies > torch.stack(quantiles)[:, None]) & step.mask
    ratio = (step.logp - step.old_logp).exp()
    top = (step.top_logp - step.old_top_logp).exp()
    mixed = 0.99 * ratio + 0.01 * (ratio.detach()[..., None] / top.detach() * top).mean(-1)
    correct = (step.rewards > 0)[None, :] if along_tokens else (step.rewards > 0)[:, None]
    ratio = torch.where(forks & correct, mixed, ratio)
    advantages = torch.where(forks & (step.advantages < 0) & step.is_top.bool(), 1.1 * step.advantages, step.advantages)
    objective = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    return -(aggregation_coefficients(step.mask, "token_mean", max_tokens=step.mask.shape[1]) * objective).sum()


DUAL_CLIP = Difference(
    "a dual clip at ratio 10 (clip_ratio_c) is added",
    Place(CORE, "pg_losses3 = -advantages * clip_ratio_c"),
    dual_clipped,
)
FORKING = Paper(
    forking,
    dual_clipped,
    "reproductions/forking_tokens",
    (
        Difference(
            "if several tokens tie at the threshold, torch.topk keeps some of them, and our code keeps all",
            Place(CORE, "torch.topk(response_entropy, k=top_k)"),
            one_threshold_fewer,
        ),
    ),
)
SIMKO_SHAPE = Difference(
    "where a forward pass has as many responses as tokens (64 here), correctness is read along the tokens",
    Place(CORE, "correct_idx.size(0) == T"),
    shared_as_written,
)
TRL_LOSS = Place("trl/trainer/grpo_trainer.py", 'if self.loss_type in ["cispo", "dapo", "vespo"]')
TRIAL_STATISTICS = "mean and deviation come from inside Tukey's fences, and the factor is bounded by [0.8, 1.2]"

PAPERS: dict[str, Paper] = {
    "forking_tokens_before": FORKING,
    "forking_tokens_after": FORKING,
    "low_ppl": Paper(
        lambda step: perplexity(step, -1, "as_printed"),
        lambda step: loss(step, **CLIP_HIGHER),
        "reproductions/trial_and_error, Eq. 11",
    ),
    "high_ppl": Paper(
        lambda step: perplexity(step, 1, "as_printed"),
        lambda step: loss(step, **CLIP_HIGHER),
        "reproductions/trial_and_error, section 3.2.3",
        (
            Difference(
                TRIAL_STATISTICS,
                Place(TRIAL_CORE, "iqr = q3 - q1"),
                lambda step: perplexity(step, 1, "as_released"),
            ),
        ),
    ),
    "location": Paper(
        lambda step: position(step, -0.5, None),
        lambda step: loss(step, **CLIP_HIGHER),
        "reproductions/trial_and_error, Eq. 12 as printed",
        (
            Difference(
                "n is 0.5 where the paper prints -0.5, and the bonus is at most |A| / 2",
                Place(TRIAL_CORE, "pos_decay = torch.sigmoid"),
                lambda step: position(step, 0.5, 0.5),
            ),
        ),
    ),
    "kl_cov": Paper(penalised_at_covariance, lambda step: loss(step), "baselines/kl_cov.py"),
    "clip_cov": clip_cov_paper(share=0.0002, low=1.0, high=5.0),
    "clip_cov_wide": clip_cov_paper(share=0.1, low=0.1, high=1.5),
    "dr_grpo": Paper(dr_grpo, oat_grpo, "baselines/dr_grpo.py"),
    "gmpo": Paper(lambda step: oat_grpo(step, objective=geometric(0.4, 0.4)), oat_grpo, "baselines/gmpo.py"),
    "dapo": Paper(dapo_loss, grpo_loss, "baselines/dapo.py, Eq. 8", (DUAL_CLIP,)),
    "gspo": Paper(sequence_ratio, grpo_loss, "baselines/gspo.py, Eq. 5"),
    "gmpo_verl": Paper(
        lambda step: loss(step, aggregation="sequence_mean", objective=geometric(0.4, 0.4)),
        grpo_loss,
        "baselines/gmpo.py",
    ),
    "cispo": Paper(
        clipped_weights,
        grpo_loss,
        "baselines/cispo.py",
        (
            Difference(
                "0.001 times the k3 divergence to the reference policy is added (use_kl_loss)",
                Place(ACTOR, "policy_loss = policy_loss + kl_loss"),
                lambda step: clipped_weights(step, kl_beta=0.001),
            ),
        ),
    ),
    "ce_gppo": Paper(
        half_preserved,
        lambda step: loss(step, **CLIP),
        "baselines/ce_gppo.py, Eq. 8",
        with_two_terms(half_preserved, "positive_loss_coeff != 0"),
    ),
    "ce_gppo_only_high": Paper(half_preserved, lambda step: loss(step, **CLIP), "baselines/ce_gppo.py, Eq. 8"),
    "erc_dapo": Paper(erc_dapo, dapo_loss, "baselines/erc.py", with_two_terms(erc_dapo, "postive_loss_coeff != 0")),
    "erc_gppo": Paper(
        erc_gppo,
        lambda step: preserved(step, beta1=1.0, beta2=1.0),
        "baselines/erc.py on baselines/ce_gppo.py",
        with_two_terms(erc_gppo, "postive_loss_coeff != 0"),
    ),
    "stare": Paper(
        surprising,
        dapo_loss,
        "baselines/stare.py, variant O1",
        (Difference(DUAL_CLIP.says, DUAL_CLIP.place, lambda step: surprising(step, DUAL)),),
    ),
    "simko": Paper(shared, lambda step: loss(step, **CLIP), "baselines/simko.py", (SIMKO_SHAPE,)),
    "dro": Paper(penalised, dapo_loss, "baselines/dro.py"),
    "ipo": Paper(near, dapo_loss, "baselines/ipo.py"),
    "fipo": Paper(ahead, dual_clipped, "baselines/fipo.py, as ms-swift's page has it"),
    "real": Paper(
        classified,
        grpo_loss,
        "baselines/real.py, as ms-swift's page has it",
        (
            Difference(
                "0.001 times the k3 divergence to the reference policy is added (--beta)",
                Place("swift/rlhf_trainers/grpo_trainer.py", "loss = loss + kl_loss * self.beta"),
                with_k3,
            ),
        ),
    ),
    "verl_dapo": Paper(dapo_loss, grpo_loss, "baselines/dapo.py, Eq. 8", (DUAL_CLIP,)),
    "trl_dapo": Paper(dapo_loss, grpo_loss, "baselines/dapo.py, Eq. 8"),
    "trl_gspo": Paper(sequence_ratio, grpo_loss, "baselines/gspo.py, Eq. 5"),
    "trl_cispo": Paper(clipped_weights, grpo_loss, "baselines/cispo.py"),
    "trl_forking_tokens": Paper(
        lambda step: forking(step, dual_clip=None),
        dapo_loss,
        "reproductions/forking_tokens",
        (
            Difference(
                "the sum over kept tokens is divided by the number of all tokens",
                TRL_LOSS,
                lambda step: forking(step, dual_clip=None, all_count=True),
            ),
            Difference(
                "the sum over kept tokens is divided by the number of all tokens, and the threshold is a quantile in "
                "float32, whose rounding can leave out the token at the threshold",
                TRL_LOSS,
                lambda step: forking(step, dual_clip=None, gates=float32_gates(step), all_count=True),
            ),
        ),
    ),
}

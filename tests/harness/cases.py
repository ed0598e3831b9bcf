"""Each method with its slow version, for the tests that go through a trainer. A new method adds one `Case`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from baselines import dapo, dr_grpo
from baselines.a_star_po import a_star_po
from baselines.ce_gppo import ce_gppo
from baselines.cispo import cispo
from baselines.clip_cov import clip_cov, clip_cov_as_released
from baselines.distillation import reverse_kl, towards_teacher
from baselines.dppo import dppo
from baselines.dro import dro
from baselines.erc import erc
from baselines.fipo import fipo
from baselines.gdpo import gdpo
from baselines.gmpo import gmpo
from baselines.gpg import gpg, policy_gradient
from baselines.gspo import gspo
from baselines.informative import informative
from baselines.ipo import ipo, kimi_k25
from baselines.kl_cov import kl_cov
from baselines.kl_in_reward import kl_in_reward
from baselines.leave_one_out import leave_one_out
from baselines.lite_ppo import lite_ppo
from baselines.m2po import m2po
from baselines.maxrl import maxrl
from baselines.nsr import weighted_reinforce
from baselines.off_policy_mask import off_policy_mask
from baselines.opo import opo
from baselines.otb import otb
from baselines.passk import passk
from baselines.qae import qae
from baselines.real import real
from baselines.reinforce_pp import reinforce_pp
from baselines.remax import remax
from baselines.repo_r import repo_r
from baselines.rloo import rloo
from baselines.rollout_correction import rollout_correction, rollout_rejection
from baselines.sapo import sapo
from baselines.simko import simko
from baselines.stapo import stapo
from baselines.stare import stare
from baselines.vespo import vespo
from evals.provenance import assumed
from harness.spec import Method, use
from harness.spec.controls import false_positives, noisy_reward
from harness.step.batch import TokenBatch
from reproductions.egsw.method import egsw
from reproductions.entropy_advantage.method import entropy_advantage
from reproductions.erpo.method import erpo
from reproductions.forking_tokens.method import forking_tokens
from reproductions.trial_and_error.method import position_advantage, ppl_advantage
from tests.baselines import test_advantages, test_newest, test_of_2026, test_simko
from tests.baselines.slow_objectives import slow_objective
from tests.baselines.test_cov import slow_clip_cov, slow_kl_cov
from tests.baselines.test_grpo import slow_grpo
from tests.baselines.test_nsr import slow_weighted_reinforce
from tests.baselines.test_overlong import slow_overlong
from tests.baselines.test_passk import slow_passk
from tests.experiments import GRPO, sourced
from tests.harness.spec.test_verdict_errors import slow_false_positives, slow_noisy_reward
from tests.reproductions.test_egsw import slow_egsw
from tests.reproductions.test_entropy_advantage import slow_entropy_advantage
from tests.reproductions.test_erpo import slow_erpo
from tests.reproductions.test_forking_tokens import slow_forking_tokens
from tests.reproductions.test_trial_and_error import slow_position_advantage, slow_ppl_advantage

WHY = "a test"


@dataclass(frozen=True)
class Slow:
    """The parts that the slow version makes of a batch that holds GRPO's advantages (from loops too), all [B, T].

    None: as they are (advantages), or 1 (weights, gates), or 0 (penalties) everywhere.
    """

    advantages: torch.Tensor | None = None
    weights: torch.Tensor | None = None
    gates: torch.Tensor | None = None
    penalties: torch.Tensor | None = None


@dataclass(frozen=True)
class Case:
    """A method, its slow version, further values of the experiment (such as clip_high), and the slow version of another
    objective: (batch with advantages, logp with gradient, old_logp) -> [B, T]. One that sees the likeliest tokens also
    gets the log-probabilities of all tokens, [B, T, V] with gradient, and the sampled tokens, [B, T]."""

    method: Method
    slow: Callable[[TokenBatch], Slow]
    values: tuple[tuple[str, Any], ...] = ()
    objective: Callable[..., torch.Tensor] | None = None


def with_grpo(batch: TokenBatch) -> TokenBatch:
    """The batch with GRPO's advantages in float64, by loops."""
    advantages = torch.tensor(slow_grpo(batch, "sample", 1e-4), dtype=torch.float64).unsqueeze(1) * batch.mask
    return batch.with_advantages(advantages)


EGSW: dict[str, Any] = {
    "alpha": 0.7,
    "temperature": 1.3,
    "level": "step",
    "entropy": "min_max",  # log_vocab is left to the method's own test: the loops' VOCAB is not the model's
    "over": "batch",
    "rescale": "none",
    "micro_batch": None,
}
MICRO_BATCH = {**EGSW, "over": "micro_batch", "micro_batch": 3}
TRAJECTORY = {**EGSW, "level": "trajectory", "entropy": "z_score", "over": "group", "rescale": "mean_one"}

PPL: dict[str, Any] = {"alpha": 0.3, "sign": -1, "statistics": "as_printed"}
PPL_RELEASED = {**PPL, "sign": 1, "statistics": "as_released"}
POSITION: dict[str, Any] = {"gamma": 0.7, "d": 1.0, "m": 15.0, "n": 0.5, "bound": 0.5, "first_step": 0, "steps": 1}
POSITION_PRINTED = {**POSITION, "n": -0.5, "bound": None}

ERPO: dict[str, Any] = {
    **{"beta_p": 0.1, "gamma": 5.0, "eta": 0.7, "buckets": 3},
    **{"sigma_target": 1.0, "delta": 1e-4, "std": "sample"},
}

FORKING: dict[str, Any] = {"rho": 0.2, "keep": "top", "scope": "update", "micro_batch_tokens": None}
EVERY_TOKEN = {**FORKING, "rho": 1.0}
LOWEST = {**FORKING, "rho": 0.8, "keep": "bottom"}
OVERLONG: dict[str, Any] = {"max_length": 6, "buffer": 4, "penalty": 1.0}
CLIP_COV: dict[str, Any] = {"share": 0.2, "low": 0.1, "high": 5.0}
KL_COV: dict[str, Any] = {"share": 0.3, "coefficient": 0.5}
UNCLIPPED = (("clip_low", None), ("clip_high", None))
CLIP_HIGHER = (("clip_high", 0.28), ("dual_clip", 10.0))
TWO_REWARDS = ("accuracy", "boxed_format")
TEACHER = (("reference_model", "a teacher"),)


def per_response(advantages: list[float], batch: TokenBatch) -> torch.Tensor:
    return torch.tensor(advantages, dtype=torch.float64).unsqueeze(1) * batch.mask


def slow_dapo(batch: TokenBatch) -> torch.Tensor:
    """GRPO's advantages of the rewards after the overlong punishment."""
    lengths = batch.mask.sum(1).tolist()
    rewards = [r + slow_overlong(n, **OVERLONG) for r, n in zip(batch.rewards.tolist(), lengths, strict=True)]
    punished = batch.with_rewards(torch.tensor(rewards, dtype=torch.float64))
    return per_response(slow_grpo(punished, "sample", 1e-6), batch)


def slow_stack(batch: TokenBatch) -> Slow:
    """DAPO, then the entropy advantage, then the random gate, which sees the shaped advantages."""
    shaped = batch.with_advantages(slow_entropy_advantage(batch.with_advantages(slow_dapo(batch)), 0.4, 2.0))
    return Slow(advantages=shaped.advantages, gates=slow_clip_cov(shaped, **CLIP_COV))


DAPO = replace(dapo.METHOD, rewards=(use(dapo.METHOD.rewards[0].function, **sourced(**OVERLONG)),))
STACK = replace(
    DAPO,
    shaping=(use(entropy_advantage, **sourced(alpha=0.4, kappa=2.0)),),
    gates=(use(clip_cov, **sourced(**CLIP_COV)),),
    denominator=assumed("kept", WHY),
)

FREE = (("clip_low", None), ("clip_high", None), ("dual_clip", None))


def objective(name: str, function: Any, aggregation: Any, base: Method = GRPO, **values: Any) -> Case:
    """A case whose objective is not the clipped surrogate (see `tests.baselines.slow_objectives`)."""

    def slow(batch: TokenBatch, logp: torch.Tensor, old_logp: torch.Tensor) -> torch.Tensor:
        rows = {"logp": logp, "old_logp": old_logp, "advantages": batch.need("advantages"), "mask": batch.mask}
        return slow_objective(name, rows, values)

    method = replace(base, objective=use(function, **sourced(**values)), aggregation=assumed(aggregation, WHY))
    return Case(method, lambda _: Slow(), FREE, slow)


def case(slot: str, function: Any, slow: Callable[..., Any], values: Any = (), **settings: Any) -> Case:
    """A case that adds one function to GRPO, whose slow version takes the same settings.

    Args:
        slot: the stage. The slow version takes the batch; of an objective also logp, with gradient, and old_logp.
    """
    used = use(function, **sourced(**settings))
    if slot == "objective":
        return Case(replace(GRPO, objective=used), lambda _: Slow(), FREE, lambda *rows: slow(*rows, **settings))
    field = {"advantage": "advantages", "shaping": "advantages"}.get(slot, slot)

    def made(batch: TokenBatch) -> Slow:
        rows = slow(batch, **settings)
        if slot == "rewards":
            return Slow(advantages=with_grpo(batch.with_rewards(rows)).advantages)
        return Slow(**{field: per_response(rows, batch) if isinstance(rows, list) else rows})

    changed: dict[str, Any] = {slot: used if slot == "advantage" else (used,)}
    return Case(replace(GRPO, **changed), made, values)


CASES = {
    "gspo": objective("gspo", gspo, "sequence_mean", low=0.3, high=0.4),
    "luspo": objective("gspo", gspo, "sequence_sum", low=0.3, high=0.4),
    "cispo": objective("cispo", cispo, "token_mean", low=None, high=4.0),
    "gmpo": objective("gmpo", gmpo, "sequence_mean", low=0.4, high=0.4),
    "sapo": objective("sapo", sapo, "sequence_mean", tau_pos=1.0, tau_neg=1.05),
    "dppo": objective("dppo", dppo, "token_mean", divergence="binary_tv", low=0.01, high=0.01, truncate=20.0),
    "vespo": objective("vespo", vespo, "token_mean", k_pos=2.0, lambda_pos=3.0, k_neg=3.0, lambda_neg=2.0),
    "dro": objective("dro", dro, "token_mean", beta=0.5),
    "ce_gppo": objective("ce_gppo", ce_gppo, "token_mean", low=0.2, high=0.2, beta1=0.75, beta2=1.0),
    "ipo": objective("ipo", ipo, "token_mean", threshold=0.05, drift=0.1),
    "kimi_k25": objective("kimi_k25", kimi_k25, "token_mean", low=0.2, high=0.2, drift=0.1),
    "simko": Case(
        replace(GRPO, objective=use(simko, **sourced(**test_simko.VALUES)), aggregation=assumed("token_mean", WHY)),
        lambda _: Slow(),
        FREE,
        test_simko.slow_simko,
    ),
    "stare": case("shaping", stare, test_of_2026.slow_stare, share=0.3, positive=1.5, negative=0.7, target_entropy=4.0),
    "erc": case("gates", erc, test_of_2026.slow_erc, low=0.6, high=0.9),
    "repo_r": case("shaping", repo_r, test_of_2026.slow_repo_r, zeta=0.3),
    "fipo": case("shaping", fipo, test_of_2026.slow_fipo, half_life=2.0, low=0.2, high=0.3, counted=1.5, safe=1.1),
    "stapo": replace(
        case("gates", stapo, test_of_2026.slow_stapo, rarity=0.5, quantile=0.5),
        method=replace(
            GRPO, gates=(use(stapo, **sourced(rarity=0.5, quantile=0.5)),), denominator=assumed("kept", WHY)
        ),
    ),
    "qae": case("advantage", qae, test_of_2026.slow_qae, quantile=0.4, epsilon=1e-6),
    "real": replace(
        objective(
            "policy_gradient",
            policy_gradient,
            "sequence_mean",
            replace(GRPO, advantage=use(real, **sourced(tau=0.5))),
        ),
        slow=lambda b: Slow(advantages=per_response(test_of_2026.slow_real(b, 0.5), b)),
    ),
    "m2po": case("gates", m2po, test_newest.slow_m2po, UNCLIPPED, threshold=0.5),
    "leave_one_out": case(
        "advantage", leave_one_out, lambda b, epsilon: test_newest.slow_leave_one_out(b), epsilon=1e-6
    ),
    "kl_in_reward": case("shaping", kl_in_reward, test_newest.slow_kl_in_reward, beta=0.1),
    "scalerl": replace(
        objective(
            "cispo",
            cispo,
            "prompt_mean",
            replace(
                GRPO,
                advantage=use(lite_ppo, **sourced(epsilon=1e-6)),
                gates=(use(informative),),
                denominator=assumed("kept", WHY),
            ),
            low=None,
            high=4.0,
        ),
        slow=lambda b: Slow(
            advantages=per_response(test_advantages.slow_lite_ppo(b, 1e-6), b),
            gates=per_response(test_advantages.slow_informative(b), b),
        ),
    ),
    "gdpo": case(
        "advantage",
        gdpo,
        test_newest.slow_gdpo,
        (("rewards", TWO_REWARDS), ("reward_weights", (1.0, 0.5))),
        epsilon=1e-4,
    ),
    "remax": case("advantage", remax, test_advantages.slow_remax),
    "reverse_kl": case(
        "advantage",
        reverse_kl,
        lambda b: test_newest.slow_towards_teacher(b.with_advantages(b.mask.double() * 0), 1.0),
        TEACHER,
    ),
    "towards_teacher": case("shaping", towards_teacher, test_newest.slow_towards_teacher, TEACHER, coefficient=0.3),
    **{
        f"{level}-{outside}": case(
            "gates",
            rollout_correction,
            test_newest.slow_rollout_correction,
            level=level,
            outside=outside,
            low=0.9,
            high=1.2,
        )
        for level in ("token", "sequence")
        for outside in ("truncate", "mask")
    },
    "geometric_mean": case(
        "gates", rollout_rejection, test_newest.slow_rollout_rejection, statistic="geometric_mean", low=0.9, high=1.1
    ),
    "k3": case("gates", rollout_rejection, test_newest.slow_rollout_rejection, statistic="k3", low=0.0, high=0.04),
    "opo": case("advantage", opo, test_advantages.slow_opo),
    "maxrl": case("advantage", maxrl, test_advantages.slow_maxrl, epsilon=1e-6),
    "otb": case("advantage", otb, test_advantages.slow_otb, epsilon=1e-8),
    "a_star_po": replace(
        objective(
            "policy_gradient",
            policy_gradient,
            "sequence_sum",
            replace(GRPO, advantage=use(a_star_po, **sourced(beta1=0.5, beta2=0.1))),
        ),
        values=(*FREE, ("kl_beta", 0.0)),  # the paper's regression is its KL term
        slow=lambda b: Slow(advantages=per_response(test_advantages.slow_a_star_po(b, 0.5, 0.1), b)),
    ),
    "lite_ppo": case("advantage", lite_ppo, test_advantages.slow_lite_ppo, epsilon=1e-4),
    "policy_gradient": objective("policy_gradient", policy_gradient, "token_mean"),
    "rloo": case("advantage", rloo, test_advantages.slow_rloo),
    "reinforce_pp": case("advantage", reinforce_pp, test_advantages.slow_reinforce_pp, baseline="none"),
    "reinforce_pp_baseline": case("advantage", reinforce_pp, test_advantages.slow_reinforce_pp, baseline="group"),
    "gpg": case("advantage", gpg, test_advantages.slow_gpg, scale=1.0),
    "off_policy_mask": case("gates", off_policy_mask, test_advantages.slow_off_policy_mask, threshold=0.0),
    "grpo": Case(GRPO, lambda _: Slow()),
    "egsw-step": case("weights", egsw, slow_egsw, **EGSW),
    "egsw-micro-batch": case("weights", egsw, slow_egsw, **MICRO_BATCH),
    "egsw-trajectory": case("weights", egsw, slow_egsw, **TRAJECTORY),
    "entropy_advantage": case("shaping", entropy_advantage, slow_entropy_advantage, alpha=0.4, kappa=2.0),
    "ppl_advantage": case("shaping", ppl_advantage, slow_ppl_advantage, **PPL),
    "ppl_advantage-released": case("shaping", ppl_advantage, slow_ppl_advantage, **PPL_RELEASED),
    "position_advantage": case("shaping", position_advantage, slow_position_advantage, **POSITION),
    "position_advantage-printed": case("shaping", position_advantage, slow_position_advantage, **POSITION_PRINTED),
    "forking_tokens": case("gates", forking_tokens, slow_forking_tokens, **FORKING),
    "forking_tokens-kept": Case(
        replace(DAPO, gates=(use(forking_tokens, **sourced(**FORKING)),), denominator=assumed("kept", WHY)),
        lambda b: Slow(advantages=slow_dapo(b), gates=slow_forking_tokens(b, **FORKING)),
        CLIP_HIGHER,
    ),
    "forking_tokens-released": Case(  # the share never reaches the loss: the slow version is DAPO's
        replace(DAPO, gates=(use(forking_tokens, **sourced(**EVERY_TOKEN)),), denominator=assumed("kept", WHY)),
        lambda b: Slow(advantages=slow_dapo(b)),
        CLIP_HIGHER,
    ),
    "forking_tokens-lowest": Case(
        replace(GRPO, gates=(use(forking_tokens, **sourced(**LOWEST)),), denominator=assumed("kept", WHY)),
        lambda b: Slow(gates=slow_forking_tokens(b, **LOWEST)),
    ),
    "dapo": Case(DAPO, lambda b: Slow(advantages=slow_dapo(b)), CLIP_HIGHER),
    "dr_grpo": Case(dr_grpo.METHOD, lambda b: Slow(advantages=per_response(slow_grpo(b, "none", 0.0), b))),
    "clip_cov": case("gates", clip_cov, slow_clip_cov, (("clip_low", None), ("clip_high", 1.0)), **CLIP_COV),
    "clip_cov-released": case(
        "gates",
        clip_cov_as_released,
        slow_clip_cov,
        (("clip_low", None), ("clip_high", 0.01)),
        **CLIP_COV,
        clip_high=0.01,
    ),
    "kl_cov": case("penalties", kl_cov, slow_kl_cov, UNCLIPPED, **KL_COV),
    "weighted_reinforce": case("advantage", weighted_reinforce, slow_weighted_reinforce, positive=0.1, negative=1.0),
    "noisy_reward": case("rewards", noisy_reward, slow_noisy_reward, rate=0.4, worth=1.0),
    "false_positives": case("rewards", false_positives, slow_false_positives, share=0.4, worth=2.0),
    "passk": case("advantage", passk, slow_passk, k=2, epsilon=1e-6),
    "entropy_bonus": Case(GRPO, lambda _: Slow(), (("entropy_coefficient", 0.1),)),
    "entropy_advantage on dapo with clip_cov": Case(STACK, slow_stack, (*CLIP_HIGHER, ("entropy_coefficient", 0.01))),
    "erpo": replace(
        case("shaping", erpo, slow_erpo, **ERPO),
        method=replace(GRPO, aggregation=assumed("token_mean", WHY), shaping=(use(erpo, **sourced(**ERPO)),)),
    ),
}

"""Objectives of 2026, and of late 2025, as arms on the baselines' common recipe (see `baselines/paper.py`).

Each arm is asked for by name. A value is of the paper or of a repository at a commit, or it is assumed and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from baselines.ce_gppo import ce_gppo
from baselines.challengers import Arms, with_objective
from baselines.dro import dro
from baselines.erc import erc
from baselines.fipo import fipo
from baselines.gpg import policy_gradient
from baselines.grpo import grpo
from baselines.ipo import ipo, kimi_k25
from baselines.qae import qae
from baselines.real import real
from baselines.repo_r import repo_r
from baselines.simko import simko
from baselines.stapo import stapo
from baselines.stare import stare
from harness.spec import Experiment, Sourced, assumed, code, paper, use
from harness.step.loss import Aggregation

TINKER = "tinker-docs.thinkingmachines.ai/tinker/losses/dro/index.md: "
CE_GPPO = "CE-GPPO (arXiv 2509.20712, v5), "
ERC = "Kwai-Klear/ERC at f1885c5, recipe/dapo/perf_run_dapo_ours_math_szp_ae_dapo_erc_1_05.sh: "
STARE = "hp-luo/STARE at bffb9e7, recipe/STARE/scripts/run_short_cot_qwen2.5_math_7b_STARE.sh: "
PRIME = "PrimeIntellect-ai/prime-rl at 559b447, "
PRIME_VALUES = PRIME + "packages/prime-rl-configs, trainer.py, IPOLossConfig: "
KIMI = "Kimi K2.5 (arXiv 2602.02276), whose RL objective we read in summaries: "
SWIFT = "modelscope/ms-swift at 3602360, "
FIPO = SWIFT + "examples/train/grpo/internal/fipo.sh: "
REAL = "REAL (arXiv 2602.05630), "
SWIFT_REAL = SWIFT + "swift/rlhf_trainers/grpo_trainer.py, loss_type='real': "
QAE = "github.com/junkangwu/QAE, README: "
REPO_R = "erictang000/SkyRL at 367fcb56, examples/train/algorithms/repo_r/run_repo_r_gsm8k.sh: "
SIMKO = "CLR-Lab/SimKO at 306f4ff, "
SIMKO_RUN = SIMKO + "run_qwen2.5-math-7b_SimKO.sh: "
STAPO = "STAPO (arXiv 2602.15620, v4), "


def of_2026(recipe: Experiment) -> Arms:
    """The recipe with another objective, advantage, shaping or gate, by key."""
    return {**_objectives(recipe), **_of_tokens(recipe), **_of_responses(recipe)}


def _objectives(recipe: Experiment) -> Arms:
    """Other functions of a token's ratio."""
    penalised = use(dro, beta=code(0.05, TINKER + "the example of beta; veRL has no default"))
    preserved = use(
        ce_gppo,
        low=paper(0.2, CE_GPPO + "section 4.1: epsilon, the same on both sides"),
        high=paper(0.2, CE_GPPO + "section 4.1: epsilon, the same on both sides"),
        beta1=paper(0.75, CE_GPPO + "table 1: the better of two at 7B"),
        beta2=paper(1.0, CE_GPPO + "table 1"),
    )
    near = use(ipo, threshold=code(0.1, PRIME_VALUES + "ipo_threshold"), drift=code(1e-3, PRIME_VALUES + "kl_tau"))
    bounded = use(
        kimi_k25,
        low=assumed(0.5, KIMI + "alpha has no value there; a factor of two"),
        high=assumed(1.0, KIMI + "beta has no value there; a factor of two"),
        drift=assumed(1e-3, KIMI + "tau has no value there; prime-rl's kl_tau"),
    )
    centred = use(grpo, std=assumed("none", KIMI + "r - mean r"), epsilon=assumed(0.0, "no effect: nothing is divided"))
    shared = use(
        simko,
        low=code(0.2, SIMKO + "ppo_trainer.yaml: clip_ratio"),
        high=code(0.2, SIMKO + "ppo_trainer.yaml: clip_ratio"),
        likeliest=code(3, SIMKO_RUN + "top_k"),
        alpha=code(0.01, SIMKO_RUN + "mix_topk_coef"),
        penalty=code(1.1, SIMKO + "verl/trainer/ppo/core_algos.py, compute_policy_loss_simko: scale"),
        quantile=code(0.8, SIMKO_RUN + "tau"),
    )
    of_tokens: Sourced[Aggregation] = code("token_mean", SIMKO + "core_algos.py: masked_mean")
    of_prime: Sourced[Aggregation] = code("token_mean", PRIME + "src/prime_rl/trainer/rl/train.py: rl_scale")
    kimi = with_objective(recipe, bounded, KIMI, assumed("token_mean", KIMI + "1 / N, N the tokens of the batch"))
    return {
        "dro": ("DRO", with_objective(recipe, penalised, "DRO: ", recipe.method.aggregation)),
        "ce_gppo": ("CE-GPPO", with_objective(recipe, preserved, CE_GPPO, paper("token_mean", CE_GPPO + "Eq. 8"))),
        "ipo": ("IPO of prime-rl", with_objective(recipe, near, PRIME, of_prime)),
        "simko": ("SimKO", with_objective(recipe, shared, SIMKO, of_tokens)),
        "kimi_k25": ("Kimi K2.5's objective", _with(kimi, advantage=centred)),
    }


def _of_tokens(recipe: Experiment) -> Arms:
    """Shaping and gates, which treat some tokens of a response in another way."""
    surprising = use(
        stare,
        share=code(0.1, STARE + "stare_top_p_ratio"),
        positive=code(1.1, STARE + "stare_reweight_w"),
        negative=code(1.0, STARE + "stare_variant=O1, which leaves negative advantages as they are"),
        target_entropy=code(0.3, STARE + "stare_target_entropy"),
    )
    steady = use(
        erc,
        low=code(0.05, ERC + "entropy_mask_low=0.95"),
        high=code(0.05, ERC + "entropy_mask_high=1.05"),
    )
    ahead = use(
        fipo,
        half_life=code(32.0, FIPO + "fipo_decay_rate"),
        low=code(0.2, FIPO + "fipo_clip_range, fipo_clip_high_only=false"),
        high=code(0.2, FIPO + "fipo_clip_range"),
        counted=code(10.0, FIPO + "delta"),
        safe=code(3.0, FIPO + "fipo_safety_threshold; its default is 4"),
    )
    silenced = use(
        stapo,
        rarity=paper(0.002, STAPO + "section Settings of the experiments: tau_p"),
        quantile=paper(0.75, STAPO + "section Settings of the experiments: q"),
    )
    kept: Sourced[Any] = paper("kept", STAPO + "section The Hidden Threat: the mean is over the tokens that are left")
    clip_of_stapo = STAPO + "section Preliminaries, has clip-higher; DAPO's values"
    of_fipo = _clip_higher(_with(recipe, shaping=(ahead,)), code, FIPO + "epsilon_high, and the default of epsilon")
    return {
        "stare": ("STARE (O1)", _clip_higher(_with(recipe, shaping=(surprising,)), code, STARE + "clip_ratio_high")),
        "erc": ("ERC on DAPO's clipping", _clip_higher(_with(recipe, gates=(steady,)), code, ERC + "clip_ratio_high")),
        "repo_r": ("REPO-R", _with(recipe, shaping=(use(repo_r, zeta=code(1e-3, REPO_R + "ZETA")),))),
        "fipo": ("FIPO", replace(of_fipo, dual_clip=code(10.0, FIPO + "delta, which bounds the loss too"))),
        "stapo": (
            "STAPO",
            _clip_higher(_with(recipe, gates=(silenced,), denominator=kept), assumed, clip_of_stapo),
        ),
    }


def _of_responses(recipe: Experiment) -> Arms:
    """Other advantages of whole responses."""
    easy_or_hard = use(
        qae,
        quantile=code(0.4, QAE + "the recommended default of quantile_k"),
        epsilon=assumed(1e-6, QAE + "it changes one line of veRL, whose epsilon this is"),
    )
    labels = use(real, tau=code(0.5, SWIFT_REAL + "the default of real_tau"))
    of_groups: Sourced[Aggregation] = code("sequence_mean", SWIFT_REAL + "the mean over tokens, and over groups")
    classified = with_objective(recipe, use(policy_gradient), REAL, of_groups)
    return {
        "qae": ("QAE", _clip_higher(_with(recipe, advantage=easy_or_hard), assumed, QAE + "DAPO's recipe")),
        "real": ("REAL", _with(classified, advantage=labels)),
    }


def _with(experiment: Experiment, **parts: Any) -> Experiment:
    return replace(experiment, method=replace(experiment.method, **parts))


def _clip_higher(experiment: Experiment, source: Callable[[float, str], Sourced[float]], where: str) -> Experiment:
    return replace(experiment, clip_low=source(0.2, where), clip_high=source(0.28, where))

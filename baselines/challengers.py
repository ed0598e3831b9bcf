"""Newer objectives and advantages as arms on the baselines' common recipe (see `baselines/paper.py`)."""

from __future__ import annotations

from dataclasses import replace

from baselines.a_star_po import a_star_po
from baselines.cispo import cispo
from baselines.dppo import dppo
from baselines.gdpo import gdpo
from baselines.gmpo import gmpo
from baselines.gpg import gpg, policy_gradient
from baselines.gspo import gspo
from baselines.informative import informative
from baselines.lite_ppo import lite_ppo
from baselines.m2po import m2po
from baselines.maxrl import maxrl
from baselines.opo import opo
from baselines.otb import otb
from baselines.reinforce_pp import reinforce_pp
from baselines.remax import remax
from baselines.rloo import rloo
from baselines.sapo import sapo
from baselines.vespo import vespo
from harness.spec import Experiment, Method, Sourced, Use, assumed, code, paper, use
from harness.step.loss import Aggregation

GSPO = "GSPO (arXiv 2507.18071), "
CISPO = "CISPO (MiniMax-M1, arXiv 2506.13585), "
GMPO = "GMPO (arXiv 2507.20673), "
SAPO = "SAPO (arXiv 2511.20347), "
LUSPO = "LUSPO (arXiv 2602.05261), "
DPPO = "DPPO (arXiv 2602.04879), "
DPPO_SCRIPT = "verl-project/verl at 8f11888a, examples/dppo_trainer/run_qwen30b_dppo.sh: clip_ratio for dppo_tv"
VERL = "veRL 0.9.1, core_algos: "
DPPO_TRUNCATE = (
    VERL
    + "compute_policy_loss_dppo_tv: its own fallback for clip_ratio_c. The trainer's configuration has 3 in its place, "
    "the DPPO script 10,000"
)
TRL = "TRL 1.16, GRPOConfig: "
MAXRL = "MaxRL (arXiv 2602.02710), "
MAXRL_CODE = "github.com/NovaSky-AI/SkyRL at a956457, skyrl/backends/skyrl_train/utils/ppo_utils.py: "
TWO_GRPO = "2-GRPO (arXiv 2510.00977), "
GPG = "GPG (arXiv 2504.02546), "
GDPO = "GDPO (arXiv 2601.05242), "
M2PO = "M2PO (arXiv 2510.01161), "
M2PO_CODE = "github.com/Infini-AI-Lab/M2PO at af54a3e, train-scripts/m2po-qwen-math-7b-s256.sh: "
A_STAR = "A*-PO (arXiv 2505.20686), "
A_STAR_CODE = "github.com/ZhaolinGao/A-PO at c8823a3, "
SCALERL = "ScaleRL (arXiv 2510.13786), "
NOT_READ = "whose text is not at hand; as summaries of it say: "
SKYRL_CISPO = "github.com/NovaSky-AI/SkyRL at a956457, skyrl/train/config/config.py: "


Arms = dict[str, tuple[str, Experiment]]  # key -> (title, declaration)


def challengers(recipe: Experiment) -> Arms:
    """The recipe with another objective or advantage, by key."""
    return {**_sequence_ratios(recipe), **_token_ratios(recipe), **_advantages(recipe), "scalerl": _scalerl(recipe)}


def with_objective(recipe: Experiment, equation: Use, why: str, aggregation: Sourced[Aggregation]) -> Experiment:
    """The recipe with an objective and its aggregation, without the clipping whose place it takes."""
    method = replace(recipe.method, objective=equation, aggregation=aggregation)
    return _unclipped(recipe, method, why + "its objective takes the place of the clipped surrogate")


def _unclipped(recipe: Experiment, method: Method, why: str) -> Experiment:
    none: Sourced[float | None] = assumed(None, why)
    return replace(recipe, method=method, clip_low=none, clip_high=none, dual_clip=none)


def _sequence_ratios(recipe: Experiment) -> Arms:
    """Objectives that clip the ratio of a whole sequence."""
    clip = {
        "low": paper(3e-4, GSPO + "section 5.1: the left clipping range in Eq. 5"),
        "high": paper(4e-4, GSPO + "section 5.1: the right clipping range in Eq. 5"),
    }
    borrowed = {
        key: assumed(sourced.value, LUSPO + f"which builds on GSPO; GSPO's {key}") for key, sourced in clip.items()
    }
    length_weighted: Sourced[Aggregation] = code(
        "sequence_sum", TRL + "loss_type='luspo': a sequence's loss times its length"
    )
    return {
        "gspo": ("GSPO", with_objective(recipe, use(gspo, **clip), GSPO, paper("sequence_mean", GSPO + "Eq. 5"))),
        "luspo": ("LUSPO", with_objective(recipe, use(gspo, **borrowed), LUSPO, length_weighted)),
    }


def _token_ratios(recipe: Experiment) -> Arms:
    """Objectives of the ratio of each token."""
    cispo_use = use(
        cispo,
        low=code(None, TRL + "loss_type='cispo': no lower bound"),
        high=code(
            4.0,
            TRL + "loss_type='cispo': weights of at most ScaleRL's (arXiv 2510.13786) ε_max, 5.0 recommended: "
            "1 + 4. ScaleRL's ablation finds 4, 5 and 8 alike; MiniMax-M1 tuned a bound that it does not "
            "state; veRL's example script has 0.2 above 1",
        ),
    )
    gmpo_use = use(
        gmpo,
        low=paper(0.4, GMPO + "section 4: ratios in (e^-0.4, e^0.4)"),
        high=paper(0.4, GMPO + "section 4: ratios in (e^-0.4, e^0.4)"),
    )
    sapo_use = use(
        sapo,
        tau_pos=code(1.0, TRL + "sapo_temperature_pos, which cites the paper"),
        tau_neg=code(1.05, TRL + "sapo_temperature_neg, which cites the paper"),
    )
    dppo_use = use(
        dppo,
        divergence=code("binary_tv", VERL + "loss_mode=dppo_tv"),
        low=code(0.15, DPPO_SCRIPT),
        high=code(0.15, DPPO_SCRIPT),
        truncate=code(20.0, DPPO_TRUNCATE),
    )
    vespo_use = use(
        vespo,
        k_pos=code(2.0, TRL + "vespo_k_pos, which cites arXiv 2602.10693"),
        lambda_pos=code(3.0, TRL + "vespo_lambda_pos"),
        k_neg=code(3.0, TRL + "vespo_k_neg"),
        lambda_neg=code(2.0, TRL + "vespo_lambda_neg"),
    )
    token_mean: Sourced[Aggregation] = code("token_mean", VERL + "compute_policy_loss_dppo_tv: loss_agg_mode")
    return {
        "cispo": ("CISPO", with_objective(recipe, cispo_use, CISPO, code("token_mean", TRL + "loss_type='cispo'"))),
        "gmpo": ("GMPO", with_objective(recipe, gmpo_use, GMPO, code("sequence_mean", "TRL 1.16, experimental.gmpo"))),
        "sapo": ("SAPO", with_objective(recipe, sapo_use, SAPO, code("sequence_mean", TRL + "loss_type='sapo'"))),
        "vespo": (
            "VESPO",
            with_objective(
                recipe, vespo_use, "VESPO (arXiv 2602.10693), ", code("token_mean", TRL + "loss_type='vespo'")
            ),
        ),
        "dppo": ("DPPO (binary TV)", with_objective(recipe, dppo_use, DPPO, token_mean)),
    }


def _advantages(recipe: Experiment) -> Arms:
    """Other advantages. GPG's comes with its objective."""

    def advantage(equation: Use) -> Experiment:
        return replace(recipe, method=replace(recipe.method, advantage=equation))

    token_mean: Sourced[Aggregation] = code("token_mean", VERL + "compute_policy_loss_gpg: loss_agg_mode")
    second_moment = use(m2po, threshold=code(0.04, M2PO_CODE + "M2_budget, as in the other scripts"))
    mean_scaled = use(maxrl, epsilon=code(1e-6, MAXRL_CODE + "compute_maxrl_advantage"))
    two_rewards = replace(
        recipe,
        method=replace(recipe.method, rewards=()),
        rewards=assumed(("accuracy", "boxed_format"), GDPO + "needs several; correctness and form"),
        reward_weights=assumed((1.0, 1.0), "not stated; equal"),
    )
    apart = use(gdpo, epsilon=code(1e-4, TRL + "multi_objective_aggregation='normalize_then_sum'"))
    summed: Sourced[Aggregation] = code("sequence_sum", A_STAR_CODE + "verl/trainer/apo/core_algos.py")
    regression = with_objective(recipe, use(policy_gradient), A_STAR, summed)
    value = use(
        a_star_po,
        beta1=code(0.5, A_STAR_CODE + "scripts/apo_math.sh: beta1"),
        beta2=code(1e-3, A_STAR_CODE + "scripts/apo_math.sh: beta2"),
    )
    plain = with_objective(recipe, use(policy_gradient), GPG, token_mean)
    scaled = use(gpg, scale=code(1.0, VERL + "compute_gpg_outcome_advantage: f_norm"))
    return {
        "gpg": ("GPG", replace(plain, method=replace(plain.method, advantage=scaled))),
        "rloo": ("RLOO", advantage(use(rloo))),
        "opo": ("OPO", advantage(use(opo))),
        "otb": (
            "OTB",
            advantage(use(otb, epsilon=code(1e-8, VERL + "compute_optimal_token_baseline_advantage: epsilon"))),
        ),
        "remax": ("ReMax", advantage(use(remax))),
        "a_star_po": (
            "A*-PO",
            replace(
                regression,
                method=replace(regression.method, advantage=value, rewards=()),
                rewards=code(("accuracy",), A_STAR_CODE + "verl/utils/reward_score/math.py: 1 for correct, else 0"),
            ),
        ),
        "maxrl": (
            "MaxRL",
            replace(
                recipe,
                method=replace(recipe.method, advantage=mean_scaled, rewards=()),
                rewards=assumed(("accuracy",), MAXRL + "divides by the mean reward: 1 for correct, 0 for incorrect"),
            ),
        ),
        "lite_ppo": ("Lite PPO", advantage(use(lite_ppo, epsilon=code(1e-4, TRL + "scale_rewards='batch'")))),
        "grpo_two_rewards": ("GRPO on GDPO's rewards", two_rewards),
        "gdpo": ("GDPO", replace(two_rewards, method=replace(two_rewards.method, advantage=apart))),
        "m2po": (
            "M2PO",
            _unclipped(recipe, replace(recipe.method, gates=(second_moment,)), M2PO + "the mask replaces clipping"),
        ),
        "grpo_pairs": (
            "2-GRPO",
            replace(recipe, group_size=paper(2, TWO_GRPO + "abstract: two rollouts a prompt")),
        ),
        "reinforce_pp": (
            "REINFORCE++",
            advantage(use(reinforce_pp, baseline=assumed("none", "REINFORCE++ (arXiv 2501.03262) as named"))),
        ),
        "reinforce_pp_baseline": (
            "REINFORCE++-baseline",
            advantage(use(reinforce_pp, baseline=assumed("group", "the variant for several responses a prompt"))),
        ),
    }


def _scalerl(recipe: Experiment) -> tuple[str, Experiment]:
    """ScaleRL, as far as one step of one batch says it (see the departures of `baselines.paper`)."""
    method = replace(
        recipe.method,
        advantage=use(lite_ppo, epsilon=assumed(1e-6, SCALERL + "which states none")),
        gates=(use(informative),),
        denominator=assumed("kept", SCALERL + NOT_READ + "zero-variance prompts are dropped from the batch"),
    )
    cispo_use = use(
        cispo,
        low=code(None, SKYRL_CISPO + "cispo_eps_clip_low: a lower bound of 0, following ScaleRL"),
        high=code(4.0, SKYRL_CISPO + "cispo_eps_clip_high: an upper bound of 1 + 4, following ScaleRL"),
    )
    aggregation: Sourced[Aggregation] = assumed("prompt_mean", SCALERL + NOT_READ + "prompt average")
    arm = with_objective(replace(recipe, method=method), cispo_use, SCALERL, aggregation)
    return "ScaleRL", replace(arm, head_precision=code("float32", TRL + "cast_lm_head_to_fp32, which cites ScaleRL"))

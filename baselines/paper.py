"""The baselines as arms of one experiment: each method alone, on one recipe, so that they can be compared.

These are the methods in table 2 of arXiv 2508.07534, and the methods they build on. That table has no numbers, so there
is no `published.csv` here. Forking tokens and the entropy advantage have their own declarations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baselines import dapo, dr_grpo
from baselines.challengers import challengers
from baselines.clip_cov import clip_cov, clip_cov_as_released
from baselines.distillation import reverse_kl, towards_teacher
from baselines.frameworks import OPENRLHF, frameworks
from baselines.kl_cov import kl_cov
from baselines.nsr import weighted_reinforce
from baselines.of_2026 import of_2026
from baselines.passk import passk
from baselines.rollout_correction import rollout_correction, rollout_rejection
from harness.spec import Arm, EntropySearch, Experiment, Method, Reproduction, Sourced, Use, assumed, code, paper, use
from harness.spec.declarations import SELF

COV = "Clip-Cov and KL-Cov (arXiv 2505.22617), "
COV_CODE = "its authors' recipe (verl, recipe/entropy/7b_clip_cov.sh), "
NSR = "PSR and NSR (arXiv 2506.01347), "
WEIGHTS = NSR + "v2, section 3.1 (PSR: 1, 0; NSR: 0, 1), Eq. 9 and section 5 (Weighted-REINFORCE: 0.1, 1)"
PASSK = "pass@k training (arXiv 2508.10751), "
PRORL = "ProRL (arXiv 2505.24864), "
SKYWORK = "Skywork Open Reasoner 1 (arXiv 2505.22312), "
SKYWORK_SCRIPT = SKYWORK + "github.com/SkyworkAI/Skywork-OR1, or1_scripts/train/7b_8k.sh: "
COMMON = "the common ground of all arms here: "
UNCLIPPED: Sourced[float | None] = paper(None, COV + "section 4.2: the penalty takes the place of clipping")

GRPO = Method(
    advantage=dapo.METHOD.advantage,
    aggregation=assumed("token_mean", COMMON + "DAPO's, so that arms differ in what they are named for"),
)
RECIPE = replace(
    dapo.EXPERIMENT,
    base_model=assumed("Qwen/Qwen2.5-7B", COMMON + "the smaller of arXiv 2508.07534's base models, without a domain"),
    method=GRPO,
    dynamic_sampling=assumed(False, COMMON + "DAPO's own arm alone has it"),
    group_size=assumed(8, COMMON + "as in arXiv 2508.07534's script; DAPO has 16"),
    max_completion_tokens=assumed(8192, COMMON + "as in arXiv 2508.07534's script; DAPO has 20,480"),
    clip_high=assumed(0.2, COMMON + "GRPO's symmetric clipping"),
    dual_clip=assumed(None, COMMON + "none"),
)
DAPO = replace(
    dapo.EXPERIMENT,
    base_model=RECIPE.base_model,
    group_size=RECIPE.group_size,
    max_completion_tokens=RECIPE.max_completion_tokens,
    method=replace(
        dapo.METHOD,
        rewards=(
            replace(
                dapo.METHOD.rewards[0],
                values={
                    **dapo.METHOD.rewards[0].values,
                    "max_length": assumed(8192, "the length limit of the common recipe"),
                    "buffer": assumed(1024, "as in arXiv 2508.07534's script, for this length"),
                },
            ),
        ),
    ),
)


def reinforced(positive: float, negative: float) -> Experiment:
    """Correct and incorrect responses with a weight each (arXiv 2506.01347)."""
    advantage = use(
        weighted_reinforce,
        positive=paper(positive, WEIGHTS),
        negative=paper(negative, WEIGHTS),
    )
    return replace(RECIPE, method=replace(GRPO, advantage=advantage))


CLIP_COV = replace(
    RECIPE,
    method=replace(
        GRPO,
        gates=(
            use(
                clip_cov,
                share=paper(2e-4, COV + "section 4.3; recipe/entropy/7b_clip_cov.sh: clip_cov_ratio"),
                low=code(1.0, COV_CODE + "clip_cov_lb; the paper's experiments, section 4.3, have it too"),
                high=code(5.0, COV_CODE + "clip_cov_ub; the paper's experiments, section 4.3, have it too"),
            ),
        ),
    ),
    clip_low=code(None, COV_CODE + "clip_ratio_low=1, which never binds"),
    clip_high=code(1.0, COV_CODE + "clip_ratio_high=1"),
)
CLIP_COV_AS_RELEASED = replace(
    CLIP_COV,
    method=replace(
        CLIP_COV.method,
        gates=(
            use(
                clip_cov_as_released,
                **CLIP_COV.method.gates[0].values,
                clip_high=code(1.0, COV_CODE + "clip_ratio_high=1"),
            ),
        ),
    ),
)
KL_COV = replace(
    RECIPE,
    method=replace(
        GRPO,
        penalties=(
            use(
                kl_cov,
                share=paper(2e-3, COV + "section 4.3, for 7B; recipe/entropy/7b_kl_cov.sh: kl_cov_ratio=0.002"),
                coefficient=paper(1.0, COV + "section 4.3; recipe/entropy/7b_kl_cov.sh: ppo_kl_coef=1"),
            ),
        ),
    ),
    clip_low=UNCLIPPED,
    clip_high=UNCLIPPED,
)
PASS_AT_K = replace(
    RECIPE,
    method=replace(
        GRPO,
        advantage=use(
            passk,
            k=assumed(4, PASSK + "which has several k; this one leaves a signal in groups of 8"),
            epsilon=code(1e-6, PASSK + "github.com/RUCAIBox/Passk_Training, code/passk_adv.py, calc_adv"),
        ),
    ),
)
KL_RESET = replace(
    RECIPE,
    kl_beta=assumed(1e-3, PRORL + "which has a KL term; its coefficient is not known to us"),
    reference_reset_every=assumed(
        200, PRORL + "which resets by hand, where validation stalls, after some hundred steps"
    ),
)
ENTROPY_BONUS = replace(RECIPE, entropy_coefficient=assumed(1e-3, "veRL's own coefficient for long"))
ENTROPY_TARGET = replace(
    RECIPE,
    entropy_coefficient=paper(0.0, SKYWORK + "section 3.2.5, adaptive entropy control: from 0"),
    entropy_target=paper(0.2, SKYWORK + "section 3.2.5, adaptive entropy control"),
    entropy_search=EntropySearch(
        step=code(1e-4, SKYWORK_SCRIPT + "DELTA_ENT_COEF; the text has an example with 0.005"),
        maximum=code(0.005, SKYWORK_SCRIPT + "MAX_ENT_COEF"),
    ),
)


TRL_DEFAULT = "TRL 1.16, the default of vllm_importance_sampling_"
NO_PAPER = "no paper of table 2 states it; "
NO_BOUND: Sourced[float] = assumed(0.0, "no lower bound")


def gated(gate: Use) -> Experiment:
    """GRPO with one gate on the policy gradient."""
    return replace(RECIPE, method=replace(GRPO, gates=(gate,)))


def rejecting(statistic: Sourced[str], low: Sourced[float], high: Sourced[float]) -> Experiment:
    """GRPO without the responses whose sampler is too far from the trainer."""
    gate = use(rollout_rejection, statistic=statistic, low=low, high=high)
    kept: Any = code("kept", "veRL 0.9.1, ppo/rollout_corr_helper.py: dropped responses leave the response mask")
    return replace(RECIPE, method=replace(GRPO, gates=(gate,), denominator=kept))


CORRECTED = {  # by name: what a sampler that is not quite the trainer costs
    "grpo_tis": (
        "GRPO, truncated weights of tokens",
        gated(
            use(
                rollout_correction,
                level=assumed("token", NO_PAPER + "each token by itself"),
                outside=assumed("truncate", NO_PAPER + "a weight above the bound becomes the bound"),
                low=NO_BOUND,
                high=assumed(2.0, NO_PAPER + "twice as probable to the trainer as to the sampler"),
            )
        ),
    ),
    "grpo_mis": (
        "GRPO, masked weights of sequences",
        gated(
            use(
                rollout_correction,
                level=code("sequence", TRL_DEFAULT + "mode: sequence_mask"),
                outside=code("mask", TRL_DEFAULT + "mode: sequence_mask"),
                low=NO_BOUND,
                high=code(3.0, TRL_DEFAULT + "clip_max"),
            )
        ),
    ),
    "grpo_icepop": (
        "GRPO, IcePop: tokens masked on both sides",
        gated(
            use(
                rollout_correction,
                level=code("token", OPENRLHF + "models/loss.py, is_correction_type=icepop"),
                outside=code("mask", OPENRLHF + "models/loss.py, is_correction_type=icepop"),
                low=code(0.5, OPENRLHF + "cli/train_ppo_ray.py, is_correction_threshold"),
                high=code(5.0, OPENRLHF + "cli/train_ppo_ray.py, is_correction_threshold"),
            )
        ),
    ),
    "grpo_geometric": (
        "GRPO, responses masked by the geometric mean of their ratios",
        rejecting(
            assumed("geometric_mean", NO_PAPER + "veRL's seq_mean_k1"),
            assumed(0.99, NO_PAPER + "within one percent a token"),
            assumed(1.01, NO_PAPER + "within one percent a token"),
        ),
    ),
    "grpo_k3_mask": (
        "GRPO, responses masked by their mean k3",
        rejecting(
            assumed("k3", NO_PAPER + "veRL's seq_mean_k3"),
            NO_BOUND,
            assumed(0.01, NO_PAPER + "a divergence of 0.01 nats a token"),
        ),
    ),
    "grpo_bypass": (
        "GRPO, the sampler's log-probabilities as the old ones",
        replace(RECIPE, old_policy=assumed("sampler", NO_PAPER + "veRL's bypass mode: the ratio holds the mismatch")),
    ),
}
TEACHER: Sourced[str | None] = assumed(
    "Qwen/Qwen2.5-Math-7B-Instruct",
    "no paper of table 2 has a teacher; trained on mathematics, the same tokenizer",
)
TEACHERS = {"tiny": {"reference_model": "tiny"}, "small": {"reference_model": "Qwen/Qwen2.5-1.5B-Instruct"}}
DISTILLED = {  # by name: a teacher rates the student's own samples
    "opd": (
        "On-policy distillation",
        replace(RECIPE, reference_model=TEACHER, method=replace(GRPO, advantage=use(reverse_kl))),
    ),
    "sdpo": (
        "Self-distillation (SDPO)",
        replace(
            RECIPE,
            reference_model=assumed(SELF, NO_PAPER + "arXiv 2601.20802: the policy, shown a success of the group"),
            method=replace(GRPO, advantage=use(reverse_kl)),
        ),
    ),
    "opd_reward": (
        "GRPO with a teacher",
        replace(
            RECIPE,
            reference_model=TEACHER,
            method=replace(
                GRPO, shaping=(use(towards_teacher, coefficient=assumed(0.01, "not known to us; a small share")),)
            ),
        ),
    ),
}

ARMS = {
    "grpo": ("GRPO", RECIPE),
    "clip_higher": ("GRPO, clip-higher", replace(RECIPE, clip_high=dapo.EXPERIMENT.clip_high)),
    "dapo": ("DAPO", DAPO),
    "dr_grpo": ("Dr. GRPO", replace(RECIPE, method=dr_grpo.METHOD)),
    "clip_cov": ("Clip-Cov", CLIP_COV),
    "kl_cov": ("KL-Cov", KL_COV),
    "psr": ("Positive sample reinforcement", reinforced(1.0, 0.0)),
    "nsr": ("Negative sample reinforcement", reinforced(0.0, 1.0)),
    "w_reinforce": ("Weighted-REINFORCE", reinforced(0.1, 1.0)),
    "passk": ("Pass@k training", PASS_AT_K),
    "kl_reset": ("KL with reference reset", KL_RESET),
    "entropy_bonus": ("Entropy regularisation", ENTROPY_BONUS),
    "entropy_target": ("Entropy regularisation to a target", ENTROPY_TARGET),
    **challengers(RECIPE),
}
AS_RELEASED = {"clip_cov_as_released": ("Clip-Cov, candidates as in the released code", CLIP_COV_AS_RELEASED)}
BY_NAME = {**AS_RELEASED, **of_2026(RECIPE), **CORRECTED, **DISTILLED, **frameworks(RECIPE)}
SCALES: dict[str, dict[str, dict[str, Any]]] = {
    "kl_reset": {"tiny": {"reference_reset_every": 20}},
    # pairs of four times as many prompts: as many responses as the other arms
    "grpo_pairs": {"tiny": {"group_size": 2, "prompts_per_rollout": 64}, "small": {"group_size": 2}},
    # the tiny base model teaches nothing: give a trained one, reference_model=FOLDER
    **dict.fromkeys(("opd", "opd_reward"), TEACHERS),
}

REPRODUCTION = Reproduction(
    key="baselines",
    title="Baselines: known methods on one recipe",
    arxiv="2508.07534",
    models={"7b": RECIPE.base_model},
    arms=(
        Arm("base", "7b", "Qwen2.5-7B", None),
        *(Arm(key, "7b", title, experiment, scales=SCALES.get(key, {})) for key, (title, experiment) in ARMS.items()),
        *(
            Arm(key, "7b", title, experiment, scales=SCALES.get(key, {}), sweep=True)
            for key, (title, experiment) in BY_NAME.items()
        ),
    ),
    sets={"frameworks": tuple(frameworks(RECIPE)), "of_2026": tuple(of_2026(RECIPE))},
    protocol="trial_and_error",
    seeds=assumed(1, "no published number to compare with. Give seeds=N"),
    departures=(
        "All methods train on one recipe, which is DAPO's where a value is stated. None of these methods' own papers "
        "is reproduced here.",
        "Clip-Cov samples from all tokens in its band. The authors' code samples only from tokens that ratio clipping "
        "does not affect, and clip_cov_as_released does so too.",
        "PSR and NSR have no entropy term. The authors' code adds one of 0.001, the default of its trainer.",
        "A reference reset leaves the optimiser's state as it is. ProRL starts with a new one.",
        "ScaleRL is without its interruption of long responses, its no-positive resampling and its asynchronous "
        "rollouts.",
        "ReMax and A*-PO sample eight responses per prompt, as the other arms do. Their papers sample one.",
        "The entropy search measures the step's own entropy before the update, as Skywork's text says.",
    ),
    scales={
        "tiny": {
            **dapo.TINY,
            # with one update a rollout every ratio is 1: no clipping acts, and KL-Cov's penalty has no gradient
            "updates_per_rollout": 2,
            "max_steps": 80,
        }
    },
)

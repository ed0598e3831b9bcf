"""From Trial-and-Error to Improvement (arXiv 2508.07534) as data: arms, values, and each value's source.

Tables 4 to 6: advantage shaping with reinforcement learning at 7B. Table 3: rejection-sampling fine-tuning at 32B.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from baselines.grpo import grpo
from baselines.overlong import overlong
from harness.spec import Arm, Context, Experiment, Finetune, Method, Reproduction, Sourced, assumed, code, paper, use
from harness.spec.rejection import Rejection
from reproductions.trial_and_error import rft
from reproductions.trial_and_error.claims import CLAIMS
from reproductions.trial_and_error.doubts import doubts
from reproductions.trial_and_error.method import position_advantage, ppl_advantage

REPOSITORY = "github.com/RUCAIBox/Slow_Thinking_with_LLMs at 834e1b7, entropy2performance/"
SCRIPTS = REPOSITORY + "scripts/low_ppl.sh and location.sh"
RELEASED = REPOSITORY + "verl/verl/trainer/ppo/core_algos.py"
LOG = REPOSITORY + "verl/outputs/2025-07-25/21-52-19/.hydra/config.yaml, a logged run"
TRAINER = REPOSITORY + "verl/verl/trainer/ppo/ray_trainer.py"
WORKERS = REPOSITORY + "verl/verl/workers/fsdp_workers.py"
NOT_STATED = "not stated; "
RFT = "section 4.4.1"
UPDATES = 16  # optimiser steps of a rollout: 512 prompts in mini-batches of 32
STEP = f"; a step there is a rollout, of {UPDATES} optimiser steps"
STILL_3 = "RUC-AIBOX/STILL-3-Preview-RL-Data"

GRPO = Method(
    rewards=(
        use(
            overlong,
            max_length=code(8192, SCRIPTS),
            buffer=code(1024, SCRIPTS),
            penalty=code(1.0, SCRIPTS),
        ),
    ),
    advantage=use(
        grpo,
        std=code("sample", RELEASED + "; Eq. 10 does not say which"),
        epsilon=code(1e-6, RELEASED + "; Eq. 10 has none"),
    ),
    aggregation=code("token_mean", SCRIPTS + ": use_token_level_loss; Eq. 9 is a sum over the tokens of one response"),
)


def with_ppl(
    sign: Literal[-1, 1], where: str, statistics: Sourced[Literal["as_printed", "as_released"]], alpha: Sourced[float]
) -> Method:
    """GRPO with Eq. 11 (sign -1), or with the opposite scheme of section 3.2.3 (sign 1)."""
    shaping = use(ppl_advantage, alpha=alpha, sign=paper(sign, where), statistics=statistics)
    return replace(GRPO, shaping=(shaping,))


ALPHA = paper(0.01, "section 4.4.2")
ALPHA_HIGH = assumed(0.01, "section 3.2.3 calls alpha a hyperparameter and gives no value; that of section 4.4.2")


PPL_AS_PRINTED: Sourced[Literal["as_printed", "as_released"]] = assumed(
    "as_printed",
    "Eq. 7: mean and standard deviation of the group, without saying which; the sample one, as for the rewards",
)
PPL_AS_RELEASED: Sourced[Literal["as_printed", "as_released"]] = code("as_released", RELEASED + ", calculate_ppl")

WINDOW = {
    "first_step": paper(200 * UPDATES, "section 4.4.2: beginning at step 200" + STEP),
    "steps": paper(100 * UPDATES, "section 4.4.2: for 100 steps" + STEP),
}
RELEASED_WINDOW = {
    "first_step": code(200 * UPDATES, TRAINER + ": 200 < global_steps, counted from 1" + STEP),
    "steps": code(99 * UPDATES, TRAINER + ": global_steps < 300" + STEP),
}
THROUGHOUT: dict[str, Sourced[object]] = {
    "first_step": assumed(0, "section 4.4.2 restricts the bonus because of what figure 6(d) shows without it"),
    "steps": assumed(None, "as for first_step: throughout the training"),
}
POSITION: dict[str, Sourced[object]] = {
    "gamma": paper(0.1, "section 4.4.2"),
    "d": paper(1.0, "section 4.4.2"),
    "m": paper(15.0, "section 4.4.2; the released code has it too"),
    "n": code(0.5, RELEASED + "; section 4.4.2 prints -0.5, which makes the bonus constant"),
    "bound": code(0.5, RELEASED + ": at most half of |A|; the paper has no bound"),
}
PRINTED: dict[str, Sourced[object]] = {
    "n": paper(-0.5, "section 4.4.2, as printed"),
    "bound": paper(None, "Eq. 12 has none"),
}
FIGURE_6: dict[str, Sourced[object]] = {
    "gamma": paper(1.0, "figure 6(c) and (d): fixed gamma = 1.0"),
    "m": assumed(
        15.0, "section 3.2.4 calls r the relative position, without m and n; those of section 4.4.2 are taken"
    ),
}


def with_position(**values: Sourced[object]) -> Method:
    """GRPO with Eq. 12. `values` replace those of the released code."""
    return replace(GRPO, shaping=(use(position_advantage, **{**POSITION, **RELEASED_WINDOW, **values}),))


METHODS = {  # the first three are in tables 4 to 6
    "grpo": ("GRPO", GRPO),
    "grpo_ppl": ("GRPO+PPL", with_ppl(-1, "Eq. 11", PPL_AS_PRINTED, ALPHA)),
    "grpo_position": ("GRPO+POSITION", with_position()),
    "grpo_ppl_released": ("GRPO+PPL, released statistics", with_ppl(-1, "Eq. 11", PPL_AS_RELEASED, ALPHA)),
    "grpo_ppl_high": (
        "GRPO+PPL, favouring high PPL",
        with_ppl(1, "section 3.2.3: 1 + alpha w", PPL_AS_PRINTED, ALPHA_HIGH),
    ),
    "grpo_position_as_printed": ("GRPO+POSITION, as printed", with_position(**PRINTED, **WINDOW)),
    "grpo_position_throughout": ("GRPO+POSITION, without window", with_position(**THROUGHOUT)),
    "grpo_position_late": ("GRPO+POSITION, gamma 1, late tokens", with_position(**FIGURE_6, **THROUGHOUT)),
    "grpo_position_early": (
        "GRPO+POSITION, gamma 1, early tokens",
        with_position(**FIGURE_6, **THROUGHOUT, d=paper(-1.0, "section 3.2.4: d = -1 rewards earlier tokens")),
    ),
    "low_ppl_as_released": ("GRPO+PPL, as low_ppl.sh computes it", GRPO),  # it drops the factor (results/released.md)
}
IN_TABLES = ("grpo", "grpo_ppl", "grpo_position")
# as the paper's window of 1,000 steps (figure 6(a)): it opens after a fifth of the training, for a tenth of it
WINDOWS = {
    "tiny": {"position_advantage.first_step": 12, "position_advantage.steps": 6},
    "small": {"position_advantage.first_step": 60 * UPDATES, "position_advantage.steps": 30 * UPDATES},  # in 300 steps
}
SCALES = {key: WINDOWS for key in ("grpo_position", "grpo_position_as_printed")}

RELEASED_MODEL = "section 2.4 names the model; this is its checkpoint on the hub"
EXTENDED = (
    "not stated, and 8,192 tokens do not fit the model's own 4,096 positions; the usual change of this model: LUFFY's "
    "(github.com/TsinghuaC3I/Unify-Post-Training at train.sh, issue 5), without further training"
)
LONGEST = (
    "not stated. Section 2.4 fine-tunes with 20,000 tokens and section 2.5 measures with 16,384, more than the 16,384 "
    "positions of LUFFY's change hold. The number of positions is a limit and changes no shorter response"
)

MODELS = {
    "7b": paper("Qwen/Qwen2.5-7B", "table 4"),
    "math-7b": paper("Qwen/Qwen2.5-Math-7B", "table 4; section 2.4"),
    "32b": paper("Qwen/Qwen2.5-32B", RFT),
    "32b-simplerl-zoo": assumed(
        "hkust-nlp/Qwen-2.5-32B-SimpleRL-Zoo", "table 3 gives the model's name; this is the checkpoint of that name"
    ),
    "r1-distill-7b": paper("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", RELEASED_MODEL),
    "skywork-or1-math-7b": paper("Skywork/Skywork-OR1-Math-7B", RELEASED_MODEL),
}

CONTEXTS = {
    "math-7b": Context(
        positions=assumed(32768, LONGEST),
        rope_theta=assumed(40000.0, EXTENDED),
    )
}


def reinforced(base_model: Sourced[str], method: Method) -> Experiment:
    """The reinforcement learning of tables 4 to 6. All arms share these values."""
    return Experiment(
        base_model=base_model,
        dataset=assumed(
            STILL_3,
            NOT_STATED + "the set of section 4.4.1 and of the authors' own project. Give dataset=FILE for another",
        ),
        dataset_rows=assumed(33000, "about; the set's size on the hub"),
        prompt=assumed(
            "boxed_suffix",
            NOT_STATED + "section 3.2.2 counts unboxed answers as format violations, so a box is asked for",
        ),
        rewards=code(
            ("signed_accuracy",),
            REPOSITORY
            + "verl/verl/utils/reward_score/math_verify.py: 1 and -1. Section 4.1 says 1 and 0, which after Eq. 10 "
            "differs only where the overlong penalty is added",
        ),
        reward_weights=code((1.0,), REPOSITORY + "verl/verl/utils/reward_score/math_verify.py: the only reward"),
        method=method,
        dynamic_sampling=code(True, SCRIPTS + ": filter_groups by accuracy"),
        prompts_per_rollout=code(512, SCRIPTS),
        group_size=code(8, SCRIPTS),
        rollout_temperature=code(1.0, LOG),
        rollout_top_p=code(1.0, LOG),
        max_prompt_tokens=code(1024, SCRIPTS),
        max_completion_tokens=code(8192, SCRIPTS),
        critic=paper(False, "section 4.1: GRPO"),
        updates_per_rollout=code(UPDATES, SCRIPTS + ": 512 prompts in mini-batches of 32"),
        learning_rate=code(1e-6, SCRIPTS),
        lr_schedule=code("constant", LOG),
        warmup_ratio=code(0.01, f"{SCRIPTS}: 10 steps{STEP}, of 1,000"),
        weight_decay=code(0.1, SCRIPTS),
        max_grad_norm=code(1.0, SCRIPTS),
        clip_low=code(0.2, SCRIPTS),
        clip_high=code(0.28, SCRIPTS + "; Eq. 9 has one epsilon for both sides"),
        dual_clip=code(None, RELEASED + ": its policy loss has none"),
        kl_beta=code(0.0, SCRIPTS + "; Eq. 9 has a KL term, with a beta that is not stated"),
        reference_reset_every=assumed(None, "no effect: no reference"),
        entropy_coefficient=code(0.0, SCRIPTS),
        entropy_target=assumed(None, "no effect: no entropy loss"),
        epochs=code(30.0, SCRIPTS + "; max_steps ends the training before"),
        max_steps=assumed(1000 * UPDATES, NOT_STATED + "figure 6(a) covers 1k steps of training" + STEP),
        precision=code("bfloat16", WORKERS + ": param_dtype of forward and backward passes, where none is configured"),
        lora_rank=code(None, SCRIPTS + ": all weights are trained"),
        lora_alpha=assumed(64.0, "no effect: no LoRA"),
        lora_dropout=assumed(0.0, "no effect: no LoRA"),
    )


def rejection(by: Sourced[rft.Ranking], noise: Sourced[float], rounds: int) -> Rejection:
    """Rejection-sampling fine-tuning with one selection of section 4.4.1."""
    return Rejection(
        base_model=MODELS["32b"],
        dataset=assumed(
            STILL_3, RFT + ": the STILL-3 dataset; its preview set, the public one of 33K problems, is our reading"
        ),
        dataset_rows=assumed(33000, "about; the set's size on the hub"),
        prompt=assumed("boxed_suffix", NOT_STATED + "the first filter keeps only boxed answers, so a box is asked for"),
        batch_size=paper(32, RFT),
        learning_rate=paper(1e-5, RFT),
        lr_schedule=assumed("constant", NOT_STATED + "a round is only some 35 steps"),
        warmup_ratio=assumed(0.0, NOT_STATED + "as for the schedule"),
        weight_decay=assumed(0.0, NOT_STATED + "TRL's default"),
        max_grad_norm=assumed(1.0, NOT_STATED + "TRL's default"),
        epochs=assumed(1.0, NOT_STATED + "one pass over the 1.1k samples of a round"),
        max_steps=assumed(None, NOT_STATED + "as many as the epochs give"),
        max_tokens=paper(20000, RFT + ": context length"),
        too_long=assumed("drop", NOT_STATED + "no sampled response is that long"),
        precision=assumed("bfloat16", NOT_STATED + "the precision of the published weights"),
        lora_rank=assumed(None, NOT_STATED + "all weights are trained"),
        lora_alpha=assumed(64.0, "no effect: no LoRA"),
        lora_dropout=assumed(0.0, "no effect: no LoRA"),
        filters=(
            use(rft.has_box),
            use(rft.has_digit),
            use(rft.cut_after_box),
            use(
                rft.not_redundant,
                limit=paper(0.31, RFT),
                measure=assumed(
                    "not_distinct",
                    "not defined; 1 - distinct / all 3-grams is the usual one. The released code has an unused "
                    "function of another definition and limit (0.35): measure=repeated",
                ),
            ),
        ),
        select=use(rft.select, by=by, noise=noise),
        rounds=assumed(
            rounds, NOT_STATED + "table 3 says fewer iterations for the intermediate arms, most for the last"
        ),
        problems_per_round=assumed(2000, NOT_STATED + "enough to choose 1.1k among the correct responses"),
        samples_per_problem=assumed(8, NOT_STATED + "as in the reinforcement learning"),
        rollout_temperature=assumed(1.0, NOT_STATED + "as in the reinforcement learning"),
        rollout_top_p=assumed(1.0, NOT_STATED + "as in the reinforcement learning"),
        max_completion_tokens=assumed(8192, NOT_STATED + "as in section 2.4"),
        branching_mass=paper(0.95, "section 2.2"),
        selected=paper(1100, RFT + ": 1.1k selected data points"),
        start_from=assumed("last", RFT + ": RFT iteratively refines a model; it does not say that a round starts anew"),
    )


ANY: Sourced[rft.Ranking] = assumed("random", RFT + " does not say which of the filtered samples are taken")
MOST_ENTROPY: Sourced[rft.Ranking] = paper("entropy", RFT + ": the highest average entropy")
MOST_BRANCHES: Sourced[rft.Ranking] = paper("branching", RFT + ": the highest average branching factor")
CLEAN = paper(0.0, RFT + ": rule-based filtering")
NOISY = paper(0.05, RFT + ": 5% of negative samples")
SELECTIONS = {
    "rft": ("RFT (Rule-filtered only)", rejection(ANY, CLEAN, 4)),
    "rft_noise": ("RFT + Noisy Data (5%)", rejection(ANY, NOISY, 4)),
    "rft_entropy": ("RFT + High-Entropy Data", rejection(MOST_ENTROPY, CLEAN, 4)),
    "rft_rbf": ("RFT + High-RBF Data", rejection(MOST_BRANCHES, CLEAN, 4)),
    "rft_noise_rbf": ("RFT + Noisy Data (5%) + High-RBF", rejection(MOST_BRANCHES, NOISY, 8)),
}
TABLE_3 = "trial_and_error_rft"
BOUNDARY = "trial_and_error_boundary"


def supervised(domain: Sourced[str], rows: Sourced[int]) -> Finetune:
    """SFT-Math and SFT-All of section 2.4: Qwen2.5-Math-7B on OpenThoughts."""
    where = "section 2.4"
    return Finetune(
        base_model=MODELS["math-7b"],
        dataset=domain,
        dataset_rows=rows,
        prompt=assumed("boxed_suffix", NOT_STATED + "the prompt of the evaluation"),
        batch_size=paper(96, where),
        learning_rate=paper(1e-5, where),
        lr_schedule=assumed("constant", NOT_STATED + "as for RFT"),
        warmup_ratio=assumed(0.0, NOT_STATED + "as for the schedule"),
        weight_decay=assumed(0.0, NOT_STATED + "TRL's default"),
        max_grad_norm=assumed(1.0, NOT_STATED + "TRL's default"),
        epochs=assumed(1.0, NOT_STATED + "one pass"),
        max_steps=assumed(None, NOT_STATED + "as many as the epochs give"),
        max_tokens=paper(20000, where + ": maximum context length"),
        too_long=assumed("drop", NOT_STATED + "a cut solution has no answer"),
        precision=assumed("bfloat16", NOT_STATED + "the precision of the published weights"),
        lora_rank=assumed(None, NOT_STATED + "all weights are trained"),
        lora_alpha=assumed(64.0, "no effect: no LoRA"),
        lora_dropout=assumed(0.0, "no effect: no LoRA"),
    )


OPEN_THOUGHTS = "section 2.4: the OpenThoughts dataset, here OpenThoughts-114k, the first of that name, "
SUPERVISED = {
    "sft_math": (
        "SFT-Math",
        supervised(
            assumed("openthoughts_math", OPEN_THOUGHTS + "its math domain"),
            assumed(89100, "about; the mathematics of OpenThoughts-114k, as open-r1/OpenThoughts-114k-math on the hub"),
        ),
    ),
    "sft_all": (
        "SFT-All",
        supervised(
            assumed("openthoughts", OPEN_THOUGHTS + "all domains"),
            assumed(113957, "rows of OpenThoughts-114k (harness/data/named.py)"),
        ),
    ),
}


def shaped_arms(model: str) -> tuple[Arm, ...]:
    """The base model and all shapings of its advantage (tables 4 to 6, figures 5 and 6)."""
    shaped = (
        Arm(
            key,
            model,
            title,
            reinforced(MODELS[model], method),
            scales=SCALES.get(key, {}),
            sweep=key not in IN_TABLES,
            same_as="grpo" if key == "low_ppl_as_released" else "",
        )
        for key, (title, method) in METHODS.items()
    )
    return (Arm("base", model, "BASE", None), *shaped)


ARMS = (
    *shaped_arms("7b"),
    *shaped_arms("math-7b"),
    # the tiny family has one kind of problem, so there the two are the same
    *(
        Arm(
            key,
            "math-7b",
            title,
            declared,
            BOUNDARY,
            sweep=True,
            same_as="sft_math" if key == "sft_all" else "",
            same_at=("tiny",),
        )
        for key, (title, declared) in SUPERVISED.items()
    ),
    Arm("base", "32b", "Qwen2.5-32B (Base)", None, TABLE_3),
    Arm("base", "32b-simplerl-zoo", "Qwen-2.5-32B-SimpleRL-Zoo", None, TABLE_3),
    *(Arm(key, "32b", title, declared, TABLE_3) for key, (title, declared) in SELECTIONS.items()),
    Arm("base_boundary", "math-7b", "Qwen2.5-Math-7B, 640 samples", None, BOUNDARY, sweep=True),
    Arm("base", "r1-distill-7b", "DeepSeek-R1-Distill-Qwen-7B", None, BOUNDARY, sweep=True),
    Arm("base", "skywork-or1-math-7b", "Skywork-OR1-Math-7B", None, BOUNDARY, sweep=True),
)

REPRODUCTION = Reproduction(
    key="trial_and_error",
    title="From Trial-and-Error to Improvement: A Systematic Analysis of LLM Exploration Mechanisms in RLVR",
    arxiv="2508.07534",
    models=MODELS,
    contexts=CONTEXTS,
    arms=ARMS,
    protocol="trial_and_error",
    trainer=code("veRL", REPOSITORY + "verl, a copy of it"),
    seeds=assumed(1, "not stated; the tables have no spread"),
    departures=(
        "The step window of the position bonus counts optimiser steps, and a rollout has 16. If you change "
        "updates_per_rollout, also set position_advantage.first_step and position_advantage.steps.",
        "The loss is the mean over the tokens of an optimiser step. The released code averages each micro-batch, then "
        "the micro-batches.",
        "Both shapings read groups at an optimiser step, which holds whole groups. The log-probabilities come from the "
        "policy that sampled, as in the released code.",
        "At 834e1b7 the released code computes the factor 1 - alpha w of low_ppl.sh and never applies it. Its loss is "
        "therefore GRPO's (results/released.md), and low_ppl_as_released computes it so. grpo_ppl is Eq. 11. "
        "grpo_ppl_released has the statistics and the clamp of the released code.",
        "Our grader judges the answers, in training too. The released code asks math-verify about the whole response.",
        "Responses of 8,192 tokens do not fit the 4,096 positions of Qwen2.5-Math-7B. The paper does not say how its "
        "context was extended. context.positions and context.rope_theta are therefore assumed, with equal values in "
        "training and evaluation. 32,768 positions also hold the 20,000 tokens of section 2.4 and the 16,384 of "
        "section 2.5.",
        "The counts of token categories (table 5) come from our word lists for the examples of table 1. The paper's "
        "lists are not public.",
        "The released repository holds a logged run (.hydra/overrides.yaml beside the cited configuration) that none "
        "of its scripts makes. It has gamma 0.05, no overlong buffer, and a model called base_baseline_420_40. The "
        "arms follow the scripts.",
        "RL_code of section 2.5 is not an arm, because its rollouts run code (arXiv 2505.24480). Neither trainer does "
        "this here. Base_code is not an arm, because no engine here runs the code of a response. Base_text is "
        "base_boundary and RL_text is grpo, both on math-7b with protocol.max_tokens=16384.",
        "SFT-Math and SFT-All use OpenThoughts-114k, with its reasoning between think tags. The paper names no version "
        "and no format. Tiny scale has one kind of problem, so sft_all is sft_math there.",
        "Rules detect language mixing (figure 3(d), by characters) and irrelevant content (by repetition). The paper "
        "asks a 32B model about irrelevant content.",
        "The arm's own ranking chooses the noisy samples, because the paper does not say how. We read its 5 % as a "
        "share of the selected samples.",
        "Responses are graded by their first box, because the text after it is cut off before fine-tuning.",
    ),
    claims=CLAIMS,
    doubts=doubts(),
    sets={
        "figure1": ("base_boundary", "r1-distill-7b/base", "skywork-or1-math-7b/base", "sft_math", "sft_all"),
        "figure5": ("grpo", "grpo_ppl", "grpo_ppl_high"),
        "figure6": ("grpo", "grpo_position_late", "grpo_position_early"),
    },
    scales={
        "tiny": {
            "overlong.max_length": 64,
            "overlong.buffer": 16,
            "rounds": 2,
            "problems_per_round": 256,
            "selected": 480,
        },
        "small": {"rounds": 2, "problems_per_round": 1000, "selected": 2000},
    },
)

"""Beyond the 80/20 Rule (arXiv 2506.01939) as data: what was trained, on what, with which values and sources."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from baselines import dapo
from baselines.overlong import overlong
from harness.spec import Arm, Experiment, Method, Reproduction, Sourced, assumed, code, paper, use
from reproductions.forking_tokens.claims import CLAIMS
from reproductions.forking_tokens.method import forking_tokens

V2 = "arXiv 2506.01939 v2, "  # the settings are not in our text, which is a page about the paper
SECTION = V2 + "section 5.2"
SCRIPT = (
    "github.com/Shenzhi-Wang/Beyond-the-80-20-Rule-RLVR at 6f5dda6, recipe/rlvr_with_high_entropy_tokens_only/"
    "run_only_top20_high_entropy_tokens_dapo_qwen3_14b.sh: "
)
RELEASED = "github.com/Shenzhi-Wang/Beyond-the-80-20-Rule-RLVR at 097092a, verl/workers/config/actor.py: "
ROLLOUTS = 88  # each has 16 updates: 1,408 in all, near the 1,400 at which the paper's figure ends
UPDATES = 16  # per rollout

DAPO = replace(
    dapo.METHOD,
    aggregation=code("token_mean", SCRIPT + "loss_agg_mode; the paper builds on DAPO (arXiv 2503.14476), Eq. 8"),
    rewards=(
        use(
            overlong,
            max_length=paper(20480, SECTION + "; the script's max_response_length"),
            buffer=paper(4096, SECTION + "; the script's overlong_buffer_len"),
            penalty=paper(
                1.0, "DAPO (arXiv 2503.14476), Eq. 13, as in v2, section 5.2; the script's overlong_penalty_factor"
            ),
        ),
    ),
)

EXPERIMENT = replace(
    dapo.EXPERIMENT,
    base_model=paper("Qwen/Qwen3-8B-Base", "abstract: the Qwen3-8B base model"),
    dataset=code(
        "BytedTsinghua-SIA/DAPO-Math-17k",
        "README.md of the authors' repository: used in the paper (v2, section 5.2); the script reads another (54.4k)",
    ),
    dataset_rows=assumed(
        17398,
        "problems of that set without its repetitions (harness/data/named.py); 10,000 + 7,398 in v2, section 5.4",
    ),
    prompt=paper("forking_tokens", SECTION + ": the chat template"),
    rewards=assumed(
        ("signed_accuracy",),
        "not stated; DAPO (arXiv 2503.14476), Eq. 7; the script has its reward manager (reward_manager=dapo)",
    ),
    reasoning=code(
        "after",
        "github.com/Shenzhi-Wang/Beyond-the-80-20-Rule-RLVR at 097092a, verl/utils/reward_score/naive_dapo.py, "
        "match_answer: what follows the last </think>. If the thought is not closed, their code reads the whole "
        "response, and our grader says truncated",
    ),
    method=DAPO,
    dynamic_sampling=code(True, SCRIPT + "enable_filter_groups"),
    prompts_per_rollout=paper(512, SECTION + "; the script's train_prompt_bsz"),
    group_size=code(16, SCRIPT + "n_resp_per_prompt"),
    rollout_temperature=code(1.0, SCRIPT + "temperature"),
    rollout_top_p=code(1.0, SCRIPT + "top_p"),
    max_prompt_tokens=code(2048, SCRIPT + "max_prompt_length"),
    max_completion_tokens=paper(20480, SECTION + "; the script's max_response_length"),
    critic=code(False, SCRIPT + "adv_estimator=grpo"),
    updates_per_rollout=paper(UPDATES, SECTION + ": 512 prompts in mini-batches of 32; the script's too"),
    learning_rate=paper(1e-6, SECTION + "; the script's too"),
    lr_schedule=paper(
        "constant", "arXiv 2506.01939 v2, section 5.2: no scheduling; veRL's default, which the script leaves as it is"
    ),
    warmup_ratio=code(
        10 / ROLLOUTS,
        SCRIPT
        + f"lr_warmup_steps=10, which veRL counts in rollouts, of our {ROLLOUTS}; v2, section 5.2, has no warm-up",
    ),
    weight_decay=code(0.1, SCRIPT + "weight_decay"),
    max_grad_norm=code(1.0, SCRIPT + "grad_clip"),
    clip_low=paper(0.2, SECTION + "; the script's clip_ratio_low"),
    clip_high=paper(0.28, SECTION + "; the script's clip_ratio_high"),
    dual_clip=code(10.0, SCRIPT + "clip_ratio_c"),
    kl_beta=paper(0.0, SECTION + "; the script's use_kl_loss=False, kl_coef=0.0"),
    reference_reset_every=assumed(None, "no effect: no reference"),
    entropy_coefficient=code(0.0, SCRIPT + "entropy_coeff"),
    entropy_target=assumed(None, "no effect: no entropy loss"),
    epochs=code(30.0, SCRIPT + "total_epochs; max_steps ends the training earlier"),
    max_steps=assumed(
        ROLLOUTS * UPDATES,
        "the paper gives no length: v2, table 1, has convergence at step 1,360 (14B), and its figure 9 ends near 1,400 "
        "gradient steps. The script's 30 epochs, in generation batches of 3 x 512 prompts (gen_prompt_bsz), would be "
        "11 x 30 rollouts on this set, 5,280 steps",
    ),
)


def gated(rho: Sourced[float], keep: Literal["top", "bottom"]) -> Method:
    """DAPO with the policy gradient on a share of the tokens."""
    return replace(
        DAPO,
        gates=(
            use(
                forking_tokens,
                rho=rho,
                keep=paper(keep, "abstract"),
                scope=paper(
                    "micro_batch",
                    V2
                    + "section 5.1, below Eq. 6: the tokens of a (micro-)batch; the code takes those of a forward pass "
                    "(verl/workers/actor/dp_actor.py, get_global_entropy_top_mask)",
                ),
                micro_batch_tokens=code(
                    8 * (2048 + 20480),
                    SCRIPT + "use_dynamic_bsz with ppo_max_token_len_per_gpu = 22,528 and sp_size = 8: a forward pass "
                    "has up to 180,224 tokens, prompts among them (here: response tokens alone)",
                ),
            ),
        ),
        denominator=code(
            "kept",
            "the authors' code (verl/trainer/ppo/core_algos.py, entropy_top_mask) divides by the kept tokens, and so "
            "does Eq. 6 of v2; v1 divides by all tokens",
        ),
    )


ABLATION = V2 + "section 5.3, figure 7 (10, 20, 50 and 100 %)"
SHARES = {
    "top10": ("DAPO w/ top 10 % tokens", gated(paper(0.1, ABLATION), "top")),
    "top20": ("DAPO w/ forking tokens", gated(paper(0.2, "abstract: 20 % of the tokens"), "top")),
    "top50": ("DAPO w/ top 50 % tokens", gated(paper(0.5, ABLATION), "top")),
    "top100": ("DAPO w/ top 100 % tokens", gated(paper(1.0, ABLATION), "top")),
    "bottom80": ("DAPO w/ lowest 80 % tokens", gated(paper(0.8, "abstract: the 80 % of lowest entropy"), "bottom")),
    "top20_as_released": (
        "DAPO w/ forking tokens, as the code before its repair computes it",
        gated(code(1.0, RELEASED + "no share reaches the actor, so every token counts (results/released.md)"), "top"),
    ),
}
EVERY_TOKEN = ("top100", "top20_as_released")  # rho = 1: these train what dapo trains

MODELS = {
    "8b": paper("Qwen/Qwen3-8B-Base", "abstract: the Qwen3-8B base model"),
    "14b": paper("Qwen/Qwen3-14B-Base", "abstract: the Qwen3-14B base model"),
    "32b": assumed(
        "Qwen/Qwen3-32B",
        "the abstract says base model; Qwen3-32B-Base is not public, so this is the post-trained model, another one",
    ),
}


def arms(model: str) -> tuple[Arm, ...]:
    """The base model, DAPO, and its restrictions on one base model. Table 2 has `dapo` and `top20`."""
    trained: Experiment = replace(EXPERIMENT, base_model=MODELS[model])
    shares = (
        Arm(
            key,
            model,
            title,
            replace(trained, method=method),
            sweep=key != "top20",
            same_as="dapo" if key in EVERY_TOKEN else "",
        )
        for key, (title, method) in SHARES.items()
    )
    base = Arm("base", model, f"Qwen3-{model.upper()} base model", None, sweep=True)
    return (base, Arm("dapo", model, "DAPO", trained), *shares)


LONG = 29696
LONGER: Experiment = replace(
    EXPERIMENT,
    base_model=MODELS["32b"],
    max_completion_tokens=paper(LONG, V2 + "section 5.4, figure 10 (AIME24 68.12 at 32B)"),
    method=replace(
        SHARES["top20"][1],
        rewards=(
            use(
                overlong,
                **{
                    **DAPO.rewards[0].values,
                    "max_length": assumed(LONG, "not stated for this run; the length limit, as in section 5.2"),
                },
            ),
        ),
    ),
)
LONG_RUN = Arm(
    "top20_29k",
    "32b",
    "DAPO w/ forking tokens, 29,696 tokens",
    LONGER,
    protocol="forking_tokens_29k",
    sweep=True,
    same_as="top20",
    same_at=("tiny", "small"),
)


REPRODUCTION = Reproduction(
    key="forking_tokens",
    title="Beyond the 80/20 Rule: High-Entropy Minority Tokens Drive Effective RL for LLM Reasoning",
    arxiv="2506.01939",
    models=MODELS,
    arms=(*(arm for model in MODELS for arm in arms(model)), LONG_RUN),
    sets={"ablation": ("dapo", "top10", "top20", "top50", "top100", "bottom80"), "entropy": ("base", "dapo", "top20")},
    protocol="forking_tokens",
    trainer=code("veRL", "github.com/Shenzhi-Wang/Beyond-the-80-20-Rule-RLVR at 6f5dda6, a copy of veRL"),
    seeds=assumed(1, "not stated; the table has one number for each cell and no spread"),
    departures=(
        "A micro-batch holds as many consecutive sequences as fit into 180,224 response tokens. The authors' code cuts "
        "each GPU group's sequences into forward passes of about equal length, prompts included. Other sequences "
        "therefore share a threshold there.",
        "The kept share is an interpolated quantile: 1 + floor(rho (n - 1)) of n tokens. The authors' code keeps "
        "ceil(rho n) and breaks ties. Ours keeps all tokens that tie.",
        "Qwen3-32B-Base is not public. The 32b arms start from the post-trained Qwen3-32B, and no claim is decided by "
        "them.",
        "The loss divides by the kept tokens of the whole optimiser step. veRL averages each micro-batch, then the "
        "micro-batches.",
        "Entropies come from the policy at the start of an optimiser step.",
        "The ablations (10, 50, 100 %, lowest 80 %) are declared for all three models. The paper reports them for "
        "some.",
        "Before 137d8d1e (29 November 2025) the authors' code computes DAPO with the script of 14B, and "
        "top20_as_released does so too. Their README says that the paper's own runs were not affected.",
        "top20_29k trains from the base model with the longer limit. The paper's run of 29,696 tokens (32B, AIME24 "
        "68.12) continues its shorter run. To do this, set base_model=FOLDER to the checkpoint of top20.",
    ),
    claims=CLAIMS,
    doubts=(
        "Table 2's accuracies of AIME24, AIME25 and AMC23 are multiples of 1/480 and 1/640, as 16 samples of 30 and 40 "
        "problems must be. The table prints no spread. The gains on 8B (1.25 and 0.83 points) are 6 and 4 of 480 "
        "answers.",
    ),
    scales={"tiny": {**dapo.TINY, "forking_tokens.micro_batch_tokens": None}},  # the update is one forward pass
)

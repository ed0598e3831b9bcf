"""Beyond the 80/20 Rule (arXiv 2506.01939) as data: what was trained, on what, with which values and sources."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from baselines import dapo
from baselines.overlong import overlong
from harness.spec import Arm, Claim, Experiment, Method, Reproduction, Sourced, assumed, code, paper, use
from reproductions.forking_tokens.method import forking_tokens

PAGE = "arXiv 2506.01939, v2"  # the settings are not in our text, which is a page about the paper
CODE = "the authors' code"
AS_DAPO = "not found; the paper builds on DAPO, arXiv 2503.14476: "

DAPO = replace(
    dapo.METHOD,
    aggregation=code("token_mean", PAGE + ": on DAPO, whose Eq. 8 is the sum over all tokens by their number"),
    rewards=(
        use(
            overlong,
            max_length=code(20480, PAGE),
            buffer=code(4096, PAGE + ": overlong cache"),
            penalty=assumed(1.0, AS_DAPO + "Eq. 13"),
        ),
    ),
)

EXPERIMENT = replace(
    dapo.EXPERIMENT,
    base_model=paper("Qwen/Qwen3-8B-Base", "abstract"),
    dataset=code("BytedTsinghua-SIA/DAPO-Math-17k", PAGE + "; the released code trains on another set, of 54.4k"),
    dataset_rows=code(17000, PAGE),
    prompt=code("forking_tokens", PAGE),
    rewards=assumed(("signed_accuracy",), AS_DAPO + "Eq. 7"),
    method=DAPO,
    dynamic_sampling=code(True, PAGE + ": on DAPO"),
    prompts_per_rollout=code(512, PAGE),
    group_size=code(16, PAGE),
    rollout_temperature=assumed(1.0, AS_DAPO + "its script"),
    rollout_top_p=assumed(1.0, AS_DAPO + "its script"),
    max_prompt_tokens=assumed(2048, AS_DAPO + "its script"),
    max_completion_tokens=code(20480, PAGE),
    critic=code(False, PAGE + ": on DAPO"),
    updates_per_rollout=code(16, PAGE + ": 512 prompts in mini-batches of 32"),
    learning_rate=code(1e-6, PAGE),
    lr_schedule=assumed("constant", AS_DAPO + "section 4.1"),
    warmup_ratio=assumed(0.064, AS_DAPO + "20 rollout steps of warm-up, that is 320 of about 5,000 updates"),
    weight_decay=assumed(0.1, AS_DAPO + "its script"),
    max_grad_norm=assumed(1.0, AS_DAPO + "its script"),
    clip_low=code(0.2, PAGE),
    clip_high=code(0.28, PAGE),
    dual_clip=code(10.0, CODE),
    kl_beta=code(0.0, PAGE),
    entropy_coefficient=code(0.0, PAGE),
    max_steps=assumed(5000, AS_DAPO + "about 5,000 updates"),
)


def gated(rho: Sourced[float], keep: Literal["top", "bottom"]) -> Method:
    """DAPO whose policy gradient is left to a share of the tokens."""
    return replace(
        DAPO,
        gates=(
            use(
                forking_tokens,
                rho=rho,
                keep=paper(keep, "abstract"),
                scope=code("micro_batch", PAGE + " and code: the tokens of a batch or micro-batch of the update"),
            ),
        ),
        denominator=code("kept", PAGE + " and code; the first version divides by all tokens"),
    )


SHARES = {
    "top10": ("DAPO w/ top 10 % tokens", gated(code(0.1, PAGE + ": ablation"), "top")),
    "top20": ("DAPO w/ forking tokens", gated(paper(0.2, "abstract: 20 % of the tokens"), "top")),
    "top50": ("DAPO w/ top 50 % tokens", gated(code(0.5, PAGE + ": ablation"), "top")),
    "top100": ("DAPO w/ top 100 % tokens", gated(code(1.0, PAGE + ": ablation"), "top")),
    "bottom80": ("DAPO w/ lowest 80 % tokens", gated(paper(0.8, "abstract: the 80 % of lowest entropy"), "bottom")),
}

MODELS = {
    "8b": paper("Qwen/Qwen3-8B-Base", "abstract"),
    "14b": paper("Qwen/Qwen3-14B-Base", "abstract"),
    "32b": paper("Qwen/Qwen3-32B", "abstract; its base checkpoint is not public, so this is the post-trained one"),
}


def arms(model: str) -> tuple[Arm, ...]:
    """DAPO and its restrictions on one base model."""
    own: Experiment = replace(EXPERIMENT, base_model=MODELS[model])
    shares = (Arm(key, model, title, replace(own, method=method)) for key, (title, method) in SHARES.items())
    return (Arm("dapo", model, "DAPO", own), *shares)


REPRODUCTION = Reproduction(
    key="forking_tokens",
    title="Beyond the 80/20 Rule: High-Entropy Minority Tokens Drive Effective RL for LLM Reasoning",
    arxiv="2506.01939",
    models=MODELS,
    arms=tuple(arm for model in MODELS for arm in arms(model)),
    protocol="forking_tokens",
    seeds=assumed(1, "not stated; the table has one number for each cell and no spread"),
    departures=(
        "The threshold of a micro-batch is taken over that forward pass on all processes; the authors' code takes it "
        "on each GPU apart, where the machine decides what it sees. hardware.micro_batch or scope=update fixes it.",
        "The loss divides by the kept tokens of the whole optimiser step; veRL averages each micro-batch, then these.",
        "Entropies are those of the policy at the start of an optimiser step.",
        "The ablations (10, 50, 100 %, lowest 80 %) are declared for all three models; the paper has them for some.",
        "The 29,696-token continuation of the 32B run (AIME24 68.12) is not an arm: it starts from a trained model.",
    ),
    claims=(
        Claim(
            "At 8B, training on the 20 % of tokens with the highest entropy is no worse than training on all.",
            "abstract; section 5, table 2",
            arm="top20",
            than="dapo",
            direction="not lower",
            margin=0.01,  # ours: the claim is "comparable"; the paper gives no number
            models=("8b",),
        ),
        Claim(
            "At 14B and 32B it is better on AIME24 and AIME25.",
            "abstract; section 5, table 2",
            arm="top20",
            than="dapo",
            models=("14b", "32b"),
            benchmarks=("aime24", "aime25"),
        ),
        Claim(
            "It makes responses longer.",
            "section 5, table 2",
            arm="top20",
            than="dapo",
            metric="mean_tokens",
        ),
        Claim(
            "Training on the 80 % of tokens with the lowest entropy is worse.",
            "abstract; section 5",
            arm="bottom80",
            than="dapo",
            direction="lower",
        ),
        Claim(
            "Reinforcement learning mainly changes the entropy of the tokens that had a high one to begin with.",
            "abstract; section 4",
            undecided="a claim on tokens: the figures of entropy before and after training show it",
        ),
    ),
    doubts=(
        "Table 2's accuracies of AIME24, AIME25 and AMC23 are multiples of 1/480 and 1/640, as 16 samples of 30 and 40 "
        "problems must be. It has no spread; the gains on 8B (1.25 and 0.83 points) are 6 and 4 of 480 answers.",
    ),
    scales={"tiny": dapo.TINY},
)

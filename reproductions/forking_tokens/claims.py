"""The claims of Beyond the 80/20 Rule (arXiv 2506.01939) about its method, in our words."""

from __future__ import annotations

from harness.spec import Claim

BASES = ("8b", "14b")  # Qwen3-32B-Base is not public, and runs from Qwen3-32B decide no claim

CLAIMS = (
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
        "At 14B it is better on AIME24 and AIME25.",
        "abstract; section 5, table 2",
        arm="top20",
        than="dapo",
        models=("14b",),
        benchmarks=("aime24", "aime25"),
    ),
    Claim(
        "At 32B it is better on AIME24 and AIME25.",
        "abstract; section 5, table 2",
        undecided="the base model is not public; the 32b arms start from the post-trained Qwen3-32B",
    ),
    Claim(
        "It makes responses longer.",
        "section 5, table 2",
        arm="top20",
        than="dapo",
        metric="mean_tokens",
        models=BASES,
    ),
    Claim(
        "Training on the 80 % of tokens with the lowest entropy is worse.",
        "abstract; section 5",
        arm="bottom80",
        than="dapo",
        direction="lower",
        models=BASES,
    ),
    Claim(
        "The larger the model, the larger the gain.",
        "abstract: a strong scaling trend",
        undecided="a claim on three sizes, of which the largest has no public base model",
    ),
    Claim(
        "Few tokens have high entropy, and these are where the reasoning forks.",
        "abstract; section 3",
        undecided=(
            "a claim on tokens: rlvr analyze's figures of token entropy and of the words at forks (arms=entropy). No "
            "engine here has another temperature at forks alone"
        ),
    ),
    Claim(
        "Reinforcement learning mainly changes the entropy of the tokens that had a high one to begin with.",
        "abstract; section 4",
        undecided="a claim on tokens: rlvr analyze's figure of entropy before and after training (arms=entropy)",
    ),
)

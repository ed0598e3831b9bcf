"""The claims of Reasoning with Exploration (arXiv 2506.14758) about its method, in our words."""

from __future__ import annotations

from typing import Any

from harness.spec import Claim, Curve

SHAPED, REGULARISED = "grpo_entropy_advantage", "grpo_entropy_regularisation"
LATE, MIDDLE, EARLY = (0.8, 1.0), (0.4, 0.5), (0.0, 0.2)  # shares of the 2,000 steps: middle is 800 to 1,000
ON_7B: dict[str, Any] = {"models": ("7b",)}  # section 6 is about Qwen2.5-Base
LENGTH, ENTROPY = "train/response_length", "train/entropy"


def falls(arm: str, metric: str, text: str, where: str, start: tuple[float, float] = EARLY) -> Claim:
    """A curve of one arm that is lower at the end than before."""
    curve = Curve(metric, window=LATE, than_window=start)
    return Claim(text, where, arm=arm, than=arm, direction="lower", curve=curve, **ON_7B)


CLAIMS = (
    Claim(
        "The entropy advantage on GRPO scores higher than GRPO.",
        "section 5, table 2",
        arm=SHAPED,
        than="grpo",
    ),
    Claim(
        "The entropy advantage on PPO scores higher than PPO.",
        "section 5, table 2",
        arm="ppo_entropy_advantage",
        than="ppo",
    ),
    Claim(
        "It has a higher pass@k at large k than GRPO, in most settings.",
        "section 5, table 2 (AIME24 of Qwen2.5-Math goes the other way) and figure 5",
        arm=SHAPED,
        than="grpo",
        metric="pass",
        over="most",
    ),
    Claim(
        "On PPO, too, its pass@k at large k is higher.",
        "section 5, table 2",
        arm="ppo_entropy_advantage",
        than="ppo",
        metric="pass",
    ),
    Claim(
        "On AIME25 its pass@k at large k is above the base model's.",
        "section 5, table 2",
        arm=SHAPED,
        than="base",
        metric="pass",
        benchmarks=("aime25",),
    ),
    Claim(
        "At large k the base model's pass@k is above GRPO's.",
        "section 5, second paragraph (AIME24, AMC23, MATH500: it can be); table 2",
        arm="grpo",
        than="base",
        direction="lower",
        metric="pass",
        benchmarks=("aime24", "amc23_83", "math500"),
        over="most",
        **ON_7B,
    ),
    Claim(
        "An entropy term in the loss scores lower than the entropy advantage.",
        "section 6.1, table 3 (AIME24's average goes the other way: see the doubts)",
        arm=REGULARISED,
        than=SHAPED,
        direction="lower",
        metrics=("avg", "pass"),
        over="most",
        **ON_7B,
    ),
    Claim(
        "On the benchmarks it makes responses longer than GRPO does.",
        "section 6.2, figure 8, right",
        arm=SHAPED,
        than="grpo",
        metric="mean_tokens",
    ),
    Claim(
        "Late in training its reward is slightly above GRPO's.",
        "section 6.1, training reward",
        arm=SHAPED,
        than="grpo",
        curve=Curve("train/reward", window=LATE),
        **ON_7B,
    ),
    Claim(
        "Late in training its reward is slightly above that of entropy regularisation.",
        "section 6.1, training reward (over both others)",
        arm=SHAPED,
        than=REGULARISED,
        curve=Curve("train/reward", window=LATE),
        **ON_7B,
    ),
    falls("grpo", LENGTH, "GRPO's responses get shorter after step 1,000.", "section 6.1, response length", MIDDLE),
    Claim(
        "With the entropy advantage they get longer beyond step 1,000.",
        "section 6.1, response length",
        arm=SHAPED,
        than=SHAPED,
        curve=Curve(LENGTH, window=LATE, than_window=MIDDLE),
        **ON_7B,
    ),
    Claim(
        "Late in training its responses are longer than GRPO's.",
        "section 6.1, response length",
        arm=SHAPED,
        than="grpo",
        curve=Curve(LENGTH, window=LATE),
        **ON_7B,
    ),
    Claim(
        "Late in training its responses are longer than those of entropy regularisation.",
        "section 6.1, response length",
        arm=SHAPED,
        than=REGULARISED,
        curve=Curve(LENGTH, window=LATE),
        **ON_7B,
    ),
    falls("grpo", ENTROPY, "GRPO's entropy falls during training.", "section 6.1, entropy (0.34 at step 2,000)"),
    falls(SHAPED, ENTROPY, "So does that of the entropy advantage.", "section 6.1, entropy (0.17 at step 2,000)"),
    Claim(
        "Late in training the entropy with the entropy advantage is below GRPO's.",
        "section 6.1, entropy: 0.17 and 0.34 at step 2,000",
        arm=SHAPED,
        than="grpo",
        direction="lower",
        curve=Curve(ENTROPY, window=LATE),
        **ON_7B,
    ),
    Claim(
        "Without clip-higher, GRPO's entropy collapses.",
        "section 6.1, entropy: 0.03 against 0.34",
        arm="grpo_symmetric_clip",
        than="grpo",
        direction="lower",
        curve=Curve(ENTROPY, window=LATE),
        **ON_7B,
    ),
    Claim(
        "An entropy term in the loss raises the entropy.",
        "section 6.1, below table 3",
        arm=REGULARISED,
        than="grpo",
        curve=Curve(ENTROPY, window=LATE),
        **ON_7B,
    ),
    falls(
        SHAPED,
        "train/shaping_ratio",
        "The entropy-based term shrinks relative to the advantage during training.",
        "section 6.1, entropy-based advantage; figure 7",
    ),
    Claim(
        "Pivotal tokens, reflective sentences and rare behaviour have higher entropy than the rest.",
        "section 2, figures 2 and 3; appendix A",
        undecided="a claim on tokens: rlvr analyze's figures of pivotal and reflective words, with intervals",
    ),
    Claim(
        "With the entropy advantage, pivotal tokens and reflective sentences are more frequent and less uncertain.",
        "section 6.2, figure 8",
        undecided="a claim on tokens: the same figures, of two runs",
    ),
    Claim(
        "Responses get longer without more repetition.",
        "section 6.2, figure 8, right",
        undecided="a claim on n-grams: rlvr analyze's figure of repetition, with intervals",
    ),
)

"""The claims of EGSW (arXiv 2503.22456) about its method, in our words."""

from __future__ import annotations

from harness.spec import Claim, Curve

MATHEMATICS = ("math500", "aime24", "aime25")
LATE = (0.8, 1.0)
NO_GAIN = 0.01  # ours: the largest gain that counts as none is one point
INSTRUCT = ("math-7b-instruct",)

CLAIMS = (
    Claim(
        "On Qwen2.5-Math-7B, EGSW scores higher than GRPO on all four benchmarks.",
        "section 5, table 1",
        arm="egsw",
        than="grpo",
        models=("math-7b",),
    ),
    Claim(
        "On Qwen2.5-Math-7B-Instruct, EGSW scores higher than GRPO on the three mathematics benchmarks.",
        "section 5, table 2 (GPQA Diamond goes the other way)",
        arm="egsw",
        than="grpo",
        models=INSTRUCT,
        benchmarks=MATHEMATICS,
    ),
    Claim(
        "GRPO alone does not improve Qwen2.5-Math-7B-Instruct.",
        "section 5, below figure 4",
        arm="grpo",
        than="base",
        direction="not higher",
        margin=NO_GAIN,
        over="average",
        models=INSTRUCT,
    ),
    Claim(
        "EGSW does improve it, on the three mathematics benchmarks.",
        "section 5, below figure 4; table 2",
        arm="egsw",
        than="base",
        models=INSTRUCT,
        benchmarks=MATHEMATICS,
    ),
    Claim(
        "EGSW generates fewer tokens than GRPO.",
        "section 5, figures 2 and 4 (in training; compared here on the benchmarks)",
        arm="egsw",
        than="grpo",
        direction="lower",
        metric="mean_tokens",
    ),
    Claim(
        "During training, EGSW's reward is above GRPO's.",
        "section 5, figures 1 and 3",
        arm="egsw",
        than="grpo",
        curve=Curve("train/reward"),
    ),
    Claim(
        "Late in training, EGSW's responses are shorter than GRPO's.",
        "section 5, figures 2 and 4",
        arm="egsw",
        than="grpo",
        direction="lower",
        curve=Curve("train/response_length", window=LATE),
    ),
    Claim(
        "With raw entropy, too, the training reward is above GRPO's.",
        "section 5, the second paragraph above table 2 (higher rewards with raw entropy)",
        arm="egsw_raw_0.30",
        than="grpo",
        curve=Curve("train/reward"),
    ),
    Claim(
        "Normalised entropy scores higher than raw entropy.",
        "section 5, the third paragraph above table 2: the best performance, for both base models, was with it",
        arm="egsw",
        than="egsw_raw_0.30",
        over="average",
    ),
    Claim(
        "Too large an alpha lowers the scores.",
        "section 5, the second paragraph above table 2 (without numbers; compared here: the upper end of its search "
        "and the middle of it)",
        arm="egsw_raw_0.50",
        than="egsw_raw_0.30",
        direction="lower",
        over="average",
    ),
    Claim(
        "EGSW's gradient norm is below GRPO's.",
        "section 5, the last paragraph (the weights reduce it)",
        arm="egsw",
        than="grpo",
        direction="lower",
        curve=Curve("train/grad_norm"),
    ),
    Claim(
        "EGSW improves sample efficiency.",
        "abstract",
        undecided="the paper gives no measure of it: figures 1 and 3 (rlvr analyze, accuracy over steps) come nearest",
    ),
)

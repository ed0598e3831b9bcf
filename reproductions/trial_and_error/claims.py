"""The claims of From Trial-and-Error to Improvement (arXiv 2508.07534), in our words, most important first."""

from __future__ import annotations

from typing import Any

from harness.spec import Claim, Curve

ON_7B: dict[str, Any] = {"models": ("7b",)}
DISTILL, SKYWORK, ZOO = ("r1-distill-7b",), ("skywork-or1-math-7b",), "32b-simplerl-zoo"
PLATEAU = (0.6, 1.0)
ENTROPY = "train/entropy"

SHAPING = (
    Claim(
        "GRPO+PPL (responses of low perplexity weigh more) scores higher than GRPO on average.",
        "section 4.4.2, table 4: 1.51 and 2.31 points, over both methods",
        arm="grpo_ppl",
        than="grpo",
        metrics=("avg", "maj"),
        over="average",
    ),
    Claim(
        "GRPO+POSITION (a bonus for late tokens in the plateau stage) scores higher than GRPO on average.",
        "section 4.4.2, table 4",
        arm="grpo_position",
        than="grpo",
        metrics=("avg", "maj"),
        over="average",
    ),
    Claim(
        "GRPO+PPL has a higher average pass@k than GRPO.",
        "appendix A.2, table 6",
        arm="grpo_ppl",
        than="grpo",
        metric="pass",
        over="average",
    ),
    Claim(
        "GRPO+POSITION has a higher average pass@k than GRPO.",
        "appendix A.2, table 6",
        arm="grpo_position",
        than="grpo",
        metric="pass",
        over="average",
    ),
    Claim(
        "More weight on responses of low perplexity does better than more weight on those of high perplexity.",
        "section 3.2.3, figure 5(c)",
        arm="grpo_ppl",
        than="grpo_ppl_high",
        over="average",
    ),
    Claim(
        "More weight on responses of high perplexity raises the entropy.",
        "section 3.2.3, figure 5(d)",
        arm="grpo_ppl_high",
        than="grpo_ppl",
        curve=Curve(ENTROPY, window=PLATEAU),
    ),
    Claim(
        "A bonus for late tokens does better than one for early tokens.",
        "section 3.2.4, figure 6(c)",
        arm="grpo_position_late",
        than="grpo_position_early",
        over="average",
    ),
    Claim(
        "A bonus for late tokens does better than none.",
        "section 3.2.4, figure 6(c)",
        arm="grpo_position_late",
        than="grpo",
        over="average",
    ),
    Claim(
        "A bonus for late tokens gives longer responses than one for early tokens.",
        "section 3.2.4: 1,146 against 904 tokens",
        arm="grpo_position_late",
        than="grpo_position_early",
        metric="mean_tokens",
    ),
    *(
        Claim(
            f"A bonus for {where} tokens raises the entropy.",
            "section 3.2.4, figure 6(d): in either direction",
            arm=f"grpo_position_{where}",
            than="grpo",
            curve=Curve(ENTROPY, window=PLATEAU),
        )
        for where in ("late", "early")
    ),
    *(
        Claim(
            f"{title} makes responses longer.",
            "section 4.4.2, table 5",
            arm=arm,
            than="grpo",
            metric="mean_tokens",
            **ON_7B,
        )
        for arm, title in (("grpo_ppl", "GRPO+PPL"), ("grpo_position", "GRPO+POSITION"))
    ),
    *(
        Claim(
            f"{title} keeps a higher entropy than GRPO late in the plateau stage.",
            "section 4.4.2, entropy dynamics; figure 8",
            arm=arm,
            than="grpo",
            curve=Curve(ENTROPY, window=(0.8, 1.0)),
            **ON_7B,
        )
        for arm, title in (("grpo_ppl", "GRPO+PPL"), ("grpo_position", "GRPO+POSITION"))
    ),
)
REJECTION = (
    Claim(
        "In rejection-sampling fine-tuning, 5 % of incorrect samples raise pass@k.",
        "section 4.4.1, table 3",
        arm="rft_noise",
        than="rft",
        metric="pass",
        over="average",
    ),
    Claim(
        "They change the average accuracy little.",
        "section 4.4.1: minimal impact on Pass@1; table 3",
        arm="rft_noise",
        than="rft",
        direction="equal",
        margin=0.02,  # ours: table 3 has -1.67 and +1.07 points
        over="average",
    ),
    Claim(
        "Selecting samples of high entropy raises pass@k.",
        "section 4.4.1, table 3",
        arm="rft_entropy",
        than="rft",
        metric="pass",
    ),
    Claim(
        "Selecting samples of a high rollout branching factor raises pass@k.",
        "section 4.4.1, table 3",
        arm="rft_rbf",
        than="rft",
        metric="pass",
    ),
    Claim(
        "The final arm's pass@k is above Qwen-2.5-32B-SimpleRL-Zoo's on all benchmarks.",
        "section 4.4.1, table 3",
        arm="rft_noise_rbf",
        than="base",
        than_model=ZOO,
        models=("32b",),
        metric="pass",
    ),
    Claim(
        "Its accuracy stays near that of SimpleRL-Zoo.",
        "section 4.4.1: competitive; table 3",
        arm="rft_noise_rbf",
        than="base",
        than_model=ZOO,
        models=("32b",),
        direction="not lower",
        margin=0.05,  # ours: table 3 has up to 4.2 points less
        over="average",
    ),
)
BOUNDARY = (
    Claim(
        "Supervised fine-tuning (DeepSeek-R1-Distill) expands pass@k over the base model.",
        "section 2.4, figure 1(a)",
        arm="base",
        than="base_boundary",
        than_model="math-7b",
        models=DISTILL,
        metric="pass",
    ),
    Claim(
        "Reinforcement learning (Skywork-OR1) does not improve pass@k over it.",
        "section 2.4, figure 1(a)",
        arm="base",
        than="base",
        than_model=DISTILL[0],
        models=SKYWORK,
        direction="not higher",
        margin=0.01,  # ours
        metric="pass",
    ),
    Claim(
        "But it raises the accuracy of single responses.",
        "section 2.4: sharpens Pass@1",
        arm="base",
        than="base",
        than_model=DISTILL[0],
        models=SKYWORK,
    ),
    Claim(
        "And it leaves more problems unsolved than the model it started from.",
        "section 2.4, figure 1(c)",
        arm="base",
        than="base",
        than_model=DISTILL[0],
        models=SKYWORK,
        metric="unsolvable",
    ),
    Claim(
        "Training shifts what can be solved both ways: no model's unsolvable problems hold another's.",
        "section 2.4, figure 1(c)",
        undecided=(
            "which problems two public models fail, so no arm of ours and no training seeds: rlvr analyze's figure of "
            "unsolvable problems (arms=figure1) counts them, and a set at n=640 depends on the luck of few samples"
        ),
    ),
    Claim(
        "Supervised fine-tuning and reinforcement learning reduce the diversity of answers, the latter much more.",
        "section 2.4, figure 1(b)",
        undecided=(
            "public checkpoints of one training each, so no training seeds: rlvr analyze's figure of answer diversity "
            "(arms=figure1) has each model's number of distinct answers over k"
        ),
    ),
    Claim(
        "Supervised fine-tuning raises the rollout branching factor, reinforcement learning does not.",
        "section 2.4, figure 1(d)",
        undecided=(
            "public checkpoints of one training each, so no training seeds: rlvr analyze's figure of branching factors "
            "(arms=figure1) has each with an interval over problems"
        ),
    ),
    Claim(
        "Code that is run raises pass@k; at large k reinforcement learning loses its lead.",
        "section 2.5, figure 2",
        undecided=(
            "not covered: RL_code is no arm (see the departures), and no engine here runs the code of a response"
        ),
    ),
)
TOKENS = (
    Claim(
        "Incorrect responses have a higher entropy than correct ones.",
        "section 3.2.2, figure 3(c): consistently",
        arm="grpo",
        than="grpo",
        curve=Curve("train/entropy_negative", than_metric="train/entropy_positive"),
    ),
    Claim(
        "In the rising stage the entropy of incorrect responses falls faster, so that the gap closes.",
        "section 3.2.2, figure 3(c); the stage ends where PLATEAU begins, and its first and last sixth are compared",
        arm="grpo",
        than="grpo",
        direction="lower",
        curve=Curve("train/entropy_negative", window=(0.5, 0.6), than_window=(0.0, 0.1), less="train/entropy_positive"),
    ),
    Claim(
        "Defects of responses (format, garbling, mixed languages) get fewer in the rising stage.",
        "section 3.2.2, figure 3(d)",
        undecided=(
            "shares of responses at checkpoints, for irrelevant ones judged by Qwen2.5-32B-Instruct: no curve "
            "that a training logs. Run with eval.every=..., then rlvr analyze's figure of response quality "
            "counts them"
        ),
    ),
    Claim(
        "In the rising stage tokens without use for the task lose most entropy; tokens of reasoning get more frequent.",
        "section 3.2.2, figure 3(b): digits, signs and variables against fragments of other languages",
        undecided=(
            "examples from one training, with no rule that says which tokens have no use: rlvr analyze of two "
            "checkpoints says how many tokens of each category there are"
        ),
    ),
    Claim(
        "In the plateau stage few tokens change, those of high entropy and of formal reasoning most.",
        "section 3.2.2, figure 4; over 99 % of tokens by less than 0.06, and shares of 0.039 (formal reasoning), 0.034 "
        "(metacognitive), 0.033 (general semantic) and 0.031 (logical structuring) among the top 20 %",
        undecided=(
            "shares of tokens of one pair of checkpoints, in categories of which table 1 gives examples only: no "
            "training seeds. rlvr analyze of two checkpoints has the figures of probability change and update "
            "size; the shares by category are in no figure, because our word lists leave most tokens without one"
        ),
    ),
    Claim(
        "More weight on responses of high perplexity raises the share of defective responses.",
        "section 3.2.3: about 7 %, against about 3 % with more weight on those of low perplexity",
        undecided=(
            "the paper does not say which defects, on which test set and at which step: rlvr analyze's figure of "
            "response quality of two runs (grpo_ppl_high, grpo_ppl) has the shares, with intervals over problems"
        ),
    ),
    Claim(
        "Tokens of low-perplexity responses change most, and replacing them matters least.",
        "section 3.2.3, figure 5(a) and (b)",
        undecided=(
            "ranks of tokens within one model, no comparison of trainings: rlvr analyze's figures of probability "
            "change and of impact (only=interventions) have intervals over problems, and no training seeds"
        ),
    ),
    Claim(
        "Entropy over a response is U-shaped; early tokens of high entropy matter more than late ones.",
        "section 3.2.4, figure 6(a) and (b)",
        undecided=(
            "a shape within one model's responses, no comparison of trainings: rlvr analyze's figures of entropy and "
            "of impact by position (only=interventions) have intervals over problems, and no training seeds"
        ),
    ),
    Claim(
        "Late tokens have a higher entropy in incorrect responses than in correct ones.",
        "section 3.2.4, the second finding",
        undecided=(
            "a comparison within one model's responses, and the paper does not say which tokens are late: rlvr "
            "analyze's figure of entropy by position (only=tokens) has both outcomes, with intervals over problems"
        ),
    ),
    Claim(
        "GRPO+PPL and GRPO+POSITION use more tokens of formal reasoning and of logical structuring than GRPO.",
        "section 4.4.2, table 5: 1,007 and 608 against 501, and 45 and 38 against 26",
        undecided=(
            "counts in categories of which table 1 gives examples only, so no metric of ours: rlvr analyze's figure "
            "of token categories (only=words) of the runs counts them by our word lists"
        ),
    ),
)
OUTSIDE = (
    Claim(
        "GRPO+PPL and GRPO+POSITION score higher than GRPO outside mathematics (GPQA, HumanEval).",
        "section 4.4.2; appendix A.2, table 6 (four of eight cells, one is equal)",
        undecided=(
            "about two benchmarks that only the paper scale has: there `rlvr compare` of the arms' pass@8 and pass@4 "
            "decides it"
        ),
    ),
    Claim(
        "All three methods struggle to surpass the base model outside mathematics.",
        "appendix A.2, table 6: true of GPQA in six of six cells, of HumanEval in two of six",
        undecided=(
            "about two benchmarks that only the paper scale has: there `rlvr compare` with the base model's pass@8 and "
            "pass@4 decides it"
        ),
    ),
)
CLAIMS = (*SHAPING, *REJECTION, *BOUNDARY, *TOKENS, *OUTSIDE)

"""The claims of ERPO (arXiv 2603.28204) about its method, in our words."""

from __future__ import annotations

from harness.spec import Claim, Curve

LATE, EARLY = (0.8, 1.0), (0.0, 0.2)
AMC = ("amc23",)
SHORT = " (both cut at 2,048 tokens: see the doubts)"

CLAIMS = (
    Claim(
        "At each model size, ERPO's average accuracy is above GRPO's.",
        "section 5.3: across all average metrics; table 1",
        arm="erpo",
        than="grpo",
        over="average",
    ),
    Claim(
        "ERPO is more accurate than GRPO on AMC 23 at 3B.",
        "section 5.3: nearly 5 %; table 1",
        arm="erpo",
        than="grpo",
        models=("qwen2.5-3b",),
        benchmarks=AMC,
    ),
    Claim(
        "More of ERPO's responses hold a boxed answer than GRPO's, on all benchmarks.",
        "section 5.3, table 1 (Fmt)",
        arm="erpo",
        than="grpo",
        metric="fmt",
    ),
    Claim(
        "ERPO's pass@k is above GRPO's in most settings.",
        "section 5.4, table 2",
        arm="erpo",
        than="grpo",
        metric="pass",
        ks=(2, 4, 8, 16),
        over="most",
    ),
    *(
        Claim(
            f"ERPO at 7B has a higher pass@k than {title} on AMC 23, at each k" + SHORT + ".",
            "section 5.4: completely surpasses; table 2",
            arm="erpo",
            than="base",
            than_model=model,
            models=("qwen2.5-7b",),
            benchmarks=AMC,
            metric="pass",
            ks=(2, 4, 8, 16),
        )
        for model, title in (("deepseek-r1-0528", "DeepSeek-R1-0528"), ("qwen3-235b-instruct", "Qwen3-235B-Instruct"))
    ),
    Claim(
        "At 3B it partly has.",
        "section 5.4, table 2: above both at k = 4 to 16, above DeepSeek-R1-0528 alone at k = 2",
        undecided="partly is no threshold: `rlvr compare` of the runs has the difference at each k, with intervals",
    ),
    Claim(
        "The number of solved problems grows more with k for models trained with reinforcement learning.",
        "section 5.4, table 2",
        undecided=(
            "a difference between slopes over k, of which the paper names neither the k nor a measure: the figure of "
            "pass@k (rlvr analyze, only=verdicts) has each curve with its interval"
        ),
    ),
    Claim(
        "ERPO is more accurate than supervised fine-tuning on the same problems.",
        "section 6; table 1",
        arm="erpo",
        than="sft",
        over="average",
    ),
    Claim(
        "Supervised fine-tuning makes some models worse than their base model.",
        "section 5.3, second paragraph; table 1 (3B and 7B)",
        arm="sft",
        than="base",
        direction="lower",
        models=("qwen2.5-3b", "qwen2.5-7b"),
        over="average",
    ),
    Claim(
        "ERPO at 7B is above DeepSeek-R1-0528 on AMC 23" + SHORT + ".",
        "section 5.3, table 1",
        arm="erpo",
        than="base",
        than_model="deepseek-r1-0528",
        models=("qwen2.5-7b",),
        benchmarks=AMC,
    ),
    Claim(
        "ERPO at 7B is above Qwen3-235B-Instruct on AMC 23" + SHORT + ".",
        "section 5.3, table 1",
        arm="erpo",
        than="base",
        than_model="qwen3-235b-instruct",
        models=("qwen2.5-7b",),
        benchmarks=AMC,
    ),
    Claim(
        "At 7B, ERPO's responses are shorter than GRPO's.",
        "section 5.7, figure 5(a) (at the best checkpoints; here at the last)",
        arm="erpo",
        than="grpo",
        direction="lower",
        metric="mean_tokens",
        models=("qwen2.5-7b",),
    ),
    Claim(
        "Late in training, GRPO's entropy has collapsed.",
        "section 5.6, figure 4(b)",
        arm="grpo",
        than="grpo",
        direction="lower",
        curve=Curve("train/entropy", window=LATE, than_window=EARLY),
    ),
    Claim(
        "Late in training, ERPO's entropy is above GRPO's.",
        "section 5.6: 0.2 to 0.4; figure 4(b): 0.4 against 0.05",
        arm="erpo",
        than="grpo",
        curve=Curve("train/entropy", window=LATE),
    ),
    Claim(
        "ERPO's reward starts below GRPO's.",
        "section 5.6, figure 4(a)",
        arm="erpo",
        than="grpo",
        direction="lower",
        curve=Curve("train/reward", window=EARLY),
    ),
    Claim(
        "ERPO's reward ends above GRPO's.",
        "section 5.6, figure 4(a)",
        arm="erpo",
        than="grpo",
        curve=Curve("train/reward", window=LATE),
    ),
    Claim(
        "ERPO's KL divergence from the reference is above GRPO's.",
        "section 5.6, figure 4(d)",
        arm="erpo",
        than="grpo",
        curve=Curve("train/kl"),
    ),
    Claim(
        "ERPO's gradient norm stays stable.",
        "section 5.6, figure 4(c)",
        undecided="the paper gives no measure of stable: train/grad_norm of the runs has the curve",
    ),
    Claim(
        "ERPO's KL divergence has no sharp spikes, and GRPO's has some.",
        "section 5.6, figure 4(d)",
        undecided="the paper does not say how high a spike is: train/kl of the runs has both curves",
    ),
    Claim(
        "Perturbing the 5 % of tokens with the highest entropy lowers accuracy by 35.2 %; the lowest 5 %, hardly.",
        "section 1 (2,460 samples of MATH) and figure 1(b)",
        undecided=(
            "about one untrained model, so no training seeds and no second arm; and what was perturbed is not "
            "told: section 1 says 2,460 samples of MATH, figure 1(b) 50 questions of AMC23 (which has 40) "
            "answered correctly for sure. rlvr analyze ... only=interventions perturbs either 5 % and gives "
            "accuracies with intervals over problems"
        ),
    ),
    Claim(
        "On 3B and 7B ERPO converges faster; on 1.5B it is below GRPO first and above it late.",
        "section 5.5, figure 3",
        undecided=(
            "a claim on benchmarks during training: run with eval.every=25 and read the figure of accuracy over steps"
        ),
    ),
    Claim(
        "ERPO trains in about GRPO's time.",
        "section 5.7, figure 5(b)",
        undecided="a claim on a machine: each run records its seconds",
    ),
)

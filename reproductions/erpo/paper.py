"""ERPO (arXiv 2603.28204) as data: what was trained, on what data, with which values, and each value's source."""

from __future__ import annotations

from dataclasses import replace

from baselines.grpo import grpo
from harness.spec import Arm, Experiment, Finetune, Method, Reproduction, Sourced, assumed, paper, use
from harness.spec.declarations import Precision
from reproductions.erpo.claims import CLAIMS
from reproductions.erpo.method import erpo

NOT_STATED = "not stated; "
TRL = NOT_STATED + "TRL's default, and the paper trains with TRL (section 5.1)"
TABLE_3 = "table 3"
LIKE_RL = NOT_STATED + "as in table 3, which is for GRPO and ERPO"

GRPO = Method(
    advantage=use(
        grpo,
        std=assumed("sample", "Eq. 3 does not say which; TRL, which the paper uses, divides by n - 1"),
        epsilon=assumed(1e-4, "Eq. 3 has a small delta without a value; TRL adds 1e-4"),
    ),
    aggregation=paper("token_mean", "Eq. 5: the sum over all tokens by their number"),
)
ERPO = replace(
    GRPO,
    shaping=(
        use(
            erpo,
            beta_p=paper(0.1, "section 5.1, beta_progress"),
            gamma=paper(5.0, "section 5.1"),
            eta=paper(0.2, "section 5.1"),
            buckets=assumed(10, "K is not stated; tenths of a response leave enough tokens of 8 responses in each"),
            sigma_target=assumed(
                1.0, "not stated; the standard deviation of A, so that eta alone weighs Psi against it"
            ),
            delta=assumed(1e-4, "not stated; one delta serves Eq. 3 and 8 to 10, and TRL has 1e-4 in Eq. 3"),
            std=assumed("sample", "not stated; as in Eq. 3, and what torch computes by default"),
        ),
    ),
)

DATASET = assumed(
    "math_erpo",
    "appendix A.3: MATH, levels 3 to 5, without long solutions, 8,441 problems; the rows are not published. These are "
    "the 8,441 with the shortest solutions of both splits, because the train split has too few (see the doubts)",
)
ROWS = paper(8441, "appendix A.3")
PROMPT = assumed("boxed_suffix", NOT_STATED + "the prompt of the evaluation, which asks for the box that Fmt counts")
LORA_RANK: Sourced[int | None] = paper(32, "section 5.1")
LORA_ALPHA = paper(64.0, "section 5.1")
LORA_DROPOUT = assumed(0.0, NOT_STATED + "peft's default")
PRECISION: Sourced[Precision] = assumed("bfloat16", NOT_STATED + "the precision of the published weights")


def reinforced(base_model: Sourced[str], method: Method) -> Experiment:
    """GRPO or ERPO on one base model. They share all other values (appendix A.2)."""
    return Experiment(
        base_model=base_model,
        dataset=DATASET,
        dataset_rows=ROWS,
        prompt=PROMPT,
        rewards=paper(("accuracy",), "appendix A.2: binary correctness"),
        reward_weights=paper((1.0,), "appendix A.2: the only reward"),
        method=method,
        dynamic_sampling=paper(False, "section 6 leaves groups of equal rewards to future work"),
        prompts_per_rollout=assumed(
            2,
            "table 3: global batch size 16, accumulation 8. TRL counts responses, so 16 / 8 generations; were these 16 "
            "prompts, a step would hold 128 responses",
        ),
        group_size=paper(8, TABLE_3 + ", generations per prompt"),
        rollout_temperature=paper(1.0, TABLE_3),
        rollout_top_p=assumed(1.0, TRL),
        max_prompt_tokens=assumed(512, NOT_STATED + "TRL's default as long as it had one"),
        max_completion_tokens=paper(
            2048,
            "section 5.1, maximum sequence length; table 3, max training length; read as the response's, as in A.3",
        ),
        critic=paper(False, "section 3: no value network"),
        updates_per_rollout=assumed(1, TRL + "; section 3, above Eq. 5, says that several updates can follow"),
        learning_rate=paper(5e-6, TABLE_3),
        lr_schedule=paper("cosine", "section 5.1"),
        warmup_ratio=paper(0.1, TABLE_3),
        weight_decay=paper(0.001, TABLE_3),
        max_grad_norm=assumed(1.0, TRL),
        clip_low=assumed(0.2, TRL + "; Eq. 5 has an epsilon without a value"),
        clip_high=assumed(0.2, TRL + "; Eq. 5 has one epsilon for both sides"),
        dual_clip=paper(None, "Eq. 5 has none"),
        kl_beta=paper(0.001, TABLE_3),
        reference_reset_every=paper(None, "section 4.1: the reference policy is frozen"),
        entropy_coefficient=paper(0.0, "Eq. 5 has no such term"),
        entropy_target=paper(None, "Eq. 5 has no such term"),
        epochs=paper(1.0, TABLE_3),
        max_steps=paper(None, "section 5.1: a single epoch"),
        precision=PRECISION,
        lora_rank=LORA_RANK,
        lora_alpha=LORA_ALPHA,
        lora_dropout=LORA_DROPOUT,
    )


def supervised(base_model: Sourced[str]) -> Finetune:
    """The SFT baseline on one base model (section 5.2): cross-entropy on MATH's own solutions."""
    return Finetune(
        base_model=base_model,
        dataset=replace(DATASET, note="section 5.2: the same MATH training set. " + DATASET.note),
        dataset_rows=ROWS,
        prompt=PROMPT,
        batch_size=assumed(16, LIKE_RL),
        learning_rate=assumed(5e-6, LIKE_RL),
        lr_schedule=assumed("cosine", NOT_STATED + "as in section 5.1"),
        warmup_ratio=assumed(0.1, LIKE_RL),
        weight_decay=assumed(0.001, LIKE_RL),
        max_grad_norm=assumed(1.0, NOT_STATED + "TRL's default"),
        epochs=paper(3.0, "appendix A.2"),
        max_steps=paper(None, "appendix A.2: three epochs"),
        max_tokens=assumed(2048, LIKE_RL),
        too_long=assumed("drop", "no effect: all solutions are much shorter (appendix A.3)"),
        precision=PRECISION,
        lora_rank=assumed(LORA_RANK.value, "appendix A.2 gives SFT its epochs alone; section 5.1 has this for ERPO"),
        lora_alpha=assumed(LORA_ALPHA.value, "appendix A.2 gives SFT its epochs alone; section 5.1 has this for ERPO"),
        lora_dropout=LORA_DROPOUT,
    )


def arms(size: str, base_model: Sourced[str]) -> tuple[Arm, ...]:
    """The four rows of one size in tables 1 and 2."""
    key, title = f"qwen2.5-{size.lower()}", f"Qwen2.5-{size}"
    return (
        Arm("base", key, f"{title} Base", None),
        Arm("sft", key, f"{title} SFT", supervised(base_model)),
        Arm("grpo", key, f"{title} GRPO", reinforced(base_model, GRPO)),
        Arm("erpo", key, f"{title} ERPO", reinforced(base_model, ERPO)),
    )


SIZES = {size: paper(f"Qwen/Qwen2.5-{size}", "section 5.1") for size in ("1.5B", "3B", "7B")}
LARGE = {
    "deepseek-r1-0528": paper("deepseek-ai/DeepSeek-R1-0528", "section 5.2"),
    "qwen3-235b-instruct": assumed(
        "Qwen/Qwen3-235B-A22B-Instruct-2507", "section 5.2 names no version; the only one called Instruct"
    ),
}

REPRODUCTION = Reproduction(
    key="erpo",
    title="ERPO: Token-Level Entropy-Regulated Policy Optimization for Large Reasoning Models",
    arxiv="2603.28204",
    models={f"qwen2.5-{size.lower()}": base for size, base in SIZES.items()} | LARGE,
    arms=(
        *(arm for size, base in SIZES.items() for arm in arms(size, base)),
        Arm("base", "deepseek-r1-0528", "DeepSeek-R1-671B-0528", None),
        Arm("base", "qwen3-235b-instruct", "Qwen3-235B-A22B-Instr.", None),
    ),
    protocol="erpo",
    trainer=paper("TRL", "section 5: training specifications"),
    seeds=assumed(1, "not stated; the tables give no spread"),
    departures=(
        "The training rows are the 8,441 of MATH's levels 3 to 5 with the shortest solutions. The paper's own rows are "
        "not published, and the limit that it states does not give that number.",
        "The paper may have measured the best of the checkpoints that it saved every 25 steps (table 3), as figure "
        "5(a) does. It does not say so. Here it is the last checkpoint.",
        "The gate takes mean and deviation of the entropies of a group, as Algorithm 1 does. Eq. 8 calls them moving.",
    ),
    claims=CLAIMS,
    doubts=(
        "Section 5.3 says that Fmt improves steadily across all benchmarks. In table 1, ERPO's Fmt equals GRPO's in "
        "two cells (1.5B AMC 23, AIME 25), and is below it in two (3B AMC 23, 7B Minerva).",
        "Section 5.3 says that ERPO outperforms GRPO across all average metrics, and table 1 agrees. On AIME 25, ERPO "
        "is equal at 1.5B and below at 3B.",
        "Figure 1(b) shows 50 questions that the model could definitely answer, of AMC23, which has 40. Section 1 "
        "describes this experiment with 2,460 samples of MATH.",
        "Appendix A.3: MATH's train split has at most 5,588 problems of levels 3 to 5, fewer than 8,441. Problems of "
        "its test split must therefore be among the training problems.",
        "Appendix A.3 leaves out solutions longer than 10 % of the maximum output length, 204 tokens. This would drop "
        "about two fifths of levels 3 to 5 (by a rough count). The 8,441 are only 9 % fewer than all, about 9,255.",
        "beta_progress scales a signal that Eq. 9 then standardises. It therefore cancels, except for delta.",
        "With t counted from 1, floor(tau K) puts the last token past the last bucket. Here it goes into the last "
        "bucket. The first bucket is empty in responses of at most K tokens.",
        "The large models are measured with responses cut at 2,048 tokens. DeepSeek-R1's share of boxed answers equals "
        "its accuracy on AMC 23, AIME 24 and AIME 25 to the digit. The incorrect responses are therefore those without "
        "a box, and comparisons with it say little.",
        "AIME 24 has five equal values (3.54, 6.19, 10.06, 15.56, 23.33) in the rows of Qwen2.5-1.5B GRPO and "
        "Qwen2.5-7B Base. The two models would have equal numbers of correct answers for equal numbers of problems. "
        "This may be a coincidence or a copying error.",
        "At k = 16 ERPO is above GRPO in 4 of the 12 cells of table 2, equal in 3 and below in 5. Section 5.4 says "
        "that it is consistently above in most settings.",
    ),
)

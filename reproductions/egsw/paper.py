"""EGSW (arXiv 2503.22456) as data: what was trained, on what data, with which values, and each value's source."""

from __future__ import annotations

from dataclasses import replace

from baselines.grpo import grpo
from harness.spec import Arm, Experiment, Method, Reproduction, Sourced, assumed, code, paper, use
from reproductions.egsw.claims import CLAIMS
from reproductions.egsw.doubts import doubts
from reproductions.egsw.method import egsw

RECIPE = (
    "github.com/huggingface/open-r1 at 18de789 (3 March 2025), recipes/Qwen2.5-Math-7B/grpo/config_simple_rl.yaml, the "
    "recipe of that project for the data of section 5; since removed"
)
TRL_THEN = (
    "not stated, nor in the recipe; the default of TRL at 69ad852e (25 February 2025, 0.16.0.dev0), which open-r1's "
    "setup.py at 18de789 pins (trl/trainer/grpo_config.py)"
)
BATCH = RECIPE + ": 16 per device x 8 accumulation x 7 processes (README.md there, --num_processes=7) / 7 generations"
NOT_STATED = "not stated; "

GRPO = Method(
    advantage=use(
        grpo,
        std=assumed("sample", "Eq. 3 does not say which; TRL, which the paper uses, divides by n - 1"),
        epsilon=assumed(1e-4, "Eq. 3 has none; TRL adds 1e-4"),
    ),
    aggregation=assumed(
        "sequence_mean",
        "Eq. 5 averages over N_k, then over K. Section 3.1 calls N_k the output samples of a group, and the sum runs "
        "over t; read as the tokens of an output, then the outputs, which is TRL's mean of that time",
    ),
)

EXPERIMENT = Experiment(
    base_model=paper("Qwen/Qwen2.5-Math-7B", "section 5"),
    dataset=code(
        "simplerl_8k",
        "huggingface.co/datasets/hkust-nlp/SimpleRL-Zoo-Data, simplelr_qwen_level3to5: section 5 takes Simple-RL's "
        "8,000 problems of MATH and names no file; the recipe has another set, DigitalLearningGmbH/MATH-lighteval",
    ),
    dataset_rows=code(8523, "rows of that file (harness/data/named.py); section 5 says 8,000"),
    prompt=assumed(
        "open_r1",
        "not stated; the system prompt of open-r1, which asks for think and answer tags. The recipe has a third, which "
        "asks for think tags alone (see the departures)",
    ),
    rewards=assumed(
        ("accuracy", "boxed_format"),
        NOT_STATED + "the recipe has rewards accuracy and format; ours asks for a box, not for think tags",
    ),
    reward_weights=code((1.0, 1.0), RECIPE + ": both rewards count alike"),
    method=GRPO,
    dynamic_sampling=assumed(False, NOT_STATED + "TRL has none"),
    prompts_per_rollout=code(128, BATCH),
    group_size=code(7, RECIPE),
    rollout_temperature=assumed(0.9, TRL_THEN),
    rollout_top_p=assumed(1.0, TRL_THEN),
    max_prompt_tokens=code(512, RECIPE),
    max_completion_tokens=code(1024, RECIPE),
    critic=paper(False, "section 3.1: GRPO"),
    updates_per_rollout=paper(1, "section 4: GRPO updates the parameters every step; algorithm 1"),
    learning_rate=code(3e-6, RECIPE),
    lr_schedule=code("cosine", RECIPE),
    warmup_ratio=code(0.1, RECIPE),
    weight_decay=assumed(0.0, TRL_THEN),
    max_grad_norm=assumed(1.0, TRL_THEN),
    clip_low=assumed(0.2, TRL_THEN),
    clip_high=assumed(0.2, TRL_THEN),
    dual_clip=assumed(None, TRL_THEN + " (off)"),
    kl_beta=assumed(0.04, TRL_THEN),
    reference_reset_every=assumed(None, "algorithm 1 resets it each training iteration; one epoch is taken as one"),
    entropy_coefficient=paper(0.0, "Eq. 5 and 10 have no such term"),
    entropy_target=paper(None, "Eq. 5 and 10 have no such term"),
    epochs=code(1.0, RECIPE),
    max_steps=assumed(None, NOT_STATED + "as many as one epoch gives"),
    precision=code("bfloat16", RECIPE),
    lora_rank=assumed(None, NOT_STATED + "the recipe trains all weights"),
    lora_alpha=assumed(64.0, "no effect: no LoRA"),
    lora_dropout=assumed(0.0, "no effect: no LoRA"),
)


def weighted(alpha: float, temperature: float) -> Method:
    """GRPO with the paper's best EGSW setting for one base model."""
    weights = use(
        egsw,
        alpha=paper(alpha, "section 5"),
        temperature=paper(temperature, "section 5"),
        level=assumed(
            "step", "the paper offers both and does not say which was used; section 4 and Eq. 9-10 are step-wise"
        ),
        entropy=assumed(
            "log_vocab", "section 5 says normalised, without a formula; H / log |V| is the usual normalised entropy"
        ),
        over=paper("batch", "section 4, above Eq. 9: a batch containing N sequences"),
        micro_batch=assumed(None, "no effect: the softmax runs over the batch"),
        rescale=paper("none", "Eq. 9-10; section 5 says that the gradient norm shrinks"),
    )
    return replace(GRPO, weights=(weights,))


def sweep(experiment: Experiment, model: str) -> tuple[Arm, ...]:
    """The search of section 5: raw entropy with alpha 0.15 to 0.50, P from 1 to 2, then both readings at a higher
    temperature. The paper gives the ends of the ranges. The points between them are ours."""
    ends = "section 5: an end of the range that was searched"
    first_p = assumed(1.0, "section 5 searches raw entropy's coefficient first, and does not say at which P")
    points = {
        "egsw_raw_0.15": ("raw", paper(0.15, ends), first_p),
        "egsw_raw_0.30": ("raw", assumed(0.30, "between the ends that section 5 names"), first_p),
        "egsw_raw_0.50": ("raw", paper(0.50, ends), first_p),
        "egsw_raw_0.30_p1.5": ("raw", assumed(0.30, "as above"), assumed(1.5, "between the ends that section 5 names")),
        "egsw_raw_0.30_p2": ("raw", assumed(0.30, "as above"), paper(2.0, ends)),
        "egsw_normalised_0.30_p2": ("log_vocab", assumed(0.30, "as above"), paper(2.0, ends)),
    }
    return tuple(
        Arm(
            key,
            model,
            f"GRPO + EGSW ({key.removeprefix('egsw_')})",
            replace(experiment, method=_point(*point)),
            sweep=True,
        )
        for key, point in points.items()
    )


def _point(entropy: str, alpha: Sourced[float], temperature: Sourced[float]) -> Method:
    (best,) = weighted(0.3, 1.0).weights
    reading = paper("raw", "section 5") if entropy == "raw" else best.values["entropy"]
    return replace(
        GRPO, weights=(use(egsw, **{**best.values, "alpha": alpha, "temperature": temperature, "entropy": reading}),)
    )


def per_micro_batch(experiment: Experiment, model: str, alpha: float, temperature: float) -> Arm:
    """EGSW whose softmax sees 16 sequences, as code inside TRL's loss would have with the recipe's batch."""
    (best,) = weighted(alpha, temperature).weights
    weights = use(
        egsw,
        **{
            **best.values,
            "over": assumed("micro_batch", "what a loss inside TRL of that time sees; the paper's code is not public"),
            "micro_batch": code(16, RECIPE + ": per_device_train_batch_size"),
        },
    )
    declared = replace(experiment, method=replace(GRPO, weights=(weights,)))
    return Arm("egsw_micro_batch", model, "GRPO + EGSW (softmax over 16 sequences)", declared)


INSTRUCT = replace(EXPERIMENT, base_model=paper("Qwen/Qwen2.5-Math-7B-Instruct", "section 5"))

REPRODUCTION = Reproduction(
    key="egsw",
    title="Entropy-Guided Sequence Weighting for Efficient Exploration in RL-Based LLM Fine-Tuning",
    arxiv="2503.22456",
    models={"math-7b": EXPERIMENT.base_model, "math-7b-instruct": INSTRUCT.base_model},
    arms=(
        Arm("base", "math-7b", "Qwen2.5-Math-7B", None),
        Arm("grpo", "math-7b", "GRPO", EXPERIMENT),
        Arm("egsw", "math-7b", "GRPO + EGSW", replace(EXPERIMENT, method=weighted(0.3, 1.0))),
        *sweep(EXPERIMENT, "math-7b"),
        per_micro_batch(EXPERIMENT, "math-7b", 0.3, 1.0),
        Arm("base", "math-7b-instruct", "Qwen2.5-Math-7B-Instruct", None),
        Arm("grpo", "math-7b-instruct", "GRPO", INSTRUCT),
        Arm("egsw", "math-7b-instruct", "GRPO + EGSW", replace(INSTRUCT, method=weighted(0.8, 1.8))),
        *sweep(INSTRUCT, "math-7b-instruct"),
        per_micro_batch(INSTRUCT, "math-7b-instruct", 0.8, 1.8),
    ),
    sets={"search": tuple(dict.fromkeys(arm.key for arm in sweep(EXPERIMENT, "math-7b")))},
    protocol="egsw",
    trainer=paper("open-r1, TRL", "section 5"),
    response_length=code(
        639.0, "github.com/huggingface/open-r1, issue 251: completion_length in a log of the recipe, step 3 of 468"
    ),
    seeds=paper(3, "section 5: three different seeds, scores averaged"),
    before={"egsw.micro_batch": None},
    departures=(
        "The softmax of Eq. 9 runs over all sequences of an optimiser step. The paper's code is not public. Inside TRL "
        "of that time, the softmax would see one micro-batch of one process: 16 sequences. The arm egsw_micro_batch "
        "does this.",
        "Algorithm 1 resets the reference policy at each training iteration. We read one epoch as one iteration, so "
        "the reference stays the base model.",
        "The format reward asks for a complete box, as the evaluation does. The paper scale's prompt (open-r1's) asks "
        "for think and answer tags, as open-r1's format reward did. The recipe's own system prompt asks for think tags "
        "alone. The paper does not say which it used. To use others, set prompt= and rewards=.",
    ),
    claims=CLAIMS,
    doubts=(
        *doubts(),
        "Section 4 says that the softmax keeps the gradient scale similar to the standard one. Section 5 says that the "
        "weights reduce the gradient norm. The weights of Eq. 9 sum to 1 over N sequences, so their mean is 1/N.",
        "With Eq. 9 over a whole step, the gradient per weight is near Adam's epsilon. Near it, Adam takes smaller "
        "steps. In our tiny runs (N = 128) EGSW's mean gradient norm is 1/43 of GRPO's (0.0070 and 0.300, 20 seeds "
        "each). At the recipe's N = 896, a norm of 1/300 of 0.3 over 7.6e9 weights is 1.1e-8 per weight. Adam's "
        "epsilon is 1e-8, so its steps would be about half of GRPO's. The arm egsw_micro_batch, whose softmax sees 16 "
        "sequences, does not have this problem and runs beside egsw.",
    ),
)

"""DAPO in full (arXiv 2503.14476), declared: clip-higher, dynamic sampling, token-level loss, overlong shaping.

TRL's `loss_type="dapo"` is the aggregation alone (`token_mean` here, a test shows that they agree). The rest is ours.
"""

from __future__ import annotations

from baselines.grpo import grpo
from baselines.overlong import overlong
from harness.spec import Experiment, Method, assumed, code, paper, use

DAPO_PAPER = "DAPO (arXiv 2503.14476), "
DAPO_CODE = "DAPO's released script (verl, recipe/dapo/run_dapo_qwen2.5_32b.sh)"
NOT_STATED = "not stated; "

METHOD = Method(
    rewards=(
        use(
            overlong,
            max_length=paper(20480, DAPO_PAPER + "section 4.1: 16,384 expected and 4,096 for the soft punishment"),
            buffer=paper(4096, DAPO_PAPER + "section 4.1"),
            penalty=paper(1.0, DAPO_PAPER + "Eq. 13"),
        ),
    ),
    advantage=use(
        grpo,
        std=assumed("sample", DAPO_PAPER + "Eq. 9 does not say which; veRL, which it uses, divides by n - 1"),
        epsilon=code(1e-6, "Eq. 9 has none; veRL adds 1e-6 (verl/trainer/ppo/core_algos.py)"),
    ),
    aggregation=paper("token_mean", DAPO_PAPER + "Eq. 8: the sum over all tokens by their number"),
)

EXPERIMENT = Experiment(
    base_model=paper("Qwen/Qwen2.5-32B", DAPO_PAPER + "abstract and figure 1"),
    dataset=code("BytedTsinghua-SIA/DAPO-Math-17k", "DAPO's released data"),
    dataset_rows=paper(17000, DAPO_PAPER + "section 3.5: 17K prompts"),
    prompt=code("dapo", "DAPO's released data: the prompts are part of it"),
    rewards=paper(("signed_accuracy",), DAPO_PAPER + "Eq. 7: 1 when correct, -1 otherwise"),
    reward_weights=assumed((1.0,), "one reward"),
    method=METHOD,
    dynamic_sampling=paper(True, DAPO_PAPER + "section 3.2"),
    prompts_per_rollout=paper(512, DAPO_PAPER + "section 4.1"),
    group_size=paper(16, DAPO_PAPER + "section 4.1"),
    rollout_temperature=code(1.0, DAPO_CODE),
    rollout_top_p=code(1.0, DAPO_CODE),
    max_prompt_tokens=code(2048, DAPO_CODE),
    max_completion_tokens=paper(20480, DAPO_PAPER + "section 4.1"),
    critic=paper(False, DAPO_PAPER + "section 2.2: built on GRPO"),
    updates_per_rollout=paper(16, DAPO_PAPER + "section 4.1: 16 updates for each rollout step"),
    learning_rate=paper(1e-6, DAPO_PAPER + "section 4.1"),
    lr_schedule=paper("constant", DAPO_PAPER + "section 4.1"),
    warmup_ratio=assumed(0.064, DAPO_PAPER + "section 4.1: 20 rollout steps, that is 320 of about 5,000 updates"),
    weight_decay=code(0.1, DAPO_CODE),
    max_grad_norm=code(1.0, DAPO_CODE),
    clip_low=paper(0.2, DAPO_PAPER + "section 4.1"),
    clip_high=paper(0.28, DAPO_PAPER + "section 4.1: clip-higher"),
    dual_clip=code(10.0, DAPO_CODE + ": clip_ratio_c"),
    kl_beta=paper(0.0, DAPO_PAPER + "section 2.3: the KL term is removed"),
    reference_reset_every=assumed(None, "no effect: no reference"),
    entropy_coefficient=code(0.0, DAPO_CODE),
    entropy_target=assumed(None, "the paper has no such term"),
    epochs=assumed(1.0, "no effect: max_steps decides"),
    max_steps=assumed(5000, DAPO_PAPER + "figure 1 reaches its 50 points after about 5,000 updates"),
    precision=assumed("bfloat16", NOT_STATED + "veRL's default for forward and backward passes"),
    lora_rank=assumed(None, NOT_STATED + "all weights are trained"),
    lora_alpha=assumed(64.0, "no effect: no LoRA"),
    lora_dropout=assumed(0.0, "no effect: no LoRA"),
)

TINY = {"dynamic_sampling": False, "overlong.max_length": 64, "overlong.buffer": 16}
"""What the tiny scale replaces in it: TRL cannot resample, and its responses end at 64 tokens."""

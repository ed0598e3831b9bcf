"""Reasoning with Exploration: An Entropy Perspective (arXiv 2506.14758) as data, each value with its source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baselines.grpo import grpo
from baselines.ppo import gae
from harness.spec import PPO, Arm, Context, Experiment, Method, Reproduction, assumed, paper, use
from reproductions.entropy_advantage.claims import CLAIMS
from reproductions.entropy_advantage.method import entropy_advantage

TABLE_4 = "appendix B, table 4"
LATER = "arXiv 2506.14758 v3 (the number is lost in our text, v1): "
V4 = "arXiv 2506.14758 v4 (our text, v1, does not say): "
VERL = "not stated; veRL's default, and the paper trains with veRL"
NO_LORA = "no effect: no LoRA"

GRPO = Method(
    advantage=use(
        grpo,
        std=assumed("sample", "Eq. 3 does not say which; veRL, which the paper uses, divides by n - 1"),
        epsilon=assumed(1e-6, "Eq. 3 has none; veRL adds 1e-6"),
    ),
    aggregation=paper("token_mean", "section 3.1: the loss is averaged across all tokens in a training batch"),
)
GAE = replace(
    GRPO,
    advantage=use(
        gae,
        gamma=paper(1.0, LATER + "appendix B"),
        lam=paper(1.0, LATER + "appendix B"),
        whiten=assumed(True, VERL + ", where it is not an option"),
    ),
)
CRITIC = PPO(
    critic_learning_rate=paper(2e-6, LATER + "appendix B"),
    critic_warmup_steps=paper(10, "appendix B: a 10-step warm-up before the policy's first update"),
    value_clip=assumed(0.5, VERL),
)

EXPERIMENT = Experiment(
    base_model=paper("Qwen/Qwen2.5-7B", "section 4: Qwen2.5-Base-7B"),
    dataset=paper("BytedTsinghua-SIA/DAPO-Math-17k", "section 4: training data from DAPO, which released this set"),
    dataset_rows=assumed(17000, "not stated; DAPO (arXiv 2503.14476), section 3.5: 17K prompts"),
    prompt=paper("dapo", "appendix B: DAPO's prompt, whose verifier reads the last line that says Answer:"),
    rewards=paper(("signed_accuracy",), "section 4: +1 for correct final answers and -1 otherwise"),
    reward_weights=assumed((1.0,), "one reward"),
    method=GRPO,
    dynamic_sampling=assumed(False, "section 4 lists the techniques taken from DAPO and VAPO; this is not among them"),
    prompts_per_rollout=paper(512, TABLE_4),
    group_size=paper(8, TABLE_4),
    rollout_temperature=paper(1.0, TABLE_4),
    rollout_top_p=assumed(1.0, VERL),
    max_prompt_tokens=assumed(2048, "not stated; DAPO's script has 2,048 for the same prompts"),
    max_completion_tokens=paper(8192, TABLE_4 + ": 8K tokens"),
    critic=paper(False, "section 3.1: GRPO"),
    updates_per_rollout=paper(16, TABLE_4 + "; its mini-batch of 256 is 32 prompts (v4 says so)"),
    learning_rate=paper(1e-6, LATER + TABLE_4),
    lr_schedule=assumed("constant", VERL),
    warmup_ratio=assumed(0.0, VERL),
    weight_decay=assumed(0.01, VERL),
    max_grad_norm=assumed(1.0, VERL),
    clip_low=paper(0.2, LATER + TABLE_4),
    clip_high=paper(0.28, LATER + TABLE_4),
    dual_clip=assumed(3.0, VERL + " (clip_ratio_c)"),
    kl_beta=paper(0.0, V4 + "appendix B: no KL loss"),
    reference_reset_every=assumed(None, "no effect: no reference"),
    entropy_coefficient=paper(0.0, V4 + "appendix B: no entropy loss"),
    entropy_target=assumed(None, "the paper adapts no coefficient"),
    epochs=assumed(1.0, "no effect: max_steps decides"),
    max_steps=assumed(
        2000,
        "section 6.1 compares entropies at step 2000; figure 6 of v4 calls these policy update steps (125 rollouts)",
    ),
    precision=assumed("bfloat16", VERL),
    lora_rank=assumed(None, "not stated; all weights are trained"),
    lora_alpha=assumed(64.0, NO_LORA),
    lora_dropout=assumed(0.0, NO_LORA),
)
WITH_CRITIC = replace(
    EXPERIMENT,
    method=GAE,
    critic=paper(True, "section 3.1: PPO"),
    ppo=CRITIC,
    max_steps=assumed(
        2000 + CRITIC.critic_warmup_steps.value * EXPERIMENT.updates_per_rollout.value,
        "as many policy updates as GRPO's arms; those of the critic's warm-up, 10 rollouts of 16, come before them",
    ),
)
REGULARISED = assumed(1e-3, "section 6.1 compares with an entropy term and gives no coefficient; veRL's own for long")


def shaped(method: Method, alpha: float) -> Method:
    """The method with the entropy-based term added to its advantage."""
    shaping = use(
        entropy_advantage,
        alpha=paper(alpha, LATER + "section 4"),
        kappa=paper(2.0, LATER + "section 4"),
    )
    return replace(method, shaping=(shaping,))


SYMMETRIC: Experiment = replace(
    EXPERIMENT, clip_high=paper(0.2, "section 6.1, entropy: clip-higher removed; figure 6 of v4: 0.2 on both sides")
)
SAME: dict[str, Any] = {"grpo_symmetric_clip": {"same_as": "grpo", "same_at": ("tiny",)}}  # with one update a rollout
IN_TABLES = {  # by base model. The rest is run by name
    "7b": ("grpo", "grpo_entropy_advantage", "grpo_entropy_regularisation", "ppo", "ppo_entropy_advantage"),
    "math-7b": ("grpo", "grpo_entropy_advantage"),
}


def arms(model: str, title: str, protocol: str, **changes: Any) -> tuple[Arm, ...]:
    """The base model and seven ways to train it, those of tables 2 and 3 first. `changes` are the model's values."""
    trained = {
        "grpo": ("+ GRPO", EXPERIMENT),
        "grpo_entropy_advantage": ("+ GRPO w/ Entropy Adv.", replace(EXPERIMENT, method=shaped(GRPO, 0.4))),
        "grpo_entropy_regularisation": ("Entropy Reg.", replace(EXPERIMENT, entropy_coefficient=REGULARISED)),
        "ppo": ("+ PPO", WITH_CRITIC),
        "ppo_entropy_advantage": ("+ PPO w/ Entropy Adv.", replace(WITH_CRITIC, method=shaped(GAE, 0.1))),
        "ppo_entropy_regularisation": ("PPO, Entropy Reg.", replace(WITH_CRITIC, entropy_coefficient=REGULARISED)),
        "grpo_symmetric_clip": ("GRPO without clip-higher", SYMMETRIC),
    }
    return (
        Arm("base", model, title, None, protocol),
        *(
            Arm(
                key,
                model,
                name,
                replace(e, **changes),
                protocol,
                sweep=key not in IN_TABLES[model],
                **SAME.get(key, {}),
            )
            for key, (name, e) in trained.items()
        ),
    )


RELEASED = "table 2 names it, without a checkpoint; the one its authors released"
EXTENDED = (
    "not stated, and 8,192 tokens do not fit the model's own 4,096 positions; the usual change of this model: LUFFY's "
    "(github.com/TsinghuaC3I/Unify-Post-Training at train.sh, issue 5), without further training"
)

MODELS = {
    "7b": EXPERIMENT.base_model,
    "math-7b": paper("Qwen/Qwen2.5-Math-7B", "section 4: Qwen2.5-Math-Base-7B"),
    "math-7b-instruct": assumed("Qwen/Qwen2.5-Math-7B-Instruct", RELEASED),
    "eurus-2-prime": assumed("PRIME-RL/Eurus-2-7B-PRIME", RELEASED),
    "oat-zero": assumed("sail/Qwen2.5-Math-7B-Oat-Zero", RELEASED),
    "gpg": assumed("GD-ML/Qwen2.5-Math-7B-GPG", RELEASED),
    "r1-distill-1.5b": paper("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "section 2, footnote 1; appendix A"),
}

CONTEXTS = {
    "math-7b": Context(
        positions=assumed(16384, EXTENDED),
        rope_theta=assumed(40000.0, EXTENDED),
    ),
    "math-7b-instruct": Context(
        positions=assumed(16384, "as for math-7b: 8,192 tokens do not fit its 4,096 positions"),
        rope_theta=assumed(10000.0, "its own, so that responses within its 4,096 positions are as released"),
    ),
}

REPRODUCTION = Reproduction(
    key="entropy_advantage",
    title="Reasoning with Exploration: An Entropy Perspective",
    arxiv="2506.14758",
    models=MODELS,
    contexts=CONTEXTS,
    arms=(
        *arms("7b", "Qwen2.5-Base", "entropy_advantage_dapo"),
        *arms(
            "math-7b",
            "Qwen2.5-Math",
            "entropy_advantage",
            base_model=MODELS["math-7b"],
            prompt=paper("boxed_suffix", "appendix B: a suffix that asks for a box; the verifier is Math-Verify"),
        ),
        Arm("base", "math-7b-instruct", "Qwen2.5-Math-Ins†", None),
        Arm("base", "eurus-2-prime", "Eurus-2-PRIME", None),
        Arm("base", "oat-zero", "Oat-Zero†", None),
        Arm("base", "gpg", "GPG†", None, protocol="entropy_advantage_gpg"),
        Arm("base", "r1-distill-1.5b", "DeepSeek-R1-Distill-Qwen-1.5B (appendix A)", None, sweep=True),
    ),
    protocol="entropy_advantage",
    trainer=paper("veRL", "section 4"),
    seeds=assumed(1, "not stated; the tables have one number for each cell and no spread"),
    departures=(
        "DAPO's verifier compares strings after normalising them. Ours reads the same last line that says Answer:, and "
        "grades it with the grader of the evaluation, which accepts more forms of an answer.",
        "The loss is the mean over all tokens of an optimiser step. veRL averages each micro-batch, then the "
        "micro-batches.",
        "PPO has a critic, and TRL 1.16 has no trainer for one. The PPO arms are declared, and backend=trl skips them "
        "with a warning.",
        "Appendix A repeats section 2 on code: DeepSeek-R1-Distill-Qwen-1.5B on LiveCodeBench, trained as DeepCoder. "
        "You can measure this model on the mathematics benchmarks. LiveCodeBench is not a benchmark here, and no "
        "training reward runs code. The RL run of appendix A is therefore not an arm.",
        "At tiny scale a rollout is one update. Every ratio is then 1, and clip-higher has no effect. "
        "grpo_symmetric_clip is grpo there, and is not trained.",
        "The four comparison models are measured as released. Table 2 quotes the models with a dagger from Chu et al. "
        "(arXiv 2504.02546), as the caption of v4 says.",
    ),
    claims=CLAIMS,
    doubts=(
        "Table 2, Qwen2.5-Math on AIME25: a pass@256 of 50.7, 57.4 and 63.6 on 30 problems is no multiple of 1/30. "
        "These are therefore estimates from more than 256 samples. The 90 on AMC23's 83 problems lacks its decimal "
        "(74.7/83).",
        "The paper does not say how many samples the averages of table 2 are over.",
        "Table 2, GPG: AMC23 65.0 is 26 of 40 problems, and 54 of 83 is 65.06. The numbers of the three other released "
        "models fit 83 problems. GPG is compared on the 40 problems.",
        "Qwen2.5-Math-7B's context is 4,096 tokens. The paper trains and measures it at 8K without saying how, so the "
        "context here is assumed.",
        "Table 3 calls entropy regularisation weaker, but its AIME24 average, 16.0, is above the entropy advantage's "
        "12.6.",
        "Table 2: GRPO on Qwen2.5-Base has a pass@16 of 65.4 on MATH500, and the base model has 88.8. Their averages "
        "are about equal.",
    ),
    sets={"clip_higher": ("grpo", "grpo_symmetric_clip")},
)

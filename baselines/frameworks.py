"""Eight frameworks have their own "GRPO": their defaults at a stated commit, as arms on the common recipe.

Only what decides the gradient of a given batch is taken: advantage, clipping, KL term, aggregation. Where our loss
cannot say it exactly, `DIFFERS` names the difference. `python -m benchmarks.frameworks` compares the gradients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from baselines.dppo import dppo
from baselines.grpo import grpo
from baselines.kl_in_reward import kl_in_reward
from baselines.leave_one_out import leave_one_out
from baselines.ppo import whitened
from harness.spec import Experiment, Method, Sourced, Use, assumed, code, use
from harness.spec.equation import stage
from harness.step.loss import Aggregation

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch

TRL = "TRL 1.16.0, trl/trainer/"
VERL = "verl-project/verl 0.9.1, verl/trainer/"
OPENRLHF = "OpenRLHF/OpenRLHF at 3c3be62, openrlhf/"
OPEN_R1 = "huggingface/open-r1 at 1416fa0, which pins TRL 0.18.0: trl/trainer/"
PRIME = "PrimeIntellect-ai/prime-rl at 559b447, "
NEMO = "NVIDIA-NeMo/RL at 7ea279a, "
SKYRL = "NovaSky-AI/SkyRL at a956457, skyrl/"
AREAL = "inclusionAI/AReaL at 4aef98d, "
OPENRLHF_GROUP = OPENRLHF + "trainer/ppo_utils/experience_maker.py"
PRIME_GROUP, PRIME_LOSS = PRIME + "src/prime_rl/orchestrator/algo/grpo.py", PRIME + "src/prime_rl/trainer/rl/loss.py"
SKYRL_GROUP = SKYRL + "backends/skyrl_train/utils/ppo_utils.py: "

DIFFERS = {  # arm -> what our declaration of it leaves out
    "grpo_openrlhf": "the k1 penalty is taken at the sampling policy, as OpenRLHF does before its updates",
    "grpo_open_r1": "the token mean is over the whole step. TRL 0.18 takes it over each device's micro-batch",
    "grpo_prime_rl": "our arm has no drift term, 0.001 (log r)^2. prime-rl has no upper bound on the ratio, and our "
    "bound is 1e6. prime-rl's token mean covers the groups that its filter keeps, and our mean covers the whole step",
    "grpo_areal": "the batch deviation has 1e-8 under the root. AReaL adds 1e-5 to it. Its reward scale and "
    "decoupled loss are not compared",
}
FILTERS = {  # arm -> (are truncated responses masked, are groups without a signal dropped), by default
    "grpo_trl": ("no: grpo_config.py, mask_truncated_completions", "no"),
    "grpo_verl": ("no", "no: config/algorithm.py, filter_groups"),
    "grpo_openrlhf": ("no", "no: cli/train_ppo_ray.py, dynamic_filtering_enable"),
    "grpo_open_r1": ("no: grpo_config.py, mask_truncated_completions", "no"),
    "grpo_prime_rl": ("no", "yes: configs/orchestrator.py, filter_zero_advantages"),
    "grpo_nemo_rl": ("no: grpo_math_1B.yaml, overlong_filtering", "no: the same, use_dynamic_sampling"),
    "grpo_skyrl": ("no: config.py, apply_overlong_filtering", "no: config.py, DynamicSamplingConfig.type"),
    "grpo_areal": ("no: cli_args.py, mask_no_eos_with_zero", "no"),
}


@stage("shaping")
def batch_whitened(batch: TokenBatch) -> Tensor:
    """(A - mean_B A) / std_B A over all tokens of scored responses (AReaL's `adv_norm`).

    Returns:
        [B, T], 0 on masked positions.
    """
    valid = batch.mask & ~batch.rewards.isnan().unsqueeze(1)
    return whitened(batch.need("advantages"), valid)


def frameworks(recipe: Experiment) -> dict[str, tuple[str, Experiment]]:
    """Key -> (title, the recipe with that framework's GRPO)."""

    def group(std: str, std_at: str, epsilon: float, epsilon_at: str) -> Use:
        return use(grpo, std=code(std, std_at), epsilon=code(epsilon, epsilon_at))

    def arm(
        title: str,
        advantage: Use,
        aggregation: Sourced[Aggregation],
        *,
        clip: Sourced[float | None],
        dual_clip: Sourced[float | None] | None = None,
        kl_beta: Sourced[float],
        **parts: Any,
    ) -> tuple[str, Experiment]:
        method = Method(advantage=advantage, aggregation=aggregation, **parts)
        dual_clip = dual_clip or assumed(None, "it has none")
        changed = replace(recipe, method=method, clip_low=clip, clip_high=clip, dual_clip=dual_clip, kl_beta=kl_beta)
        return f"GRPO of {title}", changed

    return {
        "grpo_trl": arm(
            "TRL 1.16",
            group("sample", TRL + "utils.py: nanstd", 1e-4, TRL + "grpo_trainer.py: std_rewards + 1e-4"),
            code("token_mean", TRL + "grpo_config.py: loss_type='dapo'"),
            clip=code(0.2, TRL + "grpo_config.py: epsilon; epsilon_high is None"),
            kl_beta=code(0.0, TRL + "grpo_config.py: beta"),
        ),
        "grpo_verl": arm(
            "veRL 0.9.1",
            group("sample", VERL + "ppo/core_algos.py: torch.std", 1e-6, VERL + "ppo/core_algos.py: epsilon"),
            code("token_mean", VERL + "config/actor/actor.yaml: loss_agg_mode"),
            clip=code(0.2, VERL + "config/actor/actor.yaml: clip_ratio"),
            dual_clip=code(3.0, VERL + "config/actor/actor.yaml: clip_ratio_c"),
            kl_beta=code(0.0, VERL + "config/actor/actor.yaml: use_kl_loss=false; its GRPO scripts set 0.001"),
        ),
        "grpo_openrlhf": arm(
            "OpenRLHF",
            group("sample", OPENRLHF_GROUP + ": group_norm", 1e-9, OPENRLHF_GROUP),
            code("token_mean", OPENRLHF + "models/loss.py: token_level_loss=True"),
            clip=code(0.2, OPENRLHF + "cli/train_ppo_ray.py: actor.eps_clip"),
            kl_beta=code(0.0, OPENRLHF + "cli/train_ppo_ray.py: algo.kl.use_loss is off"),
            shaping=(use(kl_in_reward, beta=code(0.01, OPENRLHF + "cli/train_ppo_ray.py: algo.kl.init_coef, k1")),),
        ),
        "grpo_open_r1": arm(
            "open-r1",
            group("sample", OPEN_R1 + "grpo_trainer.py", 1e-4, OPEN_R1 + "grpo_trainer.py: std + 1e-4"),
            code("token_mean", OPEN_R1 + "grpo_config.py: loss_type='bnpo'"),
            clip=code(0.2, OPEN_R1 + "grpo_config.py: epsilon"),
            kl_beta=code(0.04, OPEN_R1 + "grpo_config.py: beta"),
        ),
        "grpo_prime_rl": arm(
            "prime-rl",
            group("none", PRIME_GROUP, 0.0, PRIME_GROUP + ": none"),
            code("token_mean", PRIME + "src/prime_rl/trainer/rl/train.py: rl_scale, the tokens of the step"),
            clip=assumed(None, PRIME + "whose trust region takes the place of clipping"),
            kl_beta=code(0.0, PRIME_LOSS + ": no reference"),
            objective=use(
                dppo,
                divergence=code("binary_tv", PRIME_LOSS + ": default_loss_fn"),
                low=code(0.2, PRIME + "packages/prime-rl-configs, trainer.py: dppo_mask_low"),
                high=code(0.2, PRIME + "packages/prime-rl-configs, trainer.py: dppo_mask_high"),
                truncate=assumed(1e6, PRIME + "which does not truncate the ratio"),
            ),
        ),
        "grpo_nemo_rl": arm(
            "NeMo-RL",
            use(leave_one_out, epsilon=code(1e-6, NEMO + "nemo_rl/algorithms/advantage_estimator.py")),
            code("token_mean", NEMO + "examples/configs/grpo_math_1B.yaml: token_level_loss"),
            clip=code(0.2, NEMO + "examples/configs/grpo_math_1B.yaml: ratio_clip_min, ratio_clip_max"),
            kl_beta=code(0.01, NEMO + "examples/configs/grpo_math_1B.yaml: reference_policy_kl_penalty, k3"),
        ),
        "grpo_skyrl": arm(
            "SkyRL",
            group("sample", SKYRL_GROUP + "torch.std", 1e-6, SKYRL_GROUP + "epsilon"),
            code("token_mean", SKYRL + "train/config/config.py: loss_reduction"),
            clip=code(0.2, SKYRL + "train/config/config.py: eps_clip_low, eps_clip_high"),
            kl_beta=code(0.001, SKYRL + "train/config/config.py: use_kl_loss, kl_loss_coef, k3"),
        ),
        "grpo_areal": arm(
            "AReaL",
            group(
                "sample",
                AREAL + "areal/api/cli_args.py: std_unbiased",
                1e-5,
                AREAL + "areal/api/cli_args.py: NormConfig.eps; examples/math/gsm8k_grpo.yaml: reward_norm",
            ),
            code("token_mean", AREAL + "areal/utils/functional/functional.py: ppo_actor_loss_fn"),
            clip=code(0.4, AREAL + "examples/math/gsm8k_grpo.yaml: eps_clip"),
            kl_beta=code(0.0, AREAL + "examples/math/gsm8k_grpo.yaml: kl_ctl"),
            shaping=(use(batch_whitened),),
        ),
    }

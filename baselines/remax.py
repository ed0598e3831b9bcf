"""ReMax: the reward of the greedy response as the baseline (arXiv 2310.10505)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from baselines.grpo import scored_groups
from harness.spec.equation import requires, stage
from harness.step.batch import TokenBatch, reads
from harness.step.rewards import GROUP_REWARDS

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment


def _plain_rewards(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    changed = [u.name for u in experiment.method.rewards]
    if not changed and not set(experiment.rewards.value) & set(GROUP_REWARDS):
        return None
    return f"rewards: expected those of a response alone, got {[*experiment.rewards.value, *changed]}"


@requires(_plain_rewards)
@stage("advantage")
@reads("greedy_rewards")
def remax(batch: TokenBatch) -> Tensor:
    """A_i = r_i - r(greedy response to the same prompt)  (arXiv 2310.10505, Algorithm 1).

    0 where one of the two could not be scored (NaN).

    Returns:
        [B, T], 0 on masked positions.
    """
    rewards, scored, _, _ = scored_groups(batch)
    advantages = (rewards - batch.need("greedy_rewards")).masked_fill(~scored, 0.0)
    return advantages.nan_to_num(0.0).unsqueeze(1) * batch.mask

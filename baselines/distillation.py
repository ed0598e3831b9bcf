"""On-policy distillation: the student's own samples, rated token by token by a teacher.

The teacher is the reference model of the experiment (`reference_model`). With `self` it is the policy itself, shown a
correct response of the group (SDPO, arXiv 2601.20802). Minimises the reverse divergence
KL(student || teacher), as in MiniLLM (arXiv 2306.08543) and GKD with lambda 1 (arXiv 2306.13649), by the policy
gradient of its per-token estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import requires, stage
from harness.spec.ranges import NonNegative
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from harness.spec import Experiment


def _has_teacher(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    if experiment.reference_model.value is not None:
        return None
    return "reference_model: expected the teacher's folder or hub id, or self, got null, the model that is trained"


@requires(_has_teacher)
@stage("advantage")
@reads("old_logp", "ref_logp")
def reverse_kl(batch: TokenBatch) -> Tensor:
    """A_t = log pi_teacher(o_t) - log pi_old(o_t): no reward, and no credit for later tokens.

    Returns:
        [B, T], nats, 0 on masked positions. Its mean under the student is -KL(student || teacher).
    """
    return batch.need("ref_logp") - batch.need("old_logp")


@requires(_has_teacher)
@stage("shaping")
@reads("old_logp", "ref_logp")
def towards_teacher(batch: TokenBatch, *, coefficient: NonNegative) -> Tensor:
    """A_t + coefficient (log pi_teacher(o_t) - log pi_old(o_t)): a verified reward and a teacher together (as KDRL,
    arXiv 2506.02208).

    Args:
        coefficient: >= 0, in units of the advantage a nat.
    Returns:
        [B, T], 0 on masked positions.
    """
    return batch.need("advantages") + coefficient * (batch.need("ref_logp") - batch.need("old_logp"))

"""REPO-R: rare tokens gain more when right and lose less when wrong (Entropy-Preserving RL, arXiv 2603.11682)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


@stage("shaping")
@reads("logp")
def repo_r(batch: TokenBatch, *, zeta: float) -> Tensor:
    """A max(0, 1 - zeta log pi) where A > 0, A max(0, 1 + zeta log pi) where A < 0  (arXiv 2603.11682, appendix D.2).

    It is A - zeta |A| log pi, which never changes the sign of A. Read in the page of the method in erictang000/SkyRL
    (examples/train/algorithms/repo_r at 367fcb56) and in a summary of the paper, which agree, but for the bound at 0,
    which the first has alone. The paper's search, which halves and doubles zeta for an entropy, is not here.

    Args:
        zeta: per nat. Above 0 the entropy rises, below 0 it falls, 0 leaves the advantages as they are.
    Returns:
        [B, T], 0 on masked positions.
    """
    advantages = batch.need("advantages")
    return advantages * (1 - advantages.sign() * zeta * batch.need("logp")).clamp(min=0)

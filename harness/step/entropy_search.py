"""The search for an entropy target (Skywork Open Reasoner 1, arXiv 2505.22312, adaptive entropy control)."""

from __future__ import annotations


def adapt(coefficient: float, entropy: float, *, target: float, step: float, maximum: float) -> tuple[float, float]:
    """(the coefficient for this step, the coefficient for the next).

    At entropy e <= target, the step uses c, otherwise 0. Then c rises by `step` below the target and falls by `step`
    above it, inside [0, maximum]. e is measured on the sequences of the step, before the update.

    This replaces TRL's `use_adaptive_entropy`, which reads the previous step's entropy and adds its bonus to another
    loss.

    Args:
        entropy, target: token mean, nats. coefficient, step, maximum: >= 0.
    """
    used = coefficient if entropy <= target else 0.0
    moved = coefficient + step if entropy < target else coefficient - step if entropy > target else coefficient
    return used, min(max(moved, 0.0), maximum)

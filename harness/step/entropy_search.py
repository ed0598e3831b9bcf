"""The search for an entropy target (Skywork Open Reasoner 1, arXiv 2505.22312, adaptive entropy control)."""

from __future__ import annotations


def adapt(coefficient: float, entropy: float, *, target: float, step: float, maximum: float) -> tuple[float, float]:
    """(the coefficient to use now, the one that the search continues with).

    At entropy e, c is used where e <= target and 0 above it; then c rises by `step` below the target and falls by
    it above, inside [0, maximum]. e is measured on the sequences of the step, before the update.

    TRL has this as `use_adaptive_entropy`. Ours is plugged in because TRL's looks at the entropy of the step before,
    and its bonus belongs to a loss of its own.

    Args:
        entropy, target: token mean, nats. coefficient, step, maximum: >= 0.
    """
    used = coefficient if entropy <= target else 0.0
    moved = coefficient + step if entropy < target else coefficient - step if entropy > target else coefficient
    return used, min(max(moved, 0.0), maximum)

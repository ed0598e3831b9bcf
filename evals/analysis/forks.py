"""Forking tokens, those with the highest entropy (arXiv 2506.01939): the one definition of a fork in this project."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evals.fork_rank import fork_rank

RHO = 0.2  # the paper's share
Mask = NDArray[np.bool_]


def fork_threshold(values: ArrayLike, rho: float = RHO) -> float:
    """The entropy threshold of a fork: the smallest value at or above the (1 - rho) quantile (arXiv 2506.01939).

    The paper keeps tokens with H >= tau, where tau is the (1 - rho) quantile. This value keeps the same tokens as the
    linearly interpolated quantile, and is an entropy of the table, so rounding cannot drop the token that equals it.
    The trainer's mask (reproductions/forking_tokens/method.py) uses the same rank (`evals.fork_rank`) in each update.
    All figures and samplers with forks call this function.

    Args:
        values: [N], nats. rho: the share of tokens that are forks.

    Raises:
        ValueError: rho outside (0, 1], no values, or one that is not finite.
    """
    ordered = np.sort(np.asarray(values, float))
    if not 0 < rho <= 1:
        raise ValueError(f"rho: expected in (0, 1], got {rho}")
    if not len(ordered) or not np.isfinite(ordered).all():
        raise ValueError("values: expected at least one, all finite")
    return float(ordered[fork_rank(len(ordered), rho)])


def top_share(values: ArrayLike, rho: float = RHO) -> Mask:
    """Which values are at or above the (1 - rho) quantile, ties included: the forks, for entropies. [N] -> [N].

    Without ties these are 1 + floor(rho (n - 1)) of n values.

    Raises:
        ValueError: as `fork_threshold`.
    """
    return np.asarray(values, float) >= fork_threshold(values, rho)

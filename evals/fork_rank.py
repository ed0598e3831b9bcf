"""The rank of the fork threshold, shared by the numpy and the torch code."""

from __future__ import annotations

import math


def fork_rank(count: int, rho: float) -> int:
    """Index (from 0) of the smallest of `count` sorted values that is at or above their interpolated (1 - rho)
    quantile.

    Args:
        rho: the share of forks, in (0, 1].
    """
    # 0.7 * 10 is 7.000000000000001 here and there: a rounding error must not skip a value
    return math.ceil((1 - rho) * (count - 1) - 1e-9 * count)

"""The responses that a training could learn from: the shares of responses without a reward, of groups with equal
rewards, of truncated responses, and of responses that box different texts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Points = Sequence[tuple[int, float]]
"""(optimiser step, value)."""

UNMOVED = "trained nothing: every weight equals the base model's"
EQUAL, TRUNCATED, UNEQUAL_BOXES = "train/zero_variance_groups", "train/truncated_fraction", "train/unequal_boxes"
UNSCORED = "train/unscored_fraction"
# 1 to 8 % of saved responses box different texts
LIMITS = {UNSCORED: 0.30, EQUAL: 0.95, TRUNCATED: 0.30, UNEQUAL_BOXES: 0.20}
"""Metric -> the mean over the steps from which on a run must not be read without a warning."""


def mean_share(curves: Sequence[Points]) -> float | None:
    """The mean over all steps of all training seeds, or None without a step."""
    values = [value for points in curves for _, value in points]
    return sum(values) / len(values) if values else None


def since(curves: Sequence[Points], limit: float) -> int | None:
    """The first step from which on the share stays at the limit or above, in every seed, or None if it ends below
    it."""
    firsts = []
    for points in filter(None, curves):
        below = [index for index, (_, value) in enumerate(points) if value < limit]
        after = below[-1] + 1 if below else 0
        if after == len(points):
            return None
        firsts.append(points[after][0])
    return max(firsts, default=None)


def equal_text(curves: Sequence[Points]) -> str | None:
    """How many of the groups taught nothing: "31 % of the groups", "98 % of the groups, all from step 12 on", or None
    if it was not measured."""
    if (share := mean_share(curves)) is None:
        return None
    first = since(curves, 1.0)
    return f"{_percent(share)} of the groups" + ("" if first is None else f", all from step {first} on")


def warnings(curves: Sequence[Mapping[str, Points]]) -> tuple[str, ...]:
    """A sentence for each share that is beyond its limit.

    Args:
        curves: metric -> (step, value), of each training seed of one arm.
    """
    shares = {metric: [of_seed.get(metric, ()) for of_seed in curves] for metric in LIMITS}
    means = {metric: mean_share(points) for metric, points in shares.items()}
    beyond = {metric: mean for metric, mean in means.items() if mean is not None and mean >= LIMITS[metric]}
    lines = []
    if UNSCORED in beyond:
        first = since(shares[UNSCORED], 1.0)
        lines.append(
            f"{_percent(beyond[UNSCORED])} of the responses had no reward (None or NaN)"
            + ("" if first is None else f", all from step {first} on")
            + ": nothing is learned from them"
        )
    if EQUAL in beyond:
        lines.append(
            f"all rewards were equal in {equal_text(shares[EQUAL])}: a group-relative advantage is 0 there, so nothing "
            "is learned from them"
        )
    if TRUNCATED in beyond:
        first = since(shares[TRUNCATED], LIMITS[TRUNCATED])
        lines.append(
            f"{_percent(beyond[TRUNCATED])} of the responses were truncated in training"
            + ("" if first is None else f", at least {_percent(LIMITS[TRUNCATED])} from step {first} on")
            + ": their answers are not read, so the reward mostly teaches length; raise max_completion_tokens"
        )
    if UNEQUAL_BOXES in beyond:
        first = since(shares[UNEQUAL_BOXES], LIMITS[UNEQUAL_BOXES])
        lines.append(
            f"{_percent(beyond[UNEQUAL_BOXES])} of the responses boxed different texts in training"
            + ("" if first is None else f", at least {_percent(LIMITS[UNEQUAL_BOXES])} from step {first} on")
            + ": the last box is paid, so the model may have learned to try several answers; read some responses"
        )
    return tuple(lines)


def _percent(share: float) -> str:
    """As 31 %. Never rounded to 100 or 0 from anything else."""
    near = 0 < share < 0.005 or 0.995 <= share < 1
    return f"{min(max(100 * share, 0.1), 99.9):.1f} %" if near else f"{100 * share:.0f} %"

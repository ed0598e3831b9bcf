"""The mismatch of sampler and trainer: vLLM's probabilities of its own samples differ slightly from the trainer's.

With p the trainer's and q the sampler's probability of a sampled token, r = p / q. All means are over the tokens of a
step, which the sampler chose, so each estimates an expectation under q.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

BEYOND = 2.0  # a ratio above it, or below its inverse, counts as beyond
MISMATCH_METRICS = (
    "train/mismatch_kl",
    "train/mismatch_chi2",
    "train/mismatch_ess",
    "train/mismatch_max_logp_gap",
    "train/mismatch_share_beyond",
    "train/mismatch_mean_ratio",
)
ROUNDING, OTHER, OMITTED = 2e-3, 1e-2, 0.02  # above which a step is flagged: |log r|, nats of KL, 1 - mean of r


def mismatch_metrics(logp: Tensor, rollout_logp: Tensor, mask: Tensor) -> dict[str, float]:
    """MLflow name -> value, of MISMATCH_METRICS. Empty without a token that the sampler gave a probability.

    kl: mean of r - 1 - log r, the k3 estimate of KL(q || p), nats. chi2: mean of r^2, minus 1.
    ess: (sum r)^2 / (n sum r^2), in (0, 1]. max_logp_gap: largest |log r|.
    share_beyond: share of tokens with r > BEYOND or r < 1 / BEYOND. mean_ratio: of r, the mass under p of q's support,
        so 1 if the sampler excludes nothing.

    Args:
        logp: [B, T], of the sampling policy, computed by the trainer. rollout_logp: [B, T], by the sampler, or NaN
            where it gave none. mask: [B, T].
    """
    gap = (logp - rollout_logp).detach().double()[mask]
    gap = gap[~gap.isnan()]
    if not gap.numel():
        return {}
    ratio = gap.exp()
    squares = (ratio**2).mean()
    values = (
        (ratio - 1 - gap).mean(),
        squares - 1,
        ratio.mean() ** 2 / squares,
        gap.abs().max(),
        ((ratio > BEYOND) | (ratio < 1 / BEYOND)).double().mean(),
        ratio.mean(),
    )
    return {name: value.item() for name, value in zip(MISMATCH_METRICS, values, strict=True)}


FLAGS = {
    "other_policy": "the sampler is another policy than the trainer's: stale weights, say, or another temperature",
    "omitted": "the sampler leaves out tokens that the trainer counts: top_p, top_k or min_p, say",
    "rounding": "the sampler is a little off the trainer: another precision or other kernels, or weights just stale",
}


def mismatch_flag(metrics: Mapping[str, float]) -> str | None:
    """The key in FLAGS that describes a step's mismatch, or None if there is none, or it was not measured.

    A sampler that only rounds differently has |log r| up to about 0.1 and a KL of thousandths. A sampler that excludes
    tokens has r = the kept mass on every token, so the mean of r is below 1. A sampler with other weights or another
    temperature can sample every token, so the mean of r stays near 1, but its KL is larger.
    """
    values = [metrics.get(f"train/mismatch_{name}") for name in ("kl", "max_logp_gap", "mean_ratio")]
    kl, gap, ratio = values
    if kl is None or gap is None or gap <= ROUNDING:
        return None
    if ratio is not None and ratio < 1 - OMITTED:
        return "omitted"
    return "other_policy" if kl > OTHER else "rounding"


def mismatch_summary(steps: Mapping[int, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Flag -> {"first_step", "steps" (how many), "worst_kl", "worst_logp_gap"} of a training's steps."""
    flags: dict[str, dict[str, float]] = {}
    for step, metrics in sorted(steps.items()):
        flag = mismatch_flag(metrics)
        if flag is not None:
            kl, gap = metrics["train/mismatch_kl"], metrics["train/mismatch_max_logp_gap"]
            row = flags.setdefault(flag, {"first_step": step, "steps": 0, "worst_kl": kl, "worst_logp_gap": gap})
            row["steps"] += 1
            row["worst_kl"], row["worst_logp_gap"] = max(row["worst_kl"], kl), max(row["worst_logp_gap"], gap)
    return flags

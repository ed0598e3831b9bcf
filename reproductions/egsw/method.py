"""Entropy-Guided Sequence Weighting (arXiv 2503.22456): softmax weights over the sequences of a batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from harness.spec.equation import relates, stage
from harness.spec.ranges import Count, Positive
from harness.step.batch import TokenBatch, reads
from harness.step.segments import segment_softmax, segment_sum

if TYPE_CHECKING:
    from torch import Tensor


EntropyReading = Literal["raw", "log_vocab", "min_max", "z_score"]


def _block_size(values: Mapping[str, object]) -> str | None:
    size, over = values.get("micro_batch"), values["over"]
    if (size is not None) == (over == "micro_batch"):
        return None
    return f"micro_batch: expected a number of sequences with over='micro_batch', else null, got {size} with {over!r}"


@relates(_block_size)
@stage("weights")
@reads("entropies")
def egsw(
    batch: TokenBatch,
    *,
    alpha: float,
    temperature: Positive,
    level: Literal["step", "trajectory"],
    entropy: EntropyReading,
    over: Literal["batch", "group", "micro_batch"],
    rescale: Literal["none", "mean_one"],
    micro_batch: Count | None = None,
) -> Tensor:
    """w_{i,t} = softmax over sequences i of (A_{i,t} + alpha H_{i,t}) / P  (Eq. 6 and 9). The weight multiplies the
    whole gradient term, KL included (Eq. 10).

    Args:
        alpha: scale of the entropy term. temperature: P > 0, the paper's temperature of the softmax.
        level: "step" weighs each position t over the sequences still running at t. "trajectory" gives a sequence one
            weight, from its advantage and H_i = sum_t H_{i,t} (Eq. 8).
        entropy: the paper says "raw" and "normalised" without a formula. See `read_entropy`.
        over: the sequences that share one softmax: the whole batch (the paper's N), those of one prompt, or
            `micro_batch` consecutive sequences of the batch (prompts in order, the last block may be smaller), whatever
            forward passes the machine uses.
        rescale: "none" as printed, so the gradient shrinks by about the number of sequences. "mean_one" multiplies by
            the number of sequences that share the softmax, so the mean weight is 1.
    Returns:
        [B, T], >= 0, 0 on masked positions.
    Raises:
        ValueError: a value is out of range, or entropies or advantages are missing.
    """
    advantages, entropies = batch.need("advantages"), batch.need("entropies")
    valid = batch.mask & entropies.isfinite()  # a token without an entropy has weight 0 and changes no other's
    entropies = entropies.masked_fill(~valid, 0.0)
    if level == "trajectory":
        valid = valid & (valid == batch.mask).all(1, keepdim=True)  # H_i needs the entropy of every token
        lengths = valid.sum(1, keepdim=True)
        advantages = (advantages * valid).sum(1, keepdim=True) / lengths.clamp(min=1)  # one value per sequence already
        entropies = (entropies * valid).sum(1, keepdim=True)
        valid = lengths > 0
    readings = read_entropy(entropies, valid, entropy, vocab_size=batch.vocab_size)
    ids = _sharing(batch.groups, over, micro_batch)
    weights = segment_softmax((advantages + alpha * readings) / temperature, valid, ids)
    if rescale == "mean_one":
        weights = weights * segment_sum(valid.to(weights.dtype), ids)
    return weights * batch.mask


def _sharing(groups: Tensor, over: str, micro_batch: int | None) -> Tensor:
    """[B] int64: sequences with the same number share a softmax."""
    if over == "group":
        return groups
    everything = groups * 0
    if over == "batch" or micro_batch is None:
        return everything
    return (everything + 1).cumsum(0).sub(1).div(micro_batch, rounding_mode="floor")


def read_entropy(entropies: Tensor, valid: Tensor, reading: EntropyReading, *, vocab_size: int) -> Tensor:
    """Raw entropy, or one of the readings of "normalised entropy" that the paper leaves open (section 5).

    raw: H, in nats. log_vocab: H / log |V|. min_max: (H - min) / (max - min). z_score: (H - mean) / std with the
    population std. Both over all valid entries of the batch, and 0 where these are all equal.

    Args:
        entropies, valid: [B, C] (C = T for steps, 1 for trajectories). Valid is bool.
    Returns:
        [B, C], 0 where not valid.
    """
    if reading == "raw":
        values = entropies
    elif reading == "log_vocab":
        values = entropies / math.log(vocab_size)
    else:
        valid_entropies = entropies[valid]
        if valid_entropies.numel() == 0 or valid_entropies.max() == valid_entropies.min():
            return entropies * 0.0
        if reading == "min_max":
            values = (entropies - valid_entropies.min()) / (valid_entropies.max() - valid_entropies.min())
        elif reading == "z_score":
            values = (entropies - valid_entropies.mean()) / valid_entropies.std(correction=0)
        else:
            raise ValueError(f"entropy: expected raw, log_vocab, min_max or z_score, got {reading!r}")
    return values.masked_fill(~valid, 0.0)

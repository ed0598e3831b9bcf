"""Sampling for a small Qwen2 on a CPU: the same tokens as transformers' `generate`, in less time.

The logits come from `small_qwen`; a prompt is read once for all of its responses, and ended responses leave the batch.
The random numbers are those of `generate`: the same numbers from torch's global generator in the same order, even for
ended responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softmax

from evals.sampling.engines.small_qwen import SmallReading, applies

__all__ = ["applies", "sample"]

LEAST_ROWS = 16  # a smaller matrix product uses a kernel that rounds differently


@torch.no_grad()
def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    *,
    max_tokens: int,
    stop_tokens: Sequence[int],
    temperature: float = 1.0,
) -> list[list[int]]:
    """One response for each prompt, from the full distribution; includes the end token.

    Args:
        model: `applies` to it.
    Raises:
        RuntimeError: as torch.multinomial: a probability is not finite.
    """
    stop = torch.tensor(stop_tokens)
    distinct = list(dict.fromkeys(map(tuple, prompts)))
    index = {prompt: i for i, prompt in enumerate(distinct)}
    reading = SmallReading.of_prompts(model, distinct, max_tokens)
    reading = reading.of(torch.tensor([index[tuple(prompt)] for prompt in prompts]))
    rows = torch.arange(len(prompts))
    lengths = torch.full((len(prompts),), max_tokens)
    out = torch.empty(len(prompts), max_tokens, dtype=torch.long)
    noise = torch.empty(len(prompts), reading.logits.shape[1])
    for step in range(max_tokens):
        chosen = _choose(reading.logits / temperature, noise.exponential_(), rows)
        out[rows, step] = chosen
        ended = torch.isin(chosen, stop) & (lengths[rows] > step)
        lengths[rows[ended]] = step + 1
        running = lengths[rows] > step + 1
        left = int(running.sum())
        if left == 0 or step + 1 == max_tokens:
            break
        if max(left, LEAST_ROWS) <= len(rows) * 3 // 4:
            keep = running.int().argsort(descending=True, stable=True)[: max(left, LEAST_ROWS)]
            rows, chosen, reading = rows[keep], chosen[keep], reading.of(keep)
        reading.read(chosen)
    return [row[:n] for row, n in zip(out.tolist(), lengths.tolist(), strict=True)]


def _choose(logits: Tensor, noise: Tensor, rows: Tensor) -> Tensor:
    """The token of each row, as torch.multinomial chooses it: the largest p / e, where e is exponential `noise` for
    each token of each row of the whole batch; `rows` are still being sampled."""
    probabilities = softmax(logits, dim=-1)
    if not bool(torch.isfinite(probabilities).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    return (probabilities / (noise if len(rows) == len(noise) else noise[rows])).argmax(-1)

"""A model's state after reading rows: its key-value cache, and the logits of each row's next token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class Reading(Protocol):
    """Rows that a model has read, and the `logits` [R, V] of their next tokens."""

    logits: Tensor

    def of(self, rows: Tensor) -> Reading:
        """These rows, in this order; only one of the two readings may be used afterwards."""
        ...

    def read(self, tokens: Tensor) -> None:
        """Read one token more of each row, [R]: `logits` are then those after it."""
        ...


def read_prompts(model: Any, prompts: Sequence[tuple[int, ...]], room: int, pad_token: int) -> Reading:
    """Read every distinct prompt once; the cache is then copied for the rows that share it.

    Args:
        room: the most tokens that will be read after a prompt.
    """
    import torch

    from evals.sampling.engines import small_qwen

    index: dict[tuple[int, ...], int] = {}
    of = torch.tensor([index.setdefault(prompt, len(index)) for prompt in prompts], device=model.device)
    distinct = list(index)
    if small_qwen.applies(model):
        return small_qwen.SmallReading.of_prompts(model, distinct, room).of(of)
    return _ModelReading.of_prompts(model, distinct, room, pad_token).of(of)


class _ModelReading:
    """A reading by the model's own forward pass and cache. `mask` [R, longest + room] is 0 on padding."""

    def __init__(self, model: Any, logits: Tensor, cache: Any, mask: Tensor, position: Tensor, length: int) -> None:
        self.model, self.logits, self.cache = model, logits, cache
        self.mask, self.position, self.length = mask, position, length

    @classmethod
    def of_prompts(cls, model: Any, prompts: Sequence[tuple[int, ...]], room: int, pad_token: int) -> _ModelReading:
        import torch

        from evals.sampling.engines.small_qwen import read_padded

        logits, cache, mask = read_padded(model, prompts, pad_token)
        whole = torch.cat([mask, mask.new_ones(len(prompts), room)], dim=1)
        return cls(model, logits, cache, whole, mask.sum(1), mask.shape[1])

    def of(self, rows: Tensor) -> _ModelReading:
        self.cache.batch_select_indices(rows)
        return _ModelReading(
            self.model, self.logits[rows], self.cache, self.mask[rows], self.position[rows], self.length
        )

    def read(self, tokens: Tensor) -> None:
        self.length += 1
        result = self.model(
            input_ids=tokens[:, None],
            attention_mask=self.mask[:, : self.length],
            position_ids=self.position[:, None],
            past_key_values=self.cache,
            use_cache=True,
        )
        self.position = self.position + 1
        self.logits = result.logits[:, -1]

"""A model's state after reading rows: its key-value cache, and the logits of each row's next token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import Cache, PreTrainedModel


class Reading:
    """Rows that a model has read, and the `logits` [R, V] of their next tokens.

    `mask` [R, longest + room] is 0 on padding, `position` [R] is each row's next one.
    """

    def __init__(
        self, model: PreTrainedModel, logits: Tensor, cache: Cache, mask: Tensor, position: Tensor, length: int
    ) -> None:
        self.model, self.logits, self.cache = model, logits, cache
        self.mask, self.position, self.length = mask, position, length

    @classmethod
    def of_prompts(
        cls, model: PreTrainedModel, prompts: Sequence[tuple[int, ...]], room: int, pad_token: int
    ) -> Reading:
        """Read every distinct prompt once, padded on the left. The cache is then copied for the rows that share it.

        Args:
            room: the most tokens that will be read after a prompt.
        """
        import torch
        from transformers import DynamicCache

        index: dict[tuple[int, ...], int] = {}
        rows = torch.tensor([index.setdefault(prompt, len(index)) for prompt in prompts], device=model.device)
        width = max(map(len, index))
        ids = torch.tensor([[pad_token] * (width - len(p)) + list(p) for p in index], device=model.device)
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in index], device=model.device)
        cache = DynamicCache(config=model.config)
        result = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1).clamp(min=0),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        whole = torch.cat([mask, mask.new_ones(len(index), room)], dim=1)
        return cls(model, result.logits[:, -1], cache, whole, mask.sum(1), width).select(rows)

    def select(self, rows: Tensor) -> Reading:
        """These rows, in this order. Only one of the two readings may be used afterwards."""
        self.cache.batch_select_indices(rows)
        return Reading(self.model, self.logits[rows], self.cache, self.mask[rows], self.position[rows], self.length)

    def read(self, tokens: Tensor) -> None:
        """Read one token more of each row, [R]: `logits` are then those after it."""
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

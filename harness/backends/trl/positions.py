"""Position ids for prompts that are padded on the left.

TRL's own passes give none. A model then counts the padding: its first token stands at the padding's length. A rotary
model reads only differences of positions, so it is equal there but for rounding. A model with absolute positions, such
as GPT-2, is another model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def positioned(model: PreTrainedModel) -> Callable[..., Any]:
    """The model's forward pass. Unless its positions are rotary, a row counts from 0 at its first token.

    A model whose pass takes no position ids is left as it is: it has none, or derives them from the mask.

    Args:
        model: bare, or wrapped by an adapter, DDP or DeepSpeed.
    """
    bare = getattr(model, "module", model)
    bare = bare.get_base_model() if hasattr(bare, "get_base_model") else bare
    if rotary(bare.config) or "position_ids" not in inspect.signature(bare.forward).parameters:
        return model  # type: ignore[no-any-return]

    def forward(*, attention_mask: Any, **inputs: Any) -> Any:
        """`attention_mask`: [b, T], 0 on padding."""
        positions = (attention_mask.cumsum(1) - 1).clamp(min=0)
        return model(attention_mask=attention_mask, position_ids=positions, **inputs)

    return forward


def rotary(config: Any) -> bool:
    """Whether a transformers configuration has the parameters of rotary positions."""
    return getattr(config.get_text_config(), "rope_parameters", None) is not None

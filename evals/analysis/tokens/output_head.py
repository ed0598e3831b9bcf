"""A causal language model in two parts: the body, up to the hidden states, and the output head, up to the logits.

Apart, the head can be given a few positions at a time, and the logits of a whole response (4,096 tokens of 151,936
numbers are 2.5 GB) are never in memory together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

_PROBE = 8  # tokens that both ways of computing logits are compared on
_TOLERANCE = {"float64": 1e-9, "float32": 1e-4}  # relative to the largest logit; other types are coarser
_COARSE = 0.03


@dataclass(frozen=True)
class SplitModel:
    """`logits(hidden_states(ids))` are the model's logits. Made by `split`, which checks just that."""

    model: Any
    projection: Any
    factor: float
    cap: float | None

    def hidden_states(self, ids: Tensor) -> Tensor:
        """[B, T] token ids, padded on the right with anything -> [B, T, d].

        No mask is needed: a causal model does not see what stands to the right.
        """
        states: Tensor = self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        return states

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., d] -> [..., V], scaled and capped as the architecture has it."""
        logits: Tensor = self.projection(hidden)
        if self.factor != 1:
            logits = logits * self.factor
        return logits if self.cap is None else self.cap * (logits / self.cap).tanh()


def split(model: Any, probe: Tensor) -> SplitModel:
    """The parts of a model, checked against the whole on a few tokens.

    Args:
        model: a transformers causal language model. probe: [1, T], some tokens (the first 8 are used).
    Raises:
        ValueError: the parts do not make up the model: it does more between hidden states and logits than to project,
            scale and cap, so that its logits cannot be computed a few positions at a time here.
    """
    import torch

    what = f"{type(model).__name__} ({model.config.model_type})"
    projection = model.get_output_embeddings()
    if projection is None or model.base_model is model:
        raise ValueError(f"{what}: expected a causal language model with a body and an output projection")
    parts = SplitModel(model, projection, *_scale_and_cap(model))
    with torch.inference_mode():
        ids = probe[:, :_PROBE].to(model.device)
        whole = model(input_ids=ids, use_cache=False).logits.double()
        ours = parts.logits(parts.hidden_states(ids)).double()
        tolerance = _TOLERANCE.get(str(model.dtype).removeprefix("torch."), _COARSE) * whole.abs().max()
        if ours.shape != whole.shape or not (ours - whole).abs().max() <= tolerance:
            raise ValueError(
                f"{what}: its logits are not those of its output layer (scaled or capped) on its hidden states; "
                "expected an architecture of that kind"
            )
    return parts


def _scale_and_cap(model: Any) -> tuple[float, float | None]:
    """What is done to the projection: multiplied (Cohere, Granite, Falcon-H1), then capped by tanh (Gemma)."""
    config = model.config.get_text_config()
    factor = float(getattr(config, "logit_scale", None) or 1.0)
    factor *= float(getattr(config, "lm_head_multiplier", None) or 1.0)
    factor /= float(getattr(config, "logits_scaling", None) or 1.0)
    cap = getattr(config, "final_logit_softcapping", None)
    return factor, None if cap is None else float(cap)

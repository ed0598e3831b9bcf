"""Next tokens of a small Qwen2 on a CPU: the logits of transformers' cached forward pass, in less time.

With two layers of width 128, transformers spends most of a step outside the arithmetic: masks, checks, module calls,
and a copy of the whole cache for every token. Here the cache is written in place and the rotations are computed once;
the sums are the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding, linear, scaled_dot_product_attention


def applies(model: Any) -> bool:
    """Whether `SmallReading` computes what this model computes: a plain Qwen2 in float32 on a CPU."""
    from transformers import Qwen2ForCausalLM

    if type(model) is not Qwen2ForCausalLM or model.device.type != "cpu" or model.dtype != torch.float32:
        return False
    if model.is_gradient_checkpointing:  # which has no cache
        return False
    for module in model.modules():  # an adapter, or a hook
        plain = type(module).__module__.startswith(("torch.nn.modules.", "transformers."))
        if not plain or module._forward_hooks or module._forward_pre_hooks:
            return False
    c = model.config
    return (
        c._attn_implementation == "sdpa"
        and c.num_key_value_heads == c.num_attention_heads
        and set(c.layer_types) == {"full_attention"}
        and c.rope_parameters["rope_type"] == "default"
    )


def read_padded(model: Any, prompts: Sequence[Sequence[int]], pad_token: int) -> tuple[Tensor, Any, Tensor]:
    """The model's own pass over prompts padded on the left: logits after each [B, V], its cache, the mask [B, T]."""
    from transformers import DynamicCache

    width = max(map(len, prompts))
    ids = torch.tensor([[pad_token] * (width - len(p)) + list(p) for p in prompts], device=model.device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=model.device)
    cache = DynamicCache(config=model.config)
    result = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=(mask.cumsum(1) - 1).clamp(min=0),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return result.logits[:, -1], cache, mask


class SmallReading:
    """Rows that a model has read, and their next tokens' `logits` [B, V].

    The cache holds keys and values of every layer, [layers, B, heads, room, width], of which `filled` positions are in
    use; `mask` [B, 1, 1, room] says which positions hold a token, `position` [B] is each row's next one, and `turns`
    are the cosines and sines of all positions, [room, width] each.
    """

    def __init__(
        self,
        model: Any,
        logits: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        position: Tensor,
        filled: int,
        turns: tuple[Tensor, Tensor],
    ) -> None:
        self.model = model
        self.logits, self.keys, self.values = logits, keys, values
        self.mask, self.position, self.filled, self.turns = mask, position, filled, turns

    @classmethod
    def of_prompts(cls, model: Any, prompts: Sequence[Sequence[int]], room: int) -> SmallReading:
        """Read each prompt, padded on the left, with room for as many tokens more.

        Args:
            model: `applies` to it.
        """
        logits, past, mask = read_padded(model, prompts, pad_token=0)  # masked positions may have any token
        width, layers = mask.shape[1], past.layers
        shape = (len(layers), len(prompts), layers[0].keys.shape[1], width + room, layers[0].keys.shape[3])
        keys, values = torch.empty(shape), torch.empty(shape)
        for i, layer in enumerate(layers):
            keys[i, :, :, :width], values[i, :, :, :width] = layer.keys, layer.values
        whole = torch.cat([mask, mask.new_ones(len(prompts), room)], dim=1).bool()[:, None, None]
        cos, sin = model.model.rotary_emb(keys, torch.arange(width + room)[None])
        return cls(model, logits, keys, values, whole, mask.sum(1), width, (cos[0], sin[0]))

    def of(self, rows: Tensor) -> SmallReading:
        """These rows, in this order."""
        shape = (self.keys.shape[0], len(rows), *self.keys.shape[2:])
        keys, values, used = torch.empty(shape), torch.empty(shape), self.filled
        keys[:, :, :, :used] = self.keys[:, :, :, :used].index_select(1, rows)
        values[:, :, :, :used] = self.values[:, :, :, :used].index_select(1, rows)
        return SmallReading(
            self.model, self.logits[rows], keys, values, self.mask[rows], self.position[rows], self.filled, self.turns
        )

    def read(self, tokens: Tensor) -> None:
        """Read one token more of each row, [B]: `logits` are then those after it."""
        body, rows, at = self.model.model, len(tokens), self.filled
        hidden = embedding(tokens[:, None], body.embed_tokens.weight)
        cos, sin = (turn[self.position][:, None, None] for turn in self.turns)
        mask = self.mask[:, :, :, : at + 1]
        for i, layer in enumerate(body.layers):
            attention, mlp, keys, values = layer.self_attn, layer.mlp, self.keys[i], self.values[i]
            normed = _norm(layer.input_layernorm, hidden)
            query, key, value = (
                linear(normed, project.weight, project.bias).view(rows, 1, -1, attention.head_dim).transpose(1, 2)
                for project in (attention.q_proj, attention.k_proj, attention.v_proj)
            )
            keys[:, :, at : at + 1] = key * cos + _rotated(key) * sin
            values[:, :, at : at + 1] = value
            mixed = scaled_dot_product_attention(
                query * cos + _rotated(query) * sin,
                keys[:, :, : at + 1],
                values[:, :, : at + 1],
                attn_mask=mask,
                scale=attention.scaling,
            )
            hidden = hidden + linear(mixed.transpose(1, 2).reshape(rows, 1, -1), attention.o_proj.weight)
            normed = _norm(layer.post_attention_layernorm, hidden)
            gate = mlp.act_fn(linear(normed, mlp.gate_proj.weight))
            hidden = hidden + linear(gate * linear(normed, mlp.up_proj.weight), mlp.down_proj.weight)
        self.filled += 1
        self.position = self.position + 1
        self.logits = linear(_norm(body.norm, hidden), self.model.lm_head.weight, self.model.lm_head.bias)[:, -1]


def _norm(norm: Any, hidden: Tensor) -> Tensor:
    scaled: Tensor = hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)
    normed: Tensor = norm.weight * scaled
    return normed


def _rotated(states: Tensor) -> Tensor:
    """The other half of each pair that a rotation turns."""
    first, second = states.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)

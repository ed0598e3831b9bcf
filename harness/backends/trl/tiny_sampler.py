"""Sampling for a small Qwen2 on a CPU: the tokens of transformers' `generate`, in less time.

With two layers of width 128 `generate` spends most of its time on what is around the arithmetic: masks, checks, and a
copy of the whole cache for every token. Here the cache is written in place, a prompt is read once for the responses to
it, and responses that have ended leave the batch. The random numbers are those of `generate`: torch's global generator
is asked for the same numbers in the same order, also for responses that have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention, softmax

LEAST_ROWS = 16  # a smaller product of matrices is another kernel of the library, and rounds otherwise


def applies(model: Any) -> bool:
    """Whether `sample` computes what this model computes: a plain Qwen2 in float32 on a CPU."""
    from transformers import Qwen2ForCausalLM

    if type(model) is not Qwen2ForCausalLM or model.device.type != "cpu" or model.dtype != torch.float32:
        return False
    if model.is_gradient_checkpointing:  # which has no cache
        return False
    c = model.config
    return (
        c._attn_implementation == "sdpa"
        and c.num_key_value_heads == c.num_attention_heads
        and set(c.layer_types) == {"full_attention"}
        and c.rope_parameters["rope_type"] == "default"
    )


@torch.no_grad()
def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    *,
    max_tokens: int,
    stop_tokens: Sequence[int],
    temperature: float = 1.0,
) -> list[list[int]]:
    """One response for each prompt, from the whole distribution; the token that ended it included.

    Args:
        model: `applies` to it.
    Raises:
        RuntimeError: as torch.multinomial's, where a probability is not finite.
    """
    stop = torch.tensor(stop_tokens)
    distinct = list(dict.fromkeys(map(tuple, prompts)))
    index = {prompt: i for i, prompt in enumerate(distinct)}
    logits, cache = _read(model, distinct, max_tokens)
    of = torch.tensor([index[tuple(prompt)] for prompt in prompts])
    logits, cache = logits[of], cache.of(of)
    rows = torch.arange(len(prompts))
    lengths = torch.full((len(prompts),), max_tokens)
    out = torch.empty(len(prompts), max_tokens, dtype=torch.long)
    noise = torch.empty(len(prompts), logits.shape[1])
    for step in range(max_tokens):
        chosen = _choose(logits / temperature, noise.exponential_(), rows)
        out[rows, step] = chosen
        ended = torch.isin(chosen, stop) & (lengths[rows] > step)
        lengths[rows[ended]] = step + 1
        running = lengths[rows] > step + 1
        left = int(running.sum())
        if left == 0 or step + 1 == max_tokens:
            break
        if max(left, LEAST_ROWS) <= len(rows) * 3 // 4:
            keep = running.int().argsort(descending=True, stable=True)[: max(left, LEAST_ROWS)]
            rows, chosen, cache = rows[keep], chosen[keep], cache.of(keep)
        logits = _next(model, chosen, cache)
    return [row[:n] for row, n in zip(out.tolist(), lengths.tolist(), strict=True)]


class _Cache:
    """Keys and values of every layer, [layers, B, heads, room, width], of which `filled` positions are in use; the mask
    [B, 1, 1, room] of the positions that hold a token; and each row's next position."""

    def __init__(self, keys: Tensor, values: Tensor, mask: Tensor, position: Tensor, filled: int) -> None:
        self.keys, self.values, self.mask, self.position, self.filled = keys, values, mask, position, filled

    def of(self, rows: Tensor) -> _Cache:
        """The cache of these rows."""
        shape = (self.keys.shape[0], len(rows), *self.keys.shape[2:])
        keys, values, used = torch.empty(shape), torch.empty(shape), self.filled
        keys[:, :, :, :used] = self.keys[:, :, :, :used].index_select(1, rows)
        values[:, :, :, :used] = self.values[:, :, :, :used].index_select(1, rows)
        return _Cache(keys, values, self.mask[rows], self.position[rows], self.filled)


def _read(model: Any, prompts: Sequence[tuple[int, ...]], room: int) -> tuple[Tensor, _Cache]:
    """Logits [B, V] after each prompt, and the cache, with room for as many tokens more."""
    from transformers import DynamicCache

    width, pad = max(map(len, prompts)), 0  # what is masked may be any token
    ids = torch.tensor([[pad] * (width - len(p)) + list(p) for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    past = DynamicCache(config=model.config)
    result = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=past,
        use_cache=True,
        logits_to_keep=1,
    )
    layers = past.layers
    shape = (len(layers), len(prompts), layers[0].keys.shape[1], width + room, layers[0].keys.shape[3])
    keys, values = torch.empty(shape), torch.empty(shape)
    for i, layer in enumerate(layers):
        keys[i, :, :, :width], values[i, :, :, :width] = layer.keys, layer.values
    whole = torch.cat([mask, mask.new_ones(len(prompts), room)], dim=1).bool()[:, None, None]
    return result.logits[:, -1], _Cache(keys, values, whole, mask.sum(1), width)


def _next(model: Any, tokens: Tensor, cache: _Cache) -> Tensor:
    """Logits [B, V] after these tokens [B], which enter the cache."""
    body, rows, at = model.model, len(tokens), cache.filled
    hidden = body.embed_tokens(tokens[:, None])
    cos, sin = body.rotary_emb(hidden, cache.position[:, None])
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    mask = cache.mask[:, :, :, : at + 1]
    for i, layer in enumerate(body.layers):
        attention, keys, values = layer.self_attn, cache.keys[i], cache.values[i]
        normed = layer.input_layernorm(hidden)
        query, key, value = (
            project(normed).view(rows, 1, -1, attention.head_dim).transpose(1, 2)
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
        hidden = hidden + attention.o_proj(mixed.transpose(1, 2).reshape(rows, 1, -1))
        hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
    cache.filled += 1
    cache.position = cache.position + 1
    logits: Tensor = model.lm_head(body.norm(hidden))[:, -1]
    return logits


def _rotated(states: Tensor) -> Tensor:
    """The other half of each pair that a rotation turns."""
    first, second = states.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def _choose(logits: Tensor, noise: Tensor, rows: Tensor) -> Tensor:
    """The token of each row, as torch.multinomial chooses it: the largest p / e, with e from an exponential
    distribution, one for each token of each row of the whole batch (`noise`, of which `rows` are still sampled)."""
    probabilities = softmax(logits, dim=-1)
    if not bool(torch.isfinite(probabilities).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    return (probabilities / (noise if len(rows) == len(noise) else noise[rows])).argmax(-1)

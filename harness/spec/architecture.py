"""Shapes of language models: parameters, cache and active parameters follow from them. Pure. No weights are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Architecture:
    """A decoder of the Llama and Qwen family: grouped-query attention, SwiGLU, RMSNorm.

    Args:
        intermediate: width of the feed-forward layer; of one expert where there are `experts`.
        tied: the output head shares the embedding's weights.
        experts, active_experts: of a mixture of experts, and how many process a token. 1 for a dense model.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied: bool
    experts: int = 1
    active_experts: int = 1

    @property
    def attention(self) -> int:
        """Parameters of one attention layer, without biases."""
        return self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)

    def _layer(self, experts: int) -> int:
        router = self.hidden * self.experts if self.experts > 1 else 0
        return self.attention + experts * 3 * self.hidden * self.intermediate + router + 2 * self.hidden

    @property
    def layer(self) -> int:
        """Parameters of one layer, all experts."""
        return self._layer(self.experts)

    @property
    def embeddings(self) -> int:
        """Parameters of the embedding and, where it is not tied, the output head."""
        return self.vocab * self.hidden * (1 if self.tied else 2)

    @property
    def parameters(self) -> int:
        return self.layers * self.layer + self.embeddings + self.hidden

    @property
    def active(self) -> int:
        """Parameters that multiply a token: the layers with its experts, and the output head."""
        return self.layers * self._layer(self.active_experts) + self.vocab * self.hidden

    def lora(self, rank: int) -> int:
        """Parameters of LoRA of this rank on all linear layers but the head."""
        q, kv, h, i = self.heads * self.head_dim, self.kv_heads * self.head_dim, self.hidden, self.intermediate
        return self.layers * rank * ((h + q) * 2 + (h + kv) * 2 + self.experts * 3 * (h + i))

    def cache(self, bytes_each: int = 2) -> int:
        """Bytes of the key-value cache for one token."""
        return 2 * self.layers * self.kv_heads * self.head_dim * bytes_each


MODELS = Path(__file__).with_name("models.json")
TINY_MODELS = Path(__file__).resolve().parents[1] / "data" / "tiny" / "models"  # a folder each


@cache
def known() -> dict[str, dict[str, Any]]:
    """Hub id -> `source` and `config`: what is known here of a model's config.json, and from where.

    All of the file where a public copy with a commit was found, else the fields with a source.
    """
    return dict(json.loads(MODELS.read_text(encoding="utf-8")))


def configuration(base_model: str) -> Mapping[str, Any] | None:
    """The fields of a base model's config.json: known by name, of a local folder, or in the hub's cache on this
    machine. None: not known."""
    known_fields: Mapping[str, Any] = known().get(base_model, {}).get("config", {})
    pinned = TINY_MODELS / base_model / "config.json"
    file_fields = _read(pinned if pinned.is_file() else Path(base_model) / "config.json")
    if (
        file_fields is None and "architectures" not in known_fields and base_model.count("/") == 1
    ):  # else all of the file is known
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(base_model, "config.json")
        file_fields = _read(Path(cached)) if isinstance(cached, str) else None
    return {**(file_fields or {}), **known_fields} or None


def architecture(base_model: str) -> Architecture | None:
    """The shape of a declared base model. None: not known, or another family."""
    return shape(configuration(base_model) or {})


def positions(base_model: str) -> int | None:
    """Tokens of prompt and response that a base model's own configuration allows. None: not known on this machine."""
    return (configuration(base_model) or {}).get("max_position_embeddings")


def _read(path: Path) -> Mapping[str, Any] | None:
    """The object in a JSON file, or None if there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return None
    return content if isinstance(content, dict) else None


def shape(config: Mapping[str, Any]) -> Architecture | None:
    """The shape in the fields of a transformers config.json, or None for other families."""
    try:
        c, heads = config, config["num_attention_heads"]
        experts = c.get("num_experts", 1) or 1
        return Architecture(
            layers=c["num_hidden_layers"],
            hidden=c["hidden_size"],
            intermediate=c["moe_intermediate_size"] if experts > 1 else c["intermediate_size"],
            heads=heads,
            kv_heads=c.get("num_key_value_heads") or heads,
            head_dim=c.get("head_dim") or c["hidden_size"] // heads,
            vocab=c["vocab_size"],
            tied=bool(c.get("tie_word_embeddings", False)),
            experts=experts,
            active_experts=c.get("num_experts_per_tok", 1) if experts > 1 else 1,
        )
    except (KeyError, TypeError):
        return None

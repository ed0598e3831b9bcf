"""Shapes of language models: parameters, cache and active parameters follow from them. Pure; no weights are read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Architecture:
    """A decoder of the Llama and Qwen family: grouped-query attention, SwiGLU, RMSNorm.

    Args:
        intermediate: width of the feed-forward layer; of one expert where there are `experts`.
        tied: the output head shares the embedding's weights.
        experts, active_experts: of a mixture of experts, and how many process a token; 1 for a dense model.
        positions: tokens of prompt and response that the configuration allows; None: not known.
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
    positions: int | None = None

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


# Each model's config.json on the hub, in the order of the fields above.
QWEN25_05B = Architecture(24, 896, 4864, 14, 2, 64, 151936, True)
QWEN25_15B = Architecture(28, 1536, 8960, 12, 2, 128, 151936, True)
QWEN25_3B = Architecture(36, 2048, 11008, 16, 2, 128, 151936, True)
QWEN25_7B = Architecture(28, 3584, 18944, 28, 4, 128, 152064, False)
QWEN25_14B = Architecture(48, 5120, 13824, 40, 8, 128, 152064, False)
QWEN25_32B = Architecture(64, 5120, 27648, 40, 8, 128, 152064, False)
QWEN3_06B = Architecture(28, 1024, 3072, 16, 8, 128, 151936, True)
QWEN3_4B = Architecture(36, 2560, 9728, 32, 8, 128, 151936, True)
QWEN3_8B = Architecture(36, 4096, 12288, 32, 8, 128, 151936, False)
QWEN3_14B = Architecture(40, 5120, 17408, 40, 8, 128, 151936, False)
QWEN3_32B = Architecture(64, 5120, 25600, 64, 8, 128, 151936, False)
QWEN3_235B = Architecture(94, 4096, 1536, 64, 4, 128, 151936, False, 128, 8)
LLAMA31_8B = Architecture(32, 4096, 14336, 32, 8, 128, 128256, False)

KNOWN = {
    "Qwen/Qwen2.5-0.5B": QWEN25_05B,
    "Qwen/Qwen2.5-0.5B-Instruct": QWEN25_05B,
    "Qwen/Qwen2.5-1.5B": QWEN25_15B,
    "Qwen/Qwen2.5-1.5B-Instruct": QWEN25_15B,
    "Qwen/Qwen2.5-Math-1.5B": QWEN25_15B,
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": Architecture(28, 1536, 8960, 12, 2, 128, 151936, False),
    "Qwen/Qwen2.5-3B": QWEN25_3B,
    "Qwen/Qwen2.5-7B": QWEN25_7B,
    "Qwen/Qwen2.5-Math-7B": QWEN25_7B,
    "Qwen/Qwen2.5-Math-7B-Instruct": QWEN25_7B,
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B": QWEN25_7B,
    "Skywork/Skywork-OR1-7B": QWEN25_7B,
    "Skywork/Skywork-OR1-Math-7B": QWEN25_7B,
    "PRIME-RL/Eurus-2-7B-PRIME": QWEN25_7B,
    "sail/Qwen2.5-Math-7B-Oat-Zero": QWEN25_7B,
    "GD-ML/Qwen2.5-Math-7B-GPG": QWEN25_7B,
    "Qwen/Qwen2.5-14B": QWEN25_14B,
    "Qwen/Qwen2.5-32B": QWEN25_32B,
    "hkust-nlp/Qwen-2.5-32B-SimpleRL-Zoo": QWEN25_32B,
    "Qwen/Qwen3-0.6B": QWEN3_06B,
    "Qwen/Qwen3-0.6B-Base": QWEN3_06B,
    "Qwen/Qwen3-4B": QWEN3_4B,
    "Qwen/Qwen3-8B-Base": QWEN3_8B,
    "Qwen/Qwen3-14B-Base": QWEN3_14B,
    "Qwen/Qwen3-32B": QWEN3_32B,
    "Qwen/Qwen3-235B-A22B-Instruct-2507": QWEN3_235B,
    "meta-llama/Llama-3.1-8B": LLAMA31_8B,
}
TINY_MODELS = Path(__file__).resolve().parents[1] / "data" / "tiny" / "models"  # a folder each


def architecture(base_model: str) -> Architecture | None:
    """The shape of a declared base model: known by name, or read from a local folder's config.json; else None."""
    if base_model in KNOWN:
        return KNOWN[base_model]
    pinned = TINY_MODELS / base_model / "config.json"
    config = pinned if pinned.is_file() else Path(base_model) / "config.json"
    return read_config(config) if config.is_file() else None


POSITIONS = {  # where a public page prints the configuration's value; others are read before a run
    "Qwen/Qwen2.5-Math-1.5B": 4096,  # github.com/GAIR-NLP/ToRL issue 23
    "Qwen/Qwen2.5-Math-7B": 4096,  # github.com/TsinghuaC3I/Unify-Post-Training issue 5
    "Qwen/Qwen2.5-Math-7B-Instruct": 4096,  # github.com/huggingface/open-r1 issue 469
    "Qwen/Qwen3-0.6B": 40960,  # github.com/rasbt/reasoning-from-scratch issue 42
    "Qwen/Qwen3-32B": 40960,  # github.com/MiroMindAI/MiroTrain issue 5
}


def positions(base_model: str) -> int | None:
    """Tokens of prompt and response that a base model's own configuration allows; None: not known on this machine."""
    shape = architecture(base_model)
    if shape is not None and shape.positions is not None:
        return shape.positions
    if base_model in POSITIONS:
        return POSITIONS[base_model]
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(base_model, "config.json") if base_model.count("/") == 1 else None
    found = read_config(Path(cached)) if isinstance(cached, str) else None
    return None if found is None else found.positions


def read_config(path: Path) -> Architecture | None:
    """The shape in a transformers config.json; None for other families."""
    try:
        c = json.loads(path.read_text(encoding="utf-8"))
        heads = c["num_attention_heads"]
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
            positions=c.get("max_position_embeddings"),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OSError):
        return None

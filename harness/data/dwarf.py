"""A dwarf of a base model: its configuration with a few narrow layers, random weights and a small tokenizer, so that a
machine without GPUs can rehearse what is done with the model.

Of the model it has the family, positions, base of the rotary embedding, tied embeddings, number type, and Qwen's chat
format. What is not known here is the default of transformers' class (`sources` says which). The tokenizer has a token
for each word of the prompts, and answers as tokens, so that random responses are sometimes correct.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from evals.data.prompts import PROMPTS
from harness.spec.architecture import architecture, positions

CLASSES = (("Qwen/Qwen3-235B", "Qwen3Moe"), ("Qwen/Qwen3", "Qwen3"), ("meta-llama/", "Llama"), ("", "Qwen2"))
"""Beginning of a hub id -> transformers' class."""

ROPE = (
    ("Qwen/Qwen2.5-Math", 10_000.0, "github.com/huggingface/open-r1 issue 469"),
    ("Qwen/Qwen3-235B-A22B-Instruct-2507", 5_000_000.0, "github.com/radixark/miles pull 327"),
    ("Qwen/Qwen3", 1_000_000.0, "github.com/huggingface/trl pull 5716"),
)
"""Beginning of a hub id -> base of the rotary embedding, and the public page that prints it."""

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role + '\\n' + m.content }}<|im_end|>\\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\\n{% endif %}"
)
ANSWERS = (" \\boxed{1}", " \\boxed{2}", "\nAnswer: 1\n", "\nAnswer: 2\n", "\nAnswer: A\n", "\n#### 1\n", "\n#### 2\n")
FILLER = " so"  # a token
# heads of 32: vLLM has no smaller ones on a CPU
SIZE = {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 2, "head_dim": 32}


def sources(base_model: str) -> dict[str, str]:
    """What the dwarf's configuration has of the model, and where each value is from.

    Raises:
        ValueError: the shape of the model is not known here.
    """
    if architecture(base_model) is None:
        raise ValueError(f"the shape of {base_model} is not known here (harness.spec.architecture)")
    known = positions(base_model)
    rope = next((row for row in ROPE if base_model.startswith(row[0])), None)
    return {
        "class": next(name for start, name in CLASSES if base_model.startswith(start)),
        "positions": "transformers' default" if known is None else f"{known}, harness.spec.architecture",
        "rope_theta": "transformers' default" if rope is None else f"{rope[1]:g}, {rope[2]}",
        "tied, vocabulary": "harness.spec.architecture; its vocabulary is the small tokenizer's",
    }


def make(base_model: str, folder: Path, *, limit: int, seed: int = 0) -> Path:
    """Write the dwarf of a model into `folder`.

    Args:
        limit: tokens of a response; about a third of all responses reach it, the others end before.
    Raises:
        ValueError: as `sources`.
    """
    import torch
    import transformers

    kind, a = sources(base_model)["class"], architecture(base_model)
    assert a is not None
    tokenizer = _tokenizer()
    values: dict[str, Any] = {**SIZE, "num_key_value_heads": 1, "vocab_size": len(tokenizer)}
    if kind == "Qwen3Moe":
        values |= {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    if (known := positions(base_model)) is not None:
        values["max_position_embeddings"] = known
    if (rope := next((row for row in ROPE if base_model.startswith(row[0])), None)) is not None:
        values["rope_theta"] = rope[1]
    ends = {"pad_token_id": tokenizer.pad_token_id, "bos_token_id": None, "eos_token_id": tokenizer.eos_token_id}
    config = getattr(transformers, f"{kind}Config")(**values, **ends, tie_word_embeddings=a.tied, dtype="bfloat16")
    torch.manual_seed(seed)
    model = getattr(transformers, f"{kind}ForCausalLM")(config)
    _rarely_end(model, tokenizer.eos_token_id, len(tokenizer) / limit)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _rarely_end(model: Any, end: int, share: float) -> None:
    """Give the end token `share` of its uniform probability: every hidden state gets a large common part, and the
    output weights of the end token have less of it than the others."""
    import torch

    common = torch.ones(model.config.hidden_size)  # of length sqrt(hidden), as a normalised state
    with torch.no_grad():
        model.get_input_embeddings().weight += 4 * common
        head = model.get_output_embeddings().weight
        if head is not model.get_input_embeddings().weight:
            head += 4 * common
        head[end] -= math.log(1 / share) / model.config.hidden_size * common


def _tokenizer() -> Any:
    from harness.data.tiny.tokenizer import build_tokenizer

    texts = [text for prompt in PROMPTS.values() for text in (prompt.user, prompt.system or "")]
    words = sorted({word for text in texts for word in re.findall(r" ?[A-Za-z]{2,}", text)} - {FILLER})
    tokenizer = build_tokenizer([*ANSWERS, FILLER, *words])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]}, False)
    tokenizer.chat_template = CHAT
    return tokenizer

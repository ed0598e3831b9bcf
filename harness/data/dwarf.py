"""A dwarf of a base model: its own configuration with one narrow layer, random weights and a small tokenizer, so
that a machine without GPUs can rehearse what is done with the model.

Fields of the configuration that are unknown here (`harness/spec/models.json`) are the defaults of transformers' class.
The tokenizer has Qwen's chat format, a token for each word of the prompts, and answers as tokens, so that random
responses are sometimes correct.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.data.prompts import PROMPTS
from harness.errors import UsageError
from harness.spec.architecture import configuration

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role + '\\n' + m.content }}<|im_end|>\\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\\n{% endif %}"
)
ANSWERS = (" \\boxed{1}", " \\boxed{2}", "\nAnswer: 1\n", "\nAnswer: 2\n", "\nAnswer: A\n", "\n#### 1\n", "\n#### 2\n")
FILLER = " so"  # a token
SIZE = {  # heads of 32: vLLM has no smaller ones on a CPU
    **{"num_hidden_layers": 1, "hidden_size": 32, "intermediate_size": 32, "head_dim": 32},
    **{"num_attention_heads": 1, "num_key_value_heads": 1, "max_window_layers": 1},
}
OF_THE_FILE = ("model_type", "architectures", "transformers_version", "torch_dtype")  # not of the model


def make(base_model: str, folder: Path, *, limit: int) -> Path:
    """Write the dwarf of a model into `folder`.

    Args:
        limit: tokens of a response. About a third of all responses reach it, the others end before.
    Raises:
        UsageError: the configuration of the model is not known here.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    fields = configuration(base_model)
    if fields is None:
        raise UsageError(f"the configuration of {base_model} is not known here (harness/spec/models.json)")
    tokenizer = _tokenizer()
    kept = {key: value for key, value in fields.items() if key not in OF_THE_FILE}
    values: dict[str, Any] = {**kept, **SIZE, "vocab_size": len(tokenizer)}
    if "num_experts" in fields:
        values |= {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    ends = {"pad_token_id": tokenizer.pad_token_id, "bos_token_id": None, "eos_token_id": tokenizer.eos_token_id}
    config = AutoConfig.for_model(fields["model_type"], **(values | ends | {"dtype": "bfloat16"}))
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    _rarely_end(model, tokenizer.eos_token_id, len(tokenizer) / limit)
    disable_progress_bar()  # it shows one even if stderr is a file
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _rarely_end(model: PreTrainedModel, end: int, share: float) -> None:
    """Give the end token `share` of its uniform probability: every hidden state gets a large common part, and the
    output weights of the end token have less of it than the others."""
    import torch

    common = torch.ones(model.config.hidden_size)  # its length is sqrt(hidden), as a normalised state's
    with torch.no_grad():
        model.get_input_embeddings().weight += 4 * common
        head = model.get_output_embeddings().weight
        if head is not model.get_input_embeddings().weight:
            head += 4 * common
        head[end] -= math.log(1 / share) / model.config.hidden_size * common


def _tokenizer() -> PreTrainedTokenizerFast:
    from harness.data.tiny.tokenizer import build_tokenizer

    texts = [text for prompt in PROMPTS.values() for text in (prompt.user, prompt.system or "")]
    words = sorted({word for text in texts for word in re.findall(r" ?[A-Za-z]{2,}", text)} - {FILLER})
    tokenizer = build_tokenizer([*ANSWERS, FILLER, *words])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]}, False)
    tokenizer.chat_template = CHAT
    return tokenizer

"""A minuscule model, made from scratch: a character tokenizer with a chat template, and a random Qwen2."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|pad|>", "<|end|>", "<|user|>", "<|system|>", "<|assistant|>"]


def make_model(folder: Path, *, hidden: int = 32, layers: int = 2, seed: int = 0, spread: float = 0.3) -> Path:
    """Write model and tokenizer into `folder`. `spread` is the standard deviation of the weights: the larger, the
    further from uniform its next-token distributions are."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    characters = sorted(set(string.ascii_letters + string.digits + string.punctuation + " \n"))
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *characters])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=" "))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    core.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<|pad|>", eos_token="<|end|>", extra_special_tokens=SPECIAL[2:]
    )
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(folder)

    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(vocabulary), hidden_size=hidden, intermediate_size=2 * hidden, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1024, initializer_range=spread,
        pad_token_id=0, bos_token_id=None, eos_token_id=1, tie_word_embeddings=True,
    )  # fmt: skip
    model = Qwen2ForCausalLM(config)
    model.generation_config.eos_token_id = 1
    model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the minuscule model (not to be written to)."""
    return make_model(tmp_path_factory.mktemp("minuscule"))

"""The tiny tokenizer: every word, name, sign and whole number 0..99 is one token, so sequences stay short.

Spaces are not tokens. Decoding joins tokens by one space and then closes up the box and the punctuation, which gives the
family's text back exactly: ``decode(encode(text)) == text`` for every problem and answer of ``harness.tiny.problems``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.tiny.problems import LARGEST, NAMES, PHRASES, STEP_WORDS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, EOS, UNKNOWN, USER, ASSISTANT = SPECIAL = ("<pad>", "<eos>", "<unk>", "<user>", "<assistant>")
PIECE = r"\\boxed\{|[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9]"
CLOSED_UP = (("{ ", "{"), (" }", "}"), (" .", "."), (" ?", "?"))

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{%- if message.role == 'user' -%}{{ '<user>' + message.content }}"
    "{%- elif message.role == 'assistant' -%}{{ '<assistant>' + message.content + '<eos>' }}"
    "{%- else -%}{{ raise_exception('the tiny chat template knows the roles user and assistant, got ' + message.role) }}"
    "{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<assistant>' }}{%- endif -%}"
)


def vocabulary() -> list[str]:
    """Every token, specials first; the position is the token id."""
    words = set(re.findall(PIECE, " ".join(PHRASES.values()).replace("{n}", "")))
    words |= {word for route in STEP_WORDS.values() for word in route} | {"first", "wait", "answer"}
    words |= {"has", "How", "many", *NAMES, "+", "-", "*", "=", ".", "?", "}", "\\boxed{"}
    return [*SPECIAL, *(str(n) for n in range(LARGEST + 1)), *sorted(words)]


def build_tokenizer() -> PreTrainedTokenizerFast:
    """A fast Hugging Face tokenizer: left padding, pad and end-of-sequence set, chat template included."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    ids = {token: i for i, token in enumerate(vocabulary())}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(PIECE), "isolated")]
    )
    spaced = [decoders.Replace(Regex("$"), " "), decoders.Fuse(), decoders.Replace(Regex(" $"), "")]
    closed_up = [decoders.Replace(before, after) for before, after in CLOSED_UP]
    tokenizer.decoder = decoders.Sequence([*spaced, *closed_up])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=UNKNOWN,
        additional_special_tokens=[USER, ASSISTANT],
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE,
    )

"""The tiny tokenizer: each word, name, sign and whole number of a family is one token, so that sequences are short.

In the chain family every sentence of a problem has six tokens (the first has four), so the inputs of a step are at a
fixed distance. This helps the base model to learn in minutes.

It is a ``Qwen2Tokenizer`` because ``AutoTokenizer`` uses that class for every Qwen2 checkpoint, whichever class the
folder names (transformers 5.10). The class applies Qwen's rules for cutting text, which split numbers into digits.
Therefore the family's pieces are *added* tokens, which are matched first. A piece includes the space before it, so
" 12" and "12" differ. The 256 bytes are tokens too, so any text can be encoded, and decoding restores it (in Unicode
NFC).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import Qwen2Tokenizer

PAD, EOS, USER, ASSISTANT = "<pad>", "<eos>", "<user>", "<assistant>"

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{%- if message.role == 'user' -%}{{ '<user>' + message.content }}"
    "{%- elif message.role == 'assistant' -%}{{ '<assistant>' + message.content + '<eos>' }}"
    "{%- else -%}{{ raise_exception('tiny chat template: roles are user and assistant, got ' + message.role) }}"
    "{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<assistant>' }}{%- endif -%}"
)


def build_tokenizer(pieces: Sequence[str]) -> Qwen2Tokenizer:
    """A fast Hugging Face tokenizer with one token for each piece: left padding, pad and end-of-sequence set, chat
    template included."""
    from tokenizers import AddedToken, pre_tokenizers
    from transformers import Qwen2Tokenizer

    specials = (PAD, EOS, USER, ASSISTANT)
    alphabet = [*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Qwen2Tokenizer(
        vocab={token: i for i, token in enumerate(alphabet)},
        merges=[],
        unk_token=EOS,  # as Qwen has it. Never used, since no text is unknown
        eos_token=EOS,
        pad_token=PAD,
        extra_special_tokens=[USER, ASSISTANT],
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE,
    )
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in pieces])
    return tokenizer

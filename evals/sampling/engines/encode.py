"""Encode prompts, the same for every engine that loads the model."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evals.errors import UsageError
from evals.grading.reasoning import in_marker
from evals.sampling.engines.base import Decoding, Request

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "*.tiktoken")


def load_tokenizer(model_path: str) -> PreTrainedTokenizerBase:
    """The model's tokenizer, padding on the left.

    Raises:
        UsageError: the model has none, or it cannot be read.
    """
    from transformers import AutoTokenizer

    folder = Path(model_path)
    if folder.is_dir() and not any(file for name in TOKENIZER_FILES for file in folder.glob(name)):
        raise UsageError(  # transformers would make an empty one
            f"model {str(folder)!r}: it has no tokenizer. Expected one of {', '.join(TOKENIZER_FILES)} in the folder"
        )
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            model_path, padding_side="left", trust_remote_code=False
        )
    except Exception as error:  # json, tokenizers, sentencepiece, transformers: any failure of a file
        raise UsageError(f"model {model_path!r}: its tokenizer cannot be read ({error})") from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token  # padding is masked: any token will do
    return tokenizer


def prompt_tokens(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Token ids of a rendered prompt. A beginning-of-text token is added if the model wants one and the text has none
    (a chat template may have written it)."""
    has_bos = bool(tokenizer.bos_token) and text.startswith(tokenizer.bos_token)
    ids: list[int] = tokenizer.encode(text, add_special_tokens=not has_bos)
    return ids


def encode(
    tokenizer: object, requests: Sequence[Request], decoding: Decoding, context: int | None
) -> list[tuple[int, ...]]:
    """Token ids of each prompt and of the forced prefix of its response, for the model to continue. A beginning-of-text
    token is added if the model wants one and there is none.

    Raises:
        UsageError: a prompt and its response do not fit a context of that many tokens, or the forced prefix leaves no
            room for another token.
    """
    encoded: dict[str, tuple[int, ...]] = {}
    problems: dict[str, str] = {}
    for request in requests:
        text = request.prompt_text
        if text not in encoded:
            encoded[text] = tuple(prompt_tokens(tokenizer, text))
            problems[text] = request.key[0]
        if len(request.forced) >= decoding.max_tokens:
            raise UsageError(
                f"max_tokens={decoding.max_tokens}: {len(request.forced)} tokens of the response to problem "
                f"{request.key[0]!r} are forced. Expected fewer"
            )
    longest = max(encoded, key=lambda text: len(encoded[text]), default=None)
    if longest is not None and context is not None and len(encoded[longest]) + decoding.max_tokens > context:
        room = context - len(encoded[longest])
        raise UsageError(
            f"max_tokens={decoding.max_tokens} does not fit: the prompt of problem {problems[longest]!r}, the longest, "
            f"has {len(encoded[longest])} tokens and the model's context is {context}. "
            + (f"Expected max_tokens <= {room}" if room > 0 else "Expected a model with a longer one")
        )
    return [encoded[request.prompt_text] + request.forced for request in requests]


def stop_tokens(
    generation_eos: int | list[int] | None, tokenizer: PreTrainedTokenizerBase, vocabulary: int
) -> list[int]:
    """The end tokens of the model's generation config and of its tokenizer.

    Those outside the model's vocabulary (its number of tokens) do not count: a tokenizer's class adds its own end token
    to a checkpoint that names none, and the model can never sample it.

    Raises:
        UsageError: there is none: no response would end before its limit, and all would count as truncated.
    """
    stated = generation_eos if isinstance(generation_eos, list) else [generation_eos]
    ends = sorted({i for i in (*stated, tokenizer.eos_token_id) if i is not None and i < vocabulary})
    if not ends:
        raise UsageError(
            f"model {getattr(tokenizer, 'name_or_path', '')!r}: no end token. Expected eos_token_id in its "
            "generation_config.json, or an eos_token of its tokenizer, among its "
            f"{vocabulary} tokens"
        )
    return ends


def model_stop_tokens(model_path: str, tokenizer: object) -> list[int]:
    """The tokens at which every engine ends a response of this model (a folder or a hub id)."""
    from transformers import AutoConfig, GenerationConfig

    config = AutoConfig.from_pretrained(model_path).get_text_config()
    try:
        stated = GenerationConfig.from_pretrained(model_path).eos_token_id
    except OSError:  # no such file: transformers then derives it from the model's configuration
        stated = config.eos_token_id
    return stop_tokens(stated, tokenizer, config.vocab_size)


def cut_at(text: str, stop: Sequence[str]) -> str | None:
    """The text before the first of these texts in it, or None if it has none of them."""
    places = [place for end in stop if (place := text.find(end)) >= 0]
    return text[: min(places)] if places else None


def before_stop(text: str, stop: Sequence[str]) -> str:
    """The text before the first of these texts in it. The whole text if it has none of them."""
    cut = cut_at(text, stop)
    return text if cut is None else cut


def ended_after(tokenizer: object, row: Sequence[int], stop: Sequence[str]) -> int | None:
    """The number of tokens of the row up to the one that completes the first of these texts, or None without one."""

    def has_ended(tokens: int) -> bool:
        return cut_at(texts_of(tokenizer, [row[:tokens]])[0], stop) is not None

    return bisect_left(range(len(row)), True, key=has_ended) if stop and has_ended(len(row)) else None


def response_text(tokenizer: object, tokens: Sequence[Sequence[int]], stopped: Sequence[bool]) -> list[str]:
    """The text of each row of generated tokens, without the end token, as `texts_of` has it."""
    bare = [row[: len(row) - 1] if stop else row for row, stop in zip(tokens, stopped, strict=True)]
    return texts_of(tokenizer, bare)


def texts_of(tokenizer: PreTrainedTokenizerBase, rows: Sequence[Sequence[int]]) -> list[str]:
    """The text of each row of tokens, without special tokens but those that mark a thought (`[THINK]`, gpt-oss's
    channels): what `evals.grading.reasoning` reads follows them."""
    special, marks = _special_tokens(tokenizer), marker_tokens(tokenizer)
    if marks:
        rows = [[token for token in row if token in marks or token not in special] for row in rows]
    texts: list[str] = tokenizer.batch_decode(rows, skip_special_tokens=not marks)
    return texts


def marker_tokens(tokenizer: object) -> dict[int, str]:
    """The special tokens that mark a thought, or are part of such a marker: id -> text."""
    return {token: text for token, text in _special_tokens(tokenizer).items() if in_marker(text)}


def _special_tokens(tokenizer: PreTrainedTokenizerBase) -> dict[int, str]:
    """The tokens that decoding without special tokens leaves out: id -> text."""
    added = {token: str(text) for token, text in tokenizer.added_tokens_decoder.items() if text.special}
    return added | dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True))

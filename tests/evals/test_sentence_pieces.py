"""A SentencePiece BPE tokenizer, rebuilt from pieces and scores: against the greedy algorithm, on a made-up file.

The conversion of Gemma's own file was compared once with the package sentencepiece: 4,433 texts, 452,131 tokens, all
equal. That file is not in the repository.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals import gguf
from evals.errors import UsageError
from evals.sentence_pieces import BYTE, CONTROL, NORMAL, SPACE, UNKNOWN, USER_DEFINED, merges

SPECIAL = [("<pad>", CONTROL), ("<eos>", CONTROL), ("<bos>", CONTROL), ("<unk>", UNKNOWN)]
USER = ["\n", "\n\n", "  ", "   ", "<b>"]
# from the highest score to the lowest: "ab" is joined before "bc", and "abab" has three ways to be made, one wrong
WORDS = ["ab", "bc", "ba", f"{SPACE}a", "abab", f"{SPACE}ab", "cab", "aba", "<b", *"abc<>012x", SPACE]
TABLE: list[tuple[str, float, int]] = [
    *((piece, -1000.0, kind) for piece, kind in SPECIAL),
    *((piece, -1000.0, USER_DEFINED) for piece in USER),
    *((f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)),
    *((piece, -float(rank), NORMAL) for rank, piece in enumerate(WORDS)),
]
PIECES, SCORES, KINDS = ([row[column] for row in TABLE] for column in range(3))
FIELDS: dict[str, Any] = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.pre": "default",
    "tokenizer.ggml.tokens": PIECES,
    "tokenizer.ggml.scores": SCORES,
    "tokenizer.ggml.token_type": KINDS,
    "tokenizer.ggml.padding_token_id": 0,
    "tokenizer.ggml.eos_token_id": 1,
    "tokenizer.ggml.bos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 3,
    "tokenizer.ggml.add_bos_token": True,
    "tokenizer.ggml.add_space_prefix": False,
}


def slow(text: str) -> list[int]:
    """The algorithm of SentencePiece: user-defined pieces first, then the best union again and again, then bytes."""
    symbols: list[tuple[str, bool]] = []  # text, and whether it may be joined
    place = 0
    while place < len(text):
        whole = max((piece for piece in USER if text.startswith(piece, place)), key=len, default=None)
        symbols.append((text[place].replace(" ", SPACE), True) if whole is None else (whole, False))
        place += len(whole or "x")
    scores = {piece: score for piece, score, kind in TABLE if kind == NORMAL}
    while True:
        unions = [
            (scores[a + b], -i)
            for i, ((a, free), (b, other)) in enumerate(pairwise(symbols))
            if free and other and a + b in scores
        ]
        if not unions:
            break
        i = -max(unions)[1]
        symbols[i : i + 2] = [(symbols[i][0] + symbols[i + 1][0], True)]
    ids = {piece: number for number, piece in enumerate(PIECES)}
    return [
        number
        for symbol, _ in symbols
        for number in ([ids[symbol]] if symbol in ids else [ids[f"<0x{byte:02X}>"] for byte in symbol.encode()])
    ]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return gguf._tokenizer(Path("made-up.gguf"), FIELDS)


TEXTS = st.lists(st.sampled_from([*"abcabcab 012x<>\nü😀\u2028", "<b>", "  "]), max_size=40).map("".join)


@given(TEXTS)
def test_the_tokens_are_those_of_the_greedy_algorithm(tokenizer: Any, text: str) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert ids == slow(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.convert_ids_to_tokens(ids) == [PIECES[number] for number in ids]


def test_merges_by_hand() -> None:
    # "abab" is ab + ab or aba + b. "abc" would be the best union, but is no piece. Bytes and user-defined pieces of
    # the same letters are never joined.
    pieces = ["a", "b", "ab", "abab", "aba", "<0x61>", "\n", "a\n"]
    kinds = [NORMAL] * 5 + [BYTE, USER_DEFINED, NORMAL]
    scores = [-7.0, -6.0, -1.0, -2.0, -3.0, 0.0, -1000.0, 0.0]
    assert merges(pieces, scores, kinds) == [("a", "b"), ("ab", "ab"), ("aba", "b"), ("ab", "a")]


def test_scores_read_as_those_of_unigram_give_other_tokens(tokenizer: Any) -> None:
    """The reason for this module: transformers 5.10 gives Gemma's scores to Unigram, which adds them up."""
    from tokenizers import Tokenizer, models

    unigram = Tokenizer(models.Unigram(list(zip(PIECES, SCORES, strict=True)), unk_id=3, byte_fallback=True))
    # greedy: ab is the best union, and c is left. Unigram: ab + c = 0 - 11, a + bc = -9 - 1, which is higher
    assert tokenizer.tokenize("abc") == ["ab", "c"]
    assert unigram.encode("abc").tokens == ["a", "bc"]


def test_special_tokens_and_the_files_of_a_folder(tokenizer: Any, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    assert tokenizer.encode("ab") == [2, *slow("ab")]  # <bos> comes first
    assert tokenizer.encode("a<eos>b", add_special_tokens=False) == [*slow("a"), 1, *slow("b")]
    tokenizer.save_pretrained(tmp_path)
    read = AutoTokenizer.from_pretrained(tmp_path)
    text = "ab abab  \n\n<b>cab ü"
    assert read.encode(text) == tokenizer.encode(text)
    assert (read.bos_token, read.eos_token, read.pad_token, read.unk_token) == ("<bos>", "<eos>", "<pad>", "<unk>")


@pytest.mark.parametrize(
    "changed", [{"add_space_prefix": True}, {"model": "t5"}, {"model": "gpt2", "pre": "llama-bpe"}]
)
def test_another_tokenizer_is_refused(changed: dict[str, Any]) -> None:
    fields = FIELDS | {f"tokenizer.ggml.{key}": value for key, value in changed.items()}
    with pytest.raises(UsageError, match=r"other.gguf: its tokenizer is .*Take this model's own files instead"):
        gguf._tokenizer(Path("other.gguf"), fields)

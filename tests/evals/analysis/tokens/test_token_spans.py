"""Tokens to text: the three spellings of the same bytes give the same text and places."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.tokens.token_spans import detect_encoding, locate_tokens


def byte_level(piece: bytes) -> str:
    """GPT-2's table, written out the slow way: a printable byte is itself, each other the next letter from U+0100."""
    alphabet, others = {}, 0
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or byte >= 0xAE:
            alphabet[byte] = chr(byte)
        else:
            alphabet[byte], others = chr(256 + others), others + 1
    return "".join(alphabet[byte] for byte in piece)


def test_by_hand() -> None:
    located = locate_tokens(["So", "Ġx", "Ġ=", "Ċ"], "byte-level")
    assert located.text == "So x =\n" and located.spans == ((0, 2), (2, 4), (4, 6), (6, 7))
    # π is the bytes CF 80, here in two tokens that both have the one character
    assert locate_tokens(["a", "Ï", "Ģ"], "byte-level") == locate_tokens(["a", "<0xCF>", "<0x80>"], "sentencepiece")
    assert locate_tokens(["a", "Ï", "Ģ"], "byte-level").text == "aπ"
    assert locate_tokens(["a", "Ï", "Ģ"], "byte-level").spans == ((0, 1), (1, 2), (1, 2))
    # half of π, and no more: one lone byte, one character
    assert locate_tokens(["Ï", "b"], "byte-level").spans == ((0, 1), (1, 2))
    assert locate_tokens(["▁The", "▁end"], "sentencepiece").text == " The end"
    assert locate_tokens(["", "a", ""], "text").spans == ((0, 0), (0, 1), (0, 1))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20), st.data())
def test_spellings_agree(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cuts = sorted({0, len(raw), *data.draw(st.lists(st.integers(0, len(raw)), max_size=6))})
    pieces = [raw[a:b] for a, b in pairwise(cuts)]
    located = locate_tokens([byte_level(piece) for piece in pieces], "byte-level")
    assert located.text == text
    for piece, (start, end) in zip(pieces, located.spans, strict=True):
        assert piece in text[start:end].encode()  # the characters that a token covers hold its bytes
        assert len(text[start:end].encode()) - len(piece) <= 6  # and at most three bytes more at each end
    by_character = locate_tokens(list(text), "text")
    assert by_character.text == text and by_character.spans == tuple((i, i + 1) for i in range(len(text)))


def test_a_tokenizer_s_spelling_is_recognised() -> None:
    assert detect_encoding(["So", "Ġx", "Ċ"]) == "byte-level"
    assert detect_encoding(["▁So", "▁x", "<0x0A>"]) == "sentencepiece"
    assert detect_encoding(["So", " x", "\n", "Ġ"]) == "text"  # a letter Ġ in a text
    assert detect_encoding(["x"]) == "text" and detect_encoding([]) == "text"
    with pytest.raises(ValueError, match="encoding: expected one of text, byte-level, sentencepiece, got 'bpe'"):
        locate_tokens([], "bpe")

"""Tokens to text: the three spellings of the same bytes give the same text and places."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.tokens.token_spans import detect_spelling, spell


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
    spelt = spell(["So", "Ġx", "Ġ=", "Ċ"], "byte-level")
    assert spelt.text == "So x =\n" and spelt.spans == ((0, 2), (2, 4), (4, 6), (6, 7))
    # π is the bytes CF 80, here in two tokens that both have the one character
    assert spell(["a", "Ï", "Ģ"], "byte-level") == spell(["a", "<0xCF>", "<0x80>"], "sentencepiece")
    assert spell(["a", "Ï", "Ģ"], "byte-level").text == "aπ"
    assert spell(["a", "Ï", "Ģ"], "byte-level").spans == ((0, 1), (1, 2), (1, 2))
    # half of π, and no more: one lone byte, one character
    assert spell(["Ï", "b"], "byte-level").spans == ((0, 1), (1, 2))
    assert spell(["▁The", "▁end"], "sentencepiece").text == " The end"
    assert spell(["", "a", ""], "text").spans == ((0, 0), (0, 1), (0, 1))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20), st.data())
def test_spellings_agree(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cuts = sorted({0, len(raw), *data.draw(st.lists(st.integers(0, len(raw)), max_size=6))})
    pieces = [raw[a:b] for a, b in pairwise(cuts)]
    spelt = spell([byte_level(piece) for piece in pieces], "byte-level")
    assert spelt.text == text
    for piece, (start, end) in zip(pieces, spelt.spans, strict=True):
        assert piece in text[start:end].encode()  # the characters that a token covers hold its bytes
        assert len(text[start:end].encode()) - len(piece) <= 6  # and at most three bytes more at each end
    by_character = spell(list(text), "text")
    assert by_character.text == text and by_character.spans == tuple((i, i + 1) for i in range(len(text)))


def test_spelling_is_found_out() -> None:
    assert detect_spelling(["So", "Ġx", "Ċ"]) == "byte-level"
    assert detect_spelling(["▁So", "▁x", "<0x0A>"]) == "sentencepiece"
    assert detect_spelling(["So", " x", "\n", "Ġ"]) == "text"  # a letter Ġ in a text
    assert detect_spelling(["x"]) == "text" and detect_spelling([]) == "text"
    with pytest.raises(ValueError, match="spelling: expected one of text, byte-level, sentencepiece, got 'bpe'"):
        spell([], "bpe")

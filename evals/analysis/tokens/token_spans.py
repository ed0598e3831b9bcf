"""From the tokens of a response to its text: which characters each token stands for.

Tokenizers write their pieces in three spellings. "text": as they decode (" therefore"). "byte-level" (GPT-2, Qwen,
Llama 3): one letter a byte, so that a space is Ġ and a line break Ċ. "sentencepiece" (Llama 2, Mistral): a space is ▁,
and a byte without a piece is <0x0A>.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

ENCODINGS = ("text", "byte-level", "sentencepiece")
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class TokenSpans:
    """A text, and for each token the characters [start, end) that it stands for, wholly or in part.

    Tokens that share a character (each has some of its bytes) both have it in their span; in the encoding "text" the
    later ones are empty, and an empty token stands for the character before it. Bytes that are no UTF-8 stand as lone
    surrogates, one a byte.
    """

    text: str
    spans: tuple[tuple[int, int], ...]


def detect_encoding(tokens: Iterable[str]) -> str:
    """Which of `ENCODINGS` these tokens are in, by how many have a plain white space, a Ġ or Ċ, or a ▁.

    Give it all tokens of a table: one response may be too short to show. Without any such character it is "text".
    """
    counts = dict.fromkeys(ENCODINGS, 0)
    for token in tokens:
        counts["text"] += any(character.isspace() for character in token)
        counts["byte-level"] += "Ġ" in token or "Ċ" in token
        counts["sentencepiece"] += "▁" in token
    return max(ENCODINGS, key=lambda encoding: counts[encoding])


def locate_tokens(tokens: Sequence[str], encoding: str) -> TokenSpans:
    """The text of a response, and each token's place in it.

    Raises:
        ValueError: an unknown encoding.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding: expected one of {', '.join(ENCODINGS)}, got {encoding!r}")
    pieces = [_to_bytes(token, encoding) for token in tokens]
    text = b"".join(pieces).decode("utf-8", errors="surrogateescape")
    holder: Sequence[int] = range(len(text))  # byte -> character
    if not text.isascii():
        holder = [i for i, character in enumerate(text) for _ in range(_width(character))]
    spans, at = [], 0
    for piece in pieces:
        if piece:
            spans.append((holder[at], holder[at + len(piece) - 1] + 1))
        else:
            before = holder[at - 1] if at else 0
            spans.append((before, before + min(at, 1)))
        at += len(piece)
    return TokenSpans(text, tuple(spans))


def _to_bytes(token: str, encoding: str) -> bytes:
    if encoding == "byte-level":
        byte_of = _byte_alphabet()
        return b"".join(bytes([byte_of[c]]) if c in byte_of else c.encode("utf-8", "surrogatepass") for c in token)
    if encoding == "sentencepiece":
        if match := _BYTE.fullmatch(token):
            return bytes([int(match[1], 16)])
        token = token.replace("▁", " ")
    return token.encode("utf-8", "surrogatepass")


def _width(character: str) -> int:
    """Bytes of a character; a byte that was no UTF-8 is one."""
    return 1 if "\udc80" <= character <= "\udcff" else len(character.encode("utf-8"))


@cache
def _byte_alphabet() -> dict[str, int]:
    """GPT-2's letter of each byte: the printable Latin-1 characters are themselves, the rest follow from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}

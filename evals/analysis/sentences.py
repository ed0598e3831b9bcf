"""Split text with mathematics into sentences; the sentences of a token table with their mean entropy.

A formula (LaTeX between its delimiters) is never cut; a displayed formula belongs to the previous sentence. A sentence
ends

- at . ! ? (and closing quotes, brackets or asterisks) before white space and a possible start of a sentence. Decimals,
  5!, "e.g.", "Fig. 2" and the dot of a list number end no sentence; a formula that ends in a dot does.
- at 。！？, and at a line break, unless the next line starts with a lower-case word or a displayed formula, or the line
  before ends in a colon, a comma or similar. A new list item always ends it.

The paper (arXiv 2506.14758, section 2) says only that responses are segmented into sentences; these rules are ours.

`locate_tokens` gives the characters of the text that each token stands for. Tokenizers write their pieces in three
encodings. "text": decoded (" therefore"). "byte-level" (GPT-2, Qwen, Llama 3): one letter per byte; a space is Ġ and a
line break Ċ. "sentencepiece" (Llama 2, Mistral): a space is ▁, and a byte without a piece is <0x0A>.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis.tokens.token_table import need_columns, response_keys, whole_responses

if TYPE_CHECKING:
    import pandas as pd

ENCODINGS = ("text", "byte-level", "sentencepiece")
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class TokenSpans:
    """A text, and for each token the characters [start, end) that it stands for, fully or partly.

    Tokens that share a character (each has some of its bytes) both have it in their span. In the encoding "text" the
    later ones are empty; an empty token stands for the previous character. Each byte that is not UTF-8 becomes a lone
    surrogate.
    """

    text: str
    spans: tuple[tuple[int, int], ...]


def detect_encoding(tokens: Iterable[str]) -> str:
    """The encoding (one of `ENCODINGS`) of these tokens, judged by how many have plain white space, Ġ or Ċ, or ▁.

    Pass all tokens of a table, because one response may be too short. Without any such character it is "text".
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
    """The number of bytes of a character; 1 for a byte that is not UTF-8."""
    return 1 if "\udc80" <= character <= "\udcff" else len(character.encode("utf-8"))


@cache
def _byte_alphabet() -> dict[str, int]:
    """GPT-2's letter of each byte: the printable Latin-1 characters are themselves, the rest follow from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


DISPLAY, INLINE = "\ue000", "\ue001"  # characters of the private use area, which texts do not use
_BRACES = r"[^{}]"
for _ in range(4):  # nested braces, as deep as in answers
    _BRACES = rf"(?:[^{{}}]|\{{{_BRACES}*+\}})"
_NO_BLANK_LINE = r"(?:(?!\n[ \t]*\n)[\s\S])"
# A cut response may lack a closing delimiter: its formula then ends at the next blank line, or with the text.
_MATHS = re.compile(
    rf"""
    (?P<display>
        \$\$ (?:(?!\$\$)[\s\S])+ \$\$
      | \\\[ (?:(?!\\[\[\]])[\s\S])* \\\]
      | \\begin\{{(?P<name>[A-Za-z]+\*?)\}} (?:(?!\\begin\{{(?P=name)\}})[\s\S])*? \\end\{{(?P=name)\}}
      | (?:\$\$|\\\[) {_NO_BLANK_LINE}*
    )
  | \\\( (?:(?!\\[()])[\s\S])* \\\)
  | \\\( [^\n]*
  | (?<![\\$]) \$ (?=[^\s$]) (?:(?!\n[ \t]*\n)(?:\\.|[^$\\]))+ (?<!\s) \$ (?!\d)   # Pandoc's rule: 5$ and 3$ are money
  | \\boxed\{{ {_BRACES}*+ \}}
    """,
    re.VERBOSE,
)


def find_mathematics(text: str) -> list[tuple[int, int, bool]]:
    """(start, end, whether it is displayed) of each formula with its delimiters, from left to right.

    $$..$$, \\[..\\] and environments are displayed; \\(..\\), $..$ and \\boxed{..} are inline.
    """
    return [(*match.span(), match["display"] is not None) for match in _MATHS.finditer(text)]


def mask(text: str) -> str:
    """The text with every character of a formula replaced by `DISPLAY` or `INLINE`; as long as before."""
    masked, at = [], 0
    for start, end, displayed in find_mathematics(text):
        masked += [text[at:start], (DISPLAY if displayed else INLINE) * (end - start)]
        at = end
    return "".join([*masked, text[at:]])


_ABBREVIATIONS = {
    "e.g",
    "i.e",
    "vs",
    "cf",
    "w.l.o.g",
    "w.r.t",
    "s.t",
    "resp",
    "approx",
    "dr",
    "mr",
    "mrs",
    "ms",
    "prof",
}


_BEFORE_NUMBERS = {"eq", "eqs", "eqn", "fig", "figs", "no", "nos", "sec", "ch", "ex", "thm", "def", "prop", "p", "pp"}


_CLOSING = "\"'”’)\\]*_"


_END = re.compile(rf"[.!?…]+[{_CLOSING}]*(?=\s|$)|[。！？]+[」』”’）]*")


_SPACE = re.compile(r"\s+")


_LIST_ITEM = re.compile(r"(?:[-*•+#]+|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)])\s")


_GOES_ON = ":,;-–—=+"


def split_sentences(text: str) -> list[tuple[int, int]]:
    """[start, end) of each sentence. They cover the text without gaps: white space belongs to the previous sentence.

    A text of white space only has none.
    """
    masked = mask(text)
    if not masked.strip():
        return []
    ends = sorted({*_after_stops(text, masked), *_after_lines(masked), *_after_formulae(text, masked), len(text)})
    spans, start = [], 0
    for end in ends:
        if masked[start:end].strip():
            spans.append((start, end))
            start = end
    if start < len(text):  # remaining white space
        spans[-1] = (spans[-1][0], len(text))
    return spans


def _after_stops(text: str, masked: str) -> list[int]:
    """The starts of sentences after a full stop, a question mark or another end."""
    starts = []
    for match in _END.finditer(masked):
        begin = _skip_space(masked, match.end())
        if match[0][0] in "。！？" or (
            not _is_abbreviation(text, match.start(), begin) and _can_begin(masked, begin, strictly=match[0][0] == "!")
        ):
            starts.append(begin)
    return starts


def _after_formulae(text: str, masked: str) -> list[int]:
    """The starts of sentences after a formula with a full stop inside its delimiters."""
    starts = []
    for _, end, _ in find_mathematics(text):
        closed = re.search(r"[.!?]\s*(?:\$\$?|\\[\])])$", text[max(0, end - 20) : end])
        begin = _skip_space(masked, end)
        if closed and begin > end and _can_begin(masked, begin, strictly=False):
            starts.append(begin)
    return starts


def _after_lines(masked: str) -> list[int]:
    """The starts of sentences after a line break."""
    starts = []
    for match in _SPACE.finditer(masked):
        begin = match.end()
        if "\n" not in match[0] or match.start() == 0 or begin == len(masked):
            continue
        in_word = masked[begin : begin + 2].islower() and masked[begin : begin + 2].isalpha()  # not a variable
        goes_on = in_word or masked[begin] == DISPLAY or masked[match.start() - 1] in _GOES_ON
        if _LIST_ITEM.match(masked, begin) or not goes_on:
            starts.append(begin)
    return starts


def _is_abbreviation(text: str, dot: int, begin: int) -> bool:
    """Whether the dot there belongs to an abbreviation, or to the number of a list item."""
    line = text.rfind("\n", 0, dot) + 1
    if re.fullmatch(r"\s*[#*]*\s*\(?(?:\d{1,3}|[A-Za-z])", text[line:dot]):
        return True
    word = re.search(r"[A-Za-z.]+$", text[max(0, dot - 12) : dot])
    name = word[0].lstrip(".").lower() if word else ""
    return name in _ABBREVIATIONS or (name in _BEFORE_NUMBERS and re.match(r"[\d(]", text[begin:]) is not None)


def _can_begin(masked: str, at: int, *, strictly: bool) -> bool:
    """Whether a sentence can begin there: no lower-case letter, no sign; strictly (after "!": 5! + 3) only a letter."""
    if at >= len(masked):
        return True
    first = masked[at]
    if strictly:
        return first.isupper() or first in '"“‘*'
    return (first.isalnum() and not first.islower()) or first in f"\"'“‘(*#\\{DISPLAY}{INLINE}"


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def sentence_table(table: pd.DataFrame, *, encoding: str | None = None) -> pd.DataFrame:
    """One row per sentence.

    A token belongs to the sentence of its first non-space character; a token of white space belongs to the previous
    sentence.

    Args:
        table: a token table.
        encoding: of its tokens (`sentences.ENCODINGS`); None detects it.
    Returns:
        The columns that identify the response, `sentence` (from 0), `text` (bytes that are not UTF-8 as U+FFFD),
        `position` of its first token, `tokens`, and `entropy` (nats, mean over its tokens; NaN if a token of the
        previous sentence covers all of it).
    Raises:
        ValueError: columns or tokens are missing.
    """
    import pandas as pd

    need_columns(table, ("token", "entropy"))
    keys = response_keys(table)
    encoding = encoding or detect_encoding(set(table["token"]))
    rows: list[dict[str, object]] = []
    for held in whole_responses(table):
        located = locate_tokens(held["token"].tolist(), encoding)
        sentences = split_sentences(located.text)
        if not sentences:
            continue
        anchors = [start + _blank(located.text[start:end]) for start, end in located.spans]
        which = np.searchsorted([start for start, _ in sentences], anchors, side="right") - 1
        counts = np.bincount(which, minlength=len(sentences))
        sums = np.bincount(which, held["entropy"].to_numpy(float), len(sentences))
        named = {key: held[key].iloc[0] for key in keys}
        for i, (start, end) in enumerate(sentences):
            text = located.text[start:end].strip().encode("utf-8", "replace").decode()
            rows.append(
                named
                | {
                    "sentence": i,
                    "text": text,
                    "position": int(np.searchsorted(which, i)),
                    "tokens": int(counts[i]),
                    "entropy": sums[i] / counts[i] if counts[i] else np.nan,
                }
            )
    return pd.DataFrame(rows, columns=[*keys, "sentence", "text", "position", "tokens", "entropy"])


def _blank(text: str) -> int:
    """The length of a text's leading white space; 0 if the text is only white space."""
    return len(text) - len(text.lstrip()) if text.strip() else 0

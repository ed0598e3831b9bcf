"""Quality flags of a response (format, repetition, garbled text, mixed languages), by rules.

The paper (arXiv 2508.07534, section 3.2.2 and Fig. 3d) flags format violations (no box, or several), irrelevant content
(repetitive or garbled, judged by a 32B model) and language mixing (a Chinese character). The first and the last are
rules there too. Here rules also detect irrelevant content, so that the flag is the same on every machine: text that
repeats itself, or has characters that no writing system uses. The rules miss fluent but irrelevant text.
3-gram redundancy: section 4.4.1. arXiv 2506.14758, section 6.2.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Literal

Kind = Literal["not_distinct", "repeated"]
REDUNDANT_ABOVE = 0.31  # section 4.4.1 drops responses above it, as "high repetition or garbled text"
_HAN = r"\p{Script=Han}"  # the paper flags a Chinese character. Its prompts and answers are English
_UNUSED = ("Cn", "Co", "Cs", "Cc")  # unassigned, private use, lone surrogates, control characters


def redundancy(text: str, measure: Kind) -> float:
    """Share of redundant 3-grams of words (split at white space), in 0..1, 0 for fewer than three words.

    Neither paper defines it.
    not_distinct: 1 - distinct 3-grams / all 3-grams.
    repeated: 3-grams that occur more than once (counting each occurrence) / (all 3-grams + 1), as in an unused function
        of the same name in the released code of arXiv 2508.07534.
    """
    words = text.split()
    grams = Counter(zip(words, words[1:], words[2:], strict=False))
    total = grams.total()
    if total == 0:
        return 0.0
    if measure == "not_distinct":
        return 1 - len(grams) / total
    return sum(count for count in grams.values() if count > 1) / (total + 1)


@dataclass(frozen=True)
class Flags:
    """The flags of a response, as the paper's Fig. 3d counts them. `irrelevant` by our rules."""

    format_violation: bool
    irrelevant: bool
    language_mixing: bool


def flags(text: str) -> Flags:
    """The flags of one response: repetitive if its 3-gram redundancy is above `REDUNDANT_ABOVE`."""
    import regex

    repetitive = redundancy(text, "not_distinct") > REDUNDANT_ABOVE
    return Flags(
        format_violation=text.count(r"\boxed{") != 1,
        irrelevant=repetitive or garbled(text),
        language_mixing=regex.search(_HAN, text) is not None,
    )


def garbled(text: str) -> bool:
    """Whether the text has a character that no writing system uses, or U+FFFD for invalid bytes.

    At the end of the text, U+FFFD only means that the response was cut inside a character.
    """
    return any(_unused(character) for character in set(text.rstrip("\ufffd")))


def _unused(character: str) -> bool:
    if character in "\t\n\r\f\v":
        return False
    return character == "\ufffd" or unicodedata.category(character) in _UNUSED

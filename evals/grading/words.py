"""Answers in words: a letter of a multiple choice, words and phrases, numbers that are spelled out."""

from __future__ import annotations

import re

_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty"""
NUMBER_WORDS = {word: str(value) for value, word in enumerate(_TO_TWENTY.split())}


def choice(text: str) -> tuple[str, bool] | None:
    """The letter of a multiple choice and whether it is marked as one (parentheses, or text after `C.`)."""
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip()
    match = re.fullmatch(r"(\()?\s*([A-Za-z])\s*(\))?\s*(?:([.:)])\s*(.+))?", text, re.DOTALL)
    if match is None or bool(match[1]) != bool(match[3]):
        return None
    return match[2].upper() if match[1] else match[2], bool(match[1] or match[4])


def words(text: str) -> str | None:
    r"""The words of an answer that is only words, or None. Short bare words (`xy`, `abc`) are symbols."""
    explicit = r"\text" in text
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).strip()
    found = re.findall(r"[A-Za-z]+", bare)
    if not found or not re.fullmatch(r"[A-Za-z\s.,;:'\"()\-!?]+", bare):
        return None
    if not explicit and max(map(len, found)) < 4:
        return None
    if explicit and len(bare) == 1:
        return None
    parts = [re.findall(r"[a-z]+", part.lower()) for part in re.split("[,;]", bare)]
    return ", ".join(sorted(" ".join(word for word in part if word not in ("the", "a", "an")) for part in parts))


def bare_word(text: str) -> str | None:
    r"""Bare letters as a word, for comparison with `\text{...}`."""
    return text.lower() if re.fullmatch(r"[A-Za-z]+", text) else None

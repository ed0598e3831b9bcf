"""Answers in words: a letter of a multiple choice, words and phrases."""

from __future__ import annotations

import re
from typing import NamedTuple

from evals.grading.latex import split

_LABELLED = re.compile(r"(?:\(\s*([A-J])\s*\)|([A-J])\s*[.:)])\s+(.+)", re.DOTALL)


class Choice(NamedTuple):
    """A letter of a multiple choice, whether it is marked as one (parentheses, text after it), and that text."""

    letter: str
    marked: bool
    text: str = ""


def choice(text: str) -> Choice | None:
    """The one choice that an answer names, or None: `B`, `(B)`, `option B`, `(B) 12`, `B. 12`; not `(B), (C)`."""
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip()
    if named := re.fullmatch(r"(?:option|choice|answer)\s+\(?([A-J])\)?", text, re.IGNORECASE):
        return Choice(named[1].upper(), True)
    if labelled := _LABELLED.fullmatch(text):
        if any(map(choice, split(labelled[3], ",;"))):
            return None
        return Choice(labelled[1] or labelled[2], True, labelled[3])
    match = re.fullmatch(r"(\()?\s*([A-Za-z])\s*(\))?", text)
    if match is None or (match[1] and not match[3]):
        return None
    return Choice(match[2].upper() if match[1] else match[2], bool(match[3]))


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


def phrase(text: str) -> tuple[str, ...] | None:
    r"""The words and numbers of an answer like `\text{June 20}`, or None where it has not both, or anything else."""
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).lower()
    found = tuple(re.findall(r"[a-z]+|-?\d+(?:[.,:]\d+)*", bare))
    if not re.fullmatch(r"[a-z\d\s.,;:'\"()\-!?]+", bare) or not any(part[-1].isdigit() for part in found):
        return None
    return found if any(len(part) > 2 and part.isalpha() for part in found) else None

"""Lists of words with their source, and where a text has them.

lexicon = load_lexicon("pivotal_tokens")
[match.entry.kind for match in lexicon.find("First, we note that x > 0.")]    # ["sequential", "reasoning verb"]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evals.suggest import expected

FOLDER = Path(__file__).parent / "lexicons"

# a word does not start after a letter, a digit, a backslash, or a hyphen or apostrophe that joins it to a word
_WORD_START = re.compile(r"(?<![\w\\])(?<!\w[-'’])[^\W\d_]+")


@dataclass(frozen=True)
class Entry:
    """A word or phrase. `source` is where the paper has it, or why we added it (`assumed`)."""

    text: str
    category: str
    kind: str
    source: str
    assumed: bool


@dataclass(frozen=True)
class EntryMatch:
    """An entry at text[start:end]."""

    start: int
    end: int
    entry: Entry


@dataclass(frozen=True)
class Lexicon:
    """Words of one or several categories. How an entry is read: evals/analysis/words/lexicons/token_categories.yaml."""

    name: str
    entries: tuple[Entry, ...]

    def find(self, text: str) -> list[EntryMatch]:
        """Every entry in a text, from left to right, none overlapping; the longest where several start."""
        matches: list[EntryMatch] = []
        for word in _WORD_START.finditer(text):
            if matches and word.start() < matches[-1].end:
                continue
            for pattern, entry in self._by_first_word.get(word[0].lower(), ()):
                if match := pattern.match(text, word.start()):
                    matches.append(EntryMatch(*match.span(), entry))
                    break
        return matches

    def describe(self) -> str:
        """How many entries are the paper's, and how many are assumed."""
        assumed = sum(entry.assumed for entry in self.entries)
        return f"{self.name}: {len(self.entries) - assumed} words of the paper, {assumed} assumed"

    @cached_property
    def _by_first_word(self) -> dict[str, list[tuple[re.Pattern[str], Entry]]]:
        """The entries that start with a word, the longest first: few words of a text start any."""
        known: dict[str, list[tuple[re.Pattern[str], Entry]]] = {}
        for entry in sorted(self.entries, key=lambda entry: -len(entry.text)):
            first = _WORD_START.match(entry.text)
            assert first is not None, "read_groups lets no other pass"
            known.setdefault(first[0].lower(), []).append((_expression(entry.text), entry))
        return known


def load_lexicon(name: str, *, stated_only: bool = False) -> Lexicon:
    """A lexicon of evals/analysis/words/lexicons.

    Args:
        name: "token_categories", "pivotal_tokens" or "reflective".
        stated_only: leave out what is assumed, so that only the paper's own words remain.
    Raises:
        ValueError: an unknown name, or a file that breaks the form (the message says where).
    """
    import yaml

    names = sorted(path.stem for path in FOLDER.glob("*.yaml"))
    if name not in names:
        raise ValueError(f"lexicon {name!r}: {expected(name, names)}")
    path = FOLDER / f"{name}.yaml"
    entries = read_groups(yaml.safe_load(path.read_text(encoding="utf-8")), path.name)
    return Lexicon(name, tuple(entry for entry in entries if not (stated_only and entry.assumed)))


def read_groups(content: Any, where: str) -> list[Entry]:
    """The entries of a lexicon file.

    Raises:
        ValueError: not {groups: [{category, kind, source | assumed, words}]}, or a word given twice.
    """
    if not isinstance(content, dict) or set(content) != {"groups"} or not isinstance(content["groups"], list):
        raise ValueError(f"{where}: expected one key, groups, with a list")
    entries = [
        entry for i, group in enumerate(content["groups"]) for entry in _read_group(group, f"{where}, group {i}")
    ]
    twice = [text for text, count in Counter(entry.text.casefold() for entry in entries).items() if count > 1]
    if twice:
        raise ValueError(f"{where}: expected every word once, got {_listed(twice)} more than once")
    return entries


def _read_group(group: Any, where: str) -> list[Entry]:
    if not isinstance(group, dict):
        raise ValueError(f"{where}: expected a mapping, got {group!r}")
    origins = [key for key in ("source", "assumed") if key in group]
    if len(origins) != 1 or set(group) != {"category", "kind", "words", *origins}:
        raise ValueError(f"{where}: expected category, kind, words and either source or assumed, got {_listed(group)}")
    origin = origins[0]
    for key in ("category", "kind", origin):
        if not isinstance(group[key], str) or not group[key].strip():
            raise ValueError(f"{where}: {key}: expected words, got {group[key]!r}")
    words = group["words"]
    if not isinstance(words, list) or not words or not all(isinstance(w, str) and _WORD_START.match(w) for w in words):
        raise ValueError(f"{where}: words: expected a list of words, got {words!r}")  # yes and no are not words in YAML
    return [Entry(w, group["category"], group["kind"], group[origin], origin == "assumed") for w in words]


def _expression(text: str) -> re.Pattern[str]:
    """The whole entry, not a part of a longer word: any white space, both apostrophes, its capital if it has one."""
    first, rest = re.escape(text[0]), re.escape(text[1:]).replace(r"\ ", r"\s+").replace("'", "['’]")
    either_case = f"{first}(?i:{rest})" if text[0].isupper() else f"(?i:{first}{rest})"
    return re.compile(rf"{either_case}(?!\w)(?![-'’]\w)")


def _listed(words: Sequence[str] | dict[str, Any]) -> str:
    return ", ".join(map(repr, words))

"""Word lists with a source for each entry.

lexicon = load_lexicon(Path("pivotal_tokens.yaml"))
[match.entry.kind for match in lexicon.find("First, we note that x > 0.")]    # ["sequential", "reasoning verb"]

A file has `groups`, each with `category`, `kind`, `words`, and either `source` (the paper's own words, and where they
stand) or `assumed` (ours, and why). An entry that starts with a capital is matched with that capital only; any other in
either case. A space is any white space, ' is also ’. The longest entry wins where several start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# a word does not start after a letter, a digit, a backslash, or a hyphen or apostrophe that joins it to a word
_WORD_START = re.compile(r"(?<![\w\\])(?<!\w[-'’])[^\W\d_]+")


@dataclass(frozen=True)
class Entry:
    """A word or phrase. `source`: the place in the paper, or the reason why we added it (`assumed`)."""

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
    """Words of one or several categories."""

    name: str
    entries: tuple[Entry, ...]

    def find(self, text: str) -> list[EntryMatch]:
        """Every entry in a text, from left to right, without overlaps; the longest one at each start."""
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
        """The number of entries from the paper and of assumed ones, for a caption."""
        assumed = sum(entry.assumed for entry in self.entries)
        return f"Lexicon {self.name}: {len(self.entries) - assumed} words of the paper, {assumed} assumed"

    @cached_property
    def _by_first_word(self) -> dict[str, list[tuple[re.Pattern[str], Entry]]]:
        """The entries that start with a word, the longest first; few words of a text start any."""
        entries: dict[str, list[tuple[re.Pattern[str], Entry]]] = {}
        for entry in sorted(self.entries, key=lambda entry: -len(entry.text)):
            first = _WORD_START.match(entry.text)
            if first is None:
                raise ValueError(f"lexicon {self.name}: expected words, got {entry.text!r}")
            entries.setdefault(first[0].lower(), []).append((_expression(entry.text), entry))
        return entries


def load_lexicon(path: Path, *, stated_only: bool = False) -> Lexicon:
    """A lexicon file. `stated_only` excludes the assumed words, so that only the paper's own remain."""
    import yaml

    groups = yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    entries = [
        Entry(word, group["category"], group["kind"], group.get("source") or group["assumed"], "assumed" in group)
        for group in groups
        for word in group["words"]
    ]
    return Lexicon(path.stem, tuple(entry for entry in entries if not (stated_only and entry.assumed)))


def _expression(text: str) -> re.Pattern[str]:
    """Matches a whole entry, not part of a longer word: any white space, either apostrophe, and its capital, if any."""
    first, rest = re.escape(text[0]), re.escape(text[1:]).replace(r"\ ", r"\s+").replace("'", "['’]")
    either_case = f"{first}(?i:{rest})" if text[0].isupper() else f"(?i:{first}{rest})"
    return re.compile(rf"{either_case}(?!\w)(?![-'’]\w)")

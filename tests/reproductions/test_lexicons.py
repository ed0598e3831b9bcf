"""Lexicons: the papers' words are in the papers, files are complete, and how an entry is matched."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evals.analysis.lexicon import Entry, Lexicon, load_lexicon
from reproductions.entropy_advantage.figures.exploration import PIVOTAL, REFLECTIVE
from reproductions.trial_and_error.figures.categories import LEXICON as CATEGORIES
from tests.shared import paper_text

FILES = {CATEGORIES: 2, PIVOTAL: 3, REFLECTIVE: 3}  # -> number of the paper's text


def lexicon(*words: str) -> Lexicon:
    return Lexicon("test", tuple(Entry(word, "c", "k", "s", False) for word in words))


@pytest.mark.parametrize("path", FILES)
def test_the_papers_words_are_in_the_paper(path: Path) -> None:
    text = paper_text(FILES[path]).replace("’", "'").lower()
    stated = [entry.text for entry in load_lexicon(path, stated_only=True).entries]
    assert stated and [word for word in stated if word.lower() not in text] == []


def matched(text: str, *words: str) -> list[str]:
    return [text[f.start : f.end] for f in lexicon(*words).find(text)]


def test_whole_words_only() -> None:
    text = "So, so-called sofas: also SO. I'so so' \\so so_1 not-so"
    assert matched(text, "so") == ["So", "SO", "so"]  # the last is the one before the quotation mark


def test_a_capital_in_an_entry_must_be_in_the_text() -> None:
    assert matched("Wait, do not wait. WAIT", "Wait") == ["Wait", "WAIT"]
    assert matched("Then THEN then", "then") == ["Then", "THEN", "then"]


def test_the_longest_entry_wins_and_phrases_bend() -> None:
    assert matched("First, I  will count. First I count.", "first", "First, I will") == ["First, I  will", "First"]
    assert matched("Let’s\ncheck, let's checkmate", "let's check") == ["Let’s\ncheck"]
    assert matched("on the other hand", "hand", "on the other hand") == ["on the other hand"]


@pytest.mark.parametrize("path", FILES)
def test_every_group_says_where_its_words_are_from_and_no_word_is_there_twice(path: Path) -> None:
    for group in yaml.safe_load(path.read_text())["groups"]:
        assert set(group) in ({"category", "kind", "words", "source"}, {"category", "kind", "words", "assumed"}), group
        assert all(isinstance(word, str) and word for word in group["words"]), group  # yes and no are not words in YAML
    words = [entry.text.casefold() for entry in load_lexicon(path).entries]
    assert len(words) == len(set(words))

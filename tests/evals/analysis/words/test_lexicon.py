"""Lexicons: the papers' words are in the papers, every entry has one origin, and entries are found as whole words."""

from __future__ import annotations

import pytest

from evals.analysis.words.lexicon import Entry, Lexicon, load_lexicon, read_groups
from evals.analysis.words.token_categories import CATEGORIES
from tests.shared import paper_text

NAMES = {"token_categories": 2, "pivotal_tokens": 3, "reflective": 3}  # -> number of the paper's text


def lexicon(*words: str) -> Lexicon:
    return Lexicon("test", tuple(Entry(word, "c", "k", "s", False) for word in words))


@pytest.mark.parametrize("name", NAMES)
def test_the_papers_words_are_in_the_paper(name: str) -> None:
    text = paper_text(NAMES[name]).replace("’", "'").lower()
    stated = [entry.text for entry in load_lexicon(name, stated_only=True).entries]
    assert stated and [word for word in stated if word.lower() not in text] == []


def test_categories_are_known_and_the_assumed_can_be_excluded() -> None:
    whole = load_lexicon("token_categories")
    assert {entry.category for entry in whole.entries} == {"formal", "logical", "metacognitive"} < set(CATEGORIES)
    stated = load_lexicon("token_categories", stated_only=True)
    assert {entry.text for entry in stated.entries if entry.category == "logical"} == {
        "therefore", "because", "however", "but", "first", "next", "finally", "and", "also"
    }  # fmt: skip
    assert whole.describe() == f"token_categories: 22 words of the paper, {len(whole.entries) - 22} assumed"
    with pytest.raises(ValueError, match="did you mean 'reflective'"):
        load_lexicon("reflectiv")


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected one key, groups"),
        ({"groups": [{"category": "a", "kind": "b", "words": ["x"]}]}, "group 0: expected category, kind, words and"),
        ({"groups": [{"category": "a", "kind": "b", "source": "s", "assumed": "w", "words": ["x"]}]}, "either source"),
        ({"groups": [{"category": "a", "kind": "b", "source": "s", "words": [True]}]}, r"words: .* got \[True\]"),
        ({"groups": [{"category": "a", "kind": "b", "source": "", "words": ["x"]}]}, "source: expected words, got ''"),
        ({"groups": [{"category": "a", "kind": "b", "source": "s", "words": ["x", "X"]}]}, "got 'x' more than once"),
    ],
)
def test_a_bad_file_is_named(content: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_groups(content, "file")

"""Word lists of the papers: the papers' words are in the papers, and files are complete."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evals.analysis.words import WordList
from reproductions.entropy_advantage.figures import WORDS as EXPLORATION
from reproductions.trial_and_error.figures.categories import WORDS as CATEGORIES
from tests.shared import paper_text

FILES = {CATEGORIES: 2, EXPLORATION: 3}  # -> number of the paper's text


@pytest.mark.parametrize("path", FILES)
def test_the_papers_words_are_in_the_paper(path: Path) -> None:
    text = paper_text(FILES[path]).replace("’", "'").lower()
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    stated = [word for group in groups if "assumed" not in group for word in group["words"]]
    assert stated and [word for word in stated if word.lower() not in text] == []
    words = WordList.read(path)
    assert sum(map(len, words.words.values())) - words.assumed == len(stated)


def test_exploration_has_the_papers_examples() -> None:
    words = WordList.read(EXPLORATION)
    assert [category for *_, category in words.find("First, because; however: recall, thus")] == ["pivotal"] * 5
    assert [category for *_, category in words.find("We verify and check. The checkers wait.")] == ["reflective"] * 2

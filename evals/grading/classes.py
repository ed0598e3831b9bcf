"""Classes of equal answers, by few comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

COMPARED = 16  # a problem's most frequent texts: each text is compared with them, and they with each


def first_members(answers: Sequence[str], same: Callable[[str, str], bool]) -> dict[str, str]:
    """For each text, the first member of its class: the first that it equals, else itself.

    All pairs are compared of up to COMPARED different texts. Among more texts, a pair of rare ones is not: at most
    COMPARED comparisons a text, where all pairs would take a square. A class that could be the majority has a frequent
    text.
    """
    texts = Counter(answers)  # in order of appearance
    frequent = {text for text, _ in texts.most_common(COMPARED)}
    first: dict[str, str] = {}
    leaders: dict[str, None] = {}
    with_frequent: dict[str, None] = {}  # leaders of classes that have a frequent text
    for text in texts:
        against = leaders if text in frequent else with_frequent
        first[text] = next((leader for leader in against if same(leader, text)), text)
        leaders[first[text]] = None
        if text in frequent:
            with_frequent[first[text]] = None
    return first

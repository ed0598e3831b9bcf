"""The leak probe: it finds what is planted, and nothing in a model that has read nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from benchmarks.leaks import completed, cut, probe, questions, renumbered
from evals.data.benchmarks import Problem
from evals.sampling.engines import Completion, Decoding, Request

TEXTS = [
    f"A farmer number {i} has {i + 12} apples and gives {i + 3} of them away. How many does she keep?" for i in range(8)
]
PROBLEMS = [Problem(str(i), text, "9") for i, text in enumerate(TEXTS)]


class Reader:
    """A model that has read some texts: it completes what one of them, or its own prompt, begins with, else nothing."""

    chunk_rows, tokenizer = 64, None

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        for request in requests:
            before, _, question = request.prompt_text.rpartition("\n\n")
            known = [text for text in (*self.texts, before) if text.startswith(question)]
            text = known[0][len(question) :] + " The answer is 9." if known else " and then nothing more of the kind"
            yield [Completion(request.key, text, len(text.split()), "stop")]


def rates(read: Sequence[str]) -> dict[tuple[str, str], tuple[int, int]]:
    results = probe(Reader(read), {"x": PROBLEMS}, shares=[0.6])  # type: ignore[arg-type]
    return {(r.condition, r.what): (r.hits, r.problems) for r in results}


def test_what_was_read_is_found_and_the_controls_say_what_the_probe_can_see() -> None:
    leaked = rates(TEXTS)
    assert leaked["as it is", "completed"] == leaked["as it is", "answer"] == (8, 8)
    assert leaked["clean", "completed"] == (0, 8) and leaked["planted", "completed"] == (8, 8)
    unread = rates([])
    assert unread["as it is", "completed"] == (0, 8) and unread["planted", "completed"] == (8, 8)
    assert ("clean", "answer") not in leaked  # other numbers have another answer


def test_half_of_the_problems_read_is_half_of_the_rate_with_its_interval() -> None:
    results = probe(Reader(TEXTS[:4]), {"x": PROBLEMS}, shares=[0.6])  # type: ignore[arg-type]
    (rate,) = [r for r in results if (r.condition, r.what) == ("as it is", "completed")]
    # Wilson, 4 of 8: (0.5 + z²/16 ± z sqrt(1/32 + z²/256)) / (1 + z²/8) with z = 1.96 is 0.215 and 0.785
    assert rate.hits == 4 and (rate.low, rate.high) == pytest.approx((0.2152, 0.7848), abs=1e-4)


def test_a_text_is_cut_between_words_and_a_short_rest_is_not_asked() -> None:
    assert cut("a b c d e f g h i j", 0.4) == ("a b c d", "e f g h i j")
    assert cut("a b c d e f g h i j", 0.8) is None  # two words are left
    with pytest.raises(ValueError, match="between 0 and 1"):
        cut("a b", 1.0)


@pytest.mark.parametrize(
    ("text", "whole", "same"),
    [
        (" e f g h i j and more", True, True),
        (" e f g h i", True, False),  # the model ended without the last word
        (" e f g h i jk", False, True),  # cut off: the last word may be a part
        (" e f g h x", False, True),
        (" e f g x i j", False, False),
        (" e f g", False, False),  # too little to tell
        ("", False, False),
    ],
)
def test_word_for_word(text: str, whole: bool, same: bool) -> None:
    assert completed(text, "e f g h i j", whole) is same


def test_the_clean_twin_has_other_numbers_of_the_same_length_and_is_the_same_in_every_run() -> None:
    twin = renumbered("Add 12 and 305.", "seed")
    assert twin == renumbered("Add 12 and 305.", "seed") != "Add 12 and 305." and len(twin) == len("Add 12 and 305.")
    assert twin.split()[0] == "Add" and not twin.split()[1].startswith("1")
    without = [
        q.condition for q in questions("x", [Problem("1", "Find the sum of all of the odd things here.", "1")], [0.4])
    ]
    assert without == ["as it is", "planted"]

"""Re-numbered texts, and which text a model of known preferences takes for the likeliest."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.renumbered import COPIES, preferred, renumbered, text_logps
from evals.data.benchmarks import Problem

torch = pytest.importorskip("torch")


@given(st.lists(st.integers(1, 9999), min_size=2, max_size=5), st.text(alphabet="xyz ", max_size=8))
def test_copies_differ_in_their_numbers_alone_and_keep_the_digits(numbers: list[int], words: str) -> None:
    text = f"{words} and ".join(map(str, numbers))
    copies = renumbered(text, seed="a")
    assert copies == renumbered(text, seed="a")
    assert len(set(copies)) == len(copies) in (0, COPIES) and text not in copies
    shape = re.sub(r"\d", "0", text)
    for copy in copies:
        assert re.sub(r"\d", "0", copy) == shape
        assert not re.search(r"(?<!\d)0\d", copy)  # no number begins with 0


def test_a_text_with_too_few_numbers_has_no_copies() -> None:
    assert renumbered("how many?", seed="a") == []
    assert renumbered("5 apples", seed="a") == []  # eight other digits, and nine copies are asked for
    assert len(renumbered("15 apples", seed="a")) == COPIES


class Digits:
    """One token a character, independent; the digit 7 has the probability 1/2, each of the 128 others 1/256."""

    def tokenizer(self, text: str, add_special_tokens: bool) -> Any:
        from types import SimpleNamespace

        return SimpleNamespace(input_ids=[ord(c) for c in text])

    class model:
        device = "cpu"

        def __new__(cls, input_ids: Any, attention_mask: Any) -> Any:
            from types import SimpleNamespace

            logits = torch.full((*input_ids.shape, 129), math.log(0.5 / 128))
            logits[..., ord("7")] = math.log(0.5)
            return SimpleNamespace(logits=logits)


def test_the_log_probability_of_a_text_is_that_of_its_tokens_after_the_first() -> None:
    seven, other = math.log(0.5), math.log(0.5 / 128)
    assert text_logps(Digits(), ["a77", "a1", "x712y"]) == pytest.approx(
        [2 * seven, other, seven + 3 * other], abs=1e-5
    )


def test_a_preferred_text_beats_every_copy() -> None:
    problems = [Problem("most", "n = 777.", "1"), Problem("least", "n = 123.", "1"), Problem("none", "n?", "1")]
    # 123 against nine random numbers of three digits: at least one of the first problem's kind has a 7
    assert preferred(Digits(), problems) == {"most": True, "least": False}

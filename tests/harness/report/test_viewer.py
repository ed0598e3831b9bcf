"""Packing responses, against an unpacking written apart."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.viewer import ALPHABET, LEVELS, Shown, digits, keep, level, pack
from tests.harness.report.pages import response, responses

ENTROPIES = st.floats(0, 12, allow_nan=False)
TOKENS = st.lists(st.tuples(st.text(max_size=4), ENTROPIES), max_size=12)


def unpack(data: dict[str, Any], i: int) -> list[tuple[str, float, bool]]:
    """(token, entropy, fork) of a response, as the viewer reads them."""
    packed = data["responses"]
    base, width = len(data["alphabet"]), data["width"]
    tokens = []
    for k, code in enumerate(packed["entropy"][i]):
        index = 0
        for character in packed["tokens"][i][k * width : (k + 1) * width]:
            index = index * base + data["alphabet"].index(character)
        step, fork = divmod(data["alphabet"].index(code), 2)
        tokens.append((data["strings"][index], data["top"] * (step / (data["levels"] - 1)) ** 2, bool(fork)))
    return tokens


@given(st.lists(TOKENS, min_size=1, max_size=5), st.floats(0, 12))
def test_packed_responses_read_back_within_half_a_level(
    given_tokens: list[list[tuple[str, float]]], fork: float
) -> None:
    shown = [
        replace(response("a", "p", i), tokens=tuple(t for t, _ in of), entropies=tuple(h for _, h in of))
        for i, of in enumerate(given_tokens)
    ]
    data = pack(shown, {"a": fork}, of=9)
    assert (data["kept"], data["of"]) == (len(shown), 9)
    for i, of in enumerate(given_tokens):
        back = unpack(data, i)
        assert [t for t, _, _ in back] == [t for t, _ in of]
        assert [f for _, _, f in back] == [h >= fork for _, h in of]  # before rounding, so that no mark is wrong
        for (_, rounded, _), (_, h) in zip(back, of, strict=True):
            # even steps of the root: half of one is 0.5 / 44 of sqrt(top)
            assert abs(math.sqrt(rounded) - math.sqrt(h)) <= math.sqrt(data["top"]) * 0.5 / (LEVELS - 1) + 1e-9


def test_the_alphabet_needs_no_escape() -> None:
    # 95 printable ASCII characters without " \ < > &; two a level
    assert len(ALPHABET) == len(set(ALPHABET)) == 90 and LEVELS == 45
    assert not set(ALPHABET) & set('"\\<>&')


def test_entropies_are_packed_as_digits_and_levels_by_hand() -> None:
    # 90 * 1 + 2: the second and the third character
    assert digits(92, 2) == ALPHABET[1] + ALPHABET[2]
    assert digits(0, 1) == ALPHABET[0]
    # sqrt(0.25) = 0.5 of 44 steps
    assert (level(0.0, 4.0), level(1.0, 4.0), level(4.0, 4.0), level(0.0, 0.0)) == (0, 22, 44, 0)


def test_more_tokens_than_one_character_tells_apart() -> None:
    many = replace(response("a", "p", 0), tokens=tuple(map(str, range(91))), entropies=(0.0,) * 91)
    data = pack([many], {}, of=1)
    assert data["width"] == 2 and [t for t, _, _ in unpack(data, 0)] == list(map(str, range(91)))


def test_a_response_that_was_not_read_keeps_its_text() -> None:
    data = pack(responses(), {"base": 1.0}, of=16)
    i = data["responses"]["verdict"].index("no_answer")
    assert data["responses"]["tokens"][i] is None and "</script>" in data["responses"]["text"][i]
    assert [run["fork"] for run in data["runs"]] == [1.0, None]


def test_responses_beyond_the_budget_are_sampled_evenly_from_correct_and_incorrect_ones() -> None:
    shown = [response(run, p, s, "wrong" if s == 3 else "correct") for run in "ab" for p in "xy" for s in range(4)]
    cost = shown[0].cost
    kept = keep(shown, budget=8 * cost)  # of 4 pairs of run and problem with 4 samples each, 2 each
    assert [(r.run, r.problem, r.sample) for r in kept] == [(run, p, s) for run in "ab" for p in "xy" for s in (0, 3)]
    assert keep(shown, budget=len(shown) * cost) == shown
    assert keep(shown, budget=cost - 1) == []


@given(st.lists(st.integers(0, 40), max_size=20), st.integers(0, 3000))
def test_kept_responses_fit_the_budget(lengths: list[int], budget: int) -> None:
    shown = [
        replace(response("a", "p", i), tokens=("t",) * n, entropies=(0.0,) * n, verdict=("correct", "wrong")[i % 2])
        for i, n in enumerate(lengths)
    ]
    kept = keep(shown, budget)
    assert sum(r.cost for r in kept) <= budget
    assert [r for r in shown if r in kept] == kept


@pytest.mark.parametrize("bad", [(0.1, math.nan), (0.1, -1.0), (0.1,), (0.1, math.inf)])
def test_impossible_entropies_are_refused(bad: tuple[float, ...]) -> None:
    shown: Shown = replace(response("a", "p", 0), tokens=("x", "y"), entropies=bad)
    with pytest.raises(ValueError, match="a, p, sample 0"):
        pack([shown], {}, of=1)

"""Over all golds of the benchmarks at hand: a gold with a hedge or with one sign changed is not accepted, nor is
another gold of the same benchmark, but where they are equal: as math-verify says, or as read by hand (`READ`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from evals.grading.evaluation import constant
from evals.grading.extraction import locate
from evals.grading.spelling import clean
from tests.evals.grading.test_wrong_accepts import CHANGES, accepts, golds_by_benchmark

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive, pytest.mark.timeout(3600)]  # 2 minutes of a processor
FOLDER = Path(__file__).parent
HEDGES = [
    *(FOLDER / "hedges.txt").read_text("utf-8").splitlines(),
    *(form for form in CHANGES["a hedge"] + CHANGES["a denial"] if form not in ("%s!", "%s!!")),  # 2! is 2
]
READ = {  # a free constant has any name. f is constant. A unit may be missing
    (r"-\sin (3 t) / 5+ C_{1} \sin (2 t)+C_{2} \cos (2 t)", r"-\sin (3 t) / 5+ C_{7} \sin (2 t)+C_{2} \cos (2 t)"),
    (r"-\sin (3 t) / 5+ C_{1} \sin (2 t)+C_{2} \cos (2 t)", r"-\sin (3 t) / 5+ C_{1} \sin (2 t)+C_{3} \cos (2 t)"),
    (
        r"\frac{\cos (2 t)}{15}+C_{1} e^{t}+C_{2} e^{-t}+C_{3} \cos (t)+C_{4} \sin (t)",
        r"\frac{\cos (2 t)}{15}+C_{1} e^{t}+C_{2} e^{-t}+C_{3} \cos (t)+C_{5} \sin (t)",
    ),
    ("$f(x)=1$", "$f(m)=1$"),
    (r"8\sqrt{3}", r"8\sqrt{3} \text { square inches}"),
}
FORMS_EACH = 60  # hedges of a gold, by the seed
UNITS = {"cm": "mm", "feet": "inches", "hours": "minutes", "dollars": "cents", "p.m": "a.m", "degrees": "radians"}


def all_golds() -> list[tuple[str, list[str]]]:
    """(gold, all golds of its benchmark), each gold once."""
    pairs = {gold: golds for golds in golds_by_benchmark() for gold in golds}
    if not pairs:
        pytest.skip("no benchmarks at hand; set RLVR_SHARED")
    return sorted(pairs.items())


def unconfirmed(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The accepted pairs that neither math-verify nor a reader found equal."""
    from math_verify import parse, verify

    accepted = [pair for pair in pairs if pair[0] != pair[1] and accepts(*map(locate, pair)) and pair not in READ]
    boxed = [[parse(rf"\boxed{{{locate(side)}}}") for side in pair] for pair in accepted]
    return [pair for pair, sides in zip(accepted, boxed, strict=True) if not verify(*sides)]


def changed(gold: str, drawn: random.Random) -> Iterator[str]:
    """The gold with one letter, digit, sign, index or exponent, or unit changed, at most twice each."""

    def sampled(pattern: str) -> list[re.Match[str]]:
        matches = [*re.finditer(pattern, gold)]
        return drawn.sample(matches, min(2, len(matches)))

    def put(match: re.Match[str], text: str, group: int = 0) -> str:
        return gold[: match.start(group)] + text + gold[match.end(group) :]

    for letter in sampled(r"(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])"):
        letters = "abcmnpqstuvwxyz" if letter[0].islower() else "ABCDKLMNPQRSTX"
        yield put(letter, drawn.choice([other for other in letters if other != letter[0]]))
    for digit in sampled(r"\d"):
        yield put(digit, str((int(digit[0]) + drawn.randint(1, 9)) % 10))
    for sign in sampled(r"[-+]"):
        yield put(sign, "-" if sign[0] == "+" else "+")
    for index in sampled(r"[_^]\{?(\d)\}?"):
        yield put(index, str((int(index[1]) + 1) % 10), 1)
    for unit, other in UNITS.items():
        if unit in gold:
            yield gold.replace(unit, other, 1)


def equal_after_all(gold: str, form: str) -> bool:
    """Whether a hedge changes nothing: a power of the 1 at the end, arithmetic with 0, an item that is there already, a
    rounding, a row that is transposed, percents without their sign."""
    row = re.sub(r"\\(left|right)|\s", "", gold)
    if form == "%s^{T}" and row[0] + row[-1] in ("()", "[]") and r"\infty" not in row:
        return True
    if form == r"%s\text{ (or 7)}" and gold == r"7\%":
        return True
    last = re.sub(r"[${}\\s]|_\d", "", gold)
    if form in ("%s^{-1}", "%s^{T}"):
        return re.search(r"(?<![\d.])[01]$", last) is not None or "where" in gold
    if form in ("%s / 7", r"%s \%", r"\pm %s", r"\sqrt{%s}", "%s..."):
        return re.search(r"(?<![\d.])0$", last) is not None or gold in ("1", "-1./3", "3i,-3i")
    if form == r"%s \approx 8":
        value = constant(clean(gold))
        return gold == r"$8 \%$" or (value is not None and value.denominator != 1 and abs(value - 8) < 1)
    number = re.search(r"[789](?=\}?$)|^[789]", form.replace("%s", "").replace(r"\text{Answer: }", "").strip())
    return number is not None and number[0] in re.findall(r"\d+", gold) and not re.fullmatch(r"[789]", gold)


def test_no_hedged_gold_is_accepted() -> None:
    drawn = random.Random(1)
    pairs = (
        (gold, form, form.replace("%s", locate(gold)))
        for gold, _ in all_golds()
        for form in drawn.sample(HEDGES, FORMS_EACH)
    )
    accepted = {(gold, form) for gold, form, text in pairs if accepts(locate(gold), text)}
    assert {pair for pair in accepted if not equal_after_all(*pair)} == set()


def test_a_changed_gold_is_accepted_only_where_it_is_equal() -> None:
    drawn = random.Random(2)
    assert unconfirmed((gold, other) for gold, _ in all_golds() for other in changed(gold, drawn)) == []


def test_another_gold_of_the_benchmark_is_accepted_only_where_it_is_equal() -> None:
    drawn = random.Random(3)
    assert unconfirmed((gold, drawn.choice(golds)) for gold, golds in all_golds() for _ in range(20)) == []
    assert unconfirmed(pair for golds in golds_by_benchmark() for pair in pairwise(golds)) == []  # in order of text

"""Newer benchmarks and their dates; generated problems, each answer checked by brute force from the problem's text."""

from __future__ import annotations

import itertools
import json
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.data import benchmarks, dates, generated
from tests.shared import shared_file

FRESH = {
    "hmmt_feb_2025": 30, "aime_2026": 30, "olymmath_en_easy": 100, "olymmath_en_hard": 100, "math_perturb_simple": 279,
    "math_perturb_hard": 279,
}  # fmt: skip


@pytest.mark.parametrize(("name", "rows"), FRESH.items())
def test_real_rows_match_their_pin(name: str, rows: int) -> None:
    loaded = benchmarks.load(name, data_dir=shared_file(f"data/fresh/{name}.jsonl").parent)
    assert len(loaded.problems) == rows and not loaded.changed


def test_every_benchmark_has_a_date_that_is_compared_with_models() -> None:
    for name in benchmarks.names():
        date = dates.published(name)
        assert date == "never" or (date and re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", date)), name
    assert dates.age("math500", "Qwen/Qwen2.5-Math-7B") == "older than the model"
    assert dates.age("aime25", "Qwen/Qwen2.5-Math-7B") == "newer than the model"
    assert dates.age("aime25", "Qwen/Qwen3-8B-Base") == "older than the model"  # 2025-02 against 2025-04
    assert dates.age("hmmt_feb_2025", "hkust-nlp/Qwen-2.5-32B-SimpleRL-Zoo") == "newer than the model"
    assert dates.age("generated", "Qwen/Qwen3-8B-Base") == "never published"
    assert dates.age("aime24", "someone/unheard-of") == "not known"


def test_the_base_models_of_all_papers_have_a_date() -> None:
    from harness.spec import catalogue

    models = {sourced.value for key in catalogue.papers() for sourced in catalogue.load(key).models.values()}
    without = {model for model in models if dates.released(model) is None}
    # a name that does not say what it was trained from
    assert without <= {"PRIME-RL/Eurus-2-7B-PRIME", "Skywork/Skywork-OR1-Math-7B"}


def test_the_generated_benchmark_needs_no_file_and_matches_its_pin(tmp_path: Path) -> None:
    loaded = benchmarks.load("generated")
    assert len(loaded.problems) == 300 and not loaded.changed and loaded.source == "generated with seed 0"
    assert benchmarks.load("generated", data_dir=tmp_path).sha256 == loaded.sha256
    generated.write_rows(tmp_path / "generated.jsonl", 300, seed=1)
    with pytest.raises(ValueError, match="is not the pinned version"):
        benchmarks.load("generated", data_dir=tmp_path)
    own = benchmarks.load("generated", data_dir=tmp_path, allow_changed_data=True)
    assert own.changed
    texts = [{p.problem for p in some.problems} for some in (loaded, own)]
    assert min(map(len, texts)) >= 298 and len(texts[0] & texts[1]) <= 3  # numbers rarely come twice


def test_rows_depend_on_the_seed_alone() -> None:
    assert generated.rows(40, 3)[:25] == generated.rows(25, 3)
    assert json.dumps(generated.rows(40, 3)) != json.dumps(generated.rows(40, 4))
    with pytest.raises(ValueError, match="count >= 1"):
        generated.rows(0)


def brute_force(problem: str) -> Fraction:
    """The answer, by counting or searching, from the numbers in the text."""
    n = [int(x) for x in re.findall(r"-?\d+", problem)]
    if "coins each" in problem:
        return Fraction(n[4] - sum([n[1]] * n[0]) - sum([n[3]] * n[2]))
    if "pump" in problem:
        return 1 / (Fraction(1, n[0]) + Fraction(1, n[1]))
    if "years old" in problem:
        return Fraction(next(t for t in range(200) if n[1] + t == n[2] * (n[0] + t)))
    if "remainder" in problem:
        value = 1
        for _ in range(n[1]):
            value = value * n[0] % n[2]
        return Fraction(value)
    if "divisible" in problem:
        return Fraction(sum(i % n[2] == 0 or i % n[3] == 0 for i in range(1, n[1] + 1)))
    if "committees" in problem:
        people = range(n[0] + n[1])
        size = n[2]
        if size < 4:  # all subsets; of four, those of women alone are taken away
            return Fraction(sum(max(c) >= n[0] for c in itertools.combinations(people, size)))
        mixed = itertools.product(range(size), repeat=2)
        return Fraction(sum(math.comb(n[0], w) * math.comb(n[1], size - w) for w, first in mixed if first == 0))
    if "marbles. Two" in problem:
        colours = "r" * n[0] + "b" * n[1]
        pairs = list(itertools.combinations(colours, 2))
        return Fraction(sum(a == b for a, b in pairs), len(pairs))
    if problem.startswith("Solve"):
        a, b, e, c, d, f = n
        return Fraction(
            next(x + y for x in range(-12, 13) for y in range(-12, 13) if (a * x + b * y, c * x - d * y) == (e, f))
        )
    if "rectangle" in problem:
        return Fraction(next(w * (w + n[0]) for w in range(1, 500) if 2 * (w + w + n[0]) == n[1]))
    if "arithmetic sequence" in problem:
        return Fraction(sum(n[0] + i * n[1] for i in range(n[2])))
    if "rises by" in problem:
        return n[0] * (1 + Fraction(n[1], 100)) * (1 - Fraction(n[2], 100))
    if "right triangle" in problem:
        return Fraction(math.isqrt(n[0] ** 2 + n[1] ** 2))
    if "tiles" in problem:
        side = max(s for s in range(1, n[0] + 1) if n[0] % s == 0 and n[1] % s == 0)
        return Fraction(n[0] // side * (n[1] // side))
    if "digits" in problem:
        return Fraction(sum(int(x) for x in str(n[0] + n[1])))
    factorial, zeros = math.factorial(n[0]), 0
    while factorial % 10 == 0:
        factorial, zeros = factorial // 10, zeros + 1
    return Fraction(zeros)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_answers_are_those_of_brute_force(seed: int) -> None:
    for row in generated.rows(len(generated.TEMPLATES), seed):
        assert Fraction(row["answer"]) == brute_force(row["problem"]), row


def test_generated_answers_are_graded_as_themselves() -> None:
    from evals.grading import Grader

    rows = generated.rows(60, 7)
    with Grader(workers=1) as grader:
        same = grader.grade_answers([(row["answer"], row["answer"]) for row in rows])
        other = grader.grade_answers([(row["answer"], str(Fraction(row["answer"]) + 1)) for row in rows])
    assert {str(g.verdict) for g in same} == {"correct"} and {str(g.verdict) for g in other} == {"wrong"}

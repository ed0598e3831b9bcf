"""Scores of small verdict tables by hand, and what must not change them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading.verdicts import Verdict
from evals.stats.intervals import Interval, estimate, over_problems
from evals.stats.score import Score, bounds_text, meanings, number_text, p_text, reported, score, score_text
from evals.stats.verdict_table import METRICS

if TYPE_CHECKING:
    import pandas as pd

# one letter a sample: a, b, c a wrong answer of that class; + correct; - no answer; t truncated; ? unscored
VERDICTS = {"+": Verdict.CORRECT, "-": Verdict.NO_ANSWER, "t": Verdict.TRUNCATED, "?": Verdict.UNSCORED}


def table(problems: dict[str, str], **columns: Any) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {
            "problem_id": problem,
            "sample": i,
            "verdict": str(VERDICTS.get(letter, Verdict.WRONG)),
            "answer_class": None if letter in "-t?" else "+abc".index(letter),
            "boxed": letter not in "-t",
            **columns,
        }
        for problem, letters in problems.items()
        for i, letter in enumerate(letters)
    ]
    return pd.DataFrame(rows)


def by_name(scores: list[Score]) -> dict[str, Score]:
    return {s.name: s for s in scores}


def test_scores_by_hand() -> None:
    scores = by_name(score(table({"p": "++a-", "q": "aatb", "r": "+++t"}), ks=(1, 2, 4)))
    assert list(scores) == ["avg@4", "pass@1", "pass@2", "pass@4", "maj@1", "maj@2", "maj@4", "fmt"]
    value = {name: s.value for name, s in scores.items()}
    assert value["avg@4"] == pytest.approx((2 / 4 + 0 + 3 / 4) / 3)
    assert value["pass@1"] == value["maj@1"] == pytest.approx(value["avg@4"])
    # pairs without a correct sample: p 1 of 6, q 6 of 6, r 0 of 6
    assert value["pass@2"] == pytest.approx((5 / 6 + 0 + 1) / 3)
    assert value["pass@4"] == pytest.approx(2 / 3)
    # the six pairs of p: one ++ wins 1, two +a win 1/2 each, two +- win 1 each, one a- wins 0. r: each pair wins
    assert value["maj@2"] == pytest.approx((4 / 6 + 0 + 1) / 3)
    assert value["maj@4"] == pytest.approx(2 / 3)
    assert value["fmt"] == pytest.approx((3 / 4 + 3 / 4 + 3 / 4) / 3)
    assert all((s.problems, s.excluded, s.samples, s.unscored, s.why) == (3, 0, 12, 0, None) for s in scores.values())
    assert scores["pass@2"].interval == over_problems([5 / 6, 0, 1])


def test_scores_have_names_for_tables_and_keys_for_files() -> None:
    frame = table({"p": "+a", "q": "aa"}, tokens=5, finish_reason="stop")
    scores = score(frame, ks=(2,), metrics=METRICS)
    assert [(s.name, s.key) for s in scores] == [
        ("avg@2", "avg_at_2"),
        ("pass@2", "pass_at_2"),
        ("maj@2", "maj_at_2"),
        ("unsolvable@2", "unsolvable_at_2"),
        ("fmt", "fmt"),
        ("no answer rate", "no_answer_rate"),
        ("mean tokens", "mean_tokens"),
        ("truncation rate", "truncation_rate"),
    ]


def test_unscored_is_not_wrong() -> None:
    # p: 1 of its 2 scored samples is right. q: 1 of 4
    scores = by_name(score(table({"p": "+a??", "q": "+aaa"}), ks=(2, 4)))
    assert scores["avg@4"].value == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert scores["pass@2"].value == pytest.approx((1 + 1 / 2) / 2)
    assert all((scores[name].problems, scores[name].excluded) == (1, 1) for name in ("pass@4", "maj@4"))
    assert {(s.samples, s.unscored) for s in scores.values()} == {(8, 2)}
    assert scores["fmt"].value == 1.0  # a box needs no verdict


def test_too_few_samples_give_no_value_with_a_reason() -> None:
    scores = by_name(score(table({"p": "+a", "q": "aa"}), ks=(8,)))
    for name in ("pass@8", "maj@8"):
        got = scores[name]
        assert (got.value, got.interval, got.problems, got.excluded) == (None, None, 0, 2)
        assert got.why
    assert scores["avg@2"].value == 0.25


def test_uneven_samples_have_an_avg_without_k() -> None:
    (got,) = score(table({"p": "+a", "q": "aaaa"}), ks=(), metrics=("avg",))
    assert (got.name, got.key, got.k, got.value) == ("avg", "avg", None, 0.25)


def test_length_and_truncation_rate_by_hand() -> None:
    frame = table({"p": "+t", "q": "aa"})
    frame["tokens"] = [10, 30, None, 50]
    frame["finish_reason"] = ["stop", "length", None, "stop"]
    tokens, cut = score(frame, ks=(), metrics=("mean_tokens", "truncation_rate"))
    assert tokens.value == pytest.approx((20 + 50) / 2)
    expected = over_problems([20, 50], bounds=None)
    assert expected is not None and expected.low < 0  # and no response is shorter than nothing
    assert tokens.interval == replace(expected, low=0.0)
    assert cut.value == pytest.approx((1 / 2 + 0) / 2)
    unknown = score(table({"p": "+t"}), ks=(), metrics=("mean_tokens", "truncation_rate"))
    assert all(s.value is None and s.why for s in unknown)


def seeds(*runs: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([table(run, train_seed=s) for s, run in enumerate(runs)], ignore_index=True)


def test_training_seeds_are_averaged_and_covered() -> None:
    rows = seeds({"p": "+a", "q": "aa"}, {"p": "++", "q": "+a"}, {"p": "++", "q": "aa"})
    (got,) = score(rows, ks=(), metrics=("avg",))
    assert (got.name, got.value, got.samples) == ("avg@2", pytest.approx((0.5 + 0 + 1 + 0.5 + 1 + 0) / 6), 12)
    assert got.interval == estimate([[[0.5, 0], [1, 0.5], [1, 0]]]).interval()
    assert got.interval is not None
    assert got.interval.covers == "problems and seeds"


GOOD = table({"p": "+a", "q": "aa"})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (GOOD.drop(columns=["boxed", "sample"]), r"lacks the column\(s\) sample, boxed"),
        (GOOD.iloc[:0], "no rows"),
        (GOOD.assign(verdict="right"), "verdict must be one of .*, got 'right'"),
        (GOOD.iloc[[0, 1, 2, 3, 3]], "the same sample twice: train_seed 0, problem_id q, sample 1"),
        (GOOD.assign(benchmark=["a", "a", "b", "b"]), "one benchmark at a time, got a, b"),
        (GOOD.assign(problem_id=["p", None, "q", "q"]), "problem_id must have a value"),
        (GOOD.assign(answer_class=[0, 0, 1, 1]), "problem 'p': answer class 0 is correct in one sample and not in"),
    ],
)
def test_bad_tables_are_refused(rows: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score(rows, ks=(1,))


def test_bad_requests_are_refused() -> None:
    frame = table({"p": "+a"})
    with pytest.raises(ValueError, match=r"metric must be one of avg, .* got 'best'"):
        score(frame, ks=(1,), metrics=("best",))
    with pytest.raises(ValueError, match=r"at least 1, got ks = \[0\]"):
        score(frame, ks=(0,))


def test_unscored_samples_count_as_wrong_at_the_other_end() -> None:
    # excluded: 1 of 1. All incorrect: 1 of 4. pass@2 has too few scored samples, and no problem has a value. With all
    # incorrect, three of the six pairs of each problem hold the correct sample
    frame = table({"a": "+???", "b": "+???"})
    avg, at_2, fmt = score(frame, ks=[2], metrics=("avg", "pass", "fmt"))
    assert (avg.value, avg.as_wrong, avg.as_right, avg.unscored) == (1.0, 0.25, 1.0, 6)
    assert (at_2.value, at_2.as_wrong, at_2.as_right, fmt.as_wrong) == (None, 0.5, 1.0, None)
    assert score_text(avg) == "100.0 ~[15.8, 100.0] (6 unscored: 25.0 to 100.0 if graded)"
    [all_scored] = score(frame[frame["verdict"] != "unscored"], ks=[1], metrics=("avg",))
    assert all_scored.as_wrong is None


def test_a_reply_that_was_withheld_has_no_box_to_count() -> None:
    """p: of two texts one is boxed. q: nothing came, so it is no value and not 0."""
    frame = table({"p": "+-??", "q": "????"}, boxed=False, finish_reason="content_filter")
    frame.loc[:1, "finish_reason"], frame.loc[0, "boxed"] = "stop", True
    [fmt] = score(frame, ks=[1], metrics=("fmt",))
    assert (fmt.value, fmt.problems, fmt.excluded) == (0.5, 1, 1)
    [none] = score(frame[2:], ks=[1], metrics=("fmt",))
    assert none.value is None and none.why == "no problem has a response; withheld by the server: 6"


def test_what_is_reported_of_an_evaluation() -> None:
    """One set everywhere: a k that the samples cannot give is named, pass@1 is avg, no box where none is asked for."""
    frame = table({"p": "+a", "q": "a-"})
    by_name = {s.name: s for s in reported(frame, [1, 2, 8], "boxed_last")}
    assert list(by_name) == [
        "avg@2", "pass@2", "pass@8", "maj@2", "maj@8", "fmt", "no answer rate", "mean tokens", "truncation rate",
    ]  # fmt: skip
    assert by_name["pass@8"].value is None
    assert by_name["pass@8"].why == "pass@8 needs k = 8 scored samples of a problem, the most that one has is n = 2"
    assert "fmt" not in [s.name for s in reported(frame, [1], "answer_line")]
    assert meanings(by_name.values()).startswith("avg: mean of samples; pass: any of k; maj: majority of k; fmt:")
    assert all(len(words.split()) == 3 for words in METRICS.values())


def test_the_share_without_an_answer_by_hand() -> None:
    # "-" has no answer, "?" is unscored: of p one of two scored, of q none of two
    (result,) = score(table({"p": "+-?", "q": "aa+"}), ks=(), metrics=["no_answer_rate"])
    assert result.value == (1 / 2 + 0) / 2


@pytest.mark.parametrize(
    ("p", "text"),
    [(None, "–"), (0.0009, "<0.001"), (0.05, "0.050"), (0.0501, ">0.050"), (0.0506, "0.051"), (1.0, "1.000")],
)
def test_a_p_above_five_percent_does_not_look_like_five_percent(p: float | None, text: str) -> None:
    assert p_text(p) == text


@pytest.mark.parametrize(
    ("low", "high", "form", "text"),
    [
        (-0.0003, 0.05, "+.1f", "[-0.03, +5.0]"),  # a bound below zero says "not resolved": it keeps its sign
        (0.0004, 0.05, "+.1f", "[+0.04, +5.0]"),
        (-0.05, -1e-17, "+.1f", "[-5.0, +0.0]"),
        (-1e-17, 0.05, ".1f", "[0.0, 5.0]"),  # a score's limits
        (0.0003, 0.05, ".1f", "[0.0, 5.0]"),
    ],
)
def test_no_bound_is_minus_zero(low: float, high: float, form: str, text: str) -> None:
    assert bounds_text(Interval(low, high, 0.95, "problems"), 100, form) == text
    assert number_text(-0.0004, 100, form) in ("+0.0", "0.0")


def test_problems_with_too_few_scored_samples_have_no_value_also_where_these_decide_it() -> None:
    # pass@2 of "+?" is 1 whatever "?" is, that of "--" is 0, and that of "-?" is 0 or 1
    for rows, ends in [({"a": "+?", "b": "--"}, (0.5, 0.5)), ({"a": "+?", "b": "-?", "c": "--"}, (1 / 3, 2 / 3))]:
        [passed] = score(table(rows), ks=[2], metrics=("pass",))
        [unsolved] = score(table(rows), ks=[2], metrics=("unsolvable",))
        assert (passed.value, passed.problems, unsolved.value) == (0.0, 1, 1.0)
        assert (passed.as_wrong, passed.as_right) == pytest.approx(ends)
    assert score_text(replace(passed, interval=None)) == "0.0 (2 unscored: 33.3 to 66.7 if graded)"
    # maj@5 of "+++??" is 1, three of five. That of "aaa??" is 0. That of "++a??" depends, on 2 votes against 3 or fewer
    rows = {"a": "+++??", "b": "aaa??", "c": "++a??", "d": "aaaaa"}
    [result] = score(table(rows), ks=[5], metrics=("maj",))
    assert (result.value, result.problems, result.excluded) == (0.0, 1, 3)
    assert (result.as_wrong, result.as_right) == (0.25, 0.5)


def test_a_score_whose_bounds_are_equal_and_not_its_value_shows_them() -> None:
    [result] = score(table({"a": "+?", "b": "--"}), ks=[2], metrics=("pass",))
    assert score_text(replace(result, interval=None)) == "0.0 (1 unscored: 50.0 to 50.0 if graded)"


def test_unscored_samples_at_random_do_not_bias_pass_at_k() -> None:
    """2,000 problems of 4 samples. One in five is right, one in twenty is unscored by chance.

    pass@4 is 1 - 0.8^4 = 0.590. 0.95^4 of the problems have a value, so its standard error is 0.012. With the problems
    of which the scored samples decide it, pass@4 was above 0.64.
    """
    rng = np.random.default_rng(0)
    right, unscored = rng.random((2000, 4)) < 0.2, rng.random((2000, 4)) < 0.05
    letters = np.where(unscored, "?", np.where(right, "+", "a"))
    [result] = score(table({f"p{i}": "".join(row) for i, row in enumerate(letters)}), ks=[4], metrics=("pass",))
    assert result.value == pytest.approx(1 - 0.8**4, abs=0.03)
    assert result.excluded == int(unscored.any(axis=1).sum())


@given(st.lists(st.text("+ab-?", min_size=4, max_size=4), min_size=1, max_size=5), st.integers(1, 4))
def test_the_value_of_all_problems_lies_within_the_bounds_of_unscored_samples(rows: list[str], k: int) -> None:
    frame = table({f"p{i}": row for i, row in enumerate(rows)})
    for metric in score(frame, ks=[k], metrics=("avg", "pass", "maj", "unsolvable")):
        if metric.as_wrong is not None and metric.as_right is not None:
            low, high = sorted((metric.as_wrong, metric.as_right))
            assert 0 <= low <= high <= 1
            if metric.value is not None and not metric.excluded:
                assert low - 1e-12 <= metric.value <= high + 1e-12


@given(st.lists(st.text("+-?", min_size=3, max_size=3), min_size=1, max_size=4), st.integers(1, 3))
def test_the_bounds_hold_every_way_to_score_the_unscored(rows: list[str], k: int) -> None:
    problems = {f"p{i}": row for i, row in enumerate(rows)}
    [result] = score(table(problems), ks=[k], metrics=("pass",))
    text = "|".join(rows)
    if result.as_wrong is None or result.as_right is None:
        assert "?" not in text
        return
    for filled in product("+-", repeat=text.count("?")):
        ways = iter(filled)
        every = "".join(next(ways) if letter == "?" else letter for letter in text).split("|")
        [full] = score(table(dict(zip(problems, every, strict=True))), ks=[k], metrics=("pass",))
        assert full.value is not None and result.as_wrong - 1e-12 <= full.value <= result.as_right + 1e-12

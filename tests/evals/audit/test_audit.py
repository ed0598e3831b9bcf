"""Audits: planted causes are named, clean files have none, and the choice among equal models equals enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from evals.audit import Evidence, Printed, audit, selection
from evals.audit.grading import by_our_verdicts
from evals.audit.result import NOT_FOUND
from evals.audit.selection import cross_fitted, largest_of_equal
from tests.evals.audit.planted import SCENARIOS, plant

VERDICTS = {
    "not found": NOT_FOUND,
    "another metric": "stands with another number",
    "another checkpoint": "cannot tell",  # one of eight within a few points, on 200 problems
    "selection": "within selection",
    "seeds": "within seeds",
    "truncation": "stands with another number",
    "grader": "made by the grader",
    "format": "made by the grader",
    "gain by grading": "made by the grader",
}
ORDER = (
    NOT_FOUND,
    "made by the grader",
    "cannot tell",
    "within selection",
    "within seeds",
    "stands with another number",
)


@pytest.mark.parametrize("causes", SCENARIOS, ids=" and ".join)
@pytest.mark.parametrize("repetitions", [6, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_planted_causes_are_named(causes: tuple[str, ...], repetitions: int) -> None:
    verdict = min((VERDICTS[cause] for cause in causes), key=ORDER.index)
    named = 0
    for seed in range(repetitions):
        printed, evidence, base = plant(causes, seed)
        result = audit(printed, evidence, base=base)
        named += {cause.name for cause in result.causes} == set(causes) and result.verdict == verdict
    assert named >= repetitions - 1


def test_clean_files_have_no_cause() -> None:
    results = [audit(*plant((), seed)[:2]) for seed in range(60)]
    assert sum(bool(result.causes) for result in results) <= 3
    assert all(result.verdict == "stands" for result in results if not result.causes)


def test_largest_of_equal_checkpoints_equals_enumeration() -> None:
    """One problem at rate 1/2, three checkpoints: 1 unless all three fail, 1 - 1/8. Then two of two problems."""
    assert largest_of_equal(np.array([0.5]), 1, 3) == pytest.approx([1 / 8, 7 / 8])
    rates, checkpoints = np.array([0.2, 0.9]), 2
    expected = np.zeros(3)
    for draws in product((0, 1), repeat=4):
        table = np.array(draws).reshape(checkpoints, 2)
        expected[table.sum(axis=1).max()] += np.prod(np.where(table == 1, rates, 1 - rates))
    assert largest_of_equal(rates, 1, checkpoints) == pytest.approx(expected)


def test_cross_fitting_removes_the_choice_of_equal_checkpoints() -> None:
    # all checkpoints solve each problem with probability 1/2: the largest is above 1/2, the chosen one is not
    rng = np.random.default_rng(0)
    tables = [(rng.random((20, 100)) < 0.5).astype(float) for _ in range(40)]
    largest = np.mean([table.mean(axis=1).max() for table in tables])
    fitted = np.mean([cross_fitted(table, rng) for table in tables])
    assert largest > 0.57
    # a mean over 40 tables of about 100 problems: standard error at most 0.5 / sqrt(100 * 40) = 0.008
    assert fitted == pytest.approx(0.5, abs=0.025)


@pytest.mark.parametrize(
    ("share", "resolution", "rounds"),
    [(0.7045, 0.0, True), (0.7055, 0.0, True), (0.7044, 0.0, False), (0.705, 0.001, True), (0.704, 0.001, False)],
)
def test_what_rounds_to_a_printed_score(share: float, resolution: float, rounds: bool) -> None:
    """70.5 is any share in [0.7045, 0.7055], ends included. A log's 0.704 is one in [0.7035, 0.7045), and is 70.4."""
    assert Printed("70.5").rounds_from(share, resolution) == rounds


def test_open_rs_largest_of_21_checkpoints() -> None:
    """The largest of 21 evaluations of one model with 30 % on 30 problems: 46.3 was computed elsewhere."""
    curve = pd.DataFrame({"checkpoint": range(21), "value": [0.3] * 20 + [0.3]})
    result = selection(Evidence.of_scores(curve, 30), 14 / 30 - 1e-6, np.random.default_rng(0))
    assert result.expected == pytest.approx(0.463, abs=0.001)
    assert result.chance == pytest.approx(0.58, abs=0.005)
    assert result.cross_fitted is None


def test_our_verdicts_stand_beside_those_of_their_checkpoint() -> None:
    # 4, 6 and 5 of 10 by the authors, one more each by us: 60.0 is checkpoint 1's, where ours are 7 of 10
    rows = [
        {"checkpoint": c, "problem_id": p, "label": p < correct, "ours": p < correct + 1}
        for c, correct in enumerate((4, 6, 5))
        for p in range(10)
    ]
    text = str(audit(Printed("60.0"), Evidence.of_samples(pd.DataFrame(rows))))
    assert "the file's last checkpoint: 50.0" in text
    assert "our verdicts on checkpoint 1, 60.0 in the file, answers read in the whole text: 70.0" in text
    last = str(audit(Printed("50.0"), Evidence.of_samples(pd.DataFrame(rows))))
    assert "our verdicts on the same samples, answers read in the whole text: 60.0" in last


def test_the_headline_names_the_reason_where_the_number_is_the_files_own() -> None:
    rows = [{"problem_id": p, "label": p < 60, "truncated": p > 139} for p in range(200)]
    evidence = Evidence.of_samples(pd.DataFrame(rows))
    assert str(audit(Printed("30.0"), evidence)).startswith("30.0: stands, with a reservation: truncation\n")
    finished = str(audit(Printed("42.86"), evidence))  # 60 of 140
    assert finished.startswith("42.86: stands with another number: only the 140 of 200 responses that were not cut off")


def test_gain_within_seeds() -> None:
    trained = pd.DataFrame({"seed": list("abc"), "checkpoint": 0, "value": [0.50, 0.56, 0.62]})
    base = pd.DataFrame({"seed": list("abc"), "checkpoint": 0, "value": [0.49, 0.55, 0.61]})
    # means 0.56 and 0.55. Variance 0.0036 each, standard error sqrt(2 * 0.0036 / 3) = 0.049, t(4) = 2.78: 0.01 +- 0.136
    result = audit(Printed("56.0"), Evidence.of_scores(trained), base=Evidence.of_scores(base))
    assert result.verdict == "within seeds"
    assert "[-12.6, 14.6]" in result.causes[0].text


def test_a_largest_score_beyond_selection_is_not_within_it() -> None:
    # one checkpoint of ten solves everything, the rest nothing: no ten equal models do that on 50 problems
    table = np.zeros((10, 50))
    table[4] = 1
    rows = [{"checkpoint": c, "problem_id": p, "label": table[c, p]} for c in range(10) for p in range(50)]
    result = audit(Printed("100.0"), Evidence.of_samples(pd.DataFrame(rows)))
    assert result.verdict == "stands with another number"
    assert result.selection is not None
    assert result.selection.chance < 0.01
    assert result.selection.cross_fitted == pytest.approx(1.0)


@pytest.mark.parametrize(("text", "k"), [("abc", 1), ("-1", 1), ("101", 1), ("50", 0)])
def test_a_printed_score_is_a_percentage(text: str, k: int) -> None:
    with pytest.raises(ValueError, match="percentage"):
        Printed(text, k=k)


def test_bad_evidence_is_refused() -> None:
    with pytest.raises(ValueError, match="label"):
        Evidence.of_samples(pd.DataFrame({"problem_id": [1]}))
    with pytest.raises(ValueError, match="no sample has a label"):
        Evidence.of_samples(pd.DataFrame({"problem_id": [1], "label": [None]}))
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        Evidence.of_scores(pd.DataFrame({"checkpoint": [0], "value": [46.7]}))
    curve = Evidence.of_scores(pd.DataFrame({"checkpoint": [0, 1], "value": [0.4, 0.5]}))
    with pytest.raises(ValueError, match="number of problems"):
        selection(curve, 0.5, np.random.default_rng(0))


def test_truncation_behind_a_mean_over_seeds_is_of_all_seeds() -> None:
    """Two seeds of ten problems, 5 and 7 correct: 60.0. None of the first seed's samples was cut, 4 of the second's."""
    rows = [
        {"seed": seed, "problem_id": p, "label": float(p < right), "truncated": float(p >= 10 - cut)}
        for seed, right, cut in ((0, 5, 0), (1, 7, 4))
        for p in range(10)
    ]
    for order in (rows, rows[::-1]):
        result = audit(Printed("60.0"), Evidence.of_samples(pd.DataFrame(order)))
        (text,) = (cause.text for cause in result.causes if cause.name == "truncation")
        assert text == "20.0% of the samples are truncated or unscored"


@pytest.mark.parametrize(("checkpoints", "cause"), [(2, "another checkpoint"), (3, "selection")])
def test_the_larger_of_two_is_another_checkpoint_and_the_largest_of_three_a_choice(
    checkpoints: int, cause: str
) -> None:
    curve = pd.DataFrame({"checkpoint": range(checkpoints), "value": [0.31, 0.2, 0.2][:checkpoints]})
    assert cause in {cause_found.name for cause_found in audit(Printed("31.0"), Evidence.of_scores(curve, 1000)).causes}


@pytest.mark.parametrize(
    ("our_verdict", "truncated", "grader"),
    [
        (0.0, 1.0, False),  # a cut response that we call wrong is a matter of truncation
        (0.0, 0.0, True),
        (1.0, 1.0, True),  # one that we call correct is not
    ],
)
def test_only_a_cut_response_that_we_call_wrong_is_left_to_truncation(
    our_verdict: float, truncated: float, grader: bool
) -> None:
    """Half of the samples of 40 problems change: all of them by the same move."""
    rows = [
        {
            "problem_id": str(p),
            "label": 1 - our_verdict,
            "ours": our_verdict,
            "strict": our_verdict,
            "truncated": truncated,
        }
        if p % 2
        else {"problem_id": str(p), "label": 1.0, "ours": 1.0, "strict": 1.0, "truncated": 0.0}
        for p in range(40)
    ]
    causes = {cause.name for cause in by_our_verdicts(pd.DataFrame(rows))}
    assert ("grader" in causes) == grader

"""Claims against made-up verdicts."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from harness.spec import Arm, Claim, Reproduction, assumed
from harness.spec.catalogue import load, papers
from harness.tables.claims import check_claims, outcome
from harness.tables.measured import Measured
from tests.experiments import experiment


def paper(*claims: Claim) -> Reproduction:
    return Reproduction(
        key="made_up",
        title="Made up",
        arxiv="0",
        models={"small": assumed("tiny", "a test"), "large": assumed("tiny", "a test")},
        arms=(
            *(Arm(key, "small", key, experiment()) for key in ("old", "new")),
            *(Arm(key, "large", key, experiment()) for key in ("old", "new")),
        ),
        protocol="tiny",
        seeds=assumed(1, "a test"),
        departures=(),
        claims=claims,
    )


def measured(arm: str, right: int, *, model: str = "small", overrides: str = "", scale: str = "tiny") -> Measured:
    """40 problems of 2 samples on the benchmark `b`; both samples of the first `right` problems are correct."""
    rows = [
        {
            "benchmark": "b",
            "problem_id": f"p{p}",
            "sample": s,
            "gold": "1",
            "boxed": True,
            "answer_class": int(p >= right),
            "verdict": "correct" if p < right else "wrong",
            "tokens": 10,
            "train_seed": 0,
        }
        for p in range(40)
        for s in range(2)
    ]
    known: dict[str, Any] = {"origins": {}, "n": {"b": 2}, "scores": {}}
    return Measured(
        model, arm, arm, scale, "trl", overrides, "0", (0,), (), (), verdicts={"b": pd.DataFrame(rows)}, **known
    )


HIGHER = Claim("new is better", "table 1", arm="new", than="old", models=("small",))
LOWER = Claim("new is worse", "table 1", arm="new", than="old", models=("small",), direction="lower")
NO_WORSE = Claim("new is no worse", "table 1", arm="new", than="old", models=("small",), direction="not lower")


@pytest.mark.parametrize(
    ("right", "higher", "lower", "no_worse"),
    [
        # of 40 problems, 30 turned: p of a sign flip is about 2^-29, so that the sign of the difference decides
        (35, "holds", "does not hold", "holds"),
        (5, "not resolved", "not resolved", "not resolved"),  # equal: nothing is shown, not even that it is no worse
    ],
)
def test_the_sign_of_a_resolved_difference_decides(right: int, higher: str, lower: str, no_worse: str) -> None:
    arms = [measured("old", 5), measured("new", right)]
    found = check_claims(paper(HIGHER, LOWER, NO_WORSE), arms, "tiny")
    assert [c.outcome for c in found] == [higher, lower, no_worse]
    assert all(len(c.evidence) == 1 and c.missing == () for c in found)


def test_a_resolved_loss_speaks_against_higher_and_against_no_worse() -> None:
    found = check_claims(paper(HIGHER, LOWER, NO_WORSE), [measured("old", 35), measured("new", 5)], "tiny")
    assert [c.outcome for c in found] == ["does not hold", "holds", "does not hold"]
    assert found[0].evidence[0].line.difference == pytest.approx(-0.75)  # 5/40 - 35/40


def test_one_case_against_outweighs_others() -> None:
    class Seen:
        def __init__(self, verdict: str) -> None:
            self.verdict = verdict

    def of(*verdicts: str) -> str:
        lines: list[Any] = [Seen(v) for v in verdicts]
        return outcome(HIGHER, lines)

    assert of() == "not measured"
    assert of("higher", "higher") == "holds"
    assert of("higher", "not resolved") == of("not known") == "not resolved"
    assert of("higher", "lower") == of("not resolved", "lower") == "does not hold"


def test_p_values_are_corrected_over_all_claims_of_the_paper() -> None:
    arms = [measured("old", 5), measured("new", 13)]
    (alone,) = check_claims(paper(HIGHER), arms, "tiny")
    first, second = check_claims(paper(HIGHER, LOWER), arms, "tiny")
    p = alone.evidence[0].line.p_holm
    assert p is not None and p == alone.evidence[0].line.p_value
    # two equal p-values: Holm doubles the smaller one, and the other may not be below it
    assert first.evidence[0].line.p_holm == second.evidence[0].line.p_holm == pytest.approx(2 * p)


def test_what_was_not_measured_is_named() -> None:
    both_models = Claim("better everywhere", "table 1", arm="new", than="old")
    arms = [measured("old", 5), measured("new", 35)]
    (found,) = check_claims(paper(both_models), arms, "tiny")
    assert found.outcome == "holds" and len(found.evidence) == 1
    assert found.missing == ("no finished runs of new and old on large that can be compared",)
    (elsewhere,) = check_claims(paper(both_models), arms, "paper")
    assert elsewhere.outcome == "not measured" and len(elsewhere.missing) == 2


def test_arms_with_other_values_replaced_are_not_compared_and_the_declared_ones_come_first() -> None:
    changed = measured("new", 35, overrides="max_steps=9")
    (found,) = check_claims(paper(HIGHER), [measured("old", 5), changed], "tiny")
    assert found.outcome == "not measured"
    arms = [measured("old", 5, overrides="max_steps=9"), changed, measured("old", 5), measured("new", 5)]
    (found,) = check_claims(paper(HIGHER), arms, "tiny")
    assert found.outcome == "not resolved" and found.evidence[0].overrides == ""


def test_at_paper_scale_only_the_claimed_benchmarks_count() -> None:
    claim = Claim("better on c", "table 1", arm="new", than="old", models=("small",), benchmarks=("c",))
    arms = [measured("old", 5, scale="paper"), measured("new", 35, scale="paper")]
    (found,) = check_claims(paper(claim), arms, "paper")
    assert found.outcome == "not measured" and found.missing == ("c on small",)
    stand_ins = [measured("old", 5), measured("new", 35)]
    assert check_claims(paper(claim), stand_ins, "tiny")[0].outcome == "holds"


def test_a_claim_of_no_comparison_says_why() -> None:
    (found,) = check_claims(paper(Claim("curves", "figure 1", undecided="curves have no test")), [], "tiny")
    assert (found.outcome, found.missing) == ("not measured", ("curves have no test",))


def test_a_claim_names_two_arms_or_why_not() -> None:
    with pytest.raises(ValueError, match="expected two arms, or none"):
        Claim("x", "y")
    with pytest.raises(ValueError, match="expected two arms, or none"):
        Claim("x", "y", arm="a", than="b", undecided="z")
    with pytest.raises(ValueError, match=r"claim\.direction: expected one of"):
        Claim("x", "y", arm="a", than="b", direction="up")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no base model has the arms 'a' and 'b'"):
        paper(Claim("x", "y", arm="a", than="b"))
    with pytest.raises(ValueError, match="names the model 'huge'"):
        paper(Claim("x", "y", arm="new", than="old", models=("huge",)))


def test_every_paper_has_claims_and_says_where_they_are() -> None:
    for key in papers():
        claims = load(key).claims
        assert claims or key == "baselines"
        assert all(c.text and c.where for c in claims) and len({c.text for c in claims}) == len(claims)
        assert any(c.arm for c in claims) or key == "baselines"

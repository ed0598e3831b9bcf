"""Claims against made-up verdicts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast, get_args

import pandas as pd
import pytest

from evals.stats.compare import Line
from evals.stats.verdict_table import METRICS, VerdictTable
from harness.report.data import claim_row
from harness.spec import Arm, Claim, Curve, Reproduction, assumed
from harness.spec.catalogue import load, papers
from harness.spec.claim import Metric
from harness.tables.claims import ClaimEvidence, check_claims, claims_grid, outcome_of
from harness.tables.differences import difference_grid
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


def measured(
    arm: str,
    right: int,
    *,
    model: str = "small",
    overrides: str = "",
    scale: str = "tiny",
    seeds: int = 3,
    shift: int = 0,
    benchmarks: tuple[str, ...] = ("b",),
    longer: int = 0,
    **more: Any,
) -> Measured:
    """40 problems of 2 samples. In seed s both samples of problems `shift` + s to `shift` + s + `right` - 1 are
    correct. So every seed has the same score, and `shift` changes which problems are correct and not how many. The
    first response is `longer` than the others by so many tokens."""
    tables = {
        name: VerdictTable.of_rows(
            pd.DataFrame(
                {
                    "benchmark": name,
                    "problem_id": f"p{p}",
                    "sample": sample,
                    "gold": "1",
                    "boxed": True,
                    "answer_class": int((p - shift - seed) % 40 >= right),
                    "verdict": "correct" if (p - shift - seed) % 40 < right else "wrong",
                    "tokens": 10 if seed + p + sample else 10 + longer,
                    "train_seed": seed,
                }
                for seed in range(seeds)
                for p in range(40)
                for sample in range(2)
            )
        )
        for name in benchmarks
    }
    known: dict[str, Any] = {"origins": {}, "n": dict.fromkeys(benchmarks, 2), "scores": {}, "verdicts": tables}
    return Measured(model, arm, arm, scale, "trl", overrides, "0", tuple(range(seeds)), (), (), **known, **more)


HIGHER = Claim("new is better", "table 1", arm="new", than="old", models=("small",))
LOWER = Claim("new is worse", "table 1", arm="new", than="old", models=("small",), direction="lower")
NO_WORSE = replace(HIGHER, text="new is no worse", direction="not lower", margin=0.1)
EQUAL = replace(NO_WORSE, text="new is as good", direction="equal")


@pytest.mark.parametrize(
    ("right", "higher", "lower", "no_worse", "equal"),
    [
        # 30 of 40 problems turned: the sign of the difference decides
        (35, "holds", "does not hold", "holds", "does not hold"),
        (5, "not resolved", "not resolved", "not resolved", "not resolved"),  # 10 of 40 problems changed: too unsure
    ],
)
def test_the_sign_of_a_resolved_difference_decides(
    right: int, higher: str, lower: str, no_worse: str, equal: str
) -> None:
    arms = [measured("old", 5), measured("new", right, shift=10)]
    checked = check_claims(paper(HIGHER, LOWER, NO_WORSE, EQUAL), arms, "tiny")
    assert [c.outcome for c in checked] == [higher, lower, no_worse, equal]
    assert all(len(c.evidence) == 1 and c.missing == () for c in checked)


def test_a_resolved_loss_is_evidence_against_higher_and_against_no_worse() -> None:
    checked = check_claims(paper(HIGHER, LOWER, NO_WORSE), [measured("old", 35), measured("new", 5)], "tiny")
    assert [c.outcome for c in checked] == ["does not hold", "holds", "does not hold"]
    assert checked[0].evidence[0].line.difference == pytest.approx(-0.75)  # 5/40 - 35/40


def test_no_difference_within_a_wide_margin_is_equal_and_not_lower_and_speaks_against_a_gain() -> None:
    # one problem of 40 differs in each seed: 2.5 points at most, far within 50 points
    wide = [replace(c, margin=0.5) for c in (HIGHER, NO_WORSE, EQUAL)]
    arms = [measured("old", 20), measured("new", 20, shift=1)]
    assert [c.outcome for c in check_claims(paper(*wide), arms, "tiny")] == ["does not hold", "holds", "holds"]


@pytest.mark.parametrize(("seeds_old", "seeds_new"), [(1, 1), (1, 3), (3, 1)])
def test_one_training_seed_decides_no_claim(seeds_old: int, seeds_new: int) -> None:
    arms = [measured("old", 5, seeds=seeds_old), measured("new", 35, seeds=seeds_new)]
    (checked,) = check_claims(paper(HIGHER), arms, "tiny")
    assert checked.outcome == "few seeds"
    assert checked.evidence[0].line.verdict == "checkpoint higher"


def test_an_untrained_model_needs_no_seeds() -> None:
    arms = [measured("old", 5, seeds=1, trained=False), measured("new", 35)]
    (checked,) = check_claims(paper(HIGHER), arms, "tiny")
    assert checked.outcome == "holds"
    assert checked.evidence[0].line.covers == "problems and seeds"


def test_arms_that_gave_the_same_samples_are_not_tested() -> None:
    (checked,) = check_claims(paper(HIGHER), [measured("old", 5), measured("new", 5)], "tiny")
    assert checked.outcome == "not tested"
    assert checked.missing == ("new and old on small: the same samples in every training seed",)
    grid = difference_grid(paper(HIGHER), [measured("old", 5), measured("new", 5)])
    assert grid is not None and [row[-1] for row in grid.rows] == ["not tested"] and "same samples" in grid.notes[1]
    longer = measured("new", 5, longer=1)  # one token of one sample
    assert check_claims(paper(HIGHER), [measured("old", 5), longer], "tiny")[0].outcome == "not resolved"


@pytest.mark.parametrize(("old", "new"), [(5, 35), (35, 5)])
def test_a_diverged_seed_is_counted_and_decides_nothing_for_and_nothing_against_a_claim(old: int, new: int) -> None:
    diverged = {3: {"step": 7, "quantity": "loss", "value": "nan"}}
    arms = [measured("old", old), measured("new", new, diverged=diverged)]
    (checked,) = check_claims(paper(HIGHER), arms, "tiny")
    assert checked.outcome == "not resolved"
    assert checked.missing == (
        "new on small: diverged (step 7, seed 3) in 1 of 4 seeds; compared over the other seeds",
    )


def test_arms_that_were_measured_differently_are_named_in_claims_and_in_differences() -> None:
    def sampled(dtype: str | None) -> Any:
        """A run that says by which engine it was sampled, or that does not."""
        conditions = None if dtype is None else {"model": dtype, "engine": {"name": "vllm", "dtype": dtype}}
        known: dict[str, Any] = {"record": {}, "settings": {}, "overlap": {}, "base": "small", "benchmarks": ["b"]}
        return SimpleNamespace(**known, conditions=lambda benchmark: conditions)

    half, full, unknown = ({seed: sampled(dtype) for seed in range(3)} for dtype in ("bfloat16", "float32", None))
    text = 'engine.dtype is "bfloat16" or "float32" (b)'
    mixed = {**half, 2: sampled("float32")}  # one seed of an arm
    for runs in (full, mixed):
        arms = [measured("old", 5, runs=half), measured("new", 35, runs=runs)]
        (checked,) = check_claims(paper(HIGHER), arms, "tiny")
        assert checked.outcome == "holds"
        assert checked.missing == (f"new and old on small were measured differently: {text}",)
        grid = difference_grid(paper(HIGHER), arms)
        assert grid is not None and f"Measured differently: new − old on small: {text}." in grid.notes
    for runs in (half, unknown):
        arms = [measured("old", 5, runs=half), measured("new", 35, runs=runs)]
        (checked,) = check_claims(paper(HIGHER), arms, "tiny")
        grid = difference_grid(paper(HIGHER), arms)
        assert checked.missing == () and grid is not None and not any("differently" in note for note in grid.notes)


def evidence(*words: str) -> list[ClaimEvidence]:
    """Made-up comparisons with these verdicts, all about methods."""
    return [ClaimEvidence("m", "", cast(Line, SimpleNamespace(plain_verdict=w, seeds_covered=True))) for w in words]


def test_each_most_and_their_outcomes() -> None:
    most = replace(HIGHER, over="most")

    def outcome_for(claim: Claim, *words: str) -> str:
        return outcome_of(claim, evidence(*words))

    assert outcome_for(HIGHER) == outcome_for(most) == "not measured"
    assert outcome_for(HIGHER, "higher", "higher") == "holds"
    assert outcome_for(HIGHER, "higher", "not resolved") == outcome_for(HIGHER, "not known") == "not resolved"
    assert outcome_for(HIGHER, "higher", "lower") == outcome_for(HIGHER, "not resolved", "lower") == "does not hold"
    assert outcome_for(HIGHER, "higher", "equal") == "does not hold"
    # most: more than half for it. Half or more against it
    assert outcome_for(most, "higher", "higher", "lower") == "holds"
    assert (
        outcome_for(most, "higher", "not resolved", "lower")
        == outcome_for(most, "higher", "not resolved")
        == "not resolved"
    )
    assert outcome_for(most, "higher", "lower") == "does not hold"


def test_an_average_claim_is_one_comparison_over_the_benchmarks() -> None:
    average = replace(HIGHER, over="average")
    names = ("b", "c")
    arms = [measured("old", 5, benchmarks=names), measured("new", 15, benchmarks=names)]
    (checked,) = check_claims(paper(average), arms, "tiny")
    (entry,) = checked.evidence
    assert (entry.line.benchmark, entry.line.difference) == ("average", pytest.approx(10 / 40))
    assert (entry.line.a, entry.line.b) == (pytest.approx(15 / 40), pytest.approx(5 / 40))


def test_an_average_claim_needs_all_of_its_benchmarks_in_both_arms() -> None:
    average = replace(HIGHER, over="average", benchmarks=("b", "c"))
    whole, part = (
        {arm: measured(arm, right, benchmarks=names, scale="paper") for arm, right in (("old", 5), ("new", 35))}
        for names in (("b", "c"), ("b",))
    )
    assert check_claims(paper(average), [whole["old"], whole["new"]], "paper")[0].outcome == "holds"
    (checked,) = check_claims(paper(average), [part["old"], part["new"]], "paper")
    assert (checked.outcome, checked.evidence, checked.missing) == ("not measured", (), ("c on small",))
    # without names, the benchmarks of the claim are those of either arm
    for claim in (average, replace(average, benchmarks=())):
        (checked,) = check_claims(paper(claim), [whole["old"], part["new"]], "paper")
        assert (checked.outcome, checked.missing) == ("not measured", ("c on small",))
    (checked,) = check_claims(paper(replace(HIGHER, over="each")), [whole["old"], part["new"]], "paper")
    assert (checked.outcome, checked.missing) == ("holds", ("c on small",))


def test_a_claim_across_base_models() -> None:
    across = Claim("small and new is better than large and old", "table 1", arm="new", than="old", than_model="large")
    across = replace(across, models=("small",))
    arms = [measured("old", 5, model="large", scale="paper"), measured("new", 35, scale="paper")]
    (checked,) = check_claims(paper(across), arms, "paper")
    assert checked.outcome == "holds" and checked.evidence[0].model == "small"
    diverged = {
        3: {"step": 7, "quantity": "loss", "value": "nan"}
    }  # on either side, with one arm on two base models too
    one_arm = replace(across, than="new")
    for side in (0, 1):
        marks = [{}, {}]
        marks[side] = {"diverged": diverged}
        pair = [
            measured("new", 35, scale="paper", **marks[0]),
            measured("new", 5, model="large", scale="paper", **marks[1]),
        ]
        (checked,) = check_claims(paper(one_arm), pair, "paper")
        assert checked.outcome == "not resolved" and checked.missing[0].startswith(f"new on {('small', 'large')[side]}")
    # at tiny scale every base model is the tiny one: no comparison, and none in the family of the correction
    arms = [measured("old", 5, model="large"), measured("new", 35), measured("old", 5)]
    (checked,) = check_claims(paper(across), arms, "tiny")
    assert checked.outcome == "not measured" and "one model at tiny scale" in checked.missing[0]
    (alone,), (first, _) = (check_claims(paper(*claims), arms, "tiny") for claims in ((HIGHER,), (HIGHER, across)))
    assert first.evidence[0].line.p_holm == alone.evidence[0].line.p_holm


def curves(level: float, seeds: int = 3) -> dict[int, dict[str, list[tuple[int, float]]]]:
    """Ten steps: 1.0 in the first five, then `level` plus a hundredth of the seed."""
    return {s: {"train/entropy": [(i, 1.0 if i <= 5 else level + s / 100) for i in range(1, 11)]} for s in range(seeds)}


def test_a_claim_on_curves_is_decided_over_seeds() -> None:
    lower = replace(HIGHER, direction="lower", curve=Curve("train/entropy", (0.5, 1)))
    arms = [measured("old", 5, curves=curves(0.9)), measured("new", 5, curves=curves(0.2))]
    (checked,) = check_claims(paper(lower), arms, "tiny")
    line = checked.evidence[0].line
    assert (checked.outcome, line.covers, line.seeds_a) == ("holds", "seeds", 3)
    assert (line.a, line.difference) == (pytest.approx(0.21), pytest.approx(-0.7))
    # seeds 0.2, 0.21, 0.22 and 0.9, 0.91, 0.92: variances 1e-4 each, so the standard error is sqrt(2e-4 / 3). Welch's t
    # the quantile for four degrees of freedom at 0.975 is 2.7764
    assert line.high is not None and line.high == pytest.approx(-0.7 + 2.7764 * (2e-4 / 3) ** 0.5, abs=1e-5)
    one_seed = [measured("old", 5, curves=curves(0.9, 1)), measured("new", 5, curves=curves(0.2, 1))]
    assert check_claims(paper(lower), one_seed, "tiny")[0].outcome == "few seeds"
    none = [measured("old", 5), measured("new", 5)]
    assert check_claims(paper(lower), none, "tiny")[0].missing == ("no curve train/entropy of both arms on small",)


def test_a_curve_may_be_compared_with_its_own_beginning() -> None:
    falls = replace(HIGHER, than="new", direction="lower", curve=Curve("train/entropy", (0.5, 1), (0, 0.5)))
    (checked,) = check_claims(paper(falls), [measured("new", 5, curves=curves(0.2))], "tiny")
    # paired by seed: -0.8, -0.79, -0.78
    assert (checked.outcome, checked.evidence[0].line.difference) == ("holds", pytest.approx(-0.79))


def test_two_curves_of_one_arm_and_the_gap_between_them() -> None:
    # ten steps: `high` falls from 2 to 1.2, `low` rises from 1 to 1.1 (a hundredth of the seed more) and ends at step 9
    def both(seed: int) -> dict[str, list[tuple[int, float]]]:
        return {
            "high": [(i, 2.0 if i <= 5 else 1.2) for i in range(1, 11)],
            "low": [(i, (1.0 if i <= 5 else 1.1) + seed / 100) for i in range(1, 10)],
        }

    arm = measured("new", 5, curves={seed: both(seed) for seed in range(3)})
    above = replace(HIGHER, than="new", curve=Curve("high", than_metric="low"))
    closes = replace(above, direction="lower", curve=Curve("high", (0.5, 1), (0, 0.5), less="low"))
    first, second = check_claims(paper(above, closes), [arm], "tiny")
    # paired by seed: 1.6 less (5 + 4 * 1.1) / 9 and 0, 1, 2 hundredths
    assert (first.outcome, first.evidence[0].line.difference) == ("holds", pytest.approx(1.6 - 9.4 / 9 - 0.01))
    # both have nine steps: gaps (1 + 4 * 0.1) / 5 in steps 5 to 9, 1 before, less a hundredth of the seed
    assert second.evidence[0].line.difference == pytest.approx(0.28 - 1)
    assert first.evidence[0].line.name.startswith("high against low, mean over")
    with pytest.raises(ValueError, match="compares 'new' with itself"):
        replace(above, curve=Curve("high", than_metric="high"))


def test_p_values_are_corrected_over_all_claims_of_the_paper() -> None:
    arms = [measured("old", 5), measured("new", 8, shift=1)]
    (alone,) = check_claims(paper(HIGHER), arms, "tiny")
    first, second = check_claims(paper(HIGHER, LOWER), arms, "tiny")
    p = alone.evidence[0].line.p_value
    # the tiny protocol has three benchmarks, so a claim declares three comparisons, though one was measured
    assert p is not None and alone.evidence[0].line.p_holm == pytest.approx(3 * p)
    # two claims: six comparisons, and the second of two equal p-values may not be below the first
    assert first.evidence[0].line.p_holm == second.evidence[0].line.p_holm == pytest.approx(min(1, 6 * p))
    assert first.family == "the claims of made_up at tiny scale, 6 comparisons"


def test_other_runs_in_the_store_do_not_change_a_verdict() -> None:
    arms = [measured("old", 5), measured("new", 8, shift=1)]
    (alone,) = check_claims(paper(HIGHER), arms, "tiny")
    unrelated = [measured("old", 9, overrides="max_steps=20"), measured("new", 30, overrides="max_steps=20")]
    (checked,) = check_claims(paper(HIGHER), [*arms, *unrelated], "tiny")
    assert checked.evidence[0].line == alone.evidence[0].line


def test_what_was_not_measured_is_named() -> None:
    both_models = Claim("better everywhere", "table 1", arm="new", than="old")
    arms = [measured("old", 5), measured("new", 35)]
    (checked,) = check_claims(paper(both_models), arms, "tiny")
    assert checked.outcome == "holds" and len(checked.evidence) == 1
    assert checked.missing == ("no finished runs of new and old on tiny (for large) that can be compared",)
    (elsewhere,) = check_claims(paper(both_models), arms, "paper")
    assert elsewhere.outcome == "not measured" and len(elsewhere.missing) == 2
    assert elsewhere.missing[0] == "no finished runs of new and old on small that can be compared"


def test_the_claims_are_a_table_with_a_column_for_each_scale() -> None:
    grid = claims_grid(paper(HIGHER, LOWER), [measured("old", 5), measured("new", 35)], ["tiny"])
    assert grid is not None and grid.header == ("claim", "where", "tiny scale")
    assert grid.rows == (("new is better", "table 1", "holds"), ("new is worse", "table 1", "does not hold"))
    assert claims_grid(paper(), [measured("old", 5)], ["tiny"]) is None


def test_the_report_names_the_model_and_apart_from_it_the_values_of_the_arms() -> None:
    arms = [measured(arm, right, overrides="alpha=0.8") for arm, right in (("old", 5), ("new", 35))]
    (checked,) = check_claims(paper(HIGHER), arms, "tiny")
    grid = claim_row(checked).evidence
    assert grid is not None and {row[1] for row in grid.rows} == {"small"} and "On small, with alpha=0.8." in grid.notes


def test_arms_with_other_values_replaced_are_not_compared_and_the_declared_ones_come_first() -> None:
    changed = measured("new", 35, overrides="max_steps=9")
    (checked,) = check_claims(paper(HIGHER), [measured("old", 5), changed], "tiny")
    assert checked.outcome == "not measured"
    arms = [measured("old", 5, overrides="max_steps=9"), changed, measured("old", 5), measured("new", 5, shift=1)]
    (checked,) = check_claims(paper(HIGHER), arms, "tiny")
    assert checked.outcome == "not resolved" and checked.evidence[0].overrides == ""


def test_at_paper_scale_only_the_claimed_benchmarks_count() -> None:
    claim = Claim("better on c", "table 1", arm="new", than="old", models=("small",), benchmarks=("c",))
    arms = [measured("old", 5, scale="paper"), measured("new", 35, scale="paper")]
    (checked,) = check_claims(paper(claim), arms, "paper")
    assert checked.outcome == "not measured" and checked.missing == ("c on small",)
    stand_ins = [measured("old", 5), measured("new", 35)]
    assert check_claims(paper(claim), stand_ins, "tiny")[0].outcome == "holds"


def test_a_claim_without_a_comparison_has_a_reason() -> None:
    (checked,) = check_claims(paper(Claim("curves", "figure 1", undecided="curves have no test")), [], "tiny")
    assert (checked.outcome, checked.missing) == ("not measured", ("curves have no test",))


def test_a_claim_names_two_arms_or_why_not() -> None:
    two: dict[str, Any] = {"arm": "a", "than": "b"}
    for message, values in (
        ("expected two arms, or none", {}),
        ("expected two arms, or none", {**two, "undecided": "z"}),
        (r"claim\.direction: expected one of", {**two, "direction": "up"}),
        ("'not lower' needs a margin", {**two, "direction": "not lower"}),
        ("margin: expected a number above 0, got -1", {**two, "margin": -1}),
        ("compares 'a' with itself", {"arm": "a", "than": "a", "curve": Curve("train/reward", (0, 1), (0, 1))}),
        ("no base model has the arms 'a' and 'b'", two),
        ("names the model 'huge'", {"arm": "new", "than": "old", "models": ("huge",)}),
    ):
        with pytest.raises(ValueError, match=message):
            paper(Claim("x", "y", **values))
    with pytest.raises(ValueError, match="expected 0 <= start < end <= 1"):
        Curve("train/reward", (0.5, 0.5))


def test_every_paper_has_claims_with_their_place() -> None:
    for key in papers():
        claims = load(key).claims
        assert claims or key in ("baselines", "anchors")
        assert all(c.text and c.where for c in claims) and len({c.text for c in claims}) == len(claims)
        assert any(c.arm for c in claims) or key in ("baselines", "anchors")


def test_a_claim_may_name_every_metric() -> None:
    assert set(get_args(Metric)) == set(METRICS)

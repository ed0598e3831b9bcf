"""Answers about printed scores: those of public threads, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from evals.errors import UsageError
from evals.stats.agree import DIFFERENCE, NOISE, UNDECIDED, Answer
from evals.stats.agreement import LOOK, SEED_SD, Agreement, Setting, Side, _possible, agreement, with_holm

LEDGER = Path(__file__).parents[3] / "results" / "ledger"


def test_where_to_look_is_what_the_ledger_found() -> None:
    why = pd.read_csv(LEDGER / "claims.csv", dtype={"printed": str})
    assert len(why) == 67
    claims_by_cause = {
        name: why[why["why"].str.contains(rf"(?:^|; ){name}:")]
        for name in ("grader", "selection", "seeds", "truncation")
    }
    counted = [len(claims_by_cause[name]) for name in ("grader", "selection", "seeds")]
    assert [cause.scores for cause in LOOK] == [*counted, 0, 0, 0] == sorted((c.scores for c in LOOK), reverse=True)
    graded = claims_by_cause["grader"]["why"].str.extract(r"grader: .*?move it by \+([\d.]+)")[0].astype(float)
    chosen = claims_by_cause["selection"]["printed"].astype(float) - claims_by_cause["selection"]["file"]
    seeds = claims_by_cause["seeds"]["why"].str.extract(r"differ by ([\d.]+)")[0].astype(float)
    for cause, sizes in zip(LOOK, (graded, chosen, seeds), strict=False):
        assert f"{sizes.min():.1f} to {sizes.max():.1f} points" in cause.size
    cut = claims_by_cause["truncation"]["why"].str.extract(r"truncation: ([\d.]+)%")[0].astype(float)
    assert f"{len(cut)} of 67 scores have {cut.min():g} to {cut.max():g} %" in LOOK[3].size
    base = pd.read_csv(LEDGER / "base_rows.csv")
    base = base[base["by"] == "bethgelab/sober-reasoning"]
    apart = (base["others"].str.split().str[0].astype(float) - base["published"].astype(float)).abs()
    assert f"{len(apart)} scores of untrained models differ by up to {apart.max():.1f} points" in LOOK[4].size


def test_the_seed_spread_is_the_largest_of_mlperfs_reference() -> None:
    series = pd.read_csv(LEDGER / "series.csv")
    spreads = series[(series["repository"] == "mlcommons/training") & (series["seeds"] == 6)]["seeds_sd"]
    assert len(spreads) == 3 and round(spreads.max() / 100, 3) == SEED_SD


THREADS: list[tuple[str, Side, Side, Answer]] = [
    # where the threads say n. evalscope 1094, rllm 12, understand-r1-zero 35, evalchemy 52, CritiqueFT 5
    ("64 samples each", Side("47.4", 30, 64), Side("43.75", 30, 64), DIFFERENCE),
    ("16 and 64", Side("43.1", 30, 16), Side("41.41", 30, 64), NOISE),
    ("greedy", Side("43.3", 30, 1), Side("26.7", 30, 1), NOISE),
    ("24 and 20 of 40", Side("24/40", 40, 1), Side("20/40", 40, 1), NOISE),
    ("GSM8K, another prompt", Side("91.6", 1319, 1), Side("59.0", 1319, 1), DIFFERENCE),
    ("GPQA, n unknown", Side("49.4", 198), Side("25.36", 198), DIFFERENCE),
    ("MATH-500, n unknown", Side("74.0", 500), Side("71.2", 500), UNDECIDED),
]


@pytest.mark.parametrize(("what", "a", "b", "expected"), THREADS)
def test_the_answers_of_threads(what: str, a: Side, b: Side, expected: Answer) -> None:
    result = agreement(a, b)
    assert result.answer == expected == agreement(b, a).answer
    assert result.sentence.startswith(
        {DIFFERENCE: "A difference: ", NOISE: "May be noise: "}.get(expected, "These numbers")
    )
    assert bool(result.look) == (expected == DIFFERENCE)


def test_the_sentences_have_their_numbers() -> None:
    result = agreement(Side("47.4", 30, 64), Side("43.75", 30, 64))
    assert result.sentence == (
        "A difference: if one model is sampled twice, a gap of 3.65 points or more has a probability of about 0.7 % "
        "(at most 2.5 %)."
    )
    noise = agreement(Side("43.3", 30, 1), Side("26.7", 30, 1)).sentence
    assert "a gap of 16.6 points or more has a probability of about 15 % (at most 28 %)" in noise
    assert noise.endswith("only a gap of 30.0 points or more would count as a difference.")
    open_ = agreement(Side("55.0", 500, 1), Side("49.4", 500, 1))  # 275 and 247 of 500: typically 3.4 %, at most 8.6 %
    assert open_.answer == UNDECIDED and open_.needed is not None
    assert f"With {open_.needed[0]} samples per problem on both sides" in open_.sentence
    n = open_.needed[0]
    again = [agreement(Side("55.0", 500, k), Side("49.4", 500, k)).answer for k in (n - 1, n)]
    assert again == [UNDECIDED, DIFFERENCE]


def test_rounding_counts_against_a_difference() -> None:
    # 23 of 30 and 18 of 30 samples a problem: whole percent leave a range of counts, and its nearest pair counts
    exact = agreement(Side("47.40", 30, 256), Side("45.60", 30, 256))
    coarse = agreement(Side("47", 30, 256), Side("46", 30, 256))
    assert exact.worst.chance.largest < coarse.worst.chance.largest
    assert agreement(Side("47", 30, 256), Side("47.4", 30, 256)).worst.chance.largest == 1  # 46.5 to 47.5 holds it


def test_unknown_numbers_are_tried_as_far_as_the_digits_allow() -> None:
    result = agreement(Side("43.75", 30, 64), Side("47.4", 30))
    tried = {case.samples[1] for case in result.cases}
    assert 64 in tried and 1 not in tried and 9 in tried  # 128/270 = 47.41. No count of 30 to 240 but 90..
    assert result.answer == UNDECIDED and ", the gap is a difference." in result.sentence
    assert "n of 47.4 is unknown" in result.notes[0]


def test_what_digits_cannot_be_is_said() -> None:
    result = agreement(Side("57.1", 30, 1), Side("46.67", 30, 1))
    assert (
        result.answer == UNDECIDED
        and not result.cases
        and "The nearest are 17 (56.67) and 18 (60.00)" in result.sentence
    )
    cut = agreement(Side("73.4", 1319, 1), Side("40.63", 1319, 1))
    assert any(note == "40.63 is not a share by rounding. It is 536 of 1319 (40.637), cut off." for note in cut.notes)
    padded = agreement(Side("88.30", 1319, 1), Side("86.35", 1319, 1))
    assert any("1165 of 1319 (88.324), padded with zeros" in note for note in padded.notes)


def test_other_problems_are_a_case_of_their_own() -> None:
    result = agreement(Side("50.6", 83, 1), Side("65.0", 40, 1))
    assert result.answer == UNDECIDED and "50.6 is over 83 problems and 65.0 over 40" in result.sentence


def test_pass_at_k_is_bounded_and_other_metrics_are_refused() -> None:
    of_eight = agreement(Side("80.0", 30, 8), Side("60.0", 30, 8), Setting("pass@8"))
    one_try = agreement(Side("80.0", 30, 1), Side("60.0", 30, 1), Setting(rho=None))
    assert of_eight.worst.chance == one_try.worst.chance  # each problem is solved or not, once
    more = agreement(Side("80.0", 30, 64), Side("60.0", 30, 64), Setting("pass@8"))
    assert more.worst.chance.largest < of_eight.worst.chance.largest and more.worst.chance.typical is None
    with pytest.raises(UsageError, match="needs at least 8 samples"):
        agreement(Side("80.0", 30, 4), Side("60.0", 30, 8), Setting("pass@8"))
    with pytest.raises(UsageError, match="nothing bounds the noise of this metric"):
        Setting("bleu")


def test_the_best_of_several_needs_more() -> None:
    # Open-RS prints 80.0 on AMC23, the best of eight checkpoints
    single, eight = (agreement(Side("80.0", 40, 1, 1, n), Side("52.5", 40, 1)) for n in (1, 8))
    assert eight.worst.chance.largest == pytest.approx(8 * single.worst.chance.largest)
    assert (single.answer, eight.answer) == (DIFFERENCE, UNDECIDED)


def test_seeds_widen_the_noise_and_are_what_is_needed() -> None:
    a, b = Side("47.4", 30, 64, 1), Side("43.75", 30, 64, 1)
    result = agreement(a, b, Setting(seed_sd=0.019, seed_source="given"))
    assert result.answer == NOISE and result.needed is not None and result.needed[1] == "training seeds"
    assert agreement(a, b).answer == DIFFERENCE


def test_holm_over_a_table() -> None:
    pairs = [
        agreement(Side("47.4", 30, 64), Side("43.75", 30, 64)),
        agreement(Side("43.3", 30, 1), Side("26.7", 30, 1)),
    ]
    other = agreement(Side("50.6", 83, 1), Side("65.0", 40, 1))
    adjusted = with_holm([*pairs, other])
    assert adjusted[0].worst.chance.largest == pytest.approx(2 * pairs[0].worst.chance.largest)
    assert adjusted[1].worst.chance.largest == pytest.approx(pairs[1].worst.chance.largest)
    assert [pair.answer for pair in adjusted] == [UNDECIDED, NOISE, UNDECIDED] and adjusted[2] == other


@pytest.mark.parametrize("key", ["problems", "samples", "seeds", "best_of"])
def test_numbers_below_one_are_refused(key: str) -> None:
    with pytest.raises(UsageError, match=r"=0 of 47\.4: it is a number of at least 1"):
        Side(**{"printed": "47.4", "problems": 30, key: 0})  # type: ignore[arg-type]


def test_every_sentence_is_short_enough_to_post() -> None:
    agreements: list[Agreement] = [agreement(a, b) for _, a, b, _ in THREADS]
    for pair in agreements:
        assert max(len(part.split()) for part in re.split(r"(?<=\.) ", pair.sentence)) <= 30


def test_64_samples_are_the_most_that_are_tried() -> None:
    # 1/64 = 1.5625 % and 1/65 = 1.5385 %: on one problem no smaller number of samples prints either
    assert _possible(Side("1.5625", 1)) and not _possible(Side("1.5385", 1))

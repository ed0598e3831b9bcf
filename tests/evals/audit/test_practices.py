"""The practices of printed numbers are found by their names, and never NOT_FOUND: denominators, chance, plateaus."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rlvr
from benchmarks.audit import CAUSES, CLEAN, repeat
from evals.answer_files.sample import Sample
from evals.audit import Evidence, Printed, audit, selection
from evals.audit.composition import Choice, Composition
from evals.audit.curve_evidence import curve_evidence, training_reward
from evals.audit.curves import read_curve
from evals.audit.denominators import known_size
from evals.audit.graded import graded
from evals.audit.result import CANNOT_TELL, NOT_FOUND
from evals.audit.search import Tried, chance
from evals.audit.tables import scores_of
from evals.errors import UsageError
from evals.grading import Grader
from evals.stats.differences import paired


@pytest.mark.parametrize("name", [*CAUSES, *CLEAN])
@pytest.mark.parametrize("repetitions", [1, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_a_planted_cause_is_named_and_a_clean_log_left_alone(name: str, repetitions: int) -> None:
    """As files, by `rlvr audit`: results/audit.md has what is found of each.

    A small plant is sometimes near enough to chance that the answer is *cannot tell*. Another verdict would be wrong.
    """
    counts = repeat({**CAUSES, **CLEAN}[name], repetitions)
    assert counts.named + counts.verdicts[CANNOT_TELL] >= repetitions - repetitions // 20, counts.missed
    assert counts.named >= 0.75 * repetitions, counts.missed


def test_a_share_and_other_spellings_of_a_number() -> None:
    table = pd.DataFrame({"problem_id": range(30), "label": [1.0] * 14 + [0.0] * 16})  # 46.67 %
    for text in ("46.7", "46.7%", "46.7\\%", "46.7 ± 1.2", "46.7±1.2", "$46.7_{1.2}$", "46.7 (1.2)", "0.467", "0.4667"):
        assert audit(Printed(text), Evidence.of_samples(table)).verdict == "stands", text
    assert audit(Printed("46.6"), Evidence.of_samples(table)).verdict == "stands with another number"  # 46.67 cut off
    assert audit(Printed("0.9"), Evidence.of_samples(table)).verdict == NOT_FOUND  # neither 90 % nor 0.9 %


def test_a_curve_in_percent_that_stays_below_one() -> None:
    curve = Evidence.of_scores(pd.DataFrame({"checkpoint": [1, 2, 3], "value": [0.0, 0.31, 0.83]}), 1000)
    result = audit(Printed("0.83%"), curve)
    assert result.verdict == "stands with another number" and "gives in percent" in result.reading


def test_a_value_that_a_resumed_run_logged_again() -> None:
    log = "\n".join(f"step:{s} - acc:{v}" for s, v in ((40, 0.41), (50, 0.467), (40, 0.42), (50, 0.44), (60, 0.45)))
    evidence = curve_evidence({"a": read_curve(log)}, "acc")
    assert evidence.scores["value"].tolist() == [0.42, 0.44, 0.45]
    result = audit(Printed("46.7"), evidence)
    assert (result.verdict, result.reading) == (
        "stands with another number",
        "step 50 before a resumed run logged it again",
    )


def test_logs_of_several_seeds_are_read_together() -> None:
    curves = {str(seed): read_curve(f"step:1 - acc:0.4\nstep:2 - acc:0.4{seed}") for seed in (2, 4)}
    result = audit(Printed("43.0"), curve_evidence(curves, "acc"))  # (42 + 44) / 2
    assert (result.verdict, result.seeds) == ("stands", 2)


def test_curves_of_two_files_keep_the_values_that_were_logged_again() -> None:
    """Each curve has its own lines: two seeds, of which one was resumed. pandas compares `attrs` when it joins."""
    logs = {"a": "step:10 - acc:0.41\nstep:20 - acc:0.44", "b": "step:10 - acc:0.40\nstep:10 - acc:0.42"}
    curves = {seed: read_curve(log) for seed, log in logs.items()}
    evidence = curve_evidence(curves, "acc")
    assert evidence.scores["value"].tolist() == [0.41, 0.44, 0.42]
    assert evidence.overwritten[["seed", "value"]].values.tolist() == [["b", 0.40]]
    assert len(pd.concat(curves.values())) == 3
    assert curves["b"].groupby("step").agg({"acc": "mean"})["acc"].tolist() == [0.42]


def test_missing_problems_are_counted_and_give_a_range() -> None:
    """440 of 500: 264 correct. 60.0 % of what is there. Over all 500 between 264 / 500 and 324 / 500."""
    table = pd.DataFrame({"problem_id": range(440), "label": [1.0] * 264 + [0.0] * 176})
    result = audit(Printed("60.0"), Evidence.of_samples(table, problems=500))
    assert result.verdict == "stands with another number"
    assert "440 of 500 problems are in the file; over all 500 it is 52.8 to 64.8" in result.why
    assert audit(Printed("60.0"), Evidence.of_samples(table)).verdict == "stands"  # nothing says that some are missing
    seeds = pd.concat([table.assign(seed=str(i)) for i in range(2)] + [table.iloc[:340].assign(seed="2")])
    assert "440 and 340 of 440 problems" in audit(Printed("65.9"), Evidence.of_samples(seeds)).why


def test_one_of_many_checkpoints_may_be_found_by_chance() -> None:
    rng = np.random.default_rng(0)
    for count, problems, step in ((15, 30, 1 / 30), (40, 500, 0.002)):
        values = 0.3 + step * rng.integers(0, round(0.16 / step), count)
        curve = Evidence.of_scores(pd.DataFrame({"checkpoint": range(count), "value": values}), problems)
        printed = next(v for v in values[:-1] if v not in (values.max(), values[-1]))
        result = audit(Printed(f"{100 * printed:.2f}"), curve)
        assert result.verdict == "cannot tell" and "a number of no relation to the file would match" in result.why


def test_without_a_number_of_problems_the_choice_is_not_judged() -> None:
    curve = pd.DataFrame({"checkpoint": range(6), "value": [0.20, 0.40, 0.50, 0.63, 0.40, 0.24]})
    result = audit(Printed("63.0"), Evidence.of_scores(curve))
    assert (
        result.verdict == "stands with another number" and "without problems=N the choice is not judged" in result.why
    )
    # with it: a peak of its own, which five checkpoints like it do not have
    assert audit(Printed("63.0"), Evidence.of_scores(curve, 500)).verdict == "stands with another number"


def test_the_largest_of_a_plateau_is_a_choice_among_equals() -> None:
    """A rise, then six checkpoints of one model: the largest is printed."""
    within = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rates = rng.beta(1.0, 1.0, 200)
        rise = [rng.random(200) < rates * share for share in (0.2, 0.45, 0.7)]
        flat = [rng.random(200) < rates for _ in range(6)]
        if np.argmax([x.mean() for x in flat]) == 5:
            within += 1  # the last one is the best: no choice
            continue
        rows = [(c, p, float(x[p])) for c, x in enumerate([*rise, *flat]) for p in range(200)]
        evidence = Evidence.of_samples(pd.DataFrame(rows, columns=["checkpoint", "problem_id", "label"]))
        result = audit(Printed(f"{100 * evidence.scores['value'].max():.1f}"), evidence)
        within += result.verdict == "within selection"
    # 5 % are rarer than LIKELY by its meaning. The rates, from the same six checkpoints, make it a few more
    assert within >= 32


def test_majority_counts_ties_and_problems_without_an_answer() -> None:
    # a: two of three are right. b: one each, a tie, so 1/2. c: no answer
    rows = [("a", "1", 1.0), ("a", "1", 1.0), ("a", "2", 0.0), ("b", "3", 1.0), ("b", "4", 0.0), ("c", None, 0.0)]
    evidence = Evidence.of_samples(pd.DataFrame(rows, columns=["problem_id", "answer", "label"]))
    table = scores_of(evidence, 1).table(Composition((Choice("metric", "majority", 1),)))
    assert table.ravel().tolist() == pytest.approx([(1 + 0.5 + 0) / 3])


def test_the_chance_of_a_foreign_number_is_the_share_of_numbers_that_are_as_simple() -> None:
    """The 151 tenths around 40.0 are 32.5 to 47.5: 40.0 and 45.0 are two of them, and 10.0 is none. 30 problems have
    scores between 25.0 and 55.0, of which 8/30 to 16/30 are nine. 12/30 is one."""
    tried = Tried([Composition()] * 3, np.array([0.4, 0.45, 0.1]), np.array([0.0, 2.0, 2.0]))
    assert chance(Printed("40.0"), curve_of(0.123456789), tried, 2.0) == pytest.approx(2 / 151)
    assert chance(Printed("40.0"), curve_of(0.123456789), tried, 1.0) == pytest.approx(1 / 151)
    assert chance(Printed("40.0"), curve_of(0.123456789, problems=30), tried, 1.0) == pytest.approx(1 / 9)


def responses(problems: int) -> list[Sample]:
    """Rows as a file of answers has them: two in three are correct, and every response is long and its own."""
    return [
        Sample(
            str(i),
            (str(i),),
            f"{i} " * 60 + f"\\boxed{{{i if i % 3 else -1}}}",
            expected=bool(i % 3),
        )
        for i in range(problems)
    ]


@pytest.mark.parametrize("twice", [lambda row: row, lambda row: replace(row, problem_id=f"again {row.problem_id}")])
def test_rows_that_stand_in_the_file_twice_are_named(twice: Callable[[Sample], Sample]) -> None:
    rows = responses(60)
    printed = Printed(f"{100 * 40 / 60:.1f}")
    assert audit(printed, Evidence.of_samples(graded(rows, Grader()))).verdict == "stands"
    copied = Evidence.of_samples(graded([*rows, *map(twice, rows)], Grader()))
    result = audit(printed, copied)
    assert result.verdict == "stands with another number" and "60 of 120 responses are copies of others" in result.why


def test_responses_without_an_answer_are_named() -> None:
    rows = [
        row if i % 4 else replace(row, response="no idea " * 20, expected=False) for i, row in enumerate(responses(60))
    ]
    correct = sum(bool(row.expected) for row in rows)
    result = audit(Printed(f"{100 * correct / 60:.1f}"), Evidence.of_samples(graded(rows, Grader())))
    assert result.verdict == "stands with another number" and "25.0% of the samples are without an answer" in result.why


def curve_of(*values: float, problems: int | None = None) -> Evidence:
    return Evidence.of_scores(pd.DataFrame({"checkpoint": range(len(values)), "value": values}), problems)


def test_a_curve_of_a_known_number_of_problems_has_an_interval() -> None:
    """46 of 100: Wilson's interval is [36.6, 55.7]."""
    interval = audit(Printed("46.0"), curve_of(0.3, 0.46, problems=100)).interval
    assert interval is not None and (interval.low, interval.high) == pytest.approx((0.3656, 0.5574), abs=1e-3)
    table = read_curve("step,acc,n_problems\n1,0.3,100\n2,0.46,100\n")
    assert audit(Printed("46.0"), curve_evidence({"a": table}, "acc")).interval == interval
    assert audit(Printed("46.0"), curve_of(0.3, 0.46)).interval is None


def test_a_score_that_is_pass_at_k_stands_beside_the_files_pass_at_k() -> None:
    """40 problems, two samples each, 0, 1 or 2 of them correct: avg 50, pass@2 75 (30 of 40)."""
    labels = [0.0, 0.0] * 10 + [0.0, 1.0] * 20 + [1.0, 1.0] * 10
    evidence = Evidence.of_samples(pd.DataFrame({"problem_id": np.repeat(range(40), 2), "label": labels}))
    stands = audit(Printed("75.0", k=2), evidence)
    assert stands.verdict == "stands" and stands.file == 0.75 and "the file, pass@2: 75.0 [" in str(stands)
    assert audit(Printed("50.0", k=2), evidence).reading == "the average of 2 samples"
    with pytest.raises(UsageError, match="k=3: expected problems with so many labelled samples, got at most 2"):
        audit(Printed("50.0", k=3), evidence)
    unscored = evidence.samples.assign(label=[None if i == 79 else x for i, x in enumerate(labels)])
    filled = audit(Printed("75.0", k=2), Evidence.of_samples(unscored))
    assert filled.file == pytest.approx(29 / 39) and "samples without a verdict counted as" in filled.reading


def test_a_verdict_in_words_and_a_number_half_way() -> None:
    """A reservation is not another number. 63.75 is neither 63.7 nor 63.8. A share is said to be one."""
    cut = pd.DataFrame({"problem_id": range(10), "label": [1.0] * 5 + [0.0] * 5, "truncated": [0.0] * 5 + [1.0] * 5})
    result = audit(Printed("50.0"), Evidence.of_samples(cut))
    assert result.in_words == "stands, with a reservation" and str(result).startswith(f"50.0: {result.in_words}: trunc")
    assert "the file: 63.75\n" in f"{audit(Printed('63.8'), curve_of(0.6375))}\n"
    assert str(audit(Printed("0.5"), curve_of(0.5))).startswith("0.5, a share (50 %): stands")


def test_a_gain_of_the_same_problems_is_that_of_compare() -> None:
    rng = np.random.default_rng(0)
    trained, before = (rng.random((seeds, 30)) < rate for seeds, rate in ((3, 0.7), (1, 0.5)))
    sides = [
        Evidence.of_samples(
            pd.DataFrame(
                {
                    "problem_id": np.tile(range(30), len(labels)),
                    "seed": np.repeat(range(len(labels)), 30),
                    "label": labels.ravel(),
                }
            )
        )
        for labels in (trained, before)
    ]
    gain = audit(Printed("70.0"), sides[0], base=sides[1]).gain
    assert gain is not None and gain.over == "over the 30 problems of both and the seeds"
    assert gain.interval == paired(trained.astype(float), before.astype(float), trained=(True, False)).interval


def test_the_gain_of_two_curves_has_an_interval() -> None:
    """Newcombe's example of 56 of 70 against 48 of 80 (Stat. Med. 17, 1998, Table II (a), method 10): [0.0524, 0.3339].
    The difference is 0.2."""
    result = audit(Printed("80.0"), curve_of(56 / 70, problems=70), base=curve_of(48 / 80, problems=80))
    assert result.gain is not None and result.gain.interval is not None
    gain = (result.gain.value, result.gain.interval.low, result.gain.interval.high)
    assert gain == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)
    assert "gain over the base model: +20.0 points [5.2, 33.4]" in str(result)
    without = audit(Printed("80.0"), curve_of(0.8), base=curve_of(0.6))
    assert without.gain is not None and without.gain.interval is None and "needs problems=N" in str(without)


@pytest.mark.parametrize(
    ("metric", "is_reward"),
    [
        ("critic/rewards/mean", True),
        ("critic/score/mean", True),
        ("reward", True),
        ("train/accuracy", True),
        ("rewards/accuracy_reward/mean", True),
        ("val-core/openai/gsm8k/reward/mean@1", False),
        ("val/test_score/openai/gsm8k", False),
        ("eval_reward", False),
        ("eval_acc", False),
        ("rewardbench", False),
        ("accuracy", False),
    ],
)
def test_a_reward_while_training_is_known_by_its_name(metric: str, is_reward: bool) -> None:
    assert training_reward(metric) == is_reward


def test_known_benchmarks_have_their_number_of_problems() -> None:
    assert known_size(["samples_math_500_2025.jsonl"]) == 500
    assert known_size(["aime_2024/run1.jsonl"]) == 30
    assert known_size(["mbpp_plus.jsonl"]) == 378
    assert known_size(["aime24.jsonl", "gsm8k.jsonl"]) is None  # two names give no one number
    assert known_size(["verdicts.csv"]) is None


def test_choice_among_seeds_keeps_the_seeds_apart() -> None:
    """One problem, two checkpoints a seed: seed a solves it with probability 1/2, seed b never. The largest is 1 unless
    both of seed a's fail: 3/4. Were all four one model of 1/4, it would be 1 - (3/4)^4 = 0.68."""
    rows = [("a", 0, 1.0), ("a", 1, 0.0), ("b", 0, 0.0), ("b", 1, 0.0)]
    table = pd.DataFrame(rows, columns=["seed", "checkpoint", "label"]).assign(problem_id="x")
    result = selection(Evidence.of_samples(table), 1.0, np.random.default_rng(0))
    assert result.chance == pytest.approx(3 / 4)


def _audited(tmp_path: Path, rows: list[dict[str, object]], printed: str, **columns: str) -> dict[str, Any]:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = rlvr.audit(file, printed=printed, columns=columns or None)
    return {"verdict": result["verdict"], "text": str(result)}


def test_a_response_that_is_the_gold_in_prose_is_right(tmp_path: Path) -> None:
    """The last number of each response was its answer, so 30 right rows of 40 were wrong."""
    gold = "The number of dogs would fall in year {}"
    rows: list[dict[str, object]] = [
        {
            "id": n,
            "answer": gold.format(n),
            "response": "Nothing would change at all" if n % 4 == 0 else gold.format(n),
            "expected": n % 4 != 0,
        }
        for n in range(40)
    ]
    report = _audited(tmp_path, rows, "75.0")
    assert report["verdict"] == "stands" and "answers read in the whole text: 75.0" in report["text"]


def test_a_letter_that_names_the_gold_among_the_choices_is_right(tmp_path: Path) -> None:
    choices = ["cat", "dog", "cow", "pig"]
    rows: list[dict[str, object]] = [
        {
            "id": n,
            "question": f"Which animal is in picture {n}?",
            "choices": choices,
            "answer": choices[n % 4],
            "response": f"I looked at picture {n} for long. Thus, the answer is {'ABCD'[(n + (n >= 26)) % 4]}.",
            "expected": n < 26,
        }
        for n in range(40)
    ]
    report = _audited(tmp_path, rows, "65.0")
    assert report["verdict"] == "stands" and "answers read in the whole text: 65.0" in report["text"]


def test_problems_with_one_question_and_other_golds_are_not_there_twice(tmp_path: Path) -> None:
    """As questions about pictures are: 12 of 40 ask what time is shown."""
    rows: list[dict[str, object]] = [
        {
            "problem_id": n,
            "problem": "What time is shown?" if n < 12 else f"Which number is {n}?",
            "answer": str(n),
            "response": rf"\boxed{{{n if n < 30 else 0}}}",
            "expected": n < 30,
        }
        for n in range(40)
    ]
    assert _audited(tmp_path, rows, "75.0")["verdict"] == "stands"


def test_no_problem_is_missing_where_a_known_benchmark_has_as_many(tmp_path: Path) -> None:
    """141 of HumanEval's 164 are 86.0 %. They are 71.2 % of GPQA's 198, which this file is not."""
    rows: list[dict[str, object]] = [{"task_id": f"HumanEval/{n}", "passed": n < 141} for n in range(164)]
    report = _audited(tmp_path, rows, "71.2", id="task_id", correct="passed")
    assert report["verdict"] == NOT_FOUND


def test_one_verdict_for_several_responses_is_refused(tmp_path: Path) -> None:
    """The verdict of a majority was taken for that of each of its eight responses."""
    rows: list[dict[str, object]] = [
        {"problem": f"{n} + 0", "answer": "1", "responses": ["1", "2", "1"], "majority_correct": True} for n in range(4)
    ]
    with pytest.raises(UsageError, match="one verdict for 3 responses"):
        _audited(tmp_path, rows, "100.0", response="responses", expected="majority_correct")


def test_a_number_in_a_cut_derivation_moves_no_score(tmp_path: Path) -> None:
    """Right responses state their answer. The others stop in mid-derivation, at a number that is the gold."""
    rows: list[dict[str, object]] = [
        {
            "id": n,
            "problem": f"What is {n} + 1?",
            "answer": str(n + 1),
            "response": rf"So it is \boxed{{{n + 1}}}" if n < 50 else f"We use {'x ' * 60} + {n + 1}",
            "expected": n < 50,
        }
        for n in range(100)
    ]
    assert _audited(tmp_path, rows, "50.0")["verdict"] != "made by the grader"


def test_a_word_beside_verdicts_is_refused_with_the_word_that_says_correct(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"task_id": f"T/{n}", "status": status} for n, status in enumerate(("pass", "fail", "timeout", "pass"))
    ]
    with pytest.raises(UsageError, match=r"type '?columns=id:task_id,correct:status\?pass"):
        _audited(tmp_path, rows, "50.0", id="task_id", correct="status")
    assert _audited(tmp_path, rows, "50.0", id="task_id", correct="status?pass")["verdict"] == "stands"

"""What people ordinarily print is found by its name, and is never "not in the file"; denominators, chance, plateaus."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from evals.audit import Audit, Evidence, Printed, audit
from evals.audit.reading import curve_evidence, graded, read_curve
from evals.audit.readings import hit_by_chance, majority
from evals.grading import Grader

REPETITIONS = 20
Practice = tuple[Evidence, float]  # the files, and the share that is printed


def verdicts(
    rng: np.random.Generator, *, problems: int = 170, seeds: int = 1, steps: int = 1, samples: int = 1
) -> pd.DataFrame:
    """Checkpoints of seeds that differ by a few points, problems of any difficulty, and an answer for each sample."""
    rates = rng.beta(0.8, 1.0, problems)
    rows = []
    for seed in range(seeds):
        for step in range(steps):
            lift = 0.05 * rng.standard_normal() + 0.04 * step
            solved = rng.random((problems, samples)) < np.clip(rates + lift, 0, 1)[:, None]
            wrong = rng.integers(1, 4, (problems, samples))  # one of three wrong answers
            for problem in range(problems):
                for sample in range(samples):
                    label = float(solved[problem, sample])
                    answer = "right" if label else f"wrong {wrong[problem, sample]}"
                    rows.append((str(seed), step, problem, label, answer, float(rng.random() < 0.12)))
    return pd.DataFrame(rows, columns=["seed", "checkpoint", "problem_id", "label", "answer", "truncated"])


def means(table: pd.DataFrame) -> pd.DataFrame:
    """[seed, checkpoint]: the scores."""
    by_problem = table.groupby(["seed", "checkpoint", "problem_id"])["label"].mean()
    return by_problem.groupby(["seed", "checkpoint"]).mean().unstack()


def best_of_each_seed(rng: np.random.Generator) -> Practice:
    table = verdicts(rng, seeds=3, steps=4)
    return Evidence.of_samples(table), float(means(table).max(axis=1).mean())


def a_common_earlier_step(rng: np.random.Generator) -> Practice:
    table = verdicts(rng, seeds=3, steps=4)
    return Evidence.of_samples(table), float(means(table)[1].mean())


def the_last_three(rng: np.random.Generator) -> Practice:
    table = verdicts(rng, steps=6)
    return Evidence.of_samples(table), float(means(table).iloc[0, -3:].mean())


def pass_at_2_of_8(rng: np.random.Generator) -> Practice:
    table = verdicts(rng, samples=8)
    c = table.groupby("problem_id")["label"].sum()
    return Evidence.of_samples(table), float((1 - (8 - c) * (7 - c) / 56).mean())  # 1 - C(8 - c, 2) / C(8, 2)


def maj_at_8(rng: np.random.Generator) -> Practice:
    table = verdicts(rng, samples=8)
    values = []
    for _, rows in table.groupby("problem_id"):
        votes = rows["answer"].value_counts()
        most = [answer for answer, count in votes.items() if count == votes.max()]
        values.append(("right" in most) / len(most))
    return Evidence.of_samples(table), float(np.mean(values))


def mean_of_two_benchmarks(rng: np.random.Generator) -> Practice:
    parts = [verdicts(rng, problems=size).assign(benchmark=name) for name, size in (("a", 30), ("b", 170))]
    table = pd.concat(
        [
            part.assign(problem_id=f"{name}-" + part["problem_id"].astype(str))
            for part, name in zip(parts, "ab", strict=True)
        ]
    )
    return Evidence.of_samples(table), float(np.mean([part["label"].mean() for part in parts]))


def finished_responses_only(rng: np.random.Generator) -> Practice:
    table = verdicts(rng)
    table["label"] = np.where(table["truncated"] == 1, 0.0, table["label"])
    return Evidence.of_samples(table), float(table[table["truncated"] == 0]["label"].mean())


def missing_problems_as_wrong(rng: np.random.Generator) -> Practice:
    table = verdicts(rng, problems=27)
    return Evidence.of_samples(table, problems=30), float(table["label"].sum() / 30)


def pooled_samples(rng: np.random.Generator) -> Practice:
    table = verdicts(rng, samples=8)
    hard = table.groupby("problem_id")["label"].transform("mean") < 0.5
    table = table[~hard | (table.groupby("problem_id").cumcount() < 4)]
    return Evidence.of_samples(table), float(table["label"].mean())


PRACTICES: dict[Callable[[np.random.Generator], Practice], str] = {
    best_of_each_seed: "the mean over seeds of each seed's best checkpoint",
    a_common_earlier_step: "checkpoint 1, mean over seeds",
    the_last_three: "the mean of the last 3 checkpoints",
    pass_at_2_of_8: "pass@2",
    maj_at_8: "maj@8",
    mean_of_two_benchmarks: "the mean of 2 benchmarks, each with the same weight",
    finished_responses_only: "responses that were not cut off",
    missing_problems_as_wrong: "the 3 missing of 30 problems counted as wrong",
    pooled_samples: "all samples pooled, though problems have unequal numbers of them",
}


@pytest.mark.parametrize("practice", PRACTICES, ids=lambda practice: practice.__name__)
def test_an_ordinary_practice_is_named(practice: Callable[[np.random.Generator], Practice]) -> None:
    found: list[Audit] = []
    for repetition in range(REPETITIONS):
        evidence, value = practice(np.random.default_rng(repetition))
        found.append(audit(Printed(f"{100 * value:.2f}"), evidence))
    assert not any(result.verdict == "not in the file" for result in found)
    named = [PRACTICES[practice] in result.reading for result in found]
    # another reading may have the same two decimals
    assert sum(named) >= REPETITIONS - 3, [result.reading for result in found]
    assert all(r.verdict == "stands with another number" for r, n in zip(found, named, strict=True) if n)


def test_a_share_and_other_spellings_of_a_number() -> None:
    table = pd.DataFrame({"problem_id": range(30), "label": [1.0] * 14 + [0.0] * 16})  # 46.67 %
    for text in ("46.7", "46.7%", "46.7\\%", "46.7 ± 1.2", "0.467", "0.4667"):
        assert audit(Printed(text), Evidence.of_samples(table)).verdict == "stands", text
    assert audit(Printed("46.6"), Evidence.of_samples(table)).verdict == "stands with another number"  # 46.67 cut off
    assert audit(Printed("0.9"), Evidence.of_samples(table)).verdict == "not in the file"  # neither 90 % nor 0.9 %


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
    """440 of 500: 264 correct. 60.0 % of what is there; over all 500 between 264 / 500 and 324 / 500."""
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
        assert result.verdict == "cannot tell" and "a foreign number would be one of the" in result.why
    # 2 of the 1,001 tenths of a percent from 20.0 to 80.0 (601 of them)
    assert hit_by_chance([0.2, 0.8], None, 0.001) == pytest.approx(2 / 601)


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
    # 5 % are rarer than LIKELY by its meaning; the rates, from the same six checkpoints, make it a few more
    assert within >= 32


def test_majority_counts_ties_and_problems_without_an_answer() -> None:
    # a: two of three are right; b: one each, a tie, so 1/2; c: no answer
    rows = [("a", "1", 1.0), ("a", "1", 1.0), ("a", "2", 0.0), ("b", "3", 1.0), ("b", "4", 0.0), ("c", None, 0.0)]
    assert majority(pd.DataFrame(rows, columns=["problem_id", "answer", "label"])) == pytest.approx((1 + 0.5 + 0) / 3)


def responses(problems: int, **more: object) -> list[dict[str, object]]:
    """Rows as a file of answers has them: two in three are correct, and every response is long and its own."""
    return [
        {
            "problem_id": str(i),
            "answer": str(i),
            "response": f"{i} " * 60 + f"\\boxed{{{i if i % 3 else -1}}}",
            "expected": bool(i % 3),
            **more,
        }
        for i in range(problems)
    ]


@pytest.mark.parametrize("twice", [lambda row: row, lambda row: row | {"problem_id": f"again {row['problem_id']}"}])
def test_rows_that_stand_in_the_file_twice_are_named(twice: Callable[[dict[str, object]], dict[str, object]]) -> None:
    rows = responses(60)
    printed = Printed(f"{100 * 40 / 60:.1f}")
    assert audit(printed, Evidence.of_samples(graded(rows, Grader()))).verdict == "stands"
    copied = Evidence.of_samples(graded([*rows, *map(twice, rows)], Grader()))
    result = audit(printed, copied)
    assert result.verdict == "stands with another number" and "60 of 120 responses are copies of others" in result.why


def test_responses_without_an_answer_are_named() -> None:
    rows = [
        row if i % 4 else row | {"response": "no idea " * 20, "expected": False} for i, row in enumerate(responses(60))
    ]
    correct = sum(bool(row["expected"]) for row in rows)
    result = audit(Printed(f"{100 * correct / 60:.1f}"), Evidence.of_samples(graded(rows, Grader())))
    assert result.verdict == "stands with another number" and "25.0% of the samples are without an answer" in result.why

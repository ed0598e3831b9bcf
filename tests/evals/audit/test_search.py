"""The search: what has the digits is found whatever the composition, and what chance explains is not."""

from __future__ import annotations

import json
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rlvr
from benchmarks.audit_search import (
    DRAWN,
    KINDS,
    UNEXPLAINED,
    draw,
    explained_share,
    foreign,
    foreign_rows,
    outcome,
)
from evals.audit import Evidence, Printed, audit
from evals.audit.composition import MOST_STEPS, STEP, TABLE, Choice, Composition, compositions
from evals.audit.curve_evidence import curve_evidence, family_of
from evals.audit.curves import read_curve
from evals.audit.grammar import grammar_of
from evals.audit.result import NOT_FOUND
from evals.audit.search import smoothed, tried_of
from evals.audit.tables import scores_of


def verdicts(path: Path, labels: np.ndarray, **columns: list[object]) -> Path:
    """A table with a row per sample. `columns` have one value per problem."""
    problems, samples = labels.shape
    table = pd.DataFrame({"id": np.repeat(np.arange(problems), samples), "correct": labels.ravel().astype(int)})
    table.assign(**{name: np.repeat(values, samples) for name, values in columns.items()}).to_csv(path, index=False)
    return path


def labels_of(rates: np.ndarray, samples: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((len(rates), samples)) < rates[:, None]).astype(float)


RATES = np.random.default_rng(1).beta(0.8, 1.0, 211)


def test_compositions_are_all_combinations_of_few_choices_the_simplest_first() -> None:
    """Two parts and one metric: alone, and both together, which costs a step more. One choice per dimension."""
    part = [Choice("part", "part", "level", str(i), 2, f"level {i}") for i in (1, 2)]
    metric = Choice("metric", "pass", 2, bits=1, words="pass@2")
    made = compositions({"part": part, "metric": [metric]}, TABLE)
    assert [composition.words for composition in made] == [
        "",
        "pass@2",
        "level 1",
        "level 2",
        "level 1, pass@2",
        "level 2, pass@2",
    ]
    assert [composition.bits for composition in made] == [0, 1, 2, 2, 3 + STEP, 3 + STEP]


@pytest.mark.parametrize("printed", ["0", "1", "1×", "0.0"])
def test_a_bare_zero_or_one_is_not_a_share(tmp_path: Path, printed: str) -> None:
    """48 of 100: it is neither 0 nor 1 in percent, nor half a point from 0 or 100."""
    path = verdicts(tmp_path / "v.csv", np.array([[1.0]] * 48 + [[0.0]] * 52))
    if printed == "1×":
        with pytest.raises(ValueError, match="percentage"):
            rlvr.audit(path, printed=printed)
        return
    assert rlvr.audit(path, printed=printed)["verdict"] == NOT_FOUND


def test_a_number_that_nothing_gives_is_no_accusation(tmp_path: Path) -> None:
    """It says how many numbers were tried, and the nearest three. The file may not be the one behind the number."""
    path = verdicts(tmp_path / "v.csv", labels_of(RATES, 1))
    document = rlvr.audit(path, printed="71.37")
    tried = document["tried"]
    assert document["verdict"] == NOT_FOUND and tried > 1
    lines = str(document).splitlines()
    assert f"71.37: not found among {tried} readings of the files" in lines
    assert f"{tried} distinct numbers were tried; the nearest: " in lines[-1] and "not in the file" not in str(document)


def test_two_models_in_one_file_are_not_pooled_without_a_word(tmp_path: Path) -> None:
    """60 and 46 of 100: 53.0 is of no model."""
    labels = np.array([[1.0]] * 60 + [[0.0]] * 40 + [[1.0]] * 46 + [[0.0]] * 54)
    path = verdicts(tmp_path / "v.csv", labels, model=["a"] * 100 + ["b"] * 100)
    document = rlvr.audit(path, printed="53.0")
    assert document["verdict"] == "stands, with a reservation"
    assert "the score is over 2 models, which the column model names: a 60.0, b 46.0" in str(document)
    alone = rlvr.audit(path, printed="46.0")
    assert alone["verdict"] == "stands with another number" and alone["reading"] == "the model b alone"


def responses(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def response_of(problem: int, sample: int, right: bool) -> str:
    return f"We count case {problem} in way {sample}. " * 5 + f"So it is \\boxed{{{problem if right else -1}}}."


def test_labels_that_were_flipped_both_ways_are_named(tmp_path: Path) -> None:
    """100 of 200 responses are right, and 12 labels of each half are flipped: 50.0 stays, and 12 % of the labels
    differ."""
    rows = [
        {
            "problem_id": i,
            "answer": str(i),
            "response": response_of(i, 0, i < 100),
            "expected": (i < 100) != (i % 100 < 12),
        }
        for i in range(200)
    ]
    document = rlvr.audit(responses(tmp_path / "r.jsonl", rows), printed="50.0")
    assert document["verdict"] == "stands, with a reservation" and [c["name"] for c in document["causes"]] == ["labels"]
    text = (
        "our verdicts differ on 12.0 % of these samples (24 of 200): 12 are correct by the file alone, 12 by us alone"
    )
    assert text in str(document)


def test_different_responses_with_one_verdict_each_are_no_repeated_rows(tmp_path: Path) -> None:
    rows = [
        {"problem_id": i, "answer": str(i), "response": response_of(i, sample, i % 2 == 0), "expected": i % 2 == 0}
        for i in range(60)
        for sample in range(4)
    ]
    text = str(rlvr.audit(responses(tmp_path / "r.jsonl", rows), printed="50.0"))
    assert "60 problems is there 4 times with one verdict on different responses" in text
    assert "rows that were repeated" not in text


LOG = "val/aime/acc/mean@1", "val/math/acc/mean@1", "val/math/reward/mean@1"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three metrics of one evaluation. Math is best at step 20, aime at step 30."""
    rows = ((0.1011, 0.4022, 0.5512), (0.1523, 0.6127, 0.7034), (0.2037, 0.5541, 0.6518), (0.1819, 0.5833, 0.6702))
    lines = [
        f"step:{10 * i + 10} - " + " - ".join(f"{name}:{value}" for name, value in zip(LOG, row, strict=True))
        for i, row in enumerate(rows)
    ]
    path = tmp_path / "run.log"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("printed", "reading"),
    [
        ("58.33", "val/math/acc/mean@1 of the same log"),
        ("67.02", "val/math/reward/mean@1 of the same log"),
        ("38.26", "the mean of 2 benchmarks, each with the same weight"),  # (18.19 + 58.33) / 2
        # (20.37 + 61.27) / 2, where both together are best at step 20: 38.25
        ("40.82", "the mean of 2 benchmarks, each with the same weight, each part at its own best checkpoint"),
    ],
)
def test_other_numbers_of_the_same_log(log: Path, printed: str, reading: str) -> None:
    document = rlvr.audit(log, printed=printed, metric=LOG[0])
    assert (document["verdict"], document["reading"]) == ("stands with another number", reading)


def test_a_family_is_one_metric_of_several_benchmarks() -> None:
    names = [*LOG, "val/math/acc/best@4/mean", "eval_loss"]
    assert family_of(LOG[0], names) == ("val/math/acc/mean@1",)
    assert family_of("aime24_acc", ["math500_acc", "math500_f1", "aime24_acc_std"]) == ("math500_acc",)


def test_the_base_models_own_score(tmp_path: Path) -> None:
    model = verdicts(tmp_path / "model.csv", labels_of(RATES, 1))
    labels = labels_of(RATES / 2, 3, seed=1)
    base = verdicts(tmp_path / "base.csv", labels)
    document = rlvr.audit(model, printed=f"{100 * labels.mean():.2f}", base=[base])
    assert (document["verdict"], document["reading"]) == ("stands with another number", "the score of the base model")
    assert document["causes"][0]["name"] == "another model"


def test_metrics_by_a_column_and_of_some_samples(tmp_path: Path) -> None:
    """maj@4 of 8, and the best of 8 by a reward, each from a slow loop."""
    labels, rng = labels_of(RATES[:120], 8), np.random.default_rng(2)
    answers = np.where(labels == 1, "right", rng.choice(["x", "y"], labels.shape))
    rewards = rng.random(labels.shape)
    rows = [
        {"id": i, "correct": int(labels[i, j]), "answer": answers[i, j], "reward": round(rewards[i, j], 6)}
        for i in range(120)
        for j in range(8)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "v.csv", index=False)
    best = np.mean([labels[i, rewards[i].round(6).argmax()] for i in range(120)])
    document = rlvr.audit(tmp_path / "v.csv", printed=f"{100 * best:.2f}")
    assert "best of 8 by the column reward" in str(document)

    def majority(answers: tuple[str, ...]) -> float:
        most = max(answers.count(answer) for answer in answers)
        winners = {answer for answer in answers if answers.count(answer) == most}
        return ("right" in winners) / len(winners)

    of_four = np.mean([majority(four) for row in answers for four in combinations(row.tolist(), 4)])
    document = rlvr.audit(tmp_path / "v.csv", printed=f"{100 * of_four:.2f}")
    assert (document["verdict"], document["reading"]) == ("stands with another number", "maj@4")


def test_equal_weights_of_levels_and_a_trimmed_mean_of_seeds(tmp_path: Path) -> None:
    levels = [1] * 20 + [2] * 70 + [3] * 121
    labels = labels_of(np.clip(RATES + 0.3 - 0.2 * np.array(levels), 0, 1), 1)
    path = verdicts(tmp_path / "v.csv", labels, level=levels)
    value = np.mean([labels[np.array(levels) == level].mean() for level in (1, 2, 3)])
    document = rlvr.audit(path, printed=f"{100 * value:.2f}")
    assert document["reading"] == "the mean of 3 values of level, each with the same weight"
    curve = pd.DataFrame(
        {"seed": list("abcde"), "checkpoint": 0, "value": [0.31123, 0.40237, 0.41891, 0.43377, 0.61255]}
    )
    trimmed = audit(Printed("41.84"), Evidence.of_scores(curve))  # (40.237 + 41.891 + 43.377) / 3 = 41.835
    assert trimmed.reading == "the mean of 5 seeds without the 1 smallest and largest"


def test_smoothing_equals_a_loop() -> None:
    values, biased, state = np.array([0.2, 0.5, 0.4, 0.7]), 0.0, 0.2
    for value in values:
        biased = 0.95 * biased + 0.05 * value
    for value in values[1:]:
        state = 0.95 * state + 0.05 * value
    assert smoothed(values, 0.95, from_first=False) == pytest.approx(biased / (1 - 0.95**4))
    assert smoothed(values, 0.95, from_first=True) == pytest.approx(state)


def test_tables_of_scores_equal_slow_loops() -> None:
    """pass@3, all of 3, the first two, one level, pooled samples, at each of two checkpoints, from the samples."""
    rng = np.random.default_rng(3)
    samples = pd.DataFrame(
        [
            {"checkpoint": c, "problem_id": p, "level": str(p % 2), "label": float(rng.random() < 0.3 + 0.1 * c)}
            for c in range(2)
            for p in range(9)
            for _ in range(4 + p % 2)
        ]
    )
    scores = scores_of(Evidence.of_samples(samples), 1)

    def slow(metric, level=None, first=None, pooled=False) -> list[float]:
        values = []
        for c in range(2):
            at = samples[(samples["checkpoint"] == c) & ((samples["level"] == level) | (level is None))]
            groups = [g["label"].tolist()[:first] for _, g in at.groupby("problem_id")]
            values.append(np.mean([*chain(*groups)] if pooled else [metric(g) for g in groups]))
        return values

    cases = {
        (Choice("metric", "pass", 3),): slow(lambda g: np.mean([any(s) for s in combinations(g, 3)])),
        (Choice("metric", "all", 3),): slow(lambda g: np.mean([all(s) for s in combinations(g, 3)])),
        (Choice("taken", "first", 2),): slow(np.mean, first=2),
        (Choice("part", "part", "level", "1"),): slow(np.mean, level="1"),
        (Choice("average", "pooled"),): slow(np.mean, pooled=True),
    }
    for choices, expected in cases.items():
        assert scores.table(Composition(choices)).ravel().tolist() == pytest.approx(expected), choices


def test_no_composition_has_more_than_three_steps_or_a_value_that_is_no_share() -> None:
    curves = {
        s: read_curve("".join(f"step:{c} - acc:{0.3 + 0.01 * c + 0.02 * i}\n" for c in range(8)))
        for i, s in enumerate("ab")
    }
    evidence = curve_evidence(curves, "acc")
    tried = tried_of(evidence, Printed("40.0"), evidence)
    assert all(len(composition.choices) <= MOST_STEPS for composition in tried.compositions)
    assert (tried.values >= 0).all() and (tried.values <= 1).all()
    assert [*tried.bits] == sorted(tried.bits)
    grammar = grammar_of(evidence, Printed("40.0"), evidence)
    assert {"checkpoint", "seeds", "against"} <= set(grammar)


@pytest.mark.parametrize("draws", [4, pytest.param(DRAWN, marks=pytest.mark.exhaustive)])
def test_compositions_that_are_drawn_at_random_are_found(draws: int) -> None:
    """More than half of them: the others have so many as simple beside them that chance explains the match, and are
    "cannot tell". No drawn number is "not found": it is one of the readings."""
    drawn = [draw(number) for number in range(draws)]
    assert all(composition.verdict != NOT_FOUND for composition in drawn)
    assert sum(draw.is_found for draw in drawn) > draws / 2


@pytest.mark.parametrize("kinds", [["200 verdicts"], pytest.param([*KINDS], marks=pytest.mark.exhaustive)])
def test_foreign_numbers_are_not_explained(kinds: list[str]) -> None:
    outcomes = {kind: foreign(kind, 4, 10) for kind in kinds}
    share, interval = explained_share(outcomes)
    assert share < 0.05 and interval.low <= share <= interval.high
    # 4 sets of files: the scores of the 3 others, and twice ten numbers
    assert foreign_rows(outcomes)[-1][2] == str(len(kinds) * 4 * (3 + 2 * 10))


@pytest.mark.parametrize("kind", ["a curve of 20, 500 problems", "500 responses"])
def test_the_search_decides_what_the_audit_says_of_a_foreign_number(kind: str) -> None:
    evidence = KINDS[kind](np.random.default_rng(5))
    tried = tried_of(evidence, Printed("50.0"), None)
    file_score = 100 * float(evidence.last["value"].mean())
    for printed in (f"{file_score:.1f}", f"{file_score + 3.3:.1f}", f"{file_score - 0.71:.2f}", "1.37"):
        verdict = audit(Printed(printed), evidence).verdict
        assert outcome(tried, Printed(printed), evidence) == (verdict if verdict in UNEXPLAINED else "explained")

"""Is every planted cause named, and is a clean log left alone? `python -m benchmarks.audit [--only KIND | --write]`.

Each kind writes synthetic files of other people's forms with one thing in them, prints a number of them, and asks
`rlvr audit`. A plant is found if the verdict is the expected one and the sentence that names it is in the answer.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

import rlvr
from benchmarks.audit_search import (
    DRAWN,
    KINDS,
    SETS,
    Draw,
    Foreign,
    draw,
    drawn_rows,
    explained_share,
    foreign,
    foreign_rows,
)
from benchmarks.pages import ROOT, made_by, write
from evals.notebook import markdown_table

PAGE = ROOT / "results" / "audit.md"
FILES = Path(__file__).with_name("audit_files.md")  # measured once, by the audit before and after
REPETITIONS = 4
WORKERS = 2
NUMBER, STANDS, CHOICE = "stands with another number", "stands", "within selection"
RESERVED = "stands, with a reservation"  # the file's own number, of which something else is to be said
Labels = NDArray[np.float64]  # [problems, samples]


@dataclass(frozen=True)
class Plant:
    """Files with one thing in them.

    Attributes:
        printed: the number, as a share. says: what the answer must hold. verdicts: those that are right.
        options: of `rlvr audit`. digits: after the point, of the printed percentage. text: it is printed so instead.
    """

    files: Sequence[Path]
    printed: float
    says: str = ""
    verdicts: tuple[str, ...] = (NUMBER, RESERVED)
    options: dict[str, object] = field(default_factory=dict)
    digits: int = 1
    text: str = ""


class Row(TypedDict, total=False):
    """A line of a file with responses. Without fields, it is left out."""

    problem_id: int
    problem: str
    answer: str
    response: str
    finish_reason: str
    expected: bool


Kind = Callable[[np.random.Generator, Path], Plant]
CAUSES: dict[str, Kind] = {}
CLEAN: dict[str, Kind] = {}


def cause(kind: Kind) -> Kind:
    CAUSES[kind.__name__.replace("_", " ")] = kind
    return kind


def clean(kind: Kind) -> Kind:
    CLEAN[kind.__name__.replace("_", " ")] = kind
    return kind


# -- files -------------------------------------------------------------------------------------------------------------


def rates(rng: np.random.Generator, problems: int = 200) -> Labels:
    """One model's rates: problems of every difficulty."""
    return rng.beta(0.8, 1.0, problems)


def solved(rng: np.random.Generator, rates_of_problems: Labels, samples: int = 1) -> Labels:
    return (rng.random((len(rates_of_problems), samples)) < rates_of_problems[:, None]).astype(float)


def verdicts(path: Path, labels: Labels, first: int = 0, **columns: object) -> Path:
    """A table of id and correct. `columns`: of every row, or a list of one value a row."""
    rows = [{"id": first + problem, "correct": int(label)} for problem, row in enumerate(labels) for label in row]
    values = {name: value if isinstance(value, list) else [value] * len(rows) for name, value in columns.items()}
    return table(path, [row | {name: value[i] for name, value in values.items()} for i, row in enumerate(rows)])


def table(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def curve(path: Path, values: Sequence[float], **columns: object) -> Path:
    return table(path, [{"step": 10 * (i + 1), "eval_acc": f"{v:.5f}", **columns} for i, v in enumerate(values)])


def responses(path: Path, labels: Labels, change: Callable[[int, Row], Row] | None = None) -> Path:
    """Rows with a response of a few sentences and a box. An incorrect answer is one of three."""
    rows: list[Row] = []
    for problem, samples in enumerate(labels):
        for label in samples:
            value = problem + 1000 if label else problem + 2000 + len(rows) % 3
            text = (
                f"We compute step by step for case {problem}, sample {len(rows)}. " * 3
                + f"So it is \\boxed{{{value}}}."
            )
            row = Row(problem_id=problem, answer=str(problem + 1000), response=text, expected=bool(label))
            rows.append(change(len(rows), row) if change else row)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows if row))
    return path


def checkpoints(
    rng: np.random.Generator, folder: Path, steps: int, seeds: int = 1, problems: int = 200
) -> list[Labels]:
    """A table of verdicts in `folder`, of a training that learns until its last steps but two. [seed][step] flat."""
    difficulties = rates(rng, problems)
    every = []
    rows = []
    for seed in range(seeds):
        rates_of_seed = np.clip(difficulties + 0.03 * rng.standard_normal(), 0, 1)
        for step in range(steps):
            labels = solved(rng, np.clip(rates_of_seed * min(1.0, 0.6 + 0.4 * (step + 1) / (steps - 2)), 0, 1))
            every.append(labels)
            rows += [{"id": i, "correct": int(v), "seed": seed, "step": step} for i, v in enumerate(labels[:, 0])]
    table(folder / "v.csv", rows)
    return every


# -- clean logs --------------------------------------------------------------------------------------------------------


@clean
def one_table_of_verdicts(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng), 4)
    return Plant([verdicts(folder / "v.csv", labels)], labels.mean(), verdicts=(STANDS,))


@clean
def responses_of_one_model(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng, 100), 2)
    return Plant([responses(folder / "r.jsonl", labels)], labels.mean(), verdicts=(STANDS,))


@clean
def a_base_model_that_often_stops_without_an_answer(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, 0.5 * rates(rng, 150))
    lost = rng.random(150) < 0.25

    def change(i: int, row: Row) -> Row:
        silent = lost[i] and not row["expected"]
        return row | {"finish_reason": "stop"} | ({"response": "Let me think about it. " * 6} if silent else {})

    return Plant([responses(folder / "r.jsonl", labels, change)], labels.mean(), verdicts=(STANDS,))


@clean
def bare_answers_in_several_samples(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, np.sqrt(rates(rng, 80)), 3)
    path = responses(folder / "r.jsonl", labels, lambda i, row: row | {"response": row["response"][-14:]})
    return Plant([path], labels.mean(), verdicts=(STANDS,))


@clean
def the_mean_of_three_seeds(rng: np.random.Generator, folder: Path) -> Plant:
    every = checkpoints(rng, folder, 4, seeds=3)
    return Plant([folder / "v.csv"], np.mean([every[i].mean() for i in (3, 7, 11)]), verdicts=(STANDS,))


@clean
def the_last_value_of_a_curve(rng: np.random.Generator, folder: Path) -> Plant:
    values = 0.3 + 0.2 * np.sqrt(np.arange(1, 13) / 12) + 0.01 * rng.standard_normal(12)
    return Plant([curve(folder / "c.csv", values)], values[-1], "", (STANDS,), {"metric": "eval_acc", "problems": 500})


@clean
def one_named_recipe_of_four(rng: np.random.Generator, folder: Path) -> Plant:
    difficulties = rates(rng)
    tables = sorted((solved(rng, difficulties) for _ in range(4)), key=np.mean)
    files = [verdicts(folder / f"{name}.csv", labels) for name, labels in zip("abcd", tables, strict=True)]
    return Plant(files, tables[1].mean(), "", (STANDS,), {"files": "recipes"})


@clean
def a_reward_that_an_evaluation_gives(rng: np.random.Generator, folder: Path) -> Plant:
    name, values = "val-core/openai/gsm8k/reward/mean@1", np.round(np.linspace(0.2, 0.6, 5) + 0.01 * rng.random(5), 4)
    log = folder / "run.log"
    log.write_text("".join(f"step:{i} - {name}:{v} - critic/rewards/mean:0.9\n" for i, v in enumerate(values)))
    return Plant([log], values[-1], "", (STANDS,), {"metric": name})


@clean
def an_export_of_a_tracker(rng: np.random.Generator, folder: Path) -> Plant:
    """With its least and largest values, rows without any, and steps in no order."""
    rows = [
        {"Step": 10 * i + at, "run - acc": v, "run - acc__MIN": v, "run - acc__MAX": v}
        for i, value in enumerate(0.3 + 0.02 * np.arange(8) + 0.004 * rng.random(8))
        for at, v in ((0, ""), (5, f"{value:.4f}"))
    ]
    last = float(rows[-1]["run - acc"])
    path = table(folder / "c.csv", [rows[i] for i in rng.permutation(len(rows))])
    return Plant([path], last, "", (STANDS,), {"metric": "run - acc", "problems": 500})


@clean
def seeds_that_ended_at_other_steps(rng: np.random.Generator, folder: Path) -> Plant:
    curves = [0.3 + 0.02 * np.arange(n) + 0.01 * rng.standard_normal(n) for n in (8, 10, 9)]
    files = [curve(folder / f"seed{i}.csv", values) for i, values in enumerate(curves)]
    last = np.mean([np.round(values[-1], 5) for values in curves])
    return Plant(files, last, "", (STANDS,), {"metric": "eval_acc", "problems": 500})


@clean
def trainer_state_between_the_losses(rng: np.random.Generator, folder: Path) -> Plant:
    values = np.round(0.3 + 0.02 * np.arange(8) + 0.004 * rng.random(8), 4)
    rows = [row for i, v in enumerate(values) for row in ({"step": i, "loss": 1.0}, {"step": i, "eval_accuracy": v})]
    path = folder / "trainer_state.json"
    path.write_text(json.dumps({"log_history": rows}))
    return Plant([path], values[-1], "", (STANDS,), {"metric": "eval_accuracy", "problems": 500})


# -- what people ordinarily print --------------------------------------------------------------------------------------


@cause
def mean_over_seeds_of_their_best_checkpoints(rng: np.random.Generator, folder: Path) -> Plant:
    every = checkpoints(rng, folder, 5, seeds=3)
    best = np.mean([max(every[5 * s + t].mean() for t in range(5)) for s in range(3)])
    last = np.mean([every[5 * s + 4].mean() for s in range(3)])
    same = round(100 * best, 2) == round(100 * last, 2)
    return Plant([folder / "v.csv"], best, "" if same else "each seed's best", (STANDS if same else NUMBER,), digits=2)


@cause
def mean_over_seeds_at_an_earlier_step(rng: np.random.Generator, folder: Path) -> Plant:
    every = checkpoints(rng, folder, 5, seeds=3)
    return Plant(
        [folder / "v.csv"], np.mean([every[5 * s + 2].mean() for s in range(3)]), "checkpoint 2, mean", digits=2
    )


@cause
def mean_of_the_last_three_checkpoints(rng: np.random.Generator, folder: Path) -> Plant:
    every = checkpoints(rng, folder, 6)
    return Plant([folder / "v.csv"], np.mean([labels.mean() for labels in every[-3:]]), "last 3 checkpoints", digits=2)


def _pass_at(k: int) -> Kind:
    def plant(rng: np.random.Generator, folder: Path) -> Plant:
        labels = solved(rng, 0.7 * rates(rng, 150), 8)
        c = labels.sum(axis=1)
        value = np.mean([1 - math.comb(8 - int(x), k) / math.comb(8, k) for x in c])
        return Plant([verdicts(folder / "v.csv", labels)], value, f"pass@{k}")

    return plant


CAUSES["pass@2 of 8 samples"], CAUSES["pass@4 of 8 samples"] = _pass_at(2), _pass_at(4)


def _majority(first: bool) -> Kind:
    def plant(rng: np.random.Generator, folder: Path) -> Plant:
        labels = solved(rng, rates(rng, 120), 8)
        path, values = responses(folder / "r.jsonl", labels), []
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for problem in range(120):
            votes = Counter(row["response"].split("\\boxed")[1] for row in rows[8 * problem : 8 * problem + 8])
            most = [answer for answer, count in votes.items() if count == max(votes.values())]
            right = [answer == f"{{{problem + 1000}}}." for answer in most]
            values.append(float(right[0]) if first else np.mean(right))
        return Plant([path], np.mean(values), "maj@8", digits=2)

    return plant


CAUSES["maj@8, ties shared"], CAUSES["maj@8, the first of ties"] = _majority(False), _majority(True)


@cause
def equal_weights_of_two_benchmarks(rng: np.random.Generator, folder: Path) -> Plant:
    parts = [solved(rng, rates(rng, 30)), solved(rng, rates(rng, 170))]
    names = ["aime24"] * 30 + ["math500"] * 170
    path = verdicts(folder / "v.csv", np.concatenate(parts), benchmark=names)
    return Plant([path], np.mean([part.mean() for part in parts]), "mean of 2 benchmarks", digits=2)


@cause
def one_of_two_benchmarks_with_the_same_ids(rng: np.random.Generator, folder: Path) -> Plant:
    parts = [solved(rng, rates(rng, 30)), solved(rng, rates(rng, 170))]
    rows = [
        {"id": i, "correct": int(v), "benchmark": n}
        for n, part in zip("ab", parts, strict=True)
        for i, (v,) in enumerate(part)
    ]
    return Plant([table(folder / "v.csv", rows)], parts[1].mean(), "the benchmark b alone", digits=2)


@cause
def a_share(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng))
    return Plant([verdicts(folder / "v.csv", labels)], 0, "", (STANDS,), text=f"{labels.mean():.3f}")


@cause
def a_share_as_in_the_curve(rng: np.random.Generator, folder: Path) -> Plant:
    values = np.round(np.sort(0.2 + 0.5 * rng.random(6)), 3)
    path = curve(folder / "c.csv", values)
    return Plant([path], 0, "", (STANDS,), {"metric": "eval_acc"}, text=f"{values[-1]:.3f}")


@cause
def the_best_of_equal_recipes_curves(rng: np.random.Generator, folder: Path) -> Plant:
    ends = np.round(0.5 + 0.01 * rng.standard_normal(6), 3)
    files = [curve(folder / f"lr_{i}.csv", [0.3, 0.4, v]) for i, v in enumerate(ends)]
    options = {"metric": "eval_acc", "files": "recipes", "problems": 300}
    return Plant(files, max(ends), "the largest", (CHOICE,), options)


@cause
def a_number_with_percent_sign_and_spread(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng))
    forms = ("{:.1f}%", "{:.1f} ± 1.2", "{:.1f}±1.2", "{:.1f} +/- 1.2", "{:.1f}\\%", "{:.1f} (1.2)", "{:.1f}_{{1.2}}")
    text = rng.choice(forms).format(100 * labels.mean())
    return Plant([verdicts(folder / "v.csv", labels)], 0, "", (STANDS,), text=text)


@cause
def a_curve_in_percent_that_is_at_most_one(rng: np.random.Generator, folder: Path) -> Plant:
    values = np.sort(rng.random(6))
    path = curve(folder / "c.csv", values)
    return Plant([path], 0, "in percent", options={"metric": "eval_acc"}, text=f"{values[-1]:.2f}%")


@cause
def finished_responses_alone(rng: np.random.Generator, folder: Path) -> Plant:
    cut = rng.random(200) < 0.1
    labels = np.where(cut[:, None], 0, solved(rng, rates(rng)))
    ends = ["length" if c else "stop" for c in cut]
    path = responses(folder / "r.jsonl", labels, lambda i, row: row | {"finish_reason": ends[i]})
    return Plant([path], labels[~cut].mean(), "that were not cut off", digits=2)


@cause
def missing_problems_as_wrong(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, np.sqrt(rates(rng, 27)))
    path = verdicts(folder / "aime24.csv", labels)
    return Plant([path], labels.sum() / 30, "3 missing of 30 problems counted as wrong")


@cause
def rows_pooled_though_problems_are_unequal(rng: np.random.Generator, folder: Path) -> Plant:
    difficulties = rates(rng, 150)
    rows = [
        {"id": i, "correct": int(rng.random() < rate)}
        for i, rate in enumerate(difficulties)
        for _ in range(8 if rate > 0.5 else 4)
    ]
    return Plant([table(folder / "v.csv", rows)], np.mean([row["correct"] for row in rows]), "pooled", digits=2)


@cause
def a_value_that_a_resumed_run_overwrote(rng: np.random.Generator, folder: Path) -> Plant:
    values = np.round(0.4 + 0.02 * rng.random(5), 4)
    log = folder / "run.log"
    log.write_text("".join(f"step:{s} - acc:{v}\n" for s, v in zip((40, 50, 40, 50, 60), values, strict=True)))
    return Plant([log], values[1], "before a resumed run", (NUMBER,), {"metric": "acc"}, digits=2)


@cause
def the_gain_over_the_base_model(rng: np.random.Generator, folder: Path) -> Plant:
    before, after = 0.3 + 0.05 * rng.random(), np.round(0.4 + 0.1 * rng.random(3), 5)
    base = curve(folder / "base.csv", [before])
    options = {"metric": "eval_acc", "base": [base], "problems": 500}
    return Plant(
        [curve(folder / "c.csv", after)], round(after[-1], 5) - round(before, 5), "the gain over", (NUMBER,), options, 2
    )


# -- what is wrong with the rows ---------------------------------------------------------------------------------------


@cause
def the_hardest_problems_are_missing(rng: np.random.Generator, folder: Path) -> Plant:
    difficulties = np.sort(rates(rng, 500))[60:]
    labels = solved(rng, difficulties)
    path = verdicts(folder / "v.csv", labels)
    return Plant([path], labels.mean(), "440 of 500 problems", options={"problems": 500})


@cause
def problems_of_a_known_benchmark_are_missing(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng, 440))
    return Plant([responses(folder / "math_500.jsonl", labels)], labels.mean(), "440 of 500 problems")


@cause
def one_seed_of_three_lacks_problems(rng: np.random.Generator, folder: Path) -> Plant:
    difficulties = rates(rng)
    tables = [solved(rng, difficulties)[: 100 if seed == 2 else 200] for seed in range(3)]
    files = [verdicts(folder / f"s{seed}.csv", labels) for seed, labels in enumerate(tables)]
    value = np.mean([labels.mean() for labels in tables])
    return Plant(files, value, "200 and 100 of 200 problems", options={"files": "seeds"})


@cause
def the_last_of_two_checkpoints_lacks_problems(rng: np.random.Generator, folder: Path) -> Plant:
    difficulties = rates(rng, 500)
    tables = [solved(rng, difficulties), solved(rng, difficulties)[:440]]
    files = [verdicts(folder / f"step_{step}.csv", labels) for step, labels in zip((100, 200), tables, strict=True)]
    return Plant(files, tables[1].mean(), "440 of 500 problems")


@cause
def each_problem_four_times(rng: np.random.Generator, folder: Path) -> Plant:
    labels = np.repeat(solved(rng, rates(rng)), 4, axis=1)
    return Plant([verdicts(folder / "v.csv", labels)], labels.mean(), "4 times")


@cause
def short_responses_twice_under_new_ids(rng: np.random.Generator, folder: Path) -> Plant:
    once = solved(rng, rates(rng, 100))
    path = responses(folder / "r.jsonl", once, lambda i, row: row | {"response": row["response"][-14:]})
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows += [row | {"problem_id": row["problem_id"] + 5000} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Plant([path], once.mean(), "100 of 200 responses are copies")


@cause
def long_responses_twice_in_another_order(rng: np.random.Generator, folder: Path) -> Plant:
    once = solved(rng, rates(rng, 100))
    path = responses(folder / "r.jsonl", once)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [*lines, *({**lines[i], "problem_id": f"b{i}"} for i in rng.permutation(100)[:40])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Plant([path], np.mean([row["expected"] for row in rows]), "40 of 140 responses are copies")


@cause
def verdicts_twice_under_new_ids(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng))
    return Plant([verdicts(folder / "v.csv", np.tile(labels, (2, 1)))], labels.mean(), "2 times in the same order")


@cause
def a_quarter_without_an_answer_and_a_finish_reason(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, np.sqrt(rates(rng)))
    lost = rng.permutation(200) < 52
    labels[lost] = 0

    def change(i: int, row: Row) -> Row:
        return row | ({"response": f"First we take {i} and add 7 to it, then we have to " * 4} if lost[i] else {})

    return Plant([responses(folder / "r.jsonl", labels, change)], labels.mean(), "without an answer")


@cause
def thoughts_that_never_end(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, np.sqrt(rates(rng)))
    lost = rng.random(200) < 0.15
    labels[lost] = 0

    def change(i: int, row: Row) -> Row:
        thought = f"<think>{row['response'][:90]}"
        return row | {"response": thought if lost[i] else f"{thought}</think>{row['response'][90:]}"}

    return Plant([responses(folder / "r.jsonl", labels, change)], labels.mean(), "truncated")


# -- graders -----------------------------------------------------------------------------------------------------------


@cause
def correct_answers_that_their_grader_cannot_read(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, np.sqrt(rates(rng)))
    misread = rng.random(200) < 1 / 5

    def change(i: int, row: Row) -> Row:
        if not (misread[i] and row["expected"]):
            return row
        text = row["response"].replace(f"{{{row['answer']}}}", f"{{\\frac{{{2 * int(row['answer'])}}}{{2}}}}")
        return row | {"response": text, "expected": False}

    shown = np.where(misread[:, None], 0, labels).mean()
    return Plant([responses(folder / "r.jsonl", labels, change)], shown, "grader", ("made by the grader",))


@cause
def correct_answers_without_a_box(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, np.sqrt(rates(rng)))
    outside = rng.random(200) < 1 / 5

    def change(i: int, row: Row) -> Row:
        if not (outside[i] and row["expected"]):
            return row
        return row | {"response": f"We add both numbers. The answer is {row['answer']}.", "expected": False}

    shown = np.where(outside[:, None], 0, labels).mean()
    return Plant([responses(folder / "r.jsonl", labels, change)], shown, "format", ("made by the grader",))


# -- choice and chance -------------------------------------------------------------------------------------------------


def _printed_largest(values: Sequence[float]) -> tuple[str, tuple[str, ...]]:
    """The sentence about a printed largest value, unless it is the last one."""
    return ("", (STANDS,)) if max(values) == values[-1] else ("If all were one model", (CHOICE,))


@cause
def best_of_equal_checkpoints(rng: np.random.Generator, folder: Path) -> Plant:
    difficulties = rates(rng)
    tables = [solved(rng, difficulties) for _ in range(8)]
    files = [verdicts(folder / f"step_{i}.csv", labels) for i, labels in enumerate(tables)]
    values = [labels.mean() for labels in tables]
    return Plant(files, max(values), *_printed_largest(values))


@cause
def best_of_a_plateau_after_a_rise(rng: np.random.Generator, folder: Path) -> Plant:
    difficulties = rates(rng, 500)
    tables = [solved(rng, difficulties * min(1.0, 0.1 + 0.3 * step)) for step in range(9)]  # a plateau of six
    files = [verdicts(folder / f"step_{i}.csv", labels) for i, labels in enumerate(tables)]
    values = [labels.mean() for labels in tables]
    return Plant(files, max(values), *_printed_largest(values))


@cause
def best_of_a_plateau_in_a_curve(rng: np.random.Generator, folder: Path) -> Plant:
    means = np.clip(0.1 + 0.12 * np.arange(9), 0, 0.46)  # six of the nine are equal
    values = list(rng.binomial(500, means) / 500)
    path = curve(folder / "c.csv", values, n_problems=500)
    return Plant([path], max(values), *_printed_largest(values), {"metric": "eval_acc"})


@cause
def best_of_a_plateau_of_three_seeds(rng: np.random.Generator, folder: Path) -> Plant:
    means = np.clip(0.1 + 0.12 * np.arange(9), 0, 0.46)
    values = [list(rng.binomial(500, means) / 500) for _ in range(3)]
    files = [curve(folder / f"s{i}.csv", scores, n_problems=500) for i, scores in enumerate(values)]
    of_last = any(max(map(max, values)) == scores[-1] for scores in values)
    expectation = ("seed", ("within seeds",)) if of_last else ("If all were one model", (CHOICE,))
    return Plant(files, max(map(max, values)), *expectation, {"metric": "eval_acc"})


@cause
def best_of_equal_recipes(rng: np.random.Generator, folder: Path) -> Plant:
    difficulties = rates(rng)
    tables = [solved(rng, difficulties) for _ in range(8)]
    files = [verdicts(folder / f"recipe_{name}.csv", labels) for name, labels in zip("abcdefgh", tables, strict=True)]
    best = max(range(8), key=lambda i: tables[i].mean())
    return Plant(files, tables[best].mean(), f"recipe_{'abcdefgh'[best]}.csv", (CHOICE,), {"files": "recipes"})


@cause
def a_peak_and_a_collapse_without_a_number_of_problems(rng: np.random.Generator, folder: Path) -> Plant:
    path = curve(folder / "c.csv", np.array([0.2, 0.4, 0.5, 0.63, 0.4, 0.24]) + 0.001 * rng.random(6))
    value = float(next(row for i, row in enumerate(csv.DictReader(path.open())) if i == 3)["eval_acc"])
    return Plant([path], value, "the choice is not judged", options={"metric": "eval_acc"})


@cause
def one_of_fifteen_checkpoints_of_aime24(rng: np.random.Generator, folder: Path) -> Plant:
    counts = rng.binomial(30, 0.4, 15)
    inner = [c for c in counts[:-1] if c not in (counts.max(), counts[-1])]
    path = curve(folder / "c.csv", counts / 30)
    options = {"metric": "eval_acc", "problems": 30}
    return Plant(
        [path], inner[0] / 30, "a number of no relation to the file would match one of", ("cannot tell",), options
    )


@cause
def one_seed_of_four(rng: np.random.Generator, folder: Path) -> Plant:
    values = 0.5 + 0.06 * rng.standard_normal(4)
    files = [curve(folder / f"s{i}.csv", [v]) for i, v in enumerate(values)]
    return Plant(files, max(values), "s", ("within seeds",), {"metric": "eval_acc"})


@cause
def a_gain_within_seeds(rng: np.random.Generator, folder: Path) -> Plant:
    sides = [0.5 + 0.05 * rng.standard_normal(4) for _ in range(2)]
    sides = [side - side.mean() + 0.5 + 0.01 * i for i, side in enumerate(sides)]
    files = [
        [curve(folder / f"{name}{i}.csv", [v]) for i, v in enumerate(side)]
        for name, side in zip("ab", sides, strict=True)
    ]
    return Plant(
        files[1],
        np.mean(np.round(sides[1], 5)),
        "seeds differ by",
        ("within seeds",),
        {"metric": "eval_acc", "base": files[0]},
    )


@cause
def three_of_four_seeds(rng: np.random.Generator, folder: Path) -> Plant:
    values = np.round([0.38 + 0.01 * rng.random(), *(0.48 + 0.04 * rng.random(3))], 5)
    files = [curve(folder / f"seed{i}.csv", [0.3, v]) for i, v in enumerate(values)]
    options = {"metric": "eval_acc", "problems": 500}
    return Plant(files, values[1:].mean(), "3 of 4 seeds, without seed seed0", (NUMBER,), options, digits=2)


@cause
def the_best_of_16_beside_their_mean(rng: np.random.Generator, folder: Path) -> Plant:
    log, name = folder / "run.log", "val-core/aime24/acc/"
    means, bests = np.round(0.2 + 0.1 * rng.random(5), 4), np.round(0.5 + 0.1 * rng.random(5), 4)
    lines = [
        f"step:{i} - {name}mean@16:{m} - {name}best@16/mean:{b}"
        for i, (m, b) in enumerate(zip(means, bests, strict=True))
    ]
    log.write_text("\n".join(lines))
    return Plant([log], bests[-1], "best@16/mean of the same log", options={"metric": f"{name}mean@16"}, digits=2)


@cause
def a_curve_as_trackers_smooth_it(rng: np.random.Generator, folder: Path) -> Plant:
    values = np.round(0.3 + 0.02 * np.arange(10) + 0.03 * rng.standard_normal(10), 5)
    smooth = 0.0
    for value in values:
        smooth = 0.6 * smooth + 0.4 * value
    path = curve(folder / "c.csv", values)
    return Plant([path], smooth / (1 - 0.6**10), "smoothed by 0.6", options={"metric": "eval_acc"}, digits=2)


@cause
def the_gain_in_shares_of_the_base_model(rng: np.random.Generator, folder: Path) -> Plant:
    before, after = 0.3 + 0.05 * rng.random(), 0.4 + 0.1 * rng.random()
    files = [curve(folder / f"{name}.csv", [v]) for name, v in (("base", before), ("trained", after))]
    value = float(f"{after:.5f}") / float(f"{before:.5f}") - 1
    return Plant(files[1:], value, "in shares of the base", options={"metric": "eval_acc", "base": files[:1]}, digits=2)


@cause
def a_count_of_problems(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng))
    return Plant([verdicts(folder / "v.csv", labels)], 0, "", (STANDS,), text=f"{int(labels.sum())}/200")


@cause
def one_of_two_levels(rng: np.random.Generator, folder: Path) -> Plant:
    levels = [int(rng.integers(1, 3)) for _ in range(400)]
    labels = solved(rng, np.clip(rates(rng, 400) - 0.2 * np.array(levels) + 0.3, 0, 1))
    path = verdicts(folder / "v.csv", labels, level=levels)
    return Plant([path], labels[np.array(levels) == 2].mean(), "the problems of level 2 alone", digits=2)


@cause
def short_problems_twice_under_other_ids(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng, 120))

    def with_question(i: int, row: Row) -> Row:
        same = i - 100 if i >= 100 else i  # the last twenty are the first twenty again, with responses of their own
        value = same + 1000 if row["expected"] else 0
        return row | {"problem": f"{same} + 1000?", "answer": f"{same + 1000}", "response": f"\\boxed{{{value}}}"}

    path = responses(folder / "r.jsonl", labels, with_question)
    return Plant([path], labels.mean(), "have the text of another")


@cause
def missing_verdicts_counted_as_correct(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng))[:, 0]
    rows = [{"id": i, "correct": "" if i % 9 == 0 else int(v)} for i, v in enumerate(labels)]
    value = np.mean([1 if i % 9 == 0 else v for i, v in enumerate(labels)])
    return Plant([table(folder / "v.csv", rows)], value, "without a verdict counted as correct", digits=2)


@cause
def a_reward_while_training(rng: np.random.Generator, folder: Path) -> Plant:
    values = np.round(np.sort(rng.random(5)), 4)
    log = folder / "run.log"
    log.write_text("".join(f"step:{i} - critic/rewards/mean:{v}\n" for i, v in enumerate(values)))
    return Plant([log], values[-1], "reward while training", ("cannot tell",), {"metric": "critic/rewards/mean"})


@cause
def a_number_of_other_files(rng: np.random.Generator, folder: Path) -> Plant:
    labels = solved(rng, rates(rng), 2)
    value = labels.mean() + (0.031 if rng.random() < 0.5 else -0.031)
    return Plant(
        [verdicts(folder / "v.csv", labels)], value, "numbers were tried", ("not found among N readings",), digits=2
    )


# -- the table ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KindCount:
    """The count for one kind: how many plants have the right verdict and sentence, and every verdict that there was."""

    named: int
    total: int
    verdicts: Counter[str]
    missed: Sequence[str]


def repeat(kind: Kind, repetitions: int) -> KindCount:
    named, verdicts_of, missed = 0, Counter[str](), []
    for repetition in range(repetitions):
        with TemporaryDirectory() as place, warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            plant = kind(np.random.default_rng([repetition, *map(ord, getattr(kind, "__name__", ""))]), Path(place))
            printed = plant.text or f"{100 * plant.printed:.{plant.digits}f}"
            result = rlvr.audit(*plant.files, printed=printed, **plant.options)
        right = result["verdict"] in plant.verdicts and plant.says in str(result)
        named += right
        verdicts_of[result["verdict"]] += 1
        missed += [] if right else [f"{repetition}: {result}"]
    return KindCount(named, repetitions, verdicts_of, missed)


def repeated(name: str) -> KindCount:
    """The counts for the kind with this name."""
    return repeat({**CAUSES, **CLEAN}[name], REPETITIONS)


def page(counts: Mapping[str, KindCount], draws: Sequence[Draw], foreign_counts: Mapping[str, Foreign]) -> str:
    """The tables, from what was found of each kind, of compositions drawn at random, and of foreign numbers."""
    rows_of_others = foreign_rows(foreign_counts)
    share, interval = explained_share(foreign_counts)
    total, explained = next(map(int, row[2:4]) for row in rows_of_others if row[:2] == ("all", "another model's score"))
    hard = explained / total
    drawn = sum(draw.is_found for draw in draws)
    tables = []
    for kinds in (CAUSES, CLEAN):
        rows = [
            (
                name,
                f"{count.named} of {count.total}",
                ", ".join(f"{n} {verdict}" for verdict, n in count.verdicts.most_common()),
            )
            for name, count in ((name, counts[name]) for name in kinds)
        ]
        tables.append(markdown_table(("planted", "found", "verdicts"), rows))
    return f"""# Planted causes, and what `rlvr audit` says

{made_by("python -m benchmarks.audit")}

Each kind of cause is planted in {REPETITIONS} synthetic logs, each with another seed. The logs are files. Then
`rlvr audit` gets the files and one printed number. *found* means that the verdict is right, and that the answer names
the cause. The planted causes are large. The audit finds small causes less often. If the largest value happens to be the
last value, the right verdict is *stands*.

The search tries combinations of choices (`evals/audit/grammar.py`). Two more tables test the search:

- [Readings chosen at random](#readings-chosen-at-random) should be found: {drawn} of {len(draws)} are.
- [Foreign numbers](#foreign-numbers) should not be explained: {share:.1%} of {rows_of_others[-1][2]} are. The hardest
  foreign numbers are scores of another model: {hard:.1%} of {total} are explained.

{tables[0]}

## Clean logs

*found* means that the number stands, and that the audit names no cause.

{tables[1]}

## Readings chosen at random

Each row is one reading of one to three choices, chosen at random from all readings that the search knows for the
files. The printed number has two digits after the point, and no simpler reading gives it. *found* means that the
audit names the reading and says that its digits stand. If many other readings are as simple, chance can explain
the match. The verdict is then *cannot tell*.

{markdown_table(("files", "reading", "verdict", "found"), drawn_rows(draws))}

## Foreign numbers

- *another model's score*: the score of another model on this benchmark, with one digit.
- *any number*: a number within ten points of the file's score.
- *explained*: the audit says that the digits stand, with or without a choice. Less than 5 % of all should be explained.

Each kind has {SETS} sets of files. **Explained: {share:.1%}**, 95 % interval {interval.low:.1%} to {interval.high:.1%}.
The interval is over the {SETS * len(KINDS)} sets of files, because the numbers of one set are not independent.

{markdown_table(("files", "number", "asked", "explained", "cannot tell", "not found"), rows_of_others)}

{FILES.read_text(encoding="utf-8")}"""


def main() -> None:
    """Print what was found, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.add_argument("--only", default="", help="kinds with this in their name, and what was missed")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    names = [name for name in {**CAUSES, **CLEAN} if given.only in name]
    with ProcessPoolExecutor(WORKERS) as pool:
        counts = {}
        for name, count in zip(names, pool.map(repeated, names), strict=True):
            counts[name] = count
            print(f"{name}: {count.named} of {REPETITIONS}", *count.missed, sep="\n", flush=True)
        if given.write and not given.only:
            draws = list(pool.map(draw, range(DRAWN)))
            foreign_counts = dict(zip(KINDS, pool.map(foreign, KINDS), strict=True))
            write(PAGE, page(counts, draws, foreign_counts))


if __name__ == "__main__":
    main()

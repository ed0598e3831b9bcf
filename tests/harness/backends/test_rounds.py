"""Rounds of rejection sampling: what is sampled, filtered, selected and trained on, and that a killed run resumes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from evals.provenance import Origin
from evals.sampling.engines import Completion, Decoding, Request
from harness.backends.trl import rounds
from harness.backends.trl.finetune import finetune
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.rounds import read_pairs, run_rounds
from harness.spec import Finetune, use
from harness.spec.rejection import Rejection, Sample
from reproductions.trial_and_error import rft
from tests import experiments
from tests.experiments import sourced

pytestmark = pytest.mark.slow

WHY = experiments.WHY
PROBLEMS = {f"K is {k}. What is K?": str(k) for k in range(10, 18)}
FIXED: dict[str, Any] = {"seed": 0, "hardware": TrlHardware(device="cpu")}


def rejection(**values: Any) -> Rejection:
    base = experiments.finetune()
    plain = {f.name: getattr(base, f.name) for f in fields(Finetune)}
    of_rounds = sourced(
        rounds=2,
        problems_per_round=4,
        samples_per_problem=5,
        rollout_temperature=1.0,
        rollout_top_p=1.0,
        max_completion_tokens=32,
        branching_mass=0.95,
        selected=8,
        start_from="last",
    )
    redundant = use(rft.not_redundant, **sourced(limit=0.31, measure="not_distinct"))
    filters = (use(rft.has_box), use(rft.has_digit), use(rft.cut_after_box), redundant)
    select = use(rft.select, **sourced(by="branching", noise=0.25))
    declared = Rejection(**plain, filters=filters, select=select, **of_rounds)
    return declared.override(values, Origin.USER, WHY)


def test_the_plan_counts_the_steps_that_a_round_trains() -> None:
    """10 rows in batches of 4: 3 steps an epoch, 1.5 epochs are 4.5, and a started step is trained."""
    declared = rejection(selected=10, epochs=1.5, max_steps=None)
    assert declared.steps_per_start() == declared.steps_per_start(9) == 5 and declared.steps() == 2 * 5
    assert declared.steps_per_start(8) == 3


class Solver:
    """Five samples a problem: two correct, with more after the box; an incorrect one; a redundant one; one unboxed."""

    chunk_rows = 100
    models: list[str] = []  # models that were sampled from, over all instances  # noqa: RUF012

    def __init__(self, model: str) -> None:
        from transformers import AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = model

    def describe(self) -> dict[str, Any]:
        return {"name": "solver"}

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: Any = None
    ) -> Iterator[list[Completion]]:
        Solver.models.append(self.model)
        made = []
        for request in requests:
            (answer,) = [a for problem, a in PROBLEMS.items() if problem in request.prompt_text]
            text = {
                0: rf"so \boxed{{{answer}}} and \boxed{{1}}",  # correct: it is the first box that counts
                1: rf"first {answer} \boxed{{{answer}}}",
                2: rf"then \boxed{{9}} or \boxed{{{answer}}}",  # incorrect
                3: rf"so then so then so then so then \boxed{{{answer}}}",
                4: f"so {answer}",
            }[request.key[1]]
            made.append(Completion(request.key, text, 5, "stop"))
        yield made


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps({"problem": p, "answer": a}) + "\n" for p, a in PROBLEMS.items()))
    return str(path)


@pytest.fixture(autouse=True)
def solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "sampling_engine", lambda hardware, model, longest: Solver(model))


def run(declared: Rejection, random_model: Path, out_dir: Path, tuned: list[Any], fail_at: int | None = None) -> Any:
    def tune(model: str, *, out_dir: Path, pairs: Path, steps_before: int) -> dict[str, Any]:
        if len(tuned) == fail_at:
            raise KeyboardInterrupt
        rows = read_pairs(pairs)
        tuned.append((Path(model).parts[-3:], steps_before, rows))
        return finetune(declared, base_model=model, out_dir=out_dir, on_metrics=lambda *_: None, pairs=rows, **FIXED)

    return run_rounds(declared, base_model=str(random_model), out_dir=out_dir, tune=tune, **FIXED)


def test_two_rounds_and_a_kill_between_them(random_model: Path, data: str, tmp_path: Path) -> None:
    declared = rejection(dataset=data)
    tuned: list[Any] = []
    kept = run(declared, random_model, tmp_path / "whole", tuned)
    # 4 problems x (2 correct + 1 incorrect) pass. 8 wanted with a quarter of incorrect ones: 6 correct and 2 incorrect
    first = kept["rounds"][0]
    assert kept["prompt_nats"] == first["training"]["prompt_nats"]
    counts = {stage: [first[stage][k] for k in ("samples", "correct", "incorrect")] for stage in ("sampled", "passed")}
    # sampled: of the five, 0, 1 and 3 are correct. 4 has no answer, which counts as incorrect here
    assert counts == {"sampled": [20, 12, 8], "passed": [12, 8, 4]}
    assert [first["selected"][k] for k in ("samples", "correct", "incorrect")] == [8, 6, 2]
    assert first["selected"]["mean_branching"] >= first["passed"]["mean_branching"]  # the highest were taken
    for _, _, rows in tuned:
        assert all(row["solution"].count("boxed") == 1 and row["solution"].endswith("}") for row in rows)
    for number in (0, 1):  # the remaining box shows which are correct
        lines = (tmp_path / "whole" / f"round-{number}" / "selected.jsonl").read_text().splitlines()
        for row in map(json.loads, lines):
            assert row["correct"] == row["solution"].endswith(rf"\boxed{{{PROBLEMS[row['problem']]}}}")
    # the second round trains the model of the first, on other problems, and logs its steps after the first's
    assert [before for _, before, _ in tuned] == [0, 3]
    assert tuned[1][0] == ("round-0", "train", "final")
    assert {row["problem"] for row in tuned[0][2]} != {row["problem"] for row in tuned[1][2]}
    assert kept["steps"] == 6 and (tmp_path / "whole" / "final" / "config.json").is_file()
    assert not (tmp_path / "whole" / "round-0" / "train").exists()

    again: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        run(declared, random_model, tmp_path / "broken", again, fail_at=1)
    Solver.models.clear()
    resumed = run(declared, random_model, tmp_path / "broken", again)
    assert Solver.models == []  # the second round's samples and selection were there already
    assert again == tuned

    def timeless(record: dict[str, Any]) -> dict[str, Any]:
        rounds = [{**r, "training": {**r["training"], "train_seconds": 0}} for r in record["rounds"]]
        return {**record, "rounds": rounds, "train_seconds": 0}

    assert timeless(resumed) == timeless(kept)
    done: list[Any] = []
    assert timeless(run(declared, random_model, tmp_path / "broken", done)) == timeless(kept) and done == []
    for name in ("model.safetensors", "config.json"):
        whole, broken = ((tmp_path / run_ / "final" / name).read_bytes() for run_ in ("whole", "broken"))
        assert whole == broken


def test_start_from_base_restarts_each_round(random_model: Path, data: str, tmp_path: Path) -> None:
    tuned: list[Any] = []
    Solver.models.clear()
    run(rejection(dataset=data, start_from="base"), random_model, tmp_path / "out", tuned)
    assert [parts for parts, _, _ in tuned] == [random_model.parts[-3:]] * 2
    assert [Path(model).parts[-3:] for model in Solver.models] == [
        random_model.parts[-3:],
        ("round-0", "train", "final"),
    ]


def drops_all(sample: Sample) -> None:
    """A filter that keeps nothing."""


def test_impossible_declarations_are_refused(random_model: Path, data: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="problems_per_round: expected at most the 8 of the data set, got 9"):
        run(rejection(dataset=data, problems_per_round=9), random_model, tmp_path / "a", [])
    with pytest.raises(ValueError, match="got none from 0 correct and 0 incorrect"):
        run(replace(rejection(dataset=data), filters=(use(drops_all),)), random_model, tmp_path / "b", [])
    with pytest.raises(ValueError, match="rounds: expected >= 1, got 0"):
        rejection(rounds=0)

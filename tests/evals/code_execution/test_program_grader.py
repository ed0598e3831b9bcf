"""HumanEval's way of measuring, on problems of our own in its columns. Its real rows are not at hand."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest

from evals.code_execution import sandbox
from evals.code_execution.program_grader import ProgramGrader, RewardGrader, gold
from evals.code_execution.sandbox import Execution, Limits
from evals.data import benchmarks, prompts, protocols
from evals.grading.verdicts import Verdict
from evals.provenance import Origin
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.evaluate import evaluate
from evals.stats.score import score
from tests.evals.sampling.toy import Scripted

needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
ROWS = [
    {
        "task_id": "Own/0",
        "prompt": 'from typing import List\n\n\ndef largest(xs: List[int]) -> int:\n    """The largest number."""\n',
        "canonical_solution": "    return max(xs)\n",
        "test": "def check(candidate):\n    assert candidate([1, 3, 2]) == 3\n    assert candidate([-1, -2]) == -1\n",
        "entry_point": "largest",
    },
    {
        "task_id": "Own/1",
        "prompt": (
            'import math\n\n\ndef poly(xs: list, x: float):\n    """The polynomial xs[0] + xs[1] x + ..."""\n'
            "    return sum(c * math.pow(x, i) for i, c in enumerate(xs))\n\n\n"
            'def zero(xs: list):\n    """A zero of xs[0] + xs[1] x."""\n'
        ),
        "canonical_solution": "    return -xs[0] / xs[1]\n",
        "test": (
            "METADATA = {}\n\n\ndef check(candidate):\n    import copy, random\n\n    rng = random.Random(0)\n"
            "    for _ in range(20):\n        xs = [rng.randint(-9, 9), rng.randint(1, 9)]\n"
            "        assert abs(poly(xs, candidate(copy.deepcopy(xs)))) < 1e-6\n"
        ),
        "entry_point": "zero",
    },
    {
        "task_id": "Own/2",
        "prompt": 'def pairs(text: str):\n    """The neighbours in a text, as tuples; None for an empty text."""\n',
        "canonical_solution": "    return list(zip(text, text[1:])) if text else None\n",
        "test": (
            "def check(candidate):\n    assert candidate('abc') == [('a', 'b'), ('b', 'c')]\n"
            "    assert candidate('') is None\n    assert tuple(candidate('x')) == tuple([])\n"
        ),
        "entry_point": "pairs",
    },
]  # fmt: skip
WRONG = "    return None\n"


def block(row: dict[str, str], body: str) -> str:
    return f"Let us see.\n\n```python\n{row['prompt']}{body}```\nThat is it."


def golds() -> list[str]:
    return [gold(row["prompt"], row["test"], row["entry_point"]) for row in ROWS]


def rows_of(*responses: str, finish: str = "stop") -> list[tuple[str, str, str | None]]:
    return [(golds()[i % 3], response, finish) for i, response in enumerate(responses)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "humaneval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def test_other_rows_are_refused(data: Path) -> None:
    assert benchmarks.task("humaneval")["metadata"]["rows"] == 164
    with pytest.raises(ValueError, match="it has 3 rows, expected 164"):
        benchmarks.load("humaneval", data_dir=data)


def test_rows_are_read_with_their_white_space(data: Path) -> None:
    problems = benchmarks.load("humaneval", data_dir=data, allow_changed_data=True).problems
    assert [problem.id for problem in problems] == ["Own/0", "Own/1", "Own/2"]
    assert [problem.answer for problem in problems] == golds()
    assert json.loads(problems[1].answer) == {
        "prompt": ROWS[1]["prompt"], "tests": ROWS[1]["test"], "entry_point": "zero"
    }  # fmt: skip
    shown = prompts.messages(prompts.of_benchmark("humaneval"), problems[0])[0]["content"]
    assert ROWS[0]["prompt"].strip() in shown
    assert "max(xs)" not in shown


def test_a_missing_column_is_named(data: Path) -> None:
    bare = [{key: value for key, value in row.items() if key != "test"} for row in ROWS]
    (data / "humaneval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bare))
    with pytest.raises(ValueError, match="no column 'test'"):
        benchmarks.load("humaneval", data_dir=data, allow_changed_data=True)


@needs_sandbox
def test_canonical_solutions_pass_and_others_do_not() -> None:
    grader = ProgramGrader()
    right = grader.grade_responses(rows_of(*(block(row, row["canonical_solution"]) for row in ROWS)))
    assert [grade.verdict for grade in right] == [Verdict.CORRECT] * 3
    wrong = grader.grade_responses(rows_of(*(block(row, WRONG) for row in ROWS)))
    assert [grade.verdict for grade in wrong] == [Verdict.WRONG] * 3


@needs_sandbox
def test_a_block_needs_no_imports_or_helpers_of_the_prompt() -> None:
    bare = "```python\ndef zero(xs):\n    return 0.0 if poly(xs, 0.0) == 0 else -xs[0] / xs[1]\n```"
    assert ProgramGrader().grade_responses([(golds()[1], bare, "stop")])[0].verdict is Verdict.CORRECT


def test_as_many_programs_run_at_a_time_as_there_are_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three workers meet at a barrier that lets none through before all are there. Grades keep the rows' order."""
    barrier = threading.Barrier(3, timeout=60)

    def run(program: str, *_: object) -> Execution:
        barrier.wait()
        number = int(program.split()[-1])
        time.sleep(0.02 * (6 - number))  # the first ends last
        return Execution(number % 2 == 0, None)

    monkeypatch.setattr(sandbox, "require", lambda: None)
    monkeypatch.setattr(sandbox, "run", run)
    with ProgramGrader(workers=3) as grader:
        grades = grader.grade_responses(rows_of(*(block(ROWS[i % 3], f"    return {i}\n") for i in range(6))))
    assert [g.verdict is Verdict.CORRECT for g in grades] == [True, False] * 3


@needs_sandbox
def test_each_verdict_has_its_cause() -> None:
    idle = block(ROWS[1], "    import time\n    time.sleep(10 ** 6)\n")
    grader = ProgramGrader(limits=Limits(cpu_s=1, wall_s=100.0))
    given = [
        (golds()[0], "no program", "stop"),
        (golds()[0], "```python\ndef largest(xs):\n    ret", "length"),
        (golds()[0], block(ROWS[0], "    while True: pass\n"), "stop"),
    ]
    first, second, third = grader.grade_responses(given)
    assert (first.verdict, first.answer) == (Verdict.NO_ANSWER, None)
    assert second.verdict is Verdict.TRUNCATED
    assert (third.verdict, third.reason) == (Verdict.WRONG, None)
    fourth = ProgramGrader(limits=Limits(wall_s=1.0)).grade_responses([(golds()[1], idle, "stop")])[0]
    assert fourth.verdict is Verdict.UNSCORED
    assert fourth.reason is not None and fourth.reason.startswith("time:")


def test_classes_are_of_programs_that_pass_or_read_alike() -> None:
    from evals.grading import Grade

    marks = [
        Grade(Verdict.CORRECT, "a"), Grade(Verdict.CORRECT, "b"), Grade(Verdict.WRONG, "c"), Grade(Verdict.WRONG, "d"),
        Grade(Verdict.WRONG, "c"), Grade(Verdict.NO_ANSWER, None), Grade(Verdict.UNSCORED, "e", "time: x"),
    ]  # fmt: skip
    assert ProgramGrader().answer_classes([m.answer for m in marks], marks) == [0, 0, 1, 2, 1, None, None]


def test_without_a_sandbox_nothing_is_graded(monkeypatch: pytest.MonkeyPatch, data: Path, model_dir: Path) -> None:
    monkeypatch.setattr(sandbox, "unavailable_reason", lambda: "no namespaces")
    with pytest.raises(ValueError, match=r"the sandbox for programs cannot be created here \(no namespaces\)"):
        ProgramGrader().grade_responses(rows_of("x"))
    with pytest.raises(ValueError, match="the sandbox for programs cannot be created here"):
        evaluate(
            model_dir, short_protocol(), out_dir=data / "out", data_dir=data, engine=Writer(), allow_changed_data=True
        )
    assert not (data / "out").exists()


class Writer(Scripted):
    """Among each problem's four samples, the first is right for Own/0 and the last for Own/2. Own/1 is never right."""

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: Any = None
    ) -> Iterator[list[Completion]]:
        for request in requests:
            row = next(row for row in ROWS if row["task_id"] == request.key[0])
            right = request.key in (("Own/0", 0), ("Own/2", 3))
            yield [Completion(request.key, block(row, row["canonical_solution"] if right else WRONG), 9, "stop")]


def short_protocol() -> Any:
    return protocols.get("trial_and_error").override({"benchmarks": ["humaneval"]}, Origin.USER, "a test")


@needs_sandbox
def test_equal_greedy_prompts_are_sampled_once(tmp_path: Path, model_dir: Path) -> None:
    """HumanEval+ judges the programs of HumanEval; what it asks otherwise is sampled."""
    other = [{**ROWS[0], "test": ROWS[0]["test"] + "    assert candidate([]) is None\n"}, {**ROWS[1]}, {**ROWS[2]}]
    other[2]["prompt"] = other[2]["prompt"].replace("neighbours", "neighbors")
    for name, rows in (("humaneval", ROWS), ("humaneval_plus", other)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sampled_ids = []

    class Once(Scripted):
        def generate(self, requests: Sequence[Request], decoding: Decoding, *_: Any) -> Iterator[list[Completion]]:
            for request in requests:
                sampled_ids.append(request.key[0])
                row = next(row for row in ROWS if row["task_id"] == request.key[0])
                yield [Completion(request.key, block(row, row["canonical_solution"]), 9, "stop")]

    protocol = protocols.get("qwen_coder").override({"stop": []}, Origin.USER, "a test")  # which no script expresses
    tables = evaluate(
        model_dir, protocol, out_dir=tmp_path / "out", data_dir=tmp_path, engine=Once(), allow_changed_data=True
    )
    assert sampled_ids == ["Own/0", "Own/2", "Own/1", "Own/2"]  # the shortest prompt first
    verdicts = {name: pq.read_table(path)["verdict"].to_pylist() for name, path in tables.items()}
    # max([]) raises: the test of the second benchmark refuses the same program
    assert verdicts == {"humaneval": ["correct"] * 3, "humaneval_plus": ["wrong", "correct", "correct"]}


@needs_sandbox
def test_an_evaluation_runs_programs_and_scores_pass_at_k(data: Path, model_dir: Path) -> None:
    path = evaluate(
        model_dir, short_protocol(), out_dir=data / "out", data_dir=data, engine=Writer(), allow_changed_data=True
    )["humaneval"]
    rows = pq.read_table(path).to_pylist()
    assert [(row["problem_id"], row["sample"]) for row in rows if row["verdict"] == "correct"] == [
        ("Own/0", 0), ("Own/2", 3)
    ]  # fmt: skip
    values = {s.name: s.value for s in score(pq.read_table(path), ks=(1, 4), metrics=("pass",))}
    # one of four right, none, one of four: pass@1 = (1/4 + 0 + 1/4) / 3. pass@4 = 2/3
    assert values == {"pass@1": pytest.approx(1 / 6), "pass@4": pytest.approx(2 / 3)}


@needs_sandbox
def test_lm_eval_gives_the_same_rows_and_verdicts(data: Path) -> None:
    from evals.data import lm_eval_task

    metadata = benchmarks.task("humaneval")["metadata"]
    split = lm_eval_task.dataset(**{**metadata, "data_dir": str(data), "allow_changed_data": True})["test"]
    assert split["policy"] == ["program"] * 3
    marks = [
        lm_eval_task.process_results(doc, [[block(ROWS[i], ROWS[i]["canonical_solution"])]])
        for i, doc in enumerate(split)
    ]
    assert marks == [{"avg@1": 1.0, "pass@1": 1.0, "maj@1": 1.0, "unscored": 0.0}] * 3


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), float("-inf")])
def test_a_reward_that_is_no_number_leaves_the_response_unscored(
    value: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("my_verdicts")
    monkeypatch.setitem(sys.modules, "my_verdicts", module)
    monkeypatch.setattr(module, "given", lambda response, answer: value, raising=False)
    with RewardGrader() as grader:
        grades = grader.grade_responses([("7", r"\boxed{8}", None), ("7", "no box", "stop")], "my_verdicts:given")
    assert [grade.verdict for grade in grades] == [Verdict.UNSCORED] * 2
    assert grades[0].reason == "my_verdicts:given gave no score"

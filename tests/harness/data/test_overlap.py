"""Training problems that a benchmark holds: counted by hand, refused, allowed, recorded, and in every table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evals.data.benchmarks import Benchmark, OwnBenchmark, Problem, load
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.data.named import SETS, at_levels, without_math500
from harness.data.overlap import at_hand, overlap, refuse
from harness.data.problems import load_problems
from harness.errors import UsageError
from harness.launch.prepare import planned, prepare
from harness.record.run import Run
from harness.record.write import Recorder
from tests.reproductions.test_pages import FOLDER
from tests.shared import shared_file

TRAIN = [
    {"problem": "What is 1 + 1?", "answer": "2"},
    {"problem": "What  is\n$2 + 2$?", "answer": "4"},
    {"problem": "What is 3 + 3?", "answer": "6"},
    {"problem": "What is 4 + 4?", "answer": "8"},
]
TEST = [("What is 2 + 2?", "4.0"), ("what is 3 + 3?", "7"), ("What is 5 + 5?", "10")]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def benchmark(name: str = "sums") -> Benchmark:
    problems = tuple(Problem(str(number), *pair) for number, pair in enumerate(TEST))
    return Benchmark(name, problems, "", "here")


def test_shared_problems_and_other_golds_are_counted() -> None:
    """2 + 2 differs in white space and dollar signs, and 4.0 is 4. 3 + 3 differs in a capital, and 7 is not 6. 5 + 5
    is in the benchmark alone: 2 of 3, one with another gold, the first in row 2."""
    result = overlap(TRAIN, benchmark())
    assert (result.shared, result.problems, result.other_golds, result.row) == (2, 3, 1, 2)
    assert str(result) == "2 of the 3 problems of sums are training problems, 1 of them with another gold"
    solutions = [{"problem": row["problem"], "solution": "..."} for row in TRAIN]  # rows for fine-tuning: no golds
    assert (overlap(solutions, benchmark()).shared, overlap(solutions, benchmark()).other_golds) == (2, 0)
    assert (
        overlap(TRAIN[:1], benchmark()).shared == 0 and refuse([overlap(TRAIN[:1], benchmark())], allowed=False) == []
    )


def options(data: Path, test: Path, **more: Any) -> RunOptions:
    small = {"prompts_per_rollout": 2, "max_steps": 1, "hardware.device": "cpu", "seeds": 1, "arm": "grpo"}
    return RunOptions.from_keys({**small, "dataset": str(data), "protocol.benchmarks": [str(test)], **more})


def test_a_run_on_its_own_test_set_is_refused_unless_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    data = write(tmp_path / "both.jsonl", TRAIN)
    assert "4 of the 4 problems of both are training problems" in str(planned("egsw", options(data, data)).overlaps)
    with pytest.raises(UsageError, match=r"(?s)4 of the 4 problems of both are training problems.*allow_overlap=true"):
        prepare("egsw", options(data, data), "test")
    capsys.readouterr()
    prepare("egsw", options(data, data, allow_overlap=True), "test")
    assert "warning: 4 of the 4 problems" in capsys.readouterr().err
    other = write(tmp_path / "other.jsonl", [{"problem": "What is 9 + 9?", "answer": "18"}])
    prepare("egsw", options(data, other), "test")
    assert "training problems" not in capsys.readouterr().err
    assert "0 of the 1 problems of other " in str(planned("egsw", options(data, other)).overlaps)


def test_a_plan_names_only_the_benchmarks_that_it_could_not_compare(tmp_path: Path) -> None:
    """It named all of them, beside the count of one."""
    data = write(tmp_path / "data.jsonl", TRAIN)
    write(tmp_path / "gsm8k.jsonl", [{"problem": "What is 5 + 5?", "answer": "10"}])
    overrides = {"dataset": str(data), "protocol.benchmarks": ["gsm8k", "minerva"], "prompts_per_rollout": 2}
    jobs = resolve("egsw", arms=["grpo"], seeds=[0], overrides=overrides)
    first, second = at_hand(jobs, str(tmp_path))
    assert first == "0 of the 1 problems of gsm8k are training problems"
    assert second.startswith("the training problems are not compared with minerva: data_dir=")


def test_the_record_says_it_in_words(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.start(
        overlap={"sums": {"shared": 2, "problems": 3, "other_golds": 1}, "aime24": {"shared": 0, "problems": 30}}
    )
    assert Run(tmp_path).overlap == {"sums": "2 of the 3 problems of sums are training problems"}


def test_two_golds_of_one_problem_are_an_error_that_names_both_rows(tmp_path: Path) -> None:
    rows = [*TRAIN, {"problem": "What is 3  + 3?", "answer": "7"}]
    with pytest.raises(UsageError, match=r"rows 3 and 5: one problem has two golds, '6' and '7'"):
        load_problems(str(write(tmp_path / "two.jsonl", rows)))
    with pytest.raises(UsageError, match=r"two.*rows 3 and 5: one problem has two golds, '6' and '7'. Delete or mend"):
        load(OwnBenchmark.parse(tmp_path / "two.jsonl"))
    same = [{"problem": "x?", "answer": "0.5"}, {"problem": "x?", "answer": r"\frac{1}{2}"}]  # one value, two spellings
    assert len(load_problems(str(write(tmp_path / "one.jsonl", same)))) == 2


@pytest.mark.slow
def test_summary_and_tables_say_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.jobs.run import JobRun
    from harness.record.find import runs
    from harness.tables.tabulate import report
    from rlvr.cli import main
    from tests.harness.jobs.test_divergence_shown import write_verdicts

    def train(self: JobRun) -> str:
        self.recorder.update(training=None if self.job.experiment is None else {"steps": 1})
        return self.base

    def evaluate(self: JobRun, model: str) -> dict[str, Path]:
        return {"twice": write_verdicts(self.folder / "eval" / "twice", 10)}

    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(JobRun, "train", train)
    monkeypatch.setattr(JobRun, "evaluate", evaluate)
    data = write(tmp_path / "twice.jsonl", TRAIN)
    words = [f"data={data}", f"protocol.benchmarks=[{data}]", "prompts_per_rollout=2", "max_steps=1"]
    words += ["run", "paper=egsw", "arm=base,grpo", "model=math-7b", "seeds=1", "hardware.device=cpu"]
    assert main([*words[4:], *words[:4]]) == 2  # refused
    capsys.readouterr()
    assert main([*words[4:], *words[:4], "allow_overlap=true"]) == 0
    sentence = "4 of the 4 problems of twice are training problems"
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith(f"Warning, tiny/grpo: {sentence}.") and "tiny/base: 4" not in out
    tables = report("egsw", runs()).markdown()
    rows = [line for line in tables.splitlines() if line.startswith(("| grpo |", "| base |")) and "(trained on" in line]
    assert sentence in tables and rows and all(row.startswith("| grpo |") for row in rows)


def shared_rows(name: str) -> list[dict[str, Any]]:
    with shared_file(f"data/benchmarks/{name}.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def counted(rows: list[dict[str, Any]], *names: str) -> list[int]:
    folder = shared_file("data/benchmarks/manifest.json").parent
    return [overlap(rows, load(name, data_dir=folder, allow_changed_data=True)).shared for name in names]


@pytest.mark.parametrize("key", ["egsw", "erpo", "anchors", "entropy_advantage", "forking_tokens", "trial_and_error"])
def test_a_papers_page_says_how_many_training_problems_its_benchmarks_hold(key: str) -> None:
    """The numbers on the pages, counted. A page whose file is not here says so, and its names of sets exist."""
    page = " ".join((FOLDER / key / "README.md").read_text("utf-8").split())
    if key == "anchors":
        train, test = shared_rows("gsm8k_train"), shared_rows("math_test5000")
        assert counted(train, "gsm8k") == [0] and f"GSM8K's {len(train):,} hold none of its 1,319 test problems" in page
        rest = without_math500(test)
        assert counted(rest, "math500") == [0] and f"The {len(rest):,} problems of MATH's test split in" in page
    if key in ("egsw", "erpo"):
        rows = at_levels(shared_rows("math_test5000"), (3, 4, 5))
        assert key == "egsw" or f"the {len(rows):,} test problems of MATH" in page
        assert not any(counted(rows, "aime25", "amc23", "minerva", "aime24"))
        if key == "erpo":
            assert "hold none of AMC23, Minerva, AIME24 or AIME25" in page
        else:  # SimpleRL's file is not here. Its 2,935 problems fit into the test split, and 5,586 into the train split
            (in_math500,) = counted(rows, "math500")
            assert "holds 0 of MATH-500's 500 problems, 0 of AIME24's 30 and 0 of AIME25's 30" in page
            assert "2,936 of the 8,523 rows" in page and "2,935 of the 5,000 test problems" in page
            assert len(rows) - in_math500 >= 2935 and 7500 - 564 - 1348 >= 8523 - 2 - 2935  # levels 1 and 2: 564, 1348
    assert "not counted, because" in page
    for name in re.findall(r"`dataset=([^`:]+):\S+", page):
        assert name in SETS

"""examples/own: a user's own data, reward, prompt and benchmark, as docs/how-to/own-data-and-rewards.md shows them."""

from __future__ import annotations

import importlib
import json
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.data import benchmarks, prompts, protocols
from evals.data.benchmarks import OwnBenchmark
from evals.fingerprint import model_fingerprint
from evals.provenance import Origin
from harness.command.options import RunOptions
from harness.data.problems import count_rows, load_problems, source
from harness.errors import UsageError
from harness.launch.prepare import read_jobs
from harness.spec.own_code import own_code
from reproductions.egsw.method import egsw
from rlvr import experiment, use
from rlvr.evaluation import with_columns
from tests.options import options_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
WORDS = [
    *("paper=egsw", "arm=grpo", "seeds=1", "prompts_per_rollout=2", "reward_weights=[1.0,0.2]"),
    *("data=examples/own/problems.jsonl", "columns=problem:question,answer:gold"),
    "rewards=[accuracy,examples/own/rewards.py:concise]",
    *("protocol.benchmarks=[examples/own/sums.jsonl]", "protocol.prompt=examples/own/prompt.yaml"),
]


def options(prompt: str = "examples/own/prompt.yaml") -> tuple[Any, RunOptions]:
    return options_of([*WORDS, f"prompt={prompt}"])


@pytest.fixture(autouse=True)
def _in_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_a_run_takes_all_of_them() -> None:
    (job,) = read_jobs(*options())
    assert job.experiment is not None and job.experiment.dataset_rows.value == 24  # type: ignore[union-attr]
    assert load_problems(job.experiment.dataset.value)[0] == {"problem": "3+4=?", "answer": "7"}
    assert job.protocol.benchmarks.value == ("sums",)
    assert set(job.own_files()) == {
        "dataset examples/own/problems.jsonl",
        "examples/own/prompt.yaml",
        "examples/own/rewards.py:concise",
        "sums",
    }


def test_other_text_in_the_same_file_is_another_job(tmp_path: Path) -> None:
    """So that no run is "finished already" whose prompt or data were changed."""
    prompt, data = tmp_path / "prompt.yaml", tmp_path / "problems.jsonl"
    dataset = {"arm": "grpo", "seeds": 1, "dataset": f"{data}?problem=question"}
    digests: dict[Path, list[str]] = {prompt: [], data: []}
    for digit in "787":
        prompt.write_text(f'user: "Solve {digit}: {{problem}}"\nchat: false\n')
        data.write_text(f'{{"question": "3+4=?", "answer": "{digit}"}}\n' * 16)
        for file, command in ((prompt, options(prompt=str(prompt))), (data, ("egsw", RunOptions.from_keys(dataset)))):
            (job,) = read_jobs(*command)
            digests[file].append(job.digest)
    assert all(first == third != second for first, second, third in digests.values())


def test_another_equation_is_another_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another comment is none, and the values of paper.py are the job's already."""
    package = tmp_path / "my_equations"
    package.mkdir()
    source = 'from harness.spec.equation import stage\n@stage("weights")\ndef mine(batch):\n    return 1 + batch.mask\n'
    changes = [("method", source), ("method", f'"""Mine."""\n{source}  # better\n'), ("paper", "x = 1")]
    changes += [("method", source.replace("+", "-")), ("helper", "x = 1")]
    (package / "__init__.py").touch()
    (package / "method.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    equation = importlib.import_module("my_equations.method").mine
    hashes = []
    for file, text in changes:
        (package / f"{file}.py").write_text(text)
        hashes.append(own_code(equation))
    assert hashes[0] == hashes[1] == hashes[2] and len({*hashes}) == 3
    (job,) = read_jobs("baselines", RunOptions(arm="grpo", seeds=1))
    changed = replace(job, experiment=experiment(base=job.experiment, equations=[use(equation)]))  # type: ignore[arg-type]
    assert job.own_files() == {} and changed.own_files() == {"equation mine": hashes[-1]}
    monkeypatch.setattr("harness.spec.own_code.PAPERS", ())
    assert own_code(egsw)  # the commit tells the code of this project's papers


def test_the_protocol_measures_the_benchmark(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from evals.sampling.evaluate import evaluate
    from tests.experiments import save_random_model

    values = {
        **{"benchmarks": ["examples/own/sums.jsonl"], "prompt": "examples/own/prompt.yaml"},
        **{"n": 2, "ks": [1, 2], "max_tokens": 8},
    }
    protocol = protocols.get("tiny").override(values, Origin.USER, "command line")
    tables = evaluate(save_random_model(tmp_path), protocol, out_dir=tmp_path / "out", progress=False)
    rows = pq.read_table(tables["sums"]).to_pylist()
    assert {row["problem_id"] for row in rows} == {"sum-1", "sum-2", "sum-3", "sum-4"} and len(rows) == 4 * 2


def test_a_column_of_any_name_is_found(tmp_path: Path) -> None:
    file = tmp_path / "b-of-signs.jsonl"
    file.write_text(json.dumps({"Q & A": "1+1?", "a+b %41": "2"}) + "\n")
    columns = {"problem": "Q & A", "answer": "a+b %41"}
    (name,) = with_columns([str(file)], columns)
    (problem,) = benchmarks.load(OwnBenchmark.parse(name)).problems
    assert (problem.problem, problem.answer) == ("1+1?", "2")
    assert load_problems(name) == [{"problem": "1+1?", "answer": "2"}]


def test_a_column_map_by_either_option() -> None:
    columns = ["protocol.benchmarks=[a.jsonl,math500]", "protocol.columns=problem:question,answer:gold"]
    _, options = options_of(["paper=egsw", *columns])
    assert options.values["protocol.benchmarks"] == ["a.jsonl?problem=question&answer=gold", "math500"]
    paper, options = options_of(["paper=egsw", "data=a.parquet", "columns=problem:question,answer:gold"])
    assert (paper, options) == ("egsw", RunOptions(values={"dataset": "a.parquet?problem=question&answer=gold"}))
    assert source("a.parquet?problem=question").hub is None
    assert count_rows("examples/own/problems.jsonl?problem=question&answer=gold") == 24
    with pytest.raises(UsageError, match="columns: expected pairs A:B"):
        options_of(["paper=egsw", "data=a.parquet", "columns=problem"])


@pytest.mark.parametrize(
    ("read", "text", "field"),
    [
        (prompts.get, "chat: true\n", "{problem}"),
        (prompts.get, "user: '{problem}'\npolicy: boxed_lasst\n", "boxed_lasst"),
        (prompts.get, "- a\n", "mapping"),
        (prompts.get, "a: [\n", "cannot be read"),
    ],
)
def test_a_file_that_does_not_fit_is_named(read: Callable[[str], Any], text: str, field: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ValueError, match=re.escape(field)):
        read(str(tmp_path / "mine.yaml"))


def test_a_benchmark_has_the_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "b-of-mine.jsonl").write_text('{"id": "a", "problem": "1+1=?", "answer": "2"}\n')
    name = OwnBenchmark.parse(tmp_path / "b-of-mine.jsonl")
    assert name == "b_of_mine" and benchmarks.load(name).problems[0].answer == "2"
    with pytest.raises(ValueError, match="is taken"):
        OwnBenchmark.parse(tmp_path / "math500.jsonl")


def test_two_files_of_one_name_are_two_requests_and_not_one(tmp_path: Path) -> None:
    files = [tmp_path / folder / "sums.jsonl" for folder in ("a", "b")]
    for file, answer in zip(files, "25", strict=True):
        file.parent.mkdir()
        file.write_text(json.dumps({"problem": "1+1=?", "answer": answer}) + "\n")
    names = [OwnBenchmark.parse(file) for file in files]
    assert [benchmarks.load(name).problems[0].answer for name in names] == ["2", "5"]
    elsewhere = pickle.loads(pickle.dumps(names[1]))  # noqa: S301
    assert benchmarks.load(elsewhere).problems[0].answer == "5"
    with pytest.raises(UsageError, match=r"a/sums.jsonl and .*b/sums.jsonl are both .sums."):
        protocols.get("tiny").override({"benchmarks": [str(file) for file in files]}, Origin.USER, "command line")


def test_the_same_files_in_other_folders_are_the_same_job(tmp_path: Path) -> None:
    """So that the seeds of several machines are one arm's."""
    text = {
        "prompt.yaml": 'user: "Solve: {problem}"\nchat: false\n',
        "problems.jsonl": '{"question": "3+4=?", "answer": "7"}\n' * 16,
        "rewards.py": "def short(response, answer):\n    return 1.0 * (len(response) < 9)\n\n\nshort.range = (0, 1)\n",
    }

    def job(folder: Path, name: str = "model", **changed: str) -> Any:
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text("{}")
        for file, content in {**text, **changed}.items():
            (folder / file).write_text(content)
        where = {"dataset": f"{folder / 'problems.jsonl'}?problem=question", "prompt": str(folder / "prompt.yaml")}
        rewards = {"rewards": [f"{folder / 'rewards.py'}:short"], "reward_weights": [1.0]}
        base = {"base_model": str(folder / name), "arm": "grpo", "seeds": 1}
        (made,) = read_jobs("egsw", RunOptions.from_keys({**where, **rewards, **base}))
        return made

    first = job(tmp_path / "a")
    assert job(tmp_path / "b" / "deeper", "weights").digest == first.digest
    for file in text:
        other = job(tmp_path / f"other_{file}", **{file: text[file].replace("3+4", "4+3") + "\n"})
        assert other.digest != first.digest, file


def test_another_function_that_gives_the_verdicts_is_another_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comment changes nothing, and the functions of this project have its commit."""
    monkeypatch.syspath_prepend(tmp_path)
    file, source = tmp_path / "my_verdicts.py", "def right(response, answer):\n    return float(answer in response)\n"

    def job(extraction: object) -> Any:
        keys = {"protocol.extraction": extraction, "arm": "grpo", "seeds": 1}
        (made,) = read_jobs("baselines", RunOptions.from_keys(keys))
        return made

    made = []
    for text in (source, f"{source}  # better\n", source.replace("in", "not in", 1)):
        file.write_text(text)
        made.append((job("my_verdicts:right").digest, job("my_verdicts:right").own_files()))
    assert made[0] == made[1] != made[2] and [*made[0][1]] == ["extraction my_verdicts:right"]
    assert made[0][0] != made[2][0]
    assert job("harness.data.countdown:reward").own_files() == job("qwen").own_files() == {}


def test_another_teacher_in_the_same_folder_is_another_job(tmp_path: Path) -> None:
    def job(folder: Path, content: bytes) -> Any:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(content)
        keys = {"arm": "opd", "seeds": 1, "reference_model": str(folder)}
        (made,) = read_jobs("baselines", RunOptions.from_keys(keys))
        return made

    first = job(tmp_path / "teacher", b"one")
    name, files = first.digest, first.own_files()
    assert files == {"reference_model": model_fingerprint(tmp_path / "teacher")}
    assert job(tmp_path / "elsewhere" / "teacher", b"one").digest == name  # the seeds of two machines are one arm's
    assert job(tmp_path / "teacher", b"another").digest != name
    (of_hub,) = read_jobs("baselines", RunOptions.from_keys({"arm": "opd", "seeds": 1, "reference_model": "a/b"}))
    assert of_hub.own_files() == {}

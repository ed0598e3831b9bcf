"""`import rlvr`: every exported name, what it accepts, and how it shows itself."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rlvr
from baselines.sapo import sapo
from reproductions.entropy_advantage.method import entropy_advantage
from tests.evals.stats.runs import save_run


def test_every_exported_name_loads_and_is_documented():
    assert sorted(rlvr.__all__) == dir(rlvr)
    for name in rlvr.__all__:
        assert getattr(rlvr, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'gradee'"):
        _ = rlvr.gradee


def test_import_loads_nothing_heavy():
    heavy = ("torch", "pandas", "mlflow", "numpy", "evals.grading")
    code = f"import sys, rlvr; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert (Path(rlvr.__file__).parent / "py.typed").is_file()


def test_grades_have_html_tables():
    grades = rlvr.grade_answers([("1/2", "0.5"), ("1/2", "<b>"), ("3", "x = 3")])
    assert [str(grade.verdict) for grade in grades] == ["correct", "wrong", "correct"]
    html = grades._repr_html_()
    assert html.count("<tr>") == 4 and "<b>" not in html and "&lt;b&gt;" in html
    (grade,) = rlvr.grade_responses([("4", r"so \boxed{4}")])
    assert (str(grade.verdict), grade.boxed) == ("correct", True)


def test_a_verdict_is_explained_under_other_conventions():
    assert rlvr.explain("5", r"so \boxed{5.0}", policy="boxed_last").verdict == "correct"
    assert rlvr.explain("5 m", "5").verdict == "correct"
    assert rlvr.explain("5 m", "5", conventions=rlvr.Conventions(missing_unit=False)).verdict == "wrong"


def test_one_value_stands_for_a_list_and_none_is_refused_by_name(tmp_path: Path) -> None:
    assert list(rlvr.list_("protocols").document) == list(rlvr.list_(what=("protocols",)).document) == ["protocols"]
    pickle.dumps(rlvr.list_)  # raises if rlvr and its module have two
    for call, text in (
        (lambda: rlvr.tables("egsv"), "paper=egsv: no such paper. Did you mean 'egsw'"),
        (lambda: rlvr.tables(runs=[]), r"runs=\[\]: expected at least one"),
        (lambda: rlvr.evaluate("x", benchmarks={}), r"benchmarks=\{\}: expected at least one"),
        (lambda: rlvr.read_run(None), "sources=None: expected the folder of a job"),
        (lambda: rlvr.pass_at_k(None, 2), r"correct=None: expected \[P\]\[n\] booleans"),
        (lambda: rlvr.compare("a", "b", margin="0.15"), "margin='0.15': expected a number"),  # type: ignore[arg-type]
        (lambda: rlvr.tables(rlvr.Conventions()), "paper: expected a list of names, got Conventions"),  # type: ignore[arg-type]
        (lambda: rlvr.compare("a", "b", ks="abc"), "ks='abc': expected a list of whole numbers or a whole number"),
        (lambda: rlvr.evaluate(), "evaluate: missing a required argument: 'model'"),
    ):
        with pytest.raises(rlvr.UsageError, match=f"^{text}") as raised:
            call()
        assert raised.value._render_traceback_() == [f"UsageError: {raised.value}"]  # all that a notebook shows


def test_what_is_no_verdict_is_refused_and_none_is_unscored():
    for array in ([[0.5, 0.5], [1, 0]], [[0.1, 0]], [["yes", "no"]], [["", "1"]], np.array([[0.1, 1.0]])):
        with pytest.raises(ValueError, match=r"^correct: expected true or false, 1 or 0, or None"):
            rlvr.avg_at_k(array)
    # the unscored sample is left out of the first problem's two: (1 + 1/2) / 2
    metric = rlvr.avg_at_k([[None, True], [1, 0]])
    assert (metric.value, metric.unscored) == (0.75, 1)
    assert rlvr.avg_at_k(np.array([[np.nan, 1.0], [1.0, 0.0]])).value == 0.75
    passed = rlvr.pass_at_k([[True, False, True], [False]], 2)
    assert passed.excluded == 1 and str(passed).endswith("% (1 of 2 problems without a value)")


def test_rows_and_data_frames_are_graded_as_a_file_of_them_is(home: Path):
    import pandas as pd

    rows = [{"problem_id": i, "gold": "5", "response": f"\\boxed{{{5 + i}}}"} for i in range(2)]
    (home.parent / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    of_file = rlvr.grade(home.parent / "rows.jsonl")["scores"]
    assert rlvr.grade(rows)["scores"] == rlvr.grade(pd.DataFrame(rows))["scores"] == of_file


def test_metrics_of_arrays():
    correct = np.array([[True, False], [False, False], [True, True]])
    # avg: (1/2 + 0 + 1) / 3. pass@2: (1 + 0 + 1) / 3
    assert rlvr.avg_at_k(correct).value == pytest.approx(1 / 2)
    passed = rlvr.pass_at_k(correct.tolist(), 2)
    assert passed.value == pytest.approx(2 / 3)
    assert passed.interval is not None and passed.interval.low < 2 / 3 < passed.interval.high
    # maj@3: "5" wins 2 of 3 against the gold 4, so 0. The gold wins alone, so 1
    votes = rlvr.maj_at_k([["5", "5", "4"], ["7", None, "7"]], ["4", "7"], 3)
    assert votes.value == pytest.approx(1 / 2)
    with pytest.raises(ValueError, match="at least one problem"):
        rlvr.avg_at_k([[]])
    with pytest.raises(ValueError, match=r"correct: expected a row of samples for each problem, .* got a flat list"):
        rlvr.pass_at_k([True, False], 2)  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"avg_at_k: too many .*. Expected avg_at_k\(correct\)"):
        rlvr.avg_at_k(correct, 4)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"gold: expected 2 .*, got 1"):
        rlvr.maj_at_k([["1"], ["2"]], ["1"], 1)


def test_runs_are_read_scored_and_compared(tmp_path: Path):
    a = save_run(tmp_path / "a", "x", {f"p{i}": "++" for i in range(12)})
    b = save_run(tmp_path / "b", "x", {f"p{i}": "aa" for i in range(12)})
    run = rlvr.read_run(str(a), name="ours")
    assert (run.name, run.benchmarks, len(run.verdicts("x"))) == ("ours", ["x"], 24)
    ((benchmark, score),) = run.scores(metrics=["avg"])
    assert (benchmark, score.name, score.value) == ("x", "avg@2", 1.0)
    assert "100.0 %" in run._repr_html_() and "avg@2" in str(run.scores(metrics=["avg"]))
    assert str(run).startswith("ours\n") and "avg@2" in str(run) and str(score).startswith("avg@2: 100.0 ")
    assert repr(run) == str(run) and score._repr_html_().startswith("<pre>avg@2: 100.0 ")
    with pytest.raises(ValueError, match="benchmark=y"):
        run.verdicts("y")
    difference = rlvr.compare(run, str(b), metrics="avg", benchmarks="x")
    assert "A - B" in str(difference) and "+100.0" in repr(difference) and "~" not in str(difference)
    assert difference.to_pandas()["difference"].tolist() == [1.0] and "tabular" in difference.to_latex()
    few = [save_run(tmp_path / name, "x", {"p": "+a", "q": verdicts}) for name, verdicts in (("c", "++"), ("d", "aa"))]
    of_two = str(rlvr.compare(*few, metrics=["avg"]))  # two problems: approximate, and the caption says so
    assert "~[" in of_two and "~: approximate" in of_two
    assert difference.lines[0]["verdict"] == "checkpoint higher"  # one training seed a side
    assert "<td>higher*</td>" in difference._repr_html_() and "<pre>A: " in difference._repr_html_()
    figure = difference.plot()
    assert "<svg" in figure._repr_svg_()
    assert difference.save(tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_an_experiment_is_declared_by_what_differs_from_the_recipe():
    declared = rlvr.experiment(
        base_model=rlvr.paper("Qwen/Qwen2.5-Math-7B", "section 5"),
        learning_rate=3e-6,
        equations=[rlvr.use(entropy_advantage, alpha=rlvr.paper(0.4, "section 5"), kappa=2.0)],
    )
    values = declared.settings()
    assert (values["base_model"].origin, values["learning_rate"].origin) == ("paper", "user")
    assert values["learning_rate"].was is not None  # the recipe's value stays on record
    assert values["entropy_advantage.alpha"].note == "section 5"
    assert values["entropy_advantage.kappa"].origin == "user"
    assert [u.name for u in declared.method.uses()] == ["grpo", "entropy_advantage"]
    assert "entropy_advantage.alpha" in declared._repr_html_()
    other = rlvr.experiment(equations=[rlvr.use(sapo, tau_pos=1.0, tau_neg=1.05)])
    assert [u.name for u in other.method.uses()] == ["grpo", "sapo"] and other.clip_low.value is None
    with pytest.raises(ValueError, match=r"learning_rte: no such setting\. Did you mean 'learning_rate'"):
        rlvr.experiment(learning_rte=1.0)
    with pytest.raises(ValueError, match="learning_rate: expected in"):
        rlvr.experiment(learning_rate=-1.0)
    with pytest.raises(ValueError, match=r"expected values for alpha, kappa\. missing: kappa, unknown: beta"):
        rlvr.use(entropy_advantage, alpha=0.4, beta=1.0)
    with pytest.raises(ValueError, match="use: expected an equation, which is a function, got 'entropy_advantage'"):
        rlvr.use("entropy_advantage", alpha=0.4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="marked with @stage"):
        rlvr.experiment(equations=[rlvr.use(lambda batch: batch)])


def test_wrong_runs_are_refused_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    for paper, values, named in (
        ("egsw", {"arm": "egsv"}, "arm=egsv"),
        ("egsw", {"arm": []}, r"arm=\[\]: expected at least one"),
        ("egsw", {"arm": "grpo", "dynamic_sampling": True}, ".*dynamic_sampling"),
        ("egsw", {"arm": "grpo", "hardware": {"devcie": "cpu"}}, "hardware.devcie=cpu"),
        ("egsw", {"arm": "grpo", "seeds": [-1]}, "seeds"),
        (3, {}, "paper"),
    ):
        with pytest.raises(rlvr.UsageError, match=f"^{named}"):
            rlvr.run(paper, **values)
    assert not (tmp_path / "runs").exists()


def test_both_doors_check_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    monkeypatch.setattr("harness.plan.machine.device_memory", lambda *_: 1e6)  # bytes. The model has more
    with pytest.raises(rlvr.UsageError, match="GB"):
        rlvr.run("egsw", arm="grpo", seeds=1)


def test_an_experiment_is_planned_as_it_is_declared():
    declared = rlvr.experiment(base_model=rlvr.paper("Qwen/Qwen2.5-Math-7B", "section 5"), learning_rate=3e-6)
    planned = rlvr.plan(declared)
    (arm,) = planned["arms"]
    assert planned["runs"] == ["Qwen2.5-Math-7B/mine/seed0"] and planned["scale"] == "paper"
    assert arm["settings"]["learning_rate"]["value"] == 3e-6
    assert arm["settings"]["base_model"]["value"] == "Qwen/Qwen2.5-Math-7B"
    (arm,) = rlvr.plan(declared, scale="tiny")["arms"]
    assert arm["settings"]["base_model"]["value"] == "tiny"


SMALL = {"max_steps": 1, "prompts_per_rollout": 2, "group_size": 2, "max_completion_tokens": 8}
SMALL |= {"protocol.n": 1, "protocol.ks": [1], "protocol.benchmarks": ["tiny_short"], "protocol.max_tokens": 8}
CPU = {"scale": "tiny", "hardware": {"device": "cpu"}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.mark.slow
def test_an_experiment_runs_and_comes_back_as_runs(home: Path):
    done = rlvr.run(rlvr.experiment(learning_rate=1e-4), **CPU, **SMALL)
    assert done.exit_code == 0 and list(done.runs) == ["tiny/mine"]
    ((_, score),) = done.runs["tiny/mine"].scores(metrics=["avg"])
    assert score.problems == 48 and score.value is not None
    (folder,) = (home / "notebook" / "tiny").glob("tiny-mine-*")
    record = json.loads((folder / "run.json").read_text())
    assert record["settings"]["max_steps"]["value"] == 1
    text = str(done)
    assert "report paper=" not in text and "tables paper=" not in text  # no declaration has this paper
    name = re.search(r"page: rlvr page '?(tiny-mine-[^\s*]+\*?)", text)
    assert name is not None and rlvr.show(name[1]).exit_code == 0


@pytest.mark.slow
def test_a_reward_and_a_data_set_given_as_objects(home: Path):
    import pandas as pd

    def short(response: str, answer: str) -> float:
        return 1.0 if len(response) < 20 else 0.0

    rows = pd.DataFrame([{"question": f"{n}+1=?", "answer": str(n + 1)} for n in range(24)])
    given = {"data": rows, "columns": {"problem": "question"}, "rewards": [short, "accuracy"]}
    given["reward_weights"] = [1.0, 1.0]
    with pytest.raises(rlvr.UsageError, match=r"^rewards=short: set short\.range = \(smallest, largest\), as short\."):
        rlvr.run("egsw", arm="grpo", seeds=1, **given, **CPU, **SMALL)
    with pytest.raises(rlvr.UsageError, match=r"expected a function with a name and its range, as:\s+def short\("):
        rlvr.run(
            "egsw",
            arm="grpo",
            seeds=1,
            **{**given, "rewards": [lambda response, answer: 1.0, "accuracy"]},
            **CPU,
            **SMALL,
        )
    short.range = (0.0, 1.0)  # type: ignore[attr-defined]
    with pytest.raises(rlvr.UsageError, match=r"^rewards: short"):
        rlvr.run("egsw", arm="grpo", seeds=1, launcher="local", **given, **CPU, **SMALL)
    done = rlvr.run("egsw", arm="grpo", seeds=1, **given, **CPU, **SMALL)
    (outcome,) = done.outcomes
    record = json.loads((outcome.folder / "run.json").read_text())
    (name, accuracy) = record["settings"]["rewards"]["value"]
    assert name.startswith("python:short-") and accuracy == "accuracy"
    assert record["settings"]["dataset_rows"]["value"] == 24
    (line,) = (outcome.folder / "metrics.jsonl").read_text().splitlines()
    page = rlvr.tables("egsw", runs=outcome.folder)
    assert page._repr_html_ is None and "'rewards': ['short-" in page._repr_markdown_()  # without all of the hash
    metrics = json.loads(line)["metrics"]
    # a random model answers nothing correctly, and some of its responses of at most 8 tokens are short
    assert metrics["train/accuracy"] == 0.0 and 0.0 < metrics["train/reward"] <= 1.0


HEAVY = ("torch", "trl", "transformers", "verl", "vllm", "accelerate", "peft")
WITHOUT_TORCH = f"""
import importlib.util, json, sys
from pathlib import Path

class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(f"forbidden here: {{name}}", name=name)

find = importlib.util.find_spec  # asked whether they are there, it says no
importlib.util.find_spec = lambda name, *more: None if name in {HEAVY!r} else find(name, *more)
sys.meta_path.insert(0, Forbidden())
import rlvr
from rlvr.cli import main
assert str(rlvr.grade_answers([("1/2", "0.5")])[0].verdict) == "correct"
rows = [dict(problem_id=f"p{{i}}", answer="4", response=r"so \\boxed{{4}}") for i in range(12)]
for name, kept in (("a", 12), ("b", 6)):
    made = [row if i < kept else row | {{"response": r"\\boxed{{5}}"}} for i, row in enumerate(rows)]
    Path(f"{{name}}.jsonl").write_text("".join(json.dumps(row) + "\\n" for row in made))
    assert main(["grade", f"{{name}}.jsonl", f"out={{name}}-graded.jsonl"]) == 0
assert main(["compare", "a-graded.jsonl", "b-graded.jsonl", "out=c.svg"]) == 0
assert main(["compare", "a.jsonl", "b.jsonl"]) == 2  # says how they are graded
assert main(["show", "a-graded.jsonl"]) == 0
assert main(["power", "difference=0.05", "benchmark=aime24"]) == 0
assert main(["list"]) == 0 and main(["show"]) == 0
assert main(["plan", "paper=egsw", "scale=paper"]) == 0
assert main(["import", {str(Path(rlvr.__file__).parents[1] / "results" / "records" / "forking_tokens.tar.xz")!r}]) == 0
assert main(["tables", "paper=forking_tokens"]) == 0
assert main(["export", "paper=forking_tokens"]) == 0
assert main(["report", "paper=forking_tokens"]) == 0  # of runs whose archive has no responses
assert main(["run", "paper=egsw", "arm=grpo", "seeds=1"]) == 2  # says what to install
loaded = [name for name in {HEAVY!r} if name in sys.modules]
assert not loaded, loaded
"""


@pytest.mark.slow
def test_without_torch_a_machine_grades_compares_and_tabulates(tmp_path: Path):
    environment = {**os.environ, "RLVR_HOME": str(tmp_path / "runs"), "PYTHONPATH": str(Path(rlvr.__file__).parents[1])}
    environment.pop("MLFLOW_TRACKING_URI", None)
    script = [sys.executable, "-c", WITHOUT_TORCH]
    done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "[train]" in done.stderr and "rlvr grade a.jsonl out=FILE.jsonl" in done.stderr
    assert (tmp_path / "runs" / "results" / "forking_tokens" / "tables.csv").is_file()


def test_another_distributions_package_in_the_way_is_named(tmp_path: Path):
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "__init__.py").touch()
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(rlvr.__file__).parents[1]}"}
    command = [sys.executable, "-c", "import rlvr"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "ImportError" in done.stderr and str(tmp_path / "evals") in done.stderr

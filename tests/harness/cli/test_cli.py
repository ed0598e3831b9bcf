"""The command line: wrong options are named, exit code 2, nothing is started and nothing heavy is imported."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.cli.main import main

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
HEAVY = ("torch", "transformers", "trl", "mlflow", "pandas", "datasets", "lm_eval", "sympy")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("run", ["paper", "missing"]),
        ("run paper=egws", ["paper=egws", "'egsw'"]),
        ("run paper=egsw arm=egsv", ["arm=egsv", "'egsw'"]),
        ("run paper=egsw scale=big", ["scale=big", "tiny"]),
        ("run paper=egsw backend=verll", ["backend=verll"]),
        ("run paper=egsw seeds=none", ["seeds", "'none'"]),
        ("run paper=egsw arms=grpo", ["arms=grpo", "'arm=grpo'"]),
        ("run paper=egsw egsw.temperature=hot", ["egsw.temperature", "a number", "'hot'"]),
        ("run paper=egsw learning_rate=-1", ["learning_rate", "> 0", "-1"]),
        ("run paper=egsw dynamic_sampling=true", ["TRL 1.16", "dynamic_sampling", "command line"]),
        ("run paper=entropy_advantage arm=grpo,ppo", ["7b/ppo", "TRL 1.16", "critic=True", "section 3.1: PPO"]),
        ("run paper=forking_tokens scale=paper", ["8b/dapo", "dynamic_sampling=True", "use backend=verl"]),
        ("run paper=egsw hardware.proceses=2", ["hardware.proceses=2", "'hardware.processes'"]),
        ("run paper=egsw hardware.micro_batch=0", ["hardware.micro_batch", ">= 1", "0"]),
        ("run paper=egsw data_dir=/nowhere", ["data_dir=/nowhere", "folder"]),
        ("plan paper=egsw protocol.n=0", ["n=0"]),
        ("list x=1", ["x=1"]),
        ("eval protocol=egsw", ["model", "missing"]),
        ("eval model=m protocol=egws", ["protocol=egws", "'egsw'"]),
        ("eval model=m protocol=egsw nn=2", ["nn=2", "'n'"]),
        ("eval model=m protocol=egsw benchmarks=math50", ["benchmarks=math50", "'math500'"]),
        ("grade nowhere.jsonl", ["nowhere.jsonl"]),
        ("compare a b metrics=avgg", ["metrics=avgg", "'avg'"]),
        ("compare a b ks=0", ["ks", "positive", "0"]),
        ("compare a b metric=avg", ["metric=avg", "'metrics'"]),
        ("compare nowhere b", ["nowhere", "run id"]),
        ("compare / 0123456789abcdef0123456789abcdef", ["/", "verdicts.parquet"]),
        ("tables paper=egws", ["paper=egws", "'egsw'"]),
        ("ui port=x", ["port", "int", "'x'"]),
    ],
)
def test_a_wrong_command_exits_2_and_says_why(
    arguments: str,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert all(word in captured.err for word in words), captured.err
    assert list(tmp_path.iterdir()) == []  # nothing was started


@pytest.mark.parametrize(
    "arguments",
    [
        "list --json",
        "plan paper=egsw scale=paper --json",
        "run paper=egsw egsw.alpha=x",
        "eval protocol=x",
        "compare nowhere b",
        "new stage",
    ],
)
def test_nothing_heavy_is_imported_for_an_answer(arguments: str) -> None:
    code = (
        "import sys\nfrom harness.cli.main import main\n"
        f"main({arguments.split()!r})\n"
        f"heavy = [m for m in {HEAVY!r} if m in sys.modules]\nassert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_json_is_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["papers"]["egsw"]["arms"]["math-7b"][:3] == ["base", "grpo", "egsw"]
    assert main(["plan", "paper=egsw", "scale=paper", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert len(planned["runs"]) == 14 and planned["total"]["gpu_hours"] > 0


def test_the_plan_names_every_value_and_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "paper=egsw", "seeds=1", "egsw.alpha=0.5"]) == 0
    text = capsys.readouterr().out
    (line,) = [line for line in text.splitlines() if line.strip().startswith("egsw.alpha")]
    assert "0.5" in line and "user: command line" in line and "was 0.3, paper" in line
    assert "3 runs: math-7b/base/seed0, math-7b/grpo/seed0, math-7b/egsw/seed0" in text


def test_grade_prints_metrics_and_writes_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"problem_id": "a", "answer": "4", "response": r"so \boxed{4}", "mine": 1},
        {"problem_id": "a", "answer": "4", "response": r"so \boxed{5}", "mine": 2},
        {"problem_id": "b", "answer": "1/2", "response": r"\boxed{0.5}", "mine": 3},
        {"problem_id": "b", "answer": "1/2", "response": "no idea", "mine": 4},
    ]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["grade", str(source), f"out={out}", "--json"]) == 0
    json.loads(capsys.readouterr().out)
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [w["verdict"] for w in written] == ["correct", "wrong", "correct", "no_answer"]
    assert [w["mine"] for w in written] == [1, 2, 3, 4]
    assert [w["extracted"] for w in written] == ["4", "5", "0.5", None]


def test_arms_that_the_backend_cannot_train_are_skipped_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    from harness.backends import refusals
    from harness.backends.trl.hardware import TrlHardware
    from harness.command.resolve import resolve
    from harness.launch.prepare import that_run

    jobs = resolve("entropy_advantage", models=["7b"], sets=["all"])
    refused = refusals(jobs, TrlHardware())
    ppo = [("7b", arm) for arm in ("ppo", "ppo_entropy_advantage", "ppo_entropy_regularisation")]
    assert list(refused) == ppo
    kept = that_run(jobs, refused, named=False)
    assert [job.arm for job in kept] == ["base", "grpo", "grpo_entropy_advantage", "grpo_entropy_regularisation"]
    # (at this scale the arm without clip-higher is grpo)
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in said] == [f"skipped 7b/{arm}" for _, arm in ppo]
    assert all("TRL 1.16 cannot express critic=True (paper: section 3.1: PPO)" in line for line in said)


def test_the_plan_shows_what_cannot_run_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "paper=entropy_advantage", "model=7b", "--json"]) == 0
    arms = {arm["arm"]: arm["refused"] for arm in json.loads(capsys.readouterr().out)["arms"]}
    assert arms["grpo"] is None and "critic=True" in arms["ppo"]
    assert main(["plan", "paper=entropy_advantage", "model=7b"]) == 0
    assert capsys.readouterr().out.count("  cannot run: TRL 1.16 cannot express critic=True") == 2


@pytest.mark.parametrize("flag_at", [0, 1, 2])
def test_options_may_stand_before_and_after_a_flag(flag_at: int, capsys: pytest.CaptureFixture[str]):
    words = ["paper=egsw", "scale=paper"]
    words.insert(flag_at, "--json")
    assert main(["plan", *words]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 14


@pytest.mark.parametrize("words", [["plan", "paper=egsw", "--jsn"], ["ui", "--json"]])
def test_what_no_command_takes_is_an_error(words: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert words[-1] in capsys.readouterr().err


@pytest.mark.parametrize("words", [["run", "--paper=egsw"], ["grade", "x.jsonl", "--out=y.jsonl"]])
def test_an_option_with_dashes_hints_at_the_option_without(words: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"did you mean {words[-1].removeprefix('--')}?" in capsys.readouterr().err


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert (
        capsys.readouterr().out.strip() == f"rlvr-harness {tomllib.loads(PYPROJECT.read_text())['project']['version']}"
    )


def test_a_closed_pipe_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()  # before anything is written, as `| head` does when it has enough
    assert process.stderr.read() == b""
    assert process.wait() == 141

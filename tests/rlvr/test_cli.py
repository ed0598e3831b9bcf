"""The command line: wrong options are named, exit code 2, nothing is started and nothing heavy is imported."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlvr
from evals.notebook import Heading, Outcome, Table, as_text
from harness.errors import UsageError
from harness.jobs.rehearsal import Rehearsed
from harness.spec.scales import SCALES
from rlvr import signature
from rlvr.cli import main, overview, usage
from rlvr.commands import COMMANDS, command
from rlvr.other_words import ELSEWHERE, MEASURE, TRAIN
from rlvr.terminal import painted, shown
from tests.evals.stats.runs import save_run

RECORDS = Path(__file__).parents[2] / "results" / "records"
HEAVY = ("torch", "transformers", "trl", "mlflow", "pandas", "datasets", "lm_eval", "sympy")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ("run", "paper"),
        ("run paper=egsw jobs=2", "expected launcher=local with it"),
        ("run paper=egsw launcher=locale", "launcher=locale: no such launcher. Did you mean 'local'?"),
        ("run paper=egsw launcher=local jobs=0", "jobs: expected a whole number >= 1, got 0"),
        ("run paper=egsw launcher=local launcher.partition=gpu", "launcher.partition: expected launcher=slurm"),
        ("run paper=egsw eval.every=0", "eval.every: expected a whole number of optimiser steps >= 1, got 0"),
        ("run paper=egsw eval.evry=5", "Did you mean 'every'"),
        ("run paper=egsw eval.n=5", "eval.n: expected eval.every=K with it"),
        ("run paper=egsw eval.every=5 keep=last:2", "keep: expected a whole number of optimiser steps >= 1"),
        ("run paper=egws", "Did you mean 'egsw'?"),
        ("run paper=egsw arm=egsv", "arm"),
        ("run paper=egsw scale=big", "scale=big: no such scale"),
        ("run paper=egsw arms=grpo", "arms"),
        ("run paper=egsw egsw.temperature=hot", "egsw.temperature"),
        ("run paper=egsw learning_rate=-1", "learning_rate"),
        ("run paper=egsw dynamic_sampling=true", "dynamic_sampling"),
        ("run paper=egsw hardware.proceses=2", "Did you mean 'hardware.processes'?"),
        ("run paper=egsw hardware.device=gpuu", "hardware.device: expected one of 'auto', 'cpu', 'gpu'"),
        ("run paper=egsw hardware.micro_batch=0", "hardware.micro_batch: expected >= 1 or null, got 0"),
        ("run paper=egsw hardware.vllm_gpu_memory=1.5", "hardware.vllm_gpu_memory: expected in (0, 1], got 1.5"),
        ("run paper=egsw data_dir=/nowhere", "data_dir"),
        ("run paper=egsw seeds=0", "seeds: expected"),
        ("run paper=egsw seeds=null", "seeds: expected"),
        ("run paper=egsw learning_rate=1e38", "learning_rate: expected"),
        ("run paper=egsw hardware.threads=100000", "hardware.threads: expected"),
        ("plan paper=egsw protocol.ks=[]", "ks=()"),
        ("plan paper=egsw protocol.benchmarks=[aime24,aime24]", "aime24 more than once"),
        ("run paper=egsw arm=grpo arm=egsw", "arm"),
        ("plan paper=egsw protocol.n=0", "n=0"),
        ("plan paper=egsw protocol.m=1", "protocol tiny: no field 'm'"),
        ("plan paper=egsw model=7b", "model=7b"),
        ("plan paper=egsw egsw.alhpa=1", "Did you mean 'egsw.alpha'"),
        ("plan paper=egsw hardware=a100", "Did you mean 'a100_40g'"),  # its beginning. H100 is one letter away
        ("plan paper=egsw arm=grpo egsw.alpha=1", "no requested arm has such a value; arm=egsw has it"),
        ("plan paper=egsw seeds=null", "seeds=null: expected a value"),
        ("list what=foo", "what=foo: no such list. Expected one of"),
        ("list what=egsw", "rlvr list protocol=egsw"),
        ("list json=true", "expected --json"),
        ("eval protocol=egsw", "model"),
        ("eval model=m protocol=egws", "protocol"),
        ("eval model=m protocol=tiny engine=vlm", "engine=vlm"),
        ("eval model=m protocol=tiny engine.url=http://h/v1", "engine.url"),
        (
            "eval model=m protocol=tiny engine=openai engine.url=http://h/v1 engine.concurrency=x",
            "engine.concurrency",
        ),
        ("grade", "file"),
        ("grade nowhere.jsonl", "nowhere.jsonl"),
        ("compare a b metrics=avgg", "metrics"),
        ("compare a b margin=2", "margin"),
        ("compare a b metric=avg", "metric"),
        ("compare a", "b"),
        ("compare paper=egsw arm=grpo", "arm"),
        ("compare paper=egsw arm=grpo,egws", "arm=egws: no such arm. Did you mean 'egsw'?"),
        ("compare nowhere here", "nowhere"),
        (f"compare {RECORDS}/egsw.tar.xz {RECORDS}/erpo.tar.xz", "their settings differ"),
        ("analyze", "runs"),
        ("analyze runs=[/no/such]", "expected a run's folder, a folder of an evaluation, an archive or a file"),
        ("analyze runs=[.] only=verdict", "only=verdict: no such family. Did you mean 'verdicts'?"),
        ("analyze runs=[.] samples=0", "samples: expected at least 1, got 0"),
        (
            "report runs=[x]",
            "paper is missing. Type paper=... (the paper's key)",
        ),
        ("page", "runs is missing"),
        ("show RUN paper=egsw", "paper=egsw: not used with RUN"),
        ("list what=papers protocol=egsw", "what=papers: not used with protocol="),
        ("compare a b arm=x,y", "arm=x,y: not used of two runs"),
        ("compare a b scale=tiny", "scale=tiny: not used of two runs"),
        ("compare a b egsw.alpha=1", "egsw.alpha=1: not used of two runs"),
        ("compare a b metrics=avg ks=4", "ks=4: not used by avg"),
        ("eval model=m protocol=tiny columns=problem:q", "columns=problem:q: not used without a file of problems"),
        ("run paper=egsw columns=problem:q", "columns=problem:q: not used without data=FILE"),
        ("analyze runs=[.] samples=4", "samples=4: not used without only=interventions"),
        ("page x curves=c only=none", "curves=c: not used with only=none"),
        ("audit . metric=m label=l", "label=l: not used of runs"),
        ("audit base=[x*] . printed=4", "x*: expected files of curves"),
        ("export RUN", "RUN"),
        ("export RUN paper=egsw", "paper=egsw: not used with a run"),
        ("bundle RUN", "Did you mean 'rlvr export'?"),
        ("sync now", "now"),
        ("new ours stage=gate", "stage"),
        ("ui port=x", "port"),
        ("ui --port 5001", "port=5001"),
        ("power", "difference"),
        ("power difference=5 benchmark=aime24", "difference"),
        ("power difference=0.05 benchmark=aime2", "'aime24'"),
        ("power difference=0.05 benchmark=aime24 seed_sd=3", "seed_sd"),
        ("power difference=0.05 benchmark=aime24 power=80", "power: expected"),
        ("power difference=0.05 runs=nowhere", "nowhere"),
        ("rnu", "Did you mean 'run'?"),
        ("export format=mlflow", "the command rlvr sync"),
        ("plan paper=egsw config=true", "the command rlvr config"),
        ("paper=egsw", "paper"),
        ("plan paper=egsw --jsn", "jsn"),
    ],
)
def test_a_wrong_command_exits_2_and_names_the_field(
    arguments: str,
    field: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("rlvr") and field in captured.err
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
        "import sys\nfrom rlvr.cli import main\n"
        f"main({arguments.split()!r})\n"
        f"heavy = [m for m in {HEAVY!r} if m in sys.modules]\nassert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_interrupt_during_the_imports_is_one_sentence():
    program = (
        "import sys\nfrom rlvr.__main__ import main\n"
        "class Interrupt:\n    def find_spec(self, name, *_):\n        if name == 'rlvr.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\nsys.exit(main())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "interrupted; nothing was started\n")


def test_a_closed_pipe_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "rlvr", "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()  # before anything is written, as `| head` does when it has enough
    assert process.stderr.read() == b""
    assert process.wait() == 141


def test_every_command_describes_each_option(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        described = as_text(usage(name)).partition("\noptions:\n")[2]
        for key, option in signature.options(command(name)).items():
            head = {"VAR_KEYWORD": "KEY=VALUE", "VAR_POSITIONAL": key.upper()}.get(option.kind.name, f"{key}=")
            entry, *_ = re.findall(rf"^  {head}\S*\s+(\S.*)", described, flags=re.MULTILINE)
            assert len(entry) > 3, (name, key)
        assert f"\n{described}".count("\n  out=") == (name != "ui"), name
    assert main(["help", "run"]) == 0 and main(["run", "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("usage: rlvr run PAPER") == 2
    assert main(["--help"]) == 0 and main(["--version"]) == 0
    assert all(f"\n  {name} " in as_text(overview()) for name in COMMANDS)


def takes(
    a: str, b: int = 1, *, flag: bool = False, c: list[int] | None = None, d: str | None = None, **more: Any
) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["x"], {"a": "x"}),
        (["x", "2"], {"a": "x", "b": 2}),
        (["b=3", "x"], {"b": 3, "a": "x"}),
        (["a=12"], {"a": "12"}),  # text stays text
        (["x", "c=7", "d=null"], {"a": "x", "c": [7], "d": "null"}),
        (["x", "c=[1]", "egsw.alpha=0.5", "e={k: 1}"], {"a": "x", "c": [1], "egsw.alpha": 0.5, "e": {"k": 1}}),
        (["a='x y'"], {"a": "x y"}),
        (["x", "e={k: [Prüfung/a.csv, 问题]}", "f=ö-ü"], {"a": "x", "e": {"k": ["Prüfung/a.csv", "问题"]}, "f": "ö-ü"}),
    ],
)
def test_words_become_the_arguments_of_a_call(words: list[str], named: dict[str, Any]) -> None:
    assert signature.bind(takes, words) == ([], named)
    assert signature.bind(rlvr.verify, ["a", "b", "contribution=true"]) == (["a", "b"], {"contribution": True})
    # several words are the runs of a page, as of a comparison
    assert signature.bind(rlvr.page, ["a", "b", "only=none"]) == ([], {"runs": ["a", "b"], "only": ["none"]})
    assert signature.bind(rlvr.page, ["[a,b]", "c"])[1]["runs"] == ["a", "b", "c"]
    assert signature.bind(rlvr.page, ["a0,a1", "b"])[1]["runs"] == ["a0,a1", "b"]  # the seeds of a, and b
    assert signature.bind(rlvr.new, ["mine", "root=a,b"])[1]["root"] == "a,b"  # a path, whatever its annotation's form
    assert signature.bind(rlvr.aa, ["tiny-grpo*"])[1] == {"runs": "tiny-grpo*"}  # the one text that it takes
    for columns in ("x:y,z:Lösung", "{x:y,z:Lösung}", '"x:y,z:Lösung"'):
        assert signature.bind(rlvr.grade, ["a", f"columns={columns}"])[1]["columns"] == {"x": "y", "z": "Lösung"}
    assert signature.bind(rlvr.grade, ["a", "columns={x:'y, z'}"])[1]["columns"] == {"x": "y, z"}


@pytest.mark.parametrize(
    ("words", "field"),
    [
        *(([], "a"), (["x", "b=1.5"], "b"), (["x", "c=[1,x]"], "c"), (["x", "flag=1"], "flag"), (["x", "a=y"], "a")),
        *((["x", "2", "3"], "cannot read '3'"), (["--a", "x"], "--a")),
    ],
)
def test_words_that_do_not_fit_are_refused(words: list[str], field: str) -> None:
    with pytest.raises(UsageError, match=rf"^{field}"):
        signature.bind(takes, words)


def test_an_unexpected_error_is_one_sentence_and_debug_shows_where_without_a_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("lost at http://alice:hunter2pw@host")

    monkeypatch.setattr(rlvr, "list_", broken)
    assert main(["list"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "KeyError" in line and "lost" in line
    assert main(["list", "--debug"]) == 1
    shown = capsys.readouterr().err
    assert "Traceback" in shown and 'in broken\n    raise KeyError("lost' in shown and "hunter2pw" not in shown


def test_results_are_saved_by_their_suffix(tmp_path: Path) -> None:
    import pandas as pd

    for suffix in (".json", ".csv", ".parquet", ".tex", ".md", ".txt"):
        assert main(["list", "what=scales", f"out={tmp_path / f'x{suffix}'}"]) == 0
    names = list(SCALES)
    assert sorted(pd.read_csv(tmp_path / "x.csv")["name"]) == sorted(names)
    assert sorted(pd.read_parquet(tmp_path / "x.parquet")["name"]) == sorted(names)
    assert set(json.loads((tmp_path / "x.json").read_text())["scales"]) == set(names)
    assert main(["list", f"out={tmp_path / 'x.doc'}"]) == 2
    answers = tmp_path / "a.jsonl"
    answers.write_text(json.dumps({"problem_id": 1, "answer": "4", "response": r"\boxed{4}"}) + "\n")
    for name in ("verdicts.jsonl", "scores.csv", "scores.tex"):  # rows with verdicts. The scores
        assert main(["grade", str(answers), f"out={tmp_path / name}"]) == 0
    assert "verdict" in pd.read_json(tmp_path / "verdicts.jsonl", lines=True)
    assert pd.read_csv(tmp_path / "scores.csv").set_index("metric").loc["avg@1", "value"] == 1.0
    assert "tabular" in (tmp_path / "scores.tex").read_text()
    assert main(["list", f"out={tmp_path / 'nowhere' / 'x.csv'}"]) == 2


@pytest.mark.parametrize(
    "words", ["tables out=t.pdf", "analyze runs=. out=a.svg", "export out=e.zip", "eval m out=x.xlsx"]
)
def test_a_form_that_is_not_written_is_no_folder(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    save_run(tmp_path, "x", {"p": "++"})
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text("{}")
    assert main(words.split()) == 2
    assert "expected a folder, " in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} <= {"home", "x", "m"}


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    cells = [(Outcome("higher*"), "higher"), (Outcome("not resolved"), "a \x1b[31mred run")]
    blocks = [Heading("verdicts:"), Table(("verdict", "run"), cells, left=2), "  lower"]
    table = "verdict       run\n------------  -----------------\nhigher*       higher\nnot resolved  a \\x1b[31mred run"
    plain = f"verdicts:\n{table}\n  lower"  # what others wrote sets no colour
    coloured = plain.replace("verdicts:", "\x1b[1mverdicts:\x1b[0m").replace("\nhigher", "\n\x1b[32mhigher\x1b[0m")
    coloured = coloured.replace("not resolved", "\x1b[33mnot resolved\x1b[0m")
    assert as_text(blocks, painted(Terminal())) == coloured
    assert as_text(blocks, painted(io.StringIO())) == plain  # a pipe or a file
    monkeypatch.setenv("NO_COLOR", "1")
    assert as_text(blocks, painted(Terminal())) == plain


@pytest.mark.parametrize(
    ("line", "present", "no"),
    [
        ("rlvr run paper=eg", ["paper=egsw"], ["paper=erpo"]),
        ("rlvr run paper=egsw arm=", ["arm=grpo", "arm=egsw"], ["arm=placebo"]),
        ("rlvr plan paper=egsw arm=grpo,eg", ["arm=grpo,egsw"], ["arm=grpo,grpo"]),
        ("rlvr run arm=", ["arm="], []),  # no paper
        ("rlvr list what=s", ["what=scales", "what=signals"], ["what=papers"]),
        ("rlvr plan hardware=h", ["hardware=h100x8"], ["hardware=auto"]),
        ("rlvr run backend=", ["backend=trl", "backend=verl"], []),
        ("rlvr eval protocol=e", ["protocol=egsw"], []),
        ("rlvr eval benchmarks=[aime24,math", ["benchmarks=[aime24,math500"], ["benchmarks=[aime24,aime24"]),
        ("rlvr eval engine=v", ["engine=vllm"], []),
        ("rlvr run protocol.benchmarks=gsm", ["protocol.benchmarks=gsm8k"], []),
        ("rlvr run paper=nothing", ["paper=nothing"], []),  # else bash offers files
        ("rlvr eval benchmarks=nothing", [], ["benchmarks=nothing"]),  # which may be a file
        ("rlvr help pl", ["plan"], ["power"]),
        ("rlvr plan ar", ["arm=", "arms="], ["values="]),
    ],
)
def test_argcomplete_answers_a_shell(line: str, present: list[str], no: list[str], tmp_path: Path) -> None:
    completion_variables = {
        "_ARGCOMPLETE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE_IFS": "\n",
    }
    completion_variables |= {
        "_ARGCOMPLETE_COMP_WORDBREAKS": " ",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "answer"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "rlvr"], env=os.environ | completion_variables, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer = [word.strip().replace("\\", "") for word in (tmp_path / "answer").read_text().split("\n")]
    assert set(present) <= set(answer) and not set(no) & set(answer)


def test_the_seeds_of_a_method_as_the_help_writes_them_reach_the_command() -> None:
    (form,) = re.findall(r"'runs=\S+'", as_text(usage("analyze")))
    (word,) = shlex.split(form)  # as a shell passes it on
    assert signature.bind(rlvr.analyze, [word])[1] == {"runs": ["A", "B0,B1,B2"]}


def test_a_plan_says_why_an_arm_does_not_fit_and_nothing_of_gpus_for_a_tiny_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", "paper=egsw", "brief=true"]) == 0
    tiny = capsys.readouterr().out
    assert "minutes each on a CPU" in tiny and not any(word in tiny for word in ("GPU", "USD", "hf download"))
    assert main(["plan", "paper=egsw", "scale=paper", "arm=base", "protocol.max_tokens=5000", "brief=true"]) == 0
    why = "math-7b/base, math-7b-instruct/base: context: 5,001 tokens do not fit 4,096 positions"
    assert why in capsys.readouterr().out


def test_a_rehearsal_ends_with_the_command_that_it_rehearsed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("harness.launch.prepare.rehearsed", lambda *_: [Rehearsed("egsw", {"planned": "yes"})])
    assert main(["rehearse", "paper=egsw", "arm=grpo"]) == 0
    assert capsys.readouterr().out.endswith("rehearsed: rlvr run paper=egsw arm=grpo scale=paper hardware=h100x8\n")


BROKEN = {  # the third line of a paper -> the error after "line 3: "
    "Arm(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)": "TypeError: Arm.__init__() takes from 5 to 10 positional",
    "Arm(": "SyntaxError: '(' was never closed",
    "Arm(modl='7b')": "TypeError: Arm: modl: no such key. Did you mean 'model'?",
    "Reproduction('k', 't', None, {}, (), 'egwa', 1, ())": "UsageError: unknown protocol 'egwa': Did you mean 'egsw'?",
    "controlled(None, 'shuffled_signals')": "UsageError: shuffled_signals: no such control. Did you mean 'shuffled_sig",
    "reads('advantages')": "ValueError: reads: advantages: no such signal. Every batch has it",
}


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_paper_is_listed_with_file_and_line_beside_the_others(
    line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import reproductions

    folder = tmp_path / "reproductions" / "broken_one"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    names = (
        "from harness.spec.controls import *; from harness.spec.declarations import *; from harness.step.batch import *"
    )
    (folder / "paper.py").write_text(f"{names}\n\n{line}\n")
    monkeypatch.delitem(sys.modules, "reproductions.broken_one.paper", raising=False)
    monkeypatch.delitem(sys.modules, "reproductions.broken_one", raising=False)
    monkeypatch.setattr(reproductions, "__path__", [*reproductions.__path__, str(folder.parent)])
    assert main(["list", "what=papers", "--json"]) == 0
    papers = json.loads(capsys.readouterr().out)["papers"]
    assert papers["egsw"]["protocol"] == "egsw"
    assert papers["broken_one"]["error"].startswith(f"{folder / 'paper.py'}, line 3: {BROKEN[line]}")
    assert main(["plan", "paper=broken_one"]) == 2
    assert "line 3" in capsys.readouterr().err
    assert main(["tables", f"runs=[{RECORDS / 'erpo.tar.xz'}]", f"out={tmp_path / 'tables'}"]) == 0
    assert "skipped broken_one" in capsys.readouterr().err and (tmp_path / "tables" / "erpo" / "tables.csv").is_file()


@given(st.text(st.characters(exclude_categories=())))
def test_no_control_sequence_is_left(text: str) -> None:
    inert = shown(text)
    assert not any((ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160 for c in inert)
    inert.encode("utf-8")  # no half surrogate
    if text.isprintable():
        assert inert == text


def test_a_graded_answer_cannot_clear_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"problem_id": "p", "answer": "3", "response": "\\boxed{\x1b[2J3}"}) + "\n")
    assert main(["grade", str(file), "explain=[1]"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[2J3" in out


def test_files_of_a_command_are_not_world_writable(capsys: pytest.CaptureFixture[str]) -> None:
    before = os.umask(0)
    try:
        assert main(["list"]) == 0
        assert os.umask(0) & 0o002
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("eval --tasks gsm8k", "--tasks: no such option. Expected benchmarks=[NAME,...]"),
        ("eval --model hf --tasks gsm8k", "--model: no such option. Expected model=PATH, a folder or a hub id"),
        ("eval --model_args pretrained=M", "Expected model=PATH and engine.KEY=VALUE"),
        ("eval model=M num_fewshot=5", "num_fewshot=5: no such option. Expected examples=FILE"),
        ("eval model=M device=cuda", "Expected engine.device=cuda|cpu with engine=transformers"),
        (
            "eval model=M zzz=1",
            "choice_seed, columns, data_dir, engine, engine.batch_rows",
        ),  # its options and the protocol's
        ("run paper=egsw actor_rollout_ref.actor.optim.lr=1e-6", "Expected learning_rate=X"),
        ("run paper=egsw data.train_batch_size=8", "Expected prompts_per_rollout=N"),
        ("audit FILE claimed=34.6", "claimed=34.6: no such option. Expected printed=X"),
        ("run paper=egsw global_batch_size=8", "Expected prompts_per_rollout=N"),
        ("eval model=M presence_penalty=0.5", "Expected extra_body='{presence_penalty: X}'"),  # not repetition_penalty
        ("eval vllm model_name=M,dtype=bfloat16 lighteval|gsm8k|5|0", "Expected model=PATH and engine.KEY=VALUE"),
        ("eval model=M extra_body=a:1 extra_body=b:2", "a shell makes two words of {a,b}: extra_body='{...}' is one"),
        ("eval model=M benchmarks=[MATH-500]", "unknown benchmark 'MATH-500': Did you mean 'math500'?"),
        ("eval model=M benchmarks=[lighteval|gsm8k|5|0]", "Did you mean 'gsm8k'?"),
        ("audit a.log metric=acc printed=42,0", "printed=42,0: expected a decimal point, as printed=42.0"),
        (
            "eval math.py --model openai/M --epochs 4",
            "math.py: this is a task of another tool. Type benchmarks=",
        ),
        ("eval math.py --model openai/M --epochs 4", "--epochs: no such option. Expected n=N"),
        ("eval math.py --model openai/M --epochs 4", "Expected model=M engine=openai engine.url=URL, a server's"),
        ("inspect eval math.py", "Did you mean 'rlvr eval'?"),
        ("compare a b k=[1]", "Did you mean 'ks'?"),
        ("audit a.log metric=acc printed=4 problems=-5", "problems=-5: expected at least 1"),
        ("audit README.md metric=acc printed=4 k=2", "k=2: not used with metric="),
        ("eval model=M limit=5", "limit=5: no such option. Expected rows=N"),
        ("plan paper=egsw tasks=gsm8k", "tasks=gsm8k: no such option. Expected protocol.benchmarks=[NAME,...]"),
        ("run paper=egsw arm=grpo epochs=-1", "epochs: expected > 0"),  # our own word too, not inspect's
        ("run paper=egsw lr=1e-5", "lr=1e-5: no such option. Expected learning_rate=X"),
        ("run paper=egsw gguf_file=a.gguf", "gguf_file=a.gguf: no such option. Expected base_model=FOLDER, which"),
        ("plan paper=egsw num_generations=8", "Expected group_size=N"),
        ("run paper=egsw rehearse=true", "Expected the command rlvr rehearse"),
        (
            "run paper=egsw learning-rate=1e-4",
            "learning-rate=1e-4: expected learning_rate=1e-4",
        ),
        (
            "eval model=M benchmarks=[aime24] engine.dtype=bf16",
            "dtype=bf16: Did you mean 'bfloat16'? Expected one of",
        ),
        ("eval model=M benchmarks=[aime24] extra_body={n:2}", "of fields that no option has: not chat_template_kwargs"),
        ("eval model=M top-k=20", "top-k=20: expected top_k=20"),
        ("eval model=M benchmarks=[pyproject.toml]", "benchmark pyproject.toml: expected a file ending in .jsonl"),
        ("plan paper=egsw gpus=4", "gpus=4: no such option. Expected hardware=NAME, as h100x8 is eight GPUs"),
        ("plan paper=egsw batch_size=8", "a rollout has prompts_per_rollout=N"),  # a value of a fine-tuning alone
        ("show egsw", "egsw: a paper, and no run of this name. rlvr show paper=egsw lists its runs"),
        ("power paper=egsw", "Expected the command rlvr seeds"),
        ("import a.log name=theirs", "Expected the command rlvr curves"),
    ],
)
def test_words_of_other_tools_and_of_before_say_what_to_write(
    line: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert expected in capsys.readouterr().err


def test_words_of_other_tools_say_what_to_write_in_python_too() -> None:
    with pytest.raises(UsageError, match=r"limit=5: no such option\. Expected rows=N"):
        rlvr.evaluate("m", limit=5)
    with pytest.raises(UsageError, match=r"num_generations=4: no such option. Expected group_size=N"):
        rlvr.plan("egsw", num_generations=4)
    with pytest.raises(UsageError, match=r"tasks=\['x'\]: no such option. Expected protocol.benchmarks="):
        rlvr.run("egsw", tasks=["x"])


def test_a_list_in_python_stands_for_several_or_is_refused_by_name(tmp_path: Path) -> None:
    for name, rows in (("a", "1,1\n2,0"), ("b", "1,0\n2,1")):
        (tmp_path / f"{name}.csv").write_text(f"id,correct\n{rows}\n")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert rlvr.audit(files, printed=50.0)["verdict"] == rlvr.audit(*files, printed="50.0")["verdict"] == "stands"
    assert "50.0 (Table 2): stands" in str(rlvr.audit(*files, printed="50.0", where="Table 2")).splitlines()
    with pytest.raises(UsageError, match=r"model=\['m'\]: expected one, got a list of 1"):
        rlvr.evaluate(["m"])  # type: ignore[arg-type]


def test_words_of_other_tools_are_no_keys_of_ours() -> None:
    from evals.data.protocols import PROTOCOLS
    from harness.spec import catalogue

    settings = [arm.train.settings() for key in catalogue.papers() for arm in catalogue.load(key).arms if arm.train]
    assert ELSEWHERE[TRAIN].keys().isdisjoint({key for of_arm in settings for key in of_arm})
    assert ELSEWHERE[MEASURE].keys().isdisjoint(next(iter(PROTOCOLS.values())).sourced())
    for commands, words in ELSEWHERE.items():  # what they are told is there
        for name in commands:
            assert words.keys().isdisjoint(signature.options(command(name)))


@pytest.mark.parametrize("command", ["plan paper=egsw", "config paper=egsw", "run paper=egsw", "rehearse paper=egsw"])
def test_a_bug_is_no_typing_mistake(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bug(*_: object) -> None:
        raise ValueError("too many values to unpack")

    monkeypatch.setattr("harness.launch.prepare.read_jobs", bug)
    assert main(command.split()) == 1
    assert "too many values to unpack (ValueError; --debug shows where)" in capsys.readouterr().err


def test_prompts_are_listed_with_what_they_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "what=prompts", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["prompts"]
    assert listed["forking_tokens"].startswith("plain text, read by boxed_last. user: User: {problem}")
    assert listed["lighteval_gsm8k"].startswith(
        "through the chat template, 5 examples, read by hashes. user: Question:"
    )
    assert "system: Please reason step by step" in listed["boxed_system"]


def test_two_benchmark_files_of_one_name_in_one_session(tmp_path: Path) -> None:
    """A second call takes a file of the same name, also after a call that failed."""
    for folder, answer in (("a", "2"), ("b", "3")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "q.jsonl").write_text(json.dumps({"problem": f"{answer} = ?", "answer": answer}) + "\n")
    for folder in "ab":
        with pytest.raises(UsageError) as raised:
            rlvr.evaluate(str(tmp_path / "no_model"), benchmarks=[str(tmp_path / folder / "q.jsonl")])
        assert "no_model" in str(raised.value) and "taken" not in str(raised.value)

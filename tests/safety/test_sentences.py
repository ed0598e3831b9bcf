"""A word that is no file, no number and no name ends in one sentence, and never in the name of a Python exception."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import rlvr
from rlvr.cli import main

EXCEPTION = re.compile(r"\b[A-Z]\w*(Error|Exception)\b|Traceback|out of range|object is not|NoneType")
SERVED = ("engine=openai", "engine.url=http://127.0.0.1:9/v1")
CURVE = "step,acc\n1,0.2\n2,0.4\n"
ROW = {"problem_id": "a", "gold": "2", "response": "so \\boxed{2}", "expected": True}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("b.jsonl").write_text(json.dumps(ROW) + "\n")
    Path("c.csv").write_text(CURVE)
    deep = "[" * 100_000
    Path("deep.json").write_text(deep + "]" * 100_000)
    Path("deep.jsonl").write_text('{"gold": "1", "response": "x", "more": ' + deep + "]" * 100_000 + "}\n")
    Path("deep.csv").write_text("step,acc\n1," + deep + "\n")
    Path("percent.csv").write_text("step,acc\n1,30%\n2,40%\n")
    Path("comma.csv").write_text("step;acc\n1;30,5 %\n2;40 %\n")
    Path("words.csv").write_text("step,acc\n1,high\n2,low\n")
    for name in (".jsonl", "?.jsonl", "....jsonl", "_.jsonl"):
        Path(name).write_text(json.dumps({"problem": "1+1", "answer": "2"}) + "\n")
    Path("folder").mkdir()


@pytest.mark.parametrize(
    "command",
    [
        ["grade", ""],  # the example, as the next ones
        ["audit", "c.csv", "printed=40", "metric=acc", "problems=99999999999999999999"],
        ["grade", "deep.json"],
        ["grade", "deep.jsonl"],
        [
            "eval",
            "model=m",
            "engine=openai",
            "engine.url=http://127.0.0.1:9/v1",
            "benchmarks=[b.jsonl]",
            "extraction=:f",
        ],
        ["eval", "model=m", *SERVED, "benchmarks=[.jsonl]"],
        ["grade", " "],  # our own variants
        ["grade", "."],
        ["grade", "folder"],
        ["grade", "a\x00b"],
        ["grade", "b.jsonl", "gold="],
        ["grade", "b.jsonl", "out="],
        ["grade", "b.jsonl", "page="],
        ["grade", "b.jsonl", "page=folder"],
        ["grade", "b.jsonl", "out=folder"],
        ["grade", "x" * 5000],
        ["audit", ""],
        ["audit", "c.csv", "printed="],
        ["audit", "c.csv", "printed=abc", "metric=acc"],
        ["audit", "c.csv", "printed=1e999", "metric=acc"],
        ["audit", "c.csv", "printed=nan", "metric=acc"],
        ["audit", "deep.csv", "printed=40", "metric=acc"],
        ["audit", "deep.json", "printed=40", "metric=acc"],
        ["audit", "deep.jsonl", "printed=40"],
        ["audit", "words.csv", "printed=40", "metric=acc"],
        ["audit", "b.jsonl", "printed=40", "k=99999999999999999999"],
        ["audit", "b.jsonl", "printed=40", "problems=1" + "0" * 400],
        ["audit", "b.jsonl", "printed=40", "label_threshold=1e400"],
        ["grade", "b.jsonl", "ks=[99999999999999999999]"],
        ["grade", "b.jsonl", "explain=[99999999999999999999]"],
        ["grade", "b.jsonl", "digits=99999999999999999999"],
        ["compare", "", ""],
        ["compare", "b.jsonl", "b.jsonl"],
        ["page", ""],
        ["show", ""],
        ["show", "a\x00b"],
        ["curves", ""],
        ["curves", "folder"],
        ["curves", "deep.json"],
        ["import", ""],
        ["export", ""],
        ["power", ""],
        ["eval", "model=", "benchmarks=[b.jsonl]"],
        [
            "eval",
            "model=m",
            "engine=openai",
            "engine.url=http://127.0.0.1:9/v1",
            "benchmarks=[b.jsonl]",
            "extraction=f:",
        ],
        [
            "eval",
            "model=m",
            "engine=openai",
            "engine.url=http://127.0.0.1:9/v1",
            "benchmarks=[b.jsonl]",
            "extraction=:",
        ],
        ["eval", "model=m", *SERVED, "benchmarks=[?.jsonl]"],
        ["eval", "model=m", *SERVED, "benchmarks=[....jsonl]"],
        ["eval", "model=m", *SERVED, "benchmarks=['']"],
        [
            "eval",
            "model=m",
            "engine=openai",
            "engine.url=http://127.0.0.1:9/v1",
            "benchmarks=[b.jsonl]",
            "seed=" + "9" * 30,
        ],
        ["eval", "model=m", "engine=openai", "engine.url=http://[/v1", "benchmarks=[b.jsonl]"],
        ["run", "paper=egsw", "rewards=[':f']"],
        ["run", "paper=egsw", "seeds=99999999999999999999"],
        ["plan", "paper="],
    ],
    ids=lambda command: " ".join(command).replace("\x00", "NUL")[:60],
)
def test_one_sentence(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    message = capsys.readouterr().err
    assert "rlvr " in message and not EXCEPTION.search(message), message
    assert len(message) < 4500


@pytest.mark.parametrize("file", ["percent.csv", "comma.csv"])
def test_a_curve_of_percent_signs_is_read_or_refused(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["audit", file, "printed=40", "metric=acc"])
    output = capsys.readouterr()
    assert code in (0, 2) and not EXCEPTION.search(output.err)
    assert code == 2 or "40" in output.out


def test_a_file_without_a_name_is_named_in_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["eval", "model=m", *SERVED, "benchmarks=[.jsonl]"]
    assert main(command) == 2
    assert "MLflow" not in (message := capsys.readouterr().err) and ".jsonl" in message


def test_in_python() -> None:
    for call in (
        lambda: rlvr.grade(""),
        lambda: rlvr.grade(Path()),
        lambda: rlvr.audit("c.csv", printed=40, metric="acc", problems=10**30),
    ):
        with pytest.raises(rlvr.UsageError):
            call()

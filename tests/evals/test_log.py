"""The logger `rlvr`: on stderr unless a user silences or routes it, and each line once."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tqdm import tqdm

import rlvr
from evals import slow
from evals.log import draws, logger, on_terminal
from rlvr.cli import main

MESSAGE = "explain=wrong: no row is wrong"  # a note of `rlvr grade`


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def as_at_first() -> Iterator[None]:
    """The logger of this process stays as it was."""
    level, handlers = logger.level, [handler for handler in logger.handlers if type(handler).__module__ == "evals.log"]
    yield
    logger.handlers, logger.propagate = handlers, False  # without those of pytest, which end with each phase
    logger.setLevel(level)


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"problem_id": "a", "gold": "5", "response": r"\boxed{5}"}) + "\n")
    return str(path)


def test_by_default_a_note_is_on_stderr_once_in_each_call(answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        rlvr.grade(answers, explain="wrong")
        assert capsys.readouterr() == ("", f"{MESSAGE}\n")


def test_a_level_silences(answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.md"
    [line] = [line for line in page.read_text().splitlines() if line.startswith("logging.") and "setLevel" in line]
    exec(f"import logging\n{line}", {})
    rlvr.grade(answers, explain="wrong")
    assert not draws() and capsys.readouterr() == ("", "")
    logger.warning("a warning")
    assert capsys.readouterr().err == "a warning\n"


def test_a_handler_takes_the_records_instead(answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("rlvr").handlers = [kept := Kept()]
    rlvr.grade(answers, explain="wrong")
    logging.getLogger("rlvr.other").warning("of a child")
    assert [(record.levelname, record.getMessage()) for record in kept.records] == [
        ("INFO", MESSAGE),
        ("WARNING", "of a child"),
    ]
    assert not draws() and capsys.readouterr() == ("", "")


def test_handlers_of_the_root_logger_write_no_line_once_more(
    answers: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some libraries call `logging.basicConfig`."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler(sys.stderr)])
    rlvr.grade(answers, explain="wrong")
    assert capsys.readouterr().err == f"{MESSAGE}\n"


def test_a_configuration_by_a_dictionary_replaces_ours(answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig({
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"short": {"format": "%(levelname)s %(message)s"}},
        "handlers": {"out": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr", "formatter": "short"}},
        "loggers": {"rlvr": {"handlers": ["out"], "level": "INFO", "propagate": False}},
    })  # fmt: skip
    rlvr.grade(answers, explain="wrong")
    assert not draws() and capsys.readouterr().err == f"INFO {MESSAGE}\n"


@pytest.mark.parametrize("before", ["setLevel('WARNING')", "addHandler(logging.NullHandler())", "warning('x')"])
def test_what_was_set_before_the_import_stays(before: str) -> None:
    code = f"import logging; logging.getLogger('rlvr').{before}\nimport rlvr\nlogging.getLogger('rlvr').info('a note')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ("x\na note\n" if "warning" in before else "")  # x: Python's own, without a handler


def test_the_command_prints_its_result_on_stdout_and_nothing_else(
    answers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # in one process, as notebooks do
        assert main(["grade", answers, "explain=wrong", "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["verdicts"]["correct"] == 1 and err == f"{MESSAGE}\n"


def test_a_reader_of_the_pipe_gets_the_result_alone(answers: str) -> None:
    command = [sys.executable, "-m", "rlvr", "grade", answers, "explain=wrong", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["rows"] == 1 and done.stderr == f"{MESSAGE}\n"


def test_no_line_rewrites_itself_where_the_user_has_a_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", stderr := Terminal())
    assert on_terminal()
    logger.handlers = [kept := Kept()]
    assert not on_terminal()
    for name in ("AFTER_S", "EVERY_S", "REFRESH_S"):
        monkeypatch.setattr(slow, name, 0.001)
    came = threading.Event()
    monkeypatch.setattr(kept, "emit", lambda record: (kept.records.append(record), came.set()))
    with slow.slow("grading"):
        assert came.wait(30)
    assert kept.records[0].getMessage() == "grading: after 0:00" and stderr.getvalue() == ""


def test_a_line_stands_above_the_bar_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", stderr := Terminal())
    with tqdm(total=3, desc="training", file=stderr):
        logger.info("a note")
    drawn, after = stderr.getvalue().split("a note\n")
    assert drawn.endswith("\r") and "training" in drawn and "training" in after  # cleared, and drawn again below


@pytest.mark.parametrize("spawned", [False, True])
def test_another_process_loses_no_line(spawned: bool, tmp_path: Path) -> None:
    """A job, whose stderr is its log: also one that is forked while another thread writes."""
    log = tmp_path / "log.txt"
    if spawned:
        code = "from evals.log import logger\nfor number in range(100): logger.info(number)"
        with log.open("w") as file:
            subprocess.run([sys.executable, "-c", code], stderr=file, check=True)
    elif (child := os.fork()) == 0:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT, 0o600), 2)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        for number in range(100):
            logger.info(number)
        os._exit(0)
    else:
        assert os.waitpid(child, 0)[1] == 0
    assert log.read_text().split() == [str(number) for number in range(100)]

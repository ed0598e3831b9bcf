"""The output of other packages goes to a file. Ours, and what cannot be kept, stays on the terminal."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import evals
from evals import library_output
from evals.sampling.engines import Decoding, EngineError, Request
from evals.sampling.engines.replicas import Replicas
from harness.runs.libraries import apart


def say(name: str) -> None:
    logger = logging.getLogger(name)
    handler = logging.StreamHandler(sys.stderr)
    logger.addHandler(handler)
    try:
        logger.warning("clean_up_tokenization_spaces was not set")
    finally:
        logger.removeHandler(handler)


def warn(file: str, text: str) -> None:
    warnings.warn_explicit(text, UserWarning, file, 1)


def test_of_other_packages_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "libraries.log"
    with pytest.warns(UserWarning, match="one of ours") as seen, apart(log):  # noqa: PT031
        assert not log.exists()  # nobody has said anything
        say("transformers.tokenization")
        say("harness.jobs")
        warn("/lib/site-packages/torch/a.py", "a torch warning")
        warn(str(Path(evals.__file__).with_name("files.py")), "one of ours")
    kept, shown = log.read_text(), capsys.readouterr().err
    assert "transformers.tokenization WARNING: clean_up_tokenization_spaces" in kept and "a torch warning" in kept
    assert kept.count("clean_up") == shown.count("clean_up") == 1
    assert "one of ours" not in kept and [str(warning.message) for warning in seen] == ["one of ours"]
    say("transformers.tokenization")  # as before, outside the block
    assert "clean_up" in capsys.readouterr().err and log.read_text() == kept


def test_what_cannot_be_kept_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match="a torch warning"), apart(tmp_path / "no folder" / "libraries.log"):  # noqa: PT031
        say("transformers.tokenization")
        warn("/lib/site-packages/torch/a.py", "a torch warning")
    assert "clean_up" in capsys.readouterr().err and not list(tmp_path.iterdir())


def run(code: str, log: Path) -> str:
    """The stderr of a process of its own, which keeps the output of libraries in the log."""
    head = f"import atexit, os, pathlib, subprocess, sys\nlog = pathlib.Path({str(log)!r})\n"
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, check=True)
    return done.stderr


def test_the_last_words_of_a_process_are_kept(tmp_path: Path) -> None:
    """Written to descriptor 2 after all other functions that run at the end, as nanobind's leaks are."""
    code = (
        "from harness.runs.libraries import kept\n"
        "atexit.register(os.write, 2, b'leaked 514 functions!')\n"  # registered first, runs last
        "kept(log)\n"
        "print('our error', file=sys.stderr)\n"
    )
    assert run(code, tmp_path / "libraries.log") == "our error\n"
    assert (tmp_path / "libraries.log").read_text() == "leaked 514 functions!"


WHOLE = """
from harness.runs.libraries import kept
from evals import library_output
kept(log)
os.write(2, b'before ')
library_output.lead_away()
with library_output.bars_too():
    print('bar', end=' ', file=sys.stderr)
print('ours', file=sys.stderr)
os.write(2, b'theirs ')
subprocess.run(['sh', '-c', 'echo their process >&2'], check=True)
subprocess.run(['sh', '-c', 'echo our process >&2'], stderr=library_output.terminal(), check=True)
"""


def test_from_when_a_library_starts_its_processes_write_to_the_log(tmp_path: Path) -> None:
    """As vLLM's do; what says something to the user goes to the terminal all the same."""
    assert run(WHOLE, tmp_path / "libraries.log") == "before ours\nour process\n"
    assert (tmp_path / "libraries.log").read_text() == "bar theirs their process\n"
    shown = run(WHOLE, tmp_path / "no folder" / "libraries.log")  # nowhere to keep it
    assert shown == "before bar ours\ntheirs their process\nour process\n"


def test_a_process_without_the_log_is_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In Python, in a notebook, with --debug, and in the process of a job, whose stderr is the job's log."""
    monkeypatch.delenv(library_output.LOG, raising=False)
    code = "from evals import library_output as o\no.keep_ours()\no.lead_away()\no.all_to_file()\n"
    code += "os.write(2, b'theirs ')\nprint('ours', o.place(), o.terminal(), file=sys.stderr)"
    assert run(code, tmp_path / "libraries.log") == "theirs ours above None\n"
    assert not [*tmp_path.iterdir()]


class Loud:
    """An engine whose library prints to both descriptors and dies."""

    chunk_rows = 1

    def __init__(self, model_path: str) -> None:
        os.write(1, b"to stdout ")
        os.write(2, b"to stderr")

    def generate(self, *_: object) -> None:
        os._exit(3)


def test_a_replica_prints_to_the_log_and_its_death_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(library_output.LOG, str(tmp_path / "libraries.log"))
    replicas = Replicas(Loud, "m", count=1)
    capfd.readouterr()  # the output of the engine in this process
    with pytest.raises(EngineError, match=rf"a replica died. Its messages are in {tmp_path}/libraries\.log"):
        list(replicas.generate([Request(("p", 0), "?", 0)], Decoding(1.0, 1.0, 1)))
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "libraries.log").read_text() == "to stdout to stderr"

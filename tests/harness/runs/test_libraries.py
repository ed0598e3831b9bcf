"""What other packages print goes to a file; ours, and what cannot be kept, stays on the terminal."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import evals
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


def test_the_last_words_of_a_process_are_kept(tmp_path: Path) -> None:
    """Written to descriptor 2 after all other functions that run at the end, as nanobind's leaks are."""
    log = tmp_path / "libraries.log"
    code = (
        "import atexit, os, sys, pathlib; from harness.runs.libraries import at_end\n"
        "atexit.register(os.write, 2, b'leaked 514 functions!')\n"  # registered first, runs last
        f"at_end(pathlib.Path({str(log)!r}))\n"
        "print('our error', file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "our error\n" and log.read_text() == "leaked 514 functions!"

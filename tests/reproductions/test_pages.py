"""The page of each paper: its commands are accepted, and the functions that it names exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import reproductions
from harness import catalogue
from harness.cli import main

FOLDER = Path(reproductions.__path__[0])
PAGES = [key for key in catalogue.papers() if (FOLDER / key / "README.md").is_file()]


@pytest.mark.parametrize("key", PAGES)
def test_the_commands_are_accepted(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (FOLDER / key / "README.md").read_text()
    commands = [line.partition("#")[0].split() for line in page.splitlines() if line.startswith("rlvr ")]
    assert {command[1] for command in commands} >= {"plan", "run", "tables"}
    for _, verb, *options in commands:
        assert f"paper={key}" in options
        if verb in ("plan", "run"):  # planning reads the options of a run, and starts nothing
            assert main(["plan", *options]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("key", PAGES)
def test_the_functions_of_the_equations_exist(key: str) -> None:
    page = (FOLDER / key / "README.md").read_text()
    table = page.partition("| equation |")[2].partition("\n\n")[0]
    method = importlib.import_module(f"reproductions.{key}.method")
    names = [name for line in table.splitlines()[2:] for name in re.findall(r"`([\w.]+)`", line.split(" | ")[-1])]
    assert len(names) >= 4
    for name in names:
        owner, _, function = name.rpartition(".")
        if owner:
            assert exists(name), name
        else:
            assert hasattr(method, function) or function in ("sequence_mean", "token_mean", "fixed_length"), name


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    try:
        importlib.import_module(dotted)
    except ModuleNotFoundError:
        module, _, name = dotted.rpartition(".")
        return hasattr(importlib.import_module(module), name)
    return True

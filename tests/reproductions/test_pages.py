"""The page of each paper: its commands are accepted, and the functions that it names exist."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import get_args

import pytest

import reproductions
from harness.cli.main import main
from harness.spec import catalogue
from harness.step.loss import Aggregation

FOLDER = Path(reproductions.__path__[0])
PAGES = [key for key in catalogue.papers() if (FOLDER / key / "README.md").is_file()]


@pytest.mark.parametrize("key", PAGES)
def test_the_commands_are_accepted(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (FOLDER / key / "README.md").read_text()
    lines = (line.strip() for line in page.splitlines())
    commands = [line.partition("#")[0].split() for line in lines if re.match(r"rlvr +(plan|run|tables) ", line)]
    assert {command[1] for command in commands} >= {"plan", "run", "tables"}
    for _, verb, *options in commands:
        assert f"paper={key}" in options
        if verb in ("plan", "run"):  # planning reads the options of a run, and starts nothing
            assert main(["plan", *options]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("key", PAGES)
def test_the_functions_of_the_equations_exist(key: str) -> None:
    """The last column of the table of equations; a name without a module is of the paper's own, or a setting."""
    page = (FOLDER / key / "README.md").read_text()
    table = page.partition("| equation |")[2].partition("\n\n")[0]
    names = [name for line in table.splitlines()[2:] for name in re.findall(r"`([\w.]+)`", line.split(" | ")[-1])]
    assert len(names) >= 4
    own = [f"reproductions.{key}", *(f"reproductions.{key}.{path.stem}" for path in (FOLDER / key).glob("*.py"))]
    settings = get_args(Aggregation)
    for name in names:
        assert name in settings or any(exists(full) for full in (name, *(f"{module}.{name}" for module in own))), name


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    module, _, name = dotted.rpartition(".")
    try:
        importlib.import_module(dotted)
    except ModuleNotFoundError:
        return bool(module) and importable(module) and hasattr(importlib.import_module(module), name)
    return True


def importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent of it is none
        return False

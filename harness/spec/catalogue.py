"""The declared papers and their published tables. A paper is a folder of `reproductions` with a `paper.py`.

The baselines are declared like a paper, in `baselines/paper.py`, but reproduce no table.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import pkgutil
import re
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import UsageError, nearest
from harness.spec import declarations
from harness.spec.declarations import Reproduction

BASELINES = "baselines"
ALL = "all"  # the benchmark of a cell over the pooled responses to all benchmarks of its paper
AVERAGE = "average"  # the benchmark of a cell that is the mean over the other benchmarks of its table


@dataclass(frozen=True)
class Published:
    """One cell of a table as the paper prints it, and its counterpart here."""

    table: str
    model: str  # key of Reproduction.models
    arm: str
    row: str  # as printed
    benchmark: str
    column: str  # as printed
    metric: str  # avg, avg@16, pass@8, maj@8, fmt, .... "avg" if the paper does not state the sample count
    printed: str  # the number as printed
    unit: str

    @property
    def value(self) -> float:
        return float(self.printed)


def papers() -> list[str]:
    """Keys of all declared papers, sorted, and of the baselines."""
    # papers are listed, not imported: harness/ never imports a paper by name
    folder = importlib.import_module("reproductions").__path__
    names = (m.name for m in pkgutil.iter_modules(folder) if m.ispkg)
    return [*sorted(key for key in names if importlib.util.find_spec(f"reproductions.{key}.paper")), BASELINES]


def package(key: str) -> str:
    """The package that declares a paper."""
    return BASELINES if key == BASELINES else f"reproductions.{key}"


class BrokenPaper(UsageError):
    """The declaration of a paper cannot be imported. The text names its file and line."""


def load(key: str) -> Reproduction:
    """The declaration of a paper. `key` must be one of `papers()`.

    Raises:
        BrokenPaper: its code raises, or declares no REPRODUCTION.
    """
    name = f"{package(key)}.paper"
    try:
        reproduction: Reproduction = importlib.import_module(name).REPRODUCTION
    except Exception as error:  # the user's own code: any failure is reported with its place
        raise BrokenPaper(f"{_place(error, key)}: {type(error).__name__}: {_message(error)}") from error
    return reproduction


def _place(error: Exception, key: str) -> str:
    """File and line of an error, in the paper's folder where the traceback passes it."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    passed = [frame for frame in frames if Path(frame.filename).parent.name == key]
    return f"{passed[-1].filename}, line {passed[-1].lineno}" if passed else f"{package(key)}/paper.py"


def _message(error: Exception) -> str:
    """The text of an error: without the place of a SyntaxError, with the nearest key where a declaration has none."""
    wrong = re.fullmatch(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    if wrong and (kind := getattr(declarations, wrong[1], None)):
        return f"{wrong[1]}: {wrong[2]}: no such key. {nearest(wrong[2], kind.__dataclass_fields__)}"
    return error.msg if isinstance(error, SyntaxError) else str(error)


def arm_sets(reproduction: Reproduction) -> dict[str, set[tuple[str, str]]]:
    """Name of a set -> its (model, arm) pairs: "all", each published table ("table4"), and the declared ones."""
    sets = {"all": {(arm.model, arm.key) for arm in reproduction.arms}}
    for cell in published(reproduction.key) if reproduction.key in papers() else ():
        sets.setdefault(cell.table.lower().replace(" ", ""), set()).add((cell.model, cell.arm))
    for name, members in reproduction.sets.items():
        pairs = ((arm.model, arm.key) for arm in reproduction.arms)
        sets[name] = {(model, arm) for model, arm in pairs if arm in members or f"{model}/{arm}" in members}
    return sets


def published(key: str) -> list[Published]:
    """The paper's tables, cell by cell, in the order of the file. Empty for the baselines."""
    if key == BASELINES:
        return []
    path = Path(importlib.import_module(package(key)).__path__[0]) / "published.csv"
    with path.open(newline="") as file:
        return [Published(printed=row.pop("value"), **row) for row in csv.DictReader(file)]


@cache
def elsewhere() -> list[dict[str, Any]]:
    """The measurements of others on the papers' untrained models: a dictionary a source, as
    `reproductions/elsewhere.yaml` has it. `scores` is model -> benchmark -> text."""
    import yaml

    path = Path(importlib.import_module("reproductions").__path__[0]) / "elsewhere.yaml"
    sources: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return sources

"""Verdicts of this project as a file of answers: which file of an evaluation, and how they were decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from evals.answer_files.formats.ours import Verdicts
from evals.answer_files.sample import Sample
from evals.data import protocols
from evals.errors import UsageError
from evals.files import read_object
from evals.grading import Conventions
from evals.grading.equivalence import DEFAULT

TABLE = "verdicts.parquet"


def file_of(path: Path) -> Path:
    """The file itself; of a folder that an evaluation wrote, the verdicts of its one benchmark.

    Raises:
        UsageError: no such file, no verdicts in the folder, or those of several benchmarks.
    """
    if not path.is_dir():
        if not path.is_file():
            raise UsageError(f"file={path}: expected a file of answers, or the folder of an evaluation. Found none")
        return path
    tables = [path / TABLE] if (path / TABLE).is_file() else []
    tables = tables or sorted(path.glob(f"*/{TABLE}")) or sorted(path.glob(f"eval/*/{TABLE}"))
    if not tables and any(path.glob("**/manifest.json")):
        raise UsageError(f"file={path}: an evaluation without verdicts yet. The same rlvr eval goes on where it is")
    if not tables:
        raise UsageError(f"file={path}: expected a file of answers, or the folder of an evaluation. It has no {TABLE}")
    if len(tables) > 1:
        names = ", ".join(str(table.parent) for table in tables)
        raise UsageError(f"file={path}: expected one benchmark, found several. Give one of {names}")
    return tables[0]


def decided_by(path: Path, rows_format: str, rows: Sequence[Sample]) -> tuple[str, str] | None:
    """The extraction policy that decided the verdicts of a file of this project, and the part of a response that it
    read (`evals.grading.reasoning`): by the manifest of the evaluation beside it, else by its column `graded_by`. None
    for other files, and where they do not say one.

    Raises:
        DamagedFileError: the manifest cannot be read.
    """
    if rows_format != Verdicts.about.name:
        return None
    if (manifest := path.with_name("manifest.json")).is_file() and path.name == TABLE:
        identity = read_object(manifest, "identity", "record")
        assert identity is not None  # the file is there
        policy = protocols.recorded_policy(identity)
        return None if policy is None else (policy, protocols.recorded_reasoning(identity))
    stated = {row.graded_by for row in rows}
    if len(stated) != 1 or not isinstance(text := stated.pop(), str):
        return None
    policy, *settings = text.split(", ")
    named = [word.removeprefix("reasoning ") for word in settings if word.startswith("reasoning ")]
    return policy.removeprefix("policy "), next(iter(named), "after")


def graded_by(policy: str, reasoning: str, conventions: Conventions = DEFAULT) -> str:
    """The settings that decide verdicts beside the responses, in words that are equal where they are: the extraction
    policy, and what is not the default."""
    usual = asdict(DEFAULT)
    changed = [f"{key}={str(value).lower()}" for key, value in asdict(conventions).items() if value != usual[key]]
    return ", ".join([f"policy {policy}", *([] if reasoning == "after" else [f"reasoning {reasoning}"]), *changed])

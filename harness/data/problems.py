"""Load training problems and solutions from the hub, a local file or the tiny family, and check every row."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from evals.data.copies import two_golds
from evals.data.problem_file import ProblemFile, is_problem_file
from evals.data.rows import SUFFIXES
from evals.log import logger
from evals.paths import ABSENT, reach, refuse_mixed
from evals.suggest import expected
from harness.data.named import SETS, NamedSet, file_rows
from harness.data.tiny import FAMILIES, family
from harness.errors import UsageError

COLUMNS = ("problem", "answer")
PERFECTIBLE, SOLVED = "perfectible", (0.2, 0.8)  # arXiv 2510.26788, section 4: solved in 20 to 80 % of the samples
SOLUTION_COLUMNS = ("problem", "solution")
TINY_PROBLEMS = 4000


@dataclass(frozen=True)
class Source:
    """Where the rows of a data set are: in a `file`, or on the `hub` under this id. None of both: they are made here.

    Args:
        named: its entry in `SETS`. columns: of a file of your own, our column -> the file's.
        verdicts: the file of verdicts by which `perfectible` chooses problems.
    """

    file: Path | None = None
    hub: str | None = None
    named: NamedSet | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    verdicts: Path | None = None


def source(dataset: str) -> Source:
    """Read the name of a data set, in any form of `load_problems`: a tiny family, NAME, NAME:FILE,
    FILE?our=theirs&perfectible=VERDICTS, or an id on the hub.

    Raises:
        UsageError: NAME:FILE without such a set, or a map that is not of that form, or of a column that there is not.
    """
    if dataset in FAMILIES:
        return Source()
    name, colon, path = dataset.partition(":")
    if name in SETS:
        return Source(Path(path), None, SETS[name]) if colon else Source(None, SETS[name].hub, SETS[name])
    if colon and not Path(dataset).exists():
        raise UsageError(f"dataset: expected NAME:FILE with a NAME of {', '.join(SETS)}, got {dataset!r}")
    if not is_problem_file(dataset):
        return Source(hub=dataset)
    given = ProblemFile.parse(dataset, dict.fromkeys((*COLUMNS, *SOLUTION_COLUMNS, PERFECTIBLE)))
    columns = dict(given.columns)
    verdicts = columns.pop(PERFECTIBLE, None)
    return Source(Path(given.path), columns=columns, verdicts=None if verdicts is None else Path(verdicts))


def load_problems(dataset: str, *, seed: int = 0, more: tuple[str, ...] = ()) -> list[dict[str, str]]:
    """Rows with the columns `problem` and `answer`.

    Args:
        dataset: a tiny family (`harness.data.tiny.FAMILIES`); a name in `harness.data.named.SETS`; NAME:FILE, a local
            file with the columns of that set; a local file (.jsonl, .jsonl.gz, .json, .parquet, .csv) with our
            columns; or another hub data set id, of which the train split is read. A row without `answer` but with
            `solution` (as in MATH) gives the last box of the solution. One without `problem` but with `question` gives
            that.
        seed: of the tiny families only.
        more: further columns of text or numbers, returned as text.
    Raises:
        UsageError: the file is missing, a row lacks a column (row and column are named), there are no rows, or the rows
            are not those of the named set.
    """
    return _loaded(dataset, (*COLUMNS, *more), seed)


def load_solutions(dataset: str, *, seed: int = 0) -> list[dict[str, str]]:
    """Rows with the columns `problem` and `solution`, for supervised fine-tuning.

    Args:
        dataset, seed: as for `load_problems`. The tiny family gives the same problems, with correct solutions.
    Raises:
        UsageError: as for `load_problems`.
    """
    return _loaded(dataset, SOLUTION_COLUMNS, seed)


def _loaded(dataset: str, columns: tuple[str, ...], seed: int) -> list[dict[str, str]]:
    """The checked rows."""
    return list(_tiny(dataset, columns, seed)) if dataset in FAMILIES else _checked(dataset, _read(dataset), columns)


@lru_cache(maxsize=16)  # a study trains many arms on the problems of each seed
def _tiny(name: str, columns: tuple[str, ...], seed: int) -> tuple[dict[str, str], ...]:
    generate = family(name).train_solutions if columns == SOLUTION_COLUMNS else family(name).train_problems
    return tuple(_checked(name, generate(TINY_PROBLEMS, seed=seed), columns))


def _checked(dataset: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The requested columns of every row. ValueError names the first row that lacks one."""
    if not rows:
        raise UsageError(f"dataset: expected rows in {dataset!r}, got none")
    for number, row in enumerate(rows, 1):
        for column in columns:
            value = row.get(column)
            if column not in SOLUTION_COLUMNS and isinstance(value, int | float) and not isinstance(value, bool):
                row[column] = str(value)
            if not isinstance(row.get(column), str) or not row[column].strip():
                names = [name for name in row if name != "problem" or row[name] is not row.get("question")]
                column_names = f". It has {', '.join(map(repr, names))}" if column not in row else ""
                remedy = (
                    f", and columns={column}:NAME takes another"
                    if column_names and column in (*COLUMNS, *SOLUTION_COLUMNS)
                    else ""
                )
                raise UsageError(
                    f"dataset {dataset!r}, row {number}: expected text in {column!r}, "
                    f"got {row.get(column)!r}{column_names}{remedy}"
                )
    kept = [{column: row[column] for column in columns} for row in rows]
    if "answer" in columns:
        _one_gold_each(dataset, kept)
    return kept


def _one_gold_each(dataset: str, rows: Sequence[Mapping[str, str]]) -> None:
    """Raise UsageError for the first row that repeats a problem with another gold. A named set is as its authors
    published it, so there it is a warning."""
    if conflict := two_golds((row["problem"], row["answer"]) for row in rows):
        text = f"dataset {dataset!r}, {conflict}. One of them rewards wrong responses"
        if dataset.partition(":")[0] not in SETS:
            raise UsageError(f"{text}. Delete or mend a row.")
        logger.warning(f"warning: {text}.")


def perfectible(rows: list[dict[str, object]], verdicts: Path) -> list[dict[str, object]]:
    """The rows that a model solved in 20 to 80 % of its scored samples: a correct algorithm learns all of these
    (Precision-RL, arXiv 2510.26788).

    Args:
        verdicts: of an evaluation of that model on these rows (`rlvr eval benchmarks=[FILE] n=16`), in their order: its
            verdicts.parquet, or its folder.
    Raises:
        UsageError: there is no such file, or it is of other problems.
    """
    import pandas as pd

    from evals.files import read_parquet
    from evals.grading.verdicts import Verdict

    paths = [path for depth in ("", "*/", "eval/*/") for path in verdicts.glob(f"{depth}verdicts.parquet")]
    if verdicts.is_dir() and len(paths) == 1:
        (verdicts,) = paths
    if not verdicts.is_file() or verdicts.suffix != ".parquet":
        raise UsageError(
            f"columns=perfectible:{verdicts}: expected the verdicts.parquet that `rlvr eval` prints, or the folder of "
            f"an evaluation with one, found {f'{len(paths)} of them' if verdicts.is_dir() else 'none'}"
        )
    table = read_parquet(verdicts).to_pandas()
    problems = table.groupby("problem_id", sort=False)
    golds, given = problems["gold"].first().tolist(), [str(row.get("answer")).strip() for row in rows]
    if golds != given:
        raise UsageError(f"dataset: expected verdicts of the file's {len(rows)} problems, {verdicts} has others")
    scored = table["verdict"].ne(Verdict.UNSCORED)
    solved = table["verdict"].eq(Verdict.CORRECT).where(scored).astype(float).groupby(table["problem_id"], sort=False)
    low, high = SOLVED
    return [row for row, share in zip(rows, solved.mean(), strict=True) if pd.notna(share) and low <= share <= high]


def _read(dataset: str) -> list[dict[str, Any]]:
    at = source(dataset)
    rows: Iterable[dict[str, Any]]
    if at.named:
        rows = at.named.load(at.file)
    elif at.file:
        rows = list(_mapped(at, at.file))
        rows = rows if at.verdicts is None else perfectible(rows, at.verdicts)
    else:
        from datasets import load_dataset

        rows = load_dataset(dataset, split="train")
    return [_with_answer(row) for row in rows]


def count_rows(dataset: str) -> int | None:
    """The number of problems in a data set, or None for a hub data set whose number no entry states. A local file is
    read.

    Args:
        dataset: as for `load_problems`.
    Raises:
        UsageError: the file is missing or cannot be read, or the form is none of those.
    """
    at = source(dataset)
    if at.verdicts:
        return len(_read(dataset))
    if at.named and (declared := at.named.rows or at.named.read):
        return declared
    if at.file:
        return sum(1 for _ in _mapped(at, at.file))
    if at.hub is None:
        return TINY_PROBLEMS
    if not at.named and not re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", dataset):
        raise UsageError(
            f"dataset: expected {', '.join(FAMILIES)}, a name of {', '.join(SETS)}, a file ({', '.join(SUFFIXES)}) or "
            f"a hub id (owner/name), got {dataset!r}"
        )
    return None


def _mapped(at: Source, file: Path) -> Iterator[dict[str, object]]:
    """The rows of a file, with our columns filled from the paths that the user named (`evals.paths.reach`).

    Raises:
        UsageError: some or all rows have no such column.
    """
    rows = list(file_rows(file))
    refuse_mixed(file, rows, at.columns, in_part=False)
    for row in rows:
        values = {column: reach(row, source_column) for column, source_column in at.columns.items()}
        for column, source_column in at.columns.items():
            if values[column] is ABSENT:
                near = expected(source_column, dict.fromkeys(name for row_names in rows for name in row_names))
                raise UsageError(f"columns={column}:{source_column}: no row of {file} has such a column. {near}")
        yield {**row, **values}


def _with_answer(row: dict[str, Any]) -> dict[str, object]:
    """Fill `problem` from `question`, and `answer` from the last box of `solution` (MATH has no answer column)."""
    if row.get("problem") is None and "question" in row:
        row = {**row, "problem": row["question"]}
    if row.get("answer") is None and isinstance(row.get("solution"), str):
        from evals.grading.extraction import boxes

        boxed = boxes(row["solution"])
        return {**row, "answer": boxed[-1] if boxed else None}
    return row


def content_hash(rows: list[dict[str, str]]) -> str:
    """SHA-256 of the values of all rows in order (for example of problems and answers), for the record."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(list(row.values()), ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()

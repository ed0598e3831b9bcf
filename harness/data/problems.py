"""Load training problems and solutions from the hub, a local file or the tiny family, and check every row."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from evals.data.rows import SUFFIXES
from harness.data.named import SETS, file_rows
from harness.data.tiny import FAMILIES, family

COLUMNS = ("problem", "answer")
PERFECTIBLE, SOLVED = "perfectible", (0.2, 0.8)  # arXiv 2510.26788, section 4: solved in 20 to 80 % of the samples
SOLUTION_COLUMNS = ("problem", "solution")
TINY_PROBLEMS = 4000


def load_problems(dataset: str, *, seed: int = 0, more: tuple[str, ...] = ()) -> list[dict[str, str]]:
    """Rows with the columns `problem` and `answer`.

    Args:
        dataset: a tiny family (`harness.data.tiny.FAMILIES`); a name in `harness.data.named.SETS`; NAME:FILE, a local
            file with the columns of that set; a local .jsonl, .json or .parquet file with our columns; or another hub
            data set id, of which the train split is read. A row without `answer` but with `solution` (as in MATH)
            gives the last box of the solution; one without `problem` but with `question` gives that.
        seed: of the tiny families only.
        more: further columns of text or numbers, returned as text.
    Raises:
        ValueError: the file is missing, a row lacks a column (row and column are named), there are no rows, or the rows
            are not those of the named set.
    """
    return _loaded(dataset, (*COLUMNS, *more), seed)


def load_solutions(dataset: str, *, seed: int = 0) -> list[dict[str, str]]:
    """Rows with the columns `problem` and `solution`, for supervised fine-tuning.

    Args:
        dataset, seed: as for `load_problems`; the tiny family gives the same problems, with correct solutions.
    Raises:
        ValueError: as for `load_problems`.
    """
    return _loaded(dataset, SOLUTION_COLUMNS, seed)


def _loaded(dataset: str, columns: tuple[str, ...], seed: int) -> list[dict[str, str]]:
    """The checked rows."""
    return list(_tiny(dataset, columns, seed)) if dataset in FAMILIES else _checked(dataset, _read(dataset), columns)


@lru_cache(maxsize=16)  # a study trains many arms on the problems of each seed
def _tiny(name: str, columns: tuple[str, ...], seed: int) -> tuple[dict[str, str], ...]:
    made = family(name).train_solutions if columns == SOLUTION_COLUMNS else family(name).train_problems
    return tuple(_checked(name, made(TINY_PROBLEMS, seed=seed), columns))


def _checked(dataset: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The requested columns of every row; ValueError names the first row that lacks one."""
    if not rows:
        raise ValueError(f"dataset: expected rows in {dataset!r}, got none")
    for number, row in enumerate(rows):
        for column in columns:
            if column not in (*COLUMNS, *SOLUTION_COLUMNS) and isinstance(row.get(column), (int, float)):
                row[column] = str(row[column])
            if not isinstance(row.get(column), str) or not row[column].strip():
                raise ValueError(
                    f"dataset {dataset!r}, row {number}: expected text in {column!r}, got {row.get(column)!r}"
                )
    return [{column: row[column] for column in columns} for row in rows]


def _named(dataset: str) -> tuple[str | None, Path | None]:
    """NAME or NAME:FILE, where NAME is in `SETS` -> (NAME, the file or None); anything else -> (None, None)."""
    name, colon, path = dataset.partition(":")
    if name in SETS:
        return name, Path(path) if colon else None
    if colon and not Path(dataset).exists():
        raise ValueError(f"dataset: expected NAME:FILE with a NAME of {', '.join(SETS)}, got {dataset!r}")
    return None, None


def own_file(dataset: str) -> tuple[Path, dict[str, str]] | None:
    """FILE, or FILE?our=theirs&our=theirs -> (the file, our column -> the file's); None for what names no local file.

    `perfectible=VERDICTS` in place of a column keeps the problems that `perfectible` finds in that file of verdicts.

    Raises:
        ValueError: a map that is not of that form, or of a column that there is not.
    """
    file, mark, mapped = dataset.partition("?")
    if not file.endswith(SUFFIXES):
        return None
    theirs: dict[str, str] = {}
    for pair in mapped.split("&") if mark else ():
        our, equals, their = pair.partition("=")
        if our not in (*COLUMNS, *SOLUTION_COLUMNS, PERFECTIBLE) or not equals or not their:
            raise ValueError(
                f"dataset: expected FILE?problem=THEIRS&answer=THEIRS (or solution=THEIRS, perfectible=VERDICTS), got "
                f"{dataset!r}"
            )
        theirs[our] = their
    return Path(file), theirs


def perfectible(rows: list[dict[str, Any]], verdicts: Path) -> list[dict[str, Any]]:
    """The rows that a model solved in 20 to 80 % of its scored samples: a correct algorithm learns all of these
    (Precision-RL, arXiv 2510.26788).

    Args:
        verdicts: of an evaluation of that model on these rows (`rlvr eval benchmarks=[FILE] n=16`), in their order.
    Raises:
        ValueError: it is of other problems.
    """
    import pandas as pd

    from evals.files import read_parquet
    from evals.grading.verdicts import Verdict

    table = read_parquet(verdicts).to_pandas()
    problems = table.groupby("problem_id", sort=False)
    golds, given = problems["gold"].first().tolist(), [str(row.get("answer")).strip() for row in rows]
    if golds != given:
        raise ValueError(f"dataset: expected verdicts of the file's {len(rows)} problems, {verdicts} has others")
    scored = table["verdict"].ne(Verdict.UNSCORED)
    solved = table["verdict"].eq(Verdict.CORRECT).where(scored).astype(float).groupby(table["problem_id"], sort=False)
    low, high = SOLVED
    return [row for row, share in zip(rows, solved.mean(), strict=True) if pd.notna(share) and low <= share <= high]


def _read(dataset: str) -> list[dict[str, Any]]:
    name, path = _named(dataset)
    rows: Iterable[dict[str, Any]]
    if name:
        rows = SETS[name].load(path)
    elif given := own_file(dataset):
        path, theirs = given
        verdicts = theirs.pop(PERFECTIBLE, None)
        rows = [{**row, **{our: row.get(their) for our, their in theirs.items()}} for row in file_rows(path)]
        rows = rows if verdicts is None else perfectible(rows, Path(verdicts))
    else:
        from datasets import load_dataset

        rows = load_dataset(dataset, split="train")
    return [_with_answer(row) for row in rows]


def count_rows(dataset: str) -> int | None:
    """The number of problems in a data set, without loading it fully; None for a hub data set that no entry describes.

    Args:
        dataset: as for `load_problems`.
    Raises:
        ValueError: the file is missing or cannot be read, or the form is none of those.
    """
    if dataset in FAMILIES:
        return TINY_PROBLEMS
    name, path = _named(dataset)
    if name:
        declared = SETS[name].rows or SETS[name].read
        return sum(1 for _ in file_rows(path)) if path and declared is None else declared
    if given := own_file(dataset):
        return len(_read(dataset)) if PERFECTIBLE in given[1] else sum(1 for _ in file_rows(given[0]))
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", dataset):
        raise ValueError(
            f"dataset: expected {', '.join(FAMILIES)}, a name of {', '.join(SETS)}, a file ({', '.join(SUFFIXES)}) or "
            f"a hub id (owner/name), got {dataset!r}"
        )
    return None


def hub_id(dataset: str) -> str | None:
    """The hub's id of the data set that `load_problems` would download; None for local files and the tiny families.

    Raises:
        ValueError: NAME:FILE with an unknown NAME.
    """
    name, path = _named(dataset)
    if name:
        return SETS[name].hub if path is None else None
    return None if dataset in FAMILIES or own_file(dataset) else dataset


def _with_answer(row: dict[str, Any]) -> dict[str, Any]:
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

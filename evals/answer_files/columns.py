"""Rows by our own names, and by those that a user gives: which column of the file is which field of a sample."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evals.answer_files.sample import Sample
from evals.answer_files.values import as_str, golds_of, id_of, problem_text, replied, responses_of, short
from evals.answer_files.what_to_type import argument
from evals.data.rows import is_nothing
from evals.errors import UsageError
from evals.paths import ABSENT, reach

PARTS = ("level", "subject", "type", "difficulty", "category", "source")
READ = (
    *("problem_id", "answer", "response", "expected", "problem", "finish_reason", "tokens", "step", "seed"),
    *("train_seed", "benchmark", "their_answer", "sampling_error"),
    *("id", "correct", "truncated"),  # the columns of a table of verdicts
    *PARTS,  # parts of a benchmark, for `rlvr audit`
)
"""Our columns, which `columns=` can name."""
_PER_SAMPLE = ("expected", "their_answer", "tokens", "finish_reason", "sampling_error")


def given(row: Mapping[str, object], columns: Mapping[str, str], read: Mapping[str, object]) -> dict[str, object]:
    """Our column -> its value in a row, of those that the user names.

    Args:
        columns: our column -> theirs (`evals.paths.reach`).
        read: our columns as they are read without the user, which `columns` may name as well, as in
            problem_id -> problem.
    Raises:
        UsageError: there is no such column.
    """
    values_read = ((column, path, reach(row, path)) for column, path in columns.items())
    values = {column: read.get(path, ABSENT) if value is ABSENT else value for column, path, value in values_read}
    if lacking := next((column for column, value in values.items() if value is ABSENT), None):
        raise UsageError(f"no column {columns[lacking]!r} for {lacking}. There are {', '.join(row)}")
    return values


_PROBLEM = re.compile(r"(?:^|[_. -])(?:problem|question)(?:[_ ]?text)?$", re.IGNORECASE)


def refuse_reworded(path: Path, rows: Sequence[Mapping[str, object]], columns: Mapping[str, str]) -> None:
    """Refuse rows of one id whose problems are different texts: they would be grouped as samples of one problem.

    Raises:
        UsageError: it names the first such row, and the column that tells its problems apart.
    """
    id_column = columns.get("problem_id", "problem_id")
    texts = [name for name in rows[0] if _PROBLEM.search(name) and name != id_column]
    texts += [name for name in (columns.get("problem"),) if name and name not in texts]
    first: dict[tuple[str, str], tuple[int, object]] = {}
    for number, row in enumerate(rows, 1):
        identifier = reach(row, id_column)
        for name in texts:
            text = reach(row, name)
            if identifier is ABSENT or is_nothing(identifier) or not isinstance(text, str):
                continue
            at, before = first.setdefault((str(identifier), name), (number, text))
            if before != text:
                raise UsageError(
                    f"{path}, row {number}: {id_column} {short(identifier)} has another {name} than in row {at}. "
                    f"Rows of one id count as samples of one problem. Type columns=problem_id:{name} to count each text"
                )


def refuse_columnar(row: Mapping[str, object], columns: Mapping[str, str], samples: Sequence[Sample]) -> None:
    """Refuse a row with as many different golds as responses: each gold may be that of one response.

    Raises:
        UsageError: it says how to read a row for each, and how to take the golds as those of one problem.
    """
    golds = samples[0].golds if samples else ()
    if not 1 < len(golds) == len(samples) or len({*golds}) == 1:
        return
    paths = {column: columns.get(column, column) for column in ("problem", "answer", "response", "expected")}
    paths["answer"] = "gold" if paths["answer"] not in row and "gold" in row else paths["answer"]
    lists = {column: path for column, path in paths.items() if isinstance(reach(row, path), list)}
    each = argument({column: f"{path}.*" for column, path in lists.items()})
    raise UsageError(
        f"answer is {short(list(golds))}, and there are as many responses as golds. If each response has its own gold, "
        f"type {each}. If all are golds of one problem, type golds=any (a response is right that has one of them) or "
        "golds=all (that lists them all)"
    )


def by_name(row: Mapping[str, object], columns: Mapping[str, str]) -> dict[str, object]:
    """Our column -> its value in a row that has our names. A column that the user gives to one of our names is not read
    by its own name as well.

    Raises:
        UsageError: it has a gold and an answer, and they differ.
    """
    away = {path.split(".")[0] if path not in row else path for paths in columns.values() for path in paths.split("|")}
    row_values = {name: value for name, value in row.items() if name not in away}
    values = {name: row_values[name] for name in READ if name in row_values and name not in columns}
    if "gold" in row_values and "answer" not in columns:
        if "answer" in row_values and str(row_values["answer"]) != str(row_values["gold"]):
            raise UsageError(
                "both gold and answer, and they differ: columns=answer:gold takes gold as the gold answer, "
                "columns=answer:answer takes answer"
            )
        values["answer"] = row_values["gold"]
    if "problem" not in values and "problem" not in columns and isinstance(row_values.get("question"), str):
        values["problem"] = row_values["question"]
    return values


def sample_of(row: Mapping[str, object], columns: Mapping[str, str]) -> Sample:
    """A sample with nothing but the columns of its row, which are written out again. One that was given to another name
    of ours, and has one of them, is kept as NAME_in_file."""
    away = {source for column, source in columns.items() if source in READ and source != column}
    return Sample(extras={f"{name}_in_file" if name in away else name: value for name, value in row.items()})


def with_values(
    samples: Sequence[Sample], values: Mapping[str, object], label: str = "expected", columnar: bool = False
) -> list[Sample]:
    """The samples of a row with values of columns: several, where the response is a list.

    Args:
        values: our column -> its value. label: what `expected` is called. columnar: each value is a list, of a value
            for each sample.
    Raises:
        UsageError: a value has another type, or lists have other lengths.
    """
    texts = responses_of(values["response"]) if "response" in values else []
    several = isinstance(values.get("response"), list) and len(samples) == 1
    results = [samples[0]] * len(texts) if several else list(samples)
    rest = {name: value for name, value in values.items() if name != "response"}
    lists = {
        name: column for name, column in rest.items() if isinstance(column, list) and (columnar or name in _PER_SAMPLE)
    }
    if several and len(texts) > 1 and rest.get("expected") is not None and "expected" not in lists:
        raise UsageError(
            f"expected: one verdict for {len(texts)} responses. It may be the verdict of their majority. To read the "
            "verdicts alone, type `columns=id:PATH,correct:PATH`. To grade the responses, leave expected out"
        )
    lengths = {"response": len(results), **{name: len(column) for name, column in lists.items()}}
    if len(set(lengths.values())) > 1:
        raise UsageError(f"lists of other lengths: {', '.join(f'{name} {length}' for name, length in lengths.items())}")
    for name, value in rest.items():
        column = lists.get(name, [value] * len(results))
        results = [_with(sample, name, item, label) for sample, item in zip(results, column, strict=True)]
    if not texts:
        return results
    if len(texts) != len(results):
        raise UsageError(f"lists of other lengths: response {len(texts)}, samples {len(results)}")
    replies = [(sample, *replied(text, sample.finish_reason)) for text, sample in zip(texts, results, strict=True)]
    return [replace(sample, response=response, finish_reason=finish) for sample, response, finish in replies]


def _with(sample: Sample, name: str, value: object, label: str) -> Sample:
    """The sample with the value of one of our columns."""
    match name:
        case "problem_id":
            return replace(sample, problem_id=id_of(value))
        case "answer":
            return replace(sample, golds=golds_of(value))
        case "expected":
            return replace(sample, labels={label: value})
        case "problem":
            return replace(sample, problem=problem_text(value))
        case "benchmark":
            return replace(sample, benchmark=as_str(value) or None)
        case "finish_reason":
            if not isinstance(value, str | None):
                raise UsageError(f"finish_reason is {short(value)}. Expected a string or null")
            return replace(sample, finish_reason=value or None)
        case "sampling_error":
            return replace(sample, sampling_error=None if is_nothing(value) else str(value))
        case "their_answer":
            return replace(sample, their_answer=str(value) if isinstance(value, str | int | float) else None)
        case "tokens":
            return replace(sample, tokens=value if isinstance(value, int) else None)
        case "step":
            return replace(sample, step=value if isinstance(value, str | int | float) else None)
        case _:
            return replace(sample, extras={**sample.extras, name: value})

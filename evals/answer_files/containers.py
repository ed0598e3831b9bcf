"""The objects in a file of answers: a data file of any form, or an inspect log (zip or JSON)."""

from __future__ import annotations

import io
import re
import shlex
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeGuard

from evals.answer_files.columnar import table_of
from evals.answer_files.formats import format_of
from evals.answer_files.listing import listing
from evals.answer_files.names import holds_rows, may_be_row
from evals.answer_files.values import is_conversation
from evals.answer_files.what_to_type import has_verdicts
from evals.convert import refuse_converted
from evals.data.rows import parsed, read_rows
from evals.errors import UsageError
from evals.paths import ABSENT, reach, row_filter
from evals.unpacked import most_unpacked

NOTHING_NAMED: Mapping[str, str] = MappingProxyType({})
ZSTD = 93  # the compression of today's inspect logs, which Python 3.11's zipfile cannot read
_LOCAL_HEADER = struct.Struct("<26xHH")  # a file in a zip archive: 26 bytes, lengths of its name and extra field
HOLDERS = ("samples", "results", "outputs", "details", "data", "rows")  # names of a list of rows in an object
FEWEST_BY_ID = 5  # rows of an object that has an id for each; fewer may be settings of the same kind
FEWEST_SHARES = 2  # numbers with a point that make a row of words and numbers one of scores
LONGEST_NAME = 40  # characters of a word beside scores, as of a model or a split
DEEPEST = 5  # objects around a list of rows
SHOWN = 12  # paths of each of several lists
LISTS = 6  # lists whose paths are listed


def contents(
    path: Path, columns: Mapping[str, str] = NOTHING_NAMED, conditions: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The objects of a file, found by its content.

    Args:
        columns: our name -> the file's. If one object has several lists of rows, the list that has them all is read.
        conditions: of `rows=`. One that ends in `.*` is the path to the list of rows.
    Raises:
        UsageError: its content contradicts its first bytes or its name, or it has no objects.
        OSError: it cannot be read.
    """
    refuse_converted(path)
    with path.open("rb") as file:
        zipped = file.read(2) == b"PK"
    objects = _zipped(path) if zipped else list(read_rows(path, of_any_name=True))
    if lists := [condition.removesuffix(".*") for condition in conditions if condition.endswith(".*")]:
        objects = _listed(path, objects, lists[0])
    elif len(objects) == 1 and isinstance(objects[0], dict):
        try:
            objects = _inside(objects[0], columns)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error
    if not objects:
        raise UsageError(f"{path}: expected rows, found none")
    _refuse_head(path, objects)
    if strange := [number for number, row in enumerate(objects, 1) if not isinstance(row, dict)]:
        raise UsageError(f"{path}, row {strange[0]}: expected an object")
    return objects


def _listed(file: Path, objects: Sequence[object], path: str) -> list[Any]:
    """The rows of the list at a path of each object.

    Raises:
        UsageError: there is no list of objects.
    """
    lists = [rows for whole in objects if (rows := _rows_at(reach(whole, path)))]
    if not lists:
        raise UsageError(f"{file}: rows={path}.*: there is no list of objects at {path}, and no object of ids")
    return [row for rows in lists for row in rows]


def _rows_at(value: object) -> list[dict[str, object]]:
    """The rows in a list of objects, or in an object of id -> row or of id -> text or number; [] of another value."""
    if isinstance(value, dict):
        rows = [row if isinstance(row, dict) else {"value": row} for row in value.values()]
        return [{"problem_id": key, **row} for key, row in zip(value, rows, strict=True)]
    return value if _is_rows(value) else []


def _refuse_head(path: Path, objects: Sequence[Any]) -> None:
    """Refuse rows below a first one of scores alone, as BFCL writes them: they may be the failures only.

    Raises:
        UsageError: it has the scores.
    """
    head, *rows = objects[:2]
    if not rows or not all(isinstance(row, dict) for row in (head, *rows)) or not is_scores(head):
        return
    if not any("." in str(value) for value in head.values()) or head.keys() & rows[0].keys():
        return
    scores = ", ".join(f"{name} {value}" for name, value in head.items() if not isinstance(value, dict))
    raise UsageError(
        f"{path}, row 1: these are scores ({scores}), and the {len(objects) - 1} rows below have other fields. They "
        f"may be the failures alone. If they are all samples, type tail -n +2 {shlex.quote(str(path))} > rows.jsonl"
    )


def _by_id(whole: Mapping[str, Any], fewest: int = FEWEST_BY_ID) -> list[dict[str, Any]]:
    """The rows of an object of id -> row, or of id -> list of rows, which are samples of a problem; each has its id as
    `problem_id`. [] of another object: its rows have other names, or are fewer, as settings or splits are."""
    rows_of = {key: value if isinstance(value, list) else [value] for key, value in whole.items()}
    if len(whole) < fewest or not all(_is_rows(rows) and not is_conversation(rows) for rows in rows_of.values()):
        return []
    rows_found = [{"problem_id": key, **row} for key, rows in rows_of.items() for row in rows]
    return rows_found if len({tuple(row) for row in rows_found}) == 1 else []


def _refuse_lists_by_id(whole: Mapping[str, object]) -> None:
    """Refuse an object of id -> list, whose lists say nothing of what stands in them.

    Raises:
        UsageError: it says how Python makes a row of each id.
    """
    if len(whole) > 1 and all(isinstance(value, list) for value in whole.values()) and not may_be_row(dict(whole)):
        raise UsageError(
            f"it holds a list for each of {len(whole)} names ({', '.join([*whole][:3])}), and may have one for each "
            f"problem. Write a row for each: {ROWS_OF_LISTS}. Then name the columns, as value.0"
        )


ROWS_OF_LISTS = (
    """python -c "import json; [print(json.dumps({'problem_id': key, 'value': value})) for key, value in """
    """json.load(open('FILE')).items()]" > rows.jsonl"""
)


def _inside(whole: dict[str, Any], columns: Mapping[str, str]) -> list[Any]:
    """The objects inside a file of one object: itself, where it is a row or no container.

    Raises:
        UsageError: it is a known container without rows, or has several lists of them.
    """
    if format_of(whole) is not None:
        return [whole]
    if (table := table_of(whole)) is not None:
        return table
    if columns and _has(whole, columns):
        return [whole]
    if rows := _held(whole) or _of_tasks(whole) or _by_id(whole):
        return rows
    lists = _lists_inside(whole)
    fitting = [rows for rows in lists.values() if _has(rows[0], columns)]
    if columns and len(fitting) == 1:
        return fitting[0]
    _refuse_scores_of_lm_eval(whole)
    _refuse_log(whole)
    if rows := _of_details(whole, few=2 if lists else 1):
        return rows
    if not lists and not columns:
        _refuse_lists_by_id(whole)
    is_row = may_be_row(whole) or any(_is_rows(whole.get(name)) for name in HOLDERS)
    return [whole] if is_row else _of_lists(whole, lists)


def _lists_inside(whole: dict[str, object]) -> dict[str, list[dict[str, Any]]]:
    """Path -> a list of rows. Where lm-eval wrote the samples into the file of its scores, theirs alone."""
    tasks = whole.get("samples")
    return _lists(tasks, "samples.") if "results" in whole and _is_tasks(tasks) else _lists(whole)


def _has(row: Mapping[str, object], columns: Mapping[str, str]) -> bool:
    """Whether a row has every column that was named."""
    return all(reach(row, path) is not ABSENT for path in columns.values())


def _held(whole: dict[str, object]) -> list[object]:
    """The rows under a usual name."""
    for name in HOLDERS:
        if _is_rows(rows := whole.get(name)) and holds_rows(whole, rows[0]):
            return list(rows)
    return []


def _of_tasks(whole: Mapping[str, object]) -> list[object]:
    """The samples of evalplus: task -> samples.

    Raises:
        UsageError: it is an inspect log, which has the same key, without samples.
    """
    tasks = whole.get("eval")
    if not isinstance(tasks, dict):
        return []
    if tasks and all(_is_rows(rows_of_task) for rows_of_task in tasks.values()):
        return [sample for samples in tasks.values() for sample in samples]
    if {"version", "status"} <= whole.keys():
        raise UsageError(NO_SAMPLES)
    return []


def _of_details(whole: dict[str, Any], few: int) -> list[Any]:
    """The rows of OpenCompass: id -> object, beside the scores, or the predictions alone.

    Args:
        few: the fewest rows. An object with one object in it, which has lists, is no table.
    """
    details = whole.get("details", whole)
    if not isinstance(details, dict):
        return []
    rest = {key: row for key, row in details.items() if key != "type"}
    return _by_id(rest, few) if all(isinstance(row, dict) for row in rest.values()) else []


def _refuse_scores_of_lm_eval(whole: dict[str, object]) -> None:
    """Raise UsageError for results_*.json: scores by task, and how they were made."""
    results = whole.get("results")
    if _is_tasks(whole.get("samples")):  # written with the samples inside
        return
    scores = isinstance(results, dict) and all(isinstance(task, dict) and not _lists(task) for task in results.values())
    if scores and {"configs", "config", "versions", "n-shot"} & whole.keys():
        raise UsageError(
            "these are lm-eval's scores without samples. Run lm_eval with --log_samples, and give its samples_*.jsonl"
        )


def _refuse_log(whole: Mapping[str, object]) -> None:
    """Raise UsageError for a notebook, and for a trainer's log: it says what reads it."""
    if {"nbformat", "cells"} <= whole.keys():
        raise UsageError(
            "this is a notebook. rlvr curves reads the curves that its cells printed. To grade responses or check "
            "verdicts, write them to a file"
        )
    history = whole.get("log_history")
    if _is_rows(history):
        names = dict.fromkeys(name for entry in history for name in entry if name != "step")
        raise UsageError(
            "this is a trainer's log without responses. Type rlvr audit with metric=NAME and printed=NUMBER. Its "
            f"metrics are {', '.join(names)}"
        )


def _of_lists(whole: dict[str, Any], lists: Mapping[str, list[dict[str, Any]]]) -> list[Any]:
    """The rows of the only list of an object that is no row itself; the object, where it has none and is no score.

    Raises:
        UsageError: it has several lists, or scores alone.
    """
    scores = is_scores(whole) or is_scores(whole, words=True)
    if len(lists) == 1 and not (scores and not has_verdicts(next(iter(lists.values())))):
        return next(iter(lists.values()))
    if scores:
        raise UsageError(without_samples(whole))
    if lists:
        longest = max(lists, key=lambda path: len(lists[path]))
        raise UsageError(
            f"it has several lists of rows. To read one, type {row_filter(f'{longest}.*')}, or another of these lists. "
            "If columns= names paths that one list alone has, that list is read. Needed are answer (the gold) and "
            f"response. The lists and their paths are:\n{_of_each_list(lists)}"
        )
    return [whole]


def _of_each_list(lists: Mapping[str, Sequence[Mapping[str, object]]]) -> str:
    """The paths of the first lists, and the names of the others."""
    names = [*lists]
    lines = [f"{name}.*, {len(lists[name])} rows:\n{listing(lists[name][0], SHOWN)}" for name in names[:LISTS]]
    return "\n".join([*lines, *(f"{name}.*, {len(lists[name])} rows" for name in names[LISTS:])])


def _lists(value: dict[str, object], at: str = "", depth: int = DEEPEST) -> dict[str, list[dict[str, Any]]]:
    """Path -> a list of rows inside an object. A conversation is none."""
    rows_by_path: dict[str, list[dict[str, Any]]] = {}
    for name, inside in value.items():
        if _is_rows(inside) and not is_conversation(inside):
            rows_by_path[f"{at}{name}"] = inside
        elif isinstance(inside, dict) and (rows := _by_id(inside)):
            rows_by_path[f"{at}{name}"] = rows
        elif isinstance(inside, dict) and depth:
            rows_by_path |= _lists(inside, f"{at}{name}.", depth - 1)
    return rows_by_path


def is_scores(whole: Mapping[str, Any], words: bool = False) -> bool:
    """Whether an object holds numbers, or objects that do, and nothing beside them.

    Args:
        words: or the only row of a table, which may have a few words, as of a model or a split.
    """
    values = [value for name, value in whole.items() if name != "config"]
    numbers = [value for value in values if _number(value)]
    groups = [value for value in values if isinstance(value, dict)]
    texts = [value for value in values if isinstance(value, str) and not _number(value)] if words else []
    named = [text for text in texts if len(text) <= LONGEST_NAME]
    shares = [value for value in numbers if "." in str(value)]
    enough = not words or len(shares) + len(groups) >= max(FEWEST_SHARES, len(named))
    known = enough and len(numbers) + len(groups) + len(named) == len(values)
    return bool(values) and known and all(is_scores(group) for group in groups)


def _number(value: object) -> bool:
    """A number, also as a CSV has it; true is none."""
    if isinstance(value, str):
        return re.fullmatch(r"[-+]?\d*\.?\d+%?", value.strip()) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def without_samples(whole: Mapping[str, object]) -> str:
    """The advice about scores."""
    return (
        f"these are scores without samples ({', '.join(whole)}). Give the file that the same tool writes with its "
        "responses or verdicts. To ask whether two scores differ, type rlvr agree"
    )


NO_SAMPLES = "this is an inspect log without samples. Its evaluation was not finished, or only its header was saved"


def _is_rows(value: object) -> TypeGuard[list[dict[str, object]]]:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _is_tasks(value: object) -> TypeGuard[dict[str, object]]:
    """Whether it is task -> samples."""
    return isinstance(value, dict) and bool(value) and all(map(_is_rows, value.values()))


def _zipped(path: Path) -> list[Any]:
    left = most = most_unpacked(path)
    samples = []
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
            files = {info.filename: info for info in archive.infolist()}
            inside = sorted(name for name in files if name.startswith("samples/") and name.endswith(".json"))
            if not inside and {"header.json", "_journal/start.json"} & files.keys():
                raise UsageError(NO_SAMPLES)
            if not inside:
                raise UsageError(
                    f"this archive is no inspect log. Unpack it, and give one of its files: {', '.join([*files][:5])}"
                )
            for name in inside:
                data = _member(stream, archive, files[name], left)
                left -= len(data)
                if left < 0:
                    raise UsageError(f"it unpacks to more than {most / 2**30:.1f} GiB")
                samples.append(parsed(data.decode(), name))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    except (ValueError, EOFError, OSError, zlib.error, zipfile.BadZipFile) as error:
        raise UsageError(f"{path}: damaged or cut short ({error})") from error
    return samples


def _member(stream: io.BufferedReader, archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """The start of a file of the archive, of at most one byte more than `most`; decompresses zstandard itself."""
    if info.compress_type != ZSTD:
        with archive.open(info) as member:
            return member.read(most + 1)
    import pyarrow as pa

    stream.seek(info.header_offset)
    name, extra = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    stream.seek(name + extra, io.SEEK_CUR)
    packed = pa.BufferReader(stream.read(info.compress_size))
    with pa.CompressedInputStream(packed, "zstd") as member:
        return bytes(member.read(most + 1))

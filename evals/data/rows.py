"""The rows of a data file: Parquet, JSON Lines, a JSON list, CSV or TSV, also gzipped. Errors name file and line."""

from __future__ import annotations

import csv
import gzip
import json
import math
import re
import shlex
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, dropwhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from evals.errors import UsageError
from evals.unpacked import Unpacked, check_parquet, parquet_batches

if TYPE_CHECKING:
    from pyarrow import DataType, RecordBatch

NO_TABLE = (
    "this text is no table. JSON Lines, JSON, CSV, TSV and Parquet are read. Write a row for each response, as "
    '{"problem_id": "1", "gold": "5", "response": TEXT}'
)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # how a text in UTF-16 begins
LONGEST_LINE = 1 << 28  # bytes. Reading it takes several times as much memory
SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".parquet", ".csv")


class Written(float):
    """A number that Python would write otherwise, such as 0.10 and 1e3. Its text is the file's."""

    def __new__(cls, text: str | float) -> Written:
        made = super().__new__(cls, text)
        made.text = str(text)
        return made

    text: str

    def __str__(self) -> str:
        return self.text


def number_of(text: str) -> float:
    """The number in a text. It keeps the text where Python would write the number otherwise."""
    value = float(text)
    return value if repr(value) == text else Written(text)


def read_rows(path: Path, *, of_any_name: bool = False) -> Iterator[dict[str, Any]]:
    """The rows in order, nested columns as dicts and lists. A Parquet file is read in batches.

    Args:
        of_any_name: whatever its suffix. A file of one JSON object is its one row.
    Raises:
        UsageError: no such file, another suffix, content that does not match it, or a row that is not a JSON object in
            UTF-8 (with its line).
    """
    if not of_any_name and not path.name.endswith(SUFFIXES):
        raise UsageError(f"{path}: expected a file ending in {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise UsageError(f"{path}: expected a file, there is none")
    name = path.name.removesuffix(".gz")
    if path.name.endswith(".parquet.gz"):
        raise UsageError(f"{path}: expected Parquet as it is (gunzip it): its pages are compressed already")
    if _start(path) == b"PAR1" or name.endswith(".parquet"):
        yield from _parquet(path)
    elif name.endswith((".csv", ".tsv")):
        yield from _csv(path, "\t" if name.endswith(".tsv") else ",")
    elif not of_any_name and name.endswith(".json"):
        rows = _whole("".join(_lines(path)), f"{path}")
        if not isinstance(rows, list):
            raise UsageError(f"{path}: expected a JSON list of rows, got {type(rows).__name__}")
        yield from (_object(row, f"{path}, row {number}") for number, row in enumerate(rows, 1))
    else:
        yield from _json_lines(path)


def _json_lines(path: Path) -> Iterator[dict[str, object]]:
    """The objects of the lines. Where the first line is no value, or a list, those of the whole file."""
    lines = enumerate(_lines(path), 1)
    first = True
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = parsed(line, where)
        except ValueError:
            if first and not is_json(line):
                raise NotJSONError(f"{where}: {NO_TABLE}") from None
            if not first:
                raise
            value = _whole(line + "".join(text for _, text in lines), where)
        if first and isinstance(value, list):
            has_objects = any(isinstance(row, dict) for row in value)
            yield from (_object(row, f"{path}, row {at}", has_objects) for at, row in enumerate(value, 1))
        else:
            yield _object(value, where)
        first = False


_PYTHON = re.compile(r"\s*\[?\s*\{\s*'")  # Python's quotes, as a log has


def _ends_early(error: json.JSONDecodeError, text: str) -> bool:
    """Whether a JSON text ends where a value has begun."""
    return bool(text.strip()) and (error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"))


def is_json(text: str) -> bool:
    """Whether a text begins as JSON: with an object or a list, and not with Python's quotes."""
    return text.lstrip()[:1] in ("{", "[") and not _PYTHON.match(text)


def values_of(text: str, where: str) -> list[Any]:
    """The JSON values that stand in a text one after another, on several lines each.

    Raises:
        UsageError: as `parsed`.
    """
    value = _whole(text, where)
    return value if isinstance(value, list) else [value]


def _whole(text: str, where: str) -> Any:
    """The JSON value of a text, or the list of those that stand in it one after another, as `jq` and `cat` write
    them."""
    try:
        return parsed(text, where)
    except TwiceError:
        raise
    except UsageError as error:
        decoder, values, at = json.JSONDecoder(object_pairs_hook=_once, parse_float=number_of), [], 0
        while at < len(text):
            try:
                value, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                raise error from None
            values.append(value)
            at = len(text) - len(text[at:].lstrip())
        return values


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _lines(path: Path) -> Iterator[str]:
    opened = gzip.open if _start(path)[:2] == b"\x1f\x8b" or path.suffix == ".gz" else open
    number = 0
    try:
        with cast(IO[bytes], opened(path, "rb")) as file:
            lines = file if opened is open else Unpacked(file, path)
            while line := lines.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise UsageError(f"{path}, line {number}: longer than {LONGEST_LINE >> 20} MiB")
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        convert = ". Convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW" if _start(path)[:2] in _UTF16 else ""
        raise UsageError(
            f"{path}, line {number}: not UTF-8 text ({error.reason} at byte {error.start}){convert}"
        ) from error
    except (OSError, EOFError, zlib.error) as error:  # gzip: not gzipped, or cut off
        raise UsageError(f"{path}: cannot be read ({error})") from error


def _csv(path: Path, delimiter: str) -> Iterator[dict[str, object]]:
    lines = dropwhile(is_comment, _ended(_lines(path)))
    header = unicodedata.normalize("NFC", next(lines, ""))  # a letter and its accent may come as two characters
    if delimiter not in header:  # a spreadsheet of a language with decimal commas, or tabs
        delimiter = next((separator for separator in (";", "\t") if separator in header), delimiter)
    csv.field_size_limit(LONGEST_LINE)  # a thought of 32k tokens is longer than Python's limit
    reader = csv.DictReader(chain([header], lines), delimiter=delimiter)
    ended = 1
    try:
        names = [stripped for name in reader.fieldnames or () if (stripped := name.strip())]
        refuse_twice(names)
        _refuse_no_header(path, names, delimiter)
        for row in reader:
            if None in row or None in row.values():
                spread = reader.line_num > ended + 1  # several lines in one cell: a quote holds them together
                where = f"lines {ended + 1} to {reader.line_num}" if spread else f"line {reader.line_num}"
                quoted = "; does a quote that opens there not close?" if spread else ""
                raise UsageError(f"{where}: expected {len(reader.fieldnames or ())} cells{quoted}")
            yield row
            ended = reader.line_num
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: not CSV ({error})") from error
    except UsageError as error:
        raise UsageError(str(error) if str(error).startswith(f"{path}") else f"{path}, {error}") from error


LONGEST_NAME = 200  # characters of a column's name


def _refuse_no_header(path: Path, names: Sequence[str], separator: str) -> None:
    """Raise UsageError if the first row of a table holds no names: a text of several lines or a long one, or numbers
    alone."""
    if any(len(name) > LONGEST_NAME or "\n" in name for name in names) or are_numbers(names):
        header = separator.join(f"column{number}" for number in range(1, len(names) + 1))
        raise UsageError(f"line 1: the first row holds no names of columns. {to_name(header, str(path))}")


def to_name(header: str, path: str) -> str:
    """The advice that gives a table its first line. A .gz file may have several parts."""
    typed = header.replace("\t", "\\t")  # printf reads it as a tab
    gz = ".gz" if path.endswith(".gz") else ""
    table = ".tsv" if path.removesuffix(gz).endswith(".tsv") else ".csv"
    packed = " | gzip" if gz else ""
    return f"To add names, type printf '{typed}\\n'{packed} | cat - {shlex.quote(path)} > named{table}{gz}"


def are_numbers(cells: Sequence[str]) -> bool:
    """Whether two cells or more are all numbers."""
    return len(cells) > 1 and all(re.fullmatch(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?", cell.strip()) for cell in cells)


def is_comment(line: str) -> bool:
    """Whether a line before the header of a table is a comment: `#{...}`, or `#` and one cell."""
    return line.startswith("#{") or (line.startswith("#") and not any(sign in line for sign in ",;\t"))


def _ended(lines: Iterator[str]) -> Iterator[str]:
    """The lines of a text; of one whose first line has a carriage return inside, also those that end in one alone."""
    first = next(lines, "")
    if "\r" not in first.removesuffix("\n").removesuffix("\r"):
        yield first
        yield from lines
        return
    for line in chain([first], lines):
        yield from re.split(r"(?<=\r)(?!\n)", line)


def parsed(text: str, where: str) -> Any:
    """The value of a JSON text.

    Args:
        where: it stands, for errors.
    Raises:
        UsageError: it is no JSON, or no text that can be written, or an object has a key twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_float=number_of)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except TwiceError as error:
        raise TwiceError(f"{where}: {error}") from error
    except UnicodeEncodeError as error:
        raise UsageError(f"{where}: half of a surrogate pair, which is no character") from error
    except RecursionError as error:
        raise UsageError(f"{where}: nested too deeply") from error
    except ValueError as error:  # not JSON, or a number of thousands of digits
        if isinstance(error, json.JSONDecodeError) and _ends_early(error, text):
            raise NotJSONError(
                f"{where}: not JSON: it ends in the middle of a value. It was cut off, or its program stopped"
            ) from error
        raise NotJSONError(f"{where}: not JSON ({str(error).splitlines()[0]})") from error
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of these pairs. In JSON the last of two values of one key would win in silence."""
    refuse_twice([name for name, _ in pairs], "the key")
    return dict(pairs)


class NotJSONError(UsageError):
    """A text is no JSON."""


class TwiceError(UsageError):
    """A name is there twice, and nobody can say which one counts."""


def refuse_twice(names: Sequence[str], what: str = "the column") -> None:
    """Raise TwiceError if a name is there twice."""
    if len(set(names)) < len(names):
        name = next(name for at, name in enumerate(names) if name in names[:at])
        raise TwiceError(f"{what} {name!r} is there twice. Rename or delete one of the two")


def _object(row: object, where: str, others_are: bool = False) -> dict[str, object]:
    if isinstance(row, list):
        raise UsageError(
            f"{where}: expected a JSON object, got a list. Write each text as a row, a program as "
            '{"task_id": "HumanEval/0", "completion": TEXT}, another response as {"problem_id": "0", "response": TEXT}'
        )
    if not isinstance(row, dict):
        kept = ". To keep the rows that are objects, type jq -c '.[] | objects' FILE > rows.jsonl" if others_are else ""
        texts = (
            '. If these are responses, write a row for each, as {"problem_id": "1", "response": ...}, and type '
            "gold=FILE with the golds"
        ) * isinstance(row, str)
        raise UsageError(f"{where}: expected a JSON object, got {type(row).__name__}{kept or texts}")
    return row


def _parquet(path: Path) -> Iterator[dict[str, object]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        check_parquet(path)
        refuse_twice(pq.ParquetFile(path).schema_arrow.names)
        for batch in parquet_batches(pq.ParquetFile(path)):
            yield from _with_texts(batch).to_pylist()
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{path}: not readable as Parquet ({str(error).splitlines()[0]})") from error


def _with_texts(batch: RecordBatch) -> RecordBatch:
    """The batch with text in place of bytes where all bytes of a column are UTF-8, in lists and objects too: older
    writers have no type for text."""
    import pyarrow as pa

    for number, field in enumerate(batch.schema):
        kind = _text_type(field.type)
        if kind != field.type:
            with suppress(pa.ArrowInvalid):  # an image
                batch = batch.set_column(number, field.name, batch.column(number).cast(kind))
    return batch


def _text_type(kind: DataType) -> DataType:
    """The type with text in place of bytes."""
    import pyarrow as pa

    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.large_string()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_text_type(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_text_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_text_type(field.type)) for field in kind])
    return kind


def is_nothing(value: object) -> bool:
    """Whether a value says nothing: null, NaN, an infinity, an empty or a blank text, or "nan" as Python writes it.

    The text "NaN" is an answer: a problem of MATH-Perturb asks for it.
    """
    if isinstance(value, str):
        return value.strip() in ("", "nan")
    return value is None or (isinstance(value, float) and not math.isfinite(value))

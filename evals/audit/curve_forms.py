"""The rows of a text of curves, by the reader of its form: consoles, tables and JSON of several tools."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping

import pandas as pd

from evals.audit.console import (
    NUMBER,
    bars,
    counted,
    counts,
    has_bars,
    has_objects,
    has_sections,
    of_mlflow,
    printed,
    sections,
    stepped,
)
from evals.audit.json_tables import flat, table_in
from evals.audit.notebook_text import notebook_text
from evals.data.rows import TwiceError, are_numbers, is_json, number_of, parsed, refuse_twice, to_name, values_of
from evals.errors import UsageError

Row = Mapping[str, object]  # a row of a file: a metric's number, or a word
LONGEST_HEADER = 1 << 20  # characters of the first two rows of a table
_VERL = re.compile(r"\bstep:(\d+) - (.+)")
_NUMBER = re.compile(NUMBER)
_STEP_OF = re.compile(r"""(['"][\w/]*step[\w/]*['"]:\s*)['"](\d+)\s*/\s*\d+['"]""")  # 2 of '2/4389', as ms-swift writes
_OF_LIBRARY = re.compile(  # a number as NumPy and PyTorch print it: np.float64(0.5), tensor(0.5, device='cuda:0')
    rf"\b(?:(?:np\.|numpy\.)?(?:float|u?int)\d+\(({NUMBER}|nan)\)|tensor\(({NUMBER}|nan)[^()\n]*\))"
)
_LIGHTEVAL = re.compile(r"\|\s*\w+:(\w+):\d+\s*\|\s*\d+\|\w+\s*\|\s*([\d.]+)\s*\|")


def _verl(text: str) -> Iterable[Row]:
    """veRL's console: `step:10 - name:0.5 - name:1.0`, whatever Ray writes before it."""
    for match in _VERL.finditer(text):
        row: dict[str, float | str] = {"step": int(match[1])}
        for part in match[2].split(" - "):
            name, _, value = part.rpartition(":")
            if name:
                row[name] = _cell(value, False)
        yield row


def _is_trainer_state(text: str) -> bool:
    """Whether a text is one JSON object with log_history, or the beginning of one, and no JSON Lines."""
    if '"log_history"' not in text[:100_000]:
        return False
    first, _, rest = text.strip().partition("\n")
    return first.startswith("{") and not (rest and _object(first) is not None)


def _trainer_state(text: str) -> Iterable[Row]:
    """trainer_state.json of transformers and TRL."""
    return [dict(entry) for entry in parsed(text, "the file")["log_history"]]


def _mllog(text: str) -> Iterable[dict[str, float]]:
    """MLPerf's log; the step of a point is its count of samples, or its step or epoch."""
    for line in text.splitlines():
        if ":::MLLOG " not in line:
            continue
        event = json.loads(line.partition(":::MLLOG ")[2])
        where = event.get("metadata") or {}
        step = next((where[key] for key in ("samples_count", "step_num", "step", "epoch_num") if key in where), None)
        if (
            event.get("event_type") == "POINT_IN_TIME"
            and isinstance(event.get("value"), int | float)
            and step is not None
        ):
            yield {"step": step, event["key"]: float(event["value"])}


def _lighteval(text: str) -> Iterable[dict[str, float]]:
    """lighteval's result tables one after another; the n-th of a task is checkpoint n of it."""
    seen: dict[str, int] = {}
    for task, value in _LIGHTEVAL.findall(text):
        seen[task] = seen.get(task, 0) + 1
        yield {"step": seen[task], task: number_of(value)}


def _lines(text: str) -> Iterable[Row]:
    """JSON Lines, a list of rows, or of TensorBoard's triples, and objects of several lines each."""
    if text.lstrip().startswith("["):
        names = ("Wall time", "Step", "Value")  # TensorBoard's download: a list of three numbers each
        whole = parsed(text, "the file")
        if strange := [row for row in whole if isinstance(row, list) and len(row) != len(names)]:
            raise ValueError(
                f"a row of {len(strange[0])} values. Expected {', '.join(names)}, as TensorBoard writes them"
            )
        return [dict(zip(names, row, strict=True)) if isinstance(row, list) else flat(row) for row in whole]
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if lines and lines[0][1].strip() == "{":  # objects of several lines each, as jq and indent=2 write them
        return [flat(row) for row in values_of(text, "the file")]
    return [flat(parsed(line, f"line {number}")) for number, line in lines]


def _object(text: str) -> Mapping[str, object] | None:
    """The JSON object that a whole text is; None of any other text, as of JSON Lines."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return dict(parsed(text, "the file"))
    except TwiceError:
        raise
    except UsageError:
        return None


def _csv(text: str) -> Iterable[Row]:
    """With commas, or, as spreadsheets of many languages write it, with semicolons (and decimal commas), or tabs."""
    text = _without_comments(text)
    separator = _separator(text) or ","
    refuse_twice([name.strip() for name in next(csv.reader(text.splitlines()[:1], delimiter=separator))])
    decimal = separator != "," and re.search(r"\d,\d", text) is not None
    table = pd.read_csv(io.StringIO(text), sep=separator, dtype=str, keep_default_na=False)
    return [{str(name): _cell(cell, decimal) for name, cell in row.items()} for row in table.to_dict("records")]


def _cell(text: str, decimal_comma: bool) -> float | str:
    """The number in a cell, `30%` as 30; NaN where the file says so; the text of an empty cell or one of words."""
    bare = text.removesuffix("%").strip()
    bare = bare.replace(",", ".") if decimal_comma else bare
    return number_of(bare) if _NUMBER.fullmatch(bare) or bare.lower() == "nan" else text


def _separator(text: str) -> str | None:
    header, first, *_ = [*text.split("\n", 2), "", ""]
    if "," in header:
        return ","
    return next((sign for sign in (";", "\t") if 0 < header.count(sign) == first.count(sign)), None)


def _reader(name: str, text: str) -> Callable[[str], Iterable[Row]]:
    """The reader of a file of curves, by its content."""
    if _is_csv(text):
        return _csv
    if of_mlflow(text):
        return of_mlflow
    if ":::MLLOG " in text:
        return _mllog
    if _is_trainer_state(text):
        return _trainer_state
    if _VERL.search(text):
        return _verl
    if _LIGHTEVAL.search(text):
        return _lighteval
    if has_bars(text):
        return bars
    if stepped(text):
        return stepped
    if has_sections(text):
        return sections
    if is_json(text) and text.lstrip().startswith(('{"', "{\n", "{\r", "[\n", "[{", "[[")):
        return _lines
    if has_objects(text):
        return printed
    if is_json(text) and text.lstrip().startswith(("{", "[{")):
        return _lines
    if counted(text):
        return counted
    if (separator := _separator(text)) and are_numbers(text.split("\n", 1)[0].split(separator)):
        raise UsageError(
            f"{name}: the first row holds numbers, and no names of columns. "
            f"{to_name(separator.join(('step', 'NAME', '...')), name)}"
        )
    raise UsageError(
        f"{name}: no curve was recognised. Expected a console log of veRL, trainer_state.json, lines such as "
        "`{'loss': 0.1}` and `step 3 | reward: 0.4`, a log of MLPerf, tables of lighteval, CSV or JSON Lines"
    )


def _is_csv(text: str) -> bool:
    """Whether the first two lines, after comments, are a header of words and as many cells, and no lines of a log."""
    text = _without_comments(text)
    separator = _separator(text)
    if separator is None or counts(text.partition("\n")[0]):
        return False
    rows = csv.reader(io.StringIO(text[:LONGEST_HEADER]), delimiter=separator)
    header, first = next(rows, []), next(rows, [])
    words = all(re.search(r"[A-Za-z]", cell) and not re.search(r"[{}]|[:=]\s*[-\d.]", cell) for cell in header)
    return len(header) > 1 and len(header) == len(first) and words


def _without_comments(text: str) -> str:
    """Without the lines that begin with # above a table."""
    return re.sub(r"\A(?:#[^\n]*\n)+", "", text.removeprefix("\ufeff"))


def rows_of(name: str, text: str, wanted: Collection[str | None]) -> list[Row]:
    """The rows of a text, by the reader of its form.

    Raises:
        UsageError: as `read_curve`.
    """
    text = _STEP_OF.sub(r"\1\2", _OF_LIBRARY.sub(lambda value: value[1] or value[2], text))
    try:
        whole = _object(text)
        if whole is not None and (outputs := notebook_text(whole)) is not None:
            return rows_of(name, outputs, wanted)
        if whole is not None and "log_history" not in whole and (table := table_in(whole, wanted)) is not None:
            return list(table)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error
    reader = _reader(name, text)
    try:
        return list(reader(text))
    except TwiceError as error:
        raise UsageError(f"{name}: {error}") from error
    except UsageError as error:
        raise UsageError(f"{name}: damaged or cut short: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{name}: its JSON is nested too deeply") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{name}: damaged or cut short ({error})") from error

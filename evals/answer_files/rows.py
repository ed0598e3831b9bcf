"""The rows of an answer file, one after another: read, and checked before grading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def read(path: Path) -> Iterator[tuple[int, Row]]:
    """The objects of a JSON Lines file with their line numbers, one in memory at a time; blank lines are skipped.

    Raises:
        ValueError: a line is not UTF-8 or not a JSON object, or there is none.
    """
    empty = True
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:  # a number of thousands of digits; nested too deeply
                raise ValueError(f"{path}, line {number}: not JSON ({error})") from error
            if b"\\ud" in line.lower() and not _is_unicode(row):
                raise ValueError(f"{path}, line {number}: half of a surrogate pair, which is no character")
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: {_short(row)} is not an object {{...}}")
            empty = False
            yield number, row
    if empty:
        raise ValueError(f"{path} holds no rows")


def _is_unicode(row: Any) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def checked(path: Path, numbered: Iterable[tuple[int, Row]], answers: bool) -> Iterator[Row]:
    """The rows, each once its fields are checked.

    Raises:
        ValueError: a field is missing or has another type, or a problem has two golds (names line and field).
    """
    texts = ("gold", "prediction") if answers else ("answer",)
    golds: dict[str, tuple[str, int]] = {}
    for number, given in numbered:
        row = given if answers else _completed(number, given)
        for field in texts if answers else ("answer", "response"):
            if field not in row:
                pairs = "; a file of pairs of bare answers is graded with answers=true" if "prediction" in row else ""
                raise ValueError(
                    f"{path}, line {number}: no field {field!r}; the line has {', '.join(given) or 'none'}{pairs}"
                )
        for field in texts:
            _require(path, number, row, field, (str, int, float), "a string or a number")
        if not answers:
            _require(path, number, row, "problem_id", (str, int), "a string or a whole number")
            _require(path, number, row, "response", (str,), "a string")
            gold, first = golds.setdefault(str(row["problem_id"]), (as_text(row["answer"]), number))
            if gold != as_text(row["answer"]):
                raise ValueError(
                    f"{path}, line {number}: problem_id {row['problem_id']!r} has the answer {_short(row['answer'])}, "
                    f"but line {first} says {_short(gold)}"
                )
        if "finish_reason" in row and row["finish_reason"] is not None:
            _require(path, number, row, "finish_reason", (str,), "a string or null")
        if "expected" in row and not isinstance(row["expected"], bool | None):
            raise ValueError(
                f"{path}, line {number}: expected is {_short(row['expected'])}; expected true, false or null"
            )
        yield row


def _completed(number: int, row: Row) -> Row:
    """The row with `answer` (its `gold`) and `problem_id` (its `problem`, or else its number): each row is then a
    problem of its own, unless their texts are equal."""
    if "answer" not in row and "gold" in row:
        row = {**row, "answer": row["gold"]}
    if "problem_id" not in row:
        row = {**row, "problem_id": row.get("problem", number)}
    return row


def _require(path: Path, number: int, row: Row, field: str, kinds: tuple[type, ...], what: str) -> None:
    value = row[field]
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise ValueError(f"{path}, line {number}: {field} is {_short(value)}; expected {what}")


def as_text(value: str | float) -> str:
    """An answer as text for grading; a number as written in the file."""
    return value if isinstance(value, str) else str(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

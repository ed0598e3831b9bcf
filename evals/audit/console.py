"""Metrics in the lines that a training prints: `{'loss': 0.1}`, `eval 20: {"acc": 0.3}`, `Step 3 | reward:0.4`, blocks
of lines below `step 3`, sections in YAML's form below it, and tables whose cells stand between bars."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from evals.data.rows import number_of
from evals.errors import UsageError

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
STEPS = (
    *("step", "Step", "global_step", "_step", "trainer/global_step", "steps", "current_steps", "iteration"),
    *("training_iteration", "timesteps", "generation", "total_steps", "global_step/max_steps"),
)
NUMBERED = "number of the line"  # the step of an object that names none
_OBJECT = re.compile(r"\{['\"][^'\"{}\n\r]+['\"]: [^{}\n\r]*\}")
_ENTRY = re.compile(rf"['\"]([^'\"{{}}]+)['\"]: ['\"]?({NUMBER}|nan|NaN)['\"]?(?=[,}}])")
_COUNTERS = ("step", "iteration", "iter", "update", "rollout", "generation", "batch", "round", "episode", "epoch")
"""Words before the number of a step, the surest first: an epoch has steps."""
_COUNTER = re.compile(
    rf"(?<![\w/.@-])(?:global[_ ]|train[_ ]|training[_ ])?({'|'.join(_COUNTERS)})(?:s(?!\s*[:=]))?\s*[:=#]?\s*\[?\s*"
    r"(\d+)(?:\s*/\s*(\d+))?(?![\w.:]*\d)",
    re.IGNORECASE,
)
_KEY_BEFORE = re.compile(r"['\"]\s*:\s*$")  # an object that is a value in a larger one, as in a printed configuration
_BEFORE_OBJECT = re.compile(r"(?<![\w/.-])[A-Za-z]\w*\s*[:=#]?\s*\[?(\d+)\]?\s*[:|-]?\s*$")
_PROCESS = re.compile(r"(?:\x1b\[[\d;]*m)|^\(\w+ pid=\d+[^)]*\)\s*|^\S*\[?\d{4}-\d\d-\d\d[T ][\d:.,]+\]?\s*")
_PAIR = re.compile(rf"(?<![\w/.@%-])([A-Za-z_][\w/.@%-]*)\s*[:=]\s*({NUMBER}|nan)%?(?![\w:.]*\w)", re.IGNORECASE)
_PHRASE = re.compile(
    rf"[^\w\n]*([A-Za-z_][\w /.@%()-]*?)(?:\s*[:=]\s*|\s+)({NUMBER}|nan)\s*(?:%|ms|s|sec|tokens/s)?\s*", re.IGNORECASE
)
_BETWEEN = re.compile(r"\s*[|,;]\s*|\s+-\s+")
_INSIDE = re.compile(r"[(\[]\s*(\d+)\s*/\s*(\d+)\s*[)\]]")  # 3 of 9751 in `Epoch:[1/1](3/9751)`
_TABLE_ROW = re.compile(rf"\s*[A-Za-z][^:=|,;]*?(?:\s{{2,}}[$]?(?:{NUMBER}|nan)%?){{2,}}\s*", re.IGNORECASE)
MOST_WORDS = 4  # in the name of a metric; a longer one is a sentence


def printed(text: str) -> Iterator[dict[str, float]]:
    """The objects in lines of text. The step is in it, or before it (`eval 20: {...}`).

    Without any, each object with the most frequent name is a step, and the others belong to the step before. An object
    whose names all come once is no point of a curve: the summary at the end, the settings at the beginning. Nor are
    objects that all say the same, as the settings that each process prints.
    """
    objects = [
        (dict(_ENTRY.findall(match[0])), _BEFORE_OBJECT.search(_before(text, match))) for match in _objects(text)
    ]
    values = {(name, float(value)) for texts, _ in objects for name, value in texts.items()}
    if len(objects) > 1 and len(values) == len({name for name, _ in values}):
        return
    if any(before for _, before in objects):
        yield from ({"step": int(before[1])} | _floats(texts) for texts, before in objects if before)
    else:
        yield from _numbered([texts for texts, _ in objects])


def _numbered(objects: Sequence[Mapping[str, str]]) -> Iterator[dict[str, float]]:
    """The points in objects, each with the step in it, else with the number of the step."""
    times = Counter(name for texts in objects for name in texts)
    often = max((name for name in times if name != "epoch"), key=times.__getitem__, default="epoch")
    number, again = 0, False
    last: Mapping[str, str] = {}
    for texts in objects:
        values = _floats(texts)
        if any(name in values for name in STEPS):
            yield values
        elif times[often] == 1 or any(times[name] > 1 for name in values):
            again = not again and _is_printed_twice(texts, last)
            number += often in values and not again
            yield {NUMBERED: number} | {name: value for name, value in values.items() if not (again and name in last)}
            last = texts


def _is_printed_twice(texts: Mapping[str, str], before: Mapping[str, str]) -> bool:
    """Whether two objects are of one step: their names differ, and their epoch and all that both have are equal to the
    digits that are printed."""
    shared = texts.keys() & before.keys()
    if "epoch" not in shared or texts.keys() == before.keys():
        return False
    nans = {"nan", "NaN"}
    pairs = [(Decimal(texts[name]), Decimal(before[name])) for name in shared if not nans & {texts[name], before[name]}]
    return all(abs(a - b) <= max(_last_digit(a), _last_digit(b)) / 2 for a, b in pairs)


def _last_digit(number: Decimal) -> Decimal:
    """One of the last digit that a number is written with."""
    return Decimal(1).scaleb(int(number.as_tuple().exponent))


def _floats(texts: Mapping[str, str]) -> dict[str, float]:
    return {name: number_of(value) for name, value in texts.items()}


def has_objects(text: str) -> bool:
    """Whether a text has such objects: with steps, or more of them than its lines count steps."""
    rows = list(printed(text))
    numbered = all(NUMBERED in row for row in rows)
    return bool(rows) and (not numbered or len(rows) > len({row["step"] for row in counted(text)}))


def _objects(text: str) -> Iterator[re.Match[str]]:
    """The objects that are no value in a larger one."""
    return (match for match in _OBJECT.finditer(text) if not _KEY_BEFORE.search(_before(text, match)))


@dataclass
class _Row:
    """A line that counts. It may have words beside its counters. `names` are of the values in the line itself, and
    `values` are those in the lines below it as well."""

    names: Collection[str]
    words: bool
    epochs_alone: bool
    values: dict[str, float]

    def join(self, values: Mapping[str, float]) -> None:
        self.values = {**values, **self.values}


class _Line(NamedTuple):
    """A line that counts.

    Attributes:
        epoch: 0 where it counts none beside the step. steps: of the epoch, 0 where it does not say how many.
        epochs_alone: it counts epochs, and no steps. rest: the line without its counters.
    """

    epoch: int
    step: int
    steps: int
    epochs_alone: bool
    rest: str


def counted(text: str) -> list[dict[str, float]]:
    """The steps that lines count, each with the names and values behind it or in the lines below it, or [] where no two
    steps share a name.

    Where most of these lines have values themselves, those without values are no steps. Where two have values of one
    name, a line of words without values is no step, such as a head of a text that the model wrote. Nor are the lines
    below them metrics. Where lines count steps, one that counts epochs alone belongs to the step before. The name of a
    metric is short, and stands at two steps or more.
    """
    rows = _without_epochs(_counted_rows(text))
    mostly = 2 * sum(bool(row.names) for row in rows) > len(rows)
    recurs = any(count > 1 for count in Counter(name for row in rows for name in row.names).values())
    steps = [row.values for row in rows if row.names or not (mostly or (recurs and row.words))]
    times = Counter(name for values in steps for name in values)  # `step` is in all of them
    metrics = {name for name, count in times.items() if count > 1 and len(name.split()) <= MOST_WORDS}
    named = [{name: value for name, value in values.items() if name in metrics} for values in steps]
    return [values for values in named if len(values) > 1]


def _counted_rows(text: str) -> list[_Row]:
    rows: list[_Row] = []
    place = _Place()
    for line in text.splitlines():
        plain = _PROCESS.sub("", _PROCESS.sub("", line))
        if (head := _counted_line(plain)) is not None:
            values = _values(head.rest)
            words = re.search(r"[A-Za-z]{2}", head.rest) is not None
            rows.append(_Row(values.keys(), words, head.epochs_alone, {"step": place.step_of(head), **values}))
        elif rows:
            rows[-1].join(_values(plain))
    return rows


def counts(line: str) -> bool:
    """Whether a line counts a step and has values."""
    head = _counted_line(line)
    return head is not None and bool(_values(head.rest))


class _Place:
    """The step since the beginning, where each epoch counts its steps from the first."""

    def __init__(self) -> None:
        self.before = self.epoch = self.step = self.gap = self.steps = 0

    def step_of(self, line: _Line) -> int:
        """The step of a line."""
        if not line.epoch:
            return line.step
        if line.epoch > self.epoch and line.step < self.step:
            self.before += self.steps or self.step + max(self.gap, 1)
        else:
            self.gap = line.step - self.step
        self.epoch, self.step, self.steps = line.epoch, line.step, line.steps
        return line.step + self.before


def _without_epochs(rows: list[_Row]) -> list[_Row]:
    """The rows; where two lines count steps and have values, those that count epochs alone join the row before them."""
    if sum(bool(row.names) and not row.epochs_alone for row in rows) < 2:
        return rows
    joined: list[_Row] = []
    for row in rows:
        if not row.epochs_alone:
            joined.append(row)
        elif joined:
            joined[-1].join(row.values)
    return joined


def _counted_line(line: str) -> _Line | None:
    """The numbers that a line counts. None of a line that counts nothing.

    The step after an epoch is that of `Step n`, or the n of the `(n/N)` with the largest N.
    """
    counters = list(_COUNTER.finditer(line))
    if not counters:
        return None
    counter = min(counters, key=lambda match: _COUNTERS.index(match[1].lower()))
    rest = line[: counter.start()] + "|" + line[counter.end() :]
    if counter[1].lower() != "epoch":
        epoch = next((int(match[2]) for match in counters if match[1].lower() == "epoch"), 0)
        return _Line(epoch, int(counter[2]), int(counter[3] or 0), False, rest)
    if inside := list(_INSIDE.finditer(rest)):
        step, steps = max(((int(match[1]), int(match[2])) for match in inside), key=lambda pair: pair[1])
        return _Line(int(counter[2]), step, steps, False, _INSIDE.sub("|", rest))
    return _Line(0, int(counter[2]), 0, True, rest)


def _values(text: str) -> dict[str, float]:
    """The names and values in a line: those between `|`, `,` and ` - `, else `name:value` and `name=value`. A row of a
    table (a name, blanks, several numbers) has none."""
    if _TABLE_ROW.fullmatch(text):
        return {}
    values: dict[str, float] = {}
    for part in _BETWEEN.split(text):
        whole = _PHRASE.fullmatch(part)
        for name, value in [whole.groups()] if whole else _PAIR.findall(part):
            values.setdefault(name.strip(), number_of(value))
    return values


_SECTIONS = re.compile(r"(?im)^step:? \d+:?[ \t]*\n(?:[\w/.@-]+:[ \t]+\S+\n)*[\w/.@-]+:[ \t]*\n[ \t]+[\w/.@-]+:")
_KEY = re.compile(r"([ \t]*)([^\s:#-][^:]*):(?:[ \t]+(.*))?")


def has_sections(text: str) -> bool:
    """Whether a text has `Step 3` and below it sections in YAML's form, as EasyR1's console."""
    return _SECTIONS.search(text) is not None


def sections(text: str) -> Iterator[dict[str, float]]:
    """The metrics of such steps. A name has its sections before it: `mean` below `rewards` below `critic` is
    critic/rewards/mean."""
    _, *parts = re.split(r"(?im)^step:? (\d+):?[ \t]*$", text)
    for step, below in zip(parts[::2], parts[1::2], strict=True):
        values: dict[str, float] = {"step": int(step)}
        around: list[tuple[int, str]] = []  # the sections that are open: how far each is indented, its name
        for line in below.splitlines():
            entry = _KEY.fullmatch(line.rstrip())
            if entry is None:
                continue
            around = [section for section in around if section[0] < len(entry[1])]
            if not entry[3]:
                around.append((len(entry[1]), entry[2]))
            elif re.fullmatch(rf"{NUMBER}|\.?nan", entry[3], re.IGNORECASE):
                number = entry[3].removeprefix(".") if entry[3].lower() == ".nan" else entry[3]
                values["/".join([*(name for _, name in around), entry[2]])] = number_of(number)
        yield values


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def has_bars(text: str) -> bool:
    """Whether the first line is a header with bars, and the next row has a number in some of as many cells."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or "|" not in lines[0]:
        return False
    header, rows = _cells(lines[0]), [_cells(line) for line in lines[1:3] if not _RULER.fullmatch(line)]
    words = all(re.search(r"[^\W\d]", cell) and not _PAIR.search(cell) for cell in header)
    numbers = bool(rows) and any(map(_NUMBER_CELL.fullmatch, rows[0]))
    return words and numbers and len(header) == len(rows[0]) > 1


_NUMBER_CELL = re.compile(rf"({NUMBER})\s*%?")  # 30% is 30
_RULER = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")


def bars(text: str) -> Iterator[dict[str, float]]:
    """The rows of a table whose cells stand between bars, as notebooks print it. A line of dashes is none.

    Raises:
        UsageError: a line has another number of cells.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    header = _cells(lines[0][1])
    for number, line in lines[1:]:
        cells = _cells(line)
        if _RULER.fullmatch(line) or cells == header:
            continue
        if len(cells) != len(header):
            raise UsageError(f"line {number}: expected {len(header)} cells between bars, got {len(cells)}")
        nans = {name: float("nan") for name, cell in zip(header, cells, strict=True) if cell.lower() == "nan"}
        yield nans | _numbers_in(header, cells)


def _numbers_in(header: Sequence[str], cells: Sequence[str]) -> dict[str, float]:
    """The numbers in the cells of a row, by the names in its header."""
    matches = zip(header, map(_NUMBER_CELL.fullmatch, cells), strict=True)
    return {name: number_of(match[1]) for name, match in matches if match}


def stepped(text: str) -> list[dict[str, float]]:
    """The rows of the tables with bars that stand between other lines, and have a column of steps. Where there are
    several, each row has the number of its `table`."""
    tables: list[list[dict[str, float]]] = []
    header: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        cells = _cells(line) if "|" in line else []
        if header and len(cells) == len(header) and (numbers := _numbers_in(header, cells)):
            tables[-1].append(numbers)
        elif len(cells) > 1 and {*cells} & {*STEPS}:
            header = cells
            tables.append([])
        elif not (cells and _RULER.fullmatch(line)):
            header = []
    tables = [rows for rows in tables if len(rows) > 1]
    if len(tables) == 1:
        return tables[0]
    return [{"table": number, **row} for number, rows in enumerate(tables, 1) for row in rows]


_MLFLOW = re.compile(rf"(?m)^\d{{10,13}} ({NUMBER}|nan) (\d+)$", re.IGNORECASE)


def of_mlflow(text: str) -> list[dict[str, float]]:
    """A metric's file in a store of MLflow: time, value and step in each line. [] of any other text."""
    points = _MLFLOW.findall(text)
    lines = len(text.split("\n")) - text.endswith("\n")
    return [{"step": int(step), "value": number_of(value)} for value, step in points] if lines == len(points) else []


def _before(text: str, match: re.Match[str]) -> str:
    return text[text.rfind("\n", 0, match.start()) + 1 : match.start()]

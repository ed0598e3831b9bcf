"""The columns of unknown rows: every path to a text, a number or a list of them, with its values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from evals.answer_files.labels import as_label
from evals.answer_files.values import is_conversation, is_parts, output_of, text_of
from evals.data.rows import is_nothing
from evals.files import UsageError
from evals.paths import ABSENT, opened, reach

Objects = Sequence[Mapping[str, object]]
SEEN = 200  # rows whose values are looked at
_SHAPES = 5  # rows whose paths are looked for
_DEEPEST = 7  # objects and lists around a value
_MOST = 300  # paths
_SHORT_LIST = 4  # a list of so few values of several types is taken apart: [text, number]


@dataclass(frozen=True)
class Leaf:
    """Attributes:
    path: as `columns=` takes it.
    values: of each row that was looked at; `ABSENT` where it has none.
    """

    path: str
    values: tuple[object, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names on the path in small letters, its words joined by `_`; the innermost first."""
        parts = [part for part in self.path.split(".") if part != "*" and not re.fullmatch(r"-?\d+", part)]
        return tuple(re.sub(r"_(list|texts?|strings?|array)$", "", snake(part)) for part in reversed(parts))

    @property
    def name(self) -> str:
        return self.names[0] if self.names else ""

    @cached_property
    def flat(self) -> list[object]:
        """The values, those of a list one by one, without what says nothing."""
        found = (item for value in self.values for item in items(value))
        return [item for item in found if item is not ABSENT and (isinstance(item, list) or not is_nothing(item))]

    @cached_property
    def texts(self) -> list[str]:
        """The values as text, where all are texts or conversations; else ()."""
        spoken = [item if isinstance(item, str) else text_in(item) for item in self.flat]
        return [text for text in spoken if text is not None] if None not in spoken else []

    @cached_property
    def length(self) -> float:
        """Characters of the texts, in the median."""
        return median(map(len, self.texts)) if self.texts else 0

    @property
    def whole(self) -> bool:
        """Whether every row has a value."""
        return all(value is not ABSENT and not (isinstance(value, str) and is_nothing(value)) for value in self.values)

    @cached_property
    def counts(self) -> list[int]:
        """How many values each row has."""
        return [len(items(value)) for value in self.values]

    @cached_property
    def listed(self) -> bool:
        """Whether a row has a list of values."""
        return any(isinstance(value, list) and not text_in(value) for value in self.values)

    @cached_property
    def verdicts(self) -> bool:
        """Whether the values are verdicts, as `as_label` reads them."""
        return bool(self.flat) and all(map(is_label, self.flat))

    @property
    def truths(self) -> bool:
        """Whether the values are true and false, also as a CSV has them."""
        return bool(self.flat) and all(
            isinstance(item, bool) or str(item).lower() in ("true", "false") for item in self.flat
        )

    @property
    def scalar(self) -> bool:
        """Whether each row has one text or number."""
        return all(isinstance(value, str | int | float) for value in self.values)


def items(value: object) -> list[object]:
    """The values in a value: those of a list that is no conversation, else itself."""
    return value if isinstance(value, list) and text_in(value) is None else [value]


def is_label(value: object) -> bool:
    """Whether a value is a verdict."""
    try:
        as_label(value)
    except UsageError:
        return False
    return True


def text_in(value: object) -> str | None:
    """The text of a conversation or of an OpenAI response; None of anything else."""
    spoken = isinstance(value, list) and (is_conversation(value) or is_parts(value) or output_of(value) is not None)
    try:
        return text_of(value) if spoken else None
    except UsageError:
        return None


def leaves(rows: Objects) -> list[Leaf]:
    """The columns of rows; of a list of objects, each key of all its items at once (`choices.*.text`)."""
    seen = rows[:SEEN]
    paths = dict.fromkeys(path for row in rows[:_SHAPES] for path in _paths(row, "", _DEEPEST))
    usable = [path for path in paths if not re.search(r"[,:|?=()\[\]{}\"']", path)][:_MOST]
    return [Leaf(path, tuple(reach(row, path) for row in seen)) for path in usable]


def _paths(value: object, at: str, depth: int) -> Iterator[str]:
    inner = opened(value) if isinstance(value, str) else value
    nested = isinstance(inner, list) and bool(inner) and isinstance(inner[0], list | dict) and text_in(inner) is None
    if isinstance(value, str) and at and not nested:
        texts = isinstance(inner, list) and bool(inner) and all(isinstance(item, str) for item in inner)
        yield f"{at}.*" if texts else at  # texts in one cell, as a CSV has them
    if not depth or (isinstance(value, str) and not isinstance(inner, Mapping) and not nested):
        return
    if isinstance(inner, Mapping):
        for name, of in inner.items():
            yield from _paths(of, f"{at}.{name}" if at else str(name), depth - 1)
    elif isinstance(inner, list):
        yield from (path for path in _of_list(inner, at, depth) if path != at or not isinstance(value, str))
    elif not isinstance(value, str) and at:
        yield at


def _of_list(values: list[object], at: str, depth: int) -> Iterator[str]:
    mixed = 1 < len(values) <= _SHORT_LIST and len({type(item) for item in values}) > 1
    if not mixed:
        yield at
    first = next((item for item in values if item is not None), None)
    if text_in(values) is not None or first is None:
        return
    if isinstance(first, Mapping) or (isinstance(first, list) and text_in(first) is None):
        alone = isinstance(first, list) and len(values) == 1
        every = "0" if ".*" in at or alone else "*"  # one level of samples
        inner = [f"{at}.{every}"] if isinstance(first, Mapping) else [f"{at}.{every}", f"{at}.{every}.0"]
        if isinstance(first, Mapping):
            yield from _paths(first, inner[0], depth - 1)
        else:
            yield from _of_list(first, inner[0], depth - 1)
    elif ".*" in at:
        yield f"{at}.0"
    elif mixed:
        yield from (f"{at}.{number}" for number in range(len(values)))


def snake(name: str) -> str:
    """`goldAnswer`, `Gold Answer`, `gold-answer` -> `gold_answer`."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")

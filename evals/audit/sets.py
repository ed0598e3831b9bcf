"""The kind of several files: checkpoints, seeds, or samples of one checkpoint, as their names say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from evals.errors import UsageError

KINDS = {"rs": "samples", "sample": "samples", "repeat": "samples", "seed": "seeds", "run": "seeds"}
"""The word before the number that differs between the names of repeats, and what such files are."""
_NUMBER = re.compile(r"(?:(?<![A-Za-z])([A-Za-z]+)[-_=. ]*)?(\d+)")


def named_as(files: Sequence[Path]) -> tuple[str, str] | None:
    """(what the files are, the word that says so): of files whose names differ by one of `KINDS` and a number. None for
    others.

    Raises:
        UsageError: the names differ by such a word and by another number as well.
    """
    parts = [_NUMBER.findall(str(path)) for path in files]
    skeletons = {_NUMBER.sub(lambda match: match[0].replace(match[2], "#"), str(path)) for path in files}
    if len(files) < 2 or len(skeletons) > 1:
        return None
    columns = [(column[0][0].lower(), {number for _, number in column}) for column in zip(*parts, strict=True)]
    differing = list(dict.fromkeys(word for word, numbers in columns if len(numbers) > 1))
    words = [word for word in differing if _kind(word)]
    if words and len(differing) > 1:
        differences = " and ".join(f"by {word or 'a number'}" for word in differing)
        raise UsageError(
            f"the names of the files differ {differences}. Give the files of one of them, or say what each file is: "
            "files=samples, files=seeds or files=checkpoints"
        )
    return (str(_kind(words[0])), words[0]) if words else None


def is_repeat(column: str) -> bool:
    """Whether a column has the name of a number of repeats or seeds, such as `repeat` and `seed_id`."""
    return any(_kind(word) for word in re.findall(r"[a-z]+", column.lower()))


def _kind(word: str) -> str | None:
    return KINDS.get(word.removesuffix("s")) or KINDS.get(word)


def checkpoint_numbers(files: Sequence[Path]) -> list[int]:
    """The checkpoint of each file: the one number that differs between their names, else their order, where a name with
    "final" or "last" comes after all others."""
    final = [path for path in files if re.search(r"final|last", path.stem, re.IGNORECASE)]
    named = [path for path in files if path not in final]
    numbers = [[int(part) for part in re.findall(r"\d+", str(path))] for path in named]
    known = list(range(len(named)))
    if len({len(row) for row in numbers}) == 1:
        varying = [column for column in zip(*numbers, strict=True) if len(set(column)) == len(named)]
        known = list(varying[0]) if len(varying) == 1 else known
    after = range(max(known, default=-1) + 1, max(known, default=-1) + 1 + len(final))
    of_path = dict(zip([*named, *final], [*known, *after], strict=True))
    return [of_path[path] for path in files]

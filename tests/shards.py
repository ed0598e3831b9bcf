"""Parts of the test suite, for several processes that run beside each other: `pytest --shard 1/2`."""

from __future__ import annotations

from collections.abc import Sequence


def parsed(shard: str) -> tuple[int, int]:
    """ "1/2" -> (1, 2).

    Raises:
        ValueError: not K/N with 1 <= K <= N.
    """
    number, _, parts = shard.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise ValueError(f"--shard is {shard!r}; expected K/N with 1 <= K <= N, as in 1/2")
    return int(number), int(parts)


def files_of(files: Sequence[str], shard: str) -> set[str]:
    """The files of one part: every Nth, so that the slow files of a folder are spread, and what the tests of a file
    share is made once."""
    number, parts = parsed(shard)
    return set(list(dict.fromkeys(files))[number - 1 :: parts])

"""Ways to damage a file. The second path is the same file of another run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


def _flip(path: Path, other: Path) -> None:
    data = bytearray(path.read_bytes() or b"x")
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _fold(path: Path, other: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path, other: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


DAMAGES: dict[str, Callable[[Path, Path], object]] = {
    "null": lambda path, other: path.write_text("null"),
    "a list": lambda path, other: path.write_text("[]\n"),
    "deep": lambda path, other: path.write_text("[" * 100_000),
    "empty": lambda path, other: path.write_bytes(b""),
    "not text": lambda path, other: path.write_bytes(b"\x00\xff\xfe{garbage\n" * 9),
    "cut": lambda path, other: path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3]),
    "a bit flipped": _flip,
    "another's": lambda path, other: shutil.copyfile(other, path),
    "deleted": lambda path, other: path.unlink(),
    "a folder": _fold,
    "a link to itself": _loop,
    "unreadable": lambda path, other: path.chmod(0),
}

"""The folder of papers and data outside this repository: RLVR_SHARED, or `shared` beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("RLVR_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared_file(relative: str) -> Path:
    """A file of the shared folder, by a path or a glob pattern that fits just one. Skips the test when it is absent."""
    files = sorted(SHARED.glob(relative))
    if not files:
        pytest.skip(f"no {relative} in {SHARED}; set RLVR_SHARED")
    if len(files) > 1:
        raise ValueError(f"{relative}: expected one file in {SHARED}, found {[path.name for path in files]}")
    return files[0]


def paper_text(number: int) -> str:
    """The text of a paper, by the number that its file name starts with. Skips the test when it is absent."""
    return shared_file(f"papers/{number:03d}_*.txt").read_text()


def excerpt(number: int) -> str:
    """The committed lines of a paper (by the same number) that tests compare with its declaration."""
    return (Path(__file__).parent / "reproductions" / "excerpts" / f"{number:03d}.txt").read_text()

"""The names of tests/conftest.py are those of files."""

from __future__ import annotations

from tests.conftest import ROOT, SLOW_FIRST


def test_every_slow_file_is_there() -> None:
    assert [name for name in SLOW_FIRST if not (ROOT / name).is_file()] == []

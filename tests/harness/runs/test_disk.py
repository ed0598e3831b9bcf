"""A write that fails on a full disk fails with that, and the first error is kept. On another disk it fails as it
did."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from harness.runs.disk import full_disk_named

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(("free_mb", "full"), [(0, True), (15.9, True), (16, False), (5000, False)])
def test_a_full_disk_is_named(free_mb: float, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(2**40, 0, int(free_mb * 2**20)))
    with pytest.raises(RuntimeError) as failed, full_disk_named(tmp_path):
        raise RuntimeError("unexpected pos 64 vs 0")  # PyTorch's words for it
    if full:
        assert f"the disk of {tmp_path} is full" in str(failed.value)
        assert "unexpected pos" in str(failed.value.__cause__)
    else:
        assert str(failed.value) == "unexpected pos 64 vs 0"


def test_an_interruption_is_not_wrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(2**40, 2**40, 0))
    with pytest.raises(KeyboardInterrupt), full_disk_named(tmp_path):
        raise KeyboardInterrupt

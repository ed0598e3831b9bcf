"""A long computation says how far it is. A short one says nothing."""

from __future__ import annotations

import io
import time

import pytest

from evals import slow


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [False, True])
def test_a_long_block_says_how_far_it_is(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stderr)
    for name in ("AFTER_S", "EVERY_S", "REFRESH_S"):
        monkeypatch.setattr(slow, name, 0.01)
    with slow.slow("grading a.jsonl") as progress:
        progress("rows", 1200, 3000)
        until = time.monotonic() + 30
        while stderr.getvalue().count("1,200") < 2 and time.monotonic() < until:
            time.sleep(0.01)
    text = stderr.getvalue()
    assert text.count("grading a.jsonl: 1,200 of 3,000 rows after 0:0") >= 2
    assert text.endswith("\r\x1b[K") is terminal and ("\n" in text) is not terminal  # a terminal's line goes away


def test_a_short_block_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with slow.slow("grading a.jsonl") as progress:
        progress("rows", 1, 2)
    assert capsys.readouterr() == ("", "")

"""The live line of an evaluation, without a terminal."""

from __future__ import annotations

import time

import pytest

from evals.sampling import progress
from evals.sampling.progress import Live


def test_trouble_is_said_at_once_and_then_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    live = Live("amc23", 40, 0, shown=True)
    for second in range(1, 66):
        now[0] += 1
        live.tokens(0, "no answer" if second >= 2 else "")
    output = capsys.readouterr().err.splitlines()
    assert output == [
        f"amc23: 0 of 40 samples, asking again (no answer), after {at}" for at in ("0:02", "0:32", "1:02")
    ]


def test_a_line_comes_before_the_first_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine says nothing: a thread looks whether a line is due."""
    monkeypatch.setattr(progress, "EVERY_S", 0.05)
    monkeypatch.setattr(progress, "LOOK_S", 0.01)
    output = ""
    with Live("humaneval", 164, 0, shown=True):
        while not output:  # the test's own time limit ends it, if no line comes
            time.sleep(0.01)
            output = capsys.readouterr().err
    assert output.startswith("humaneval: 0 of 164 samples after 0:00")


def test_a_line_has_the_time_left_at_the_speed_of_this_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """100 of 164 samples are older. 16 more take 60 s, so the last 48 take 180 s."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    live = Live("humaneval", 164, 100, shown=True)
    now[0] += 30
    live.tokens(50)
    now[0] += 30
    live.stored(16)
    assert capsys.readouterr().err.splitlines() == [
        "humaneval: 100 of 164 samples, 50 tokens of this batch, after 0:30",
        "humaneval: 116 of 164 samples after 1:00, about 3:00 left",
    ]

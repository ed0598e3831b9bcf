"""Signals: the first is obeyed at the end of a step, the second at once."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from harness.runs.interrupt import RESUMABLE, Interrupted, StoppedAtOnce, check, finishing, handled, requested


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_the_first_signal_waits_for_the_step(number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(number)
    with handled():
        with finishing():
            os.kill(os.getpid(), number)
            assert requested()
        with pytest.raises(Interrupted) as stopped:
            check("after step 3 of 9")
    assert stopped.value.code == RESUMABLE == 75
    assert str(stopped.value) == f"stopped by {number.name} after step 3 of 9; the same command resumes there"
    assert "a second signal stops at once" in capsys.readouterr().err
    assert signal.getsignal(number) is before


def test_a_reader_that_has_gone_does_not_stop_what_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `rlvr run ... 2>&1 | tee log` when an interrupt ends tee."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as broken:
        monkeypatch.setattr(sys, "stderr", broken)
        with handled(), finishing():
            os.kill(os.getpid(), signal.SIGINT)
            print("saved", file=sys.stderr, flush=True)
            assert requested()
        assert sys.stderr is broken
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), broken.fileno())


def test_an_ignored_hangup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
    try:
        with handled():
            os.kill(os.getpid(), signal.SIGHUP)
            assert not requested()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_of_a_step_the_first_signal_stops_and_without_one_nothing_does() -> None:
    with handled():
        check("anywhere")
        assert not requested()
    with pytest.raises(Interrupted), handled():
        os.kill(os.getpid(), signal.SIGTERM)


def test_the_second_signal_stops_at_once() -> None:
    with handled(), finishing():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StoppedAtOnce) as stopped:
            os.kill(os.getpid(), signal.SIGTERM)
    assert stopped.value.code == 128 + 15

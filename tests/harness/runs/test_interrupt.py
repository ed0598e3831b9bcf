"""Signals: the first is obeyed at the end of a step, the second at once."""

from __future__ import annotations

import os
import signal

import pytest

from harness.runs.interrupt import RESUMABLE, Interrupted, StoppedAtOnce, check, finishing, handled, requested


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
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


def test_outside_of_a_step_the_first_signal_stops() -> None:
    with pytest.raises(Interrupted), handled():
        os.kill(os.getpid(), signal.SIGTERM)


def test_the_second_signal_stops_at_once() -> None:
    with handled(), finishing():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StoppedAtOnce) as stopped:
            os.kill(os.getpid(), signal.SIGTERM)
    assert stopped.value.code == 128 + 15


def test_without_a_signal_nothing_stops() -> None:
    with handled():
        check("anywhere")
        assert not requested()

"""Signals: the first is obeyed at the end of a step, the second at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from harness.runs import interrupt
from harness.runs.interrupt import RESUMABLE, SIGNALS, Interrupted, StoppedAtOnce, check, finishing, handled, requested


@pytest.fixture(autouse=True)
def _no_signal_is_ignored() -> Iterator[None]:
    """Under nohup and in the background of a script pytest starts with SIGHUP or SIGINT ignored."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


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


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_was_ignored_at_the_start_stays_ignored(number: signal.Signals) -> None:
    """nohup ignores SIGHUP. A shell ignores SIGINT of what it starts in a script's background."""
    signal.signal(number, signal.SIG_IGN)
    with handled():
        os.kill(os.getpid(), number)
        assert not requested()


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


def test_an_engine_that_does_not_answer_is_ended_by_the_first_signal() -> None:
    """vLLM on a slow CPU took minutes to its first token, and the signal was only heard."""

    def silent() -> None:
        with handled(), finishing("sampling", 0.05):
            os.kill(os.getpid(), signal.SIGTERM)
            while True:  # nothing looks whether it is requested
                time.sleep(10)

    with pytest.raises(Interrupted, match="within a batch") as stopped:
        silent()
    assert (stopped.value.code, stopped.value.signal) == (75, "SIGTERM")


def test_a_block_that_ends_in_time_is_not_interrupted_later() -> None:
    with handled():
        with finishing("sampling", 0.05):
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)  # the timer is over by now
        assert requested()


LONG = """
import hashlib, sys
from harness.runs import interrupt
interrupt.HEARD_S = 0.1
with interrupt.handled(), interrupt.finishing():
    print("begins", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 10_000_000)  # one call, in which Python handles no signal
    print("over", file=sys.stderr, flush=True)
    interrupt.requested() and print("requested", file=sys.stderr, flush=True)
"""


def test_a_signal_in_a_long_operation_is_said_to_be_heard_before_it_ends() -> None:
    program = [sys.executable, "-c", LONG]
    child = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begins\n"
    time.sleep(0.2)  # into the call
    child.send_signal(signal.SIGTERM)
    assert child.communicate(timeout=300)[1].splitlines() == [
        "SIGTERM: heard; the operation under way ends first",
        "SIGTERM: finishing the step and saving; a second signal stops at once",
        "over",
        "requested",
    ]


def test_a_block_that_has_ended_says_nothing_of_its_signals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next block forgets the received signals, so a late thread of the last block would call them unheard."""
    monkeypatch.setattr(interrupt, "HEARD_S", 0.2)
    with handled(), finishing():
        os.kill(os.getpid(), signal.SIGTERM)
        assert requested()
    with handled():
        time.sleep(0.5)
    assert capsys.readouterr().err == "SIGTERM: finishing the step and saving; a second signal stops at once\n"

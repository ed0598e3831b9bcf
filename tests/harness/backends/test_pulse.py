"""A slow step says every 30 s how far it is, also within one pass of the model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from harness.backends.trl import pulse


class Clocked:
    """A trainer under a clock that the test moves, and its pulse without the thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(pulse.time, "monotonic", lambda: self.now)
        self.embedding = torch.nn.Embedding(4, 2)
        self.trainer = trainer(self.embedding)
        self.pulse = pulse.Pulse(self.trainer)
        self.embedding.register_forward_pre_hook(self.pulse)

    def passes(self, count: int, seconds: int = 10) -> Iterator[str]:
        """The lines of a look at the end of each pass."""
        for _ in range(count):
            self.embedding(torch.tensor([1]))
            self.now += seconds
            yield from filter(None, [self.pulse.line()])


def trainer(embedding: torch.nn.Embedding) -> SimpleNamespace:
    return SimpleNamespace(
        model=SimpleNamespace(get_input_embeddings=lambda: embedding),
        state=SimpleNamespace(global_step=6, max_steps=9),
        args=SimpleNamespace(gradient_accumulation_steps=4),
        max_completion_length=96,
        phase="sampling",
    )


def test_a_line_every_30_seconds_of_sampling_and_update(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Clocked(monkeypatch)
    with torch.inference_mode():
        lines = list(clocked.passes(7))  # begun at 0, 10, ..., 60, looked at 10, 20, ..., 70
    clocked.trainer.phase = ""
    lines += clocked.passes(1)  # 80: the first micro-batch's own pass
    with torch.no_grad():
        lines += clocked.passes(3)  # 90, 100, 110: of the others, for the method
    lines += clocked.passes(3)  # 120, 130, 140: their updates
    clocked.trainer.state.global_step = 7
    assert clocked.pulse.line() is None
    clocked.now += 40
    assert clocked.pulse.line() is None  # between two steps: nothing that it counts is under way
    lines += clocked.passes(4)
    assert lines == [
        "    step 7/9: sampling, 3 of at most 96 tokens after 30 s",
        "    step 7/9: sampling, 6 of at most 96 tokens after 60 s",
        "    step 7/9: log-probabilities, 1 pass after 10 s",
        "    step 7/9: update, micro-batch 2 of 4 after 50 s",
        "    step 8/9: update, micro-batch 3 of 4 after 30 s",
    ]


def test_a_pass_of_minutes_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Clocked(monkeypatch)
    clocked.trainer.phase = ""  # an update has no name of its own
    clocked.embedding(torch.tensor([1]))
    lines = []
    for _ in range(100):
        clocked.now += 1
        lines += filter(None, [clocked.pulse.line()])
    assert lines == [f"    step 7/9: update, micro-batch 1 of 4 after {seconds} s" for seconds in (30, 60, 90)]


def test_many_quick_steps_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Clocked(monkeypatch)
    for clocked.trainer.state.global_step in range(20):  # 10 s each
        assert list(clocked.passes(1)) == []


def test_the_thread_speaks_and_ends_with_the_block(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pulse, "EVERY_S", 0.0)
    monkeypatch.setattr(pulse, "LOOK_S", 0.001)
    embedding = torch.nn.Embedding(4, 2)
    output, updating = "", trainer(embedding)
    updating.phase = ""
    with pulse.Pulse(updating) as begun:
        embedding(torch.tensor([1]))
        until = time.monotonic() + 60
        while "micro-batch 1 of 4" not in output and time.monotonic() < until:
            time.sleep(0.01)
            output += capsys.readouterr().err
    assert "    step 7/9: update, micro-batch 1 of 4 after 0 s\n" in output
    assert not begun.thread.is_alive()
    embedding(torch.tensor([1]))
    assert begun.passes == {"update": 1}


def test_phases_without_a_pass_of_the_policy_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards and the reference model never call the policy's embedding: they showed as sampling."""
    clocked = Clocked(monkeypatch)
    with torch.no_grad():
        lines = list(clocked.passes(2))  # sampling from 0 to 20
    for phase in ("rewards", "reference log-probabilities", ""):
        clocked.trainer.phase = phase
        for _ in range(4):  # a look each 10 s
            lines += filter(None, [clocked.pulse.line()])
            clocked.now += 10
    assert lines == [
        "    step 7/9: rewards after 10 s",  # looked at 20, 30, 40, 50: 30 s after the step began
        "    step 7/9: reference log-probabilities after 0 s",  # 60
        "    step 7/9: reference log-probabilities after 30 s",  # 90
    ]


@pytest.mark.parametrize("phase", ["sampling", "greedy responses", "a phase of tomorrow"])
def test_a_phase_that_the_trainer_names_is_silent_once_it_has_ended(
    phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocked = Clocked(monkeypatch)
    clocked.trainer.phase = phase
    assert clocked.pulse.line() is None  # it begins
    clocked.trainer.phase = ""
    clocked.now += 40
    assert clocked.pulse.line() is None

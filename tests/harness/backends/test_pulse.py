"""A slow step says every 30 s how far it is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from harness.backends.trl import pulse


def test_a_line_every_30_seconds_of_sampling_and_update(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(pulse.time, "monotonic", lambda: now[0])
    embedding = torch.nn.Embedding(4, 2)
    trainer = SimpleNamespace(
        model=SimpleNamespace(get_input_embeddings=lambda: embedding),
        state=SimpleNamespace(global_step=6, max_steps=9),
        args=SimpleNamespace(gradient_accumulation_steps=4),
        max_completion_length=96,
        phase="sampling",
    )
    pulse.Pulse(trainer)

    def passes(count: int) -> None:
        for _ in range(count):  # one every 10 s
            embedding(torch.tensor([1]))
            now[0] += 10

    with torch.inference_mode():
        passes(8)  # at 0, 10, ..., 70
    trainer.phase = ""
    passes(1)  # at 80: the first micro-batch's own pass
    with torch.no_grad():
        passes(3)  # at 90, 100, 110: of the others, for the method
    passes(3)  # at 120, 130, 140: their updates
    trainer.state.global_step = 7
    passes(1)  # at 150, when the next step begins: it is not slow yet
    passes(3)
    assert capsys.readouterr().err.splitlines() == [
        "    step 7/9: sampling, 4 of at most 96 tokens after 30 s",
        "    step 7/9: sampling, 7 of at most 96 tokens after 60 s",
        "    step 7/9: log-probabilities, 1 pass after 0 s",
        "    step 7/9: update, micro-batch 2 of 4 after 40 s",
        "    step 8/9: update, micro-batch 4 of 4 after 30 s",
    ]


def test_many_quick_steps_say_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    monkeypatch.setattr(pulse.time, "monotonic", lambda: now[0])
    embedding, state = torch.nn.Embedding(4, 2), SimpleNamespace(global_step=0, max_steps=99)
    model = SimpleNamespace(get_input_embeddings=lambda: embedding)
    pulse.Pulse(SimpleNamespace(model=model, state=state, args=None, phase="sampling"))
    with torch.no_grad():
        for state.global_step in range(20):  # 10 s each
            now[0] += 10
            embedding(torch.tensor([1]))
    assert capsys.readouterr().err == ""

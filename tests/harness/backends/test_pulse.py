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
    model = SimpleNamespace(get_input_embeddings=lambda: embedding)
    pulse.Pulse(SimpleNamespace(model=model, state=SimpleNamespace(global_step=6, max_steps=9)))
    with torch.inference_mode():
        for _ in range(8):  # a pass every 10 s: at 10, 20, ..., 80
            now[0] += 10
            embedding(torch.tensor([1]))
    now[0] += 10
    embedding(torch.tensor([1]))  # at 90, with gradients: the update begins
    assert capsys.readouterr().err.splitlines() == [
        "    step 7/9: sampling, 3 passes after 20 s",
        "    step 7/9: sampling, 6 passes after 50 s",
        "    step 7/9: update, micro-batch 1 after 0 s",
    ]

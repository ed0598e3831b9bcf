"""The viewer marks as forks what the trainer's mask and the figures call forks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from evals.analysis.forks import fork_threshold
from harness.report import data

ENTROPIES = [0.05 * i for i in range(41)]


def test_the_viewers_threshold_is_that_of_the_forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, float] = {}
    subject = SimpleNamespace(tables={"b": pd.DataFrame()}, prompts={})
    model: Any = SimpleNamespace(name="a", readable=subject, unread="", subject=subject, sources=["one"])

    def pack(kept: Any, forks: dict[str, float], of: int) -> dict[str, Any]:
        given.update(forks)
        return {}

    monkeypatch.setattr(data, "token_table", lambda *_: {"entropy": ENTROPIES})
    monkeypatch.setattr(data, "_shown", lambda *_: ["a response"])
    monkeypatch.setattr(data, "keep", lambda responses, budget: responses)
    monkeypatch.setattr(data, "pack", pack)
    data._viewer([model], tmp_path, 10)
    # the least entropy at or above the 0.8 quantile of 41 equally spaced values is the 33rd, 1.6
    assert given == {"a": pytest.approx(fork_threshold(ENTROPIES))}
    assert given["a"] == pytest.approx(1.6)

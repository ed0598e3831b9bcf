"""A server that makes a run and then answers 500: MLflow's own second try would make another."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from harness.runs.track import Tracker

RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"


@pytest.mark.parametrize("own", ["3", None])
def test_a_run_is_created_once(own: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if own is None:
        monkeypatch.delenv(RETRIES, raising=False)
    else:
        monkeypatch.setenv(RETRIES, own)
    seen: list[str | None] = []

    def create_run(*_: Any, **__: Any) -> Any:
        seen.append(os.environ.get(RETRIES))
        raise ConnectionError("500")

    tracker = Tracker.__new__(Tracker)
    client: Any = SimpleNamespace(search_runs=lambda *_, **__: [], create_run=create_run)
    object.__setattr__(tracker, "client", client)
    monkeypatch.setattr(Tracker, "experiment", lambda *_: "0")
    with pytest.raises(ConnectionError):
        tracker.run_of("egsw", "a", {}, "token", 0)
    assert seen == ["0"]
    assert os.environ.get(RETRIES) == own

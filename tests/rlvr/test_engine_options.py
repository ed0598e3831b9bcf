from __future__ import annotations

from rlvr.evaluation import make_engine


def test_the_options_reach_the_engine() -> None:
    settings = {"engine.url": "http://127.0.0.1:8000/v1", "engine.concurrency": 3, "engine.timeout_s": 20}
    engine = make_engine("some-model", "openai", settings)
    assert (engine.model, engine.url, engine.concurrency) == ("some-model", "http://127.0.0.1:8000/v1", 3)
    assert engine.timeout_s == 20.0


def test_replicas_from_the_command_line() -> None:
    engine = make_engine("m", "vllm", {"engine.replicas": 2, "engine.batch_rows": 8})
    assert engine.count == 2
    assert engine.chunk_rows == 8 * 2 * 16

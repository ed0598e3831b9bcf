from __future__ import annotations

import pytest

from harness.cli.engine_options import take_engine
from harness.cli.main import main
from harness.command.config import parse_overrides


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("engine=vlm", "engine=vlm: no such engine; did you mean 'vllm'?"),
        ("engine=openai engine.concurency=3", "did you mean 'engine.concurrency'?"),
        ("engine.url=http://h/v1", "engine.url=http://h/v1: no such key of engine transformers"),
        ("engine=openai", "engine openai: url: missing"),
        ("engine=openai engine.url=http://h/v1 engine.attempts=many", "engine.attempts: expected int, got 'many'"),
        ("engine=vllm engine.batch_rows=0", "engine vllm: batch_rows=0, expected >= 1"),
        ("engine=vllm engine.gpu_memory=2", "engine vllm: gpu_memory=2.0, expected a number in (0, 1]"),
        ("engine=vllm engine.replicas=0", "engine vllm: replicas=0, expected >= 1"),
    ],
)
def test_wrong_engines_start_nothing(options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "model=m", "protocol=tiny", *options.split()]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""


def test_the_options_reach_the_engine() -> None:
    values = parse_overrides(
        ["n=4", "engine=openai", "engine.url=http://127.0.0.1:8000/v1", "engine.concurrency=3", "engine.timeout_s=20"]
    )
    engine = take_engine(values, "some-model")
    assert (engine.model, engine.url, engine.concurrency) == ("some-model", "http://127.0.0.1:8000/v1", 3)
    assert engine.timeout_s == 20.0
    assert values == {"n": 4}


def test_replicas_from_the_command_line() -> None:
    engine = take_engine(parse_overrides(["engine=vllm", "engine.replicas=2", "engine.batch_rows=8"]), "m")
    assert engine.count == 2
    assert engine.chunk_rows == 8 * 2 * 16

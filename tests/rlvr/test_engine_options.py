from __future__ import annotations

import pytest

from rlvr.cli import main
from rlvr.evaluation import make_engine


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ("engine=vlm", "engine=vlm"),
        ("engine=openai engine.concurency=3", "engine.concurency"),
        ("engine.url=http://h/v1", "engine.url"),
        ("engine=openai", "url"),
        ("engine=openai engine.url=http://h/v1 engine.attempts=many", "engine.attempts"),
        ("engine=vllm engine.batch_rows=0", "batch_rows=0"),
        ("engine=vllm engine.gpu_memory=2", "gpu_memory=2.0"),
        ("engine=vllm engine.replicas=0", "replicas=0"),
        ("tools.turns=2", "tools.turns"),
    ],
)
def test_wrong_engines_start_nothing(options: str, field: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "model=m", "protocol=tiny", *options.split()]) == 2
    shown = capsys.readouterr()
    assert field in shown.err
    assert shown.out == ""


def test_the_options_reach_the_engine() -> None:
    settings = {"engine.url": "http://127.0.0.1:8000/v1", "engine.concurrency": 3, "engine.timeout_s": 20}
    engine = make_engine("some-model", "openai", False, settings)
    assert (engine.model, engine.url, engine.concurrency) == ("some-model", "http://127.0.0.1:8000/v1", 3)
    assert engine.timeout_s == 20.0


def test_replicas_from_the_command_line() -> None:
    engine = make_engine("m", "vllm", False, {"engine.replicas": 2, "engine.batch_rows": 8})
    assert engine.count == 2
    assert engine.chunk_rows == 8 * 2 * 16

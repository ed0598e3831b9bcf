"""A new engine is one file and one entry of `engines.ENGINES`: everything else asks its class."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evals.sampling import engines
from harness.backends.engine import sampling_engine
from harness.backends.trl.hardware import TrlHardware
from harness.plan.machine import check_engine, check_sharing
from harness.plan.profiles import measures
from harness.spec.hardware import Hardware
from rlvr.cli import main

ECHO = """
from evals.sampling.engines.base import Completion, Kind


class Echo(Kind):
    served, package, decoding = True, "json", frozenset({"stop"})
    tokenizer = context = None
    chunk_rows = 8

    def __init__(self, model, *, url: str | None = None, times: int = 1):
        self.model, self.times = model, times

    def describe(self):
        return {"name": "echo", "times": self.times}

    def generate(self, requests, decoding, on_step=None):
        for request in requests:
            yield [Completion(request.key, r"so \\boxed{2}" * self.times, 3, "stop")]
"""


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "echo_engine.py").write_text(ECHO)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(engines.ENGINES, "echo", "echo_engine:Echo")
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))


@pytest.mark.usefixtures("echo")
def test_a_new_engine_measures_with_its_own_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"problem": f"{i} + 1 = ?", "answer": str(i + 1)} for i in range(2)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["eval", "model=m", "engine=echo", f"benchmarks=[{tmp_path / 'sums.jsonl'}]", "n=2", "--json"]
    assert main([*command, "engine.times=2"]) == 0
    out, err = capsys.readouterr()
    scores = json.loads(out)["scores"]["sums"]
    assert scores[0]["name"] == "avg@2" and scores[0]["value"] == 0.5  # 0 + 1 is wrong, and 1 + 1 is right
    assert "loading the model" not in err
    assert main([*command, "engine.dtype=float32"]) == 2
    assert "no such key of engine echo. Expected one of: engine.times, engine.url" in capsys.readouterr().err
    assert main([*command, "engine.times=x"]) == 2
    assert "engine.times: expected int, got 'x'" in capsys.readouterr().err
    assert main(["list", "what=engines"]) == 0 and "echo" in capsys.readouterr().out


@pytest.mark.usefixtures("echo")
def test_the_machine_asks_the_engine_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.command.resolve import resolve

    hardware = TrlHardware(device="gpu", engine="echo", engine_url="http://h", engine_tensor_parallel=8)
    assert sampling_engine(hardware, "m", 99).describe() == {"name": "echo", "times": 1}  # takes no tensor_parallel
    (job,) = resolve("erpo", models=["qwen3-235b-instruct"], arms=["base"], scale="paper", seeds=[0], overrides={})
    assert measures(job, hardware) and not measures(
        job, replace(hardware, engine="transformers")
    )  # 235B parameters on a GPU
    check_engine(hardware)
    monkeypatch.setattr("echo_engine.Echo.package", "no_such_package")
    with pytest.raises(
        ValueError, match=r"hardware\.engine: expected transformers, got 'echo': no_such_package is not"
    ):
        check_engine(hardware)
    machines = {(job.model, job.arm): replace(hardware, engine_tensor_parallel=1)}
    check_sharing([job], machines, 2, 1)  # a server needs nothing of the card
    monkeypatch.setattr("echo_engine.Echo.gpu_share", 0.9)
    with pytest.raises(ValueError, match=r"2 jobs share a GPU.*expected hardware\.engine=transformers"):
        check_sharing([job], machines, 2, 1)


def test_an_unknown_engine_is_refused_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    for made in (engines.create, lambda name, _: Hardware(engine=name)):
        with pytest.raises(ValueError, match=r"'vlm'.*vllm|vllm.*'vlm'"):
            made("vlm", "m")
    assert main(["eval", "model=m", "engine=vlm"]) == 2
    assert "engine=vlm: no such engine. Did you mean" in capsys.readouterr().err


def test_options_are_those_of_the_class() -> None:
    assert engines.options("transformers") == {"device": str, "dtype": str, "batch_rows": int, "replicas": int}
    assert engines.options("openai") == {"url": str, "concurrency": int, "price_in": float, "price_out": float}

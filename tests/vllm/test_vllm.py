"""The vLLM engine itself. Needs vLLM (`nox -s vllm`), so not among the normal tests."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evals.sampling import engines
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.engines.base import sample_seed
from evals.sampling.engines.transformers import TransformersEngine
from evals.sampling.prompt_nats import TOKENS
from harness.data.tiny.pinned import pinned
from tests.experiments import save_random_model

pytest.importorskip("vllm", reason="vLLM is not installed here: nox -s vllm")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_random_model(tmp_path_factory.mktemp("random"), heads=1)


@pytest.fixture(scope="module")
def engine(model: Path) -> Any:
    return engines.create("vllm", str(model))


def some_requests(problems: int, samples: int) -> list[Request]:
    """Prompts of several lengths."""
    return [
        Request((f"p{i}", s), "<|user|>" + "3 + 4 * " * (1 + i % 4) + f"{i}", sample_seed(0, "x", (f"p{i}", s)))
        for i in range(problems)
        for s in range(samples)
    ]


def generated(engine: Any, requests: list[Request], decoding: Decoding) -> dict[Any, Completion]:
    return {c.key: c for batch in engine.generate(requests, decoding) for c in batch}


def test_samples_are_the_same_twice_and_differ_by_seed(engine: Any) -> None:
    requests, decoding = some_requests(6, 16), Decoding(1.0, 0.95, 40)
    first = generated(engine, requests, decoding)
    assert first.keys() == {r.key for r in requests}
    assert generated(engine, requests, decoding) == first
    assert len({c.text for c in first.values()}) > 90  # 96 samples of 40 tokens of a near-uniform model
    other = [Request(r.key, r.prompt_text, r.seed + 1) for r in requests]
    assert generated(engine, other, decoding) != first


def test_more_prompts_than_are_read_at_a_time(engine: Any) -> None:
    """400 seeded samples of prompts of some 20 to 70 tokens: several times the tokens of one step."""
    done = generated(engine, some_requests(100, 4), Decoding(1.0, 1.0, 4))
    assert len(done) == 400


def test_greedy_is_that_of_transformers(engine: Any, model: Path) -> None:
    requests, decoding = some_requests(12, 1), Decoding(0.0, 1.0, 48)
    assert generated(engine, requests, decoding) == generated(
        TransformersEngine(str(model), device="cpu"), requests, decoding
    )


def test_prompts_are_read_as_by_transformers(engine: Any, model: Path) -> None:
    longer = "7 * " * TOKENS  # than the model's context
    requests = [Request(("long", 0), longer, 0), Request(("short", 0), "7", 0), *some_requests(6, 2)]
    read = engine.prompt_nats(requests)
    slow = TransformersEngine(str(model), device="cpu").prompt_nats(requests)
    assert (read.prompts, read.tokens) == (slow.prompts, slow.tokens - 1)  # vLLM needs room for one more token
    assert read.per_byte == pytest.approx(slow.per_byte, abs=0.01)
    short = some_requests(6, 2)
    read, slow = engine.prompt_nats(short), TransformersEngine(str(model), device="cpu").prompt_nats(short)
    assert dataclasses.asdict(read) == pytest.approx(dataclasses.asdict(slow), rel=1e-5)
    assert generated(engine, some_requests(2, 2), Decoding(1.0, 1.0, 4))  # it samples as before


def test_vllm_responses_end_at_end_tokens_or_the_limit(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a twelfth of all tokens as end tokens, most of 96 rows end early: (11/12)^40 = 3 % do not."""
    ends = sorted({engine.tokenizer.eos_token_id, *range(0, len(engine.tokenizer), 12)})
    monkeypatch.setattr(engine, "_ends", lambda: ends)
    seen: list[Any] = []
    completions = engine._completions
    monkeypatch.setattr(engine, "_completions", lambda ready, stop: (seen.extend(ready), completions(ready, stop))[1])
    done = generated(engine, some_requests(6, 16), Decoding(1.0, 1.0, 40))
    assert {c.finish_reason for c in done.values()} == {"stop", "length"}
    for request, output in seen:
        row, c = list(output.token_ids), done[request.key]
        assert c.tokens == len(row) <= 40
        stopped = row[-1] in ends  # vLLM stops at the first end token, so only the last can be one
        assert not set(row[:-1]) & set(ends)
        assert c.finish_reason == ("stop" if stopped else "length")
        assert stopped or c.tokens == 40
        assert c.text == engine.tokenizer.decode(row[:-1] if stopped else row, skip_special_tokens=True)


def test_the_model_s_own_end_token_ends(engine: Any) -> None:
    assert engine._ends() == [engine.tokenizer.eos_token_id]


def test_what_does_not_fit_is_refused(engine: Any) -> None:
    context = engine.llm.model_config.max_model_len
    with pytest.raises(ValueError, match=f"max_tokens={context} does not fit: the prompt of problem 'p0'"):
        list(engine.generate(some_requests(1, 1), Decoding(1.0, 1.0, context)))


def test_an_abandoned_generation_leaves_nothing_behind(engine: Any) -> None:
    requests, decoding = some_requests(6, 16), Decoding(1.0, 1.0, 40)
    whole = generated(engine, requests, decoding)
    batches: Iterator[list[Completion]] = engine.generate(requests, decoding)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert not engine.llm.llm_engine.has_unfinished_requests()
    assert generated(engine, requests, decoding) == whole


def test_the_record_states_the_limits_of_determinism(engine: Any) -> None:
    assert engine.describe()["batch_independent"] is False
    assert engine.describe()["device"] == "cpu"


def test_two_replicas_give_the_samples_of_one(model: Path, engine: Any) -> None:
    """Greedy, so that the pieces' sizes do not matter."""
    requests, decoding = some_requests(8, 1), Decoding(0.0, 1.0, 24)
    two = engines.create("vllm", str(model), replicas=2)
    try:
        assert generated(two, requests, decoding) == generated(engine, requests, decoding)
    finally:
        two.close()  # type: ignore[attr-defined]


def test_vllm_itself_refuses_what_a_rehearsal_would(tmp_path: Path) -> None:
    """The dwarf of Qwen2.5-Math has its 4,096 positions. entropy_advantage asks for 10,240 without its context."""
    from harness.data import dwarf
    from harness.jobs.rehearsal import engine_accepts

    folder = str(dwarf.make("Qwen/Qwen2.5-Math-7B", tmp_path / "dwarf", limit=64))
    assert engine_accepts(folder, 4096) == []
    (message,) = engine_accepts(folder, 10_240)
    assert "10240" in message and "4096" in message


@pytest.mark.parametrize("replicas", [(), ("engine.replicas=2",)])
def test_what_the_library_prints_is_kept_from_the_user(replicas: tuple[str, ...], tmp_path: Path) -> None:
    """Its C++ code, its logs and its leaks, of this process and of the replicas', stand in libraries.log."""
    command = [sys.executable, "-m", "rlvr", "eval", f"model={pinned('tiny')}", "protocol=tiny", "engine=vllm"]
    command += ["benchmarks=[tiny_short]", "rows=4", "n=2", *replicas]
    environment = {**os.environ, "RLVR_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    prefixes = (f"{pinned('tiny')}: reading", "tiny_short: ")
    assert [line for line in done.stderr.splitlines() if not line.startswith(prefixes)] == []
    assert "nanobind" in (tmp_path / "home" / "libraries.log").read_text()

"""The same greedy responses by vLLM and by a server that speaks OpenAI's interface. Both need vLLM's environment."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from evals.sampling import engines
from evals.sampling.engines import Request
from evals.sampling.engines.encode import prompt_tokens
from tests.real.conftest import GREEDY, PROBLEMS, by_vllm, log_probabilities, requests
from tests.real.test_sampling import EQUAL, NEAR, check_greedy

pytestmark = pytest.mark.slow
pytest.importorskip("vllm", reason="vLLM is not installed here: nox -s real")


@pytest.fixture(scope="module")
def greedy_requests(engine: Any) -> list[Request]:
    return requests(engine.tokenizer)


def test_vllm_s_greedy_responses_are_those_of_plain_passes(
    model: Path, engine: Any, greedy_requests: list[Request]
) -> None:
    largest, responses = 0.0, by_vllm(model, greedy_requests)
    for request in greedy_requests:
        completion, output = responses[request.key[0]]
        tokens = list(output.token_ids)
        plain = check_greedy(engine, request, completion, tokens)
        vllm_logp = torch.tensor([at[token].logprob for at, token in zip(output.logprobs, tokens, strict=True)])
        largest = max(largest, float((plain - vllm_logp).abs().max()))
    print(f"largest difference of a log-probability: {largest:g}")
    assert 0 < largest < EQUAL


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[str]:
    """The address of vLLM's own server with the model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--served-model-name", "smollm2", "--dtype", "float32", "--enforce-eager", "--max-model-len", "2048"]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), *options]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--disable-uvicorn-access-log"],
        env={**environment, "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, "the server ended before it answered"
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5)
                break
            except OSError:
                time.sleep(1)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def test_a_server_gives_the_same_prompts_and_responses(
    engine: Any, greedy_requests: list[Request], server: str
) -> None:
    for request in greedy_requests:  # its chat template, on the messages. Ours is rendered here
        body = json.dumps({"model": "smollm2", "messages": list(request.messages or ()), "add_generation_prompt": True})
        question = urllib.request.Request(f"{server}/tokenize", body.encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(question, timeout=60) as answer:
            assert json.load(answer)["tokens"] == prompt_tokens(engine.tokenizer, request.prompt_text)
    asking = engines.create("openai", "smollm2", url=f"{server}/v1")
    done = {completion.key: completion for batch in asking.generate(greedy_requests, GREEDY) for completion in batch}
    direct = {completion.key: completion for batch in engine.generate(greedy_requests, GREEDY) for completion in batch}
    same = [key for key, completion in done.items() if completion == direct[key]]
    assert len(same) >= len(PROBLEMS) - 2
    for request in greedy_requests:
        if request.key not in same:
            check_near(engine, request, direct[request.key].text, done[request.key].text)


def check_near(engine: Any, request: Request, first_text: str, second: str) -> None:
    """Where two texts part, the two best log-probabilities are nearer than `NEAR`."""
    tokens = engine.tokenizer.encode(first_text)
    first = next(n for n in range(len(tokens)) if not second.startswith(engine.tokenizer.decode(tokens[: n + 1])))
    prompt = prompt_tokens(engine.tokenizer, request.prompt_text)
    best = log_probabilities(engine.model, prompt, tokens[:first])[-1].topk(2).values
    assert float(best[0] - best[1]) < NEAR, f"{first_text!r} and {second!r} part at token {first}"

"""The real model that `nox -s real` has fetched. Without that session these tests are skipped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evals.data import prompts
from evals.data.benchmarks import Problem
from evals.sampling.engines import Completion, Decoding, Request

PROBLEMS = [  # 16: some are answered at once, others are cut at the limit
    "What is 12 + 345?",
    "What is the capital of France? Answer with one word.",
    "Name one colour. One word only.",
    "Say yes.",
    "Tom has 3 bags with 14 marbles each. He loses 5 marbles. How many are left?",
    "List the steps to solve 2x + 3 = 11.\n\n1. First step:",
    "Write a Python function that adds two numbers.",
    "Is 17 a prime number? Answer yes or no.",
    "What is \\frac{1}{2} + \\frac{1}{3}?",
    "Translate to French: Good morning!",
    "Complete: one, two, three,",
    "A train travels 60 km in 45 minutes. What is its speed in km/h?",
    "What is 7 * 8?",
    "Give me a short poem about the sea.",
    "Ünïcode: what is the plural of “Straße” in German? 😀",
    "Explain  why   spaces matter , please .",
]
GREEDY = Decoding(0.0, 1.0, 32)


@pytest.fixture(scope="session")
def model() -> Path:
    """SmolLM2-135M-Instruct as a folder (not to be written to)."""
    folder = os.environ.get("RLVR_REAL_MODEL")
    if folder is None:
        pytest.skip("real weights are fetched by `nox -s real`")
    return Path(folder)


@pytest.fixture(scope="session")
def engine(model: Path) -> Any:
    from evals.sampling.engines.transformers import TransformersEngine

    return TransformersEngine(str(model), device="cpu")


def requests(tokenizer: Any) -> list[Request]:
    """The problems as chat prompts."""
    prompt = prompts.get("plain")
    made = []
    for i, text in enumerate(PROBLEMS):
        problem = Problem(str(i), text, "")
        conversation = tuple(prompts.messages(prompt, problem))
        made.append(Request((str(i), 0), prompts.render(prompt, problem, tokenizer), i, conversation))
    return made


def log_probabilities(model: Any, prompt: Sequence[int], response: Sequence[int]) -> Any:
    """The log-probabilities of every token of the vocabulary at each position of `response` and after it, [T + 1, V],
    by one plain pass."""
    import torch

    with torch.inference_mode():
        logits = model(torch.tensor([[*prompt, *response]])).logits[0, len(prompt) - 1 :]
    return logits.float().log_softmax(-1)


def by_vllm(model: Path, requests: Sequence[Request]) -> dict[str, tuple[Completion, Any]]:
    """The greedy completion of each request by vLLM, by its problem's name, with what vLLM itself says of it: token ids
    and the log-probability of each."""
    from evals.sampling import engines

    vllm: Any = engines.create("vllm", str(model))
    outputs: list[Any] = []
    completions, sampling = vllm._completions, vllm._sampling

    def with_log_probabilities(request: Request, decoding: Any) -> Any:
        made = sampling(request, decoding)
        made.logprobs = 0  # the chosen token's alone
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vllm, "_completions", lambda ready, *stop: (outputs.extend(ready), completions(ready, *stop))[1])
        patch.setattr(vllm, "_sampling", with_log_probabilities)
        done = {completion.key: completion for batch in vllm.generate(requests, GREEDY) for completion in batch}
    vllm.close()
    return {request.key[0]: (done[request.key], output) for request, output in outputs}

"""One response of veRL's sampler: what it asks for, and where the response ends."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.needs_verl import need_verl

need_verl()

from omegaconf import OmegaConf  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

from evals.sampling.engines.encode import prompt_tokens  # noqa: E402
from harness.backends.verl.rollout import READ, SampleLoop  # noqa: E402
from harness.data.tiny.pinned import pinned  # noqa: E402


def sampled(generate: Any, tokenizer: Any, *, stop: list[str], uid: str, session_id: int = 0) -> Any:
    """One response to "2 + 3" from a sampler with this server."""
    loop = SampleLoop.__new__(SampleLoop)
    loop.tokenizer, loop.server_manager = tokenizer, SimpleNamespace(generate=generate)
    loop.rollout_config = SimpleNamespace(seed=0)
    loop.config = OmegaConf.create({"reward": {"custom_reward_function": {"reward_kwargs": {"stop": stop}}}})
    return asyncio.run(loop.run({"temperature": 1.0}, raw_prompt="2 + 3", uid=uid, session_id=session_id))


@pytest.mark.parametrize(
    ("uid", "session_id"), [("00000001-000003", 0), ("00000001-000000", 1), ("00000002-000000", 0)]
)
def test_the_first_sample_of_each_prompt_of_step_1_says_how_well_the_prompt_is_read(uid: str, session_id: int) -> None:
    tokenizer = AutoTokenizer.from_pretrained(pinned("tiny"))
    calls: list[dict[str, Any]] = []

    async def generate(**request: Any) -> Any:
        calls.append(request)
        logprobs = [[-0.5] for _ in request["prompt_ids"][1:]]
        read = request["sampling_params"].get("prompt_logprobs") == 0
        return SimpleNamespace(
            token_ids=[1], log_probs=[0.0], extra_fields={"prompt_logprobs": logprobs} if read else {}
        )

    output = sampled(generate, tokenizer, stop=[], uid=uid, session_id=session_id)
    first = uid == "00000001-000003"
    assert len(calls) == len({request["request_id"] for request in calls}) == 1 + first
    ids = prompt_tokens(tokenizer, "2 + 3")
    assert output.extra_fields == ({READ: (ids, 0.5 * (len(ids) - 1))} if first else {})


@pytest.mark.parametrize("stop", [[], ["so"]])
def test_a_response_ends_with_the_token_that_completes_a_stop_text(stop: list[str]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(pinned("tiny"))
    token_ids = tokenizer.encode("2 + 3 = 5 so 5 so 5", add_special_tokens=False)
    parameters: dict[str, Any] = {}

    async def generate(**request: Any) -> Any:
        parameters.update(request)
        return SimpleNamespace(
            token_ids=token_ids, log_probs=[-float(i) for i in range(len(token_ids))], extra_fields={}
        )

    output = sampled(generate, tokenizer, stop=stop, uid="00000002-000000")
    assert parameters["sampling_params"].get("stop") == (stop or None)
    text = tokenizer.decode(output.response_ids)
    assert text.endswith("so" if stop else "5") and text.count("so") == (1 if stop else 2)
    assert len(output.response_logprobs) == len(output.response_mask) == len(output.response_ids)

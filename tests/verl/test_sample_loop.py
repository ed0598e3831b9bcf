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

from harness.backends.verl.rollout import SampleLoop  # noqa: E402
from harness.data.tiny.pinned import pinned  # noqa: E402


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

    loop = SampleLoop.__new__(SampleLoop)
    loop.tokenizer, loop.server_manager = tokenizer, SimpleNamespace(generate=generate)
    loop.rollout_config = SimpleNamespace(seed=0)
    loop.config = OmegaConf.create({"reward": {"custom_reward_function": {"reward_kwargs": {"stop": stop}}}})
    output = asyncio.run(loop.run({"temperature": 1.0}, raw_prompt="2 + 3", uid="00000001-000000", session_id=0))
    assert parameters["sampling_params"].get("stop") == (stop or None)
    text = tokenizer.decode(output.response_ids)
    assert text.endswith("so" if stop else "5") and text.count("so") == (1 if stop else 2)
    assert len(output.response_logprobs) == len(output.response_mask) == len(output.response_ids)

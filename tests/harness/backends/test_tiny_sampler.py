"""The fast sampler against transformers' own `generate`: equal tokens from equal random numbers."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from harness.backends.trl import tiny_sampler  # noqa: E402
from harness.data.tiny import family, tokenizer  # noqa: E402
from harness.data.tiny.base import BaseSettings, new_model  # noqa: E402

PAD = 0


@pytest.fixture(scope="module")
def model() -> Any:
    """Untrained and small; weights of this size make a distribution in which some tokens are likely."""
    words = tokenizer.build_tokenizer(family("tiny").pieces())
    torch.manual_seed(1)
    return new_model(words, BaseSettings(hidden=32, intermediate=64, initial_std=0.3)).train()


def by_generate(model: Any, prompts: list[list[int]], *, seed: int, stops: list[int], temperature: float) -> Any:
    from transformers import GenerationConfig

    width = max(map(len, prompts))
    ids = torch.tensor([[PAD] * (width - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    config = GenerationConfig(
        max_new_tokens=12, do_sample=True, temperature=temperature, top_k=0, eos_token_id=stops, pad_token_id=PAD
    )
    torch.manual_seed(seed)
    rows = model.generate(input_ids=ids, attention_mask=mask, generation_config=config)[:, width:].tolist()
    ends = [next((i + 1 for i, token in enumerate(row) if token in stops), len(row)) for row in rows]
    return [row[:end] for row, end in zip(rows, ends, strict=True)], torch.get_rng_state()


@pytest.mark.parametrize(("seed", "temperature"), [(0, 1.0), (1, 0.7)])
def test_the_tiny_sampler_equals_generate_and_leaves_the_same_random_state(
    model: Any, seed: int, temperature: float
) -> None:
    """Prompts of several lengths, each asked for four times; a third of the vocabulary ends a response, so that rows
    leave the batch at every step. The random state afterwards is equal too: the next rollout starts from it."""
    assert tiny_sampler.applies(model)
    generator = torch.Generator().manual_seed(seed)
    lengths = [3, 9, 5, 12, 7, 4, 12, 6, 3, 8]
    prompts = [torch.randint(3, 300, (n,), generator=generator).tolist() for n in lengths]
    prompts = [prompt for prompt in prompts for _ in range(4)]
    stops = list(range(3, 100))
    expected, state = by_generate(model, prompts, seed=seed, stops=stops, temperature=temperature)
    torch.manual_seed(seed)
    got = tiny_sampler.sample(model, prompts, max_tokens=12, stop_tokens=stops, temperature=temperature)
    assert got == expected
    assert torch.equal(torch.get_rng_state(), state)
    assert {len(row) for row in got} > {1, 2}  # the case is what it says


def test_weights_that_are_not_finite(model: Any) -> None:
    """What the trainer takes for a divergence: the words of torch.multinomial."""
    import copy

    broken = copy.deepcopy(model)
    with torch.no_grad():
        broken.model.norm.weight[0] = float("nan")
    with pytest.raises(RuntimeError, match="probability tensor contains"):
        tiny_sampler.sample(broken, [[5, 6]], max_tokens=2, stop_tokens=[1])


def test_the_tiny_sampler_refuses_models_that_it_does_not_compute(model: Any) -> None:
    import copy

    assert not tiny_sampler.applies(copy.deepcopy(model).to(torch.bfloat16))
    eager = copy.deepcopy(model)
    eager.config._attn_implementation = "eager"
    assert not tiny_sampler.applies(eager)
    saving = copy.deepcopy(model)
    saving.gradient_checkpointing_enable()
    assert not tiny_sampler.applies(saving)

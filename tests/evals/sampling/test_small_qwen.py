"""The short way through a small Qwen2 against transformers' own forward pass: the same logits, the same samples."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from evals.sampling.engines import Decoding, small_qwen  # noqa: E402
from evals.sampling.engines.transformers import decode  # noqa: E402

PAD, STOPS = 0, list(range(3, 20))


@pytest.fixture(scope="module")
def model() -> Any:
    """Two layers of random weights, large enough for some tokens to be likely."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(3)
    config = Qwen2Config(
        vocab_size=97,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        initializer_range=0.3,
    )
    return Qwen2ForCausalLM(config).eval()


@pytest.fixture
def prompts() -> list[tuple[int, ...]]:
    """Three prompts of three lengths, asked for 10, 8 and 6 times."""
    generator = torch.Generator().manual_seed(0)
    three = [tuple(torch.randint(20, 97, (n,), generator=generator).tolist()) for n in (4, 9, 6)]
    return [prompt for prompt, times in zip(three, (10, 8, 6), strict=True) for _ in range(times)]


def test_logits_are_those_of_the_whole_sequence(model: Any, prompts: list[tuple[int, ...]]) -> None:
    """Read anew without a cache and without padding, a row at a time; rows leave and change places on the way."""
    with torch.inference_mode():
        reading = small_qwen.SmallReading.of_prompts(model, prompts, room=5)
        rows = [list(prompt) for prompt in prompts]
        for step in range(5):
            tokens = torch.randint(20, 97, (len(rows),), generator=torch.Generator().manual_seed(step))
            reading.read(tokens)
            rows = [[*row, int(token)] for row, token in zip(rows, tokens, strict=True)]
            if step in (1, 3):
                keep = torch.arange(len(rows)).flip(0)[::2]
                reading, rows = reading.of(keep), [rows[i] for i in keep]
            alone = torch.stack([model(input_ids=torch.tensor([row])).logits[0, -1] for row in rows])
            assert torch.allclose(reading.logits, alone, atol=1e-4), step


@pytest.mark.parametrize("decoding", [Decoding(1.0, 1.0, 14), Decoding(0.7, 0.9, 14), Decoding(0.0, 1.0, 14)])
def test_samples_equal_those_of_transformers(
    model: Any, prompts: list[tuple[int, ...]], decoding: Decoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fifth of the vocabulary ends a response, so that rows leave the batch at many steps."""
    seeds = list(range(len(prompts)))
    assert small_qwen.applies(model)
    short = decode(model, prompts, seeds, decoding, STOPS, PAD)
    monkeypatch.setattr(small_qwen, "applies", lambda model: False)
    assert short == decode(model, prompts, seeds, decoding, STOPS, PAD)
    if decoding.temperature:
        assert len(set(short[1])) > 3, "rows should end at several steps"


def test_other_models_use_transformers(model: Any) -> None:
    def changed(change: Any) -> bool:
        other = copy.deepcopy(model)
        change(other)
        return small_qwen.applies(other)

    class Adapter(torch.nn.Linear):
        pass

    assert not changed(lambda m: m.register_forward_hook(lambda *_: None))
    assert not changed(lambda m: m.model.layers[1].mlp.register_forward_pre_hook(lambda *_: None))
    assert not changed(lambda m: setattr(m.model.layers[0].self_attn, "q_proj", Adapter(32, 32)))
    assert not changed(lambda m: m.to(torch.bfloat16))
    assert not changed(lambda m: m.gradient_checkpointing_enable())
    assert changed(lambda m: m.train())

"""Logits of rows that share a cached prompt, against reading each whole sequence alone."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from evals.sampling.engines.reading import Reading  # noqa: E402

PAD = 0


@pytest.fixture
def prompts() -> list[tuple[int, ...]]:
    """Three prompts of three lengths, asked for 10, 8 and 6 times."""
    generator = torch.Generator().manual_seed(0)
    three = [tuple(torch.randint(20, 97, (n,), generator=generator).tolist()) for n in (4, 9, 6)]
    return [prompt for prompt, times in zip(three, (10, 8, 6), strict=True) for _ in range(times)]


def test_logits_are_those_of_the_whole_sequence(model_dir: Path, prompts: list[tuple[int, ...]]) -> None:
    """Read anew without a cache and without padding, a row at a time; rows leave and change places on the way."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(model_dir).eval()
    with torch.inference_mode():
        reading = Reading.of_prompts(model, prompts, 5, PAD)
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

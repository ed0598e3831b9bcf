"""Samples a second of the vllm and the transformers engine in one run, on a random model of the tiny scale's size.

    .nox/vllm/bin/python -m tests.vllm.speed     (after `nox -s vllm`)

30 problems x 16 samples of at most 96 tokens, temperature 1; each engine warms up once, then they take turns. A random
model hardly ever ends by itself, so all responses have the full length: the work is the same for both.
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evals import engines
from evals.engines import Decoding, Request
from evals.engines.base import sample_seed

TURNS = 3


def save_model(folder: Path) -> Path:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from harness.tiny.tokenizer import build_tokenizer

    tokenizer = build_tokenizer()
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=384, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=256, tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def turn(engine: Any, requests: list[Request], decoding: Decoding) -> tuple[float, float]:
    """Samples and tokens a second."""
    begin = time.perf_counter()
    done = [completion for batch in engine.generate(requests, decoding) for completion in batch]
    seconds = time.perf_counter() - begin
    assert len(done) == len(requests)
    return len(done) / seconds, sum(completion.tokens for completion in done) / seconds


def main() -> dict[str, Any]:
    keys = [(f"p{i}", sample) for i in range(30) for sample in range(16)]
    requests = [Request(key, "<|user|>" + "3 + 4 * " * 6 + key[0][1:], sample_seed(0, "speed", key)) for key in keys]
    decoding = Decoding(1.0, 1.0, 96)
    with TemporaryDirectory() as folder:
        model = save_model(Path(folder))
        both = {name: engines.create(name, str(model)) for name in ("vllm", "transformers")}
        started = {}
        for name, engine in both.items():
            begin = time.perf_counter()
            turn(engine, requests[:32], decoding)
            started[name] = time.perf_counter() - begin
        rates = {name: [] for name in both}  # type: dict[str, list[tuple[float, float]]]
        for _ in range(TURNS):
            for name, engine in both.items():
                rates[name].append(turn(engine, requests, decoding))
    median = {name: statistics.median(samples for samples, _ in seen) for name, seen in rates.items()}
    return {
        "samples_per_s": {name: [round(samples, 1) for samples, _ in seen] for name, seen in rates.items()},
        "tokens_per_s": {name: [round(tokens) for _, tokens in seen] for name, seen in rates.items()},
        "start_and_warm_up_s": {name: round(seconds, 1) for name, seconds in started.items()},
        "vllm_over_transformers": round(median["vllm"] / median["transformers"], 2),
    }


if __name__ == "__main__":
    print(json.dumps(main(), indent=1))

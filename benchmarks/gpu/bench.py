"""Device and sizes of a measurement; times, memory peaks, random models."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from harness.spec.architecture import QWEN25_7B, QWEN25_15B, Architecture

COPY_LIMIT = 3.0e12  # bytes/s of a copy on an H100, the reference for a pass over memory
VOCABULARY = 151_936


@dataclass(frozen=True)
class Sizes:
    """Sizes of what is measured; the dry run uses small ones."""

    shapes: dict[str, Architecture]
    prompts: int
    group: int
    prompt: int
    completion: int
    steps: int
    tokens: int
    width: int
    batch: int
    length: int
    tiny_steps: int


FULL = Sizes({"1.5B": QWEN25_15B, "7B": QWEN25_7B}, 4, 8, 256, 1024, 5, 16_384, 1536, 512, 8192, 60)
SMALL = Architecture(2, 64, 128, 4, 2, 16, 512, False)
DRY = Sizes({"small": SMALL, "smaller": replace(SMALL, layers=1)}, 2, 4, 16, 16, 2, 64, 64, 8, 16, 1)


@dataclass(frozen=True)
class Bench:
    """Device and sizes. `token_seconds`: seconds per token of a step, by shape, once `steps` has measured it."""

    device: str
    sizes: Sizes
    token_seconds: dict[str, float] = field(default_factory=dict)

    def sync(self) -> None:
        import torch

        if self.device == "cuda":
            torch.cuda.synchronize()

    def seconds(self, call: Callable[[], Any], rounds: int = 5) -> float:
        """Median of `rounds` calls after one warm-up call."""
        call()
        times = []
        for _ in range(rounds):
            self.sync()
            start = time.perf_counter()
            call()
            self.sync()
            times.append(time.perf_counter() - start)
        return median(times)

    def peak(self, *, reset: bool = False) -> float | None:
        """Peak bytes since the last reset; None on a CPU."""
        import torch

        if self.device != "cuda":
            return None
        if reset:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        return float(torch.cuda.max_memory_allocated())

    def memory(self) -> float:
        """Memory of the device, in bytes."""
        import torch

        if self.device == "cuda":
            return float(torch.cuda.get_device_properties(0).total_memory)
        return 8e9


def random_model(a: Architecture, device: str) -> Any:
    """A model of that shape with random weights in float32."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        hidden_size=a.hidden,
        num_hidden_layers=a.layers,
        intermediate_size=a.intermediate,
        num_attention_heads=a.heads,
        num_key_value_heads=a.kv_heads,
        vocab_size=a.vocab,
        tie_word_embeddings=a.tied,
        max_position_embeddings=32_768,
    )
    with torch.device(device):
        return Qwen2ForCausalLM(config)

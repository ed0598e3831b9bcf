"""The interface of engines: requests and completions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Key = tuple[str, int]
"""(problem id, sample), the sample counted from 0 within its problem."""

Messages = tuple[Mapping[str, str], ...]
"""A conversation: role and content of each message."""


class EngineError(RuntimeError):
    """Generation failed: a server refused, a worker died. Earlier samples are kept."""


@dataclass(frozen=True)
class Decoding:
    """How tokens are chosen: temperature 0 is greedy; `max_tokens` counts the response alone.

    Raises:
        ValueError: temperature < 0, top_p outside (0, 1], or max_tokens < 1.
    """

    temperature: float
    top_p: float
    max_tokens: int

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise ValueError(f"temperature={self.temperature}, expected >= 0")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p={self.top_p}, expected a number in (0, 1]")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens={self.max_tokens}, expected >= 1")


@dataclass(frozen=True)
class Request:
    """One sample to generate: only `seed` decides its randomness, in any batch.

    The model continues `prompt_text`, special tokens included. `messages` is the conversation that it was rendered
    from, None for a plain prompt; an engine for a server with its own chat template sends these instead.

    `forced` is a prefix of the response, in token ids: the model continues it. The completion is then the
    whole response: its text and its tokens begin with these, and `max_tokens` counts them.
    """

    key: Key
    prompt_text: str
    seed: int
    messages: Messages | None = None
    forced: tuple[int, ...] = ()


@dataclass(frozen=True)
class Completion:
    """One generated sample.

    `tokens` counts the generated tokens, end token included, and the forced ones. `finish_reason` is "stop" (the
    model ended) or "length" (cut off at max_tokens).
    """

    key: Key
    text: str
    tokens: int
    finish_reason: str


class Engine(Protocol):
    """Turns requests into completions. Creating one loads nothing heavy; the first use does."""

    @property
    def chunk_rows(self) -> int:
        """The number of requests that the engine prefers at a time."""
        ...

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer, for its chat template; None if a server has it and takes messages."""
        ...

    @property
    def context(self) -> int | None:
        """The maximum number of tokens of a prompt and its response; None if only the loaded model knows it."""
        ...

    def describe(self) -> dict[str, Any]:
        """The settings of the engine that can change a sample (name, versions, device, dtype): JSON values."""
        ...

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        """Generate one completion for each request; yields a batch of them as it finishes, in any order.

        Raises:
            ValueError: a request that this model cannot take. EngineError: generation failed.
        """
        ...


def sample_seed(seed: int, benchmark: str, key: Key) -> int:
    """The seed of one sample, 0 <= s < 2**63: a hash, so that samples do not share a random stream, and more samples,
    other problems or another order change none of them."""
    digest = hashlib.sha256(f"{seed}|{benchmark}|{key[0]}|{key[1]}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1

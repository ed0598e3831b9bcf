"""The interface of engines: requests and completions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from evals.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Key = tuple[str, int]
"""(problem id, sample), the sample counted from 0 within its problem."""

Messages = tuple[Mapping[str, str], ...]
"""A conversation: role and content of each message."""


class EngineError(RuntimeError):
    """Generation failed: a server refused, a worker died. Earlier samples are kept."""


OnStep = Callable[[int], object]
"""Called between two tokens (of a server: about once a second) with the number of tokens that the samples under way
have so far; it raises to stop."""


@dataclass(frozen=True)
class Decoding:
    """How tokens are chosen: temperature 0 is greedy. `max_tokens` counts the response alone.

    The values that are None are off. An engine names those that it can express (`Kind.decoding`).

    Args:
        top_k: only the k most likely tokens. min_p: only tokens with at least this share of the most likely one's
            probability, before top_p is applied to what is left. repetition_penalty: divides the positive logits of
            tokens that the prompt or the response has, and multiplies the negative ones (arXiv 1909.05858, section
            4.1). stop: texts that end a response. They are not part of it.
        chat_template_kwargs: variables of the model's chat template, as enable_thinking. reasoning_effort, extra_body:
            fields of a server's request.
    Raises:
        UsageError: temperature < 0, top_p outside (0, 1], max_tokens < 1, or another value that does not fit.
    """

    temperature: float
    top_p: float
    max_tokens: int
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    stop: tuple[str, ...] | None = None
    chat_template_kwargs: Mapping[str, object] | None = None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise UsageError(f"temperature={self.temperature}, expected >= 0")
        if not 0 < self.top_p <= 1:
            raise UsageError(f"top_p={self.top_p}, expected a number in (0, 1]")
        if self.max_tokens < 1:
            raise UsageError(f"max_tokens={self.max_tokens}, expected >= 1")
        if self.top_k is not None and self.top_k < 1:
            raise UsageError(f"top_k={self.top_k}, expected >= 1, or null for all tokens")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise UsageError(f"min_p={self.min_p}, expected a number in [0, 1]")
        if self.repetition_penalty is not None and not self.repetition_penalty > 0:
            raise UsageError(f"repetition_penalty={self.repetition_penalty}, expected > 0 (1 is off)")
        if self.stop is not None:
            object.__setattr__(self, "stop", tuple(self.stop))  # a list in a manifest

    def stated(self) -> dict[str, object]:
        """Every value that is not off: what decides a sample, as a manifest has it."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Request:
    """One sample to generate: only `seed` decides its randomness, in any batch.

    The model continues `prompt_text`, special tokens included. `messages` is the conversation that it was rendered
    from, None for a plain prompt. An engine for a server with its own chat template sends these instead.

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

    `tokens` counts the generated tokens, end token included, and the forced ones, or None where a server does not say.
    `finish_reason` is "stop" (the model ended), "length" (cut off at max_tokens), None where a server does not say, or
    another word of the server's, which says nothing of the text. There is no whole response to grade where it is one of
    `evals.grading.verdicts.WITHHELD`.
    """

    key: Key
    text: str
    tokens: int | None
    finish_reason: str | None


class Kind:
    """The facts that the harness needs of an engine before one is made: class attributes of each class in
    `engines.ENGINES`.

    The options of an engine (`engine.KEY=VALUE`) are the keyword-only parameters of its class.
    """

    decoding: ClassVar[frozenset[str]] = frozenset()
    """The fields of `Decoding` that are off by default and that it can express."""
    served: ClassVar[bool] = False
    """Whether a server has the model: nothing is downloaded, no GPU of this machine is needed, no weights are read."""
    replicated: ClassVar[bool] = False
    """Whether copies may run in processes of their own (`Replicas`), one for each GPU."""
    continuous: ClassVar[bool] = False
    """Whether ended responses make room for others at once, with compiled decoding steps. Else in batches."""
    gpu_share: ClassVar[float | None] = None
    """The share of a GPU's memory that it reserves for weights and cache; None: batches of a size that fits."""
    package: ClassVar[str | None] = None
    """A package that must be installed beside this one; None: nothing more."""


class Engine(Protocol):
    """Turns requests into completions. Creating one loads nothing heavy. The first use does."""

    @property
    def chunk_rows(self) -> int:
        """The number of requests that the engine prefers at a time."""
        ...

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase | None:
        """The model's tokenizer, for its chat template, or None if a server has it and takes messages."""
        ...

    @property
    def context(self) -> int | None:
        """The maximum number of tokens of a prompt and its response, or None if only the loaded model knows it."""
        ...

    def describe(self) -> dict[str, object]:
        """The settings of the engine that can change a sample (name, versions, device, dtype): JSON values."""
        ...

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: OnStep | None = None
    ) -> Iterator[list[Completion]]:
        """Generate one completion for each request. Yields a batch of them as it finishes, in any order.

        Raises:
            UsageError: a request that this model cannot take. EngineError: generation failed.
        """
        ...


def sample_seed(seed: int, benchmark: str, key: Key) -> int:
    """The seed of one sample, 0 <= s < 2**63: a hash, so that samples do not share a random stream, and more samples,
    other problems or another order change none of them."""
    digest = hashlib.sha256(f"{seed}|{benchmark}|{key[0]}|{key[1]}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1

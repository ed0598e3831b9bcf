"""Shared by engines that hold a model: its path, tokenizer, device and number type."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from evals.errors import UsageError
from evals.sampling.engines.base import Kind, Request
from evals.sampling.engines.encode import load_tokenizer, prompt_tokens
from evals.sampling.prompt_nats import PROMPTS
from evals.suggest import expected

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

DTYPES = ("float32", "bfloat16", "float16", "float64", "auto")


class LocalModel(Kind):
    """A model that runs in this process. Its tokenizer is loaded when it is first needed.

    Args:
        model_path: a folder, or an id on the hub.
        device: "cpu", "cuda", "cuda:1". None takes a GPU if there is one.
        dtype: "float32", "bfloat16", .... None is float32 on a CPU and the checkpoint's own on a GPU.
        batch_rows: the most requests that are taken together.
    """

    replicated: ClassVar[bool] = True
    decoding: ClassVar[frozenset[str]] = frozenset(
        {"top_k", "min_p", "repetition_penalty", "stop", "chat_template_kwargs"}
    )

    def __init__(self, model_path: str, *, device: str | None, dtype: str | None, batch_rows: int) -> None:
        if batch_rows < 1:
            raise UsageError(f"batch_rows={batch_rows}, expected >= 1")
        if dtype not in (None, *DTYPES):
            raise UsageError(f"dtype={dtype}: {expected(str(dtype), DTYPES)}")
        self.model_path = str(model_path)
        self.batch_rows = batch_rows
        self._device, self._dtype = device, dtype

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return load_tokenizer(self.model_path)

    def first_prompts(self, requests: Iterable[Request]) -> list[list[int]]:
        """The token ids of the first different prompts, for `prompt_nats`."""
        texts = list(dict.fromkeys(request.prompt_text for request in requests))[:PROMPTS]
        return [prompt_tokens(self.tokenizer, text) for text in texts]

    @property
    def chunk_rows(self) -> int:
        return self.batch_rows

    @property
    def device(self) -> str:
        import torch

        return self._device or ("cuda" if torch.cuda.is_available() else "cpu")

    @property
    def dtype(self) -> str:
        return self._dtype or ("float32" if self.device == "cpu" else "auto")

"""The default engine: Hugging Face transformers, on a CPU or one GPU.

It has its own decode loop, for three reasons. A sample's randomness must depend only on its seed, never on its
neighbours in the batch: each row has its own stream of uniform numbers, and a token is chosen by inverting the
cumulative distribution at the row's next number. The samples of one problem share their prompt: it is read once and its
cache is copied. And ended rows leave the batch, which is why the trainer's rollouts on a CPU use the loop too.

Equal seeds give equal samples in any batch up to the rounding of floating-point sums, which depends a little on the
batch's shape. The same batches give the same samples exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from evals.environment import jobs_on_card
from evals.errors import UsageError
from evals.sampling.engines.base import Completion, Decoding, EngineError, OnStep, Request
from evals.sampling.engines.encode import (
    before_stop,
    cut_at,
    encode,
    response_text,
    stop_tokens,
    texts_of,
)
from evals.sampling.engines.local import LocalModel
from evals.sampling.engines.reading import Reading
from evals.sampling.prompt_nats import PromptNats, prompt_nats

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

Pick = Callable[["Tensor", "Tensor", int], "Tensor"]
"""Chooses the next token of rows: (logits [R, V], the rows' numbers [R] in the whole batch, step) -> token ids [R]."""

Ended = Callable[["Tensor", "Tensor", int], "Tensor"]
"""Which rows a text has ended: (the tokens so far [R, step + 1], the rows' numbers [R], step) -> [R] booleans."""

BLOCK = 128  # uniform random numbers for a row at a time
CPU_CACHE_BYTES = 4 * 2**30  # the most that a batch's key-value cache may take on a CPU
GPU_CACHE_SHARE = 0.6  # the share of the memory that is free once the model is loaded, or of a job's part of it
READ_TOKENS = 2**17  # tokens that a batch reads at once with forced responses, which share little of their text


class TransformersEngine(LocalModel):
    """Batched sampling with `AutoModelForCausalLM`. Loads the model at the first request.

    Args:
        model_path: a folder, or an id on the hub.
        device: "cpu", "cuda", "cuda:1". None takes a GPU if there is one.
        dtype: "float32", "bfloat16", .... None is float32 on a CPU and the checkpoint's own on a GPU.
        batch_rows: the most rows decoded together. Fewer where the cache would not fit.
    """

    # a hook, which a rehearsal sets: other requests in place of those of a call of `generate`
    before: ClassVar[Callable[[TransformersEngine, Sequence[Request], Decoding], Sequence[Request]] | None] = None

    def __init__(
        self, model_path: str, *, device: str | None = None, dtype: str | None = None, batch_rows: int = 512
    ) -> None:
        super().__init__(model_path, device=device, dtype=dtype, batch_rows=batch_rows)

    @cached_property
    def model(self) -> PreTrainedModel:
        from transformers import AutoModelForCausalLM
        from transformers.utils import logging

        logging.disable_progress_bar()  # it shows one even if stderr is a file
        try:
            model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
                self.model_path, dtype=self.dtype, trust_remote_code=False
            )
        except Exception as error:  # safetensors, json, transformers: any failure of a file
            why = (str(error).strip().splitlines() or [""])[0]
            raise UsageError(f"model {self.model_path!r}: cannot be loaded ({type(error).__name__}: {why})") from error
        check_weights(model, self.model_path)
        return model.to(self.device).eval()

    @cached_property
    def context(self) -> int | None:
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(self.model_path).get_text_config()
        return getattr(config, "max_position_embeddings", None)

    def describe(self) -> dict[str, object]:
        from importlib.metadata import version

        versions = {package: version(package) for package in ("torch", "transformers")}
        return {"name": "transformers", "device": self.device.split(":")[0], "dtype": self.dtype, **versions}

    def prompt_nats(self, requests: Iterable[Request]) -> PromptNats | None:
        """How well the model predicts the first prompts. Loads the model."""
        return prompt_nats(self.model, self.tokenizer, self.first_prompts(requests))

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: OnStep | None = None
    ) -> Iterator[list[Completion]]:
        """One completion for each request, a batch at a time. The shortest prompts first.

        Raises:
            UsageError: a prompt and its response do not fit the model's context.
        """
        if not requests:
            return
        if (before := type(self).before) is not None:
            requests = before(self, requests, decoding)
        prompts = encode(self.tokenizer, requests, decoding, self.context)
        order = sorted(range(len(requests)), key=lambda i: len(prompts[i]))
        longest = max(len(p) - len(r.forced) for p, r in zip(prompts, requests, strict=True)) + decoding.max_tokens
        rows = min(self.batch_rows, max(1, self._cache_bytes() // self._bytes_per_row(longest)))
        if any(request.forced for request in requests):
            rows = min(rows, max(1, READ_TOKENS // len(prompts[order[-1]])))
        for start in range(0, len(order), rows):
            batch = order[start : start + rows]
            yield self._decode_batch([requests[i] for i in batch], [prompts[i] for i in batch], decoding, on_step)

    def _bytes_per_row(self, length: int) -> int:
        """An upper bound of the cache of one row of `length` tokens: keys and values of every layer."""
        config = self.model.config.get_text_config()
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return int(2 * config.num_hidden_layers * heads * width * length * self.model.dtype.itemsize)

    def _cache_bytes(self) -> int:
        import torch

        if self.device == "cpu":
            return CPU_CACHE_BYTES
        free, total = torch.cuda.mem_get_info(self.device)
        share = total // jobs_on_card() - torch.cuda.memory_reserved(self.device)
        return int(GPU_CACHE_SHARE * min(free, share))

    def _decode_batch(
        self,
        requests: Sequence[Request],
        prompts: Sequence[tuple[int, ...]],
        decoding: Decoding,
        on_step: OnStep | None,
    ) -> list[Completion]:
        vocabulary = self.model.config.get_text_config().vocab_size
        ends = stop_tokens(self.model.generation_config.eos_token_id, self.tokenizer, vocabulary)
        streams = _Streams([r.seed for r in requests], self.model.device)
        penalty = None if decoding.repetition_penalty is None else _Seen(prompts, vocabulary, self.model.device)

        def pick(logits: Tensor, rows: Tensor, step: int) -> Tensor:
            if penalty is not None and decoding.repetition_penalty is not None:
                logits = penalty.penalised(logits, rows, decoding.repetition_penalty)
            chosen = choose(logits, streams.at(rows, step), decoding)
            if penalty is not None:
                penalty.add(rows, chosen)
            return chosen

        stop = decoding.stop or ()
        tokens, stopped = decode(
            self.model,
            prompts,
            [decoding.max_tokens - len(r.forced) for r in requests],
            ends,
            self.tokenizer.pad_token_id,
            pick,
            ended=by_text(self.tokenizer, stop) if stop else None,
            on_step=on_step,
        )
        whole = [[*request.forced, *row] for request, row in zip(requests, tokens, strict=True)]
        texts = response_text(self.tokenizer, whole, [row[-1] in ends for row in whole])
        return [
            Completion(request.key, before_stop(text, stop), len(row), "stop" if ended else "length")
            for request, text, row, ended in zip(requests, texts, whole, stopped, strict=True)
        ]


def by_text(tokenizer: object, stop: Sequence[str]) -> Ended:
    """Whether the last tokens of a row hold one of these texts: as many as the longest text has bytes, since a token
    has one at least, and those of a character that may be cut at the beginning."""
    import torch

    last = max(len(text.encode()) for text in stop) + 4

    def ended(tokens: Tensor, rows: Tensor, step: int) -> Tensor:
        texts = texts_of(tokenizer, tokens[:, -last:].tolist())
        return torch.tensor([cut_at(text, stop) is not None for text in texts], device=tokens.device)

    return ended


def check_weights(model: PreTrainedModel, model_path: str) -> None:
    """Raise UsageError for weights that are NaN or infinite: every sample would be noise, and every score a false 0."""
    import torch

    for name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            raise UsageError(
                f"model {model_path!r}: {int((~torch.isfinite(weight)).sum())} values of its weight {name} are NaN or "
                "infinite. Expected finite weights (a training that diverged?)"
            )


def decode(
    model: PreTrainedModel,
    prompts: Sequence[tuple[int, ...]],
    rooms: Sequence[int],
    stop_tokens: Sequence[int],
    pad_token: int,
    pick: Pick,
    *,
    least_rows: int = 1,
    ended: Ended | None = None,
    on_step: OnStep | None = None,
) -> tuple[list[list[int]], list[bool]]:
    """Sample one response for each prompt, all rows in step.

    Ended rows leave the batch once they make up an eighth of it.

    Args:
        rooms: the most tokens of each row, at least 1.
        least_rows: so many rows stay in the batch, ended or not.
        ended: says which rows end, beside those with a stop token.
    Returns:
        tokens: for each row its generated token ids (end token included). stopped: whether the row ended by itself.
    Raises:
        EngineError: the model's output is NaN or infinite.
    """
    import torch

    device = model.device
    stop = torch.tensor(stop_tokens, device=device)
    rows = torch.arange(len(prompts), device=device)  # the rows still in the batch
    lengths = torch.tensor(rooms, device=device)
    steps = max(rooms)
    out = torch.full((len(prompts), steps), pad_token, device=device)
    stopped = torch.zeros(len(prompts), dtype=torch.bool, device=device)
    tokens = 0  # tokens so far, but for the last of each ended row
    with torch.inference_mode():
        reading = Reading.of_prompts(model, prompts, steps, pad_token)
        for step in range(steps):
            if not bool(
                (reading.logits < math.inf).all()
            ):  # NaN is not below it. Minus infinity only rules a token out
                raise EngineError(f"the model's output is NaN or infinite at token {step + 1} of a response")
            chosen = pick(reading.logits, rows, step)
            out[rows, step] = chosen
            ends = torch.isin(chosen, stop)
            if ended is not None:
                ends = ends | ended(out[rows, : step + 1], rows, step)
            ends = ends & (step < lengths[rows])
            lengths[rows[ends]] = step + 1
            stopped[rows[ends]] = True
            running = step + 1 < lengths[rows]
            left = int(running.sum())
            if left == 0:
                break
            tokens += left
            if on_step is not None:
                on_step(tokens)
            if max(left, least_rows) <= len(rows) * 7 // 8:
                keep = running.int().argsort(descending=True, stable=True)[: max(left, least_rows)]
                reading, rows, chosen = reading.select(keep), rows[keep], chosen[keep]
            reading.read(chosen)
    return [row[:n] for row, n in zip(out.tolist(), lengths.tolist(), strict=True)], stopped.tolist()


class _Seen:
    """Which tokens each row of a batch has in its prompt or response, for the repetition penalty."""

    def __init__(self, prompts: Sequence[tuple[int, ...]], vocabulary: int, device: torch.device) -> None:
        import torch

        self.has = torch.zeros(len(prompts), vocabulary, dtype=torch.bool, device=device)
        for row, prompt in enumerate(prompts):
            self.has[row, list(prompt)] = True

    def penalised(self, logits: Tensor, rows: Tensor, penalty: float) -> Tensor:
        """The logits of these rows, [R, V], with those of seen tokens divided by the penalty if positive, else
        multiplied."""
        logits = logits.float()
        has = self.has[rows, : logits.shape[1]]
        return logits.where(~has, logits.where(logits < 0, logits / penalty).where(logits >= 0, logits * penalty))

    def add(self, rows: Tensor, chosen: Tensor) -> None:
        self.has[rows, chosen] = True


class _Streams:
    """Uniform numbers for the rows of a batch, which depend on each row's seed alone."""

    def __init__(self, seeds: Sequence[int], device: torch.device) -> None:
        import numpy as np
        import torch

        self.streams = [np.random.Generator(np.random.Philox(key=seed)) for seed in seeds]
        self.block = torch.empty(len(seeds), BLOCK, device=device)

    def at(self, rows: Tensor, step: int) -> Tensor:
        """The numbers of these rows at a step: [R], float32 in [0, 1). Steps come in order, and rows only leave."""
        import numpy as np
        import torch

        if step % BLOCK == 0:
            numbers = np.stack([self.streams[row].random(BLOCK, dtype=np.float32) for row in rows.tolist()])
            self.block[rows] = torch.from_numpy(numbers).to(self.block.device)
        return self.block[rows, step % BLOCK]


def as_generate(temperature: float, count: int) -> Pick:
    """Chooses as transformers' `generate` on a CPU, with the same numbers from torch's global generator.

    As in torch.multinomial, a row's token is that of the largest p / e, where e is exponential noise for each token of
    each of the `count` rows of the whole batch, ended or not.
    """
    import torch

    def pick(logits: Tensor, rows: Tensor, step: int) -> Tensor:
        noise = torch.empty(count, logits.shape[1]).exponential_()
        probabilities = (logits / temperature).softmax(-1)
        if bool(probabilities.isnan().any()):
            raise EngineError(f"the model's output over temperature={temperature} is too large to sample from")
        return (probabilities / noise[rows]).argmax(-1)

    return pick


def choose(logits: Tensor, uniform: Tensor, decoding: Decoding) -> Tensor:
    """The token of each row whose share of the cumulative distribution holds the row's uniform number.

    Args:
        logits: [R, V]. uniform: [R], float32 in [0, 1).
    Returns:
        token ids [R]. At temperature 0 the most likely token. Else of the distribution at that temperature, cut down to
        the tokens that min_p keeps, then to the top_k of these, then to the smallest set of most likely ones whose mass
        is at least top_p of what is left.
    Raises:
        EngineError: the logits over the temperature overflow.
    """
    if decoding.temperature == 0:
        return logits.argmax(-1)
    probabilities = (logits.float() / decoding.temperature).softmax(-1)
    if decoding.min_p:
        least = decoding.min_p * probabilities.max(-1, keepdim=True).values
        probabilities = probabilities.masked_fill(probabilities < least, 0)
    order = None
    if decoding.top_p < 1 or decoding.top_k is not None:
        probabilities, order = probabilities.sort(dim=-1, descending=True, stable=True)
        if decoding.top_k is not None:
            probabilities[:, decoding.top_k :] = 0
        if decoding.top_p < 1:
            cut = decoding.top_k is not None or bool(decoding.min_p)
            mass = decoding.top_p * (probabilities.sum(-1, keepdim=True) if cut else 1)
            before = probabilities.cumsum(-1) - probabilities
            probabilities = probabilities.masked_fill(before >= mass, 0)
    cumulative = probabilities.cumsum(-1)
    if bool(cumulative[:, -1].isnan().any()):  # every comparison below would be false, and token 0 chosen
        raise EngineError(f"the model's output over temperature={decoding.temperature} is too large to sample from")
    # the first token whose cumulative mass exceeds u * total: never one of zero mass, and one always does, since
    # u * total is below total also after rounding (u is at most 1 - 2^-24)
    target = uniform[:, None] * cumulative[:, -1:]
    index = (cumulative <= target).sum(-1, keepdim=True)
    return (index if order is None else order.gather(-1, index)).squeeze(-1)

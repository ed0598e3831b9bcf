"""Tool-integrated reasoning: run a response's Python blocks and insert their output into the response (arXiv
2508.07534, section 2.5). Wraps any engine that holds the model.

    ```python
    print(2 ** 10)
    ```
    ```output
    1024
    ```

The model continues after the output. Text that it wrote after the block without seeing the output is dropped: a token
depends only on the tokens before it, so the response has the distribution of one stopped there.

The paper gives temperature, top-p and 16,384 tokens. Our choices: each block runs by itself, the number of blocks,
their time, and how much output is shown; `describe()` has them all.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from evals.code_execution import sandbox
from evals.code_execution.sandbox import ExecutionResult, Limits, SandboxError
from evals.sampling.engines.base import Completion, Decoding, Engine, EngineError, Request, sample_seed
from evals.sampling.engines.encode import response_text

_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?:python|python3|py)[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True)
class Tools:
    """Limits of a response's code.

    Args:
        turns: code blocks that are run for one response; later ones stay as they are.
        seconds: of processor time for each block. memory_mb: MiB for it.
        output_chars: characters of its output that the model sees.
        workers: blocks that run at a time; decides no sample.
    Raises:
        ValueError: a value below 1.
    """

    turns: int = 4
    seconds: int = 10
    memory_mb: int = 1024
    output_chars: int = 2000
    workers: int = 2

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise ValueError(f"{name}={value}, expected >= 1")

    @property
    def limits(self) -> Limits:
        return Limits(cpu_s=self.seconds, memory_mb=self.memory_mb)


def next_block(text: str, start: int) -> tuple[str, int] | None:
    """The first whole Python block at or after `start`: its code, and where its last fence ends."""
    match = _BLOCK.search(text, start)
    return None if match is None else (match.group(1), match.end())


def output_block(printed: ExecutionResult, longest: int) -> str:
    """The text that the model reads after a block: output and error, on separate lines."""
    lines = [printed.text.rstrip("\n")] if printed.text.strip() else []
    if printed.cut:
        lines.append(f"(cut after {longest} characters)")
    if printed.error is not None:
        lines.append(printed.error[:longest])
    return "\n".join(["", "```output", *lines, "```", ""])


@dataclass(frozen=True)
class _Turn:
    """A request and the response so far; `shown` is the engine's form of the forced part."""

    request: Request
    number: int = 0
    text: str = ""
    shown: str = ""


class ToolEngine:
    """An engine whose responses run code.

    `max_tokens` and a completion's `tokens` count the whole response with the outputs, because all of it must fit the
    model's context. A response whose outputs leave no room for another token ends there, as "length".

    The first turn has the request's own seed: a response without code is exactly the inner engine's.

    Raises:
        ValueError: programs cannot be run here (`evals.code_execution.sandbox.require`).
    """

    def __init__(self, inner: Engine, tools: Tools | None = None) -> None:
        sandbox.require()
        self._inner = inner
        self.tools = tools or Tools()

    @property
    def chunk_rows(self) -> int:
        return self._inner.chunk_rows

    @property
    def tokenizer(self) -> Any:
        return self._inner.tokenizer

    @property
    def context(self) -> int | None:
        return self._inner.context

    def describe(self) -> dict[str, Any]:
        """The inner engine's, and the tools'.

        Raises:
            ValueError: the engine is a server, which does not expose tokens.
        """
        self._need_tokenizer()
        limits = {name: value for name, value in asdict(self.tools).items() if name != "workers"}
        python = ".".join(map(str, sys.version_info[:2]))
        return {**self._inner.describe(), "tools": {**limits, "python": python, "blocks": "each by itself"}}

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        """One completion for each request, its code run.

        Raises:
            ValueError: as the inner engine; or it is a server.
            EngineError: as the inner engine; or the sandbox could not be created any more.
        """
        self._need_tokenizer()
        waiting = {request.key: _Turn(request) for request in requests}
        with ThreadPoolExecutor(self.tools.workers, thread_name_prefix="tools") as threads:
            while waiting:
                running: list[tuple[_Turn, Future[ExecutionResult]]] = []
                for batch in self._inner.generate([turn.request for turn in waiting.values()], decoding):
                    done = []
                    for completion in batch:
                        turn = waiting[completion.key]
                        text = _whole_text(turn, completion)
                        block = next_block(text, len(turn.text)) if turn.number < self.tools.turns else None
                        if block is None:
                            done.append(replace(completion, text=text))
                        else:
                            code, end = block
                            running.append((replace(turn, text=text[:end]), threads.submit(self._execute, code)))
                    if done:
                        yield done
                turns = [self._answered(turn, future) for turn, future in running]
                over = [turn for turn in turns if len(turn.request.forced) >= decoding.max_tokens]
                if over:
                    yield [Completion(t.request.key, t.text, len(t.request.forced), "length") for t in over]
                ended = {turn.request.key for turn in over}
                waiting = {turn.request.key: turn for turn in turns if turn.request.key not in ended}

    def _execute(self, code: str) -> ExecutionResult:
        return sandbox.execute(code, limits=self.tools.limits, longest=self.tools.output_chars)

    def _answered(self, turn: _Turn, future: Future[ExecutionResult]) -> _Turn:
        """The next turn, once the block has run: the response with the output, as tokens, and a new seed."""
        try:
            printed = future.result()
        except SandboxError as error:
            raise EngineError(f"problem {turn.request.key[0]!r}, sample {turn.request.key[1]}: {error}") from error
        text = turn.text + output_block(printed, self.tools.output_chars)
        # a program's output is text, even if it looks like a special token
        ids = self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        request = replace(
            turn.request, forced=tuple(ids), seed=sample_seed(turn.request.seed, "tools", turn.request.key)
        )
        return _Turn(request, turn.number + 1, text, response_text(self.tokenizer, [ids], [False])[0])

    def _need_tokenizer(self) -> None:
        if self.tokenizer is None:
            raise ValueError("tools need an engine that holds the model (transformers, vllm), got a server")


def _whole_text(turn: _Turn, completion: Completion) -> str:
    """The unchanged response so far, then the new part of the completion: a tokenizer may encode the former
    differently."""
    if not completion.text.startswith(turn.shown):
        problem, sample = completion.key
        raise EngineError(f"problem {problem!r}, sample {sample}: the completion does not begin as it was told to")
    return turn.text + completion.text[len(turn.shown) :]

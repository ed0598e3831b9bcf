"""Copies of an engine in separate processes, one for each GPU of this machine.

Requests are cut into pieces. Each idle replica takes the next. With `batch_rows` of at most requests / replicas, and
of at most LARGEST_PIECE, the pieces are the batches that a single engine forms.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from evals import library_output
from evals.errors import UsageError
from evals.processes import shielded
from evals.sampling.engines.base import Completion, Decoding, EngineError, OnStep, Request

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

CHUNK_PIECES = 16  # pieces per replica in a chunk. All replicas wait for a chunk's last piece
STEP_S = 1.0  # seconds between two calls of `on_step`
LARGEST_PIECE = 512  # requests: a piece is stored once it is complete


def cut(requests: Sequence[Request], rows: int, replicas: int) -> list[Sequence[Request]]:
    """Pieces in order, of at most `rows` requests and small enough that no replica is left without one."""
    size = max(1, min(rows, -(-len(requests) // replicas)))
    return [requests[start : start + size] for start in range(0, len(requests), size)]


class Replicas:
    """`count` processes that each hold the engine `kind(model_path, **options)`. They start at the first request.

    Args:
        kind: the engine's class.
        count: how many. Each sees as many GPUs of its own as its option `tensor_parallel` says (1), and none on a CPU.
    Raises:
        UsageError: count < 1, or more replicas than devices.
    """

    def __init__(
        self,
        kind: Any,
        model_path: str,
        *,
        count: int,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if count < 1:
            raise UsageError(f"replicas={count}, expected >= 1")
        self.count = count
        self._engine = (kind, model_path, dict(options or {}))
        self._local: Any = kind(model_path, **self._engine[2])  # never asked to sample: loads no weights
        self._pool: ProcessPoolExecutor | None = None

    @property
    def decoding(self) -> frozenset[str]:
        can: frozenset[str] = self._local.decoding
        return can

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return self._local.tokenizer

    @property
    def context(self) -> int | None:
        context: int | None = self._local.context
        return context

    @property
    def chunk_rows(self) -> int:
        return int(self._local.chunk_rows) * self.count * CHUNK_PIECES

    def describe(self) -> dict[str, object]:
        """The description of one replica. Their number changes no sample."""
        description: dict[str, object] = self._local.describe()
        return description

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: OnStep | None = None
    ) -> Iterator[list[Completion]]:
        """One completion for each request.

        Raises:
            UsageError: a replica refused a request. EngineError: a replica failed or died.
        """
        pieces = cut(requests, min(self._local.chunk_rows, LARGEST_PIECE), self.count)
        with shielded():
            pool = self._pool or self._started()
            waiting = {pool.submit(_generate, list(piece), decoding) for piece in pieces}
        try:
            while waiting:
                finished, _ = wait(waiting, timeout=STEP_S, return_when=FIRST_COMPLETED)
                for future in finished:
                    waiting.discard(future)
                    yield future.result()
                if on_step is not None:
                    on_step(0)  # the replicas count theirs
        except BrokenProcessPool as error:
            self.close()
            raise EngineError(f"a replica died. Its messages are {library_output.place()}") from error
        finally:
            if waiting:  # replicas may still work on abandoned requests
                self.close()

    def close(self) -> None:
        """End the processes. The next request starts new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(cancel_futures=True)

    def _started(self) -> ProcessPoolExecutor:
        devices = self._visible()
        if devices and self.count > len(devices):
            raise UsageError(
                f"replicas={self.count}, each of {self._each} GPUs. Expected at most {len(devices)}, which fit here"
            )
        spawning = multiprocessing.get_context("spawn")
        names = spawning.SimpleQueue()
        for name in (devices or [""] * self.count)[: self.count]:
            names.put(name)
        self._pool = ProcessPoolExecutor(self.count, spawning, initializer=_begin, initargs=(names, *self._engine))
        return self._pool

    @property
    def _each(self) -> int:
        """GPUs of one replica."""
        return int(self._engine[2].get("tensor_parallel", 1))

    def _visible(self) -> list[str]:
        import torch

        named = os.environ.get("CUDA_VISIBLE_DEVICES")
        count = torch.cuda.device_count()
        names = named.split(",")[:count] if named else [str(i) for i in range(count)]
        return [",".join(names[i : i + self._each]) for i in range(0, len(names) - self._each + 1, self._each)]


# -- in a replica's process ------------------------------------------------------------------------------------------


def _begin(devices: Any, kind: Any, model_path: str, options: dict[str, Any]) -> None:
    """Take a device and make the engine. End as soon as the process that started this one has ended."""
    global _engine
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(2, 1)  # stdout is for results
    library_output.all_to_file()
    if device := devices.get():
        os.environ["CUDA_VISIBLE_DEVICES"] = device
    _engine = kind(model_path, **options)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGKILL)


def _generate(requests: list[Request], decoding: Decoding) -> list[Completion]:
    try:
        return [completion for batch in _engine.generate(requests, decoding) for completion in batch]
    except (ValueError, EngineError):
        raise
    except Exception as error:  # other kinds may not survive the way between processes
        raise EngineError(f"a replica failed: {type(error).__name__}: {error}") from error


_engine: Any = None

"""Copies of an engine in separate processes, one for each GPU of this machine.

Requests are cut into pieces; each idle replica takes the next. With `batch_rows` of at most requests / replicas the
pieces are the batches that a single engine forms.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Pipe, wait
from typing import Any

from evals.environment import variables
from evals.processes import shielded
from evals.sampling.engines.base import Completion, Decoding, EngineError, Request

CHUNK_PIECES = 16  # pieces per replica in a chunk; all replicas wait for a chunk's last piece


def load_factory(path: str) -> Any:
    """The class or function named "module:name"."""
    from importlib import import_module

    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def cut(requests: Sequence[Request], rows: int, replicas: int) -> list[Sequence[Request]]:
    """Pieces in order, of at most `rows` requests and small enough that no replica is left without one."""
    size = max(1, min(rows, -(-len(requests) // replicas)))
    return [requests[start : start + size] for start in range(0, len(requests), size)]


class Replicas:
    """`count` processes that each hold the engine `factory(model_path, **options)`; they start at the first request.

    Args:
        factory: "module:name" of an engine's class.
        count: how many; on a machine with GPUs at most as many as it has.
        devices: what CUDA_VISIBLE_DEVICES is for each; None is as many visible GPUs each as its option
            `tensor_parallel` says (1), and nothing on a CPU.
    Raises:
        ValueError: count < 1, or more replicas than devices.
    """

    def __init__(
        self,
        factory: str,
        model_path: str,
        *,
        count: int,
        options: Mapping[str, Any] | None = None,
        devices: Sequence[str] | None = None,
    ) -> None:
        if count < 1:
            raise ValueError(f"replicas={count}, expected >= 1")
        self.count = count
        self._job = (factory, model_path, dict(options or {}))
        self._local: Any = load_factory(factory)(model_path, **self._job[2])  # never asked to sample: loads no weights
        self._devices = devices
        self._workers: list[_Worker] = []

    @property
    def chunk_rows(self) -> int:
        return int(self._local.chunk_rows) * self.count * CHUNK_PIECES

    @property
    def tokenizer(self) -> Any:
        return self._local.tokenizer

    @property
    def context(self) -> int | None:
        context: int | None = self._local.context
        return context

    def describe(self) -> dict[str, Any]:
        """The description of one replica; their number changes no sample."""
        description: dict[str, Any] = self._local.describe()
        return description

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        """One completion for each request.

        Raises:
            ValueError: a replica refused a request. EngineError: a replica failed or died.
        """
        pieces = deque(cut(requests, self._local.chunk_rows, self.count))
        if not pieces:
            return
        self._start()
        done = False
        try:
            yield from self._hand_out(pieces, decoding)
            done = True
        finally:
            if not done:  # replicas may still work on abandoned requests
                self.close()

    def close(self) -> None:
        """End the processes; the next request starts new ones."""
        for worker in self._workers:
            worker.end()
        self._workers = []

    def _start(self) -> None:
        if not self._workers:
            devices = self._visible() if self._devices is None else list(self._devices)
            if devices and self.count > len(devices):
                raise ValueError(
                    f"replicas={self.count}, each of {self._each} GPUs; expected at most {len(devices)}, which fit here"
                )
            for index in range(self.count):
                self._workers.append(_Worker(self._job, devices[index] if devices else None))

    @property
    def _each(self) -> int:
        """GPUs of one replica."""
        return int(self._job[2].get("tensor_parallel", 1))

    def _visible(self) -> list[str]:
        import torch

        named = os.environ.get("CUDA_VISIBLE_DEVICES")
        count = torch.cuda.device_count()
        names = named.split(",")[:count] if named else [str(i) for i in range(count)]
        return [",".join(names[i : i + self._each]) for i in range(0, len(names) - self._each + 1, self._each)]

    def _hand_out(self, pieces: deque[Sequence[Request]], decoding: Decoding) -> Iterator[list[Completion]]:
        busy: dict[Any, _Worker] = {}
        for worker in self._workers[: len(pieces)]:
            worker.ask(pieces.popleft(), decoding)
            busy[worker.connection] = worker
        while busy:
            for connection in wait(list(busy)):
                worker = busy[connection]
                batch = worker.answer()
                if batch is not None:
                    yield batch
                elif pieces:
                    worker.ask(pieces.popleft(), decoding)
                else:
                    del busy[connection]


class _Worker:
    """One replica's process (`evals.sampling.engines.replica`) and the connection to it."""

    def __init__(self, job: tuple[str, str, dict[str, Any]], device: str | None) -> None:
        self.name = "a replica" if device is None else f"the replica on GPU {device}"
        self.connection, theirs = Pipe()
        alive, self._alive = os.pipe()  # closed when this process ends in any way: the replica then ends too
        environment = {**variables(), **({} if device is None else {"CUDA_VISIBLE_DEVICES": device})}
        command = [sys.executable, "-m", "evals.sampling.engines.replica", str(theirs.fileno()), str(alive)]
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH")]))
        with shielded():
            self._process = subprocess.Popen(
                command, env=environment, pass_fds=(theirs.fileno(), alive), stdin=subprocess.DEVNULL, stdout=2
            )
        theirs.close()
        os.close(alive)
        self._send(job)

    def ask(self, requests: Sequence[Request], decoding: Decoding) -> None:
        self._send((list(requests), decoding))

    def answer(self) -> list[Completion] | None:
        """The next batch, None after the last of a piece."""
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError):
            raise self._died() from None
        if kind == "refused":
            raise ValueError(content)
        if kind == "failed":
            raise EngineError(f"{self.name} failed: {content}")
        batch: list[Completion] | None = content
        return batch

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self.connection.close()
        os.close(self._alive)

    def _send(self, message: Any) -> None:
        try:
            self.connection.send(message)
        except OSError:
            raise self._died() from None

    def _died(self) -> EngineError:
        return EngineError(f"{self.name} died (exit code {self._process.wait()}); its messages are above")

"""An engine without a model, for processes that a test starts: its answers follow from the requests alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from evals.sampling.engines import Completion, Decoding, Request


class Scripted:
    """Says the sample's seed, the piece it came in, its process and its GPU. `fault` is what a prompt of that name
    does: "die", "meet FOLDER" (wait for the other replica), "fail", "refuse" or "wait" (forever)."""

    tokenizer = context = None

    def __init__(self, model_path: str, *, batch_rows: int = 4, tensor_parallel: int = 1) -> None:
        self.model_path = model_path
        self.chunk_rows = self.batch_rows = batch_rows

    def describe(self) -> dict[str, Any]:
        return {"name": "scripted", "model": self.model_path}

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: Any = None
    ) -> Iterator[list[Completion]]:
        for request in requests:
            if request.prompt_text == "die":
                os._exit(7)
            if request.prompt_text.startswith("meet "):
                folder = request.prompt_text.removeprefix("meet ")
                os.close(os.open(os.path.join(folder, str(os.getpid())), os.O_CREAT))
                while len(os.listdir(folder)) < 2:
                    time.sleep(0.01)
            if request.prompt_text == "fail":
                raise KeyError("no such thing")
            if request.prompt_text == "refuse":
                raise ValueError(f"problem {request.key[0]!r} is too long")
            if request.prompt_text == "wait":
                os.read(os.pipe()[0], 1)
            words = (request.seed, len(requests), os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES", "-"))
            yield [Completion(request.key, " ".join(map(str, words)), 1, "stop")]


DECODING = Decoding(1.0, 1.0, 9)


def some_requests(count: int, *faults: str) -> list[Request]:
    plain = [Request((f"p{i}", 0), "say", i) for i in range(count)]
    return plain + [Request((f"f{i}", 0), fault, 0) for i, fault in enumerate(faults)]


def generated(engine: Any, requests: list[Request]) -> dict[Any, Completion]:
    return {c.key: c for batch in engine.generate(requests, DECODING) for c in batch}

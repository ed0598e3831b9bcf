"""Sampling: the vllm engine against the transformers engine. Needs vLLM: `nox -s bench -- vllm`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench.timing import Row, medians

PROBLEMS, SAMPLES, TOKENS = 30, 16, 96


def run(rounds: int) -> Iterator[Row]:
    from evals.sampling import engines
    from evals.sampling.engines import Decoding, Request
    from evals.sampling.engines.base import sample_seed
    from tests.evals.conftest import make_model

    keys = [(f"p{i}", sample) for i in range(PROBLEMS) for sample in range(SAMPLES)]
    requests = [Request(key, "What is " + "3 + 4 * " * 6 + f"{key[0]}?", sample_seed(0, "speed", key)) for key in keys]
    tokens: dict[str, int] = {}

    def sample(name: str) -> None:
        done = [c for batch in both[name].generate(requests, Decoding(1.0, 1.0, TOKENS)) for c in batch]
        if len(done) != len(requests):
            raise RuntimeError(f"{name} answered {len(done)} of {len(requests)} requests")
        tokens[name] = sum(c.tokens for c in done)

    with tempfile.TemporaryDirectory() as folder:
        model = str(make_model(Path(folder) / "model", hidden=128, spread=0.02))  # near uniform: few samples end early
        both = {name: engines.create(name, model) for name in ("vllm", "transformers")}
        seconds = medians({name: lambda name=name: sample(name) for name in both}, rounds)
        device = both["vllm"].describe()["device"]
    yield Row(
        "engine vllm", "tokens/s", tokens["vllm"] / seconds["vllm"], tokens["transformers"] / seconds["transformers"],
        "engine transformers", rounds, f"{PROBLEMS} prompts x {SAMPLES} samples of at most {TOKENS} tokens; random "
        f"model on a {device}; start-up not counted",
    )  # fmt: skip

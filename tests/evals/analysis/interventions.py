"""The shared parts of the tests of interventions: a token table by hand, and an engine that answers by a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evals.analysis.subjects import Subject
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.engines.encode import load_tokenizer, response_text

BENCHMARK = "numbers"


def subject(model_path: Path, problems: Sequence[str], verdict: str = "correct") -> Subject:
    """One sample a problem. Every gold is 7."""
    columns = {"problem_id": list(problems), "sample": 0, "gold": "7", "verdict": verdict, "benchmark": BENCHMARK}
    prompts = {problem: f"{problem}+1=" for problem in problems}
    return Subject("model", {BENCHMARK: pd.DataFrame(columns)}, str(model_path), {BENCHMARK: prompts})


class Rule:
    """Ends every response with the boxed 7, which is correct, or with 8, as `right(request)` says."""

    chunk_rows = 5
    context = None

    def __init__(self, model_path: Path, right: Callable[[Request], bool]) -> None:
        self.tokenizer = load_tokenizer(str(model_path))
        self.right = right
        self.requests: list[Request] = []

    def describe(self) -> dict[str, Any]:
        return {"name": "rule"}

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: Any = None
    ) -> Iterator[list[Completion]]:
        self.requests += requests
        for request in requests:
            prefixed = response_text(self.tokenizer, [request.forced], [False])[0] if request.forced else ""
            text = prefixed + ("\\boxed{7}" if self.right(request) else "\\boxed{8}")
            yield [Completion(request.key, text, len(request.forced) + 3, "stop")]

"""The toy benchmark of five problems, and an engine without a model whose verdict table is known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evals.data import benchmarks
from evals.data.benchmarks import Problem, content_hash
from evals.data.protocols import Protocol
from evals.grading.verdicts import schema
from evals.provenance import assumed
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.engines.base import sample_seed

PROBLEMS = [Problem(f"p{i}", "What is " + "1+" * (i % 3) + f"{i}?", str(i)) for i in range(5)]


class KilledError(Exception):
    """Simulates the end of a process."""


class Scripted:
    """An engine without a model: what it answers follows from the request's seed alone.

    `dies_at`: the batch (counted from 0) in which `die` is called. `asked` holds the keys it was asked for.
    """

    class tokenizer:  # in place of a property
        chat_template = "yes"

        @staticmethod
        def apply_chat_template(messages: Any, **_: Any) -> str:
            return "".join(m["content"] for m in messages)

        bos_token = None

        @staticmethod
        def encode(text: str, add_special_tokens: bool) -> list[int]:
            return [ord(sign) for sign in text]

    def __init__(
        self, dies_at: int | None = None, die: Any = None, note: str = "1", context: int | None = None
    ) -> None:
        self.context = context
        self.chunk_rows = 4
        self.dies_at = dies_at
        self.die = die
        self.note = note
        self.keys: list[tuple[str, int]] = []
        self.batches = 0

    def describe(self) -> dict[str, Any]:
        return {"name": "scripted", "note": self.note}

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: Any = None
    ) -> Iterator[list[Completion]]:
        for start in range(0, len(requests), 2):
            if self.batches == self.dies_at:
                self.die()
            self.batches += 1
            batch = requests[start : start + 2]
            self.keys += [request.key for request in batch]
            yield [answer(request) for request in batch]


def answer(request: Request) -> Completion:
    """By the seed: right, wrong, wrong in other words, no answer, or cut off."""
    right = request.key[0][1:]
    kind = request.seed % 5
    texts = (f"so \\boxed{{{right}}}", "\\boxed{-7}", "\\boxed{-7.0}", "no idea", "well, let us")
    return Completion(request.key, texts[kind], 3 + request.seed % 4, "length" if kind == 4 else "stop")


def expected_rows(n: int, seed: int = 0, name: str = "toy") -> list[dict[str, Any]]:
    """The verdict table of `Scripted`, worked out one sample at a time."""
    rows = []
    for problem in PROBLEMS:
        classes: dict[str, int] = {}
        for sample in range(n):
            drawn = sample_seed(seed, name, (problem.id, sample))
            given = answer(Request((problem.id, sample), "", drawn))
            kind = drawn % 5
            expected = {0: problem.answer, 1: "-7", 2: "-7.0"}.get(kind)
            same_as = {0: "right", 1: "minus seven", 2: "minus seven"}.get(kind)
            rows.append(
                {
                    "benchmark": name, "problem_id": problem.id, "sample": sample, "seed": drawn,
                    "gold": problem.answer,
                    "response": given.text, "tokens": given.tokens, "finish_reason": given.finish_reason,
                    "boxed": kind < 3, "answer": expected,
                    "answer_class": None if same_as is None else classes.setdefault(same_as, len(classes)),
                    "verdict": ("correct", "wrong", "wrong", "no_answer", "truncated")[kind], "reason": None,
                    "problem": problem.problem, "thought_begun": False,
                }
            )  # fmt: skip
    return rows


def set_up(root: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> dict[str, Any]:
    for name in ("toy", "toy_b"):
        (root / "tasks" / name).mkdir(parents=True, exist_ok=True)
        (root / "tasks" / name / f"{name}.yaml").write_text(
            f"task: {name}\ndataset_path: null\nmetadata: {{rows: 5, sha256: {content_hash(PROBLEMS)}}}\n"
        )
        lines = [json.dumps({"id": p.id, "problem": p.problem, "answer": p.answer}) + "\n" for p in PROBLEMS]
        (root / f"{name}.jsonl").write_text("".join(lines))
    if monkeypatch:
        monkeypatch.setattr(benchmarks, "TASKS", root / "tasks")
    else:
        benchmarks.TASKS = root / "tasks"
    return {"model_path": model_dir, "out_dir": root / "out", "data_dir": root}


def protocol(n: int = 3, *names: str, **changes: Any) -> Protocol:
    values: dict[str, Any] = {
        "benchmarks": names or ("toy",), "n": n, "temperature": 1.0, "top_p": 1.0, "max_tokens": 9, "prompt": "plain",
        "ks": (1,), **changes,
    }  # fmt: skip
    return Protocol("test", **{key: assumed(value, "a test") for key, value in values.items()})


def table(path: Path) -> list[dict[str, Any]]:
    read = pq.read_table(path)
    assert read.schema == schema()
    rows: list[dict[str, Any]] = read.to_pylist()
    return rows

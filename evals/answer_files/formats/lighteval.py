"""Details of lighteval, of today and before version 0.10."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from pydantic import field_validator

from evals.answer_files.formats.schema import About, Format, Id, Part
from evals.answer_files.sample import Sample
from evals.answer_files.values import golds_of, problem_text, replied
from evals.errors import UsageError


class LightevalDoc(Part):
    choices: list[object]
    gold_index: int | list[int]
    id: Id | None = None
    query: object = None
    generation_size: int | None = None


class LightevalOutput(Part):
    text: list[str | None]
    output_tokens: list[object] | None = None


class Lighteval(Format):
    """A doc with its responses. A metric is a verdict on the response where there is one."""

    about = About("lighteval", "lighteval", "`details_*.parquet`", "each metric", golds="any")

    doc: LightevalDoc
    model_response: LightevalOutput
    metric: dict[str, object] | None = None

    def samples(self) -> list[Sample]:
        doc, texts = self.doc, self.model_response.text
        indexes = doc.gold_index if isinstance(doc.gold_index, list) else [doc.gold_index]
        if beyond := [index for index in indexes if not 0 <= index < len(doc.choices)]:
            raise UsageError(f"doc.gold_index is {beyond[0]}. doc.choices has {len(doc.choices)} values")
        counts = [
            len(ids) if isinstance(ids, list) and ids else None for ids in self.model_response.output_tokens or ()
        ]
        counts = [*counts, *[None] * len(texts)][: len(texts)]
        metrics = (self.metric or {}) if len(texts) == 1 else {}
        base = Sample(
            "" if doc.id is None else str(doc.id),
            golds_of([doc.choices[index] for index in indexes]),
            problem=problem_text(doc.query),
            labels={name: _of_one(name, value) for name, value in metrics.items()},
        )
        samples = []
        for text, count in zip(texts, counts, strict=True):
            response, reason = replied(text, _reason(doc.generation_size, count))
            samples.append(replace(base, response=response, finish_reason=reason, tokens=count))
        return samples


def _reason(limit: int | None, count: int | None) -> str | None:
    if not limit or count is None:
        return None
    return "length" if count >= limit else "stop"


def samples_named(metric: str) -> int | None:
    """The n in a metric's name, such as 4 in "pass@k:k=1&n=4", "math_pass@1:4_samples", "avg@n:n=4"."""
    match = re.search(r"(?:\bn=|pass@1:)(\d+)", metric)
    return int(match[1]) if match else None


def _of_one(metric: str, value: object) -> object:
    """lighteval divides by the n of pass@1 even for a single sample: 1/4 then means one correct sample of one."""
    n = samples_named(metric)
    first = re.search(r"k=1\b|pass@1:", metric)
    return value * n if n and first and isinstance(value, float) and value == 1 / n else value


class LightevalBefore(Format):
    """A row without an id, so that equal prompts are one problem. Lists may be texts, as Python shows them."""

    about = About(
        "lighteval_before", "lighteval before version 0.10", "`details_*.parquet`", "each metric", golds="any"
    )

    full_prompt: str
    predictions: list[str | None]
    gold: list[str | int | float] | str | int | float
    metrics: dict[str, object] | None

    @field_validator("predictions", "gold", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        if isinstance(value, str) and value.startswith("["):
            try:
                return ast.literal_eval(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                return value
        return value

    def samples(self) -> list[Sample]:
        labels = dict(self.metrics or {}) if len(self.predictions) == 1 else {}
        base = Sample(golds=golds_of(self.gold), problem=self.full_prompt, labels=labels)
        replies = map(replied, self.predictions)
        return [replace(base, response=text, finish_reason=reason) for text, reason in replies]

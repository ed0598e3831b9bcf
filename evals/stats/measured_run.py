"""A method as it is compared: its counted verdicts over training seeds, and how they were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evals.provenance import differing_fields
from evals.stats.verdict_table import VerdictTable

Conditions = Mapping[str, Any]


@dataclass(frozen=True)
class MeasuredRun:
    """The verdicts of one method by benchmark, over one or several training seeds.

    `conditions`, by benchmark, decides the measurement: protocol name, prompt, decoding, data, and `engine` and
    `model`, which may change a sample but not the measured quantity. None without a manifest beside the verdicts.
    `graded_by`, by benchmark, is how answers were read (`evals.answer_files.own.graded_by`), which a file of graded
    answers states too. `trained`: False for a base model that was not trained, which has no training seeds.
    """

    name: str
    tables: Mapping[str, VerdictTable]
    conditions: Mapping[str, Conditions | None]
    trained: bool
    graded_by: Mapping[str, str | None] = field(default_factory=dict)


def decisive_differences(a: Conditions | None, b: Conditions | None) -> list[tuple[str, object, object]]:
    """(field, value in a, value in b) of every difference in the measurement. Empty if either side is unknown."""
    if a is None or b is None:
        return []
    return [
        field
        for key in ("protocol", "prompt", "decoding", "data")
        for field in differing_fields(a.get(key), b.get(key), key)
    ]

"""The formats of answers that other tools save: each a typed schema of a row, which yields samples.

A file has a format if its first row has the format's types. A later row that has not is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from evals.answer_files.formats.harnesses import (
    Evalscope,
    EvalscopeBefore,
    EveryEvalEver,
    Inspect,
    LmEval,
    OpenCompass,
    OpenCompassDetails,
)
from evals.answer_files.formats.labs import NemoSkills, OpenR1, QwenMath, Rollouts
from evals.answer_files.formats.lighteval import Lighteval, LightevalBefore
from evals.answer_files.formats.ours import Rows, Verdicts
from evals.answer_files.formats.programs import EvalPlus, HumanEval
from evals.answer_files.formats.schema import Format, faults
from evals.answer_files.formats.trainers import (
    NemoGym,
    Oat,
    OpenAIResponses,
    SkyRL,
    Swift,
    Trl,
    Verifiers,
    Verl,
    VerlGeneration,
)

FORMATS: tuple[type[Format], ...] = (
    *(Verdicts, LmEval, Inspect, Lighteval, QwenMath, Verl, Oat, EveryEvalEver, Rollouts, Trl, Swift, VerlGeneration),
    *(SkyRL, Verifiers, NemoGym, NemoSkills, Evalscope, EvalscopeBefore, OpenCompass, OpenCompassDetails, OpenR1),
    *(LightevalBefore, HumanEval, EvalPlus, OpenAIResponses, Rows),
)
"""In the order of the documentation. Where a row has the types of several, the first is its format."""


def format_of(row: Mapping[str, object]) -> type[Format] | None:
    """The format whose types a row has, or None without one."""
    return next((form for form in FORMATS if form.named_like(row) and fault_of(form, row) is None), None)


def fault_of(form: type[Format], row: Mapping[str, object]) -> str | None:
    """Why a row is not of a format, in words, or None where it is."""
    try:
        form.model_validate(row)
    except ValidationError as error:
        return faults(error, row)
    return None


def nearest(row: Mapping[str, object]) -> str | None:
    """A format whose names a row has with other types, and the first of them, in words, or None without one."""
    near = ((form.about.name, fault_of(form, row)) for form in FORMATS if form.named_like(row))
    return next((f"{name} has these columns, but {fault}" for name, fault in near if fault), None)


def table() -> str:
    """The formats as a table in Markdown, for the documentation."""
    lines = ["| written by | file | their verdict |", "| --- | --- | --- |"]
    lines += [f"| {form.about.tool} | {form.about.files} | {form.about.verdict} |" for form in FORMATS]
    return "\n".join(lines)

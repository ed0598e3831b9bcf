"""Options of every command that reads a file of answers: what the file does not state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.command.config import take, take_list
from harness.errors import UsageError, choose

if TYPE_CHECKING:
    from evals.answer_files.reading import Reading

READING = """  columns=A:B,C:D        our column:theirs, as columns=problem_id:idx,response:output; doc.id reaches in
  gold=FILE              the gold answers, where the file has none: answer, and problem_id or problem to find them by
  benchmark=NAME         what the problems are called, where the file does not say or says it otherwise
  label=NAME             which of the authors' verdicts stands beside ours, where a file has several
  policy=NAME            how answers are found: boxed_last (default), boxed_strict, answer_line, qwen, ..."""
READING_KEYS = ("columns", "gold", "benchmark", "label", "policy")


def take_reading(values: dict[str, Any]) -> tuple[Reading, str | None]:
    """The reading of files of answers that the options describe, and the extraction policy.

    Raises:
        UsageError: an option that does not fit.
    """
    from evals.answer_files.reading import Reading
    from evals.grading.extraction import POLICIES

    columns = _columns(take_list(values, "columns"))
    gold = take(values, "gold", str)
    if gold is not None and not Path(gold).is_file():
        raise UsageError(f"gold: no such file {gold!r}")
    benchmark, label = take(values, "benchmark", str), take(values, "label", str)
    policy = take(values, "policy", str)
    if policy is not None:
        choose("policy", [policy], POLICIES)
    return Reading(columns, None if gold is None else Path(gold), benchmark, label), policy


def _columns(given: list[str] | None) -> dict[str, str]:
    """["problem_id:idx", ...] -> {"problem_id": "idx", ...}."""
    pairs = [text.partition(":") for text in given or ()]
    for text, (ours, colon, theirs) in zip(given or (), pairs, strict=True):
        if not (ours and colon and theirs):
            raise UsageError(f"columns: expected OURS:THEIRS, such as response:output, got {text!r}")
    return {ours: theirs for ours, _, theirs in pairs}

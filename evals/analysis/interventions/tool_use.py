"""Tool-integrated reasoning (arXiv 2508.07534, section 2.5): a model's responses drawn anew with code that is run
(`evals.sampling.engines.tools`), and how they used it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evals.analysis.subjects import Subject
from evals.analysis.tokens.token_table import need_columns
from evals.code_execution.program_grader import POLICIES as PROGRAMS
from evals.data.benchmarks import Benchmark, content_hash
from evals.data.prompts import Prompt
from evals.sampling.engines.base import Decoding, Engine
from evals.sampling.engines.tools import ToolEngine, Tools, next_block
from evals.sampling.evaluate import sample_problems

if TYPE_CHECKING:
    import pandas as pd

_OUTPUT = re.compile(r"\n```output\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ERROR = re.compile(r"^[A-Za-z_.]*(?:Error|Exception|Interrupt|Warning|Iteration)\b|^the program was (?:ended|killed):")


@dataclass(frozen=True)
class ToolUse:
    """Of a table: its responses, the share of them that ran code, the mean number of blocks that ran in a response, and
    the share of blocks that ended with an error (None where no block ran). Fractions."""

    responses: int
    share: float
    mean_blocks: float
    failed: float | None


def measure_tools(
    subject: Subject,
    benchmark: str,
    *,
    prompt: Prompt,
    decoding: Decoding,
    n: int,
    folder: Path,
    tools: Tools | None = None,
    seed: int = 0,
    workers: int = 2,
    engine: Engine | None = None,
) -> pd.DataFrame:
    """n responses to each problem, drawn with tools and graded; resumable.

    Args:
        subject: with its model and the benchmark's problems. prompt: should ask for code
        (`evals.data.prompts.with_tools`).
        decoding: max_tokens counts the outputs too. folder: for samples and verdicts. workers: that grade.
        engine: holds the model; None is transformers.
    Returns:
        a verdict table (`evals.grading.verdicts.schema`).
    Raises:
        ValueError: the subject lacks model or problems, the answers are programs, programs cannot be run here, or
            `folder` holds other samples.
    """
    import pandas as pd

    if subject.model_path is None or benchmark not in subject.problems:
        raise ValueError(f"{subject.name}: expected a subject with its model and the problems of {benchmark!r}")
    if prompt.policy in PROGRAMS:
        raise ValueError(f"prompt {prompt.name!r}: its answers are programs; expected other problems")
    if engine is None:
        from evals.sampling.engines.transformers import TransformersEngine

        engine = TransformersEngine(subject.model_path)
    problems = subject.problems[benchmark]
    path = sample_problems(
        Benchmark(benchmark, problems, content_hash(problems), "the problems that the subject was asked"),
        ToolEngine(engine, tools),
        prompt=prompt,
        decoding=decoding,
        n=n,
        seed=seed,
        model_path=subject.model_path,
        folder=folder,
        workers=workers,
    )
    return pd.read_parquet(path)


def outputs(response: str, turns: int) -> list[str]:
    """What the Python blocks of a response printed, in order; at most `turns` of them ran."""
    found: list[str] = []
    at = 0
    while len(found) < turns and (block := next_block(response, at)) is not None:
        output = _OUTPUT.match(response, block[1])
        if output is None:
            break  # no block after one that did not run ran
        found.append(output.group(1))
        at = output.end()
    return found


def tool_use(table: pd.DataFrame, turns: int) -> ToolUse:
    """How the responses of a table used their tools.

    Args:
        table: drawn with tools; needs the column response. turns: as they were drawn with.
    Raises:
        ValueError: no rows, or a column is missing.
    """
    need_columns(table, ("response",), "verdict table")
    if not len(table):
        raise ValueError("verdict table: expected one response or more, got none")
    ran = [outputs(str(response), turns) for response in table["response"]]
    blocks = [output for one in ran for output in one]
    ended_badly = [bool(_ERROR.match((output.splitlines() or [""])[-1])) for output in blocks]
    return ToolUse(
        len(ran),
        sum(map(bool, ran)) / len(ran),
        len(blocks) / len(ran),
        sum(ended_badly) / len(blocks) if blocks else None,
    )

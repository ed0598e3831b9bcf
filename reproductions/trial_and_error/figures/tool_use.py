"""Tool-integrated reasoning (arXiv 2508.07534, section 2.5): sample responses, run their code, and measure its use.

`evals.sampling.engines.tools` runs the code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.curves_over_k import pass_curves
from evals.analysis.interventions import Prefix, Sampling, measure
from evals.analysis.subjects import Subject
from evals.analysis.token_table import need_columns
from evals.code_execution.programs import POLICIES as PROGRAMS
from evals.data import prompts
from evals.data.prompts import Prompt
from evals.plots.panels import check_panels, panels_size, run_panels, two_line_legend
from evals.plots.parts import covered, point_look, sizes
from evals.plots.plot import Plot
from evals.sampling.engines.tools import ToolEngine, Tools, next_block

if TYPE_CHECKING:
    import pandas as pd

_OUTPUT = re.compile(r"\n```output\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ERROR = re.compile(r"^[A-Za-z_.]*(?:Error|Exception|Interrupt|Warning|Iteration)\b|^the program was (?:ended|killed):")


@dataclass(frozen=True)
class ToolUse:
    """For a table: the number of responses, the share that ran code, the mean number of blocks run in a response, and
    the share of blocks that ended with an error (None if no block ran). Fractions."""

    responses: int
    share: float
    mean_blocks: float
    failed: float | None


def measure_tools(
    subject: Subject, benchmark: str, prompt: Prompt, sampling: Sampling, tools: Tools | None = None
) -> pd.DataFrame:
    """Responses to each problem, sampled with tools and graded: a verdict table.

    Args:
        subject: with its model and the benchmark's problems.
        prompt: should ask for code (`evals.data.prompts.with_tools`); its policy holds, not that of `sampling`.
        sampling: max_tokens includes the outputs.
    Raises:
        ValueError: the subject lacks model or problems, the answers are programs, or programs cannot be run here; or as
            `measure`.
    """
    if subject.model_path is None or benchmark not in subject.problems:
        raise ValueError(f"{subject.name}: expected a subject with its model and the problems of {benchmark!r}")
    if prompt.policy in PROGRAMS:
        raise ValueError(f"prompt {prompt.name!r}: its answers are programs; expected other problems")
    engine = sampling.with_engine(subject.model_path)
    problems = subject.problems[benchmark]
    prefixes = [Prefix(p.id, p.id, prompt=prompts.render(prompt, p, engine.tokenizer)) for p in problems]
    with_tools = replace(sampling, engine=ToolEngine(engine, tools), policy=prompt.policy)
    return measure(subject, benchmark, prefixes, with_tools)


def outputs(response: str, turns: int) -> list[str]:
    """The outputs of a response's Python blocks, in order; at most `turns` blocks ran."""
    texts: list[str] = []
    at = 0
    while len(texts) < turns and (block := next_block(response, at)) is not None:
        output = _OUTPUT.match(response, block[1])
        if output is None:
            break  # if a block did not run, no later one did
        texts.append(output.group(1))
        at = output.end()
    return texts


def tool_use(table: pd.DataFrame, turns: int) -> ToolUse:
    """How the responses of a table used their tools.

    Args:
        table: sampled with tools; needs the column response. turns: of that sampling.
    Raises:
        ValueError: no rows, or a column is missing.
    """
    need_columns(table, ("response",), "verdict table")
    if not len(table):
        raise ValueError("verdict table: expected one response or more, got none")
    ran = [outputs(str(response), turns) for response in table["response"]]
    blocks = [output for printed in ran for output in printed]
    ended_badly = [bool(_ERROR.match((output.splitlines() or [""])[-1])) for output in blocks]
    return ToolUse(
        len(ran),
        sum(map(bool, ran)) / len(ran),
        len(blocks) / len(ran),
        sum(ended_badly) / len(blocks) if blocks else None,
    )


def plot_tools(
    tables: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]],
    *,
    benchmark: str,
    turns: int,
    note: str = "",
) -> Plot:
    """pass@k with and without tools (arXiv 2508.07534, Fig. 2). A panel a run, at most four.

    Args:
        tables: run -> its verdict tables without and with tools. turns: of the sampling with tools.
        note: how they were sampled, for the caption.
    Raises:
        ValueError: no run or more than four; or as `pass_curves` and `tool_use`.
    """
    check_panels(tables)
    flat = {f"{run}, {what}": table for run, pair in tables.items() for what, table in zip(_WITH, pair, strict=True)}
    frame, same = pass_curves(flat)
    numbers = frame.rename(columns={"pass": "pass@k (%)", "low": "low (%)", "high": "high (%)"})
    for column in ("pass@k (%)", "low (%)", "high (%)"):
        numbers[column] *= 100
    shown = sorted(numbers["k"].unique())

    def render(figure: Any) -> None:
        for place, (axis, run) in enumerate(run_panels(figure, list(tables), "k (samples a problem)", "pass@k (%)")):
            for hollow, what in zip((False, True), _WITH[::-1], strict=True):
                rows, style = numbers[numbers["model"] == f"{run}, {what}"], point_look(place, hollow=hollow)
                style |= {"linestyle": "--" if hollow else "-", "linewidth": 1.3, "clip_on": False}
                # if both are equal, a ring around the point shows that there are two
                style |= {"markersize": 8, "markerfacecolor": "none"} if hollow else {"markersize": 4}
                axis.plot(rows["k"], rows["pass@k (%)"], **style)
                axis.fill_between(
                    rows["k"], rows["low (%)"], rows["high (%)"], color=style["color"], alpha=0.13, linewidth=0
                )
            axis.set_xscale("log", base=2)
            axis.set_xticks(shown, [str(k) for k in shown])
            axis.minorticks_off()
            axis.set_ylim(0, 100)
        two_line_legend(figure, _WITH[::-1])

    used = described({run: tool_use(pair[1], turns) for run, pair in tables.items()})
    caption = " ".join(
        part
        for part in (
            f"{sizes(flat, len(same.problems))} pass@k: chance that k samples hold a correct answer (unbiased). "
            f"{covered(list(numbers['covers']))} With tools at most {turns} blocks of a response run. {used}",
            note,
            same.note(),
        )
        if part
    )
    title = f"pass@k on {benchmark}, with and without tools"
    source = f"{TRIAL_AND_ERROR}, Fig. 2"
    return Plot(f"tools_{benchmark}", title, caption, source, numbers, render, panels_size(len(tables)))


def described(uses: Mapping[str, ToolUse]) -> str:
    """How often each run's responses ran code, as sentences for a caption."""
    each = "; ".join(
        f"{run}: {100 * use.share:.0f} % of the responses ran code, {use.mean_blocks:.2f} blocks a response"
        + ("" if use.failed is None else f", {100 * use.failed:.0f} % of them ended with an error")
        for run, use in uses.items()
    )
    idle = not any(use.share for use in uses.values())
    return f"{each}." + (" No response ran code: the tools changed nothing." if idle else "")


_WITH = ("without tools", "with tools")

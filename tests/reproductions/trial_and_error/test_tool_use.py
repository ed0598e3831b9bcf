"""What ran, read back from the responses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evals.analysis.interventions import Sampling
from evals.analysis.subjects import Subject
from evals.code_execution.sandbox import ExecutionResult
from evals.data import prompts
from evals.data.benchmarks import Problem
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.engines.encode import load_tokenizer, response_text
from evals.sampling.engines.tools import Tools, output_block
from reproductions.trial_and_error.figures.tool_use import ToolUse, measure_tools, outputs, plot_tools, tool_use
from tests.evals.analysis.intervention_frames import LONG, samples
from tests.evals.analysis.rendered import check_renders

needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


class Calculator:
    """Cannot multiply: has a program do it and boxes what it printed; without an output to read, it guesses 1."""

    chunk_rows = 3
    context = None

    def __init__(self, model_path: Path) -> None:
        self.tokenizer: Any = load_tokenizer(str(model_path))
        self.asked: list[Request] = []

    def describe(self) -> dict[str, Any]:
        return {"name": "calculator"}

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        for request in requests:
            self.asked.append(request)
            prefixed = response_text(self.tokenizer, [request.forced], [False])[0] if request.forced else ""
            shown = outputs(prefixed, 9)
            factors = request.prompt_text.split("<user>")[1].split()[0]
            new = f"so \\boxed{{{shown[0].strip()}}}" if shown else f"```python\nprint({factors})\n```\n\\boxed{{1}}"
            yield [Completion(request.key, prefixed + new, len(request.forced) + 9, "stop")]


PROBLEMS = (Problem("a", "6*7", "42"), Problem("b", "3*3", "9"))


@needs_sandbox
def test_responses_hold_the_output_of_their_code(random_model: Path, tmp_path: Path) -> None:
    subject = Subject("m", {}, str(random_model), problems={"products": PROBLEMS})
    engine = Calculator(random_model)

    sampling = Sampling(Decoding(1.0, 1.0, 200), 2, tmp_path / "t", engine=engine)

    def measured(prompt: str = "boxed_code", tools: Tools | None = None) -> pd.DataFrame:
        return measure_tools(subject, "products", prompts.get(prompt), sampling, tools)

    table = measured()
    assert table["verdict"].tolist() == ["correct"] * 4
    assert table["answer"].tolist() == ["42", "42", "9", "9"]
    assert tool_use(table, 4) == ToolUse(responses=4, share=1.0, mean_blocks=1.0, failed=0.0)
    first, *_ = engine.asked
    assert "```python" in first.prompt_text and "```output" in first.prompt_text  # the prompt explains both
    turns = len(engine.asked)
    assert turns == 8  # two a response: until the block, and from its output on
    pd.testing.assert_frame_equal(measured(), table)
    assert len(engine.asked) == turns  # read from the folder
    with pytest.raises(ValueError, match="holds samples of other settings"):
        measured("plain")
    with pytest.raises(ValueError, match="turns was 4, now 1"):
        measured(tools=Tools(turns=1))


def test_subjects_that_tools_cannot_measure_are_refused(random_model: Path, tmp_path: Path) -> None:
    subject = Subject("m", {}, str(random_model), problems={"products": PROBLEMS})
    sampling = Sampling(Decoding(1.0, 1.0, 9), 1, tmp_path)
    for lacking in (replace(subject, model_path=None), replace(subject, problems={})):
        with pytest.raises(ValueError, match="m: expected a subject with its model and the problems of 'products'"):
            measure_tools(lacking, "products", prompts.get("plain"), sampling)
    with pytest.raises(ValueError, match="prompt 'humaneval': its answers are programs"):
        measure_tools(subject, "products", prompts.get("humaneval"), sampling)


def test_prompts_that_ask_for_code() -> None:
    for name, prompt in prompts.PROMPTS.items():
        asking = prompts.get(prompts.with_tools(name))
        assert prompts.with_tools(asking.name) == asking.name  # asked for once
        if asking.name != name:
            assert asking.chat == prompt.chat  # no chat template is needed where none was
            assert "```python" in asking.user and "```output" in asking.user
            assert (asking.policy == "letter") == (prompt.policy == "letter")
    assert prompts.with_tools("plain") == "plain" and prompts.with_tools("humaneval") == "humaneval"
    with pytest.raises(ValueError, match="did you mean 'plain'"):
        prompts.with_tools("plainn")


def ran(program: str, printed: ExecutionResult) -> str:
    return f"```python\n{program}\n```{output_block(printed, 100)}"


ONE = ran("print(1)", ExecutionResult("1\n", False, None))
BAD = ran("1 / 0", ExecutionResult("2\n", False, "ZeroDivisionError: division by zero"))
SILENT = ran("x = 1", ExecutionResult("", False, None))


@pytest.mark.parametrize(
    ("response", "turns", "expected"),
    [
        (f"So\n{ONE}and\n{BAD}\\boxed{{1}}", 4, ["1\n", "2\nZeroDivisionError: division by zero\n"]),
        (f"{ONE}{BAD}", 1, ["1\n"]),  # the model wrote the second output itself
        (SILENT, 4, [""]),
        ("```python\nprint(1)\n```\nnothing ran", 4, []),
        (f"```python\nprint(1)\n```\n{ONE}", 4, []),
        ("no code", 4, []),
    ],
)
def test_outputs_of_code_blocks_are_read_from_a_response(response: str, turns: int, expected: list[str]) -> None:
    assert outputs(response, turns) == expected


def test_tool_use_by_hand() -> None:
    table = pd.DataFrame({"response": [ONE + BAD, SILENT, "x", "y"]})
    assert tool_use(table, 4) == ToolUse(responses=4, share=0.5, mean_blocks=0.75, failed=1 / 3)
    assert tool_use(table[2:], 4) == ToolUse(2, 0.0, 0.0, None)
    with pytest.raises(ValueError, match="one response or more"):
        tool_use(table[:0], 4)


@pytest.mark.parametrize("runs", [1, 3])
def test_the_figure_of_tools_shows_pass_at_k_and_how_many_responses_ran_code(runs: int) -> None:
    ran = "```python\nprint(1)\n```\n```output\n1\n```\n"
    without, with_tools = samples(p0="cw", p1="ww"), samples(p0="cc", p1="cw").assign(response=[ran, "x", "x", "x"])
    one = plot_tools({f"{i} {LONG}": (without, with_tools) for i in range(runs)}, benchmark="b", turns=4)
    # pass@1: (1/2 + 0) / 2 and (1 + 1/2) / 2; pass@2: (1 + 0) / 2 and 1
    assert one.numbers["pass@k (%)"].tolist() == pytest.approx([25, 50, 75, 100] * runs)
    assert "25 % of the responses ran code, 0.25 blocks" in one.caption
    check_renders(one)

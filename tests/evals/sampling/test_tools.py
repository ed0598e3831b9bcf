"""Responses whose code is run, by an engine that writes what the test tells it to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evals.code_execution import sandbox
from evals.code_execution.sandbox import ExecutionResult, SandboxError
from evals.data.benchmarks import Benchmark, Problem
from evals.data.prompts import Prompt
from evals.sampling.engines import Completion, Decoding, EngineError, Request
from evals.sampling.engines import tools as tools_module
from evals.sampling.engines.base import sample_seed
from evals.sampling.engines.encode import load_tokenizer, response_text
from evals.sampling.engines.tools import ToolEngine, Tools, next_block, output_block
from evals.sampling.engines.transformers import TransformersEngine
from evals.sampling.evaluate import sample_problems
from harness.errors import UsageError
from rlvr.evaluation import make_engine
from tests.experiments import save_random_model

needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
DECODING = Decoding(1.0, 1.0, 200)


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_random_model(tmp_path_factory.mktemp("tools"))


def code(program: str) -> str:
    return f"```python\n{program}\n```"


class Writer:
    """Continues a response by `script`: the response so far -> the next text. Two requests a batch."""

    chunk_rows = 100
    context = None

    def __init__(self, model_path: Path, script: Mapping[str, str]) -> None:
        self.tokenizer: Any = load_tokenizer(str(model_path))
        self.script = script
        self.rounds: list[list[Request]] = []

    def describe(self) -> dict[str, Any]:
        return {"name": "writer"}

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        self.rounds.append(list(requests))
        for start in range(0, len(requests), 2):
            yield [self._write(request) for request in requests[start : start + 2]]

    def _write(self, request: Request) -> Completion:
        prefix = response_text(self.tokenizer, [request.forced], [False])[0] if request.forced else ""
        new = self.script[prefix or request.prompt_text]
        tokens = len(request.forced) + len(self.tokenizer.encode(new, add_special_tokens=False)) + 1
        return Completion(request.key, prefix + new, tokens, "stop")


def said(engine: ToolEngine, *prompts: str, decoding: Decoding = DECODING) -> dict[str, Completion]:
    requests = [Request((prompt, 0), prompt, index) for index, prompt in enumerate(prompts)]
    return {c.key[0]: c for batch in engine.generate(requests, decoding) for c in batch}


# --------------------------------------------------------------------------------------------------------- text alone


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so\n```python\nprint(1)\n```\nand", ("print(1)\n", 25)),
        ("```py\nx\n  ```", ("x\n", 13)),
        ("```Python\n```", ("", 13)),
        ("```python\nx", None),  # not whole
        ("```\nx\n```", None),  # not said to be Python
        ("```output\n1\n```", None),
        ("see ```python\nx\n```", None),  # not a line of its own
        ("```python\nx\n```output\n1\n```", ("x\n```output\n1\n", 27)),  # a fence with a name closes nothing
    ],
)
def test_blocks(text: str, expected: tuple[str, int] | None) -> None:
    assert next_block(text, 0) == expected


def test_only_new_text_is_searched_for_code() -> None:
    text = code("1") + "\n" + code("2")
    assert next_block(text, len(code("1"))) == ("2\n", len(text))
    assert next_block(text, len(code("1")) + 2) is None


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (ExecutionResult("1\n2\n", False, None), "\n```output\n1\n2\n```\n"),
        (ExecutionResult("", False, None), "\n```output\n```\n"),
        (ExecutionResult("1\n", False, "KeyError: 'x'"), "\n```output\n1\nKeyError: 'x'\n```\n"),
        (ExecutionResult("1234", True, None), "\n```output\n1234\n(cut after 4 characters)\n```\n"),
    ],
)
def test_outputs(printed: ExecutionResult, shown: str) -> None:
    assert output_block(printed, 4 if printed.cut else 100) == shown


# ------------------------------------------------------------------------------------------------------------ turns


@needs_sandbox
def test_code_is_run_and_the_model_continues(model_path: Path) -> None:
    first = f"Let me see.\n{code('print(6 * 7)')}"
    answered = f"{first}\n```output\n42\n```\n"
    writer = Writer(
        model_path, {"p": first + "\n```output\n41\n```\nIt is 41.", answered: "It is \\boxed{42}.", "q": "5"}
    )
    got = said(ToolEngine(writer), "p", "q")
    whole = answered + "It is \\boxed{42}."  # what was written without the output is gone
    tokens = len(writer.tokenizer.encode(whole, add_special_tokens=False))
    assert got["p"].text == whole
    assert abs(got["p"].tokens - 1 - tokens) <= 1  # the cut may fall inside what would be one token
    assert got["q"] == Completion(("q", 0), "5", 2, "stop")
    assert [[request.key[0] for request in one] for one in writer.rounds] == [["p", "q"], ["p"]]
    assert writer.rounds[1][0].seed == sample_seed(0, "tools", ("p", 0))


@needs_sandbox
def test_turns_are_bounded(model_path: Path) -> None:
    one, two, three = code("print(1)"), code("1 / 0"), code("print(3)")
    after_one = f"{one}\n```output\n1\n```\n"
    after_two = f"{after_one}{two}\n```output\nZeroDivisionError: division by zero\n```\n"
    script = {"p": one, after_one: two, after_two: three + "\nend"}
    assert said(ToolEngine(Writer(model_path, script), Tools(turns=2)), "p")["p"].text == after_two + three + "\nend"
    after_three = f"{after_two}{three}\n```output\n3\n```\n"
    got = said(ToolEngine(Writer(model_path, {**script, after_three: "\\boxed{3}"}), Tools(turns=3)), "p")
    assert got["p"].text == after_three + "\\boxed{3}"


@needs_sandbox
def test_limits_of_time_and_output_are_reported(model_path: Path) -> None:
    loop, flood = code("while True: pass"), code("print('x' * 50)")
    stopped = f"{loop}\n```output\nTimeoutError: more than 1 s of processor time\n```\n"
    cut = f"{flood}\n```output\n{'x' * 46}\n(cut after 46 characters)\n```\n"
    writer = Writer(model_path, {"p": loop, stopped: "a", "q": flood, cut: "b"})
    got = said(ToolEngine(writer, Tools(seconds=1, output_chars=46)), "p", "q")
    assert {key: c.text for key, c in got.items()} == {"p": stopped + "a", "q": cut + "b"}


@needs_sandbox
def test_outputs_count_and_may_fill_the_response(model_path: Path) -> None:
    block = code("print('1 ' * 40)")
    shown = f"{block}\n```output\n{'1 ' * 40}\n```\n"
    writer = Writer(model_path, {"p": block, shown: "x"})
    length = len(writer.tokenizer.encode(shown, add_special_tokens=False))
    engine = ToolEngine(writer)
    assert said(engine, "p", decoding=Decoding(1.0, 1.0, length))["p"] == Completion(("p", 0), shown, length, "length")
    assert said(engine, "p", decoding=Decoding(1.0, 1.0, length + 1))["p"].text == shown + "x"


@needs_sandbox
def test_special_tokens_that_are_printed_are_text(model_path: Path) -> None:
    end = load_tokenizer(str(model_path)).eos_token
    block = code(f"print({end!r})")
    shown = f"{block}\n```output\n{end}\n```\n"
    writer = Writer(model_path, {"p": block, shown: "x"})
    assert said(ToolEngine(writer), "p")["p"].text == shown + "x"
    assert writer.tokenizer.eos_token_id not in writer.rounds[1][0].forced


# --------------------------------------------------------------------------------------------------- with real engines


@needs_sandbox
def test_without_code_it_is_the_inner_engine(model_path: Path) -> None:
    inner = TransformersEngine(str(model_path), device="cpu")
    requests = [Request((f"{p}", s), f"{p}+1=", 10 * p + s) for p in range(3) for s in range(2)]
    decoding = Decoding(1.0, 1.0, 20)
    plain = [c for batch in inner.generate(requests, decoding) for c in batch]
    assert [c for batch in ToolEngine(inner).generate(requests, decoding) for c in batch] == plain


@needs_sandbox
def test_a_folder_refuses_other_tools(model_path: Path, tmp_path: Path) -> None:
    shown = f"{code('print(7)')}\n```output\n7\n```\n"
    writer = Writer(model_path, {"p": code("print(7)"), shown: "\\boxed{7}"})

    def evaluated(engine: Any) -> Any:
        import pandas as pd

        path = sample_problems(
            Benchmark("one", (Problem("a", "p", "7"),), "", "test"),
            engine,
            prompt=Prompt("p", "{problem}", "boxed_last", "test", chat=False),
            decoding=DECODING,
            n=1,
            seed=0,
            model_path=model_path,
            folder=tmp_path,
        )
        return pd.read_parquet(path).iloc[0]

    row = evaluated(ToolEngine(writer))
    assert (row["verdict"], row["response"]) == ("correct", shown + "\\boxed{7}")
    evaluated(ToolEngine(writer, Tools(workers=1)))  # decides no sample
    with pytest.raises(ValueError, match=r"engine\.tools\.turns was 4, now 5"):
        evaluated(ToolEngine(writer, Tools(turns=5)))
    with pytest.raises(ValueError, match=r"engine\.tools was .*, now null"):
        evaluated(writer)


# ------------------------------------------------------------------------------------------------------------ refusals


def test_without_a_sandbox_tools_are_refused(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "unavailable_reason", lambda: "no namespaces")
    with pytest.raises(ValueError, match="a model's code never runs without it"):
        ToolEngine(Writer(model_path, {}))
    with pytest.raises(UsageError, match="tools: the sandbox for programs cannot be created here"):
        make_engine("m", "transformers", True, {})


@needs_sandbox
def test_a_sandbox_that_fails_during_sampling_is_an_error(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> ExecutionResult:
        raise SandboxError("no more")

    monkeypatch.setattr(tools_module.sandbox, "execute", broken)
    writer = Writer(model_path, {"p": code("1"), "q": "done"})
    batches = ToolEngine(writer).generate([Request((x, 0), x, 0) for x in "pq"], DECODING)
    assert [c.text for c in next(batches)] == ["done"]  # what was sampled before is kept
    with pytest.raises(EngineError, match="problem 'p', sample 0: no more"):
        next(batches)


@needs_sandbox
def test_a_server_is_refused(model_path: Path) -> None:
    writer = Writer(model_path, {})
    writer.tokenizer = None
    with pytest.raises(ValueError, match="got a server"):
        ToolEngine(writer).describe()


@needs_sandbox
def test_tools_from_the_command_line() -> None:
    engine = make_engine("m", "transformers", True, {"tools.turns": 2, "engine.batch_rows": 8})
    assert (engine.tools, engine.chunk_rows) == (Tools(turns=2), 8)
    assert not isinstance(make_engine("m", "transformers", False, {}), ToolEngine)


@pytest.mark.parametrize(
    ("name", "tools", "settings", "field"),
    [
        ("transformers", False, {"tools.turns": 3}, "tools.turns"),
        ("transformers", True, {"tools.turn": 3}, "tools.turn=3"),
        ("transformers", True, {"tools.turns": 0}, "turns=0"),
        ("openai", True, {}, "tools"),
    ],
)
def test_wrong_options(name: str, tools: bool, settings: dict[str, Any], field: str) -> None:
    with pytest.raises(UsageError, match=field):
        make_engine("m", name, tools, settings)

"""`rlvr analyze` of checkpoints, and of what it samples itself: tools, and the temperature at forks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evals.code_execution import sandbox
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.engines import transformers as transformers_engine
from evals.sampling.engines.encode import load_tokenizer, response_text
from evals.sampling.engines.tools import next_block
from harness.errors import UsageError
from harness.record.write import Recorder
from rlvr.cli import main
from rlvr.evaluation import prepared_evaluation
from rlvr.writing import labels, planned_evaluations
from tests.experiments import save_random_model

pytestmark = pytest.mark.slow

needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
SMALL = ["protocol=tiny", "benchmarks=tiny_short", "rows=3", "n=2", "ks=[1,2]", "max_tokens=6"]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two folders that end in the same name, as those of two runs do."""
    folder = tmp_path_factory.mktemp("models")
    return [save_random_model(folder / arm / "final") for arm in ("base", "ours")]


def numbers(out: Path, family: str, name: str) -> pd.DataFrame:
    return pd.read_csv(out / family / f"{name}.csv")


def test_labels_tell_checkpoints_apart(tmp_path: Path) -> None:
    (tmp_path / "x" / "final").mkdir(parents=True)
    (tmp_path / "y" / "final").mkdir(parents=True)
    assert labels(["Qwen/A", "Qwen/B"]) == ["A", "B"]
    assert labels(["Qwen/A", "other/A"]) == ["Qwen-A", "other-A"]
    assert labels([str(tmp_path / "x/final"), "y/final"]) == ["x-final", "y-final"]


def test_every_checkpoint_is_checked_before_the_first_is_evaluated() -> None:
    values = {"n": 2, "ks": [1], "benchmarks": ["tiny_rare"]}
    first, second = planned_evaluations(["o/A", "o/B"], "tiny", values, "d")
    assert (first.out, second.out) == (Path("evaluations/A-tiny-seed0"), Path("evaluations/B-tiny-seed0"))
    assert second.protocol.value("n", "tiny_rare") == 2 and second.protocol.benchmarks.value == ("tiny_rare",)
    assert second.data_dir == "d"
    with pytest.raises(UsageError, match="samples_=3"):
        planned_evaluations(["o/A"], "tiny", {"samples_": 3}, None)


def test_tools_ask_for_code_unless_a_prompt_is_given() -> None:
    def prompt(benchmark: str, protocol: str, tools: bool = False, **values: Any) -> Any:
        asked = prepared_evaluation("m", protocol, values, tools=tools).protocol
        return asked.value("prompt", benchmark), asked.prompt.note

    trial = {"protocol": "trial_and_error"}
    assert prompt("aime24", **trial)[0] == "boxed_suffix"
    if sandbox.unavailable_reason() is None:
        assert prompt("aime24", **trial, tools=True) == ("boxed_code", "tools=true: a prompt that asks for code")
        assert prompt("gpqa_diamond", **trial, tools=True)[0] == "gpqa_code"
        assert prompt("humaneval", **trial, tools=True)[0] == "humaneval"
        assert prompt("aime24", **trial, tools=True, prompt="dapo") == ("dapo", "command line")
        assert prompt("tiny_short", protocol="tiny", tools=True)[0] == "plain"


@needs_sandbox
def test_one_command_evaluates_checkpoints_and_samples(
    models: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    command = ["analyze", f"checkpoints=[{models[0]},{models[1]}]", *SMALL, "only=verdicts,tools,fork_temperature"]
    command += ["temperatures=[2]", f"out={out}", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert [m["name"] for m in document["models"]] == ["base-final", "ours-final"]
    assert document["skipped"] == []
    assert "**Tiny scale: " in (out / "README.md").read_text()  # though no record says so
    folders = {path.name for path in (tmp_path / "evaluations").iterdir()}
    assert folders == {"base-final-tiny-seed0", "ours-final-tiny-seed0"}

    # a random model writes no program: with tools its responses are the same, and the page says so
    passed = numbers(out, "tools", "tools_tiny_short")
    assert set(passed["model"]) == {f"{m}-final, {w} tools" for m in ("base", "ours") for w in ("with", "without")}
    words = json.loads((out / "tools" / "tools_tiny_short.json").read_text())
    assert "No response ran code" in words["caption"] and "Prompt: plain. With tools temperature 1," in words["caption"]

    table = numbers(out, "fork_temperature", "fork_temperature_tiny_short")
    pairs = [(1.0, 1.0), (2.0, 1.0), (1.0, 2.0)]
    assert list(zip(table["fork_temperature"], table["other_temperature"], strict=True)) == pairs * 2
    assert set(table["samples"]) == {6}

    class Loaded(Exception):
        """A model was asked for."""

    def load(*_: object) -> None:
        raise Loaded

    monkeypatch.setattr(transformers_engine.TransformersEngine, "generate", load)
    assert main(command) == 0  # again: all of it is there
    assert json.loads(capsys.readouterr().out)["figures"] == document["figures"]
    with pytest.raises(Loaded):
        main([*command[:-1], "samples=3", "--json", "--debug"])


@needs_sandbox
def test_checkpoints_of_a_training_are_read(
    models: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The slope of a token's entropy over steps, where the trainer has kept a model between the first and the last."""
    command = ["analyze", f"checkpoints=[{models[0]}]", *SMALL[:-1], "max_tokens=12", "only=tokens", "out=a", "--json"]
    assert main(command) == 0
    base = tmp_path / "evaluations" / "final-tiny-seed0"
    job = tmp_path / "job"
    shutil.copytree(base, job / "eval")
    recorder = Recorder(job)
    recorder.start(kind="arm", arm="grpo", settings={"learning_rate": {}})
    for step in range(1, 10):
        recorder.metrics(step, {"train/reward": 1.0})
    shutil.copytree(models[0], job / "train" / "final")

    def plotted() -> tuple[set[str], list[str]]:
        capsys.readouterr()
        assert main(["analyze", f"runs=[{base},{job}]", "names=[base,ours]", "only=tokens", "out=b", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        return {f["name"] for f in document["figures"]}, document["skipped"]

    names, skipped = plotted()
    assert "entropy_drops_tiny_short" not in names
    assert len(skipped) == 1 and "no run's folder holds a checkpoint between" in skipped[0]
    shutil.copytree(models[0], job / "train" / "checkpoint-4")
    (job / "train" / "checkpoint-4" / "whole").touch()
    names, skipped = plotted()
    assert "entropy_drops_tiny_short" in names and not skipped
    assert (
        "ours: steps 0, 4, 9"
        in json.loads((tmp_path / "b/tokens/entropy_drops_tiny_short.json").read_text())["caption"]
    )


class Programmer:
    """Answers correctly what it has computed by a program, and incorrectly otherwise; `transformers` by name."""

    chunk_rows = 8
    context = None

    def __init__(self, model_path: str) -> None:
        self.tokenizer: Any = load_tokenizer(model_path)

    def describe(self) -> dict[str, Any]:
        return {"name": "programmer"}

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        for request in requests:
            prefixed = response_text(self.tokenizer, [request.forced], [False])[0] if request.forced else ""
            block = next_block(prefixed, 0)
            if block is None:
                text = f"```python\n{program(request.prompt_text)}\n```\n\\boxed{{-1}}"
            else:
                text = f"{prefixed}\\boxed{{{prefixed.split('```output')[1].split()[0]}}}"
            yield [Completion(request.key, text, len(request.forced) + 20, "stop")]


def program(prompt: str) -> str:
    """`K is 7. K plus 5 is B. What is B?` as Python."""
    signs = {"plus": "+", "minus": "-", "times": "*"}
    lines = []
    for sentence in prompt.split("<user>")[1].split("<assistant>")[0].split(". ")[:-1]:
        words = sentence.split()
        lines.append(
            f"{words[-1]}={words[0]}{signs[words[1]]}{words[2]}" if len(words) == 5 else f"{words[0]}={words[2]}"
        )
    asked = prompt.split("What is ")[1].split("?")[0]
    return "\n".join([*lines, f"print({asked})"])


@needs_sandbox
def test_a_model_that_computes_is_better_with_tools(
    models: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformers_engine, "TransformersEngine", Programmer)
    out = tmp_path / "out"
    options = [*SMALL[:-1], "max_tokens=200", "only=tools", "turns=2", f"out={out}"]
    assert main(["analyze", f"checkpoints=[{models[0]}]", *options]) == 0, capsys.readouterr().err
    passed = numbers(out, "tools", "tools_tiny_short").set_index(["model", "k"])["pass@k (%)"]
    assert passed["final, without tools", 1] == 0  # its own box comes before any output
    assert passed["final, with tools", 1] == 100
    words = json.loads((out / "tools" / "tools_tiny_short.json").read_text())
    assert "100 % of the responses ran code, 1.00 blocks a response" in words["caption"]

    # an evaluation that had tools already is no "without"
    command = [*options[:-1], "tools=true", "seed=1", f"out={tmp_path / 'no'}"]
    assert main(["analyze", f"checkpoints=[{models[0]}]", *command]) == 0
    assert "the responses of final were sampled with tools; expected ones without" in capsys.readouterr().err

    # but it is a "with": nothing is sampled then
    plain, tooled = (f"evaluations/final-tiny-seed{seed}" for seed in (0, 1))
    monkeypatch.delattr(Programmer, "generate")
    assert main(["analyze", f"runs=[{plain}]", f"with_tools=[{tooled}]", "only=tools", "out=given"]) == 0
    passed = numbers(tmp_path / "given", "tools", "tools_tiny_short").set_index(["model", "k"])["pass@k (%)"]
    assert (passed["final-tiny-seed0, without tools", 1], passed["final-tiny-seed0, with tools", 1]) == (0, 100)
    capsys.readouterr()
    for given, said in ((plain, "were sampled without tools"), (f"{plain},{tooled}", "expected one a run (1), got 2")):
        main(["analyze", f"runs=[{plain}]", f"with_tools=[{given}]", "only=tools", "out=not"])
        assert said in capsys.readouterr().err

"""The commands `rlvr eval` and `rlvr grade`."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.reading import READING_KEYS, take_reading
from harness.command.config import no_more, parse_overrides, take, take_number, take_numbers
from harness.errors import UsageError, choose

if TYPE_CHECKING:
    from evals.data.protocols import Protocol
    from evals.sampling.engines import Engine

EVAL = """options:
  model=PATH_OR_HUB_ID   required
  protocol=NAME          required; see `rlvr list`, or FILE.yaml with your own (docs/benchmarks.md)
  out=FOLDER             where samples and verdicts go (default evaluations/NAME); started again, it resumes
  data_dir=FOLDER        benchmark files NAME.jsonl|.parquet|.csv instead of the hub
  benchmarks=[A,B]       some of the protocol's benchmarks; any other protocol value likewise: n=4 max_tokens=512
  extraction=NAME        how an answer is extracted, instead of the form that the prompt asks for: boxed_last,
                         boxed_strict, answer_line, qwen, letter, ...; the report says what other policies would change
  seed=0                 sampling seed
  engine=NAME            who samples: transformers (default), vllm, openai (a server), ray (a cluster)
  engine.KEY=VALUE       transformers, vllm: batch_rows, dtype, replicas (one a GPU), ...; openai: url, key_env (the
                         variable with the key), concurrency, ...; ray: address, replicas, inner (which engine), ...
  tools=true             run a response's ```python blocks in a sandbox, show it what they print (```output), continue;
                         max_tokens then counts the outputs too. Where no prompt= is given, one that asks for code
                         (boxed_code, gpqa_code, boxed_code_plain) takes the protocol's place. Not with openai
  tools.KEY=VALUE        turns=4 (blocks run for a response), seconds=10 and memory_mb=1024 for each, output_chars=2000
  allow_changed_data=true  accept rows other than the pinned ones; the record says so"""
GRADE = """FILE holds one JSON object a line: problem_id, answer, response (rows with one problem_id are its samples),
or with answers=true: gold, prediction. Other columns are kept; finish_reason and expected are used if they are there.
Also read, by content: evaluations of Qwen2.5-Math and SimpleRL, lm-eval samples, lighteval details, inspect logs,
evalscope reviews, veRL validation dumps, TRL completions (.jsonl, .json, .parquet, .eval, .gz), tables by columns=.
Where the authors' verdict on a sample is there, the report says where and why ours differs.
options:
  out=FILE               write the rows with their verdicts (.parquet or .jsonl); `rlvr compare` reads it
  page=FILE.md           the samples on which their verdicts and ours differ, as a page to send to the authors
  columns=A:B,C:D        our column:theirs, as columns=problem_id:idx,answer:gold,response:output; doc.id reaches inside
  gold=FILE              the gold answers, where the file has none: answer, and problem_id or problem to find them by
  label=NAME             which of the authors' verdicts stands beside ours, where a file has several
  benchmark=NAME         what the problems are called in out=
  answers=true           rows are gold, prediction pairs of bare answers
  policy=NAME            how an answer is extracted: boxed_last (default), boxed_strict, boxed_first, answer_line,
                         answer_tag, qwen (box, "the answer is", last number), letter (default where golds are letters)
  explain=[1,5]          show for these rows what was extracted, how it was read and what decided
  digits=3               significant digits that a decimal must show to stand for an exact value
  decimal_comma=false    1000,99 is not the decimal 1000.99
  words=false            a number in words is no number
  natural_log=false      \\log is not the natural logarithm
  missing_unit=false     a unit may not be missing
  upright_letter=false   \\text{D} is not D
  ks=[1,8]               for pass@k and maj@k (default: powers of two up to the fewest samples of a problem)
  workers=N              grading processes (default: one a core)
  limit=10               seconds of processor time that one answer may take"""


@dataclass(frozen=True)
class Evaluation:
    """A model and how it is measured, checked; nothing is loaded yet."""

    model: str
    protocol: Protocol
    engine: Engine
    seed: int
    data_dir: str | None
    allow_changed_data: bool
    out: Path

    def run(self, *, progress: bool | None = None) -> dict[str, Path]:
        """The verdict table of each benchmark; `progress` as of `evaluate`.

        Raises:
            UsageError: wrong data, a model that cannot be loaded, samples of other settings.
            EngineError: it stopped; what was sampled is kept.
        """
        from evals.sampling.evaluate import evaluate
        from harness.runs.interrupt import check, finishing

        try:
            with finishing():
                return evaluate(
                    self.model,
                    self.protocol,
                    out_dir=self.out,
                    data_dir=self.data_dir,
                    seed=self.seed,
                    engine=self.engine,
                    allow_changed_data=self.allow_changed_data,
                    after_batch=check,
                    progress=progress,
                )
        except (ValueError, OSError) as error:
            raise UsageError(str(error)) from error


def take_evaluation(values: dict[str, Any], model: str, *, label: str | None = None) -> Evaluation:
    """The evaluation that the options describe; without `out`, `label` names its folder (default: the model's name).

    Raises:
        UsageError: a key or value that does not fit.
    """
    from evals.data import benchmarks, protocols
    from evals.provenance import Origin
    from evals.sampling.engines.tools import ToolEngine
    from harness.analysis.runs import tiny_benchmarks
    from harness.cli.engine_options import take_engine

    name = take(values, "protocol", str, required=True)
    own = name.endswith((".yaml", ".yml"))
    if not own:
        choose("protocol", [name], protocols.PROTOCOLS)
    seed = take(values, "seed", int, 0)
    engine = take_engine(values, model)
    data_dir = take(values, "data_dir", str)
    changed = take(values, "allow_changed_data", bool, False)
    try:
        protocol = protocols.read(name) if own else protocols.get(name)
    except (ValueError, OSError) as error:
        raise UsageError(f"protocol: {error}") from error
    out = Path(take(values, "out", str, f"evaluations/{label or model_label(model)}-{protocol.name}-seed{seed}"))
    no_more({k: v for k, v in values.items() if k not in protocol.sourced()}, (*protocol.sourced(), *EVAL_KEYS))
    if isinstance(values.get("benchmarks"), str):
        values["benchmarks"] = [values["benchmarks"]]
    for benchmark in values.get("benchmarks", ()):
        if not str(benchmark).endswith((".yaml", ".yml")):
            choose("benchmarks", [benchmark], benchmarks.names())
    try:
        protocol = protocol.override(values, Origin.USER, "command line") if values else protocol
    except ValueError as error:
        raise UsageError(str(error)) from error
    if isinstance(engine, ToolEngine) and "prompt" not in values:
        protocol = _asking_for_code(protocol)
    data_dir = data_dir or tiny_benchmarks(protocol.benchmarks.value)
    return Evaluation(model, protocol, engine, seed, data_dir, changed, out)


GENERIC = re.compile(r"final|train|whole|model|hf|checkpoint-\d+|global_step_\d+|actor|huggingface")


def model_label(model: str) -> str:
    """A folder name for a model's evaluation.

    The last part of its path; where every training has such a part (`final`, `checkpoint-50`), the training's folder
    too, and four digits of the whole path, so that two trainings never share a folder.
    """
    if not Path(model).is_dir():
        return Path(model).name
    parts = [part for part in Path(model).resolve().parts if part != "/"]
    start = len(parts) - 1
    while start > 0 and GENERIC.fullmatch(parts[start]):
        start -= 1
    if start == len(parts) - 1:
        return parts[-1]
    kept = [parts[start], *(part for part in parts[start + 1 :] if part != "train")]
    return "-".join([*kept, hashlib.sha256("/".join(parts).encode()).hexdigest()[:4]])


def _asking_for_code(protocol: Protocol) -> Protocol:
    """The protocol with prompts that ask for code, for those prompts that have such a variant."""
    from evals.data import prompts
    from evals.provenance import Origin

    own = {benchmark: protocol.value("prompt", benchmark) for benchmark in protocol.benchmarks.value}
    asking = {benchmark: prompts.with_tools(name) for benchmark, name in own.items()}
    if asking == own:
        return protocol
    return protocol.override({"prompt": asking}, Origin.USER, "tools=true: a prompt that asks for code")


def do_eval(arguments: Any) -> int:
    from evals.sampling.engines.base import EngineError

    values = parse_overrides(arguments.options)
    evaluation = take_evaluation(values, take(values, "model", str, required=True))
    from harness.cli.eval_report import as_text, summary
    from harness.runs.interrupt import handled

    try:
        with handled():
            verdicts = evaluation.run(progress=True)
    except EngineError as error:
        print(
            f"rlvr eval: {error}\nthe samples so far are kept; the same command resumes from them",
            file=sys.stderr,
        )
        return 1
    document = summary(evaluation.protocol, verdicts)
    print(json.dumps(document, indent=2, default=list) if arguments.json else as_text(document))
    return 0


EVAL_KEYS = ("model", "protocol", "seed", "engine", "tools", "data_dir", "allow_changed_data", "out")


def do_grade(arguments: Any) -> int:
    from evals.grading import LIMIT_S, Conventions

    flags = [f"{name}={given}" for name in ("policy", "explain") if (given := getattr(arguments, name, None))]
    words = [arguments.file, *arguments.options, *flags]
    named = next((word for word in words if word.startswith("file=")), words[0])
    words.remove(named)
    file, values = named.removeprefix("file="), parse_overrides(words)
    if not Path(file).is_file():
        raise UsageError(f"file={file}: expected a file of answers, found none")
    answers, out = take(values, "answers", bool, False), take(values, "out", str)
    ks, workers = take_numbers(values, "ks", int), take(values, "workers", int)
    limit = take_number(values, "limit", LIMIT_S)
    explain, page = take_numbers(values, "explain", int), take(values, "page", str)
    reading, policy = take_reading(values)
    own = {f.name: take(values, f.name, type(f.default), f.default) for f in fields(Conventions)}
    no_more(values, ("out", "answers", "ks", "workers", "limit", "explain", "page", *READING_KEYS, *own))
    if page is not None and not Path(page).parent.is_dir():
        raise UsageError(f"page: there is no folder {str(Path(page).parent)!r}")
    if answers and policy is not None:
        raise UsageError("policy: expected none with answers=true, whose rows are bare answers")
    if workers is not None and workers < 1:
        raise UsageError(f"workers: expected at least 1, got {workers}")
    if not limit > 0:
        raise UsageError(f"limit: expected a number of seconds > 0, got {limit:g}")
    from evals.answer_files import grade_file
    from evals.sampling.progress import grading_bar

    try:
        with grading_bar("grading") as progress:
            result = grade_file(
                file,
                answers=answers,
                out=out,
                ks=ks,
                policy=policy,
                conventions=Conventions(**own),
                workers=workers,
                limit_s=limit,
                explain=explain or (),
                reading=reading,
                progress=progress,
            )
        if page is not None:
            Path(page).write_text(result.letter(), encoding="utf-8")
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    print(json.dumps(result.as_dict(), indent=2) if arguments.json else result.as_text())
    return 0

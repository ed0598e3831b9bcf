"""Measure a model under a protocol: prompts, samples, verdicts.

    tables = evaluate("path/to/model", "tiny", out_dir="out", data_dir="data")
    tables["tiny_short"]    # out/tiny_short/verdicts.parquet

For each benchmark `<out_dir>/<benchmark>/` holds the samples as they come (`evals.sampling.store`) and, once all are
graded, `verdicts.parquet` (`evals.grading.verdicts.schema`). Grading runs in worker processes beside generation. After
a kill, the same call samples only what is missing, in the batches of an uninterrupted run, and gives the same table.
Greedy responses to equal prompts are sampled once: HumanEval and HumanEval+ judge the same programs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evals.code_execution import sandbox
from evals.code_execution.program_grader import ProgramGrader, RewardGrader
from evals.code_execution.programs import POLICIES as PROGRAMS
from evals.data import benchmarks, prompts, protocols
from evals.data.benchmarks import Benchmark, OwnBenchmark
from evals.data.hub import check_hub
from evals.data.protocols import Protocol
from evals.errors import RefusedError, UsageError
from evals.files import text_sha256, write_parquet
from evals.fingerprint import check_model, model_fingerprint
from evals.grading import Grade, Grader
from evals.grading.reasoning import begins, graded_part
from evals.grading.verdicts import WITHHELD, Verdict, schema
from evals.log import logger, on_terminal
from evals.sampling import engines
from evals.sampling.engines import Completion, Decoding, Engine, Request
from evals.sampling.engines.base import Key, Messages, sample_seed
from evals.sampling.engines.encode import encode, model_stop_tokens
from evals.sampling.engines.local import LocalModel
from evals.sampling.progress import Live
from evals.sampling.prompt_nats import PromptNats
from evals.sampling.store import OWNER, PROMPT_NATS, SampleStore

Greedy = dict[tuple[str, str], Completion]
"""The response to a prompt, by decoding (as JSON) and text."""

CUT = {"content_filter": "its filter cut the response", "error": "it broke the response off"}


_GRADER = Grader(reasoning="whole")  # grades the part of a response that `_GradingQueue` gives it


@dataclass(frozen=True)
class Plan:
    """The plan for one benchmark, complete before the first token is sampled.

    `texts` are the rendered prompts, one for each problem of `benchmark`, and `chats` the conversations they came from
    (None for a plain prompt). `benchmark` is `dataset` or, if the protocol says so, its first rows. `reasoning` is the
    part of a response that is graded (`evals.grading.reasoning`).
    """

    benchmark: Benchmark
    dataset: Benchmark
    texts: tuple[str, ...]
    chats: tuple[Messages | None, ...]
    prompt: prompts.Prompt
    decoding: Decoding
    n: int
    seed: int
    reasoning: str = "after"

    @cached_property
    def begun(self) -> frozenset[str]:
        """The problems whose prompt begins the thought, as some chat templates do."""
        texts = zip(self.benchmark.problems, self.texts, strict=True)
        return frozenset(problem.id for problem, text in texts if begins(text))

    def requests(self, start: int, stop: int) -> list[Request]:
        """Samples start to stop - 1 of every problem, the shortest prompts first (less padding in a batch) and the
        samples of a problem together."""
        problems = sorted(
            zip(self.texts, self.benchmark.problems, self.chats, strict=True), key=lambda p: (len(p[0]), p[1].id)
        )
        keys = [(text, (problem.id, k), chat) for text, problem, chat in problems for k in range(start, stop)]
        return [Request(key, text, sample_seed(self.seed, self.benchmark.name, key), chat) for text, key, chat in keys]


def evaluate(
    model_path: str | Path,
    protocol: Protocol | str,
    *,
    out_dir: str | Path,
    data_dir: str | Path | None = None,
    seed: int = 0,
    engine: Engine | str = "transformers",
    progress: bool | None = None,
    allow_changed_data: bool = False,
    check: Callable[[str], object] | None = None,
    run: Mapping[str, object] | None = None,
) -> dict[str, Path]:
    """Sample and grade. Returns the verdict table of each benchmark, in the protocol's order.

    Args:
        model_path: a folder or a hub id. For a server, the model's name there.
        protocol: a name in `protocols.PROTOCOLS`, or a Protocol (overridden, say).
        data_dir: benchmark files (`benchmarks.load`). None reads from the hub.
        seed: with benchmark, problem and sample number it decides each sample.
        engine: a name in `engines.ENGINES`, or an Engine.
        progress: shown on stderr, as a bar or (without a terminal) as lines. None shows it only on a terminal.
        check: called after each batch is stored, and between two tokens, with the state of the evaluation. It raises to
            stop, which loses the samples under way.
        run: whose evaluation it is, as names and values. It stands in the manifests and in the files of verdicts.
    Raises:
        ValueError: before the model is loaded: unknown name, wrong data, or `out_dir` has samples of other settings.
    """
    protocol = protocols.get(protocol) if isinstance(protocol, str) else protocol
    engine = engines.create(engine, str(model_path)) if isinstance(engine, str) else engine
    if isinstance(engine, LocalModel):
        check_model(model_path)  # at once: the datasets may have to be downloaded
        if not Path(model_path).is_dir():
            check_hub("model", str(model_path))
    show, names = on_terminal() if progress is None else progress, protocol.benchmarks.value
    if show:
        what = "problems" if engine.tokenizer is None else "tokenizer and problems"
        logger.info(f"{model_path}: reading {what}")
    read: dict[str, Any] = {"data_dir": data_dir, "allow_changed_data": allow_changed_data}
    stores = {name: SampleStore(Path(out_dir) / name) for name in names}
    plans = [_plan(protocol, name, engine, seed, stores[name], **read) for name in names]
    if isinstance(engine, LocalModel):
        model_stop_tokens(str(model_path), engine.tokenizer)
    if any(plan.prompt.policy in PROGRAMS for plan in plans):
        sandbox.require()
    if engine.context is not None:
        for plan in plans:  # raises now, not hours later, for a prompt that leaves no room for its response
            encode(engine.tokenizer, plan.requests(0, 1), plan.decoding, engine.context)
    model, record = _model(model_path, engine), _record(model_path, protocol, data_dir)
    for plan in plans:
        with stores[plan.benchmark.name].locked():
            stores[plan.benchmark.name].open(_identity(plan, engine, model), record, run)
    greedy: Greedy = {}
    with ProgramGrader() as programs, RewardGrader() as rewards:
        return {
            plan.benchmark.name: _run(
                plan,
                stores[plan.benchmark.name],
                engine,
                _grader(plan, programs, rewards),
                show,
                record,
                check or _go_on,
                greedy,
            )
            for plan in plans
        }


def _grader(plan: Plan, programs: ProgramGrader, rewards: ProgramGrader) -> Grader | ProgramGrader:
    """The grader of a plan's policy."""
    return programs if plan.prompt.policy in PROGRAMS else rewards if ":" in plan.prompt.policy else _GRADER


def sample_problems(
    dataset: Benchmark,
    engine: Engine,
    *,
    prompt: prompts.Prompt,
    decoding: Decoding,
    n: int,
    seed: int,
    model_path: str | Path,
    folder: str | Path,
    reasoning: str = "after",
) -> Path:
    """Sample and grade your own problems (training problems, say), resumable as `evaluate` is.

    Args:
        reasoning: the part of a response that is graded (`evals.grading.reasoning`).
    Returns:
        the verdict table.
    Raises:
        ValueError: `folder` holds samples of other settings.
    """
    plan = replace(_plan_of(dataset, dataset, prompt, decoding, n, seed, engine), reasoning=reasoning)
    store, record = SampleStore(Path(folder)), {"model_path": str(model_path)}
    with store.locked():
        store.open(_identity(plan, engine, _model(model_path, engine)), record)
    with ProgramGrader() as programs, RewardGrader() as rewards:
        return _run(plan, store, engine, _grader(plan, programs, rewards), on_terminal(), record)


def _plan(protocol: Protocol, name: str, engine: Engine, seed: int, store: SampleStore, **read: Any) -> Plan:
    def at(field: str) -> Any:
        return protocol.value(field, name)

    dataset = benchmarks.load(name, choice_seed=at("choice_seed"), **read)
    decoding = Decoding(**{f.name: at(f.name) for f in fields(Decoding)} | {"stop": protocol.stop_of(name)})
    check_decoding(engine, decoding)
    store.check({"decoding": decoding.stated(), "seed": seed})  # before the tokenizer, whose imports take seconds
    first: dict[object, str] = {}
    twice = [p.id for p in dataset.problems if first.setdefault((p.problem, p.choices), p.id) != p.id]
    if twice and isinstance(name, OwnBenchmark):
        what = f"{len(twice)} of {len(dataset.problems)} problems repeat others, so intervals are too narrow"
        logger.warning(f"WARNING: {name}: {what}; remove {', '.join(twice[:9])}")
    plan = _plan_of(dataset.first(at("rows")), dataset, protocol.prompt_of(name), decoding, at("n"), seed, engine)
    return replace(plan, reasoning=at("reasoning"))


def check_decoding(engine: Engine, decoding: Decoding) -> None:
    """Raise ValueError, naming the engine, for a value of the decoding that it cannot express."""
    can: frozenset[str] = getattr(engine, "decoding", frozenset())
    basic = {f.name for f in fields(Decoding) if f.default is MISSING}
    for field, value in decoding.stated().items():
        if field not in basic and field not in can:
            capable = engines.can(field)
            off = "[]" if field == "stop" else "null"  # null: those of the prompt
            remedy = f"Expected {off}, or engine={' or '.join(capable)}"
            if field == "reasoning_effort":
                remedy += f". Or, as the chat template has it, chat_template_kwargs={{reasoning_effort: {value}}}"
            raise UsageError(f"engine {engine.describe()['name']} cannot express {field}={value!r}. {remedy}")


def _plan_of(
    benchmark: Benchmark,
    dataset: Benchmark,
    prompt: prompts.Prompt,
    decoding: Decoding,
    n: int,
    seed: int,
    engine: Engine,
) -> Plan:
    chats = tuple(tuple(prompts.messages(prompt, p)) if prompt.chat else None for p in benchmark.problems)
    texts = [
        # a server has the chat template itself: the conversation stands for its text
        prompts.render(prompt, problem, engine.tokenizer)
        if chat is None or engine.tokenizer is not None
        else json.dumps(chat, ensure_ascii=False)
        for problem, chat in zip(benchmark.problems, chats, strict=True)
    ]
    return Plan(benchmark, dataset, tuple(texts), chats, prompt, decoding, n, seed)


def _model(model_path: str | Path, engine: Engine) -> dict[str, object]:
    """The identity of the model: its content, or its name on a server."""
    return {"served_as": str(model_path)} if engine.tokenizer is None else {"sha256": model_fingerprint(model_path)}


def _identity(plan: Plan, engine: Engine, model: dict[str, object]) -> dict[str, object]:
    """Everything that decides a sample. The numbers of samples and problems are excluded, because they may grow. The
    first rendered prompt represents all: it reveals a changed wording and a changed chat template."""
    return {
        "benchmark": plan.benchmark.name,
        "data": {key: getattr(plan.dataset, key) for key in ("sha256", "changed", "choice_seed")},
        "decoding": plan.decoding.stated(),
        "engine": engine.describe(),
        "model": model,
        "prompt": {
            "name": plan.prompt.name,
            "first_sha256": text_sha256(plan.texts[0]),
            **prompts.parts(plan.prompt),
        },
        "seed": plan.seed,
    }


def _record(model_path: str | Path, protocol: Protocol, data_dir: str | Path | None) -> dict[str, object]:
    """Metadata stored beside the samples. Not part of their identity."""
    packages = ("mpmath", "datasets", "pyarrow")
    return {
        "model_path": str(model_path),
        "data_dir": None if data_dir is None else str(Path(data_dir).resolve()),
        "own_benchmarks": [str(name.file) for name in protocol.benchmarks.value if isinstance(name, OwnBenchmark)],
        "protocol": {"name": protocol.name, **{key: value.as_dict() for key, value in protocol.sourced().items()}},
        "versions": {"python": sys.version.split()[0], **{package: version(package) for package in packages}},
    }


def _go_on(_: str) -> None:
    """The check of an evaluation that nothing stops."""


def _run(
    plan: Plan,
    store: SampleStore,
    engine: Engine,
    grader: Grader | ProgramGrader,
    show: bool,
    record: Mapping[str, object],
    check: Callable[[str], object] = _go_on,
    greedy: Greedy | None = None,
) -> Path:
    """Sample what is missing, grade everything, write the verdict table. `greedy` has the responses of earlier
    benchmarks at temperature 0, and gets those of this one."""
    path, name = store.folder / "verdicts.parquet", plan.benchmark.name
    if greedy is None or plan.decoding.temperature != 0:
        greedy = {}
    with store.locked():
        ranges = store.grow(plan.n)
        decoding = json.dumps(plan.decoding.stated(), sort_keys=True)
        request_of = {request.key: (decoding, request.prompt_text) for request in plan.requests(0, plan.n)}
        keys, stored = set(request_of), _stored(store, plan.dataset)
        samples = {key: sample for key, sample in stored.items() if key in keys}
        if known := [
            replace(greedy[request_of[key]], key=key)
            for key in request_of.keys() - samples
            if request_of[key] in greedy
        ]:
            store.add(sorted(known, key=lambda completion: completion.key))
            samples.update((completion.key, completion) for completion in known)
        missing = len(keys) - len(samples)
        if show:
            logger.info(f"{name}: {_to_do(plan, engine, missing, len(stored.keys() - keys))}")
        live = Live(name, len(keys), len(samples), shown=bool(show and missing))

        def on_step(tokens: int) -> None:
            live.tokens(tokens, getattr(engine, "trouble", ""))
            check(live.state)

        with _GradingQueue(plan, grader) as grading, live:
            grading.add(list(samples.values()))
            for chunk in _missing(plan, ranges, engine.chunk_rows, samples):
                check(live.state)  # before the engine loads its model, or begins the next batch
                if PROMPT_NATS not in record:
                    record = {**record, PROMPT_NATS: _prompt_nats(engine, chunk, name)}
                for completions in engine.generate(chunk, plan.decoding, on_step):
                    store.add(completions)
                    samples.update((c.key, c) for c in completions)
                    grading.add(completions)
                    live.stored(len(completions))
                    check(live.state)
            live.close()
            if show:
                logger.info(f"{name}: grading {len(keys)} responses")
            grades = grading.finish()
        if lost := keys - samples.keys():
            raise RuntimeError(
                f"the engine answered {len(samples)} of {len(keys)} requests. The first missing one is {min(lost)}"
            )
        _write_verdicts(path, plan, samples, grades, grader, store.owner())
        store.describe(record)
    greedy.update((request_of[key], sample) for key, sample in samples.items())
    return path


def _stored(store: SampleStore, dataset: Benchmark) -> Mapping[Key, Completion]:
    """The samples of earlier evaluations. Refuses those of problems that the benchmark does not have."""
    samples, ids = store.samples(), {problem.id for problem in dataset.problems}
    if strange := next((key[0] for key in samples if key[0] not in ids), None):
        raise RefusedError(
            f"{store.folder} holds samples of problem {strange!r}, which {dataset.source} does not have: the "
            "questions are the same, their ids are others. Use another folder (out=), or the same ids."
        )
    return samples


def _to_do(plan: Plan, engine: Engine, missing: int, beyond: int) -> str:
    begins = "asking the server" if engine.tokenizer is None else "loading the model"
    text = f"{begins} for {missing} samples" if missing else "measured already, nothing to sample"
    if beyond:
        problems = len({problem.id for problem in plan.dataset.problems})
        text += f"; {beyond} more are kept, and left out here (n={plan.n} of {problems} problems)"
    return text


def _prompt_nats(engine: Engine, requests: Sequence[Request], name: str) -> dict[str, float] | None:
    """How well the model predicts the first prompts, for the record. None: this engine does not measure it. Warns of a
    model that cannot read them."""
    measure: Callable[[Sequence[Request]], PromptNats | None] | None = getattr(engine, "prompt_nats", None)
    measured = None if measure is None else measure(requests)
    if measured is not None and measured.warning:
        logger.warning(f"WARNING: {name}: {measured.warning}")
    return None if measured is None else measured.as_record()


def _missing(
    plan: Plan, ranges: Sequence[tuple[int, int]], rows: int, samples: Mapping[Key, Completion]
) -> Iterator[list[Request]]:
    """The requests that are not done, cut into the chunks of an uninterrupted run."""
    for start, stop in ranges:
        requests = plan.requests(start, stop)
        for first in range(0, len(requests), rows):
            chunk = [request for request in requests[first : first + rows] if request.key not in samples]
            if chunk:
                yield chunk


class _GradingQueue:
    """Grades completions while others are sampled: a thread hands them to the grader in order.

    Several threads submit programs, so that batches of one (as from a server) run in parallel too.
    """

    def __init__(self, plan: Plan, grader: Grader | ProgramGrader) -> None:
        self._gold = {problem.id: problem.answer for problem in plan.benchmark.problems}
        self._policy = plan.prompt.policy
        self._reasoning = plan.reasoning
        self._begun = plan.begun
        self._grader = grader
        self._grades: dict[Key, Grade] = {}
        self._pending: list[tuple[list[Key], Future[list[Grade]]]] = []
        threads = grader.workers if isinstance(grader, ProgramGrader) else 1
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="grading")

    def __enter__(self) -> _GradingQueue:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def add(self, completions: Sequence[Completion]) -> None:
        """Queue a batch for grading."""
        for c in completions:
            if c.finish_reason in WITHHELD:
                what = CUT.get(str(c.finish_reason), "it gave no response")
                self._grades[c.key] = Grade(Verdict.UNSCORED, None, f"server: {what} ({c.finish_reason})")
        whole = [c for c in completions if c.finish_reason not in WITHHELD]
        triples = [
            (self._gold[c.key[0]], *graded_part(c.text, c.finish_reason, self._reasoning, c.key[0] in self._begun))
            for c in whole
        ]
        future = self._threads.submit(self._grader.grade_responses, triples, self._policy)
        self._pending.append(([c.key for c in whole], future))
        self._collect(wait=False)

    def finish(self) -> dict[Key, Grade]:
        """Every grade. Waits for the last one."""
        self._collect(wait=True)
        return self._grades

    def _collect(self, *, wait: bool) -> None:
        while self._pending and (wait or self._pending[0][1].done()):
            keys, future = self._pending.pop(0)
            self._grades.update(zip(keys, future.result(), strict=True))


def _write_verdicts(
    path: Path,
    plan: Plan,
    samples: Mapping[Key, Completion],
    grades: Mapping[Key, Grade],
    grader: Grader | ProgramGrader,
    owner: Mapping[str, object],
) -> None:
    """One row for each problem and sample, in the benchmark's order, and in the metadata whose samples they are."""
    import pyarrow as pa

    rows = []
    for problem in plan.benchmark.problems:
        keys = [(problem.id, sample) for sample in range(plan.n)]
        of_problem = [grades[key] for key in keys]
        classes = grader.answer_classes([grade.answer for grade in of_problem], of_problem)
        problem_text = prompts.question(problem)
        for key, grade, answer_class in zip(keys, of_problem, classes, strict=True):
            sample = samples[key]
            rows.append(
                {
                    "benchmark": plan.benchmark.name,
                    "problem_id": problem.id,
                    "sample": key[1],
                    "seed": sample_seed(plan.seed, plan.benchmark.name, key),
                    "gold": problem.answer,
                    "response": sample.text,
                    "tokens": sample.tokens,
                    "finish_reason": sample.finish_reason,
                    "boxed": grade.boxed,
                    "answer": grade.answer,
                    "answer_class": answer_class,
                    "verdict": str(grade.verdict),
                    "reason": grade.reason,
                    "problem": problem_text,
                    "thought_begun": problem.id in plan.begun,
                }
            )
    table = pa.Table.from_pylist(rows, schema=schema().with_metadata({OWNER: json.dumps(owner, sort_keys=True)}))
    write_parquet(table, path)

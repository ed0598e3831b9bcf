"""Measure a model under a paper's protocol, and grade files of answers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evals.log import logger
from evals.paths import conditions_of
from harness.errors import Faults, UsageError, choose, nearest, refuse_unused
from rlvr import signature
from rlvr.results import Result, as_folder

if TYPE_CHECKING:
    from evals.answer_files.policies import PolicyEffect
    from evals.answer_files.report import GradeReport
    from evals.data.protocols import Protocol
    from evals.grading import Conventions
    from evals.notebook import Block
    from evals.sampling.engines.base import Engine
    from evals.stats.score import Score
    from rlvr.runs import Run

PathLike = str | os.PathLike[str]
Records = Iterable[Any]  # rows: dicts, a data set, a data frame
DEFAULT_ENGINE = "transformers"
MANY = 0.05  # a larger share of cut or of empty responses gets a warning


class Evaluated(Result):
    """The scores of a model; `run` to read and compare its verdicts."""

    folder: Path

    @property
    def run(self) -> Run:
        from rlvr.runs import read_run

        return read_run(self.folder)


def evaluate(
    model: str,
    protocol: str = "sampled",
    *,
    benchmarks: Sequence[str] | Records | Mapping[str, Records] | None = None,
    columns: dict[str, str] | None = None,
    out: PathLike | None = None,
    data_dir: PathLike | None = None,
    seed: int = 0,
    system: str | None = None,
    engine: str = DEFAULT_ENGINE,
    allow_changed_data: bool = False,
    **values: object,
) -> Evaluated:
    """Measure a model under a protocol. The same command resumes an evaluation that was stopped.

        rlvr eval model=PATH benchmarks=[q.jsonl] columns=problem:question,answer:gold n=4
        rlvr.evaluate("PATH", "egsw", benchmarks=["math500"])

    Args:
        model: the model: a folder of a model, a folder of a run that trained one, or a hub id OWNER/NAME.
        protocol: the protocol: prompt, decoding, samples and extraction. `rlvr list what=protocols` shows the names.
        benchmarks: benchmarks by name (`rlvr list what=benchmarks`), or your own files of problems (.jsonl, .parquet,
            .csv). Python also takes rows, as `rlvr.run(data=...)` does, or names with rows: {"sums": rows}.
        columns: pairs of our column and yours, for files of problems.
        out: a folder for samples and verdicts (default: RLVR_HOME/evaluations/NAME).
        data_dir: a folder with benchmark files NAME.jsonl|.parquet|.csv, instead of the hub.
        seed: the seed of the sampling.
        system: the system message, in place of the prompt's own.
        engine: the engine that samples: transformers, vllm, or openai for a server (`rlvr list what=engines`). Settings
            are engine.KEY=VALUE. For transformers and vllm: batch_rows, dtype, replicas (one per GPU). For openai: url,
            concurrency, price_in and price_out (USD per million tokens). The key of a server is OPENAI_API_KEY.
        allow_changed_data: accept rows that differ from the pinned rows. The record and its scores say so.
        **values: any other value of the protocol: n=4 ks=[1,4] max_tokens=512 temperature=0.6 prompt=FILE.yaml ...
            extraction=POLICY sets how answers are extracted, if not as the prompt asks: boxed_last, boxed_strict,
            answer_line, qwen, letter, ..., and for code program, program_fenced, program_first, ... (`rlvr list
            what=policies`). The report says what other policies would change. extraction=MODULE:FUNCTION uses a reward
            of (response, answer), such as harness.data.countdown:reward, where 1 is correct. These are off unless you
            set them: top_k, min_p, repetition_penalty, stop, examples=FILE, chat_template_kwargs, reasoning_effort,
            extra_body.

    Raises:
        UsageError: a name or value that does not fit, other data than the pinned ones, a model that cannot be loaded.
        EngineError: the engine stopped; what was sampled is kept, and the same call resumes.
    """
    from evals.environment import threads_sleep
    from evals.fingerprint import check_model
    from evals.sampling import engines
    from evals.sampling.engines.base import EngineError
    from evals.sampling.evaluate import evaluate as sample_and_grade
    from harness.analysis.runs import tiny_benchmarks
    from harness.record.evaluations import folder_of, link, note_error
    from harness.record.models import resolved
    from harness.record.owned import refuse_other_content
    from harness.record.state import ERROR
    from harness.record.write import record_evaluation
    from harness.runs.interrupt import PATIENCE_S, SAMPLING, check, finishing, handled

    threads_sleep()
    label, model = resolved(model)
    names = _benchmark_names(benchmarks)
    faults = Faults()
    if columns is not None:
        renamed = with_columns(names, columns)
        with faults.gathered():
            if renamed == names:
                refuse_unused("without a file of problems in benchmarks=", columns=columns)
        names = renamed
    named = ({"benchmarks": names} if names else {}) | ({} if system is None else {"system": system})
    settings = {key: values.pop(key) for key in list(values) if key.startswith("engine.")}
    with faults.gathered():
        sampler = make_engine(model, engine, settings)
    with faults.gathered():
        chosen = _protocol(protocol, values | named, engine)
    with faults.gathered():
        if data_dir is not None and not Path(data_dir).is_dir():
            raise UsageError(f"data_dir={os.fspath(data_dir)}: expected a folder, found none")
    with faults.gathered():
        if not engines.kind(choose("engine", [engine], engines.ENGINES)[0]).served:
            check_model(model)
    faults.refuse()
    apart = _apart(chosen, engine, settings)
    folder = as_folder(out).absolute() if out else folder_of("-".join((label, chosen.name, *apart, f"seed{seed}")))
    refuse_other_content(folder)
    _warn_of_examples(chosen)
    data = os.fspath(data_dir) if data_dir is not None else tiny_benchmarks(chosen.benchmarks.value)
    (folder / ERROR).unlink(missing_ok=True)  # the error of the try before
    try:
        with handled(), finishing(SAMPLING, PATIENCE_S):
            verdicts = sample_and_grade(
                model,
                chosen,
                out_dir=folder,
                data_dir=data,
                seed=seed,
                engine=sampler,
                allow_changed_data=allow_changed_data,
                check=check,
                progress=True,
            )
        record_evaluation(folder, model, verdicts)
        link(folder)
    except EngineError as error:
        note_error(folder, error)
        raise EngineError(f"{error}. The samples so far are kept, and the same command resumes from them") from error
    usage = sampler.usage() if hasattr(sampler, "usage") else None
    return _scores(folder, model, seed, chosen, verdicts, usage)


def _benchmark_names(given: Records | Mapping[str, Records] | None) -> list[str]:
    """The benchmarks by name. Rows are written to a file."""
    if isinstance(given, Mapping):
        return [rows_as_file("benchmarks", rows, name) for name, rows in given.items()]
    if given is None or (isinstance(given, list) and all(isinstance(name, str) for name in given)):
        return given or []
    return [rows_as_file("benchmarks", given)]


def _warn_of_examples(protocol: Protocol) -> None:
    """Say of which few-shot examples the policy reads no answer: replies in their form would have none either."""
    from evals.grading.extraction import POLICIES, extract

    for name in protocol.benchmarks.value:
        prompt = protocol.prompt_of(name)
        if prompt.policy not in POLICIES:
            continue
        unread = [
            row
            for row, (_, response) in enumerate(prompt.examples, 1)
            if extract(response, prompt.policy).answer is None
        ]
        if unread:
            rows = f"row{'s' * (len(unread) > 1)} {', '.join(map(str, unread))}"
            warning = f"has no answer in the form of {prompt.policy}, as which replies are read"
            logger.warning(f"WARNING: {name}: examples, {rows}: {warning}")


def with_columns(names: Iterable[str], columns: Mapping[str, str]) -> list[str]:
    """Benchmarks of which files of problems have columns of other names."""
    from evals.data.problem_file import ProblemFile, is_problem_file

    return [str(ProblemFile(name, columns)) if is_problem_file(name) else name for name in names]


def rows_as_file(key: str, rows: Records, name: str | None = None) -> str:
    """Rows given in Python as a .jsonl file under RLVR_HOME, which every process can read; it may have a name."""
    from evals.files import write_text
    from harness.runs.track import make_home

    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):  # a data frame
        rows = rows.to_dict("records")
    try:
        lines = [json.dumps(dict(row), ensure_ascii=False) for row in rows]
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{key}: expected a file or rows (dicts with text), got {type(rows).__name__} ({error})"
        ) from error
    text = "".join(f"{line}\n" for line in lines)
    if name is not None and not re.fullmatch(r"[\w-]+", name):
        raise UsageError(f"{key}: expected a name of letters, digits, _ and -, got {name!r}")
    sha256 = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = make_home() / "objects" / (f"data-{sha256}.jsonl" if name is None else f"{sha256}/{name}.jsonl")
    write_text(path, text)
    return str(path)


def _protocol(name: str, values: Mapping[str, object], engine: str) -> Protocol:
    """The protocol of a name, with the user's values."""
    from evals.data import protocols
    from evals.provenance import Origin
    from evals.sampling import engines

    choose("protocol", [name], protocols.PROTOCOLS)
    protocol = protocols.get(name)
    engine_keys = [f"engine.{key}" for key in engines.options(engine)] if engine in engines.ENGINES else []
    known = {*protocols.names(), *(name for name in signature.options(evaluate) if name != "values"), *engine_keys}
    faults = Faults()
    for key in values:
        with faults.gathered():
            if key not in protocols.names():
                raise UsageError(f"{key}={values[key]}: no such key. {nearest(key, known)}")
    with faults.gathered():
        given = {key: value for key, value in values.items() if key in protocols.names()}
        protocol = protocol.override(given, Origin.USER, "command line") if given else protocol
    faults.refuse()
    return protocol


def make_engine(model: str, name: str, settings: Mapping[str, object]) -> Engine:
    """The engine, with `engine.KEY` of the settings. Nothing is loaded.

    Raises:
        UsageError: no such engine, no such key for it, or a value that does not fit.
    """
    from evals.sampling import engines

    choose("engine", [name], engines.ENGINES)
    kinds = {f"engine.{key}": kind for key, kind in engines.options(name).items()}
    options: dict[str, object] = {}
    for key, value in settings.items():
        if key not in kinds:
            raise UsageError(f"{key}={value}: no such key of engine {name}. {nearest(key, kinds)}")
        if type(value) is not kinds[key] and not (kinds[key] is float and type(value) is int):
            raise UsageError(f"{key}: expected {kinds[key].__name__}, got {value!r}")
        options[key.removeprefix("engine.")] = kinds[key](value)
    try:
        return engines.create(name, model, **options)
    except UsageError as error:
        raise UsageError(f"engine {name}: {error}") from error


GROWING = ("benchmarks", "n", "ks", "rows", "extraction", "reasoning")  # values that decide no sample, or that may grow


def _apart(protocol: Protocol, engine: str, settings: Mapping[str, object]) -> list[str]:
    """The values that tell an evaluation apart from others of its protocol, for the name of its folder: those that the
    user replaced and that decide a sample, and the engine if it is not the default."""
    values = {k: v.value for k, v in protocol.sourced().items() if v.was is not None and k not in GROWING}
    values |= {} if engine == DEFAULT_ENGINE else {"": engine}
    values |= {key.removeprefix("engine."): settings[key] for key in ("engine.url", "engine.dtype") if key in settings}
    return [f"{key}{_short(value)}" for key, value in values.items()]


def _short(value: object) -> str:
    """A value in a folder's name: itself if it is a short word or number, else four digits of its hash."""
    text = json.dumps(value, sort_keys=True, default=list).strip('"')
    if re.fullmatch(r"[\w.]{1,12}", text):
        return text
    return hashlib.sha256(text.encode()).hexdigest()[:4]


# -- the scores of an evaluation -----------------------------------------------------------------------------------


def _scores(
    folder: Path,
    model: str,
    seed: int,
    protocol: Protocol,
    verdicts: Mapping[str, Path],
    usage: Mapping[str, float] | None,
) -> Evaluated:
    """Scores of every benchmark with their intervals, the protocol's values with their sources, and the files."""
    import pyarrow.parquet as pq

    from evals.answer_files import other_form
    from evals.code_execution.program_grader import blocks_note
    from evals.code_execution.programs import POLICIES as PROGRAMS
    from evals.provenance import described
    from evals.stats.score import reported, score_fields
    from harness.record.run import Run
    from rlvr.metrics import Scores

    scores, notes, blocks_of, unscored, run = {}, {}, {}, {}, Run(folder)
    for name, path in verdicts.items():
        policy, table = protocol.prompt_of(name).policy, pq.read_table(path)
        scores[name] = reported(table, protocol.value("ks", name), policy)
        responses, ended = (table.column(column).to_pylist() for column in ("response", "verdict"))
        notes[name] = other_form.note(responses, ended.count("correct"), policy)
        unscored[name] = Counter(filter(None, table.column("reason").to_pylist()))
        if policy in PROGRAMS:
            blocks_of[name] = blocks_note(responses)
        _warn_of_cut(name, scores[name], protocol)
        _warn_of_empty(name, responses, ended)
    _log(folder, {"model": model, "seed": str(seed)}, protocol, scores)
    effects = {
        name: _policy_effects(protocol.prompt_of(name).policy, path, protocol.value("reasoning", name))
        for name, path in verdicts.items()
    }
    table = Scores((run.title(name), s) for name, benchmark_scores in scores.items() for s in benchmark_scores)
    stated = {"name": protocol.name, **{k: v.as_dict() for k, v in protocol.sourced().items()}}
    document = {
        "notes": {name: text for name, text in notes.items() if text},
        "policies": {name: [asdict(effect) for effect in entry] for name, entry in effects.items()},
        "protocol": stated,
        "scores": {name: [score_fields(entry) for entry in scores[name]] for name in scores},
        "unscored": unscored,
        "verdicts": {name: str(path) for name, path in verdicts.items()},
        **({} if usage is None else {"usage": usage}),
    }

    def report() -> list[Block]:
        lines: list[Block] = [f"protocol {described(stated)}", *table.blocks()]
        for name, path in verdicts.items():
            blocks = [f"  {blocks_of[name]}"] if name in blocks_of else []
            beyond = [f"  not reported: {ks}" for ks in (run.measured_by(name).get("not reported"),) if ks]
            lines += [
                f"\n{name}, policy {protocol.prompt_of(name).policy}: {path}",
                *beyond,
                *(f"  unscored: {count} x {reason}" for reason, count in unscored[name].most_common()),
                *blocks,
                *(f"  {effect}" for effect in effects[name]),
            ]
            lines += [f"  WARNING: {notes[name]}"] if notes[name] else []
        lines.append(f"\npage: rlvr page {folder}")
        return [*lines, *([] if usage is None else [_usage_text(usage)])]

    result = Evaluated(document, report, table.rows(), printed=table.printed)
    result.folder = folder
    return result


def _warn_of_cut(name: str, scores: Sequence[Score], protocol: Protocol) -> None:
    """Say how many responses are cut at the length limit, if they are more than a few."""
    cut = next((s.value for s in scores if s.metric == "truncation_rate"), None)
    if cut is not None and cut > MANY:
        limit = protocol.value("max_tokens", name)
        logger.warning(f"WARNING: {name}: {100 * cut:.3g} % of the responses are cut at max_tokens={limit}: raise it")


def _warn_of_empty(name: str, responses: Sequence[str], ended: Sequence[str]) -> None:
    """Say how many responses are empty, if they are more than a few. One that was cut, or withheld, has its own
    sentence."""
    empty = sum(not text.strip() and verdict == "no_answer" for text, verdict in zip(responses, ended, strict=True))
    if empty > MANY * len(responses):
        share = f"{100 * empty / len(responses):.0f} % of the responses are empty"
        note = "the scores say more about how it was asked (prompt, chat template, server) than about the model"
        logger.warning(f"WARNING: {name}: {share}: {note}")


def _usage_text(usage: Mapping[str, float]) -> str:
    """The requests of a call to a server, in one line."""
    requests = f"{usage['requests']:,} requests, {usage['retries']:,} sent again"
    tokens = f"{usage['prompt_tokens']:,} prompt tokens and {usage['response_tokens']:,} response tokens"
    silent = usage["unknown_tokens"]
    unknown = f" ({silent:,} {'reply does' if silent == 1 else 'replies do'} not say)" if silent else ""
    least = "at least " if usage["unknown_tokens"] else ""
    money = f", {least}{usage['usd']:.4f} USD" if "usd" in usage else ""
    return f"server, this call: {requests}, {tokens}{unknown}{money}"


def _log(folder: Path, params: Mapping[str, str], protocol: Protocol, scores: Mapping[str, Sequence[Score]]) -> None:
    """The scores into MLflow; a store that cannot be used costs the evaluation nothing."""
    from harness.record.evaluations import to_mlflow
    from harness.runs.track import StoreError

    values = {
        f"{name}/{s.key}": s.value
        for name, benchmark_scores in scores.items()
        for s in benchmark_scores
        if s.value is not None
    }
    sourced = {key: str(value.value) for key, value in protocol.sourced().items()}
    try:
        to_mlflow(folder, {**params, **sourced}, values)
    except StoreError as error:
        logger.warning(f"not in MLflow: {error}; rlvr sync sends it later")


def _policy_effects(used: str, path: Path, reasoning: str) -> list[PolicyEffect]:
    """How many verdicts of a table other extraction policies would change; nothing for a reward of MODULE:FUNCTION."""
    import pyarrow.parquet as pq

    from evals.answer_files.policies import policy_effects
    from evals.code_execution.program_grader import ProgramGrader
    from evals.code_execution.programs import POLICIES as PROGRAMS
    from evals.grading import Grade, Grader
    from evals.grading.extraction import POLICIES
    from evals.grading.reasoning import graded_row
    from evals.grading.verdicts import WITHHELD, Verdict

    if used not in (*POLICIES, *PROGRAMS):
        return []
    columns = ("gold", "response", "finish_reason", "verdict", "answer", "thought_begun")
    rows = pq.read_table(path, columns=list(columns)).to_pylist()
    grades = [Grade(Verdict(row["verdict"]), row["answer"]) for row in rows]
    responses = [(row["gold"], row["response"], row["finish_reason"], bool(row["thought_begun"])) for row in rows]
    withheld = {place for place, row in enumerate(rows) if row["finish_reason"] in WITHHELD}
    if used in PROGRAMS:
        parts = [graded_row(row, reasoning) for row in responses]
        with ProgramGrader() as programs:
            return policy_effects(parts, grades, programs, used, tuple(PROGRAMS), of_engine=withheld)
    return policy_effects(responses, grades, Grader(reasoning=reasoning), used, of_engine=withheld)


# -- files of answers ----------------------------------------------------------------------------------------------


def grade(
    *file: PathLike | Records,
    policy: str | None = None,
    reasoning: Literal["after", "whole"] | None = None,
    out: PathLike | None = None,
    page: PathLike | None = None,
    columns: dict[str, str] | None = None,
    gold: PathLike | None = None,
    label: str | None = None,
    label_threshold: float | None = None,
    golds: str | None = None,
    rows: Sequence[str] | str | None = None,
    benchmark: str | None = None,
    explain: Sequence[int] | int | Literal["wrong"] | None = None,
    ks: Sequence[int] | int | None = None,
    **conventions: Any,
) -> Result:
    """Grade answers in files of any known format, and show where the authors' own verdicts differ.

    FILE contains one JSON object per line, with gold (or answer) and response. Rows with one problem_id are samples of
    one problem. Other columns are kept, and finish_reason and expected are used.

    Files of other tools are read if their rows have the types that the tool writes: lm-eval, inspect, lighteval,
    evalscope, OpenCompass, Every Eval Ever, Qwen2.5-Math, NeMo-Skills, NeMo-Gym, veRL, TRL, ms-swift, oat, SkyRL,
    verifiers, OpenR1, OpenAI responses, human-eval, evalplus, and more. docs/reference/file-formats.md lists the
    formats. For any other table, name the columns with columns=.

    The report begins with one row as it was read. A file that rlvr graded before is graded again with the same
    extraction policy.

    Args:
        *file: a file of answers, the folder of an evaluation of one benchmark, or its name in `rlvr show`. Type - to
            read standard input. Python also takes rows. The rows of several files are samples of the same problems.
        policy: the way to extract an answer: boxed_last (default), boxed_strict, boxed_first, answer_line, answer_tag,
            hashes (the number after `####`), qwen (box, "the answer is", last number), letter (default if the golds are
            letters), whole. `rlvr list what=policies` describes them.
        reasoning: the part to grade, if a response contains a thought. after: the text after the last `</think>`, or
            after another template's marker (an unclosed thought is truncated). whole: the whole response.
        out: FILE.jsonl: write the rows with their verdicts and how they were read. `rlvr compare` reads this file.
        page: FILE.md: write the samples on which the authors' verdicts and ours differ, as a page to send to the
            authors.
        columns: pairs of our column and theirs. Example: columns=problem_id:idx,gold:answer,response:output. doc.id
            reaches inside an object.
        gold: a file with the gold answers that FILE lacks. Its columns: gold or answer, and problem_id or problem.
            columns= can name others.
        label: the authors' verdict to show beside ours, if a file has several.
        label_threshold: the number from which the authors' verdict means correct. Without it, the only numbers
            that are verdicts are 1, 0 and -1 (incorrect).
        golds: the way to read several golds of one problem. any: a response is right if it gives one of them. all: it
            must list all. any:/ splits each gold at /, and then reads it as any. Default: any for tools that count them
            so (lm-eval, lighteval, inspect, oat, OpenCompass), an error for other files.
        rows: the rows to read. Example: rows=model?gpt reads the rows whose model is gpt, and rows=answer those that
            have an answer.
        benchmark: the name of the problems in out=.
        explain: row numbers: show what was extracted, how it was read and what decided. wrong: show this for the first
            twenty wrong rows.
        ks: the k of pass@k and maj@k (default: powers of two, up to the fewest samples per problem).
        **conventions: the way to read answers. digits=3: significant digits that a decimal needs to count as an
            exact value. decimal_comma=false: 1000,99 is not the decimal 1000.99. missing_unit=false: a unit may not be
            missing. percent_sign=true: 42% may stand for 42.

    Raises:
        UsageError: no such file, an option that does not fit, or a format that is not known.
    """
    from evals.answer_files import grade_file
    from evals.answer_files.reading import Reading
    from evals.code_execution.programs import POLICIES as PROGRAMS
    from evals.grading.extraction import POLICIES
    from evals.same_file import refuse_same
    from evals.slow import slow
    from harness.record.find import beginning

    if not file:
        raise UsageError("FILE: missing. Expected a file of answers")
    files = [_one_file(name, beginning) for name in file]
    refuse_same(files, "a sample")
    read_as = _conventions(conventions)
    ks = at_least_one("ks", ks)
    wrong = explain in ("wrong", ["wrong"])
    numbers = None if wrong else at_least_one("explain", explain)  # type: ignore[arg-type]
    if gold is not None and not Path(gold).is_file():
        raise UsageError(f"gold: no such file {os.fspath(gold)!r}")
    if policy is not None:
        choose("policy", [policy], (*POLICIES, *PROGRAMS))
    if out is None:
        refuse_unused("without out=FILE.jsonl, whose rows name it", benchmark=benchmark)
    if page is not None and Path(page).is_dir():
        raise UsageError(f"page={os.fspath(page)}: this is a folder. Type page=FILE.md")
    try:
        known_golds = None if gold is None else Path(gold)
        reading = Reading(columns or {}, known_golds, benchmark, label, label_threshold, golds, conditions_of(rows))
        with slow(f"grading {', '.join(map(str, files))}") as progress:
            report = grade_file(
                files,
                out=out,
                ks=ks,
                policy=policy,
                reasoning=reasoning,
                conventions=read_as,
                explain="wrong" if wrong else numbers or (),
                reading=reading,
                progress=progress,
            )
        if page is not None:
            _write_page(Path(page), report)
    except OSError as error:
        raise UsageError(str(error)) from error
    if wrong:
        _note_wrong(report)
    return Result(report.as_dict(), report.__str__, _score_rows(report, files))


def _score_rows(report: GradeReport, files: Sequence[Path]) -> list[dict[str, object]]:
    """The scores as rows. If there is one benchmark, the names of the files stand for its name."""
    from rlvr.metrics import Scores

    several, names = len(report.scores) > 1, ", ".join(file.name for file in files)
    return Scores((part if several else names, s) for part, scores in report.scores.items() for s in scores).rows()


def _conventions(given: Mapping[str, Any]) -> Conventions:
    """Raises UsageError for a key that there is not, and a value that does not fit."""
    from evals.grading import Conventions

    known = {f.name: type(f.default) for f in fields(Conventions)}
    for key, value in given.items():
        if key not in known:
            raise UsageError(f"{key}={value}: no such key. {nearest(key, [*known, *signature.options(grade)])}")
        if type(value) is not known[key]:
            raise UsageError(f"{key}: expected {known[key].__name__}, got {value!r}")
    try:
        return Conventions(**given)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _write_page(page: Path, report: GradeReport) -> None:
    """Write the samples on which the authors' verdicts and ours differ, if there are any."""
    from evals.files import write_text
    from harness import __version__

    letter = report.letter(__version__)
    if letter is not None:
        write_text(page, letter)
    logger.info(f"not written: {page}; no verdict differs from a label" if letter is None else f"written: {page}")


def _note_wrong(report: GradeReport) -> None:
    """Say for explain=wrong that no row is wrong, or how many more are."""
    if not report.explanations:
        other_verdicts = ", ".join(f"{n} {verdict}" for verdict, n in report.verdicts.items() if verdict != "correct")
        more = f" ({other_verdicts}: explain=[1,5] explains rows by their numbers)" if other_verdicts else ""
        logger.info(f"explain=wrong: no row is wrong{more}")
    elif (rows := report.verdicts["wrong"]) > len(report.explanations):
        shown = f"the first {len(report.explanations)} of {rows} rows that are wrong"
        logger.info(f"explain=wrong: {shown}; explain=[30,31] explains others by their numbers")


def _piped() -> Path:
    """Standard input as a file under RLVR_HOME. Its format is found in its content, as that of any file."""
    from evals.files import write_bytes
    from harness.runs.track import make_home

    if sys.stdin.isatty():
        raise UsageError("-: nothing is piped in. Type cat FILE | rlvr grade -")
    content = sys.stdin.buffer.read()
    path = make_home() / "objects" / f"piped-{hashlib.sha256(content).hexdigest()[:16]}"
    path.parent.mkdir(exist_ok=True)
    write_bytes(path, content)
    return path


def _one_file(given: PathLike | Records, beginning: Callable[[str], Sequence[Path]]) -> Path:
    """The file that a user means: by its path, the beginning of its name in `rlvr show`, rows, or - for what is piped
    in."""
    if not isinstance(given, (str, os.PathLike)):
        return Path(rows_as_file("file", given))
    if given == "-":
        return _piped()
    named = [] if Path(given).exists() else beginning(str(given))
    return Path(named[0] if len(named) == 1 else given)


def at_least_one(key: str, numbers: Sequence[int] | int | None) -> list[int] | None:
    """The numbers as a list; UsageError unless there is one, and every one is positive."""
    if numbers is None:
        return None
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    if not numbers or min(numbers) <= 0:
        raise UsageError(f"{key}: expected one or more positive numbers, got {numbers}")
    return numbers

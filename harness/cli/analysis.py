"""The commands `rlvr analyze` and `rlvr report`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from harness.cli.reading import READING, READING_KEYS, take_reading
from harness.cli.terminal import wrapped
from harness.command.config import no_more, parse_overrides, take, take_list, take_number, take_numbers
from harness.errors import UsageError, choose

if TYPE_CHECKING:
    from harness.report.page import Document

NOTE = 300  # characters of a note of `rlvr report` in the terminal
ANALYZE = f"""options:
  runs=[A,B,C]           the base model first. Each is a job's folder, a folder of an evaluation, a file of answers that
                         `rlvr grade` reads, or the MLflow run id of an arm; the training seeds of one method are joined
                         by commas and quoted: runs=[A,"B0,B1,B2"]
  checkpoints=[A,B]      instead of runs: models (folders or hub ids), each evaluated first as `rlvr eval` does, into
                         evaluations/; with its options: protocol=NAME (required), benchmarks, n, seed, engine, ...
  names=[base,ours]      what legends call them (default: the arms)
  benchmarks=[A,B]       some of those that all runs have
  only=family,...        verdicts, unsolvable, training, evaluation (of `eval.every=K`), tokens, words (the default);
                         and these, which generate text with the models and run only when they are named:
                         interventions     tokens replaced or perturbed, the rest of the response generated again
                         tools             pass@k with a response's ```python blocks run in a sandbox, and without
                         fork_temperature  another temperature at tokens of high entropy than elsewhere
  embedder=sbert         for rare sentences: sbert (pip install 'rlvr-harness[sbert]'), or the folder of a
                         sentence-transformers model (default: they are not measured)
  continuations=8        of each changed response, in interventions
  sure=1.0               in interventions, perturb responses to problems with at least this accuracy
  judge=MODEL  judge_url=URL   in verdicts and evaluation: ask that model of an OpenAI-compatible server whether
                         responses are irrelevant, beside the rules (the key: OPENAI_API_KEY)
  samples=16             to a problem, in tools and fork_temperature (default: as many as the run has)
  with_tools=[C,D]       in tools: evaluations by `rlvr eval tools=true` of the same models, one for each run, plotted
                         instead of sampling here
  turns=4                blocks of code that run for one response, in tools
  tools_prompt=NAME      in tools (default: the one that asks for code where the run's does not, such as boxed_code)
  temperatures=[0.5,1,1.5]  in fork_temperature: each at forks with 1 elsewhere, and the other way round
  data_dir=FOLDER        the benchmarks' files, instead of the hub (to render the prompts again)
  out=FOLDER             default analyses/NAMES; per figure svg, png, csv and json, and an index page
of files of answers:
{READING}
What a model read or generated is cached under RLVR_HOME: the same command resumes."""
REPORT = """options:
  paper=KEY              required; see `rlvr list`
  scale=paper|tiny|tiny_search   default: the paper's where it was measured
  model=KEY              the base model of figures and responses (default: the first that was measured)
  arm=[A,B]              the arms in figures and responses (default: those of the paper's claims)
  only=family,...        figures, as of `rlvr analyze` (none: no figures)
  benchmarks=[A,B]       figures of some of those that all arms have
  tokens=false           show responses without entropies; with only=none no model is loaded
  embedder=sbert  data_dir=FOLDER   as of `rlvr analyze`
  out=FILE.html          default reports/KEY-SCALE.html"""


def do_analyze(arguments: Any) -> int:
    from evals.sampling.engines.base import EngineError

    try:
        return _analyze(arguments)
    except EngineError as error:
        print(f"rlvr analyze: {error}\nwhat was sampled is kept: the same command resumes", file=sys.stderr)
        return 1


def _analyze(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    runs, checkpoints = take_list(values, "runs"), take_list(values, "checkpoints")
    if bool(runs) == bool(checkpoints):
        got = "both" if runs else "missing"
        raise UsageError(f"runs: {got}; give runs=[A,B], or checkpoints=[A,B] and protocol=NAME")
    names, benchmarks, only = (take_list(values, key) for key in ("names", "benchmarks", "only"))
    data_dir, out = take(values, "data_dir", str), take(values, "out", str)
    with_tools = take_list(values, "with_tools")
    if with_tools is not None and len(with_tools) != len(runs or checkpoints or []):
        raise UsageError(f"with_tools: expected one a run ({len(runs or checkpoints or [])}), got {len(with_tools)}")
    options = _take_options(values)
    reading, policy = take_reading(values)
    from harness.analysis.runs import check_names

    check_names(with_tools or [], "with_tools")
    if runs:
        no_more(values, (*_ANALYZE_KEYS, *READING_KEYS, "runs"))
        check_names(runs)
    only = _families(only)
    if checkpoints:
        from harness.cli.checkpoints import evaluations, labels

        names = names or labels(checkpoints)
        if len(names) != len(checkpoints) or len(set(names)) != len(names):
            raise UsageError(f"names: expected {len(checkpoints)} different ones, got {', '.join(names)}")
        runs = []
        for evaluation in evaluations(checkpoints, values, benchmarks=benchmarks, data_dir=data_dir):
            print(f"{evaluation.model}: evaluating into {evaluation.out}", file=sys.stderr, flush=True)
            evaluation.run()
            runs.append(str(evaluation.out))
    from harness.analysis.analyze import analyze, common_benchmarks
    from harness.analysis.material import Material
    from harness.analysis.runs import read_runs

    cache = _cache()
    models = read_runs(runs or [], names, data_dir=data_dir, cache=cache / "mlflow", reading=reading, policy=policy)
    if with_tools:
        options["with_tools"] = read_runs(
            with_tools, [m.name for m in models], data_dir=data_dir, cache=cache / "mlflow"
        )
    material = Material(models, common_benchmarks(models, benchmarks), cache, **options)
    folder = Path(out) if out is not None else Path("analyses") / "-".join(m.name.replace("/", "_") for m in models)
    command = shlex.join(["rlvr", "analyze", *arguments.options])
    result = analyze(material, only=only, out=folder, command=command)
    if arguments.json:
        print(json.dumps(result.as_dict(), indent=2))
        return 0
    for figure in result.figures:
        print(f"{folder / figure['family'] / figure['name']}.svg: {figure['title']}")
    for text in result.skipped:
        print(f"skipped {text}")
    print(f"index: {folder / 'README.md'}; in MLflow: {result.run_id}", file=sys.stderr)
    return 0


_ANALYZE_KEYS = (
    "checkpoints", "names", "benchmarks", "only", "embedder", "continuations", "sure", "samples", "turns",
    "tools_prompt", "with_tools", "temperatures", "judge", "judge_url", "data_dir", "out",
)  # fmt: skip


def _take_options(values: dict[str, Any]) -> dict[str, Any]:
    """Remove and check the options on how the families measure: the given fields of `Material`."""
    from evals.data.prompts import PROMPTS

    options = {
        "embedder": take(values, "embedder", str),
        "continuations": take(values, "continuations", int),
        "sure": take_number(values, "sure"),
        "samples": take(values, "samples", int),
        "turns": take(values, "turns", int),
        "tools_prompt": take(values, "tools_prompt", str),
        "temperatures": take_numbers(values, "temperatures", float),
    }
    for key in ("continuations", "samples", "turns"):
        if options[key] is not None and options[key] < 1:
            raise UsageError(f"{key}: expected at least 1, got {options[key]}")
    if options["sure"] is not None and not 0 < options["sure"] <= 1:
        raise UsageError(f"sure: expected a number in (0, 1], got {options['sure']}")
    if options["tools_prompt"] is not None:
        choose("tools_prompt", [options["tools_prompt"]], PROMPTS)
    if options["embedder"] is not None:
        _check_embedder(options["embedder"])
    options["judge"] = _judge(take(values, "judge", str), take(values, "judge_url", str))
    return {key: value for key, value in options.items() if value is not None}


def _judge(model: str | None, url: str | None) -> Any:
    """The judge that the options name, or None.

    Raises:
        UsageError: an address without a model or the other way round, or one that is no address.
    """
    from evals.analysis.quality import Judge
    from evals.sampling.engines.openai import OpenAIEngine

    if (model is None) != (url is None):
        raise UsageError(f"judge, judge_url: expected both or neither, got judge={model} and judge_url={url}")
    if model is None:
        return None
    try:
        return Judge(OpenAIEngine(model, url=url), model)
    except ValueError as error:
        raise UsageError(f"judge_url: {error}") from error


def _check_embedder(name: str) -> None:
    from evals.analysis.embedders import check_embedder

    try:
        check_embedder(name)
    except ValueError as error:
        raise UsageError(str(error)) from error


def do_report(arguments: Any) -> int:
    from harness.spec.catalogue import load, papers
    from harness.spec.scales import SCALES

    values = parse_overrides(arguments.options)
    key = take(values, "paper", str, required=True)
    choose("paper", [key], papers())
    scale, model, arms = take(values, "scale", str), take(values, "model", str), take_list(values, "arm")
    if scale is not None:
        choose("scale", [scale], SCALES)
    only, benchmarks = take_list(values, "only"), take_list(values, "benchmarks")
    tokens = take(values, "tokens", bool, True)
    embedder, data_dir = take(values, "embedder", str), take(values, "data_dir", str)
    if embedder is not None:
        _check_embedder(embedder)
    out = take(values, "out", str)
    valid = ("paper", "scale", "model", "arm", "only", "benchmarks", "tokens", "embedder", "data_dir", "out")
    no_more(values, valid)
    families = [] if only == ["none"] else _families(only)
    from harness.analysis.analyze import common_benchmarks
    from harness.analysis.families import families as known_families
    from harness.analysis.families import plot_all
    from harness.analysis.material import Material
    from harness.report.data import choose_arms, document, read_models
    from harness.report.page import render
    from harness.runs.track import Tracker

    paper = load(key)
    chosen = choose_arms(paper, Tracker.open(), scale=scale, model=model, arms=arms)
    cache = _cache()
    models = read_models(chosen, data_dir=data_dir, cache=cache / "mlflow") if chosen.measured else []
    plotted: dict[str, list[Any]] = {}
    notes: list[str] = []
    if models:
        material = Material(models, common_benchmarks(models, benchmarks), cache, embedder=embedder)
        plotted, notes = plot_all(material, families)
    content = document(
        paper,
        chosen,
        models,
        {known_families()[name].title: plots for name, plots in plotted.items()},
        [f"Figures of {note}" for note in notes],
        tokens=cache / "tokens" if tokens else None,
    )
    path = Path(out) if out is not None else Path("reports") / f"{key}-{chosen.scale}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(content), encoding="utf-8")
    _print_report(path, content, chosen.scale, as_json=arguments.json)
    return 0


def _print_report(path: Path, content: Document, scale: str, *, as_json: bool) -> None:
    """The report's claims and notes: as one JSON document, or one line each."""
    figures = sum(len(figures) for _, figures in content.figures)
    kept, responses = (content.viewer["kept"], content.viewer["of"]) if content.viewer else (0, 0)
    size = path.stat().st_size
    if as_json:
        claims = [
            {"text": c.text, "where": c.where, "outcome": c.outcome, "missing": c.missing} for c in content.claims
        ]
        summary = {
            "file": str(path),
            "bytes": size,
            "scale": scale,
            "claims": claims,
            "figures": figures,
            "responses_kept": kept,
            "responses": responses,
            "notes": list(content.notes),
        }
        print(json.dumps(summary, indent=2))
        return
    for claim in content.claims:
        print(wrapped(f"[{scale} scale] {claim.outcome}: {claim.text} ({claim.where})"))
    for note in content.notes:
        print(wrapped(f"[{scale} scale] note: {shorten(note, NOTE, placeholder=' ... (whole on the page)')}"))
    print(f"[{scale} scale] {path}: {size / 1e6:.1f} MB, {figures} figures, {kept} of {responses} responses")


def _families(only: Sequence[str] | None) -> list[str] | None:
    from harness.analysis.families import families

    return None if only is None else choose("only", list(only), families())


def _cache() -> Path:
    from harness.runs.track import home

    return home() / "analysis-cache"

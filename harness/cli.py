"""The `rlvr` command. Options are Hydra's `key=value`; results go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 failed while running, 2 the command line or a file could not be used (nothing was started),
130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.cli_analysis import ANALYZE, REPORT, do_analyze, do_report
from harness.cli_statistics import COMPARE, POWER, do_compare, do_power
from harness.config import UsageError, choose, no_more, parse_overrides, read_seeds, take, take_list


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    arguments = build_parser().parse_args(argv)
    try:
        code: int = arguments.call(arguments)
        return code
    except UsageError as error:
        print(f"rlvr {arguments.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return 130


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rlvr",
        description="Does the paper's number come back? Declare, train, evaluate, log and tabulate RLVR reproductions.",
        epilog="Options are key=value, as in: rlvr run paper=egsw arm=grpo,egsw seeds=3 egsw.alpha=0.5",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, call: Callable[[Any], int], summary: str, keys: str, *, as_json: bool = False) -> Any:
        sub = commands.add_parser(
            name, help=summary, description=summary, epilog=keys, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        sub.set_defaults(call=call)
        if as_json:
            sub.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
        return sub

    def options(sub: Any) -> None:
        sub.add_argument("options", nargs="*", metavar="key=value", help="see below")

    options(command("list", do_list, "Papers, arms, backends, benchmarks, protocols, scales.", "", as_json=True))
    options(
        command(
            "plan", do_plan, "What a run would start, with every value's source. Starts nothing.", _RUN, as_json=True
        )
    )
    options(
        command(
            "config",
            do_config,
            "What the trainer would get: its own configuration, checked by itself, as YAML.",
            _RUN,
        )
    )
    options(command("run", do_run, "Train, evaluate and log the arms of a paper; started again, it goes on.", _RUN))
    options(command("eval", do_eval, "Measure a checkpoint under a paper's protocol.", _EVAL, as_json=True))
    grade = command("grade", do_grade, "Grade model answers from a file of JSON Lines.", _GRADE, as_json=True)
    grade.add_argument("file", type=Path)
    grade.add_argument("--answers", action="store_true", help="rows are gold, prediction pairs of bare answers")
    grade.add_argument("--out", type=Path, help="write the rows with their verdicts (.parquet or .jsonl)")
    grade.add_argument("--workers", type=int, default=2, help="grading processes (default 2)")
    grade.add_argument("--limit", type=float, default=5.0, help="seconds one answer may take (default 5)")
    comparing = command(
        "compare", do_compare, "The differences of two runs on the same problems.", COMPARE, as_json=True
    )
    comparing.add_argument("a", metavar="RUN_A")
    comparing.add_argument("b", metavar="RUN_B")
    options(comparing)
    options(command("power", do_power, "What a difference needs: problems, samples, seeds.", POWER, as_json=True))
    options(command("analyze", do_analyze, "The papers' figures and numbers for some runs.", ANALYZE, as_json=True))
    options(
        command(
            "report",
            do_report,
            "A paper's claims, tables, figures and responses as one HTML file.",
            REPORT,
            as_json=True,
        )
    )
    options(command("tables", do_tables, "Regenerate the papers' tables from MLflow.", _TABLES, as_json=True))
    making = command("new", do_new, "A new paper: a method, its declaration and its test, which run at once.", _NEW)
    making.add_argument("name", metavar="NAME")
    options(making)
    options(command("ui", do_ui, "Open MLflow's web interface on the runs.", _UI))
    return parser


_RUN = """options:
  paper=KEY              required; see `rlvr list`
  arm=A,B model=A,B      which arms and base models (default: all; at tiny scale the paper's first model)
  scale=tiny|paper       default tiny
  backend=trl|verl       which trainer; verl has PPO and dynamic sampling, and needs an environment of its own
  seeds=3 | seeds=[0,1]  how many training seeds, or which (default: the paper's number)
  data_dir=FOLDER        benchmark files NAME.jsonl|.parquet|.csv instead of the hub (run only)
  hardware.KEY=VALUE     the machine: processes, micro_batch, rollouts, device, ...; changes no result by design
  KEY=VALUE              any value of the declaration, as `rlvr plan` lists them; recorded as yours"""
_EVAL = """options:
  model=PATH_OR_HUB_ID   required
  protocol=NAME          required; see `rlvr list`
  out=FOLDER             where samples and verdicts go (default evaluations/NAME); started again, it goes on
  data_dir=FOLDER        benchmark files NAME.jsonl|.parquet|.csv instead of the hub
  benchmarks=[A,B]       some of the protocol's benchmarks; any other protocol value likewise: n=4 max_tokens=512
  seed=0                 sampling seed
  engine=NAME            who samples: transformers (default), vllm, openai (a server), ray (a cluster)
  engine.KEY=VALUE       transformers, vllm: batch_rows, dtype, replicas (one a GPU), ...; openai: url, key_env (the
                         variable with the key), concurrency, ...; ray: address, replicas, inner (which engine), ...
  tools=true             run a response's ```python blocks in a sandbox, show it what they print (```output), go on;
                         max_tokens then counts the outputs too. Not with openai
  tools.KEY=VALUE        turns=4 (blocks run for a response), seconds=10 and memory_mb=1024 for each, output_chars=2000
  allow_changed_data=true  accept rows other than the pinned ones; the record says so"""
_GRADE = """FILE holds one JSON object a line: problem_id, answer, response (rows with one problem_id are its samples),
or with --answers: gold, prediction. Other columns are kept; finish_reason and expected are used when they are there."""
_TABLES = """options:
  paper=KEY              one paper (default: all)
  out=FOLDER             default results; files go to FOLDER/KEY/"""
_NEW = """NAME is the paper's key and its method's name: a Python identifier in lower case. What is written works and is
there to be changed: CONTRIBUTING.md, "Add a paper".
options:
  root=FOLDER            the checkout to write into (default: the one that this command is of)"""
_UI = """options:
  port=5000  host=127.0.0.1"""


def _jobs(values: dict[str, Any]) -> list[Any]:
    from harness.catalogue import load, papers
    from harness.resolve import resolve

    paper = take(values, "paper", str, required=True)
    choose("paper", [paper], papers())
    models, arms = take_list(values, "model"), take_list(values, "arm")
    scale, backend = take(values, "scale", str, "tiny"), take(values, "backend", str, "trl")
    seeds = read_seeds(values.pop("seeds", None), load(paper).seeds.value)
    for key in values:
        if key in ("models", "arms", "seed"):
            right = {"models": "model", "arms": "arm", "seed": "seeds"}[key]
            raise UsageError(f"{key}={values[key]}: no such option; did you mean {right!r}?")
    return resolve(paper, models=models, arms=arms, scale=scale, backend=backend, seeds=seeds, overrides=values)


def _hardware(values: dict[str, Any]) -> Any:
    from harness.hardware import HARDWARE_KEYS, Hardware

    mine = {key: values.pop(key) for key in list(values) if key.startswith("hardware.")}
    valid = [f"hardware.{key}" for key in HARDWARE_KEYS]
    no_more({key: value for key, value in mine.items() if key not in valid}, valid)
    try:
        return Hardware(**{key.removeprefix("hardware."): value for key, value in mine.items()})
    except ValueError as error:
        raise UsageError(str(error)) from error


def do_list(arguments: Any) -> int:
    from evals import benchmarks, engines, protocols
    from harness import catalogue
    from harness.resolve import BACKENDS
    from harness.scales import SCALES

    no_more(parse_overrides(arguments.options), ())
    papers: dict[str, Any] = {}
    for key in catalogue.papers():
        r = catalogue.load(key)
        arms: dict[str, list[str]] = {}
        for arm in r.arms:
            arms.setdefault(arm.model, []).append(arm.key)
        models = {model: sourced.value for model, sourced in r.models.items()}
        papers[key] = {"title": r.title, "arxiv": r.arxiv, "models": models, "arms": arms, "protocol": r.protocol}
    document: dict[str, Any] = {
        "papers": papers,
        "backends": list(BACKENDS),
        "scales": {name: scale.label for name, scale in SCALES.items()},
        "benchmarks": list(benchmarks.names()),
        "protocols": sorted(protocols.PROTOCOLS),
        "engines": list(engines.NAMES),
    }
    if arguments.json:
        print(json.dumps(document, indent=2))
        return 0
    for key, paper in papers.items():
        print(f"{key}: {paper['title']} (arXiv {paper['arxiv']})")
        for model, names in paper["arms"].items():
            print(f"    {model} ({paper['models'][model]}): {', '.join(names)}")
    for kind in ("backends", "scales", "benchmarks", "protocols", "engines"):
        print(f"{kind}: {', '.join(document[kind])}")
    return 0


def do_plan(arguments: Any) -> int:
    from harness.plan import as_text, plan

    values = parse_overrides(arguments.options)
    hardware = _hardware(values)
    jobs = _jobs(values)
    document = plan(jobs, _refused(jobs, hardware))
    print(json.dumps(document, indent=2, default=list) if arguments.json else as_text(document))
    return 0


def do_config(arguments: Any) -> int:
    import yaml

    from harness.trainer_config import trainer_configs

    values = parse_overrides(arguments.options)
    hardware = _hardware(values)
    named = "arm" in values
    jobs = _jobs(values)
    jobs = _that_run(jobs, _refused(jobs, hardware), named=named)
    try:
        found = trainer_configs(jobs, hardware)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(yaml.safe_dump(json.loads(json.dumps(found, default=str)), sort_keys=False), end="")
    return 0


def do_run(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    data_dir = take(values, "data_dir", str)
    hardware = _hardware(values)
    named = "arm" in values
    jobs = _jobs(values)
    jobs = _that_run(jobs, _refused(jobs, hardware), named=named)
    if data_dir is not None and not Path(data_dir).is_dir():
        raise UsageError(f"data_dir={data_dir}: expected a folder, found none")
    from harness.backends import ready
    from harness.run import check_data, run, say
    from harness.tabulate import report
    from harness.track import Tracker, home

    hardware = hardware.settled()
    try:
        ready(jobs[0].backend, hardware)
        data_dir = check_data(jobs, data_dir)
    except (ValueError, OSError) as error:  # no such cluster; a benchmark that is missing or is not the pinned one
        raise UsageError(str(error)) from error
    run(jobs, hardware=hardware, data_dir=data_dir, command="rlvr run " + " ".join(arguments.options))
    print(report(jobs[0].paper, Tracker.open()).markdown())
    say(f"runs are under {home()}; to see their curves: nox -s ui (or rlvr ui)")
    return 0


def _refused(jobs: list[Any], hardware: Any) -> dict[tuple[str, str], Any]:
    """The arms that the backend cannot train, and why, before anything starts."""
    from harness.backends import refusals

    try:
        return refusals(jobs, hardware)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _that_run(jobs: list[Any], refused: dict[tuple[str, str], Any], *, named: bool) -> list[Any]:
    """The jobs without the refused arms, each left out aloud; an error where a refused arm or value was asked for."""
    kept = [job for job in jobs if (job.model, job.arm) not in refused]
    for (model, arm), error in refused.items():
        if named or error.asked_for or not kept:
            raise UsageError(f"{model}/{arm}: {error}") from error
        print(f"left out {model}/{arm}: {error}", file=sys.stderr)
    return kept


def do_eval(arguments: Any) -> int:
    from evals import benchmarks, protocols
    from evals.engines.base import EngineError
    from evals.provenance import Origin
    from harness.engine_options import take_engine

    values = parse_overrides(arguments.options)
    model = take(values, "model", str, required=True)
    name = take(values, "protocol", str, required=True)
    choose("protocol", [name], protocols.PROTOCOLS)
    seed = take(values, "seed", int, 0)
    engine = take_engine(values, model)
    data_dir = take(values, "data_dir", str)
    changed = take(values, "allow_changed_data", bool, False)
    out = Path(take(values, "out", str, f"evaluations/{Path(model).name}-{name}-seed{seed}"))
    protocol = protocols.get(name)
    no_more({k: v for k, v in values.items() if k not in protocol.sourced()}, (*protocol.sourced(), *_EVAL_KEYS))
    if isinstance(values.get("benchmarks"), str):
        values["benchmarks"] = [values["benchmarks"]]
    for benchmark in values.get("benchmarks", ()):
        choose("benchmarks", [benchmark], benchmarks.names())
    from evals.evaluate import evaluate
    from harness.eval_report import as_text, summary

    try:
        protocol = protocol.override(values, Origin.USER, "command line") if values else protocol
        verdicts = evaluate(
            model, protocol, out_dir=out, data_dir=data_dir, seed=seed, engine=engine, allow_changed_data=changed
        )
    except (ValueError, OSError) as error:  # wrong data, a model that cannot be loaded, samples drawn otherwise
        raise UsageError(str(error)) from error
    except EngineError as error:
        print(
            f"rlvr eval: {error}\nthe samples drawn so far are kept; the same command goes on from here",
            file=sys.stderr,
        )
        return 1
    document = summary(protocol, verdicts)
    print(json.dumps(document, indent=2, default=list) if arguments.json else as_text(document))
    return 0


_EVAL_KEYS = ("model", "protocol", "seed", "engine", "tools", "data_dir", "allow_changed_data", "out")


def do_grade(arguments: Any) -> int:
    from evals.grade_file import grade_file

    try:
        result = grade_file(
            arguments.file,
            answers=arguments.answers,
            out=arguments.out,
            workers=arguments.workers,
            limit_s=arguments.limit,
        )
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    print(json.dumps(result.as_dict(), indent=2) if arguments.json else result.as_text())
    return 0


def do_tables(arguments: Any) -> int:
    from harness.catalogue import papers

    values = parse_overrides(arguments.options)
    wanted = choose("paper", take_list(values, "paper"), papers())
    out = Path(take(values, "out", str, "results"))
    no_more(values, ("paper", "out"))
    from harness.tabulate import report
    from harness.track import Tracker

    tracker = Tracker.open()
    reports = {key: report(key, tracker) for key in wanted}
    for key, result in reports.items():
        for path in result.write(out / key):
            print(f"wrote {path}", file=sys.stderr)
    if arguments.json:
        print(json.dumps([result.as_dict() for result in reports.values()], indent=2, default=list))
    else:
        print("\n".join(result.markdown() for result in reports.values()))
    return 0


def do_new(arguments: Any) -> int:
    from harness.new import new

    values = parse_overrides(arguments.options)
    root = Path(take(values, "root", str, str(Path(__file__).resolve().parents[1])))
    no_more(values, ("root",))
    for path in new(arguments.name, root):
        print(path)
    print(
        f"it runs as it is: rlvr run paper={arguments.name}\n"
        'CONTRIBUTING.md, "Add a paper", says what to change, in which order',
        file=sys.stderr,
    )
    return 0


def do_ui(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    port, host = take(values, "port", int, 5000), take(values, "host", str, "127.0.0.1")
    no_more(values, ("port", "host"))
    import subprocess

    from harness.track import tracking_uri

    uri = tracking_uri()
    print(f"MLflow at http://{host}:{port} on {uri}; Ctrl-C ends it", file=sys.stderr)
    print("curves side by side: an experiment's chart view, Group by rlvr.arm (or paper, scale, ...)", file=sys.stderr)
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri, "--host", host, "--port", str(port)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

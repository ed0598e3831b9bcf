"""Lists of papers, arms, benchmarks and settings, of the runs on this machine, and of one of them."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, get_args

from evals.notebook import Block, Heading, Outcome, Table
from harness.errors import UsageError, choose, refuse_unused
from rlvr.results import Result
from rlvr.signature import descriptions
from rlvr.terminal import paragraph, sentence

if TYPE_CHECKING:
    from evals.data.prompts import Prompt
    from harness.record.run import Run

GROUPS = ("papers", "benchmarks", "protocols", "prompts", "engines", "backends", "scales")
MORE = ("hardware", "policies", "methods", "signals", "stages")  # groups that are shown only when they are named


def list_(what: Sequence[str] | None = None, *, protocol: str | None = None) -> Result:
    """List papers, arms, benchmarks, protocols, prompts, engines, backends and scales.

    Args:
        what: the lists to print: papers, benchmarks, protocols, prompts, engines, backends, scales (default: all of
            these). hardware: machines, and the settings of machines and launchers for `rlvr run`. policies: ways to
            extract an answer, for mathematics and for code. methods: every declared equation by its stage, with its
            first line. signals: values that a method may read. stages: values that a method may make.
        protocol: print every value of this protocol with its source, instead of the lists.
    """
    if protocol is not None:
        refuse_unused("with protocol=, which shows that protocol alone", what=what)
        return _protocol(protocol)
    from evals.data import prompts, protocols

    for name in what or ():
        if name in protocols.PROTOCOLS:
            raise UsageError(f"what={name}: a protocol. Type rlvr list protocol={name} shows its values")
        if name in prompts.PROMPTS:
            raise UsageError(f"what={name}: a prompt. Its text is in {prompts.__file__[:-2]}yaml")
    groups = choose("what", what, (*GROUPS, *MORE), default=list(GROUPS))
    document = {group: _names(group) for group in (*GROUPS, *MORE) if group in groups}
    rows = [
        {"group": group, "name": name} for group, names in document.items() if group != "hardware" for name in names
    ]
    return Result(document, lambda: _listed(document), rows)


def _protocol(name: str) -> Result:
    from evals.data import protocols

    choose("protocol", [name], protocols.PROTOCOLS)
    sourced = {key: value.as_dict() for key, value in protocols.get(name).sourced().items()}
    rows = [{"key": key, **value} for key, value in sourced.items()]
    lines = [paragraph(f"{key}: {row['value']} ({row['origin']}: {row['note']})", "  ") for key, row in sourced.items()]
    return Result({"protocol": name, **sourced}, "\n".join([f"protocol {name}", *lines]), rows)


def _papers() -> dict[str, object]:
    from harness.spec import catalogue

    summaries: dict[str, object] = {}
    for key in catalogue.papers():
        try:
            r = catalogue.load(key)
        except catalogue.BrokenPaper as error:
            summaries[key] = {"error": str(error)}
            continue
        arms: dict[str, list[str]] = {}
        for arm in r.arms:
            arms.setdefault(arm.model, []).append(arm.key)
        models = {model: sourced.value for model, sourced in r.models.items()}
        summaries[key] = {"title": r.title, "arxiv": r.arxiv, "models": models, "arms": arms, "protocol": r.protocol}
    return summaries


def _names(group: str) -> Any:
    """The entries of one group, as the document of `list_` has it."""
    from evals.code_execution import programs
    from evals.data import benchmarks, prompts, protocols
    from evals.grading import extraction
    from evals.sampling import engines
    from harness.command.resolve import BACKENDS
    from harness.plan.machine import hardware_help
    from harness.spec import Method
    from harness.spec.equation import Stage
    from harness.spec.scales import SCALES
    from harness.step.batch import SIGNALS, TokenBatch

    of_group: dict[str, Callable[[], object]] = {
        "papers": _papers,
        "benchmarks": lambda: {name: benchmarks.task(name)["metadata"]["rows"] for name in benchmarks.names()},
        "protocols": lambda: sorted(protocols.PROTOCOLS),
        "prompts": lambda: {name: _prompt_in_words(prompts.PROMPTS[name]) for name in sorted(prompts.PROMPTS)},
        "engines": lambda: list(engines.ENGINES),
        "backends": lambda: list(BACKENDS),
        "scales": lambda: {name: scale.label for name, scale in SCALES.items()},
        "hardware": hardware_help,
        "policies": lambda: {**extraction.MEANING, **programs.MEANING},
        "methods": lambda: {name: f"{stage}, {key}: {line}" for name, (stage, key, line) in methods().items()},
        "signals": lambda: {name: descriptions(TokenBatch)[name] for name in SIGNALS},
        "stages": lambda: {name: descriptions(Method)[name] for name in get_args(Stage)},
    }
    return of_group[group]()


def _prompt_in_words(prompt: Prompt) -> str:
    """Whether it goes through the chat template, what it asks, and which policy reads the answers."""
    parts = {"system": prompt.system, "user": prompt.user, "response begins": prompt.prefix or None}
    texts = ". ".join(f"{key}: {shorten(text, 200)}" for key, text in parts.items() if text is not None)
    examples = f", {len(prompt.examples)} examples" if prompt.examples else ""
    kind = "through the chat template" if prompt.chat else "plain text"
    return f"{kind}{examples}, read by {prompt.policy}. {texts}"


def methods() -> dict[str, tuple[str, str, str]]:
    """Equation -> its stage, the first paper that declares it, and the first line of its docstring; by stage."""
    from harness.spec import Experiment, Method, catalogue

    declared: dict[str, tuple[str, str, str]] = {}
    for key in catalogue.papers():
        arms = [arm.train for arm in catalogue.load(key).arms if isinstance(arm.train, Experiment)]
        for stage, use in [(stage, u) for arm in arms for stage, uses in arm.method.stages() for u in uses]:
            line = (inspect.getdoc(use.function) or "").partition("\n\n")[0].replace("\n", " ")
            line = line if line.endswith(".") else re.sub(r"(, where\b[^.]*)?[:,]?$", "", line)  # a formula follows it
            declared.setdefault(use.name, (stage, key, line))
    order = [f.name for f in fields(Method)]
    order = ["rewards", "advantage", *(name for name in order if name not in ("rewards", "advantage"))]
    return dict(sorted(declared.items(), key=lambda item: order.index(item[1][0])))


def _listed(document: Mapping[str, Any]) -> list[Block]:
    """The groups under headings, wrapped at 80 columns."""
    from harness.spec.declarations import cited

    lines: list[Block] = []
    for group, names in document.items():
        lines += ["", Heading(group.upper())]
        if group == "papers":
            for key, paper in names.items():
                if "error" in paper:
                    lines.append(paragraph(f"{key}: {paper['error']}", "  "))
                    continue
                lines.append(paragraph(f"{key}: {cited(paper['title'], paper['arxiv'])}", "  "))
                for model, arms in paper["arms"].items():
                    lines.append(paragraph(f"{model} ({paper['models'][model]}): {', '.join(arms)}", "      "))
        elif group == "benchmarks":
            lines.append(paragraph(", ".join(f"{name} ({rows})" for name, rows in names.items()), "  "))
        elif isinstance(names, dict):
            lines += [paragraph(f"{name}: {label}", "  ") for name, label in names.items()]
        else:
            lines.append(names if isinstance(names, str) else paragraph(", ".join(names), "  "))
    return lines[1:]


def show(run: str | None = None, *, paper: Sequence[str] | None = None) -> Result:
    """Show the runs under RLVR_HOME: running, finished, or failed with the last error. With RUN: its values and scores.

    Args:
        run: the run to show: a run's folder, the folder of an evaluation, a file of verdicts, or an archive.
        paper: show the runs of these papers (default: all).
    """
    if run is None:
        return _states(paper)
    refuse_unused("with RUN, which is one run", paper=paper)
    from harness.record.archive import SUFFIX, read_archive
    from harness.record.find import beginning
    from harness.spec import catalogue

    if run in catalogue.papers() and not Path(run).exists() and not beginning(run):
        raise UsageError(
            f"{run}: a paper, and no run of this name. rlvr show paper={run} lists its runs, rlvr plan paper={run} its "
            "arms and values"
        )
    runs_of_archive = read_archive(Path(run)) if run.endswith(SUFFIX) and Path(run).is_file() else []
    return _archived(runs_of_archive) if len(runs_of_archive) > 1 else _run_shown(run)


def _archived(runs: Sequence[Run]) -> Result:
    """The runs of an archive, each with the mean accuracy that it recorded."""
    from evals.stats.score import number_text

    def accuracy(scores: Mapping[str, Any]) -> str:
        return number_text(next((s["value"] for key, s in scores.items() if key.startswith("avg")), None), 100)

    rows = [
        {"run": run.folder.name, **{name: accuracy(scores) for name, scores in run.record.get("scores", {}).items()}}
        for run in runs
    ]
    header = tuple(dict.fromkeys(key for row in rows for key in row))
    cells = [tuple(row.get(key, "–") for key in header) for row in rows]
    return Result(rows, [f"{len(rows)} runs, avg in percent", Table(header, cells)], rows)


def _run_shown(name: str) -> Result:
    from harness.record.find import runs, seeds_of
    from harness.record.record import CURVES
    from harness.record.state import progress

    named = runs(*name.split(","), finished=False)
    if len(named) == 1 and not Path(name).exists():  # the beginning of its name was typed
        name = named[0].folder.name
    if len(named) == 1 and not named[0].benchmarks and (state := progress(named[0])) is not None:
        return _begun(name, state, named[0])
    seeds = seeds_of(name)
    if all(run.record.get("kind") == CURVES for run in seeds):
        return _curves(name, seeds)
    return _scored(name, seeds)


def _scored(name: str, seeds: Sequence[Run]) -> Result:
    """The scores of one run, or of the training seeds of one method: its facts, warnings and scores."""
    from evals.stats.score import reported, score_fields
    from harness.record.cautions import cautions
    from harness.record.find import together
    from harness.record.state import progress
    from harness.step.learning import EQUAL, equal_text
    from rlvr.metrics import Scores, ks_of

    measured = together(seeds, name)
    record = seeds[0].record if len(seeds) == 1 else {}
    how = {benchmark: seeds[0].measured_by(benchmark) for benchmark in measured.tables}
    scores_by_benchmark = {
        b: reported(t, ks_of(seeds[0], b, t), seeds[0].policy(b)) for b, t in measured.tables.items()
    }
    facts = _facts(seeds[0]) if len(seeds) == 1 else {}
    if facts and (state := progress(seeds[0])) is not None:
        facts["to come"] = f"{state}; the scores below are of what had ended before"
    if (equal := equal_text([run.metrics(EQUAL) for run in seeds])) is not None:
        facts["equal rewards"] = equal
    warned = [f"{line}." for line in cautions(seeds)]
    table_of_scores = Scores(
        (seeds[0].title(benchmark), s) for benchmark, scores in scores_by_benchmark.items() for s in scores
    )

    def report() -> list[Block]:
        lines: list[Block] = [*(paragraph(f"Warning: {line}") for line in warned), name, *_facts_text(facts)]
        for benchmark in filter(how.get, how):
            words = "; ".join(f"{key} {value}" for key, value in how[benchmark].items())
            lines.append(paragraph(f"measured on {benchmark} by {words}", "  "))
        lines += ["", *table_of_scores.blocks()]
        if record.get("scale", "paper") != "paper":
            lines.append(paragraph(sentence(record.get("scale_label", record["scale"]))))
        return lines

    scores = {
        benchmark: [score_fields(s) for s in of_benchmark] for benchmark, of_benchmark in scores_by_benchmark.items()
    }
    document = {"run": name, "warnings": warned, **facts, "measured_by": how, "scores": scores}
    return Result(document, report, table_of_scores.rows(), printed=table_of_scores.printed)


def _curves(name: str, seeds: Sequence[Run]) -> Result:
    """Training curves of another tool: of each metric its first and last value."""
    rows = [
        {"run": run.folder.name, "metric": metric, "steps": len(points), "first": points[0][1], "last": points[-1][1]}
        for run in seeds
        for metric in sorted({key for values in run.curve.values() for key in values})
        if (points := run.metrics(metric))
    ]
    cells = [tuple(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()) for row in rows]
    files = [f"{run.folder.name}: curves of {run.record['source']['file']}, imported {run.finished}" for run in seeds]
    table = Table(("run", "metric", "steps", "first", "last"), cells, left=2)
    return Result({"run": name, "curves": rows}, [*files, table], rows)


_NO_SCORES = "No scores yet: the same command goes on from what was saved, or begins again if nothing was."


def _begun(name: str, state: str, run: Run) -> Result:
    """A run without a score: its values, how far it is, and what ended the last try."""
    from evals.files import read_object
    from harness.record.state import ERROR
    from rlvr.run_summary import so_far_blocks

    facts = {"state": state, **_facts(run)}
    if error := (read_object(run.folder / ERROR) or {}).get("error"):
        facts["error"] = error
    lines: list[Block] = so_far_blocks(name, run) if run.so_far else [_NO_SCORES]
    return Result({"run": name, **facts, "scores": {}}, [name, *_facts_text(facts), *lines])


def _facts(run: Run) -> dict[str, object]:
    """The facts about a run in its record."""
    from harness.jobs.moved import Moved

    record = run.record
    shown = ("paper", "model", "arm", "scale", "backend", "seed", "overrides", "finished", "diverged")
    facts = {key: record[key] for key in shown if record.get(key) not in (None, {}, [])}
    facts |= {"model": run.base} if "model" in facts else {}
    if "settings" in record:
        facts["values"] = dict(Counter(value["origin"] for value in record["settings"].values()))
        facts["command"] = record["environment"]["command"]
        changed = " with uncommitted changes" if record["environment"].get("uncommitted_changes") else ""
        facts["commit"] = f"{record['environment']['commit']}{changed}"
    if change := (record.get("training") or {}).get("moved"):
        facts["weights"] = str(Moved(**change))
    if hashes := {name: sha256[:8] for name, sha256 in record.get("own_files", {}).items()}:
        facts["own"] = hashes
    return facts


def _facts_text(facts: Mapping[str, object]) -> list[str]:
    values = {k: ", ".join(f"{a}={b}" for a, b in v.items()) if isinstance(v, dict) else v for k, v in facts.items()}
    return [paragraph(f"{key + ':':<10} {value}", "  ") for key, value in values.items()]


def _states(papers: Sequence[str] | None) -> Result:
    from evals.stats.score import number_text
    from harness.record.evaluations import curves, evaluations, unfinished
    from harness.record.state import job_states
    from harness.runs.track import home
    from harness.spec import catalogue

    if not next(place for place in (home(), *home().parents) if place.exists()).is_dir():
        raise UsageError(f"RLVR_HOME={home()}: expected a folder, found a file")
    states = job_states(home()) if home().is_dir() else []
    if papers is not None:
        choose("paper", papers, {*catalogue.papers(), *(state.paper for state in states)})
        states = [state for state in states if state.paper in papers]

    measured, imported_curves, begun = (evaluations(), curves(), unfinished()) if papers is None else ([], [], [])

    def report() -> list[Block]:
        if not (states or measured or imported_curves or begun):
            return [f"no runs under {home()}"]
        counts = Counter(state.state for state in states)
        lines: list[Block] = [
            f"{home()}: {', '.join(f'{count} {state}' for state, count in counts.items()) or 'no training'}"
        ]
        for place in dict.fromkeys((state.paper, state.scale) for state in states):
            members = [state for state in states if (state.paper, state.scale) == place]
            lines += ["", f"{place[0]}, {place[1]} scale"]
            rows = [
                (
                    _shortened(s.name, 42),
                    Outcome(s.state),
                    "–" if s.step is None else str(s.step),
                    number_text(s.reward, form=".3f"),
                    _age(s.idle_s),
                )
                for s in members
            ]
            lines.append(Table(("job", "state", "step", "reward", "last output"), rows, left=2))
            lines += [paragraph(f"{s.name}: {s.error}") for s in members if s.error]
        if measured:
            cells = [(run.folder.name, ", ".join(run.benchmarks), run.record["finished"]) for run in measured]
            table = Table(("evaluation", "benchmarks", "finished"), cells, left=2)
            lines += ["", str(measured[0].folder.parent), table]
            lines += [f"{run.folder.name}: {run.folder.resolve()}" for run in measured if run.folder.is_symlink()]
        if begun:
            lines += ["", f"{begun[0].folder.parent}: evaluations with samples to come"]
            lines += [paragraph(f"{e.folder.name}: {e}{f'; {e.error}' if e.error else ''}", "  ") for e in begun]
        if imported_curves:
            cells = [
                (r.folder.name, str(len(r.curve)), ", ".join(r.record["source"]["columns"])) for r in imported_curves
            ]
            lines += ["", Table(("imported curve", "steps", "metrics"), cells)]
        return lines

    rows = [asdict(state) for state in states]
    for run in (*measured, *imported_curves):
        rows.append({"paper": None, "name": run.folder.name, "state": "finished", "folder": run.folder.resolve()})
    rows += [{"paper": None, "name": evaluation.folder.name, **asdict(evaluation)} for evaluation in begun]
    return Result(rows, report, rows)


def _shortened(text: str, width: int) -> str:
    """A name without its middle; the seed at its end stays."""
    return text if len(text) <= width else text[: width - 10] + "…" + text[-9:]


def _age(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"

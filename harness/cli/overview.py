"""The commands `rlvr list`, `rlvr show` and `rlvr status`."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.terminal import paragraph, sentence, table
from harness.command.config import no_more, parse_overrides, take_list
from harness.errors import UsageError, choose

if TYPE_CHECKING:
    from harness.runs.state import JobState

LIST = """options:
  what=[papers,benchmarks,protocols,engines,backends,scales]   some of the groups (default: all)"""
SHOW = """RUN is a job's folder, the folder of an evaluation, a file of verdicts, or the MLflow run id of an arm.
options:
  policies=[boxed_last,qwen]   grade the stored responses again, and show the score under each extraction policy"""
STATUS = """options:
  paper=KEY              one paper (default: all)
Shows the jobs under RLVR_HOME (default runs): running, waiting (for a worker, or in Slurm's
queue), finished, diverged, failed (with the last error) or stopped."""
GROUPS = ("papers", "benchmarks", "protocols", "engines", "backends", "scales")
KINDS = {
    "rlvr_math": "mathematics, written answer",
    "rlvr_fresh": "mathematics, newer than most base models",
    "rlvr_choice": "multiple choice",
    "rlvr_program": "programs, run by tests",
    "rlvr_generated": "generated arithmetic, never published",
    "rlvr_tiny": "tiny scale, generated",
}


def do_list(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    wanted = choose("what", take_list(values, "what"), GROUPS)
    no_more(values, ("what",))
    document = {key: value for key, value in catalogue().items() if key in wanted}
    print(json.dumps(document, indent=2) if arguments.json else as_text(document))
    return 0


def catalogue() -> dict[str, Any]:
    """All names that a command line accepts, by group."""
    from evals.data import benchmarks, protocols
    from evals.sampling import engines
    from harness.command.resolve import BACKENDS
    from harness.spec import catalogue as declared
    from harness.spec.scales import SCALES

    papers: dict[str, Any] = {}
    for key in declared.papers():
        r = declared.load(key)
        arms: dict[str, list[str]] = {}
        for arm in r.arms:
            arms.setdefault(arm.model, []).append(arm.key)
        models = {model: sourced.value for model, sourced in r.models.items()}
        papers[key] = {"title": r.title, "arxiv": r.arxiv, "models": models, "arms": arms, "protocol": r.protocol}
    return {
        "papers": papers,
        "backends": list(BACKENDS),
        "scales": {name: scale.label for name, scale in SCALES.items()},
        "benchmarks": list(benchmarks.names()),
        "protocols": sorted(protocols.PROTOCOLS),
        "engines": list(engines.NAMES),
    }


def as_text(document: dict[str, Any]) -> str:
    """The groups under headings, wrapped at 80 columns."""
    lines: list[str] = []
    for group in GROUPS:
        if group not in document:
            continue
        lines += ["", group.upper()]
        if group == "papers":
            for key, paper in document["papers"].items():
                lines.append(paragraph(f"{key}: {paper['title']} (arXiv {paper['arxiv']})", "  "))
                for model, names in paper["arms"].items():
                    lines.append(paragraph(f"{model} ({paper['models'][model]}): {', '.join(names)}", "      "))
        elif group == "benchmarks":
            lines += _benchmarks(document["benchmarks"])
        elif group == "scales":
            lines += [paragraph(f"{name}: {label}", "  ") for name, label in document["scales"].items()]
        else:
            lines.append(paragraph(", ".join(document[group]), "  "))
    return "\n".join(lines[1:])


def _benchmarks(names: list[str]) -> list[str]:
    from evals.data import benchmarks

    by_kind: dict[str, list[str]] = {}
    for name in names:
        task = benchmarks.task(name)
        by_kind.setdefault(task["tag"][0], []).append(f"{name} ({task['metadata']['rows']})")
    kinds = [*(kind for kind in KINDS if kind in by_kind), *sorted(set(by_kind) - set(KINDS))]
    return [paragraph(f"{KINDS.get(kind, kind)}: {', '.join(by_kind[kind])}", "  ") for kind in kinds]


def do_show(arguments: Any) -> int:
    from evals.grading.extraction import POLICIES
    from evals.stats.score import bounds_text, number_text, score
    from harness.runs.find import check_names, load_run

    values = parse_overrides(arguments.options)
    asked = take_list(values, "policies") or []
    policies = choose("policies", asked, POLICIES) if asked else []
    no_more(values, ("policies",))
    check_names(arguments.run)
    run = load_run(arguments.run, responses=bool(policies))
    again = _by_policy(run.tables, policies)
    record = _record(Path(arguments.run))
    measured = {benchmark: score(rows, ks=(), metrics=("avg", "fmt")) for benchmark, rows in run.tables.items()}
    scores = {
        benchmark: [{"name": s.name, "unit": s.unit, **asdict(s)} for s in own] for benchmark, own in measured.items()
    }
    known = ("paper", "model", "arm", "scale", "backend", "seed", "overrides", "finished", "diverged")
    facts = {key: record[key] for key in known if record.get(key) not in (None, {}, [])}
    if record:
        facts["values"] = dict(Counter(value["origin"] for value in record["settings"].values()))
        facts["command"] = record["environment"]["command"]
        facts["commit"] = record["environment"]["commit"]
    document = {"run": arguments.run, **facts, "scores": scores} | ({"policies": again} if again else {})
    if arguments.json:
        print(json.dumps(document, indent=2, default=list))
        return 0
    print(arguments.run)
    for key, value in facts.items():
        shown = ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        print(paragraph(f"{key + ':':<11}{shown}", "  "))
    rows = []
    for benchmark, own in measured.items():
        for s in own:
            ends = bounds_text(s.interval, 100)
            unscored = f"{s.unscored}{_as_wrong(s.as_wrong, s.value)}"
            rows.append((benchmark, s.name, number_text(s.value, 100), ends, str(s.problems), unscored))
    print("\n" + table(("benchmark", "metric", "%", "95 % interval", "problems", "unscored"), rows, left=2))
    if again:
        lines = [
            (
                *(a["benchmark"], a["policy"], number_text(a["value"], 100), f"+{a['gained']} -{a['lost']}"),
                f"{a['unscored']}{_as_wrong(a['as_wrong'], a['value'])}",
            )
            for a in again
        ]
        header = ("benchmark", "extraction policy", "avg %", "verdicts changed", "unscored")
        print("\n" + table(header, lines, left=2))
    if record.get("scale", "paper") != "paper":
        print(paragraph(sentence(record.get("scale_label", record["scale"]))))
    return 0


def _as_wrong(as_wrong: float | None, value: float | None) -> str:
    """ " (46.9 as wrong)": the score with unscored samples counted as wrong, if it differs."""
    from evals.stats.score import number_text

    return "" if as_wrong in (None, value) else f" ({number_text(as_wrong, 100)} as wrong)"


def _by_policy(tables: Mapping[str, Any], policies: Sequence[str]) -> list[dict[str, Any]]:
    """The average score of each benchmark under each extraction policy, from the stored responses.

    `gained` verdicts are correct under it and were not; `lost` ones the other way round.
    """
    if not policies:
        return []
    from evals.grading import Grader
    from evals.grading.verdicts import Verdict, under_policy
    from evals.stats.score import score

    scored = []
    with Grader() as grader:
        for benchmark, rows in tables.items():
            for policy in policies:
                graded = under_policy(rows, policy, grader)
                [avg] = score(graded, ks=(), metrics=("avg",))
                before, after = (side["verdict"] == Verdict.CORRECT for side in (rows, graded))
                changed = {"gained": int((after & ~before).sum()), "lost": int((before & ~after).sum())}
                counts = {"value": avg.value, "unscored": avg.unscored, "as_wrong": avg.as_wrong}
                scored.append({"benchmark": benchmark, "policy": policy, **counts, **changed})
    return scored


def _record(path: Path) -> dict[str, Any]:
    from evals.files import read_json

    for folder in (path, path.parent):
        if path.is_dir() and (folder / "record.json").is_file():
            return dict(read_json(folder / "record.json"))
    return {}


def do_status(arguments: Any) -> int:
    from evals.stats.score import number_text
    from harness.launch.view import shortened
    from harness.runs.state import job_states
    from harness.runs.track import home
    from harness.spec.catalogue import papers

    values = parse_overrides(arguments.options)
    wanted = take_list(values, "paper")
    no_more(values, ("paper",))
    if not next(place for place in (home(), *home().parents) if place.exists()).is_dir():
        raise UsageError(f"RLVR_HOME={home()}: expected a folder, found a file")
    states = in_queue(job_states(home())) if home().is_dir() else []
    if wanted is not None:
        choose("paper", wanted, {*papers(), *(state.paper for state in states)})
        states = [state for state in states if state.paper in wanted]
    if arguments.json:
        print(json.dumps([asdict(state) for state in states], indent=2, default=str))
        return 0
    if not states:
        print(f"no runs under {home()}")
        return 0
    counts = Counter(state.state for state in states)
    print(f"{home()}: " + ", ".join(f"{count} {state}" for state, count in counts.items()))
    for place in dict.fromkeys((state.paper, state.scale) for state in states):
        own = [state for state in states if (state.paper, state.scale) == place]
        print(f"\n{place[0]}, {place[1]} scale")
        rows = [
            (
                shortened(s.name, 42),
                s.state,
                "–" if s.step is None else str(s.step),
                number_text(s.reward, form=".3f"),
                _age(s.idle_s),
            )
            for s in own
        ]
        print(table(("job", "state", "step", "reward", "last sign"), rows, left=2))
        for s in own:
            if s.error:
                print(paragraph(f"{s.name}: {s.error}"))
    return 0


def in_queue(states: list[JobState]) -> list[JobState]:
    """The states. Jobs in Slurm's queue have Slurm's state; a job that Slurm no longer knows is failed or stopped."""
    from harness.launch.slurm import queue, state_of
    from harness.runs.launched import launched

    by = {s.folder: launched(s.folder) for s in states if s.state == "waiting"}
    ids = {folder: task.id for folder, task in by.items() if task is not None and task.launcher == "slurm"}
    if not ids or shutil.which("squeue") is None:
        return states
    words = queue(ids.values())
    made = []
    for s in states:
        if s.folder in ids:
            word = state_of(words.get(ids[s.folder]))
            ended = word not in ("waiting", "running")
            s = replace(s, state="stopped" if ended else word, error=s.error or (word if ended else None))
        made.append(s)
    return made


def _age(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"

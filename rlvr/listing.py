"""What there is: papers, arms, benchmarks and settings; the runs on this machine, and one of them."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError, choose
from rlvr.results import Result
from rlvr.terminal import paragraph, sentence, table

if TYPE_CHECKING:
    from harness.record.run import Run
    from harness.runs.state import JobState

GROUPS = ("papers", "benchmarks", "protocols", "prompts", "engines", "backends", "scales")
MORE = ("hardware",)  # groups that are shown only when they are named
KINDS = {
    "rlvr_math": "mathematics, written answer",
    "rlvr_fresh": "mathematics, newer than most base models",
    "rlvr_choice": "multiple choice",
    "rlvr_program": "programs, run by tests",
    "rlvr_tiny": "tiny scale, generated",
}


def list_(what: list[str] | None = None) -> Result:
    """Papers, arms, benchmarks, protocols, prompts, engines, backends and scales.

    Args:
        what: some of papers, benchmarks, protocols, prompts, engines, backends, scales; or hardware: the settings of
            the machine and of launchers, for `rlvr run`.
    """
    groups = choose("what", what, (*GROUPS, *MORE), default=list(GROUPS))
    document = {group: _names(group) for group in (*GROUPS, *MORE) if group in groups}
    rows = [
        {"group": group, "name": name} for group, names in document.items() if group != "hardware" for name in names
    ]
    return Result(document, lambda: _listed(document), rows)


def _papers() -> dict[str, Any]:
    from harness.spec import catalogue

    found: dict[str, Any] = {}
    for key in catalogue.papers():
        try:
            r = catalogue.load(key)
        except catalogue.BrokenPaper as error:
            found[key] = {"error": str(error)}
            continue
        arms: dict[str, list[str]] = {}
        for arm in r.arms:
            arms.setdefault(arm.model, []).append(arm.key)
        models = {model: sourced.value for model, sourced in r.models.items()}
        found[key] = {"title": r.title, "arxiv": r.arxiv, "models": models, "arms": arms, "protocol": r.protocol}
    return found


def _names(group: str) -> Any:
    """What there is in one group, as the document of `list_` has it."""
    if group == "papers":
        return _papers()
    if group == "benchmarks":
        from evals.data import benchmarks

        return list(benchmarks.names())
    if group == "protocols":
        from evals.data import protocols

        return sorted(protocols.PROTOCOLS)
    if group == "prompts":
        from evals.data import prompts

        return sorted(prompts.PROMPTS)
    if group == "engines":
        from evals.sampling import engines

        return list(engines.NAMES)
    if group == "backends":
        from harness.command.resolve import BACKENDS

        return list(BACKENDS)
    if group == "scales":
        from harness.spec.scales import SCALES

        return {name: scale.label for name, scale in SCALES.items()}
    from harness.launch.launcher import launcher_help
    from harness.plan.machine import hardware_help

    return f"{hardware_help()}\n\n{launcher_help()}"


def _listed(document: Mapping[str, Any]) -> str:
    """The groups under headings, wrapped at 80 columns."""
    from harness.spec.declarations import cited

    lines: list[str] = []
    for group, names in document.items():
        lines += ["", group.upper()]
        if group == "papers":
            for key, paper in names.items():
                if "error" in paper:
                    lines.append(paragraph(f"{key}: {paper['error']}", "  "))
                    continue
                lines.append(paragraph(f"{key}: {cited(paper['title'], paper['arxiv'])}", "  "))
                for model, arms in paper["arms"].items():
                    lines.append(paragraph(f"{model} ({paper['models'][model]}): {', '.join(arms)}", "      "))
        elif group == "benchmarks":
            lines += _benchmarks_by_kind(names)
        elif group == "scales":
            lines += [paragraph(f"{name}: {label}", "  ") for name, label in names.items()]
        else:
            lines.append(names if isinstance(names, str) else paragraph(", ".join(names), "  "))
    return "\n".join(lines[1:])


def _benchmarks_by_kind(names: Sequence[str]) -> list[str]:
    from evals.data import benchmarks

    by_kind: dict[str, list[str]] = {}
    for name in names:
        task = benchmarks.task(name)
        by_kind.setdefault(task["tag"][0], []).append(f"{name} ({task['metadata']['rows']})")
    kinds = [*(kind for kind in KINDS if kind in by_kind), *sorted(set(by_kind) - set(KINDS))]
    return [paragraph(f"{KINDS.get(kind, kind)}: {', '.join(by_kind[kind])}", "  ") for kind in kinds]


def show(run: str | None = None, *, paper: list[str] | None = None, policies: list[str] | None = None) -> Result:
    """The runs under RLVR_HOME: running, finished, failed with the last error. With RUN: its values and scores.

    Args:
        run: a job's folder, the folder of an evaluation, a file of verdicts, or the MLflow run id of an arm.
        paper: runs of these papers (default: all).
        policies: grade the stored responses of the run again, and show the score under each extraction policy.
    """
    return _states(paper) if run is None else _one(run, policies or [])


def _one(name: str, policies: list[str]) -> Result:
    from evals.grading.extraction import POLICIES
    from evals.stats.score import number_text, score
    from harness.record.find import seeds_of, together
    from rlvr.evaluation import score_fields
    from rlvr.metrics import Scores

    choose("policies", policies, POLICIES)
    seeds = seeds_of(name)
    try:
        run = together(seeds, name)
        again = list(_by_policy(seeds, policies))
    except ValueError as error:
        raise UsageError(str(error)) from error
    record = seeds[0].record if len(seeds) == 1 else {}
    measured = {benchmark: score(rows, ks=(), metrics=("avg", "fmt")) for benchmark, rows in run.tables.items()}
    scores = {benchmark: [score_fields(s) for s in found] for benchmark, found in measured.items()}
    shown = ("paper", "model", "arm", "scale", "backend", "seed", "overrides", "finished", "diverged")
    facts = {key: record[key] for key in shown if record.get(key) not in (None, {}, [])}
    if "settings" in record:
        facts["values"] = dict(Counter(value["origin"] for value in record["settings"].values()))
        facts["command"] = record["environment"]["command"]
        facts["commit"] = record["environment"]["commit"]

    def text() -> str:
        lines = [name]
        for key, value in facts.items():
            value = ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else value
            lines.append(paragraph(f"{key + ':':<11}{value}", "  "))
        lines.append(f"\n{Scores((benchmark, s) for benchmark, found in measured.items() for s in found)}")
        if again:
            regraded = [
                (
                    *(a["benchmark"], a["policy"], number_text(a["value"], 100), f"+{a['gained']} -{a['lost']}"),
                    f"{a['unscored']}{_as_wrong(a['as_wrong'], a['value'])}",
                )
                for a in again
            ]
            header = ("benchmark", "extraction policy", "avg %", "verdicts changed", "unscored")
            lines.append("\n" + table(header, regraded, left=2))
        if record.get("scale", "paper") != "paper":
            lines.append(paragraph(sentence(record.get("scale_label", record["scale"]))))
        return "\n".join(lines)

    document = {"run": name, **facts, "scores": scores} | ({"policies": again} if again else {})
    return Result(document, text, [{"benchmark": b, **row} for b, found in scores.items() for row in found])


def _as_wrong(as_wrong: float | None, value: float | None) -> str:
    """ " (46.9 as wrong)": the score with unscored samples counted as wrong, if it differs."""
    from evals.stats.score import number_text

    return "" if as_wrong in (None, value) else f" ({number_text(as_wrong, 100)} as wrong)"


def _by_policy(seeds: Sequence[Run], policies: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The average score of each benchmark under each extraction policy, from the stored responses.

    `gained` verdicts are correct under it and were not; `lost` ones the other way round.
    """
    if not policies:
        return
    import pandas as pd

    from evals.grading import Grader
    from evals.grading.verdicts import Verdict, under_policy
    from evals.stats.score import score

    with Grader() as grader:
        for benchmark in seeds[0].benchmarks:
            rows = pd.concat([run.samples(benchmark).assign(train_seed=n) for n, run in enumerate(seeds)])
            for policy in policies:
                graded = under_policy(rows, policy, grader)
                [avg] = score(graded, ks=(), metrics=("avg",))
                before, after = (side["verdict"] == Verdict.CORRECT for side in (rows, graded))
                changed = {"gained": int((after & ~before).sum()), "lost": int((before & ~after).sum())}
                counts = {"value": avg.value, "unscored": avg.unscored, "as_wrong": avg.as_wrong}
                yield {"benchmark": benchmark, "policy": policy, **counts, **changed}


def _states(papers: list[str] | None) -> Result:
    from evals.stats.score import number_text
    from harness.runs.state import job_states
    from harness.runs.track import home
    from harness.spec import catalogue

    if not next(place for place in (home(), *home().parents) if place.exists()).is_dir():
        raise UsageError(f"RLVR_HOME={home()}: expected a folder, found a file")
    states = in_queue(job_states(home())) if home().is_dir() else []
    if papers is not None:
        choose("paper", papers, {*catalogue.papers(), *(state.paper for state in states)})
        states = [state for state in states if state.paper in papers]

    def text() -> str:
        if not states:
            return f"no runs under {home()}"
        from harness.launch.view import shortened

        counts = Counter(state.state for state in states)
        lines = [f"{home()}: " + ", ".join(f"{count} {state}" for state, count in counts.items())]
        for place in dict.fromkeys((state.paper, state.scale) for state in states):
            members = [state for state in states if (state.paper, state.scale) == place]
            lines.append(f"\n{place[0]}, {place[1]} scale")
            rows = [
                (
                    shortened(s.name, 42),
                    s.state,
                    "–" if s.step is None else str(s.step),
                    number_text(s.reward, form=".3f"),
                    _age(s.idle_s),
                )
                for s in members
            ]
            lines.append(table(("job", "state", "step", "reward", "last sign"), rows, left=2))
            lines += [paragraph(f"{s.name}: {s.error}") for s in members if s.error]
        return "\n".join(lines)

    rows = [asdict(state) for state in states]
    return Result(rows, text, rows)


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

"""`rlvr analyze`: the figures and numbers of some runs, in a folder and as the artifacts of an MLflow run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.files import read_json, write_json
from evals.plots.plot import save
from harness.analysis.families import families, plot_all
from harness.analysis.material import Material
from harness.analysis.runs import Analysed, made_by
from harness.data.tiny import MADE
from harness.errors import UsageError, choose
from harness.record.run import IDENTITY
from harness.runs.record import environment
from harness.runs.track import Tracker
from harness.spec.scales import SCALES


@dataclass(frozen=True)
class Result:
    """The output of an analysis."""

    folder: Path
    models: tuple[dict[str, Any], ...]
    benchmarks: tuple[str, ...]
    figures: tuple[dict[str, Any], ...]  # family, name, title, caption, source
    skipped: tuple[str, ...]
    run_id: str

    def as_dict(self) -> dict[str, Any]:
        """One JSON document."""
        return {
            "folder": str(self.folder),
            "models": list(self.models),
            "benchmarks": list(self.benchmarks),
            "figures": list(self.figures),
            "skipped": list(self.skipped),
            "mlflow_run": self.run_id,
        }


def common_benchmarks(models: Sequence[Analysed], names: Sequence[str] | None) -> list[str]:
    """The requested benchmarks, or all that every run has, in the first run's order.

    Raises:
        UsageError: there is none, or not all runs have a requested one.
    """
    common = [b for b in models[0].subject.tables if all(b in m.subject.tables for m in models)]
    if not common:
        raise UsageError("runs: no benchmark that all of them were measured on")
    return choose("benchmarks", list(names) if names is not None else None, common)


def analyze(material: Material, *, only: Sequence[str] | None, out: Path, command: str) -> Result:
    """Plot, write and log. The material's cache holds token tables, so a second call resumes."""
    code = environment()  # before anything is written, which may be under version control itself
    plotted, skipped = plot_all(material, only)
    out.mkdir(parents=True, exist_ok=True)
    figures = []
    for family, plots in plotted.items():
        for plot in plots:
            save(plot, out / family)
            words = {"title": plot.title, "caption": plot.caption, "source": plot.source}
            figures.append({"family": family, "name": plot.name, **words})
    models = [_model(m) for m in material.models]
    index = index_page(models, material.benchmarks, figures, skipped, command)
    (out / "README.md").write_text(index, encoding="utf-8")
    write_json(
        out / "analysis.json",
        {"models": models, "benchmarks": list(material.benchmarks), "figures": figures, "skipped": skipped,
         "command": command, "environment": code},
    )  # fmt: skip
    run_id = log(material.models, out, command, material.cache)
    return Result(out, tuple(models), tuple(material.benchmarks), tuple(figures), tuple(skipped), run_id)


def _model(m: Analysed) -> dict[str, Any]:
    return {
        "name": m.name,
        "seeds": len(m.sources),
        "made_by": list(dict.fromkeys(text for run in m.sources if (text := made_by(run)))),
        "mlflow_runs": [run.mlflow[1] for run in m.sources if run.mlflow is not None],
        **m.tags,
    }


def index_page(
    models: Sequence[Mapping[str, Any]],
    benchmarks: Sequence[str],
    figures: Sequence[Mapping[str, Any]],
    skipped: Sequence[str],
    command: str,
) -> str:
    """The folder's page, in Markdown: the models, every figure with its caption, and what was skipped."""
    scales = dict.fromkeys(str(m["scale"]) for m in models if "scale" in m)
    if any(benchmark in MADE for benchmark in benchmarks):  # also of checkpoints, whose scale nothing else says
        scales["tiny"] = None
    lines = ["# Analysis", "", f"Written by `{command}`; not edited by hand.", ""]
    lines += [f"**{label[:1].upper()}{label[1:]}.**\n" for s in scales if s in SCALES and (label := SCALES[s].label)]
    lines += ["| model | paper | arm | scale | backend | training seeds |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [
        f"| {m['name']} | {' | '.join(str(m.get(key, '–')) for key in ('paper', 'arm', 'scale', 'backend', 'seeds'))} |"
        for m in models
    ]
    made = dict.fromkeys(text for m in models for text in m["made_by"])
    lines += ["", *(f"Trained and measured by {text}.  " for text in made), f"Benchmarks: {', '.join(benchmarks)}.", ""]
    if any(m["seeds"] > 1 for m in models):
        lines += ["Of several training seeds: curves are their means; what a model read is of the first.", ""]
    if skipped:
        lines += ["Skipped:", "", *(f"- {text}" for text in skipped), ""]
    for family in dict.fromkeys(f["family"] for f in figures):
        lines += [f"## {families()[family].title}", ""]
        for f in figures:
            if f["family"] == family:
                at = f"{family}/{f['name']}"
                source = f" Corresponds to {f['source']}." if f["source"] else ""
                lines += [f"### {f['title']}", "", f"![{f['title']}]({at}.svg)", ""]
                lines += [f"{f['caption']}{source} [Numbers]({at}.csv).", ""]
    return "\n".join(lines)


def log(models: Sequence[Analysed], out: Path, command: str, cache: Path) -> str:
    """The folder as the artifacts of a run of kind "analysis"; the same folder goes to the same run again."""
    tracker = Tracker.open()
    tags = merged_tags(models)
    experiment = tracker.experiment(tags.get("rlvr.paper", "analysis").partition(",")[0])
    link = cache / "analyses" / f"{hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:16]}.json"
    run_id_before = (read_json(link) or {}).get("run_id")
    name = "analysis: " + ", ".join(m.name for m in models)
    if run_id_before is not None and tracker.has_run(run_id_before):
        run_id = str(run_id_before)
        tracker.client.update_run(run_id, status="RUNNING")
    else:
        tags = {"rlvr.kind": "analysis", "rlvr.command": command, **tags}
        run_id = str(tracker.client.create_run(experiment, run_name=name[:250], tags=tags).info.run_id)
    status = "FAILED"
    try:
        tracker.client.log_artifacts(run_id, str(out))
        status = "FINISHED"
    finally:
        tracker.client.set_terminated(run_id, status)
    write_json(link, {"run_id": run_id})
    return run_id


def merged_tags(models: Sequence[Analysed]) -> dict[str, str]:
    """The runs' tags, for grouping: each tag's distinct values, joined by commas."""
    by_key = {key: dict.fromkeys(m.tags[key] for m in models if key in m.tags) for key in IDENTITY}
    return {f"rlvr.{key}": ",".join(values) for key, values in by_key.items() if values}

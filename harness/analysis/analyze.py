"""`rlvr analyze`: the figures and numbers of some runs, in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from evals.files import write_json, write_text
from evals.markdown import code, markdown_text
from evals.plots.plot import save
from harness.analysis.families import families, plot_all
from harness.analysis.material import Material
from harness.analysis.runs import Analysed
from harness.data.tiny import MADE
from harness.errors import UsageError, choose
from harness.runs.record import environment
from harness.spec.scales import SCALES

COLUMNS = ("name", "paper", "arm", "scale", "backend", "seeds")  # the columns of the models
PAGE, NUMBERS = "README.md", "analysis.json"  # the files of an analysis, in its folder


def common_benchmarks(models: Sequence[Analysed], names: Sequence[str] | None) -> list[str]:
    """The requested benchmarks, or all that every run with responses has, in the first one's order.

    Raises:
        UsageError: there is none, or not all runs have a requested one.
    """
    tables = [m.subject.tables for m in models if m.subject.tables]
    common = [b for b in tables[0] if all(b in of_run for of_run in tables)] if tables else []
    if tables and not common:
        raise UsageError("runs: no benchmark that all of them were measured on")
    return choose("benchmarks", list(names) if names is not None else None, common)


def analyze(material: Material, *, only: Sequence[str] | None, out: Path, command: str) -> dict[str, Any]:
    """Plot and write. The material's cache holds token tables, so a second call resumes.

    Returns:
        what analysis.json holds: `models`, `runs`, `benchmarks`, `figures` (family, name, title, caption, source),
        `skipped`, `command`, `environment`.
    """
    if (out / PAGE).exists() and not (out / NUMBERS).is_file():
        raise UsageError(f"out={out}: {PAGE} in this folder is not of an analysis. Type another folder after out=")
    code = environment()  # before anything is written, which may be under version control itself
    plotted, skipped = plot_all(material, only)
    bare = [m.name for m in material.models if m.sources[0].benchmarks and not m.subject.tables]
    skipped += [f"the responses of {name}: its verdicts were kept without them" for name in bare]
    out.mkdir(parents=True, exist_ok=True)
    figures = []
    for family, plots in plotted.items():
        for plot in plots:
            save(plot, out / family, ("svg", "png", "pdf", "csv"))
            words = {"title": plot.title, "caption": plot.caption, "source": plot.source}
            figures.append({"family": family, "name": plot.name, **words})
    document = {
        "models": [{"name": m.name, "seeds": len(m.sources), "made_by": m.made_by, **m.tags} for m in material.models],
        "runs": [str(run.folder) for m in material.models for run in m.sources],
        "benchmarks": list(material.benchmarks),
        "figures": figures,
        "skipped": skipped,
        "command": command,
        "environment": code,
    }
    write_text(out / PAGE, index_page(document))
    write_json(out / NUMBERS, document)
    return document


def index_page(document: Mapping[str, Any]) -> str:
    """The folder's page, in Markdown: the models, every figure with its caption, and what was skipped."""
    models, benchmarks, figures, skipped = (document[key] for key in ("models", "benchmarks", "figures", "skipped"))
    scales = dict.fromkeys(str(m["scale"]) for m in models if "scale" in m)
    if any(benchmark in MADE for benchmark in benchmarks):  # also of checkpoints, whose scale nothing else says
        scales["tiny"] = None
    lines = ["# Analysis", "", f"Written by {code(document['command'])}. It is not edited by hand.", ""]
    lines += [f"**{label[:1].upper()}{label[1:]}.**\n" for s in scales if s in SCALES and (label := SCALES[s].label)]
    lines += ["| model | paper | arm | scale | backend | training seeds |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(markdown_text(str(m.get(key, '–'))) for key in COLUMNS)} |" for m in models]
    trained = dict.fromkeys(text for m in models for text in m["made_by"])
    lines += ["", *(f"Trained and measured by {text}.  " for text in trained)]
    lines += [f"Benchmarks: {', '.join(benchmarks) or 'none'}.", ""]
    if any(m["seeds"] > 1 for m in models):
        lines += ["Of several training seeds: curves are their means; what a model read is of the first.", ""]
    if skipped:
        lines += ["Skipped:", "", *(f"- {markdown_text(text)}" for text in skipped), ""]
    return "\n".join([*lines, *_sections(figures)])


def _sections(figures: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """Lines with each family's title, and below it its figures."""
    for family, of_family in groupby(figures, key=itemgetter("family")):
        yield from (f"## {families()[family].title}", "")
        for f in of_family:
            at = f"{family}/{f['name']}"
            source = f" Drawn like {f['source']}." if f["source"] else ""
            title, caption = markdown_text(f["title"]), markdown_text(f["caption"])
            yield from (f"### {title}", "", f"![{title}]({at}.svg)", "")
            yield from (f"{caption}{source} [Numbers]({at}.csv).", "")

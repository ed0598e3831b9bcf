"""Tables, pages and figures of measured runs, under RLVR_HOME/results unless `out` says otherwise."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from evals.files import read_object, text_sha256
from evals.log import logger
from evals.names import file_name
from evals.notebook import Table
from harness.errors import UsageError, choose, refuse_unused
from rlvr.results import Result, as_folder, results_folder
from rlvr.signature import COMMAND_LINE

if TYPE_CHECKING:
    from evals.plots.plot import Plot
    from harness.analysis.runs import Analysed
    from harness.report.page import Document

PathLike = str | os.PathLike[str]
Content = tuple["Document", Path, Callable[[Path, Mapping[str, str]], None]]
"""A page, its usual place, and what shows the file and the figures (name -> SVG) in MLflow."""
NOTE = 300  # characters of a note of `report` in the terminal


class Page(Result):
    """A page in Markdown, which a notebook renders, with tables of its own for LaTeX."""

    _repr_html_ = None  # type: ignore[assignment]  # it would be preferred
    _repr_markdown_ = Result.__str__
    latex = ""

    def to_latex(self) -> str:
        """Methods x benchmarks, a table for each scale, base model and metric; needs booktabs and graphicx."""
        return self.latex


def tables(
    paper: Sequence[str] | None = None,
    *,
    runs: Sequence[str] | None = None,
    out: PathLike | None = None,
) -> Result:
    """Write the papers' tables, published beside measured: Markdown, CSV and a figure of the differences.

        rlvr tables paper=egsw
        rlvr tables paper=egsw out=table.tex

    Args:
        paper: the papers (default: all).
        runs: the runs to use: folders of runs, or archives (default: all runs in RLVR_HOME, or in the store that
            MLFLOW_TRACKING_URI names).
        out: a folder. The files go to FOLDER/PAPER (default: RLVR_HOME/results). out=results replaces the pages
            of this repository. FILE.tex: one table per paper, methods x benchmarks, with booktabs and graphicx.

    Raises:
        UsageError: a name that does not exist, or nothing measured.
    """
    from harness.spec.catalogue import BrokenPaper, papers

    chosen = choose("paper", paper, papers())
    folder = as_folder(out) if out is not None else results_folder()
    from harness.record.find import runs as find_runs
    from harness.tables.tabulate import report as tabulated

    selected = find_runs(*(runs or ()))
    if not selected:
        hint = "found none; in a checkout runs=results/records takes the runs that it was measured with"
        raise UsageError(f"expected finished runs under RLVR_HOME, or in MLFLOW_TRACKING_URI's store, {hint}")
    reports = {}
    for key in chosen:
        try:
            reports[key] = tabulated(key, selected)
        except BrokenPaper as error:
            if paper is not None:
                raise
            logger.warning(f"skipped {key}: {error}")
    for key, made in reports.items():
        for path in made.write(folder / key):
            logger.info(f"wrote {path}")
    page = "\n".join(made.markdown() for made in reports.values())
    cells = [{"paper": key, **row} for key, made in reports.items() for row in made.rows]
    result = Page([made.as_dict() for made in reports.values()], page, cells)
    result.latex = "\n".join(made.latex for made in reports.values())
    return result


def analyze(
    runs: Sequence[str],
    *,
    names: Sequence[str] | None = None,
    benchmarks: Sequence[str] | None = None,
    only: Sequence[str] | None = None,
    out: PathLike | None = None,
    data_dir: PathLike | None = None,
    samples: int | None = None,
) -> Result:
    """Draw the papers' figures, and compute their numbers, for some runs.

    The texts that a model reads or generates are cached under RLVR_HOME. The same command resumes.

    Args:
        runs: the runs, the base model first. Each is a run's folder, the folder of an evaluation, a file of verdicts
            (as `rlvr grade out=FILE` writes), or the beginning of a name that `rlvr show` prints. Join the training
            seeds of one method with commas, in quotes that the shell keeps: 'runs=[A,"B0,B1,B2"]'.
        names: names for the legends (default: the arms).
        benchmarks: use only these benchmarks (default: all that all runs have).
        only: families of figures to draw. A wrong name lists them. Families that generate text with the models, such as
            interventions, run only if you name them.
        out: a folder: svg, png, pdf and csv per figure, and an index page (default: RLVR_HOME/results/analyses/NAMES,
            with a hash if the folder contains figures of other runs).
        data_dir: a folder with the benchmarks' files, instead of the hub. The prompts are rendered again from them.
        samples: number of continuations of each changed response, in interventions (default: 8).

    Raises:
        UsageError: a run or an option that cannot be used.
        EngineError: the engine stopped; what was sampled is kept, and the same call resumes.
    """
    from harness.record.find import check_names

    if samples is not None and samples < 1:
        raise UsageError(f"samples: expected at least 1, got {samples}")
    folder = None if out is None else as_folder(out)
    families = _families(only)
    if "interventions" not in (only or ()):
        refuse_unused("without only=interventions", samples=samples)
    check_names(*runs)
    from harness.analysis.analyze import analyze as plotted
    from harness.analysis.analyze import common_benchmarks
    from harness.analysis.material import Material
    from harness.analysis.runs import read_runs

    models = read_runs(runs, names, data_dir=_place(data_dir))
    shared = common_benchmarks(models, benchmarks)
    material = Material(models, shared, _cache(), **({} if samples is None else {"samples": samples}))
    if folder is None:
        folder = results_folder() / "analyses" / _joined(m.name for m in models)
        those = [str(run.folder) for m in models for run in m.sources]
        if (read_object(folder / "analysis.json") or {}).get("runs", those) != those:  # figures of other runs
            folder = folder.with_name(f"{folder.name}-{text_sha256(' '.join(those))[:8]}")
    command = COMMAND_LINE.get() or f"rlvr.analyze({runs!r})"
    made = plotted(material, only=families, out=folder, command=command)
    lines = [f"{folder}:", *(f"  {f['family']}/{f['name']}.svg: {f['title']}" for f in made["figures"])]
    lines += [f"skipped {text}" for text in made["skipped"]]
    lines.append(f"index: {folder / 'README.md'}")
    return Result({"folder": str(folder), **made}, "\n".join(lines), made["figures"])


def report(
    paper: str,
    *,
    runs: Sequence[str] | None = None,
    scale: str | None = None,
    model: str | None = None,
    arm: Sequence[str] | None = None,
    only: Sequence[str] | None = None,
    curves: Sequence[str] | None = None,
    tokens: bool = True,
    data_dir: PathLike | None = None,
    watch: int | None = None,
    out: PathLike | None = None,
) -> Result:
    """Write a paper's claims, tables, figures and responses as one HTML file.

        rlvr report paper=egsw
        rlvr report paper=egsw watch=30 only=none

    Args:
        paper: the paper's key. `rlvr list` shows the keys. For runs of no paper, type `rlvr page`.
        runs: the runs to use: folders of runs, or archives (default: all runs in RLVR_HOME).
        scale: the scale of the runs (default: paper, if it was measured).
        model: the base model of figures and responses (default: the first that was measured).
        arm: the arms in figures and responses (default: the arms of the paper's claims).
        only: families of figures to draw, as in `rlvr analyze`. none: only the figures of the scores.
        curves: other tools' training curves (`rlvr curves`) to draw beside these runs. Join the seeds of one method
            with commas.
        tokens: false: show responses without entropies. Together with only=none, the command then loads no model.
        data_dir: a folder with the benchmarks' files, instead of the hub. The prompts are rendered again from them.
        watch: seconds between two versions of the page, which then shows the step and reward of each training. It runs
            until Ctrl-C, and an open page reloads itself.
        out: FILE.html (default: RLVR_HOME/results/PAPER/report-SCALE.html).

    Raises:
        UsageError: nothing measured, or a name that does not exist.
    """
    families = _families_or_none(only, curves)

    def content() -> Content:
        return _of_paper(paper, runs or (), scale, model, arm, families, curves or (), tokens, data_dir)

    return _page(content, out, watch=watch, paper=paper)


def page(
    runs: Sequence[str],
    *,
    only: Sequence[str] | None = None,
    curves: Sequence[str] | None = None,
    tokens: bool = True,
    data_dir: PathLike | None = None,
    watch: int | None = None,
    out: PathLike | None = None,
) -> Result:
    """Write any runs' scores, differences, figures and responses as one HTML file.

        rlvr page A B

    Args:
        runs: the runs, separated by spaces, in the forms of `rlvr compare`. Join the seeds of one method with commas:
            A0,A1,A2 B. Differences are the first run minus each later one, as in `rlvr compare A B`.
        only: families of figures to draw, as in `rlvr analyze`. none: only the figures of the scores.
        curves: other tools' training curves (`rlvr curves`) to draw beside these runs. Join the seeds of one method
            with commas.
        tokens: false: show responses without entropies. Together with only=none, the command then loads no model.
        data_dir: a folder with the benchmarks' files, instead of the hub. The prompts are rendered again from them.
        watch: seconds between two versions of the page, which then shows the step and reward of each training. It runs
            until Ctrl-C, and an open page reloads itself.
        out: FILE.html (default: RLVR_HOME/results/runs/NAMES.html).

    Raises:
        UsageError: nothing measured, or a name that does not exist.
    """
    families = _families_or_none(only, curves)
    return _page(lambda: _of_runs(runs, curves or (), families, tokens, data_dir), out, watch=watch)


def _page(
    content: Callable[[], Content], out: PathLike | None, *, watch: int | None, paper: str | None = None
) -> Result:
    """A page written once, or with `watch` every so many seconds until Ctrl-C.

    Args:
        content: the page as it is now, and its usual place.
        paper: whose trainings a watched page lists; None: all.
    """
    from evals.files import write_text
    from harness.report.page import render

    if watch is not None and watch < 1:
        raise UsageError(f"watch: expected seconds >= 1, got {watch}")
    if out is not None and Path(out).suffix not in (".html", ".htm"):
        raise UsageError(f"out={os.fspath(out)}: expected FILE.html")

    def made(refresh: int | None = None) -> Content:
        document, place, show = content()
        if refresh is not None:
            document = replace(document, refresh=refresh, running=_training(paper))
        document = replace(document, made=f"Made by rlvr-harness {version('rlvr-harness')} on {date.today():%Y-%m-%d}.")
        path = Path(out) if out is not None else place
        write_text(path, render(document))
        return document, path, show

    pages = 0
    try:
        while watch is not None:
            document, path, _ = made(watch)
            pages += 1
            running = f"runs in training: {len(document.running)}"
            logger.info(f"{path}: {running}; again in {watch} s, Ctrl-C ends")
            time.sleep(watch)
    except KeyboardInterrupt:
        if not pages:  # the first was interrupted, maybe an import of it
            raise
    document, path, show = made()
    _in_mlflow(document, path, show)
    return _written(document, path)


def _in_mlflow(document: Document, path: Path, show: Callable[[Path, Mapping[str, str]], None]) -> None:
    """Show a page in MLflow, where there is a store; one that cannot be used costs the page nothing."""
    from harness.record.pages import has_store
    from harness.runs.track import StoreError

    if has_store():
        try:
            show(path, {figure.name: figure.svg for _, figures in document.figures for figure in figures})
        except StoreError as error:
            logger.warning(f"not in MLflow: {error}")


def _written(document: Document, path: Path) -> Result:
    """The lines about a page on the terminal."""
    claims = [{"text": c.text, "where": c.where, "outcome": c.outcome, "missing": c.missing} for c in document.claims]
    tables = [
        {"table": grid.caption, **dict(zip(grid.header, row, strict=True))}
        for grid in (*document.results, *document.compared)
        for row in grid.rows
    ]
    figures = sum(len(figures) for _, figures in document.figures)
    kept, responses = (document.viewer["kept"], document.viewer["of"]) if document.viewer else (0, 0)
    counts = {"figures": figures, "responses_kept": kept, "responses": responses}
    facts = {"file": str(path), "scale": document.scale, "claims": claims, "notes": document.notes, **counts}
    at = f"[{document.scale} scale] " if document.scale else ""
    lines = [f"{at}{c['outcome']}: {c['text']} ({c['where']})" for c in claims]
    lines += [f"{at}note: {shorten(note, NOTE, placeholder=' ... (whole on the page)')}" for note in document.notes]
    lines.append(f"{at}{path}: {figures} figure{'s' * (figures != 1)}, {kept} of {responses} responses")
    grids = [
        Table([dict(grid.names).get(name, name) for name in grid.header], grid.rows)
        for grid in (() if claims else (*document.results, *document.compared))
    ]
    return Result(facts, "\n".join(lines), claims or tables, printed=grids)


def _of_paper(
    paper: str,
    runs: Sequence[str],
    scale: str | None,
    model: str | None,
    arms: Sequence[str] | None,
    only: Sequence[str] | None,
    curves: Sequence[str],
    tokens: bool,
    data_dir: PathLike | None,
) -> Content:
    """A paper's report."""
    from harness.record.find import beginning
    from harness.spec.catalogue import load, papers
    from harness.spec.scales import SCALES

    if paper not in papers() and (Path(paper).is_dir() or beginning(paper)):
        raise UsageError(f"paper={paper}: a run. rlvr page {paper} makes a page of any runs, a report is of a paper")
    choose("paper", [paper], papers())
    choose("scale", None if scale is None else [scale], SCALES)
    from harness.analysis.analyze import common_benchmarks
    from harness.record.find import runs as find_runs
    from harness.record.pages import show_report
    from harness.report.data import choose_arms, document, read_models

    declared = load(paper)
    chosen = choose_arms(declared, find_runs(*runs), scale=scale, model=model, arms=arms)
    logger.info("reading responses, drawing figures")
    models, notes = read_models(chosen, data_dir=_place(data_dir))
    answered = [model for model in models if model.subject.tables]
    plotted, skipped = _plotted(models, curves, only, common_benchmarks(answered, None))
    content = document(
        declared, chosen, answered, plotted, [*notes, *skipped], tokens=_cache() / "tokens" if tokens else None
    )
    place = results_folder() / paper / f"report-{chosen.scale}.html"
    return content, place, partial(show_report, paper, chosen.scale)


def _plotted(
    models: Sequence[Analysed], curves: Sequence[str], only: Sequence[str] | None, benchmarks: Sequence[str]
) -> tuple[dict[str, list[Plot]], list[str]]:
    """(title of a family -> its figures, with imported curves beside the runs; notes on those that were skipped)."""
    from harness.analysis.families import families, plot_all
    from harness.analysis.material import Material
    from harness.analysis.runs import read_runs
    from harness.record.find import check_names

    check_names(*curves)
    every = [*models, *read_runs(curves, None, data_dir=None)]
    names = [model.name for model in every]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"curves: {twice}: expected a name that no other run has. `rlvr curves name=...` gives it")
    plotted, skipped = plot_all(Material(every, benchmarks, _cache()), only) if every else ({}, [])
    return {families()[name].title: plots for name, plots in plotted.items()}, [f"Figures of {s}" for s in skipped]


def _of_runs(
    names: Sequence[str], curves: Sequence[str], only: list[str] | None, tokens: bool, data_dir: PathLike | None
) -> Content:
    """A page on any runs."""
    from harness.analysis.analyze import common_benchmarks
    from harness.analysis.runs import read_runs
    from harness.record.find import check_names
    from harness.record.pages import show_page
    from harness.report.data import document_of_runs

    check_names(*names)
    models = read_runs(names, None, data_dir=_place(data_dir))
    trained = curves or any(run.curve for model in models for run in model.sources)
    if only is None:
        only = ["training", "evaluation"] if trained else ["verdicts"]
    benchmarks = common_benchmarks(models, None) if only else []
    plotted, skipped = _plotted(models, curves, only, benchmarks)
    content = document_of_runs(models, plotted, skipped, tokens=_cache() / "tokens" if tokens else None)
    place = results_folder() / "runs" / f"{_joined(map(_page_name, models))}.html"
    return content, place, partial(show_page, [run for model in models for run in model.sources])


def _page_name(model: Analysed) -> str:
    """The part that tells its runs apart from others of this name: a training's folder, or a hash of several
    folders."""
    folders = [run.folder for run in model.sources]
    if len(folders) > 1:
        return f"{model.name}-{text_sha256(' '.join(map(str, folders)))[:8]}"
    return folders[0].name if model.sources[0].record.get("kind") == "arm" else model.name


def _joined(names: Iterable[str]) -> str:
    """A file's name from the names of runs: at most 120 characters, then with a hash of all."""
    name = "-".join(map(file_name, names))
    return name if len(name) <= 120 else f"{name[:110]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _training(paper: str | None) -> tuple[str, ...]:
    """The training under way, with its last step and reward."""
    from evals.stats.score import number_text
    from harness.record.state import job_states
    from harness.runs.track import home

    states = [s for s in job_states(home()) if s.state == "running" and paper in (None, s.paper)]
    return tuple(f"{s.name}: step {s.step or 0}, reward {number_text(s.reward, form='.3f')}" for s in states)


def _place(folder: PathLike | None) -> str | None:
    return None if folder is None else os.fspath(folder)


def _families(only: Sequence[str] | None) -> list[str] | None:
    from harness.analysis.families import families

    return None if only is None else choose("only", list(only), families())


def _families_or_none(only: Sequence[str] | None, curves: Sequence[str] | None) -> list[str] | None:
    if only != ["none"]:
        return _families(only)
    refuse_unused("with only=none: curves are figures", curves=curves)
    return []


def _cache() -> Path:
    from harness.runs.track import home

    return home() / "analysis-cache"

"""The report's content, gathered from the runs and the declaration."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evals.analysis.forks import fork_threshold
from evals.analysis.subjects import Subject
from evals.csv_text import csv_text
from evals.plots.comparison import differences
from evals.plots.plot import Plot
from evals.stats.compare import (
    CompareResult,
    Line,
    compare_runs,
    line_form,
    method_p_text,
    problems_in_both,
    whole_table,
)
from evals.stats.compare_notes import cells, families
from evals.stats.compare_notes import notes as notes_under
from evals.stats.differences import FEW_SEEDS
from evals.stats.intervals import ROUGH
from evals.stats.measured_run import MeasuredRun
from evals.stats.score import bounds_text, meanings, number_text, reported, score_text
from evals.stats.verdict_table import COMPARED
from harness.analysis.questions import shared
from harness.analysis.runs import Analysed, analysed
from harness.analysis.token_cache import token_table
from harness.data.tiny import MADE
from harness.errors import UsageError, nearest
from harness.record.cautions import cautions
from harness.record.find import together
from harness.record.names import readable
from harness.record.run import Run
from harness.report.page import ClaimRow, Document, Figure
from harness.report.viewer import Shown, keep, pack
from harness.spec import Reproduction
from harness.spec.scales import SCALES
from harness.tables.claims import Checked, ClaimEvidence, check_claims, claims_in_words
from harness.tables.controls import control_grid
from harness.tables.differences import difference_grid
from harness.tables.grid import Grid
from harness.tables.measured import Measured, common_overrides, gather, other_versions
from harness.tables.other_scales import scale_grids
from harness.tables.published import published_grids

if TYPE_CHECKING:
    import pandas as pd

TESTED = ("95 % interval", "p (Holm)", "verdict")
MOST = 7  # series in a figure that a reader can distinguish


@dataclass(frozen=True)
class Chosen:
    """The arms of a report, and its note on the omitted ones."""

    scale: str
    measured: tuple[Measured, ...]
    everything: tuple[Measured, ...]  # all of the paper's arms, at all scales
    notes: tuple[str, ...]


def choose_arms(
    paper: Reproduction, runs: Sequence[Run], *, scale: str | None, model: str | None, arms: Sequence[str] | None
) -> Chosen:
    """The measured arms to show: of one scale and one base model, without overrides if such runs exist.

    Args:
        scale: None takes the paper's own where it was measured.
        model: None takes the first that was measured.
        arms: in that order. None takes those of the paper's claims and the base model, at most 7.
    Raises:
        UsageError: nothing measured, or an arm or model that was not.
    """
    everything = gather(paper.key, runs)
    scales = [m.scale for m in everything]
    if scale is None:
        scale = "paper" if "paper" in scales or not scales else scales[0]
    of_scale = [m for m in everything if m.scale == scale]
    models = {m.base: m.model for m in of_scale}
    _check_measured("model", [] if model is None else [model], {**models, **dict.fromkeys(models.values())}, scale)
    model = models.get(model, model) if model else next(iter(models.values()), None)
    of_model = [m for m in of_scale if m.model == model]
    best: dict[str, Measured] = {}  # per arm, the runs with the fewest overrides, the first among equals
    for m in sorted(of_model, key=lambda m: len(m.overrides.split())):
        best.setdefault(m.arm, m)
    if arms is None:
        arms = _claimed(paper, [m.arm for m in of_model])
    _check_measured("arm", arms, best, scale)
    chosen = tuple(best[arm] for arm in arms)
    return Chosen(scale, chosen, tuple(everything), (*_not_shown(chosen, of_scale), *other_versions(chosen)))


def _claimed(paper: Reproduction, arms: Iterable[str]) -> list[str]:
    """The base model and the arms of the paper's claims, at most `MOST`. All arms count for a paper without claims."""
    claimed = {"base", *(name for claim in paper.claims for name in (claim.arm, claim.than))}
    return [arm for arm in dict.fromkeys(arms) if arm in claimed or not paper.claims][:MOST]


def _check_measured(field: str, names: Sequence[str], measured: Collection[str], scale: str) -> None:
    """Raise UsageError for what was asked and not measured at that scale."""
    if missing := [name for name in names if name not in measured]:
        expected = nearest(missing[0], measured) if measured else "Nothing was"
        raise UsageError(f"{field}={missing[0]}: not measured at {scale} scale. {expected}")


def _not_shown(chosen: Sequence[Measured], of_scale: Sequence[Measured]) -> list[str]:
    shown = {id(m) for m in chosen}
    names = [f"{m.base}/{m.label(m.arm)}" for m in of_scale if id(m) not in shown]
    return [f"Measured too, in the tables and not in figures and responses: {', '.join(names)}."] if names else []


def read_models(chosen: Chosen, *, data_dir: str | None) -> tuple[list[Analysed], list[str]]:
    """(the chosen arms, the base model first, as figures require, a note on archives, whose curves alone are kept)"""
    order = sorted(chosen.measured, key=lambda m: m.arm != "base")
    common = common_overrides(chosen.measured)
    counted = [m for m in order if m.seeds]  # every seed of the others diverged or trained nothing
    seeds = {readable(m.label(m.arm, common)): tuple(m.runs[seed] for seed in m.seeds) for m in counted}
    bare = [arm for arm, runs in seeds.items() if not all(run.keeps_responses for run in runs)]
    no_responses = "no responses were kept (an archive has none), so there are no figures of their responses."
    notes = [f"{', '.join(bare)}: {no_responses}"] if bare else []
    curves = {arm: Analysed(Subject(arm, {}), None, "", seeds[arm]) for arm in bare}
    return [curves.get(arm) or analysed(arm, runs, data_dir=data_dir) for arm, runs in seeds.items()], notes


def document(
    paper: Reproduction,
    chosen: Chosen,
    models: Sequence[Analysed],
    plotted: Mapping[str, Sequence[Plot]],
    notes: Sequence[str],
    *,
    tokens: Path | None,
) -> Document:
    """The report's content.

    Args:
        plotted: title of a family -> its figures.
        notes: what was skipped, and why.
        tokens: the cache of token tables. None shows the responses without entropies.
    """
    scale = chosen.scale
    measured = [m for m in chosen.everything if m.scale == scale]
    compared = [grid for grid in (difference_grid(paper, measured), control_grid(paper.key, measured)) if grid]
    published, results = published_grids(paper.key, measured), scale_grids(paper.key, measured)
    if scale == "paper":  # the paper's own tables hold what was measured
        results, published = [*published, *results], []
    viewer, unread = _viewer(models, tokens)
    checked = check_claims(paper, chosen.everything, scale)
    return Document(
        paper=paper.key,
        title=paper.title,
        answer=claims_in_words(checked, scale),
        arxiv=paper.arxiv,
        scale=scale,
        scale_label=SCALES[scale].label,
        warnings=tuple(line for m in measured for line in m.warnings()),
        made_by=_made_by(measured),
        claims=tuple(claim_row(c) for c in checked),
        results=(*results, *compared),
        tables=tuple(published),
        figures=_figures(plotted, paper.arxiv),
        values=values_grid(chosen.measured, every=True),
        assumed=values_grid(chosen.measured, every=False),
        departures=paper.departures,
        doubts=paper.doubts,
        environment=environment_grid(chosen.measured),
        notes=(*chosen.notes, *notes, *unread),
        viewer=viewer,
    )


def document_of_runs(
    models: Sequence[Analysed], plotted: Mapping[str, Sequence[Plot]], notes: Sequence[str], *, tokens: Path | None
) -> Document:
    """The content of a page on any runs: their scores, the differences from the first, their responses. `plotted` and
    `notes` are as of `document`.

    Raises:
        UsageError: runs whose problems or golds differ.
    """
    measured = [together(model.sources, model.name) for model in models]
    pairs = _pairs(measured)
    drawn = tuple(pair.figure for pair in pairs if pair.figure is not None)
    viewer, unread = _viewer(models, tokens, differing=True)
    return Document(
        paper="rlvr",
        title=" and ".join(run.name for run in measured),
        answer=tuple(text for pair in pairs for text in pair.answer),
        scale_label=_scale_label(models, measured),
        warnings=tuple(
            f"Warning, {model.name}: {line}." for model in models for line in cautions(model.sources, unmoved="")
        ),
        made_by=tuple(_place(run) for model in models for run in model.sources),
        results=(_scores_grid(models, measured), *_measured_by(models)),
        compared=tuple(pair.grid for pair in pairs),
        figures=((("Differences", drawn),) if drawn else ()) + _figures(plotted),
        notes=(*notes, *unread),
        viewer=viewer,
    )


def _scores_grid(models: Sequence[Analysed], measured: Sequence[MeasuredRun]) -> Grid:
    """The scores of runs, a row a benchmark and metric."""
    header = ("run", "benchmark", "metric", "value", "samples", "problems", "unscored", "policy")
    rows, shown = [], []
    for run, model in zip(measured, models, strict=True):
        source = model.sources[0]
        for benchmark, table in run.tables.items():
            scores = reported(table, source.ks(benchmark) or [n for n in (table.n,) if n], source.policy(benchmark))
            shown += scores
            policy = (source.graded_by(benchmark) or "–").removeprefix("policy ")
            for s in scores:
                name = f"{s.name}, {s.unit}" if s.unit == "%" else s.name
                counts = (str(s.samples), str(s.problems), str(s.unscored))
                rows.append((run.name, source.title(benchmark), name, score_text(s), *counts, policy))
    rough = (f"{ROUGH}.",) if any(s.interval and s.interval.rough for s in shown) else ()
    return Grid("Scores", header, tuple(rows), (f"{meanings(shown)}.", *rough))


@dataclass(frozen=True)
class _Pair:
    """The part of a page about one run beside the first: in words, drawn, and as a table."""

    answer: list[str]
    figure: Figure | None
    grid: Grid


def _pairs(measured: Sequence[MeasuredRun]) -> list[_Pair]:
    """Each run beside the first. The last table has the note on all of them."""
    first, *later = measured
    comparisons = [compare_runs(first, run, metrics=COMPARED, allow_different=True) for run in later]
    pairs = [
        _pair(first, run, comparison, number)
        for number, (run, comparison) in enumerate(zip(later, comparisons, strict=True))
    ]
    if len(comparisons) > 1 and (whole := whole_table(families(comparisons))):
        grid = pairs[-1].grid
        grid = replace(grid, notes=(*grid.notes, f"All {len(comparisons)} tables: {whole}"))
        pairs[-1] = replace(pairs[-1], grid=grid)
    return pairs


def _pair(first: MeasuredRun, run: MeasuredRun, compared: CompareResult, number: int) -> _Pair:
    """`first` minus `other`, as `rlvr compare FIRST OTHER` says it."""
    unlike = "MEASURED DIFFERENTLY (said below the table): " if compared.different else ""
    words = [line_in_words(line, first.name, run.name) for line in compared.lines if line.metric == "avg"]
    figure = None
    if any(line.low is not None and line.unit == "%" for line in compared.lines):
        plot = differences(compared)
        name = f"differences_{number}" if number else plot.name
        figure = rendered(replace(plot, name=name, title=f"{first.name} minus {run.name}"))
    benchmarks = dict.fromkeys(line.benchmark for line in compared.lines)
    over = [(name, [line for line in compared.lines if line.benchmark == name]) for name in benchmarks]
    grid = Grid(
        f"A: {first.name}; B: {run.name}",
        ("benchmark", "metric", "A", "B", "A - B", *TESTED),
        tuple(map(_compared, compared.lines)),
        (*(f"{name}: {problems_in_both(lines)}." for name, lines in over), *notes_under(compared)),
        names=(("A", first.name), ("B", run.name), ("A - B", "difference")),
    )
    return _Pair([f"{unlike}{text}" for text in words], figure, grid)


def _scale_label(models: Sequence[Analysed], measured: Sequence[MeasuredRun]) -> str:
    """The label of the first scale that is not the paper's, or "" without one."""
    records = [run.record for model in models for run in model.sources]
    scale = next((r["scale_label"] for r in records if r.get("scale", "paper") != "paper"), "")
    on_made_up = any(benchmark in MADE for run in measured for benchmark in run.tables)
    return str(scale or (SCALES["tiny"].label if on_made_up else ""))


def line_in_words(line: Line, a: str, b: str) -> str:
    """ "sums: A 52.0, B 48.5 %; A minus B +3.5 points [-1.0, +8.0]: not resolved." """
    values = f"{a} {number_text(line.a, line.factor)} %, {b} {number_text(line.b, line.factor)} %"
    values += f" on the {line.problems} problems with a value in both" if line.excluded else ""
    if line.difference is None or line.interval is None:
        return f"{line.benchmark}: {values}" + (f" ({line.why})." if line.why else ".")
    form = line_form(line)
    gain = f"{number_text(line.difference, line.factor, form)} points {bounds_text(line.interval, line.factor, form)}"
    verdict = line.verdict.replace("A ", f"{a} is ").replace("B ", f"{b} is ")
    return f"{line.benchmark}: {values}; {a} minus {b} {gain}: {verdict}."


def _place(run: Run) -> str:
    """The file of graded answers, or the folder, that a run was read from."""
    files = {path for path in run.tables.values() if path.suffix == ".jsonl"}
    return str(files.pop() if len(files) == 1 else run.folder)


def _measured_by(models: Sequence[Analysed]) -> list[Grid]:
    """How the first seed of each run was measured, a row a benchmark. Nothing for answers of others."""
    facts = [(m.name, b, run.measured_by(b)) for m in models for run in m.sources[:1] for b in run.tables]
    keys = list(dict.fromkeys(key for *_, how in facts for key in how))
    rows = tuple((name, benchmark, *(str(how.get(key, "–")) for key in keys)) for name, benchmark, how in facts)
    return [Grid("Measured by", ("run", "benchmark", *keys), rows)] if keys else []


def _made_by(measured: Sequence[Measured]) -> tuple[str, ...]:
    if not measured:
        return ("Nothing was measured at this scale in this store.",)
    commands = sorted({c for m in measured for c in m.commands if c})
    commits = sorted({c for m in measured for c in m.commits})
    return (f"Measured by {'; '.join(commands) or 'an unknown command'}, with code at {', '.join(commits)}.",)


def claim_row(c: Checked) -> ClaimRow:
    """A checked claim in words."""
    if not c.evidence:
        return ClaimRow(c.claim.text, c.claim.where, c.outcome, None, c.missing)
    grid = Grid(
        f"{c.claim.arm} − {c.claim.than}, claimed to be {c.claim.direction}",
        ("benchmark", "model", "metric", c.claim.arm, c.claim.than, "difference", *TESTED),
        tuple(map(_evidence, c.evidence)),
        (
            *(f"{e.line.benchmark}: {e.line.why}" for e in c.evidence if e.line.why),
            *dict.fromkeys(f"On {e.model}, with {e.overrides}." for e in c.evidence if e.overrides),
            f"Family of the p-values: {c.family}.",
            *((f"{FEW_SEEDS}.",) if c.outcome == "few seeds" else ()),
        ),
    )
    return ClaimRow(c.claim.text, c.claim.where, c.outcome, grid, c.missing)


def _evidence(e: ClaimEvidence) -> tuple[str, ...]:
    """The cells of a compared pair."""
    line, form = e.line, line_form(e.line)
    values = [number_text(v, line.factor, form.lstrip("+")) for v in (line.a, line.b)]
    values += [number_text(line.difference, line.factor, form), bounds_text(line.interval, line.factor, form)]
    p_value = method_p_text(line, e.p_margin)
    return (line.benchmark, e.model, f"{line.name} ({line.unit})", *values, p_value, line.verdict)


def _compared(line: Line) -> tuple[str, ...]:
    _, *values = cells(line)
    return (line.benchmark, f"{line.name} ({line.unit})", *values)


def _figures(
    plotted: Mapping[str, Sequence[Plot]], arxiv: str | None = None
) -> tuple[tuple[str, tuple[Figure, ...]], ...]:
    return tuple((title, tuple(rendered(plot, arxiv) for plot in plots)) for title, plots in plotted.items() if plots)


def rendered(plot: Plot, arxiv: str | None = None) -> Figure:
    """A plot as the page wants it. Its source is named in the report of the paper `arxiv` alone: elsewhere neither the
    runs nor the benchmarks are that paper's."""
    svg, numbers = plot.rendered("svg").decode(), csv_text(plot.numbers)
    source = "; ".join(part for part in plot.source.split("; ") if arxiv and arxiv in part)
    return Figure(plot.name, plot.title, plot.caption, source, svg, numbers)


def values_grid(measured: Sequence[Measured], *, every: bool) -> Grid:
    """The values of the runs with their sources: all, or those that the paper does not state."""
    arms: dict[tuple[str, ...], list[str]] = {}
    for m in measured:
        settings = next(iter(m.runs.values())).settings if m.runs else {}
        for key, sourced in settings.items():
            if every or sourced["origin"] in ("assumed", "scale", "user"):
                was = sourced.get("was")
                note = sourced.get("note") or ""
                if was:
                    note += f" (was {_plain(was['value'])}, {was['origin']}: {was['note']})"
                arms.setdefault((key, _plain(sourced["value"]), sourced["origin"], note), []).append(m.arm)
    rows = [(*row, "all" if len(names) == len(measured) else ", ".join(names)) for row, names in sorted(arms.items())]
    caption = "All values and their sources" if every else "Values that the paper does not state, or that were replaced"
    return Grid(caption, ("value", "is", "origin", "source, or why", "arms"), tuple(rows))


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def environment_grid(measured: Sequence[Measured]) -> Grid:
    """Code, versions and machine. One column for each environment that a run had."""
    runs_of: dict[str, list[str]] = {}
    for m in measured:
        for seed, run in m.runs.items():
            record = run.record
            environment = {k: v for k, v in record["environment"].items() if k not in ("command", "packages")}
            environment |= record["environment"].get("packages", {})
            environment["gpus"] = ", ".join(record.get("hardware", {}).get("gpus", [])) or "none"
            runs_of.setdefault(json.dumps(environment), []).append(f"{m.arm} (seed {seed})")
    columns = [json.loads(text) for text in runs_of]
    keys = list(dict.fromkeys(key for column in columns for key in column))
    rows = [(key, *(_plain(column.get(key, "–")) for column in columns)) for key in keys]
    runs = ["all runs"] if len(runs_of) == 1 else [", ".join(names) for names in runs_of.values()]
    return Grid("Environment", ("", *runs), tuple(rows))


def _viewer(
    models: Sequence[Analysed], cache: Path | None, *, differing: bool = False
) -> tuple[dict[str, object] | None, list[str]]:
    """(the responses, packed, notes on those that could not be read)."""
    responses: list[Shown] = []
    forks: dict[str, float] = {}
    notes: list[str] = []
    question_texts = shared([model.questions for model in models])
    for model in models:
        read = model.readable if cache is not None else None
        if read is None and cache is not None and model.subject.tables:  # an archive has no responses
            notes.append(f"{model.name}: responses without entropies ({model.unread}).")
        tables = {} if read is None or cache is None else {b: token_table(read, b, cache) for b in read.tables}
        if entropies := [h for table in tables.values() for h in table["entropy"]]:
            forks[model.name] = fork_threshold(entropies)
        subject = read or model.subject
        for benchmark, verdicts in subject.tables.items():
            prompts = subject.prompts.get(benchmark, {})
            texts = {problem: text for (name, problem), text in question_texts.items() if name == benchmark}
            responses += _shown(model.name, benchmark, verdicts, prompts, tables.get(benchmark), texts)
        if read is not None and len(model.sources) > 1:
            notes.append(f"{model.name}: the responses shown are those of the first of {len(model.sources)} seeds.")
    kept = keep(responses)
    return (pack(kept, forks, total=len(responses), differing=differing) if kept else None), notes


def _shown(
    name: str,
    benchmark: str,
    verdicts: pd.DataFrame,
    prompts: Mapping[str, str],
    tokens: pd.DataFrame | None,
    questions: Mapping[str, str],
) -> list[Shown]:
    by_sample = {} if tokens is None else dict(iter(tokens.groupby(["problem_id", "sample"], sort=False)))
    seeded = "train_seed" in verdicts
    shown = []
    for row in verdicts.to_dict("records"):
        token_rows = by_sample.get((row["problem_id"], row["sample"]))
        read = tokens is not None  # a response without a token has no row
        shown.append(
            Shown(
                run=name,
                benchmark=benchmark,
                problem=str(row["problem_id"]),
                sample=int(row["sample"]),
                seed=int(row["train_seed"]) if seeded else None,
                verdict=str(row["verdict"]),
                answer=_known(row.get("answer")),
                gold=str(row["gold"]),
                prompt=prompts.get(str(row["problem_id"])),
                question=questions.get(str(row["problem_id"])),
                text=str(row["response"]),
                tokens=(tuple(token_rows["token"]) if token_rows is not None else ()) if read else None,
                entropies=(tuple(map(float, token_rows["entropy"])) if token_rows is not None else ())
                if read
                else None,
                length=None if _known(row.get("tokens")) is None else int(row["tokens"]),
                reason=_known(row.get("reason")) if row["verdict"] == "unscored" else None,
            )
        )
    return shown


def _known(value: object) -> str | None:
    """A cell as text, or None if it is null (pandas turns some nulls into NaN)."""
    return None if value is None or value != value else str(value)

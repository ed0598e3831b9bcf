"""The commands `rlvr analyze` and `rlvr report`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.config import UsageError, choose, no_more, parse_overrides, take, take_list, take_number

ANALYZE = """options:
  runs=[A,B,C]           required; the base model first. Each is a job's folder, a folder of an evaluation, or the
                         MLflow run id of an arm; the training seeds of one method are joined by commas and quoted:
                         runs=[A,"B0,B1,B2"]
  names=[base,ours]      what legends call them (default: the arms)
  benchmarks=[A,B]       some of those that all runs have
  only=family,...        verdicts, unsolvable, training, tokens, words; interventions (which generates text with the
                         models, and runs only when it is named). Default: all but interventions
  embedder=ngrams        for rare sentences: ngrams, sbert, or the folder of a sentence-transformers model
  continuations=8        of each changed response, in interventions
  sure=1.0               in interventions, responses are perturbed to problems of which that share of samples is right
  data_dir=FOLDER        the benchmarks' files, instead of the hub (to render the prompts again)
  out=FOLDER             default analyses/NAMES; per figure svg, png, csv and json, and an index page
What was read with a model is kept under RLVR_HOME: started again, it goes on where it was."""
REPORT = """options:
  paper=KEY              required; see `rlvr list`
  scale=paper|tiny       default: the paper's where it was measured
  model=KEY              the base model of figures and responses (default: the first that was measured)
  arm=[A,B]              the arms in figures and responses (default: those of the paper's claims)
  only=family,...        figures, as of `rlvr analyze` (none: no figures)
  benchmarks=[A,B]       figures of some of those that all arms have
  tokens=false           show responses without entropies: no model is loaded
  embedder=ngrams  data_dir=FOLDER   as of `rlvr analyze`
  out=FILE.html          default reports/KEY-SCALE.html"""


def do_analyze(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    runs = take_list(values, "runs")
    if not runs:
        raise UsageError("runs: missing; give runs=[A,B]")
    names, benchmarks, only = (take_list(values, key) for key in ("names", "benchmarks", "only"))
    embedder, data_dir = take(values, "embedder", str, "ngrams"), take(values, "data_dir", str)
    continuations, out = take(values, "continuations", int, 8), take(values, "out", str)
    if continuations < 1:
        raise UsageError(f"continuations: expected at least 1, got {continuations}")
    sure = take_number(values, "sure", 1.0)
    if not 0 < sure <= 1:
        raise UsageError(f"sure: expected a number in (0, 1], got {sure}")
    no_more(values, ("runs", "names", "benchmarks", "only", "embedder", "continuations", "sure", "data_dir", "out"))
    from harness.analysis.runs import check_names

    check_names(runs)
    only = _families(only)
    from harness.analysis.analyze import analyze, common_benchmarks
    from harness.analysis.families import Material
    from harness.analysis.runs import read_runs

    cache = _cache()
    models = read_runs(runs, names, data_dir=data_dir, cache=cache / "mlflow")
    material = Material(models, common_benchmarks(models, benchmarks), cache, embedder, continuations, sure)
    folder = Path(out) if out is not None else Path("analyses") / "-".join(m.name.replace("/", "_") for m in models)
    command = "rlvr analyze " + " ".join(arguments.options)
    result = analyze(material, only=only, out=folder, command=command)
    if arguments.json:
        print(json.dumps(result.as_dict(), indent=2))
        return 0
    for figure in result.figures:
        print(f"{folder / figure['family'] / figure['name']}.svg: {figure['title']}")
    for text in result.left_out:
        print(f"left out {text}")
    print(f"index: {folder / 'README.md'}; in MLflow: {result.run_id}", file=sys.stderr)
    return 0


def do_report(arguments: Any) -> int:
    from harness.catalogue import load, papers
    from harness.scales import SCALES

    values = parse_overrides(arguments.options)
    key = take(values, "paper", str, required=True)
    choose("paper", [key], papers())
    scale, model, arms = take(values, "scale", str), take(values, "model", str), take_list(values, "arm")
    if scale is not None:
        choose("scale", [scale], SCALES)
    only, benchmarks = take_list(values, "only"), take_list(values, "benchmarks")
    tokens = take(values, "tokens", bool, True)
    embedder, data_dir = take(values, "embedder", str, "ngrams"), take(values, "data_dir", str)
    out = take(values, "out", str)
    valid = ("paper", "scale", "model", "arm", "only", "benchmarks", "tokens", "embedder", "data_dir", "out")
    no_more(values, valid)
    families = [] if only == ["none"] else _families(only)
    from harness.analysis.analyze import common_benchmarks
    from harness.analysis.families import FAMILIES, Material, draw_all
    from harness.report.data import choose_arms, document, read_models
    from harness.report.page import render
    from harness.track import Tracker

    paper = load(key)
    chosen = choose_arms(paper, Tracker.open(), scale=scale, model=model, arms=arms)
    cache = _cache()
    models = read_models(chosen, data_dir=data_dir, cache=cache / "mlflow") if chosen.measured else []
    drawn: dict[str, list[Any]] = {}
    notes: list[str] = []
    if models:
        material = Material(models, common_benchmarks(models, benchmarks), cache, embedder)
        drawn, notes = draw_all(material, families)
    content = document(
        paper,
        chosen,
        models,
        {FAMILIES[name].title: drawings for name, drawings in drawn.items()},
        [f"Figures of {note}" for note in notes],
        tokens=cache / "tokens" if tokens else None,
    )
    path = Path(out) if out is not None else Path("reports") / f"{key}-{chosen.scale}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(content), encoding="utf-8")
    summary = {
        "file": str(path),
        "bytes": path.stat().st_size,
        "scale": chosen.scale,
        "claims": [
            {"text": c.text, "where": c.where, "outcome": c.outcome, "missing": c.missing} for c in content.claims
        ],
        "figures": sum(len(figures) for _, figures in content.figures),
        "responses_kept": content.viewer["kept"] if content.viewer else 0,
        "responses": content.viewer["of"] if content.viewer else 0,
        "notes": list(content.notes),
    }
    if arguments.json:
        print(json.dumps(summary, indent=2))
        return 0
    for claim in content.claims:
        print(f"{claim.outcome}: {claim.text} ({claim.where})")
    for note in content.notes:
        print(f"note: {note}")
    kept = f"{summary['responses_kept']} of {summary['responses']} responses"
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {summary['figures']} figures, {kept}")
    return 0


def _families(only: Sequence[str] | None) -> list[str] | None:
    from harness.analysis.families import FAMILIES

    return None if only is None else choose("only", list(only), FAMILIES)


def _cache() -> Path:
    from harness.track import home

    return home() / "analysis-cache"

"""The command `rlvr probe`: does a model know a benchmark's problems?"""

from __future__ import annotations

import json
from typing import Any

from harness.cli.terminal import paragraph, table
from harness.command.config import UsageError, choose, no_more, parse_overrides, take, take_numbers

PROBE = """options:
  model=PATH_OR_HUB_ID   required; a base model as a rule: it continues plain text
  benchmark=NAME         required
  control=NAME           required: a benchmark of the same kind, published after the model (see `rlvr list`)
  shares=[0.4,0.6,0.8]   of a problem's text, which the model continues
  rows=N                 the first N problems of both (default: all)
  max_tokens=512         of a continuation
  data_dir=FOLDER        benchmark files instead of the hub
  engine=NAME  engine.KEY=VALUE   as of `rlvr eval`; openai must serve plain completions
The verdict is leak, no sign or cannot tell; docs/leaks.md says what each can mean."""


def do_probe(arguments: Any) -> int:
    from evals.data import benchmarks, dates
    from harness.cli.engine_options import take_engine

    values = parse_overrides(arguments.options)
    model = take(values, "model", str, required=True)
    names = {key: take(values, key, str, required=True) for key in ("benchmark", "control")}
    for key, name in names.items():
        choose(key, [name], benchmarks.names())
        if benchmarks.task(name)["tag"][0] == "rlvr_program":
            raise UsageError(f"{key}={name}: expected a benchmark with written answers or choices, got programs")
    if names["benchmark"] == names["control"]:
        raise UsageError(f"control={names['control']}: expected another benchmark than the one that is probed")
    shares = take_numbers(values, "shares", float) or [0.4, 0.6, 0.8]
    if strange := [share for share in shares if not 0 < share < 1]:
        raise UsageError(f"shares: expected numbers between 0 and 1, got {strange[0]:g}")
    rows, max_tokens = take(values, "rows", int), take(values, "max_tokens", int, 512)
    data_dir = take(values, "data_dir", str)
    engine = take_engine(values, model)
    no_more(values, ("model", "benchmark", "control", "shares", "rows", "max_tokens", "data_dir", "engine"))
    from evals.analysis.leaks import probe

    try:
        # in the file's order of the choices, and in another
        loaded, other = (
            {n: benchmarks.load(n, data_dir=data_dir, choice_seed=seed).first(rows).problems for n in names.values()}
            for seed in (None, 1)
        )
        shuffled = {n: own for n, own in other.items() if own[0].choices}
        first, second = ((name, loaded[name]) for name in names.values())
        report = probe(model, engine, first, second, shares=shares, max_tokens=max_tokens, shuffled=shuffled)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    ages: dict[str, str] = {name: dates.age(name, model) for name in names.values()}
    if arguments.json:
        print(json.dumps({**report.as_dict(), "ages": ages}, indent=2))
        return 0
    print(as_text(report, ages))
    return 0


def as_text(report: Any, ages: dict[str, str]) -> str:
    """The probes and the verdict, 80 columns wide."""

    def share(rate: Any) -> str:
        if rate.value is None:
            return "–"
        low, high = rate.interval
        return f"{100 * rate.value:.0f} [{100 * low:.0f}, {100 * high:.0f}]"

    rows = [
        (
            p.name,
            share(p.benchmark),
            share(p.control),
            "–" if p.low is None else f"{100 * p.difference:+.0f} [{100 * p.low:+.0f}, {100 * p.high:+.0f}]",
            f"{p.p_holm:.2g}",
        )
        for p in report.probes
    ]
    header = ("probe", "benchmark, %", "control, %", "difference", "p (Holm)")
    sizes = {side: max(getattr(p, side).problems for p in report.probes) for side in ("benchmark", "control")}
    lines = [
        paragraph(f"model: {report.model}"),
        paragraph(f"benchmark: {report.benchmark}, {sizes['benchmark']} problems, {ages[report.benchmark]}"),
        paragraph(f"control: {report.control}, {sizes['control']} problems, {ages[report.control]}"),
        "",
        table(header, rows),
        "",
        paragraph(f"verdict: {report.verdict}. {report.why}."),
    ]
    if ages[report.control] == "older than the model":
        lines.append(paragraph("The control is older than the model too: it may be known as well, which hides a leak."))
    return "\n".join(lines)

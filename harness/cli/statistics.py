"""The commands `rlvr compare` and `rlvr power`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.cli.reading import READING, READING_KEYS, take_reading
from harness.command.config import no_more, parse_overrides, take, take_list, take_number, take_numbers
from harness.errors import UsageError, choose

COMPARE = f"""RUN is a job's folder, the folder of an evaluation, a file of verdicts (verdicts.parquet, or what
`rlvr grade out=FILE` wrote), a file of answers that `rlvr grade` reads (lm-eval, inspect, TRL, ...), or the MLflow
run id of an arm; join the training seeds of one method by commas: a0,a1,a2.
Differences are RUN_A minus RUN_B.
options:
  metrics=[avg,pass,maj] and g_pass, unsolvable, fmt, mean_tokens, truncation_rate
  ks=[8,16]              for pass, maj, g_pass, unsolvable (default: the fewest samples of a problem)
  taus=[0.5,1]           for g_pass
  benchmarks=[A,B]       some of those in both runs
  figure=FILE.svg|.png   plot the differences
  allow_different=true   compare even if protocol, prompt, decoding or data differ; the output says what differs
  margin=0.01            a difference up to this size (a fraction) counts as none: adds the verdict equal
of files of answers:
{READING}"""
POWER = """options:
  difference=0.05        required; between the two methods' scores, as a fraction
  benchmark=NAME         its number of problems, and what is published about its noise
  problems=30            how many problems (default: the benchmark's)
  samples=[1,4,16,64]  seeds=[1,3,5,10]   what to try
  power=0.8  level=0.95  the chance to resolve the difference, and of the interval
  from=RUN  versus=RUN   measure the noise on a run (see `rlvr compare --help`), the correlation on two
  within_sd= between_sd= interaction_sd= seed_sd= correlation= effect_sd=
                         the model's values (fractions), evals/stats/power.py"""


def do_compare(arguments: Any) -> int:
    from evals.plots.comparison import check_figure, write_figure
    from evals.stats.compare import compare_runs
    from evals.stats.verdict_table import METRICS
    from harness.cli.compare_report import as_text
    from harness.runs.find import check_names, load_run

    values = parse_overrides(arguments.options)
    metrics = choose("metrics", take_list(values, "metrics"), METRICS, default=["avg", "pass", "maj"])
    ks, taus = take_numbers(values, "ks", int), take_numbers(values, "taus", float)
    benchmarks, margin = take_list(values, "benchmarks"), take_number(values, "margin")
    if margin is not None and not 0 < margin < 1:
        raise UsageError(f"margin={margin}: expected a fraction between 0 and 1, as 0.01 for one point")
    allow = take(values, "allow_different", bool, False)
    figure = take(values, "figure", str)
    reading, policy = take_reading(values)
    no_more(values, ("metrics", "ks", "taus", "benchmarks", "margin", "allow_different", "figure", *READING_KEYS))
    check_names(arguments.a, arguments.b)
    more: dict[str, Any] = {} if taus is None else {"taus": taus}
    try:
        if figure is not None:
            check_figure(Path(figure))
        result = compare_runs(
            load_run(arguments.a, reading, policy),
            load_run(arguments.b, reading, policy),
            metrics=metrics,
            ks=ks,
            benchmarks=benchmarks,
            margin=margin,
            allow_different=allow,
            **more,
        )
        if figure is not None:
            write_figure(result, Path(figure))
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(json.dumps(result.as_dict(), indent=2) if arguments.json else as_text(result))
    return 0


def do_power(arguments: Any) -> int:
    from evals.data import benchmarks
    from evals.stats.power import default_spread, measured_spread, power
    from harness.cli.terminal import wrapped
    from harness.runs.find import check_names, load_run

    values = parse_overrides(arguments.options)
    difference = take_number(values, "difference", required=True)
    benchmark = take(values, "benchmark", str)
    if benchmark is not None:
        choose("benchmark", [benchmark], benchmarks.names())
    source, versus = take(values, "from", str), take(values, "versus", str)
    if versus is not None and source is None:
        raise UsageError(f"versus={versus}: needs from=RUN, which is missing")
    check_names(*(text for text in (source, versus) if text is not None))
    problems = take(values, "problems", int)
    samples = take_numbers(values, "samples", int) or [1, 4, 16, 64]
    seeds = take_numbers(values, "seeds", int) or [1, 3, 5, 10]
    wanted, level = take_number(values, "power", 0.8), take_number(values, "level", 0.95)
    try:
        spread = default_spread(benchmark or "")
        keys = list(spread.sourced())
        given = {key: take_number(values, key) for key in keys if key in values}
        no_more(values, (*_POWER_KEYS, *keys))
        if source is not None:
            runs = [load_run(text) for text in (source, versus) if text is not None]
            names = [name for name in runs[0].tables if name in runs[-1].tables]
            if benchmark is None and len(names) == 1:
                (benchmark,) = names
            if benchmark not in names:
                raise UsageError(f"benchmark={benchmark}: expected one of {', '.join(names) or 'none'}")
            tables = [run.held(benchmark) for run in runs]
            name = source if versus is None else f"{source} and {versus}"
            spread = measured_spread(tables[0], name, fallback=spread, other=tables[1] if versus else None)
        spread = spread.override(given, "command line")
        if problems is None and benchmark is None:
            raise UsageError("benchmark: missing; give benchmark=NAME, problems=N or from=RUN")
        result = power(
            difference,
            benchmark=benchmark or "",
            problems=problems or int(benchmarks.task(benchmark or "")["metadata"]["rows"]),
            samples=samples,
            seeds=seeds,
            wanted=wanted,
            level=level,
            spread=spread,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(json.dumps(result.as_json(), indent=2) if arguments.json else wrapped(str(result)))
    return 0


_POWER_KEYS = ("difference", "benchmark", "problems", "samples", "seeds", "power", "level", "from", "versus")

"""The command `rlvr curves`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.command.config import no_more, parse_overrides, take
from harness.errors import UsageError, choose

CURVES = """options:
  paper=KEY              required; see `rlvr list`
  scale=tiny|paper       default tiny
  metric=BENCHMARK/NAME  e.g. tiny_short/avg_at_4 (default: the mean accuracy of each benchmark)
  out=FOLDER             where the figures go (default results/KEY/curves)"""


def do_curves(arguments: Any) -> int:
    from harness.analysis.accuracy_curves import accuracy_curves, evaluated_runs
    from harness.runs.track import home
    from harness.spec.catalogue import papers
    from harness.spec.scales import SCALES

    values = parse_overrides(arguments.options)
    paper = take(values, "paper", str, required=True)
    choose("paper", [paper], papers())
    scale = take(values, "scale", str, "tiny")
    choose("scale", [scale], SCALES)
    metric = take(values, "metric", str)
    out = Path(take(values, "out", str, f"results/{paper}/curves"))
    no_more(values, ("paper", "scale", "metric", "out"))
    try:
        plots = accuracy_curves(evaluated_runs(home(), paper, scale), scale=scale, metric=metric)
    except ValueError as error:
        raise UsageError(str(error)) from error
    from evals.plots.plot import save

    for plot in plots:
        print(save(plot, out)["svg"])
    return 0

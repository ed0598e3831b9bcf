"""`rlvr eval ... stop=decided`: problems in random order, until a sequential test has decided."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.terminal import paragraph
from harness.command.config import take, take_number
from harness.errors import UsageError, choose

if TYPE_CHECKING:
    from evals.stats.sequential import Decision
    from harness.cli.evaluation import Evaluation


@dataclass(frozen=True)
class Stop:
    """When an evaluation stops.

    Args:
        against: the share of correct responses that the score is compared with. versus: a run whose score on the same
            problems it is compared with (one of the two). alpha: the chance of a wrong decision, at most.
        every: problems between two looks.
    """

    against: float | None
    versus: str | None
    alpha: float
    every: int


def take_stop(values: dict[str, Any]) -> Stop | None:
    """Remove `stop` and its options from `values`; None without `stop`.

    Raises:
        UsageError: an option without stop=decided, or a value that does not fit.
    """
    given = [key for key in ("against", "versus", "alpha", "every") if key in values]
    if "stop" not in values:
        if given:
            raise UsageError(f"{given[0]}={values[given[0]]}: expected stop=decided with it")
        return None
    choose("stop", [take(values, "stop", str)], ("decided",))
    against, versus = take_number(values, "against"), take(values, "versus", str)
    alpha, every = take_number(values, "alpha", 0.05), take(values, "every", int, 16)
    if (against is None) == (versus is None):
        raise UsageError("stop=decided: expected against=SHARE (as 0.5) or versus=RUN, one of them")
    if against is not None and not 0 < against < 1:
        raise UsageError(f"against: expected a share of correct responses in (0, 1), got {against:g}")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha: expected a number in (0, 1), got {alpha:g}")
    if every < 1:
        raise UsageError(f"every: expected a whole number of problems >= 1, got {every}")
    return Stop(against, versus, alpha, every)


def run_until_decided(evaluation: Evaluation, stop: Stop) -> dict[str, Any]:
    """Evaluate problems in an order that the seed decides, until the test has decided or no problem is left.

    Returns:
        the decision, its numbers, and the samples saved.
    Raises:
        UsageError: several benchmarks, or a run without these problems; as `Evaluation.run`.
    """
    from evals.data import benchmarks
    from evals.files import read_parquet
    from evals.provenance import Origin
    from evals.stats.sequential import decide, difference_as_share

    protocol = evaluation.protocol
    if len(protocol.benchmarks.value) != 1:
        raise UsageError(
            f"stop=decided: expected one benchmark, got {', '.join(protocol.benchmarks.value)}; give benchmarks=[NAME]"
        )
    (name,) = protocol.benchmarks.value
    try:
        dataset = benchmarks.load(
            name,
            data_dir=evaluation.data_dir,
            allow_changed_data=evaluation.allow_changed_data,
            choice_seed=protocol.value("choice_seed", name),
        )
        asked = dataset.shuffled(evaluation.seed).first(protocol.value("rows", name))
        order = [problem.id for problem in asked.problems]
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    other = None if stop.versus is None else _of_run(stop.versus, name, order)
    rows = 0
    while True:
        rows = min(len(order), rows + stop.every)
        part = protocol.override({"rows": rows}, Origin.USER, "stop=decided")
        table = replace(evaluation, protocol=part, shuffled=evaluation.seed).run()[name]
        own = shares(read_parquet(table, ["problem_id", "verdict"]).to_pylist())
        seen = [problem for problem in order[:rows] if problem in own]
        if other is None:
            decision = decide([own[p] for p in seen], stop.against or 0.0, alpha=stop.alpha)
        else:
            decision = decide(difference_as_share(own[p] - other[p] for p in seen), 0.5, alpha=stop.alpha)
        print(f"    {rows} of {len(order)} problems: {decision.verdict or 'not decided'}", file=sys.stderr, flush=True)
        if decision.verdict is not None or rows == len(order):
            return _document(decision, stop, name, rows, len(order), protocol.value("n", name), len(seen), table)


def shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Problem -> share of correct responses among those that were scored; problems without one are excluded."""
    counted: dict[str, list[bool]] = {}
    for row in rows:
        if row["verdict"] != "unscored":
            counted.setdefault(row["problem_id"], []).append(row["verdict"] == "correct")
    return {problem: sum(correct) / len(correct) for problem, correct in counted.items()}


def _of_run(text: str, benchmark: str, order: Sequence[str]) -> dict[str, float]:
    from harness.runs.find import load_run

    run = load_run(text)
    if benchmark not in run.tables:
        raise UsageError(f"versus={text}: expected verdicts of {benchmark}, it has {', '.join(run.tables)}")
    table: Any = run.tables[benchmark]
    by_problem = shares(table.to_dict("records"))
    if missing := [problem for problem in order if problem not in by_problem]:
        raise UsageError(f"versus={text}: it has no scored response to {len(missing)} problems, as {missing[0]!r}")
    return by_problem


def _document(
    decision: Decision, stop: Stop, benchmark: str, rows: int, total: int, n: int, used: int, table: Path
) -> dict[str, Any]:
    from evals.stats.sequential import as_difference

    paired = stop.versus is not None
    shown = [as_difference(v) if paired else v for v in (decision.mean, decision.low, decision.high)]
    return {
        "benchmark": benchmark,
        "decided": decision.verdict,
        "against": stop.against,
        "versus": stop.versus,
        "alpha": stop.alpha,
        "mean": shown[0],
        "interval": {"low": shown[1], "high": shown[2], "covers": "other problems of the same kind, at every time"},
        "problems": rows,
        "problems_in_the_test": used,
        "problems_of_the_benchmark": total,
        "samples": rows * n,
        "samples_saved": (total - rows) * n,
        "verdicts": str(table),
    }


def as_text(document: Mapping[str, Any]) -> str:
    """The decision in sentences."""
    paired = document["versus"] is not None
    what = f"the score of {document['versus']}" if paired else f"{100 * document['against']:g} %"
    word = {"above": "above", "below": "below", None: "neither above nor below"}[document["decided"]]
    score = "difference" if paired else "score"
    low, high = (100 * document["interval"][end] for end in ("low", "high"))
    lines = [
        f"{document['benchmark']}: {'decided' if document['decided'] else 'not decided'}: {word} {what}",
        f"{score} so far {100 * document['mean']:.1f}, in [{low:.1f}, {high:.1f}] at every time "
        f"(confidence {100 * (1 - document['alpha']):g} %)",
        f"{document['problems']} of {document['problems_of_the_benchmark']} problems, {document['samples']} samples; "
        f"{document['samples_saved']} samples saved",
    ]
    return "\n".join(paragraph(line) for line in lines)

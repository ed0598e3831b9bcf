"""Do two printed scores agree?"""

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError, choose, refuse_unused
from rlvr.results import Result

if TYPE_CHECKING:
    from evals.stats.agreement import Agreement, Setting, Side
    from evals.stats.verdict_table import VerdictTable

PathLike = str | os.PathLike[str]
COLUMNS = ("printed", "measured", "problems", "benchmark", "n_printed", "n_measured", "seeds_printed", "seeds_measured",
           "best_of_printed", "best_of_measured", "temperature_printed", "temperature_measured", "metric")  # fmt: skip
TRIED = "?"  # n: unknown


def agree(
    *scores: PathLike | float,
    problems: Sequence[int] | int | None = None,
    benchmark: str | None = None,
    n: Sequence[str] | int | None = None,
    seeds: Sequence[int] | int | None = None,
    seed_sd: float | None = None,
    metric: str = "avg",
    temperature: Sequence[float] | None = None,
    best_of: Sequence[int] | int | None = None,
    target: float | None = None,
) -> Result:
    """Say whether two printed scores differ, or whether their gap may be noise.

        rlvr agree 43.75 47.4 problems=30 n=64
        rlvr agree 43.75 47.4 benchmark=aime25 n=64,1 seeds=1,3
        rlvr agree 47.4 MY_RUN
        rlvr agree pairs.csv out=answers.csv
        rlvr agree run.csv reference_*.csv metric=eval_acc target=0.6

    The answer is "a difference", "may be noise", or "these numbers cannot decide it". Noise means: one model is sampled
    twice on the same problems, and the two scores differ. The answer has two probabilities of such a gap. "About X %"
    is for a typical model. "At most Y %" holds for any model and any problems. docs/how-to/agree.md explains both.

    With target=, the files are training curves. The question is then: does the first curve reach the target in as many
    steps as the others?

    Args:
        *scores: two scores in percent, with their digits as printed, or counts such as 13/30. One of them can be a run
            or a file of verdicts, in the forms of `rlvr compare`. Or one CSV file of pairs, with columns printed,
            measured, and any of problems, benchmark, n_printed, n_measured, seeds_printed, seeds_measured,
            best_of_printed, best_of_measured, temperature_printed, temperature_measured, metric.
        problems: number of problems. If the sides have different numbers, such as 30,40, nothing can be decided.
        benchmark: take the number of problems of this benchmark. For a run with several: the one to compare.
        n: samples per problem: one number, or one per side, as n=64,1. n=? means unknown (default: unknown on both
            sides).
        seeds: number of training seeds that each score averages, one number per side: seeds=1,3. Set it if each side is
            a training of its own.
        seed_sd: standard deviation of training seeds, as a share (default with seeds=: 0.019, from MLPerf's trainings).
        metric: avg, pass@k or maj@k. For curves: the name of the score.
        temperature: temperature of the sampling: one number, or one per side. 0 means greedy.
        best_of: number of checkpoints or searches of which a score is the best, one number per side: best_of=8,1.
        target: the score to reach, for curves.

    Raises:
        UsageError: a score that no count gives, shares beside percent, different temperatures, or a value out of range.
    """
    from evals.stats.agreement import Setting

    texts = [os.fspath(score) if isinstance(score, os.PathLike) else str(score) for score in scores]
    if target is not None:
        unused = {"temperature": temperature, "best_of": best_of, "seed_sd": seed_sd}
        return _accepted(texts, metric, target, problems=problems, benchmark=benchmark, n=n, seeds=seeds, **unused)
    options = {"problems": problems, "benchmark": benchmark, "n": n, "seeds": seeds, "temperature": temperature,
               "best_of": best_of}  # fmt: skip
    if len(texts) == 1 and texts[0].endswith(".csv"):
        named = {**options, "metric": None if metric == "avg" else metric}
        refuse_unused("with a CSV file of pairs, which has columns for it", **named)
        return _pairs(Path(texts[0]), seed_sd)
    if len(texts) != 2:
        raise UsageError(f"expected two scores, got {len(texts)}. Type rlvr agree 43.75 47.4 problems=30 n=64.")
    numbers = [_number(text) for text in texts]
    if all(number is None for number in numbers):
        raise UsageError(
            f"{texts[0]}, {texts[1]}: no printed score. For two runs, type rlvr compare {' '.join(texts)}."
        )
    if None in numbers:
        return _with_run(texts, numbers.index(None), options, seed_sd, metric)
    spread, source = _seed_spread(seeds, seed_sd)
    sides, greedy = _greedy(temperature, _sides(texts, options))
    return _shown(sides, Setting(metric, seed_sd=spread, seed_source=source, greedy=greedy))


def _shown(sides: tuple[Side, Side], setting: Setting) -> Result:
    from evals.stats.agreement import agreement

    result = agreement(*sides, setting)
    document = as_document(result)
    return Result(document, lambda: as_text(result), [_row(document)])


def as_document(pair: Agreement) -> dict[str, object]:
    """The answer as plain values: shares as probabilities, gaps in points."""
    case = pair.worst if pair.cases else None
    return {
        "answer": pair.answer,
        "sentence": pair.sentence,
        "a": asdict(pair.a),
        "b": asdict(pair.b),
        "metric": pair.setting.metric,
        "gap_points": round(pair.gap, 4),
        "largest_probability": case and case.chance.largest,
        "typical_probability": case and case.chance.typical,
        "smallest_gap_points": pair.smallest_gap,
        "needed": None if pair.needed is None else {"number": pair.needed[0], "of": pair.needed[1]},
        "by_samples": [
            {"n_a": each.samples[0], "n_b": each.samples[1], "answer": each.answer, "largest": each.chance.largest,
             "typical": each.chance.typical}
            for each in pair.cases
        ],
        "notes": list(pair.notes),
        "look": [asdict(cause) for cause in pair.look],
    }  # fmt: skip


def as_text(pair: Agreement) -> str:
    """The sentence, the notes, and after a difference where to look."""
    from rlvr.terminal import paragraph

    lines = [paragraph(pair.sentence)]
    if pair.look:
        lines += ["", "Where to look, in the order of how often it moved a score of the ledger (docs/ledger):"]
        lines += [paragraph(f"{cause.name}: {cause.size}.", "  ") for cause in pair.look]
    return "\n".join([*lines, "", *(paragraph(note) for note in pair.notes)]).rstrip()


def _row(document: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("answer", "gap_points", "largest_probability", "typical_probability", "smallest_gap_points", "sentence")
    return {"printed": document["a"]["printed"], "measured": document["b"]["printed"], **{k: document[k] for k in keys}}


def _number(text: str) -> str | None:
    """The text if it is a score; None if it names a run or a file.

    Raises:
        UsageError: it is a number that is no score.
    """
    from evals.stats.printed_counts import percent

    if text[:1].isdigit() and not Path(text).exists():
        percent(text)
        return text
    if text[:1] in "+-." and not Path(text).exists():
        percent(text)
    return None


def _two(key: str, value: object) -> tuple[Any, Any]:
    """An option's values for the two sides."""
    values = (
        list(value) if isinstance(value, (list, tuple)) else value.split(",") if isinstance(value, str) else [value]
    )
    if len(values) > 2:
        raise UsageError(f"{key}={','.join(map(str, values))}: type one number, or one for each side.")
    return values[0], values[-1]


def _sides(texts: Sequence[str], options: Mapping[str, Any]) -> tuple[Side, Side]:
    from evals.stats.agreement import Side

    _refuse_shares(texts)
    sizes = _sizes(options["problems"], options["benchmark"])
    samples = [_samples(value) for value in _two("n", options["n"])]
    seeds, best = (_two(key, options[key]) for key in ("seeds", "best_of"))
    a, b = (
        Side(text, sizes[i], samples[i], 1 if seeds[i] is None else seeds[i],
             1 if best[i] is None else best[i])
        for i, text in enumerate(texts)
    )  # fmt: skip
    return a, b


def _refuse_shares(texts: Sequence[str]) -> None:
    """Scores that look like shares: 0.4375 beside 47.4, or two of them."""
    from evals.stats.printed_counts import percent

    shares = [t for t in texts if "/" not in t and "%" not in t and "." in t and 0 < float(percent(t)) < 1]
    if shares:
        in_percent = " ".join(f"{100 * float(t):g}" if t in shares else t for t in texts)
        raise UsageError(
            f"{' and '.join(shares)}: it looks like a share, and scores are percentages here. Type rlvr agree "
            f"{in_percent}, or {shares[0]}% if it is below one percent."
        )


def _sizes(problems: object, benchmark: str | None) -> tuple[int, int]:
    if problems is not None:
        first, second = _two("problems", problems)
        return int(first), int(second)
    if benchmark is None:
        raise UsageError("problems: missing. Type problems=30, or benchmark=aime25.")
    from evals.data import benchmarks

    choose("benchmark", [benchmark], benchmarks.names())
    return (benchmarks.count(benchmark),) * 2


def _samples(value: Any) -> int | None:
    if value is None or str(value) in (TRIED, ""):
        return None
    if not str(value).isdigit() or int(value) < 1:
        raise UsageError(f"n={value}: samples per problem are a whole number of at least 1, or ? if unknown.")
    return int(value)


def _seed_spread(seeds: object, seed_sd: float | None) -> tuple[float, str]:
    from evals.stats.agreement import SEED_SD, SEED_SOURCE

    if seeds is None:
        if seed_sd is not None:
            raise UsageError(f"seed_sd={seed_sd:g}: it needs seeds=, the training seeds, as seeds=3.")
        return 0.0, ""
    return (SEED_SD, SEED_SOURCE) if seed_sd is None else (seed_sd, "given")


def _greedy(temperature: object, sides: tuple[Side, Side]) -> tuple[tuple[Side, Side], bool]:
    """(the sides, with one sample per problem if they decode greedily; whether they do).

    Raises:
        UsageError: the sides have different temperatures, or a greedy one has several samples.
    """
    first, second = _two("temperature", temperature)
    if first != second:
        raise UsageError(
            f"temperature={first:g},{second:g}: scores at different temperatures are about different questions. No gap "
            "between them is noise alone. Measure both at one temperature."
        )
    if first != 0:
        return sides, False
    for side in sides:
        if side.samples not in (None, 1):
            raise UsageError(f"n={side.samples} with temperature=0: greedy samples repeat each other. Type n=1.")
    return (replace(sides[0], samples=1), replace(sides[1], samples=1)), True


def _with_run(texts: list[str], place: int, options: Mapping[str, Any], seed_sd: float | None, metric: str) -> Result:
    """A printed score against measured verdicts: their problems, samples, seeds and spread are known."""
    from evals.stats.agree import RHO, RHO_SOURCE
    from evals.stats.agreement import Setting, Side
    from harness.record.find import check_names, method

    run, printed = texts[place], texts[1 - place]
    _refuse_shares([printed])
    check_names(run)
    measured = method(run)
    available = list(measured.tables)
    name: str | None = options["benchmark"] or (available[0] if len(available) == 1 else None)
    if name is None or name not in measured.tables:
        raise UsageError(f"benchmark: {'missing' if name is None else name}. {run} has {', '.join(available)}.")
    if metric != "avg":
        k = metric.removeprefix("pass@")
        only = "" if len(available) == 1 else shlex.quote(f"rows=benchmark?{name}") + " "
        audit = f" Type rlvr audit {shlex.quote(run)} {only}printed={printed} k={k}."
        instead = audit if k.isdigit() and Path(run).is_file() else ""
        raise UsageError(f"metric={metric}: with a run, only avg is compared.{instead}")
    for key in ("problems", "n", "seeds", "best_of"):
        if len({*_two(key, options[key])}) > 1:
            raise UsageError(f"{key}: with a run, it is of the printed score alone. Type one number.")
    table = measured.tables[name]
    side, rho = _of_table(table)
    given = {**options, "problems": side.problems if options["problems"] is None else options["problems"]}
    printed_side = _sides([printed, printed], given)[0]
    measured_side = Side(side.printed, side.problems, side.samples, side.seeds)
    spread, source = _seed_spread(options["seeds"], seed_sd)
    known = (RHO, RHO_SOURCE) if rho is None else (rho, f"spread of rates {rho:.2f}, measured on {run}")
    pair = (printed_side, measured_side) if place == 1 else (measured_side, printed_side)
    pair, greedy = _greedy(options["temperature"], pair)
    return _shown(pair, Setting("avg", *known, spread, source, greedy))


def _of_table(table: VerdictTable) -> tuple[Side, float | None]:
    """(its score as a count, the spread of its rates; None if there is one sample of each problem)."""
    from evals.stats.agree import measured_spread
    from evals.stats.agreement import Side

    if table.n is None or table.unscored:
        raise UsageError(
            f"{table.unscored} of {table.samples} samples are unscored, or problems have unequal numbers of samples. "
            "A count needs the same number of scored samples for each problem."
        )
    seeds, problems = table.correct.shape
    tries = seeds * problems * table.n
    rho = measured_spread(table.correct, table.n)
    return Side(f"{int(table.correct.sum())}/{tries}", problems, table.n, seeds), rho


def _pairs(path: Path, seed_sd: float | None) -> Result:
    """Every pair of a CSV file, with Holm's correction over all of them."""
    from evals.notebook import Block, Table
    from evals.stats.agreement import with_holm

    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    if not rows or not {"printed", "measured"} <= set(rows[0]):
        raise UsageError(f"{path}: no pairs. The file needs a header with printed and measured, and a row per pair.")
    seeds = [row.get(f"seeds_{side}") for row in rows for side in ("printed", "measured")]
    if seed_sd is not None and not any(seeds):
        raise UsageError(f"seed_sd={seed_sd:g}: {path} states no seeds_printed and no seeds_measured, which it needs.")
    agreements = []
    for number, row in enumerate(rows, 2):
        try:
            agreements.append(_of_row(row, seed_sd))
        except UsageError as error:
            raise UsageError(f"{path}, line {number}: {error}") from error
    adjusted = with_holm(agreements)
    documents = [as_document(pair) for pair in adjusted]
    kept = [{key: value for key, value in row.items() if key and key not in COLUMNS} for row in rows]
    flat = [{**columns, **_row(document)} for columns, document in zip(kept, documents, strict=True)]
    cells = [(r["printed"], r["measured"], r["answer"], _percent(r["largest_probability"])) for r in flat]
    header = ("printed", "measured", "answer", "largest")

    def report() -> list[Block]:
        pairs = sum(bool(pair.cases) for pair in agreements)
        note = f"largest: the largest probability of the gap, with Holm's correction over {pairs} pairs."
        return [Table(header, cells, left=3), note]

    return Result({"pairs": documents, "correction": "Holm"}, report, flat)


def _percent(probability: float | None) -> str:
    return "–" if probability is None else f"{100 * probability:.1f} %"


def _of_row(row: Mapping[str, str | None], seed_sd: float | None) -> Agreement:
    from evals.stats.agreement import Setting, agreement

    def both(key: str, kind: type[int] | type[float] | type[str]) -> list[Any] | None:
        values = [(row.get(f"{key}_{side}") or "").strip() for side in ("printed", "measured")]
        if not any(values):
            return None
        try:
            return [kind(value) if value else ("?" if kind is str else 1) for value in values]
        except ValueError:
            raise UsageError(f"{key}: expected a number, got {' and '.join(values)}") from None

    parts = [part for part in (row.get("problems") or "").replace("+", ",").split(",") if part.strip()]
    try:
        problems = [int(part) for part in parts] or None
    except ValueError:
        raise UsageError(f"problems: expected a number, got {row['problems']}") from None
    options = {
        "problems": problems, "benchmark": (row.get("benchmark") or "").strip() or None, "n": both("n", str),
        "seeds": both("seeds", int), "best_of": both("best_of", int),
    }  # fmt: skip
    if options["problems"]:
        options["benchmark"] = None
    texts = [(row[key] or "").strip() for key in ("printed", "measured")]
    for text in texts:
        if _number(text) is None:
            raise UsageError(f"{text!r} is no score.")
    spread, source = _seed_spread(options["seeds"], seed_sd if options["seeds"] else None)
    temperatures = [(row.get(f"temperature_{side}") or "").strip() for side in ("printed", "measured")]
    if any(temperatures) and not all(temperatures):
        raise UsageError("temperature: expected that of both sides, or of none")
    sides, greedy = _greedy(both("temperature", float), _sides(texts, options))
    metric = (row.get("metric") or "").strip() or "avg"
    return agreement(*sides, Setting(metric, seed_sd=spread, seed_source=source, greedy=greedy))


def _accepted(texts: Sequence[str], metric: str, target: float, **unused: object) -> Result:
    """Whether the first curve reaches the target in as many steps as the others."""
    from evals.audit.curves import read_curve
    from evals.stats.acceptance import accept, crossing
    from harness.record.find import places

    refuse_unused("with target=, which is of training curves", **unused)
    if metric == "avg":
        raise UsageError("metric: missing. Type metric=NAME, the name of the score in the curves.")
    paths = [path for text in texts for path in places(text, "expected files of training curves")]
    crossings = []
    for path in paths:
        try:
            curve = read_curve(path.read_text(encoding="utf-8"), name=str(path))
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
        if metric not in curve:
            raise UsageError(f"metric={metric}: {path} has {', '.join(str(c) for c in curve if c != 'step')}.")
        points = curve[["step", metric]].dropna()
        if points.empty:
            raise UsageError(f"metric={metric}: {path} has no value of it.")
        if target <= 1 < points[metric].max():
            raise UsageError(f"target={target:g}: {path} is in percent. Type target={100 * target:g}.")
        crossings.append(crossing(points["step"], points[metric], target))
    acceptance = accept(crossings[0], crossings[1:], target)
    rows = [{"file": str(path), "after": c.after, "at": c.at if c.at < float("inf") else None}
            for path, c in zip(paths, crossings, strict=True)]  # fmt: skip
    document = {"answer": acceptance.verdict, "sentence": acceptance.sentence, "target": target, "low": acceptance.low,
                "high": acceptance.high, "run": rows[0], "reference": rows[1:]}  # fmt: skip
    return Result(document, acceptance.sentence, rows)


__all__ = ["agree", "as_document", "as_text"]

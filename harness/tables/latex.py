"""Methods x benchmarks as LaTeX tables, for a paper: a table for each scale, base model and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evals.latex import SIGNS, latex_table, latex_text
from evals.stats.compare import Line, compare_runs, corrected
from evals.stats.differences import ALPHA
from evals.stats.intervals import MIN_SEEDS, ROUGH
from evals.stats.score import Score, bounds_text, number_text
from harness.record.names import base_of
from harness.spec import Reproduction
from harness.spec.scales import SCALES
from harness.tables.measured import Measured, common_overrides, how, in_all_arms

SHOWN = ("avg", "pass")


def latex_tables(paper: Reproduction, measured: Sequence[Measured]) -> str:
    """Every scale and base model: mean accuracy, and pass@k of the largest k (above 1, where it is another number)."""
    groups: dict[tuple[str, str], list[Measured]] = {}
    for m in measured:
        groups.setdefault((m.scale, m.model), []).append(m)
    return "\n".join(
        _table(paper, arms, columns, metric)
        for arms in groups.values()
        for metric in SHOWN
        if (columns := _columns(arms, metric))
    )


@dataclass(frozen=True)
class _Column:
    """A benchmark, and the score of each arm on it (None: not measured)."""

    benchmark: str
    scores: tuple[Score | None, ...]

    @property
    def measured(self) -> list[Score]:
        return [score for score in self.scores if score is not None]

    @property
    def k(self) -> int | None:
        return self.measured[0].k

    @property
    def name(self) -> str:
        return self.measured[0].name


def _columns(arms: Sequence[Measured], metric: str) -> list[_Column]:
    columns = []
    for benchmark in dict.fromkeys(name for m in arms for name in m.scores):
        scores_by_arm = [
            {s.k or 0: s for s in m.scores.get(benchmark, {}).values() if s.metric == metric and s.name != "pass@1"}
            for m in arms
        ]
        if any(scores_by_arm):
            largest = max(k for scores in scores_by_arm for k in scores)
            columns.append(_Column(benchmark, tuple(scores.get(largest) for scores in scores_by_arm)))
    return columns


def _table(paper: Reproduction, arms: Sequence[Measured], columns: Sequence[_Column], metric: str) -> str:
    first, common = arms[0], common_overrides(arms)
    base = base_of(next(iter(first.runs.values())).record)
    names = list(dict.fromkeys(column.name for column in columns))
    scale = SCALES[first.scale].label
    best, comparisons = resolved_best(arms, columns)
    header = ["method", r"$n \times {}$seeds"]
    header += [latex_text(c.benchmark if len(names) == 1 else f"{c.benchmark}, {c.name}") for c in columns]
    rows = [
        [latex_text(m.label(m.arm, common)), latex_text(how(m)[0].replace(" x ", " × "))]
        + [_cell(column.scores[place], bold=best.get(column.benchmark) == place) for column in columns]
        for place, m in enumerate(arms)
    ]
    covers = sorted({score.interval.covers for c in columns for score in c.measured if score.interval is not None})
    notes = [
        f"Percent [95 % interval over {' or '.join(covers)}]." if covers else "Percent.",
        f"{ROUGH}." if any(SIGNS["~"] in cell for row in rows for cell in row) else "",
        f"Bold: higher than every other row, each difference resolved (paired by problem, p at most {ALPHA} after "
        f"Holm's correction over all {comparisons} pairs of rows and benchmarks; {MIN_SEEDS} training seeds of each "
        "trained row at least)." + ("" if best else " No row is.")
        if comparisons
        else "",
        *_unscored([m.label(m.arm, common) for m in arms], columns),
        *(f"{m.arm}: {m.divergence()}." for m in arms if m.lost),
        in_all_arms(common),
        f"{scale[:1].upper()}{scale[1:]}." if first.scale != "paper" else "",
    ]
    caption = f"{paper.title}: {', '.join(names)} with the base model {base}, measured at {first.scale} scale."
    tabular = [
        rf"\begin{{tabular}}{{@{{}}l{'r' * (len(header) - 1)}@{{}}}}",
        r"\toprule",
        " & ".join(header) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    label = f"{paper.key}-{first.scale}-{base}-{metric}"
    return latex_table("\n".join(tabular), caption, label, " ".join(filter(None, notes)))


def _unscored(labels: Sequence[str], columns: Sequence[_Column]) -> Iterator[str]:
    for column in columns:
        for label, score in zip(labels, column.scores, strict=True):
            if score is not None and score.unscored:
                yield f"{label} on {column.benchmark}: {score.unscored} unscored samples are excluded."


def resolved_best(arms: Sequence[Measured], columns: Sequence[_Column]) -> tuple[Mapping[str, int], int]:
    """(benchmark -> the row with the highest score, where its difference from every other row is resolved, the number
    of comparisons that the p-values are corrected for: all pairs, because the data choose which row is compared)."""
    lines: list[tuple[str, int, Line]] = []
    size = 0
    for column in columns:
        values = [(s.value, row) for row, s in enumerate(column.scores) if s is not None and s.value is not None]
        size += len(values) * (len(values) - 1) // 2
        if len(values) < 2:
            continue
        top = max(values)[1]
        for _, other_row in values:
            if other_row != top:
                compared = compare_runs(
                    arms[top].run,
                    arms[other_row].run,
                    metrics=(column.name.partition("@")[0],),
                    ks=None if column.k is None else [column.k],
                    benchmarks=[column.benchmark],
                    allow_different=True,
                )
                lines += [(column.benchmark, top, line) for line in compared.lines]
    after = corrected([line for *_, line in lines], "all pairs of rows and benchmarks", size)
    verdicts: dict[tuple[str, int], list[str]] = {}
    for (benchmark, top, _), line in zip(lines, after, strict=True):
        verdicts.setdefault((benchmark, top), []).append(line.plain_verdict)
    return {benchmark: top for (benchmark, top), words in verdicts.items() if set(words) == {"higher"}}, size


def _cell(score: Score | None, *, bold: bool) -> str:
    if score is None or score.value is None:
        return "--"
    value = number_text(score.value, score.factor)
    bounds = latex_text(bounds_text(score.interval, score.factor))
    return (rf"\textbf{{{value}}}" if bold else value) + (rf" {{\scriptsize {bounds}}}" if bounds else "")

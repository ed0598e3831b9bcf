"""`rlvr compare`: the table, and under it what it does not say."""

from __future__ import annotations

from evals.stats.compare import CompareResult, Line
from evals.stats.intervals import ROUGH
from harness.cli.terminal import paragraph, table


def as_text(result: CompareResult) -> str:
    """One table a benchmark, 80 columns wide; the JSON document also has the uncorrected p-values."""
    lines = [f"A: {result.a}", f"B: {result.b}"]
    for benchmark in dict.fromkeys(line.benchmark for line in result.lines):
        own = [line for line in result.lines if line.benchmark == benchmark]
        header = ("metric", "A", "B", "A - B", "95 % interval", "p (Holm)", "verdict")
        lines += ["", f"{benchmark}: {_problems(own)}", "", table(header, [_row(line) for line in own])]
    lines += ["", *map(paragraph, _notes(result))]
    return "\n".join(lines)


def _notes(result: CompareResult) -> list[str]:
    tests = dict.fromkeys(f"{line.test}, interval over {line.covers}" for line in result.lines if line.covers)
    notes = [
        "A and B are means over the shared problems, in percent; lengths in tokens; unsolvable problems as a count. "
        f"Holm's correction covers all {len(result.lines)} lines. A difference is higher or lower if its interval "
        "excludes zero and p (Holm) is at most 0.05; otherwise it is not resolved."
    ]
    if any(line.rough for line in result.lines):
        notes.append(f"{ROUGH}.")
    notes += [f"Test: {test}." for test in tests]
    notes += [f"{line.benchmark} {line.name}: {line.why}" for line in result.lines if line.why]
    notes += [f"MEASURED DIFFERENTLY: {text}" for text in result.different]
    return notes + [f"Note: {text}" for text in result.notes]


def _problems(lines: list[Line]) -> str:
    """How many problems the lines of a benchmark are over."""
    counts = sorted({line.problems for line in lines})
    text = f"{' or '.join(map(str, counts))} problems in both"
    excluded = max(line.shared - line.problems + line.only_a + line.only_b for line in lines)
    return text + (f", up to {excluded} excluded (in one run only, or without a value)" if excluded else "")


def _row(line: Line) -> tuple[str, ...]:
    factor = line.factor

    def number(value: float | None, form: str = ".1f") -> str:
        return "–" if value is None else format(factor * value, form)

    p = "–" if line.p_holm is None else f"{line.p_holm:.3f}" if line.p_holm >= 0.001 else f"{line.p_holm:.0e}"
    interval = (
        "–"
        if line.low is None
        else f"{'~' * bool(line.rough)}[{number(line.low, '+.1f')}, {number(line.high, '+.1f')}]"
    )
    values = (number(line.a), number(line.b), number(line.difference, "+.1f"))
    return (line.name, *values, interval, p, line.verdict)

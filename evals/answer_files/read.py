"""The record of what was read: a file's format and size, and one row of it, so that a wrong reading is visible at
once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.answer_files.policies import is_bare
from evals.answer_files.prose import note
from evals.answer_files.sample import Sample
from evals.code_execution.program_grader import is_gold
from evals.grading.extraction import extract
from evals.grading.reasoning import graded_row

if TYPE_CHECKING:
    import pandas as pd

    from evals.answer_files.reading import AnswerFile

WIDEST = 96  # characters of a value
SHOWN = 20  # files


@dataclass(frozen=True)
class Example:
    """A row as it was read, each value cut to one line.

    Attributes:
        row: its number in its file, from 1. response: its end. extracted: our answer. label: the authors' verdict.
    """

    row: int
    problem: str
    gold: str
    response: str
    extracted: str | None
    label: bool | None

    def lines(self) -> list[str]:
        """For a terminal."""
        verdict = {None: "none", True: "correct", False: "incorrect"}[self.label]
        return [
            f"  row {self.row} as it was read:",
            f"    problem       {self.problem}",
            f"    gold          {self.gold}",
            f"    response      {self.response}",
            f"    extracted     {'nothing' if self.extracted is None else self.extracted}",
            f"    their verdict {verdict}",
        ]


@dataclass(frozen=True)
class Read:
    """Attributes:
    format: its name, or "columns" where the user named them, "table of verdicts", "curve".
    tool: who writes such files, for people.
    rows: of a curve, its steps. problems, samples: how many, and the fewest and the most of a problem; None of a curve.
    note: what else is to be said of it.
    """

    file: str
    format: str
    rows: int
    problems: int | None
    samples: tuple[int, int] | None
    tool: str = ""
    example: Example | None = None
    note: str = ""

    def sized(self) -> str:
        """ "a.jsonl: 4 rows, 2 problems, 2 samples each"."""
        if self.problems is None or self.samples is None:
            return f"{self.file}: {self.rows} step{'s' * (self.rows != 1)}"
        return f"{self.file}: {sizes(self.rows, self.problems, self.samples)}"

    def read_as(self) -> str:
        """ "verl (veRL)"."""
        return f"{self.format} ({self.tool})" if self.tool else self.format


def read_of(file: AnswerFile, answer: Callable[[Sample], str | None]) -> list[Read]:
    """The record of each file with responses.

    Args:
        answer: ours of a sample.
    """
    files_read, start = [], 0
    for name, size, form, tool, sentences in file.sizes:
        samples = file.rows[start : start + size]
        counts = Counter(sample.problem_of for sample in samples)
        of_problem = min(counts.values()), max(counts.values())
        example = _example(samples[0], answer(samples[0]))
        notes = ". ".join(filter(None, [note(samples), *sentences]))
        files_read.append(Read(name, form, size, len(counts), of_problem, tool, example, notes))
        start += size
    return files_read


def of_verdicts(file: str, table: pd.DataFrame) -> Read:
    """The record of a table of verdicts."""
    counts = table.groupby([*(name for name in ("benchmark",) if name in table), "problem_id"], sort=False).size()
    note = str(table.attrs.get("note", ""))
    return Read(file, "table of verdicts", len(table), len(counts), (int(counts.min()), int(counts.max())), note=note)


def of_curve(file: str, curve: pd.DataFrame, metric: str) -> Read:
    """The record of a curve."""
    points = curve[["step", metric]].dropna()
    last = points.iloc[-1]
    values = f"{metric} has {len(points)} values; the last is {last[metric]:g}, of step {last['step']:g}"
    note = ". ".join(filter(None, [curve.attrs["chosen"], values]))
    return Read(file, "curve", len(curve), None, None, note=note)


def extracted(sample: Sample, letters: bool = False) -> str | None:
    """The answer of a sample wherever it stands, as an audit reads it: its letter where golds are `letters`; the whole
    of a bare answer that holds no other."""
    _, part, _ = graded_row(sample.exchange)
    answers = (extract(part, policy).answer for policy in (("letter",) if letters else ("answer_tag", "qwen")))
    bare = part.strip() if is_bare(part) else None
    return next((answer for answer in answers if answer is not None), bare)


def audit_lines(reads: Sequence[Read]) -> list[str]:
    """For a terminal, above an audit: each file, and a row of the first."""
    lines = [f"{read.sized()}, read as {read.read_as()}" for read in reads[:SHOWN]]
    lines += [f"and {len(reads) - SHOWN} more files"] if len(reads) > SHOWN else []
    lines += [f"  {read.note}" for read in reads[:SHOWN] if read.note]
    return lines + (reads[0].example.lines() if reads and reads[0].example else [])


def _example(sample: Sample, extracted: str | None) -> Example:
    golds = sample.golds[:1] if sample.read_gold else sample.golds
    gold = "the test of a program" if is_gold(sample.gold) else " or ".join(golds)
    return Example(
        1,
        one_line(sample.problem or sample.problem_id),
        one_line(gold),
        one_line(sample.response, of_end=True),
        None if extracted is None else one_line(extracted),
        sample.expected,
    )


def read_lines(reads: Sequence[Read]) -> list[str]:
    """For a terminal, below a line with the sizes: each file where there are several, and a row of the first."""
    if not reads:
        return []
    if len(reads) == 1:
        lines = [f"  read as {reads[0].read_as()}"]
    else:
        lines = [f"  {read.sized()}, read as {read.read_as()}" for read in reads[:SHOWN]]
        lines += [f"  and {len(reads) - SHOWN} more files"] if len(reads) > SHOWN else []
    lines += [f"  {read.note}" for read in reads[:SHOWN] if read.note]
    return lines + (reads[0].example.lines() if reads[0].example else [])


def sizes(rows: int, problems: int, samples: tuple[int, int]) -> str:
    """ "4 rows, 2 problems, 2 samples each"."""
    low, high = samples
    counted = [f"{n} {name}{'s' * (n != 1)}" for n, name in ((rows, "row"), (problems, "problem"))]
    return f"{', '.join(counted)}, {low if low == high else f'{low} to {high}'} sample{'s' * (high > 1)} each"


def one_line(text: str, of_end: bool = False) -> str:
    """A text as one line: its beginning, or its end."""
    words = " ".join(text[-4 * WIDEST :].split() if of_end else text[: 4 * WIDEST].split())
    printable = "".join(sign if sign.isprintable() else "?" for sign in words)
    if len(printable) <= WIDEST:
        return printable
    return f"… {printable[2 - WIDEST :]}" if of_end else f"{printable[: WIDEST - 2]} …"

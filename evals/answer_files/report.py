"""The report on a graded file: verdicts, scores and agreement with its labels, as JSON and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.answer_files.conventions import ConventionEffect
from evals.answer_files.differing import Disagreement, cell, in_words
from evals.answer_files.formats.ours import Verdicts
from evals.answer_files.policies import PolicyEffect
from evals.answer_files.read import Read, read_lines, sizes
from evals.answer_files.sample import Sample
from evals.errors import UsageError
from evals.grading import Explanation, Grade
from evals.grading.verdicts import Verdict
from evals.markdown import markdown_text
from evals.stats.intervals import ROUGH
from evals.stats.score import score_fields, score_text

if TYPE_CHECKING:
    from evals.answer_files.reading import AnswerFile
    from evals.stats.score import Score

SHOWN = 20  # number of differing samples in the text. The JSON document and the page have all


@dataclass(frozen=True)
class Agreement:
    """Our verdicts against the file's `expected`, over the rows that have one.

    `accepted` rows are correct by our verdict, `refused` rows are not. Unscored rows are in neither.
    """

    true_accepted: int
    true_refused: int
    false_accepted: int
    false_refused: int
    unscored: int

    @property
    def rows(self) -> int:
        return self.true_accepted + self.true_refused + self.false_accepted + self.false_refused + self.unscored

    @property
    def rate(self) -> float:
        """Share of all rows, unscored ones included, on which we agree with the file."""
        return (self.true_accepted + self.false_refused) / self.rows


@dataclass(frozen=True, repr=False)
class GradeReport:
    """Verdict counts, scores and agreement with the labels of one file."""

    file: str
    rows: int
    problems: int
    samples: tuple[int, int]  # fewest and most samples of a problem
    verdicts: dict[str, int]
    unscored_reasons: dict[str, int]  # by kind: "size: 2787 characters, more than 2000"
    scores: dict[str, list[Score]]  # by benchmark
    agreement: Agreement | None  # with the labels. None where the rows have none
    out: str | None
    policy: str  # how answers are extracted
    policies: list[PolicyEffect]  # what other policies would change, the best first
    conventions: list[ConventionEffect] = field(default_factory=list)  # that would change a verdict
    reasoning: str = "after"  # the part of a response that is graded (`evals.grading.reasoning`)
    thoughts: int = 0  # responses in which a thought begins or ends
    advice: str | None = None  # the policy that reads them, where most have no answer in the form of the one in use
    explanations: dict[int, Explanation] = field(default_factory=dict)  # by the number of the row, from 1
    problem_texts: dict[int, str] = field(default_factory=dict)  # the problems of these rows
    stated: AnswerFile | None = None  # without its rows
    read: list[Read] = field(default_factory=list)  # one per file
    note: str | None = None  # how to compare with verdicts of the authors that are there, where none is compared
    empty: int = 0  # rows with an empty response, or none
    differing: list[Disagreement] = field(default_factory=list)  # samples whose label is not our verdict

    def letter(self, version: str) -> str | None:
        """A Markdown page for the authors: the samples whose label is not our verdict, and what each side read, or None
        if no verdict differs.

        Args:
            version: of this package.
        Raises:
            UsageError: no row has a label.
        """
        if self.agreement is None:
            raise UsageError(f"page: no row of {self.file} has a verdict of the authors")
        if not self.differing:
            return None
        causes = Counter(in_words(sample.cause) for sample in self.differing).most_common()
        unscored = f" ({self.agreement.unscored} unscored)" if self.agreement.unscored else ""
        rows = [
            (s.row, *map(cell, (s.problem_id, s.gold, s.their_answer, s.our_answer)), s.verdict, in_words(s.cause))
            for s in self.differing
        ]
        lines = [
            f"# Verdicts that differ: {markdown_text(Path(self.file).name)}\n",
            f"{len(rows)} of {self.agreement.rows} labelled samples{unscored} have another verdict when rlvr-harness "
            f"{version} grades them (extraction policy `{self.policy}`): we read as correct what you count as "
            "incorrect, or the other way round. Nothing was sampled again. Our verdicts may be the wrong ones: please "
            "tell us.\n",
            *(f"- {count} x {name}" for name, count in causes),
            "\n| row | problem | gold | your answer | our answer | our verdict | cause |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *(f"| {' | '.join(map(str, row))} |" for row in rows),
        ]
        return "\n".join([*lines, ""])

    def as_dict(self) -> dict[str, Any]:
        """One JSON document."""
        document = asdict(self)
        problems = document.pop("problem_texts")
        explained = document["explanations"].items()
        document["explanations"] = [{"row": row, "asked": problems.get(row), **filled} for row, filled in explained]
        if self.stated is not None:
            del document["stated"]["rows"]
        document["scores"] = {benchmark: [*map(score_fields, scores)] for benchmark, scores in self.scores.items()}
        if self.agreement is not None:
            document["agreement"] |= {"rows": self.agreement.rows, "rate": self.agreement.rate}
        return document

    def __str__(self) -> str:
        """A short summary for a terminal."""
        lines = [f"{self.file}: {sizes(self.rows, self.problems, self.samples)}"]
        lines += read_lines(self.read)
        lines += _stated_lines(self.stated) if self.stated else []
        lines.append("  " + ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items()))
        lines += [f"  {self.note}"] if self.note else []
        lines += [f"  {self.empty} of {self.rows} responses are empty, and have no answer"] if self.empty else []
        lines += [f"  unscored: {count} x {reason}" for reason, count in self.unscored_reasons.items()]
        lines += _score_lines(self.scores)
        if self.thoughts:
            lines.append(f"  {self.thoughts} responses hold a thought; reasoning={self.reasoning}")
        lines += [f"  extraction policy {self.policy}; under another one, that with most correct rows first:"]
        lines += [f"    {effect}" for effect in self.policies]
        lines += [f"  {self.advice}"] if self.advice else []
        lines += ["  another convention:"] if self.conventions else []
        lines += [f"    {effect}" for effect in self.conventions]
        if any(score.interval and score.interval.rough for scores in self.scores.values() for score in scores):
            lines.append(f"  {ROUGH}")
        lines += [] if self.agreement is None else [_agreement_line(self.agreement, self.rows)]
        is_own_file = self.stated is not None and self.stated.format == Verdicts.about.name
        lines += _differing_lines(self.differing, *(("the verdicts in the file", "was") if is_own_file else ()))
        lines += [f"  written: {self.out}"] if self.out else []
        lines += [f"\nrow {row}, {self.problem_texts[row]}\n{steps}" for row, steps in self.explanations.items()]
        return "\n".join(lines)


def agreement(rows: Sequence[Sample], grades: Sequence[Grade]) -> Agreement | None:
    """Over the rows with a label, or None without any."""
    counts = dict.fromkeys(Agreement.__dataclass_fields__, 0)
    for row, grade in zip(rows, grades, strict=True):
        if row.expected is not None and grade.verdict is Verdict.UNSCORED:
            counts["unscored"] += 1
        elif row.expected is not None:
            accepted = "accepted" if grade.verdict is Verdict.CORRECT else "refused"
            counts[f"{str(row.expected).lower()}_{accepted}"] += 1
    return Agreement(**counts) if any(counts.values()) else None


def _score_lines(by_benchmark: Mapping[str, Sequence[Score]]) -> list[str]:
    lines: list[str] = []
    for benchmark, scores in by_benchmark.items():
        lines += [f"  {benchmark}:"] if len(by_benchmark) > 1 else []
        for score in scores:
            problems = f"{score.excluded} problem{'s' * (score.excluded != 1)}"
            excluded = f"; {problems} excluded" if score.value is not None and score.excluded else ""
            lines.append(f"  {score.name:<10} {score_text(score)}{excluded}")
    return lines


def _stated_lines(file: AnswerFile) -> list[str]:
    if file.format == Verdicts.about.name:
        lines = ["  verdicts of this project, which are compared with those of now"]
        lines += [f"  from the verdicts in it: {value}" for value in file.recomputed.values()]
    else:
        lines = [f"  their verdict: {file.label}"] if file.label not in (None, "expected") else []
        lines += [f"  score from their verdicts ({name}): {value}" for name, value in file.recomputed.items()]
    if file.several:
        how = "any of them is right" if file.golds == "any" else "a response must list them all"
        lines.append(f"  {file.several} rows have several golds; {how}")
    if file.errored:
        why = "null, an error, or withheld by a server"
        lines.append(f"  {file.errored} rows have no whole response ({why}): unscored")
    if file.lost:
        lines.append(f"  {file.lost} rows have an empty gold, of which their tool left nothing: unscored")
    return lines


def _agreement_line(a: Agreement, rows: int) -> str:
    labelled = f"{a.rows} labelled rows" if a.rows == rows else f"the {a.rows} of {rows} rows that are labelled,"
    return (
        f"  {a.rate:.2%} of {labelled} as expected"
        f" (correct: {a.true_accepted} accepted, {a.true_refused} refused;"
        f" incorrect: {a.false_refused} refused, {a.false_accepted} accepted; {a.unscored} unscored)"
    )


def _differing_lines(
    disagreements: Sequence[Disagreement], source: str = "the labels", label_is: str = "labelled"
) -> list[str]:
    if not disagreements:
        return []
    causes = Counter(sample.cause for sample in disagreements).most_common()
    differ = "1 verdict differs" if len(disagreements) == 1 else f"{len(disagreements)} verdicts differ"
    lines = [f"  {differ} from {source}: " + "; ".join(f"{c} x {name}" for name, c in causes)]
    for sample in disagreements[:SHOWN]:
        label = "correct" if sample.label else "incorrect"
        lines.append(
            f"    row {sample.row}, problem {cell(sample.problem_id, 24)}: gold {cell(sample.gold, 24)}, ours "
            f"{cell(sample.our_answer, 24)} {sample.verdict}, {label_is} {label}: {sample.cause}"
        )
    if len(disagreements) > SHOWN:
        lines.append(f"    and {len(disagreements) - SHOWN} more; page=FILE.md has all")
    return lines

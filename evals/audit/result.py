"""The result of an audit: the causes, the verdict and the numbers beside it, and the text of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evals.audit.composition import Name
from evals.audit.intervals import Gain
from evals.audit.printed import Printed
from evals.audit.selection import Selection
from evals.stats.intervals import Interval

NOT_FOUND: Literal["not found among N readings"] = "not found among N readings"
CANNOT_TELL: Literal["cannot tell"] = "cannot tell"
AuditVerdict = Literal[
    "stands", "stands with another number", "not found among N readings", "within selection", "within seeds",
    "made by the grader", "cannot tell",
]  # fmt: skip


@dataclass(frozen=True)
class Cause:
    """A reason, in one sentence, and by how many points it moves the number (percent, None if that has no sign)."""

    name: Name
    text: str
    points: float | None = None


@dataclass(frozen=True, eq=False)
class Audit:
    """The audit of a printed number.

    Attributes:
        file: the score that the file gives: of the last checkpoint, mean over seeds, or of the printed recipe. None
            without scores. of: what it is of, for a sentence.
        ours: the samples of the checkpoint that has the printed digits, else of the last, by our verdicts, or None
            without responses. ours_of: that checkpoint and its score in the file, for a sentence, or "" where that is
            `file`.
            gold_cut: of these, the samples that keep their label, since the file may have cut their gold.
            ours_unscored: those that our grader could not judge, which are left out.
        ours_differ: of the judged samples with a label: how many there are, how many only the authors call correct, and
            how many only we do.
        unlabelled: of the last checkpoints' samples without a verdict of the authors, how many there are, how many
            samples in all, and the score with all of them incorrect and with all correct, or None where every one has
            one.
        seeds_sd: the standard deviation of the last checkpoints over seeds, as a share. None of one seed.
        differing: settings that differ from a declaration's: name -> (the file's, declared).
        reading: what the printed digits are instead of the last checkpoint's score, or "" if they are that, or nothing.
        tried: how many distinct numbers the search had. chance: of a number of no relation to the files to be among
            those as simple as the one that was found. 1 where none was.
        faults: known faults of the tools that wrote these files, which concern them.
        gain: over the base model, where there is one. gain_of: " of X" where the printed number is not that of X.
    """

    printed: Printed
    verdict: AuditVerdict
    causes: tuple[Cause, ...]
    file: float | None = None
    ours: float | None = None
    ours_of: str = ""
    gold_cut: int = 0
    ours_unscored: int = 0
    ours_differ: tuple[int, int, int] = (0, 0, 0)
    gain_of: str = ""
    interval: Interval | None = None
    selection: Selection | None = None
    seeds: int = 0
    seeds_sd: float | None = None
    differing: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    unlabelled: tuple[int, int, float, float] | None = None
    reading: str = ""
    tried: int = 0
    chance: float = 1.0
    faults: tuple[str, ...] = ()
    of: str = "the file"
    gain: Gain | None = None

    @property
    def why(self) -> str:
        """Its causes, or what it means that there is none."""
        if self.file is None:
            return "the files have no score of this benchmark"
        causes = "; ".join(f"{cause.name}: {cause.text}" for cause in self.causes)
        return causes or f"the score of {self.reading or self.of}; no cause moves it"

    @property
    def in_words(self) -> str:
        """The verdict. Instead of "another number", that it stands with a reservation where it is the file's own."""
        is_own_score = self.file is not None and self.printed.rounds_from(self.file)
        return (
            "stands, with a reservation"
            if is_own_score and self.verdict == "stands with another number"
            else self.verdict
        )

    @property
    def _headline(self) -> str:
        """The verdict, and why where the number is not the last checkpoint's, or has a reservation."""
        if self.verdict == NOT_FOUND:
            return f"not found among {self.tried} {'reading' if self.tried == 1 else 'readings'} of the files"
        if self.verdict == "cannot tell" and self.reading:
            return f"{self.verdict}: {self.reading}, if it is no accident"
        if self.verdict != "stands with another number":
            return self.verdict
        if self.in_words != self.verdict:
            return f"{self.in_words}: {', '.join(dict.fromkeys(cause.name for cause in self.causes))}"
        return f"{self.verdict}: {self.reading}" if self.reading else self.verdict

    def __str__(self) -> str:
        interval = ""
        if self.interval is not None:
            low, high = 100 * self.interval.low, 100 * self.interval.high
            interval = f" {self.interval.mark}[{low:.1f}, {high:.1f}] over {self.interval.covers}"
        share = f", a share ({100 * self.printed.value:g} %)" if self.printed.share else ""
        where = f" ({self.printed.where})" if self.printed.where else ""
        lines = [f"{self.printed.text}{where}{share}: {self._headline}"]
        if self.file is not None:
            lines.append(f"  {self.of}: {_percent(self.file)}{interval}")
        if self.unlabelled is not None:
            missing, samples, low, high = self.unlabelled
            samples_read = f"{samples - missing} of {samples} samples are labelled"
            bounds = [f"{100 * low:.1f} with the others as incorrect", f"{100 * high:.1f} as correct"]
            lines.append(f"  that is over those with a label: {samples_read}; {', '.join(bounds)}")
        if self.gain is not None:
            what = f" in pass@{self.printed.k}" if self.printed.k > 1 else ""
            lines.append(f"  gain{what}{self.gain_of} over the base model: {self.gain}")
        if self.ours is not None:
            samples_read = self.ours_of or "the same samples"
            if self.ours_unscored:
                samples_read += f" ({self.ours_unscored} unscored left out)"
            lines.append(f"  our verdicts on {samples_read}, answers read in the whole text: {100 * self.ours:.1f}")
            if self.gold_cut:
                lines[-1] += f" ({self.gold_cut} keep their label: the gold may be cut in the file)"
            judged, only_file, only_ours = self.ours_differ
            if differ := only_file + only_ours:
                share = f"{100 * differ / judged:.1f} % of these samples ({differ} of {judged})"
                each = f"{only_file} are correct by the file alone, {only_ours} by us alone"
                lines.append(f"  our verdicts differ on {share}: {each}")
        lines += [f"  {cause.name}: {cause.text}" for cause in self.causes]
        if self.printed.spread:
            lines.append(f"  {self.printed.spread} is not judged, as it does not say what it is")
            if self.seeds_sd is not None:
                lines[-1] += f"; the standard deviation of the {self.seeds} seeds is {100 * self.seeds_sd:.1f}"
        lines += [f"  a known fault of the tool: {fault}" for fault in self.faults]
        if self.differing:
            values = "; ".join(
                f"{key} {stated} (declared: {declared})" for key, (stated, declared) in self.differing.items()
            )
            lines.append(f"  settings that differ: {values}")
        return "\n".join(lines)


def _percent(share: float) -> str:
    """With one digit after the point, and with two where it is half-way between such numbers."""
    halves = 2000 * share
    return f"{100 * share:.{2 if round(halves) % 2 and abs(halves - round(halves)) < 1e-6 else 1}f}"

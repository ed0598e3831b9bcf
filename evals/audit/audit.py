"""One printed number, taken apart: how it comes about from the files behind it, and what is left of it.

A cause is a reason why the number is not simply the score of the recipe. Each has one rule:

- not in the file: no checkpoint, reading (`evals.audit.readings`) or rounding gives the printed digits.
- another metric, another denominator: only another reading of the same samples or checkpoints gives them, such as
  pass@4, the mean of the last three checkpoints, or only finished responses; or cutting digits off. And a reward while
  training, which is the metric of no benchmark.
- another checkpoint: they are the score of a checkpoint that is neither the last nor the largest, or of several seeds'
  best ones. One of many scores has them by chance: the cause says with which probability.
- selection: they are the largest score of at least three checkpoints, and not the last one's, or of three recipes.
- seeds: they are the score of one of several seeds and not the mean; or, for a gain, the 95 % interval of the
  difference over seeds holds zero.
- grader: samples whose answer our grader judges otherwise, in a box or not, move the score by a point or more, and the
  95 % interval over problems of that move excludes zero.
- format: the same for samples that are correct without a box and were not counted.
- gain by grading: the gain over the base model excludes zero by the authors' verdicts, holds zero by ours, and the two
  gains differ (the interval of their difference excludes zero).
- truncation: more than 5 % of the samples are truncated or unscored, or 20 % have no answer and no finish reason.
- another denominator, too: problems are missing, have unequal numbers of samples, or are there twice.

The verdict follows from the causes, in this order: *not in the file*, *made by the grader* (grader, format, gain by
grading), *cannot tell* (no score of the benchmark, such as a reward while training; or one checkpoint of so many that
a foreign number would be one of them with a probability above 0.2), *within selection* (and chance >= 0.05 among the
checkpoints of one plateau), *within seeds*, *stands with another number* (any other cause), *stands*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from evals.audit.denominators import missing, not_counted, repeated
from evals.audit.evidence import Evidence
from evals.audit.intervals import DIFFERENCES, Gain, of_gain, of_score, per_problem
from evals.audit.printed import Printed
from evals.audit.readings import Reading, pass_at, readings, scores_at
from evals.audit.selection import Selection, selection
from evals.files import UsageError
from evals.stats.intervals import Interval, over_problems

Name = Literal[
    "not in the file", "another metric", "another denominator", "another checkpoint", "selection", "seeds", "grader",
    "format", "gain by grading", "truncation",
]  # fmt: skip
AuditVerdict = Literal[
    "stands", "stands with another number", "not in the file", "within selection", "within seeds",
    "made by the grader", "cannot tell",
]  # fmt: skip
MATERIAL = 0.01  # a point: smaller moves of a score are not named
BY_CHANCE = 0.2  # of a foreign number to be one of the scores: above it, finding it says nothing
LIKELY = 0.05  # a largest score that is rarer among equal checkpoints is more than selection
MIN_CHECKPOINTS = 3
OTHERS = 3  # readings with the same digits that are named


@dataclass(frozen=True)
class Cause:
    """A reason, in one sentence, and by how many points it moves the number (percent; None if that has no sign)."""

    name: Name
    text: str
    points: float | None = None


@dataclass(frozen=True, eq=False)
class Audit:
    """What is left of a printed number.

    Attributes:
        file: the score that the file gives: of the last checkpoint, mean over seeds, or of the printed recipe. None
            without scores. of: what it is of, for a sentence.
        ours: the samples of the checkpoint that has the printed digits, else of the last, by our verdicts; None without
            responses. ours_of: that checkpoint and its score in the file, for a sentence; "" where that is `file`.
            gold_cut: of these, the samples that keep their label, since the file may have cut their gold.
            ours_unscored: those that our grader could not judge, which are left out.
        unlabelled: of the last checkpoints' samples without a verdict of the authors, how many there are, how many
            samples in all, and the score with all of them incorrect and with all correct; None where every one has one.
        seeds_sd: the standard deviation of the last checkpoints over seeds, as a share; None of one seed.
        differing: settings that differ from a declaration's: name -> (the file's, declared).
        reading: what the printed digits are instead of the last checkpoint's score; "" if they are that, or nothing.
        gain: over the base model, where there is one; gain_of: " of X" where the printed number is not that of X.
    """

    printed: Printed
    verdict: AuditVerdict
    causes: tuple[Cause, ...]
    file: float | None = None
    ours: float | None = None
    ours_of: str = ""
    gold_cut: int = 0
    ours_unscored: int = 0
    gain_of: str = ""
    interval: Interval | None = None
    selection: Selection | None = None
    seeds: int = 0
    seeds_sd: float | None = None
    differing: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    unlabelled: tuple[int, int, float, float] | None = None
    reading: str = ""
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
        """The verdict; instead of "another number", that it stands with a reservation where it is the file's own."""
        own = self.file is not None and self.printed.rounds_from(self.file)
        return "stands, with a reservation" if own and self.verdict == "stands with another number" else self.verdict

    @property
    def _headline(self) -> str:
        """The verdict, and why where the number is not the last checkpoint's, or has a reservation."""
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
            of = f"{samples - missing} of {samples} samples are labelled"
            bounds = [f"{100 * low:.1f} with the others as incorrect", f"{100 * high:.1f} as correct"]
            lines.append(f"  that is over those with a label: {of}; {', '.join(bounds)}")
        if self.gain is not None:
            what = f" in pass@{self.printed.k}" if self.printed.k > 1 else ""
            lines.append(f"  gain{what}{self.gain_of} over the base model: {self.gain}")
        if self.ours is not None:
            of = self.ours_of or "the same samples"
            if self.ours_unscored:
                of += f" ({self.ours_unscored} unscored left out)"
            lines.append(f"  our verdicts on {of}, answers read wherever they stand: {100 * self.ours:.1f}")
            if self.gold_cut:
                lines[-1] += f" ({self.gold_cut} keep their label: the gold may be cut in the file)"
        lines += [f"  {cause.name}: {cause.text}" for cause in self.causes]
        if self.printed.spread:
            lines.append(f"  {self.printed.spread} is not judged, as it does not say what it is")
            if self.seeds_sd is not None:
                lines[-1] += f"; the standard deviation of the {self.seeds} seeds is {100 * self.seeds_sd:.1f}"
        if self.differing:
            values = "; ".join(f"{key} {theirs} (declared: {ours})" for key, (theirs, ours) in self.differing.items())
            lines.append(f"  settings that differ: {values}")
        return "\n".join(lines)


def _percent(share: float) -> str:
    """With one digit after the point, and with two where it is half-way between such numbers."""
    halves = 2000 * share
    return f"{100 * share:.{2 if round(halves) % 2 and abs(halves - round(halves)) < 1e-6 else 1}f}"


def audit(
    printed: Printed,
    evidence: Evidence | None,
    *,
    base: Evidence | None = None,
    declared: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Audit:
    """Take one printed score apart.

    Args:
        evidence: what the files say about the printed model; None if they say nothing about the benchmark.
        base: what they say about the model that it is compared with, on the same problems.
        declared: setting -> value of a declaration of the same recipe.
        seed: of the halves of the problems that a checkpoint is chosen and measured on.
    """
    if evidence is None:
        return Audit(printed, "cannot tell", ())
    rng = np.random.default_rng(seed)
    for side in (evidence, *(() if base is None else (base,))):
        if side.samples is not None and scores_at(side, printed.k)["value"].isna().any():
            most = int(side.samples.groupby(["seed", "checkpoint", "problem_id"])["label"].count().max())
            of = "" if side is evidence else " of the base model"
            raise UsageError(f"k={printed.k}: expected problems with so many labelled samples{of}, got at most {most}")
    printed, row, causes, reading, by_chance = _found(printed, evidence, base)
    chosen: Selection | None = None
    countable = evidence.samples is not None or evidence.problems is not None
    if evidence.checkpoints >= MIN_CHECKPOINTS and countable:
        chosen = selection(evidence, printed.value - (printed.unit + evidence.resolution) / 2, rng)
    if any(cause.name == "selection" for cause in causes):
        which = f"{reading}; " if evidence.names else ""
        said = f"{which}{chosen}" if chosen else f"{reading}; without problems=N the choice is not judged"
        if chosen and evidence.resolution > printed.unit:  # 0.42 in a file may be 0.4150
            said += f", as the file's scores may be rounded by {50 * evidence.resolution:g} points"
        apart = None if chosen is None else chosen.last if chosen.cross_fitted is None else chosen.cross_fitted
        points = None if apart is None else 100 * (printed.value - apart)
        causes = [Cause("selection", said, points) if c.name == "selection" else c for c in causes]
    if evidence.recipes:  # from here on, of the printed one alone
        evidence = replace(evidence, scores=evidence.scores[evidence.scores["checkpoint"] == row["checkpoint"]])
    causes += [Cause("another denominator", text) for text in missing(evidence, printed.unit)]
    ours = None
    if evidence.samples is not None:
        samples = evidence.at(row)
        causes += _grading(samples)
        behind = [evidence.at(r) for _, r in evidence.last.iterrows()] if row.name in evidence.last.index else [samples]
        texts = not_counted(pd.concat(behind))  # the mean over seeds is of all their samples
        causes += [Cause("truncation", "; ".join(texts))] if texts else []
        causes += [Cause("another denominator", text) for text in repeated(samples)]
        ours = None if "ours" not in samples else _score(samples, "ours", printed.k)
    own = scores_at(evidence, printed.k).loc[evidence.last.index, "value"]
    gain = None if base is None else of_gain(evidence, base, printed.k)
    if base is not None and gain is not None:
        causes += _gain(evidence, base, gain)
    if evidence.reward:
        text = f"{evidence.reward} is a reward while training, which is no score of a benchmark"
        causes = [Cause("another metric", text)]
    return Audit(
        printed,
        "cannot tell" if evidence.reward else _verdict([cause.name for cause in causes], chosen, by_chance),
        tuple(causes),
        file=float(own.mean()),
        ours=ours,
        ours_of="" if ours is None else _ours_of(evidence, row, printed.k),
        gold_cut=0 if ours is None or "gold_cut" not in samples else int(samples["gold_cut"].sum()),
        ours_unscored=0 if ours is None else int(samples["ours"].isna().sum()),
        interval=of_score(evidence, own, printed.k),
        selection=chosen,
        seeds=evidence.seeds,
        seeds_sd=float(own.std(ddof=1)) if len(own) > 1 else None,
        unlabelled=_unlabelled(evidence, printed.k),
        differing={
            key: (value, declared[key])
            for key, value in evidence.settings.items()
            if declared is not None and key in declared and declared[key] != value
        },
        reading=reading,
        of=_of(evidence) + (f", pass@{printed.k}" if printed.k > 1 and evidence.samples is not None else ""),
        gain=gain,
        gain_of="" if [*evidence.last.index] == [row.name] else f" of {_of(evidence)}",
    )


def _of(evidence: Evidence) -> str:
    """What the file's own score is of."""
    if evidence.recipes:
        return evidence.names[evidence.last["checkpoint"].iloc[0]]
    last = "the file's last checkpoint" if evidence.checkpoints > evidence.seeds else "the file"
    if evidence.seeds > 1:
        return f"{last}, mean over {evidence.seeds} seeds"
    name = evidence.names.get(evidence.last["checkpoint"].iloc[0], "") if evidence.checkpoints > 1 else ""
    return f"{last}, {name}" if name else last


def _ours_of(evidence: Evidence, row: pd.Series, k: int) -> str:
    """As `Audit.ours_of`, of a row of `scores`."""
    if [*evidence.last.index] == [row.name]:
        return ""
    return f"{evidence.called(row)}, {100 * _score(evidence.at(row), 'label', k):.1f} in the file"


def _unlabelled(evidence: Evidence, k: int) -> tuple[int, int, float, float] | None:
    """As `Audit.unlabelled`, mean over seeds."""
    if evidence.samples is None:
        return None
    last = [evidence.at(row) for _, row in evidence.last.iterrows()]
    ends = [[samples.fillna({"label": other}) for samples in last] for other in (0.0, 1.0)]
    missing = sum(int(samples["label"].isna().sum()) for samples in last)
    if not missing:
        return None
    low, high = (float(np.mean([_score(samples, "label", k) for samples in filled])) for filled in ends)
    return missing, sum(map(len, last)), low, high


def _verdict(names: list[Name], chosen: Selection | None, by_chance: float) -> AuditVerdict:
    if "not in the file" in names:
        return "not in the file"
    if {"grader", "format", "gain by grading"} & set(names):
        return "made by the grader"
    if by_chance > BY_CHANCE:
        return "cannot tell"
    if "selection" in names and chosen is not None and chosen.chance >= LIKELY:
        return "within selection"
    if "seeds" in names:
        return "within seeds"
    return "stands with another number" if names else "stands"


def _found(
    printed: Printed, evidence: Evidence, base: Evidence | None
) -> tuple[Printed, pd.Series, list[Cause], str, float]:
    """What has the printed digits: (the number as it is meant, in percent or as a share; the checkpoint, else the last;
    the causes that this names; what it is, if not the last checkpoint's score; the chance of a foreign number to be
    found so)."""
    meant = [printed, *([replace(printed, share=True)] if not printed.share and printed.may_be_share else [])]
    for one in meant:
        if (found := _as_meant(one, evidence, base)) is not None:
            return one, *found
    if (small := _of_small_percentages(printed, evidence)) is not None:
        return printed, *small
    scores = scores_at(evidence, printed.k)
    final = scores.loc[evidence.last.index]
    nearest = scores.iloc[int((scores["value"] - printed.value).abs().argmin())]
    others = len(scores) if evidence.recipes else 0  # of which the readings have none
    tried = others + sum(1 for _ in readings(evidence, printed, base))
    text = f"the nearest of {len(scores)} scores is {100 * nearest['value']:.2f} ({evidence.called(nearest)})"
    if len(scores) == 1:
        text = f"its score is {100 * nearest['value']:.2f}"
    numbers = "1 number was tried" if tried == 1 else f"{tried} numbers were tried"
    text += f"; {numbers}: {'recipes' if evidence.recipes else 'checkpoints, their means'}, "
    text += "pass@k and maj@k, other denominators, cut digits"
    points = 100 * (printed.value - float(final["value"].mean()))
    return printed, final.iloc[-1], [Cause("not in the file", text, points)], "", 0.0


def _as_meant(
    printed: Printed, evidence: Evidence, base: Evidence | None
) -> tuple[pd.Series, list[Cause], str, float] | None:
    """As `_found`, without its first; None if nothing has the digits."""
    scores = scores_at(evidence, printed.k)
    final = scores.loc[evidence.last.index]
    mean, spread = float(final["value"].mean()), float(final["value"].std(ddof=1))
    points = 100 * (printed.value - mean)
    matches = scores["value"].map(lambda value: printed.rounds_from(value, evidence.resolution))
    largest = int(scores["value"].argmax())
    chosen = bool(matches.iloc[largest]) and len(scores) >= MIN_CHECKPOINTS
    if evidence.recipes and matches.any() and not chosen:
        row = scores[matches].iloc[0]
        return row, [], evidence.called(row), 0.0
    if printed.rounds_from(mean, evidence.resolution) and not evidence.recipes:
        return final.iloc[-1], [], "", 0.0
    of_seeds = final[matches[final.index]]
    if len(final) > 1 and len(of_seeds):
        row = of_seeds.iloc[0]
        text = f"seed {row['seed']} of {len(final)}: mean {100 * mean:.1f}, standard deviation {100 * spread:.1f}"
        return row, [Cause("seeds", text, points)], text, 0.0
    if chosen:
        text = f"the largest of {len(scores)} {'recipes' if evidence.recipes else 'checkpoints'}"
        text += f", {evidence.called(scores.iloc[largest])}" if evidence.names else ""
        return scores.iloc[largest], [Cause("selection", text, points)], text, 0.0
    tried = readings(evidence, printed, base)
    found = [reading for reading in tried if printed.rounds_from(reading.value, evidence.resolution)]
    if found:
        # one of many has the digits by chance, and a mean of scores those of a score: another one is likelier
        single = printed.may_be_one_of(evidence.samples_in_score)
        first = min(found, key=lambda r: (r.rare, single and r.finer, r.chance > BY_CHANCE))
        return scores.iloc[first.row], [Cause(first.kind, _said(first, found), points)], first.text, first.chance
    if printed.cut_from(mean):
        text = f"{100 * mean:.4g}, not rounded to nearest"
        return final.iloc[-1], [Cause("another metric", text, points)], text, 0.0
    return None


def _of_small_percentages(printed: Printed, evidence: Evidence) -> tuple[pd.Series, list[Cause], str, float] | None:
    """As `_as_meant`, of a curve in percent that is never above 1 %, which was read as shares."""
    scores = evidence.scores
    if evidence.samples is not None or scores["value"].max() > 1:
        return None
    small = (scores["value"] / 100).map(lambda value: printed.rounds_from(value, evidence.resolution / 100))
    if not small.any():
        return None
    row = scores[small].iloc[-1]
    text = f"{evidence.called(row)}, whose values the file gives in percent"
    points = 100 * (printed.value - float(evidence.last["value"].mean()))
    return row, [Cause("another metric", text, points)], text, 0.0


def _said(first: Reading, found: Sequence[Reading]) -> str:
    """A reading, with the chance to find one like it, and the others that have the same digits."""
    text = first.text
    if first.chance:
        text += "; a number of no relation to the file would match one of so many scores with probability "
        text += f"{first.chance:.2f}"
    others = dict.fromkeys(reading.text for reading in found if reading.text != first.text)
    return text + (f" (the same digits: {'; '.join(list(others)[:OTHERS])})" if others else "")


def _score(samples: pd.DataFrame, column: str, k: int = 1) -> float:
    if k > 1:
        return pass_at(samples.assign(label=samples[column]), k)
    return float(samples.groupby("problem_id")[column].mean().mean())


def _moved(samples: pd.DataFrame, moved: pd.Series, problems: pd.Series) -> tuple[float, Interval | None]:
    """The mean over problems of a move of each sample's verdict, with its interval."""
    per_problem = moved.groupby(problems).mean().to_numpy(dtype=float)
    return float(per_problem.mean()), over_problems(per_problem, bounds=DIFFERENCES)


def _grading(samples: pd.DataFrame) -> list[Cause]:
    """What our verdicts move, apart for answers that only stand outside a box."""
    if not {"ours", "strict"} <= set(samples):
        return []
    scored = samples.dropna(subset=["label", "ours", "strict"])
    if scored.empty:
        return []
    move = scored["ours"] - scored["label"]
    if "truncated" in scored:  # what stands in a cut response is a matter of truncation
        move = move.mask((scored["truncated"] == 1) & (move < 0), 0.0)
    outside = (scored["ours"] != scored["strict"]) & (scored["strict"] == scored["label"])
    of = f", of the {len(scored)} of {len(samples)} that are labelled and scored" * (len(scored) < len(samples))
    causes: list[Cause] = []
    kinds: tuple[tuple[Name, pd.Series, str], ...] = (
        ("grader", ~outside, "samples whose answer our grader judges otherwise"),
        ("format", outside, "samples that are correct without a box"),
    )
    for name, of_kind, text in kinds:
        mean, interval = _moved(scored, move.where(of_kind, 0.0), scored["problem_id"])
        if abs(mean) >= MATERIAL and interval is not None and not interval.low <= 0 <= interval.high:
            count = int((of_kind & (move != 0)).sum())
            bounds = f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
            causes.append(Cause(name, f"{count} {text} move it by {100 * mean:+.1f} points {bounds}{of}", 100 * mean))
    return causes


def _gain(evidence: Evidence, base: Evidence, gain: Gain) -> list[Cause]:
    """Causes of the difference to the base model: its seeds, and both graders' verdicts on it."""
    causes = []
    if evidence.seeds > 1 and base.seeds > 1 and gain.interval is not None and _holds_zero(gain.interval):
        low, high = 100 * gain.interval.low, 100 * gain.interval.high
        text = f"{evidence.seeds} and {base.seeds} seeds differ by {100 * gain.value:.1f} [{low:.1f}, {high:.1f}]"
        causes.append(Cause("seeds", text, 100 * gain.value))
    if not all(side.samples is not None and "ours" in side.samples for side in (evidence, base)):
        return causes
    gains = pd.DataFrame({c: per_problem(evidence, c) - per_problem(base, c) for c in ("label", "ours")}).dropna()
    if len(gains) < 2:
        return causes
    theirs, ours, between = (
        over_problems(values.to_numpy(dtype=float), bounds=limits)
        for values, limits in (
            (gains["label"], DIFFERENCES),
            (gains["ours"], DIFFERENCES),
            (gains["label"] - gains["ours"], (-2.0, 2.0)),
        )
    )
    if theirs and ours and between and not _holds_zero(theirs) and _holds_zero(ours) and not _holds_zero(between):
        by_them, by_us = (100 * float(gains[column].mean()) for column in ("label", "ours"))
        text = f"the gain is {by_them:+.1f} by their verdicts and {by_us:+.1f} by ours"
        causes.append(Cause("gain by grading", text, by_us - by_them))
    return causes


def _holds_zero(interval: Interval) -> bool:
    return interval.low <= 0 <= interval.high

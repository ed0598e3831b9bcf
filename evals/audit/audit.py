"""One printed number, taken apart: how it comes about from the files behind it, and what is left of it.

A cause is a reason why the number is not simply the score of the recipe. Each has one rule:

- not in the file: no checkpoint, reading (`evals.audit.readings`) or rounding gives the printed digits.
- another metric, another denominator: only another reading of the same samples or checkpoints gives them, such as
  pass@4, the mean of the last three checkpoints, or only finished responses; or cutting digits off.
- another checkpoint: they are the score of a checkpoint that is neither the last nor the largest, or of several seeds'
  best ones. One of many scores has them by chance: the cause says with which probability.
- selection: they are the largest score of at least three checkpoints, and not the last one's.
- seeds: they are the score of one of several seeds and not the mean; or, for a gain, the 95 % interval of the
  difference over seeds holds zero.
- grader: samples whose answer our grader judges otherwise, in a box or not, move the score by a point or more, and the
  95 % interval over problems of that move excludes zero.
- format: the same for samples that are correct without a box and were not counted.
- gain by grading: the gain over the base model excludes zero by the authors' verdicts, holds zero by ours, and the two
  gains differ (the interval of their difference excludes zero).
- truncation: more than 5 % of the samples are truncated or unscored, or 20 % without an answer.
- another denominator, too: problems are missing, or more than 5 % of the responses are copies of others.

The verdict follows from the causes, in this order: *not in the file*, *made by the grader* (grader, format, gain by
grading), *cannot tell* (no score of the benchmark; or one checkpoint of so many that a foreign number would be one of
them with a probability above 0.2), *within selection* (and chance >= 0.05 among the checkpoints of one plateau),
*within seeds*, *stands with another number* (any other cause), *stands*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from evals.audit.evidence import Evidence
from evals.audit.readings import hit_by_chance, pass_at, readings
from evals.audit.selection import Selection, selection
from evals.stats.intervals import Interval, over_problems, over_seeds

Name = Literal[
    "not in the file", "another metric", "another denominator", "another checkpoint", "selection", "seeds", "grader",
    "format", "gain by grading", "truncation",
]  # fmt: skip
Verdict = Literal[
    "stands", "stands with another number", "not in the file", "within selection", "within seeds",
    "made by the grader", "cannot tell",
]  # fmt: skip
MATERIAL = 0.01  # a point: smaller moves of a score are not named
TRUNCATED = 0.05
SILENT = 0.2  # a base model often answers nothing; above this share a limit that the file does not state is likelier
BY_CHANCE = 0.2  # of a foreign number to be one of the scores: above it, finding it says nothing
LIKELY = 0.05  # a largest score that is rarer among equal checkpoints is more than selection
DIFFERENCES = (-1.0, 1.0)
MIN_CHECKPOINTS = 3


@dataclass(frozen=True)
class Printed:
    """A score as it is printed.

    Attributes:
        text: its digits, such as "46.7" (also "46.7%" or "46.7 ± 1.2"): their number gives the rounding.
        where: it is printed.
        k: it is pass@k; 1 for an average over samples.
        share: it is printed as a share, such as 0.467, and not in percent.
    """

    text: str
    where: str = ""
    k: int = 1
    share: bool = False

    def __post_init__(self) -> None:
        try:
            valid = 0 <= self.value <= 1
        except ValueError:
            valid = False
        if not valid or self.k < 1:
            raise ValueError(f"printed: expected a percentage such as 46.7 and k >= 1, got {self.text!r}, k = {self.k}")

    @property
    def digits(self) -> str:
        """The number alone, without percent sign and spread."""
        return re.split(r"±|\+-|\+/-|\\pm", self.text)[0].strip().removesuffix("%").removesuffix("\\").strip()

    @property
    def may_be_share(self) -> bool:
        """Whether it may be a share: at most 1, and not marked as a percentage."""
        return "%" not in self.text and float(self.digits) <= 1

    @property
    def value(self) -> float:
        """As a share in [0, 1]."""
        return float(self.digits) / (1 if self.share else 100)

    @property
    def unit(self) -> float:
        """One of its last digit, as a share."""
        return 10.0 ** -(len(self.digits.partition(".")[2]) + (0 if self.share else 2))

    def rounds_from(self, value: float, resolution: float = 0.0) -> bool:
        """The printed digits are this share, rounded; it is known to half a `resolution` itself, or exactly, and then
        rounds both ways from half-way."""
        return abs(value - self.value) <= (self.unit + resolution) / 2 + (-1e-9 if resolution else 1e-9)

    def cut_from(self, value: float) -> bool:
        """The printed digits are this share with further digits cut off, or rounded up."""
        return abs(value - self.value) < self.unit - 1e-9


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
        file: the score that the file gives: of the last checkpoint, mean over seeds. None without scores.
        ours: the same samples by our verdicts; None without responses.
        unlabelled: of the last checkpoints' samples without a verdict of the authors, how many there are, how many
            samples in all, and the score with all of them incorrect and with all correct; None where every one has one.
        differing: settings that differ from a declaration's: name -> (the file's, declared).
        reading: what the printed digits are instead of the last checkpoint's score; "" if they are that, or nothing.
    """

    printed: Printed
    verdict: Verdict
    causes: tuple[Cause, ...]
    file: float | None = None
    ours: float | None = None
    interval: Interval | None = None
    selection: Selection | None = None
    seeds: int = 0
    differing: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    unlabelled: tuple[int, int, float, float] | None = None
    reading: str = ""

    @property
    def why(self) -> str:
        """Its causes, or what it means that there is none."""
        if self.file is None:
            return "the files have no score of this benchmark"
        causes = "; ".join(f"{cause.name}: {cause.text}" for cause in self.causes)
        return causes or "the score of the last checkpoint, mean over seeds; no cause moves it"

    def __str__(self) -> str:
        interval = "" if self.interval is None else f" [{100 * self.interval.low:.1f}, {100 * self.interval.high:.1f}]"
        named = f": {self.reading}" if self.reading and self.verdict == "stands with another number" else ""
        lines = [f"{self.printed.text}: {self.verdict}{named}"]
        if self.file is not None:
            lines.append(f"  the file's last checkpoint: {100 * self.file:.1f}{interval}")
        if self.unlabelled is not None:
            missing, samples, low, high = self.unlabelled
            of = f"{samples - missing} of {samples} samples are labelled"
            lines.append(f"  that is over those with a label: {of}, so that it is {100 * low:.1f} to {100 * high:.1f}")
        if self.ours is not None:
            lines.append(f"  our verdicts on the same samples, answers read wherever they stand: {100 * self.ours:.1f}")
        lines += [f"  {cause.name}: {cause.text}" for cause in self.causes]
        if self.differing:
            values = "; ".join(f"{key} {theirs} (declared: {ours})" for key, (theirs, ours) in self.differing.items())
            lines.append(f"  settings that differ: {values}")
        return "\n".join(lines)


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
    printed, row, causes, reading, by_chance = _found(printed, evidence)
    chosen: Selection | None = None
    countable = evidence.samples is not None or evidence.problems is not None
    if evidence.checkpoints >= MIN_CHECKPOINTS and countable:
        chosen = selection(evidence, printed.value - (printed.unit + evidence.resolution) / 2, rng)
    if any(cause.name == "selection" for cause in causes):
        said = str(chosen) if chosen is not None else f"{reading}; without problems=N the choice is not judged"
        apart = None if chosen is None else chosen.last if chosen.cross_fitted is None else chosen.cross_fitted
        points = None if apart is None else 100 * (printed.value - apart)
        causes = [Cause("selection", said, points) if c.name == "selection" else c for c in causes]
    causes += _problems(evidence)
    ours = None
    if evidence.samples is not None:
        samples = evidence.at(row)
        causes += _grading(samples) + _truncation(samples) + _copies(samples)
        ours = None if "ours" not in samples else _score(samples, "ours")
    if base is not None:
        causes += _gain(evidence, base)
    file = float(evidence.last["value"].mean())
    return Audit(
        printed,
        _verdict([cause.name for cause in causes], chosen, by_chance),
        tuple(causes),
        file=file,
        ours=ours,
        interval=_file_interval(evidence),
        selection=chosen,
        seeds=evidence.scores["seed"].nunique(),
        unlabelled=_unlabelled(evidence),
        differing={
            key: (value, declared[key])
            for key, value in evidence.settings.items()
            if declared is not None and key in declared and declared[key] != value
        },
        reading=reading,
    )


def _unlabelled(evidence: Evidence) -> tuple[int, int, float, float] | None:
    """As `Audit.unlabelled`, mean over seeds."""
    if evidence.samples is None:
        return None
    last = [evidence.at(row) for _, row in evidence.last.iterrows()]
    missing = sum(int(samples["label"].isna().sum()) for samples in last)
    if not missing:
        return None
    low, high = (
        float(np.mean([_score(samples.fillna({"label": other}), "label") for samples in last])) for other in (0.0, 1.0)
    )
    return missing, sum(map(len, last)), low, high


def _verdict(names: list[Name], chosen: Selection | None, by_chance: float) -> Verdict:
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


def _found(printed: Printed, evidence: Evidence) -> tuple[Printed, pd.Series, list[Cause], str, float]:
    """What has the printed digits: (the number as it is meant, in percent or as a share; the checkpoint, else the last;
    the causes that this names; what it is, if not the last checkpoint's score; the chance of a foreign number to be
    found so)."""
    meant = [printed, *([replace(printed, share=True)] if not printed.share and printed.may_be_share else [])]
    for one in meant:
        if (found := _as_meant(one, evidence)) is not None:
            return one, *found
    scores = _scores(evidence, printed.k)
    final = scores.loc[evidence.last.index]
    nearest = scores.iloc[int((scores["value"] - printed.value).abs().argmin())]
    tried = len(scores) + sum(1 for _ in readings(evidence, printed.k))
    text = f"the nearest of {len(scores)} scores is {100 * nearest['value']:.2f} (checkpoint {nearest['checkpoint']})"
    if len(scores) == 1:
        text = f"its score is {100 * nearest['value']:.2f}"
    text += f"; {tried} numbers were tried: checkpoints, their means, pass@k and maj@k, other denominators, cut digits"
    points = 100 * (printed.value - float(final["value"].mean()))
    return printed, final.iloc[-1], [Cause("not in the file", text, points)], "", 0.0


def _as_meant(printed: Printed, evidence: Evidence) -> tuple[pd.Series, list[Cause], str, float] | None:
    """As `_found`, without its first; None if nothing has the digits."""
    scores = _scores(evidence, printed.k)
    final = scores.loc[evidence.last.index]
    mean, spread = float(final["value"].mean()), float(final["value"].std(ddof=1))
    if printed.rounds_from(mean, evidence.resolution):
        return final.iloc[-1], [], "", 0.0
    points = 100 * (printed.value - mean)
    matches = scores["value"].map(lambda value: printed.rounds_from(value, evidence.resolution))
    of_seeds = final[matches[final.index]]
    if len(final) > 1 and len(of_seeds):
        row = of_seeds.iloc[0]
        text = f"seed {row['seed']} of {len(final)}: mean {100 * mean:.1f}, standard deviation {100 * spread:.1f}"
        return row, [Cause("seeds", text, points)], text, 0.0
    largest = int(scores["value"].argmax())
    if matches.iloc[largest] and len(scores) >= MIN_CHECKPOINTS:
        text = f"the largest of {len(scores)} checkpoints"
        return scores.iloc[largest], [Cause("selection", text, points)], text, 0.0
    several = [r for r in readings(evidence, printed.k) if printed.rounds_from(r.value, evidence.resolution)]
    ordinary = next((r for r in several if "mean over seeds" in r.text), None)
    if ordinary is None and matches.any():
        row = scores[matches].iloc[0]
        chance = hit_by_chance(scores["value"].tolist(), evidence.problems, printed.unit)
        text = f"the score of checkpoint {row['checkpoint']}"
        said = f"{text}; a foreign number would be one of the {len(scores)} with probability {chance:.2f}"
        return row, [Cause("another checkpoint", said, points)], text, chance
    if found := ordinary or next(iter(several), None):
        return scores.iloc[found.row], [Cause(found.kind, found.text, points)], found.text, 0.0
    if evidence.samples is None and scores["value"].max() <= 1:  # a curve in percent that is never above 1 %
        small = (scores["value"] / 100).map(lambda value: printed.rounds_from(value, evidence.resolution / 100))
        if small.any():
            row = scores[small].iloc[-1]
            text = f"checkpoint {row['checkpoint']}, whose values the file gives in percent"
            return row, [Cause("another metric", text, points)], text, 0.0
    if printed.cut_from(mean):
        text = f"{100 * mean:.4g}, not rounded to nearest"
        return final.iloc[-1], [Cause("another metric", text, points)], text, 0.0
    return None


def _problems(evidence: Evidence) -> list[Cause]:
    """Problems that are missing: of the stated number, or in one seed and not in another."""
    if evidence.samples is None:
        return []
    samples = pd.concat([evidence.at(row) for _, row in evidence.last.iterrows()])
    by_seed = samples.groupby("seed")["problem_id"].nunique()
    total = max(int(by_seed.max()), evidence.stated or 0)
    if (by_seed == total).all():
        return []
    scores = samples.groupby(["seed", "problem_id"])["label"].mean().groupby(level="seed").sum()
    low = float((scores / total).mean())
    high = float(((scores + total - by_seed) / total).mean())
    there = " and ".join(str(count) for count in dict.fromkeys(by_seed))
    text = f"{there} of {total} problems are in the file; over all {total} it is {100 * low:.1f} to {100 * high:.1f}"
    return [Cause("another denominator", text)]


def _scores(evidence: Evidence, k: int) -> pd.DataFrame:
    """The checkpoints' scores under pass@k."""
    if k == 1 or evidence.samples is None:
        return evidence.scores
    values = [pass_at(evidence.at(row), k) for _, row in evidence.scores.iterrows()]
    return evidence.scores.assign(value=values)


def _score(samples: pd.DataFrame, column: str) -> float:
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
    outside = (scored["ours"] != scored["strict"]) & (scored["strict"] == scored["label"])
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
            causes.append(Cause(name, f"{count} {text} move it by {100 * mean:+.1f} points {bounds}", 100 * mean))
    return causes


def _truncation(samples: pd.DataFrame) -> list[Cause]:
    lost = samples["label"].isna()
    if "truncated" in samples:
        lost |= samples["truncated"] == 1
    silent = ~lost & samples["answer"].isna() if "answer" in samples else ~lost & False
    parts = ((lost, TRUNCATED, "truncated or unscored"), (silent, SILENT, "without an answer"))
    shares = [f"{which.mean():.1%} of the samples are {text}" for which, most, text in parts if which.mean() > most]
    return [Cause("truncation", "; ".join(shares))] if shares else []


def _copies(samples: pd.DataFrame) -> list[Cause]:
    """Long responses that are in the file again, to the same gold: rows that were written twice, or problems under two
    ids."""
    if "copy_of" not in samples:
        return []
    copied = int(samples["copy_of"].dropna().duplicated().sum())
    if copied <= TRUNCATED * len(samples):
        return []
    text = f"{copied} of {len(samples)} responses are copies of others to the same gold: rows or problems twice"
    return [Cause("another denominator", text)]


def _gain(evidence: Evidence, base: Evidence) -> list[Cause]:
    """Causes of the difference to the base model: its seeds, and both graders' verdicts on it."""
    from scipy.stats import ttest_ind

    causes = []
    trained, before = (side.last["value"].to_numpy(dtype=float) for side in (evidence, base))
    if len(trained) > 1 and len(before) > 1:
        difference = 100 * float(trained.mean() - before.mean())
        low, high = (100 * bound for bound in ttest_ind(trained, before, equal_var=False).confidence_interval(0.95))
        if low <= 0 <= high:
            text = f"{len(trained)} and {len(before)} seeds differ by {difference:.1f} [{low:.1f}, {high:.1f}]"
            causes.append(Cause("seeds", text, difference))
    if evidence.samples is None or base.samples is None:
        return causes
    sides = [side.at(side.last.iloc[-1]) for side in (evidence, base)]
    if not all({"label", "ours"} <= set(side) for side in sides):
        return causes
    per_problem = [side.groupby("problem_id")[["label", "ours"]].mean() for side in sides]
    gain = (per_problem[0] - per_problem[1]).dropna()
    if len(gain) < 2:
        return causes
    theirs, ours, between = (
        over_problems(values.to_numpy(dtype=float), bounds=limits)
        for values, limits in (
            (gain["label"], DIFFERENCES),
            (gain["ours"], DIFFERENCES),
            (gain["label"] - gain["ours"], (-2.0, 2.0)),
        )
    )
    if theirs and ours and between and not _holds_zero(theirs) and _holds_zero(ours) and not _holds_zero(between):
        by_them, by_us = (100 * float(gain[column].mean()) for column in ("label", "ours"))
        text = f"the gain is {by_them:+.1f} by their verdicts and {by_us:+.1f} by ours"
        causes.append(Cause("gain by grading", text, by_us - by_them))
    return causes


def _holds_zero(interval: Interval) -> bool:
    return interval.low <= 0 <= interval.high


def _file_interval(evidence: Evidence) -> Interval | None:
    """Of the last checkpoint: over seeds if there are enough, else over problems where there are verdicts."""
    values = evidence.last["value"].to_numpy(dtype=float)
    if len(values) > 1:
        return over_seeds(values)
    if evidence.samples is None:
        return None
    per_problem = evidence.at(evidence.last.iloc[-1]).groupby("problem_id")["label"].mean().dropna()
    return over_problems(per_problem.to_numpy(dtype=float)) if len(per_problem) else None

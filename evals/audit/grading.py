"""The effect of our verdicts on the same responses: on a score, and on a gain."""

from __future__ import annotations

import pandas as pd

from evals.audit.composition import Name
from evals.audit.evidence import Evidence
from evals.audit.intervals import DIFFERENCES, Gain, per_problem
from evals.audit.result import Cause
from evals.stats.intervals import Interval, over_problems

MATERIAL = 0.01  # a point: smaller moves of a score are not named
FLIPPED = 0.05  # this share of the samples has another verdict by us, in both directions: do not rely on the labels
UNREAD = 0.5  # this share of the responses labelled correct has no answer for us: we cannot judge them
FEWEST_CORRECT = 10  # labels, to say so
RULED = 0.1  # correct samples without a box that the labels accept, for each one that they refuse: a box is no rule
ONE_WAY = 0.02  # the least share of the samples in each direction


def _moved(samples: pd.DataFrame, moved: pd.Series, problems: pd.Series) -> tuple[float, Interval | None]:
    """The mean over problems of a move of each sample's verdict, with its interval."""
    per_problem = moved.groupby(problems).mean().to_numpy(dtype=float)
    return float(per_problem.mean()), over_problems(per_problem, bounds=DIFFERENCES)


def by_our_verdicts(samples: pd.DataFrame) -> list[Cause]:
    """The causes from our verdicts, apart for answers that only stand outside a box."""
    if not {"ours", "strict"} <= set(samples):
        return []
    scored = samples.dropna(subset=["label", "ours", "strict"])
    if scored.empty:
        return []
    correct = scored[scored["label"] == 1]
    unread = int(correct["answer"].isna().sum()) if "answer" in correct else 0
    if len(correct) >= FEWEST_CORRECT and unread > UNREAD * len(correct):
        text = f"our grader finds no answer in {unread} of {len(correct)} responses that the file calls correct"
        return [Cause("labels", f"{text}, so it cannot judge the labels")]
    move = scored["ours"] - scored["label"]
    if "truncated" in scored:  # what stands in a cut response is a matter of truncation
        move = move.mask((scored["truncated"] == 1) & (move < 0), 0.0)
    if "silent" in scored:  # a number in a response that states no answer agrees by chance
        move = move.mask(scored["silent"].astype(bool), 0.0)
    unjudged = (move < 0) & scored["in_words"].astype(bool) if "in_words" in scored else move.isna()
    move = move.mask(unjudged, 0.0)  # a judge knows that a name with a title is the same name
    boxless = (scored["ours"] == 1) & (scored["strict"] == 0)
    outside = (scored["ours"] != scored["strict"]) & (scored["strict"] == scored["label"])
    accepted = int((boxless & (scored["label"] == 1)).sum())
    if accepted > RULED * int((boxless & outside).sum()):  # the labels do not ask for a box
        outside &= False
    coverage = f", of the {len(scored)} of {len(samples)} that are labelled and scored" * (len(scored) < len(samples))
    causes: list[Cause] = []
    if unjudged.sum() >= FLIPPED * len(scored):
        text = f"{unjudged.sum()} answers in words are correct by the file and differ from the gold"
        causes.append(Cause("labels", f"{text}. Our grader compares words letter by letter, so it cannot judge them"))
    kinds: tuple[tuple[Name, pd.Series, str], ...] = (
        ("grader", ~outside, "samples whose answer our grader judges otherwise"),
        ("format", outside, "samples that are correct without a box"),
    )
    for name, of_kind, text in kinds:
        mean, interval = _moved(scored, move.where(of_kind, 0.0), scored["problem_id"])
        if abs(mean) >= MATERIAL and interval is not None and not interval.low <= 0 <= interval.high:
            count = int((of_kind & (move != 0)).sum())
            bounds = f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
            causes.append(
                Cause(name, f"{count} {text} move it by {100 * mean:+.1f} points {bounds}{coverage}", 100 * mean)
            )
    judged, only_file, only_ours = differing(samples)
    if only_file + only_ours >= FLIPPED * judged and min(only_file, only_ours) >= ONE_WAY * judged:
        share = f"{100 * (only_file + only_ours) / judged:.1f} % of {judged} samples"
        text = f"our verdicts differ on {share}, in both directions ({only_file} and {only_ours})"
        causes.append(Cause("labels", text))
    return causes


def differing(samples: pd.DataFrame) -> tuple[int, int, int]:
    """Samples with a label and our verdict, those that only the label calls correct, and those that only we do."""
    if "ours" not in samples:
        return 0, 0, 0
    both = samples.dropna(subset=["label", "ours"])
    move = both["ours"] - both["label"]
    return len(both), int((move < 0).sum()), int((move > 0).sum())


def of_the_gain(evidence: Evidence, base: Evidence, gain: Gain) -> list[Cause]:
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
    file_gain, our_gain, between = (
        over_problems(values.to_numpy(dtype=float), bounds=limits)
        for values, limits in (
            (gains["label"], DIFFERENCES),
            (gains["ours"], DIFFERENCES),
            (gains["label"] - gains["ours"], (-2.0, 2.0)),
        )
    )
    if (
        file_gain
        and our_gain
        and between
        and not _holds_zero(file_gain)
        and _holds_zero(our_gain)
        and not _holds_zero(between)
    ):
        by_them, by_us = (100 * float(gains[column].mean()) for column in ("label", "ours"))
        text = f"the gain is {by_them:+.1f} by their verdicts and {by_us:+.1f} by ours"
        causes.append(Cause("gain by grading", text, by_us - by_them))
    return causes


def _holds_zero(interval: Interval) -> bool:
    return interval.low <= 0 <= interval.high

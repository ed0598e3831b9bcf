"""One printed number, taken apart: how it comes about from the files behind it, and what is left of it.

A search (`evals.audit.search`) tries every composition of the ordinary choices that people make with an evaluation. The
simplest that has the printed digits, and what else the files say, give the causes. Each cause is a reason why the
number is not simply the score of the recipe, and has a rule:

- not found: no composition has the printed digits. Its text names the nearest numbers.
- another model, another metric, another denominator: only another reading of the files gives them, such as pass@4, the
  base model's score, or finished responses alone. And a reward while training, which is the metric of no benchmark.
- another checkpoint: they are the score of a checkpoint that is neither the last nor the largest.
- selection: they are the largest score of at least three checkpoints, and not the last one's, or of three recipes.
- seeds: they are the score of one of several seeds and not the mean, or, for a gain, the 95 % interval of the
  difference over seeds holds zero.
- grader: samples whose answer our grader judges otherwise, in a box or not, move the score by a point or more, and the
  95 % interval over problems of that move excludes zero.
- format: the same for samples that are correct without a box and were not counted.
- labels: our verdicts differ on 5 % of the samples or more, in both directions, whatever that does to the score. Or our
  grader finds no answer in too many of the responses that the file calls correct.
- gain by grading: the gain over the base model excludes zero by the authors' verdicts, holds zero by ours, and the two
  gains differ (the interval of their difference excludes zero).
- truncation: more than 5 % of the samples are truncated or unscored, or 20 % have no answer and no finish reason.
- another denominator, too: problems are missing, have unequal numbers of samples, or are there twice, or models are
  pooled.

The verdict follows from the causes, in this order: *not found among N readings*, *made by the grader* (grader, format,
gain by grading), *cannot tell* (no score of the benchmark, such as a reward while training, or so many compositions are
as simple that a foreign number would be one of them with a probability above 0.05), *within selection* (and chance >=
0.05 among the checkpoints of one plateau), *within seeds*, *stands with another number* (any other cause), *stands*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from evals.audit.composition import Composition
from evals.audit.denominators import missing, not_counted, pooled_models, repeated
from evals.audit.evidence import Evidence, pass_at
from evals.audit.grading import by_our_verdicts, differing, of_the_gain
from evals.audit.grammar import MIN_CHECKPOINTS
from evals.audit.intervals import of_gain, of_score
from evals.audit.printed import Printed
from evals.audit.result import NOT_FOUND, Audit, AuditVerdict, Cause
from evals.audit.search import Match, search
from evals.audit.selection import Selection, selection
from evals.errors import UsageError

LIKELY = 0.05  # a largest score that is rarer among equal checkpoints is more than selection
MOST_NAMED = 3  # readings with the same digits that are named


def audit(
    printed: Printed,
    evidence: Evidence | None,
    *,
    base: Evidence | None = None,
    declared: Mapping[str, object] | None = None,
    seed: int = 0,
) -> Audit:
    """Take one printed score apart.

    Args:
        evidence: what the files say about the printed model, or None if they say nothing about the benchmark.
        base: what they say about the model that it is compared with, on the same problems.
        declared: setting -> value of a declaration of the same recipe.
        seed: of the halves of the problems that a checkpoint is chosen and measured on.
    """
    if evidence is None:
        return Audit(printed, "cannot tell", ())
    _enough_samples(printed.k, evidence, base)
    match = search(printed, evidence, base)
    printed, row = match.printed, evidence.scores.iloc[match.row]
    chosen = _choice(printed, evidence, seed)
    causes = _of_digits(match, evidence, chosen)
    if evidence.recipes:  # from here on, of the printed one alone
        evidence = replace(evidence, scores=evidence.scores[evidence.scores["checkpoint"] == row["checkpoint"]])
    causes += _of_rows(evidence, row, printed)
    gain = None if base is None else of_gain(evidence, base, printed.k)
    if base is not None and gain is not None:
        causes += of_the_gain(evidence, base, gain)
    if evidence.reward:
        text = f"{evidence.reward} is a reward while training, which is no score of a benchmark"
        causes = [Cause("another metric", text)]
    own_scores = evidence.scores_at(printed.k).loc[evidence.last.index, "value"]
    result = Audit(
        printed,
        "cannot tell" if evidence.reward else _verdict({cause.name for cause in causes}, chosen, match),
        tuple(causes),
        file=float(own_scores.mean()),
        interval=of_score(evidence, own_scores, printed.k),
        selection=chosen,
        seeds=evidence.seeds,
        seeds_sd=float(own_scores.std(ddof=1)) if len(own_scores) > 1 else None,
        unlabelled=_unlabelled(evidence, printed.k),
        differing={
            key: (value, declared[key])
            for key, value in evidence.settings.items()
            if declared is not None and key in declared and declared[key] != value
        },
        reading=_words(match.first, evidence, printed.k),
        tried=match.tried,
        chance=match.chance,
        faults=evidence.faults,
        of=_scored_part(evidence) + (f", pass@{printed.k}" if printed.k > 1 and evidence.samples is not None else ""),
        gain=gain,
        gain_of="" if [*evidence.last.index] == [row.name] else f" of {_scored_part(evidence)}",
    )
    return result if evidence.samples is None else _with_ours(result, evidence, row)


def _choice(printed: Printed, evidence: Evidence, seed: int) -> Selection | None:
    """The choice of a checkpoint, or None where it cannot be judged."""
    if evidence.checkpoints < MIN_CHECKPOINTS or (evidence.samples is None and evidence.problems is None):
        return None
    least = printed.value - (printed.unit + evidence.resolution) / 2
    return selection(evidence, least, np.random.default_rng(seed))


def _enough_samples(k: int, *sides: Evidence | None) -> None:
    for number, side in enumerate(sides):
        if side is None or side.samples is None or not side.scores_at(k)["value"].isna().any():
            continue
        most = int(side.samples.groupby(["seed", "checkpoint", "problem_id"])["label"].count().max())
        whose_samples = " of the base model" if number else ""
        raise UsageError(f"k={k}: expected problems with so many labelled samples{whose_samples}, got at most {most}")


def _of_digits(match: Match, evidence: Evidence, chosen: Selection | None) -> list[Cause]:
    """The cause that the composition with the printed digits names."""
    file_score = 100 * float(evidence.scores_at(match.printed.k).loc[evidence.last.index, "value"].mean())
    points: float | None = 100 * match.printed.value - file_score
    if match.first is None:
        return [Cause("not found", _nearest(match), points)]
    text, name = _words(match.first, evidence, match.printed.k), match.first.cause
    if match.coarse and not match.explained:
        has = f"{text or 'its own score'} has the printed digits only if the file rounds its scores"
        return [Cause("not found", f"{has}, by up to {50 * match.coarse:g} points", points)]
    largest = not match.first.choices and evidence.recipes and evidence.checkpoints >= MIN_CHECKPOINTS
    if largest:  # the ordinary one of several recipes is the largest, which is a choice
        name = "selection"
    if name is None:
        return []
    if name == "selection" and len(match.first.choices) <= 1:
        text, points = _selected(match, evidence, chosen, text)
    elif name == "selection":
        name = "another checkpoint"
    if name == "seeds":
        last = evidence.last["value"]
        text += f": mean {100 * last.mean():.1f}, standard deviation {100 * last.std(ddof=1):.1f}"
    return [Cause(name, text + _by_chance(match) + _other_readings(match, evidence), points)]


def _selected(match: Match, evidence: Evidence, chosen: Selection | None, text: str) -> tuple[str, float | None]:
    """The sentence about a largest score, and how much of it is the choice."""
    if chosen is None:
        return f"{text}; without problems=N the choice is not judged", None
    sentence = f"{text}; {chosen}" if evidence.names else f"{chosen}"
    if evidence.resolution > match.printed.unit:  # 0.42 in a file may be 0.4150
        sentence += f", as the file's scores may be rounded by {50 * evidence.resolution:g} points"
    apart = chosen.last if chosen.cross_fitted is None else chosen.cross_fitted
    return sentence, 100 * (match.printed.value - apart)


def _words(composition: Composition | None, evidence: Evidence, k: int) -> str:
    """The words for a composition in a sentence, or "" for the file's own score."""
    if composition is None:
        return ""
    if not composition.choices and evidence.recipes:
        best = evidence.called(evidence.last.iloc[0])
        return f"the largest of {evidence.checkpoints} recipes, {best}" if evidence.checkpoints > 1 else ""
    words, changed = composition.words, {choice.dimension for choice in composition.choices}
    if k > 1 and evidence.samples is not None and changed and "metric" not in changed:
        words = f"pass@{k}, {words}"
    mean = {"average", "checkpoint"} & changed and evidence.seeds > 1 and "seeds" not in changed
    return f"{words}, mean over seeds" if mean and words else words


def _nearest(match: Match) -> str:
    nearest = "; ".join(f"{100 * value:.2f} ({words})" for value, words in match.nearest)
    numbers = "1 number was tried" if match.tried == 1 else f"{match.tried} distinct numbers were tried"
    return f"{numbers}; the nearest: {nearest}"


def _by_chance(match: Match) -> str:
    """How many numbers are as simple as the one that was found, where a foreign one may be among them."""
    if match.explained:
        return ""
    return (
        f"; a number of no relation to the file would match one of {match.as_simple} as simple with probability "
        f"{match.chance:.2f}"
    )


def _other_readings(match: Match, evidence: Evidence) -> str:
    """The other readings with the same digits, but for those that only add to one."""
    named = [match.matches[0]]
    for composition in match.matches[1:]:
        if not any({*earlier.choices} <= {*composition.choices} for earlier in named):
            named.append(composition)
        if len(named) > MOST_NAMED:
            break
    readings = [_words(other, evidence, match.printed.k) or "the file's own score" for other in named[1:]]
    return f" (the same digits: {'; '.join(readings)})" if readings else ""


def _of_rows(evidence: Evidence, row: pd.Series, printed: Printed) -> list[Cause]:
    """The faults of the rows behind a score, and of their verdicts."""
    causes = [Cause("another denominator", text) for text in missing(evidence, printed.unit)]
    if evidence.untrained:
        causes.append(Cause("another model", "the file's only score is of step 0, before the training"))
    if evidence.samples is None:
        return causes
    samples = evidence.at(row)
    causes += by_our_verdicts(samples)
    behind = [evidence.at(r) for _, r in evidence.last.iterrows()] if row.name in evidence.last.index else [samples]
    texts: Iterable[str] = not_counted(pd.concat(behind))  # the mean over seeds is of all their samples
    causes += [Cause("truncation", "; ".join(texts))] if texts else []
    return causes + [Cause("another denominator", text) for text in (*repeated(samples), *pooled_models(samples))]


def _with_ours(result: Audit, evidence: Evidence, row: pd.Series) -> Audit:
    """With our verdicts on the samples of the checkpoint that has the printed digits, where there are responses."""
    samples, k = evidence.at(row), result.printed.k
    if "ours" not in samples:
        return result
    is_last = [*evidence.last.index] == [row.name]
    place = "" if is_last else f"{evidence.called(row)}, {100 * pass_at(samples, k):.1f} in the file"
    return replace(
        result,
        ours=pass_at(samples, k, "ours"),
        ours_of=place,
        gold_cut=int(samples["gold_cut"].sum()) if "gold_cut" in samples else 0,
        ours_unscored=int(samples["ours"].isna().sum()),
        ours_differ=differing(samples),
    )


def _scored_part(evidence: Evidence) -> str:
    """The part of the files that their own score is about."""
    if evidence.recipes:
        return evidence.names[evidence.last["checkpoint"].iloc[0]]
    last = "the file's last checkpoint" if evidence.checkpoints > evidence.seeds else "the file"
    if evidence.seeds > 1:
        return f"{last}, mean over {evidence.seeds} seeds"
    name = evidence.names.get(evidence.last["checkpoint"].iloc[0], "") if evidence.checkpoints > 1 else ""
    return f"{last}, {name}" if name else last


def _unlabelled(evidence: Evidence, k: int) -> tuple[int, int, float, float] | None:
    """As `Audit.unlabelled`, mean over seeds."""
    if evidence.samples is None:
        return None
    last = [evidence.at(row) for _, row in evidence.last.iterrows()]
    missing = sum(int(samples["label"].isna().sum()) for samples in last)
    if not missing:
        return None
    ends = [[samples.fillna({"label": value}) for samples in last] for value in (0.0, 1.0)]
    low, high = (float(np.mean([pass_at(samples, k) for samples in filled])) for filled in ends)
    return missing, sum(map(len, last)), low, high


def _verdict(names: set[str], chosen: Selection | None, match: Match) -> AuditVerdict:
    if match.first is None:
        return NOT_FOUND
    if {"grader", "format", "gain by grading"} & names:
        return "made by the grader"
    if not match.explained:
        return "cannot tell"
    if "selection" in names and chosen is not None and chosen.chance >= LIKELY:
        return "within selection"
    if "seeds" in names:
        return "within seeds"
    return "stands with another number" if names else "stands"

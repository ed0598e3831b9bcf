"""The rows of the ledger's tables: recipes on a benchmark, printed scores, evaluations, graded responses."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from evals.audit import Audit, Evidence, Selection, selection
from evals.stats.intervals import over_problems
from harness.spec import catalogue
from harness.tables.elsewhere import elsewhere_rows
from studies.ledger.corpus import Series
from studies.ledger.graded import COMPARED, POLICIES, explained, gap, share

MISSING = float("nan")


def series_row(series: Series, evidence: Evidence) -> dict[str, object]:
    """Sizes, the last and the largest score, what selection alone gives, and the seeds."""
    last = evidence.last["value"]
    seeds = len(last)
    chosen = _selection(evidence)
    fitted = None if chosen is None else chosen.cross_fitted
    return {
        "repository": series.repository.name,
        "recipe": series.recipe,
        "benchmark": series.benchmark,
        "verdicts": 0 if evidence.samples is None else int(evidence.samples["label"].notna().sum()),
        "problems": evidence.problems,
        "seeds": seeds,
        "checkpoints": evidence.checkpoints,
        "last": 100 * last.mean(),
        "last_lowest_seed": 100 * last.min(),
        "last_highest_seed": 100 * last.max(),
        "seeds_sd": 100 * last.std(ddof=1) if seeds > 1 else MISSING,
        "mean_of_checkpoints": 100 * evidence.scores["value"].mean(),
        "largest": 100 * evidence.scores["value"].max(),
        "largest_of_equal": MISSING if chosen is None else 100 * chosen.expected,
        "chance_of_largest": MISSING if chosen is None else chosen.chance,
        "chosen_cross_fitted": MISSING if fitted is None else 100 * fitted,
        "seed_pairs": seeds * (seeds - 1) // 2,
        "seed_pairs_called_different": different_pairs(evidence),
        "note": series.note,
    }


def _selection(evidence: Evidence) -> Selection | None:
    """The selection among one run's checkpoints. Several seeds, fewer than three checkpoints or an unknown size have
    none."""
    if evidence.scores["seed"].nunique() > 1 or evidence.checkpoints < 3:
        return None
    if evidence.samples is None and evidence.problems is None:
        return None
    largest = float(evidence.scores["value"].max()) - evidence.resolution / 2
    return selection(evidence, largest, np.random.default_rng(0))


def different_pairs(evidence: Evidence) -> float:
    """Pairs of seeds of this recipe that a paired 95 % interval over problems calls different, or NaN without
    verdicts."""
    if evidence.samples is None or len(evidence.last) < 2:
        return MISSING
    means = [evidence.at(row).groupby("problem_id")["label"].mean() for _, row in evidence.last.iterrows()]
    count = 0
    for a, b in combinations(means, 2):
        interval = over_problems((a - b).dropna().to_numpy(dtype=float), bounds=(-1.0, 1.0))
        count += interval is not None and not interval.low <= 0 <= interval.high
    return float(count)


def claim_row(series: Series, audit: Audit) -> dict[str, object]:
    """A printed score, what its file holds, what is ours, and the verdict of `rlvr audit`."""
    chosen, interval = audit.selection, audit.interval
    return {
        "repository": series.repository.name,
        "commit": series.repository.commit[:12],
        "recipe": series.recipe,
        "benchmark": series.benchmark,
        "printed": audit.printed.text,
        "where": audit.printed.where,
        "file": None if audit.file is None else 100 * audit.file,
        "low": None if interval is None else 100 * interval.low,
        "high": None if interval is None else 100 * interval.high,
        "ours": None if audit.ours is None else 100 * audit.ours,
        "evaluations": None if chosen is None else chosen.checkpoints,
        "largest_of_equal": None if chosen is None else 100 * chosen.expected,
        "chance": None if chosen is None else chosen.chance,
        "seeds": audit.seeds,
        "verdict": audit.in_words,
        "why": audit.why,
    }


def evaluation_rows(series: Series, evidence: Evidence) -> pd.DataFrame:
    """The score of every checkpoint that was evaluated, in percent. `ours`: by our verdicts, where it has responses."""
    about = {"repository": series.repository.name, "recipe": series.recipe, "benchmark": series.benchmark}
    points = evidence.scores[["seed", "checkpoint"]].assign(percent=100 * evidence.scores["value"], ours=MISSING)
    if evidence.samples is not None and "ours" in evidence.samples:
        means = evidence.samples.groupby(["seed", "checkpoint", "problem_id"])["ours"].mean()
        points["ours"] = 100 * means.groupby(level=["seed", "checkpoint"]).mean().to_numpy()
    return points.assign(**about)[[*about, *points]]


def rate_row(series: Series, evidence: Evidence) -> dict[str, object] | None:
    """How many problems have how many correct samples at the last checkpoint of the last seed, as `correct:problems`.
    None if a problem has one sample, or another number than the others, or a label is missing."""
    if evidence.samples is None or evidence.samples_per_problem < 2:
        return None
    labels = evidence.at(evidence.last.iloc[-1]).groupby("problem_id")["label"]
    if labels.size().nunique() > 1 or (labels.count() < labels.size()).any():
        return None
    counts = labels.sum().astype(int).value_counts().sort_index()
    return {
        "repository": series.repository.name,
        "recipe": series.recipe,
        "benchmark": series.benchmark,
        "samples": int(labels.size().iloc[0]),
        "problems": int(counts.sum()),
        "correct": " ".join(f"{correct}:{problems}" for correct, problems in counts.items()),
    }


def history_rows(evidence: Evidence) -> pd.DataFrame:
    """Problems that a training saw again and again: the mean rate and its standard deviation over time, also for every
    second time alone."""
    assert evidence.table is not None
    table = evidence.table
    spread = {
        name: rates.std(axis=0) for name, rates in (("sd", table), ("sd_even", table[::2]), ("sd_odd", table[1::2]))
    }
    return pd.DataFrame({"problem": range(table.shape[1]), "mean": table.mean(axis=0), **spread})


def grade_row(series: Series, graded: pd.DataFrame) -> dict[str, object]:
    """The last checkpoint's responses by the authors' labels and by ours under each policy, and why the two differ."""
    samples = graded[graded["checkpoint"] == graded["checkpoint"].max()]
    row: dict[str, object] = {
        "repository": series.repository.name,
        "recipe": series.recipe,
        "benchmark": series.benchmark,
        "graded": len(graded),
        "samples": len(samples),
        "printed": series.printed[0][0] if series.printed else None,
    }
    for name, column in (("labels", "label"), *((policy, policy) for policy in (*POLICIES, COMPARED))):
        accuracy = share(samples, column)
        row[name] = None if accuracy is None else 100 * accuracy[0]
        for end in ("low", "high") if name in ("labels", COMPARED) else ():
            row[f"{name}_{end}"] = None if accuracy is None or accuracy[1] is None else 100 * getattr(accuracy[1], end)
    labelled = samples[["label", COMPARED]].dropna()
    row["agree"] = 100 * float((labelled["label"] == labelled[COMPARED]).mean()) if len(labelled) else None
    row["unscored"] = int(samples[list(POLICIES)].isna().sum().sum())
    row["gold_cut"] = int(samples["gold_cut"].sum())
    row["causes"] = explained(gap(samples), most=3)
    return row


def base_rows() -> pd.DataFrame:
    """The reproduced papers' printed scores of untrained models, and what others measured of the same models."""
    rows = [(key, *row) for key in catalogue.papers() for row in elsewhere_rows(catalogue.load(key))]
    return pd.DataFrame(rows, columns=["paper", "model", "cell", "published", "others", "by"])


def counts(tables: Mapping[str, pd.DataFrame]) -> dict[str, int]:
    """How much the corpus holds."""
    series = tables["series"]
    return {
        "repositories": series["repository"].nunique(),
        "recipes on a benchmark": len(series),
        "runs": int(series["seeds"].sum()),
        "evaluations": int(series["checkpoints"].sum()),
        "curves": int(series.loc[series["checkpoints"] > 2 * series["seeds"], "seeds"].sum()),
        "verdicts of the authors": int(series["verdicts"].sum()),
        "responses that we graded": int(tables["grades"]["graded"].sum()) if "grades" in tables else 0,
        "printed scores": len(tables.get("claims", ())),
    }

"""A sample of what the authors' grader and ours both reject, and what a reader found: both may be wrong together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from studies.ledger.corpus import UNLICENSED, Files, Series
from studies.ledger.graded import COMPARED, read_rows

READ = Path(__file__).with_name("rejected_read.csv")
"""path, row, reading: right, wrong, or convention (right if a rounded number is, or a form that the gold does not
have); by a session of this project, from gold, answer and the end of the response."""
SAMPLED = 24  # per printed score, fewer where fewer are rejected
ABOUT = ("repository", "recipe", "benchmark")


def rejected_rows(series: Series, files: Files, samples: pd.DataFrame) -> Iterable[dict[str, object]]:
    """Samples of the last checkpoint that both graders call wrong, in an order that depends on path and row alone: a
    verdict that changes later leaves the others in the sample. Gold and answer (the one that the authors extracted,
    where the file has it) of repositories with a licence.

    Args:
        samples: of `studies.ledger.graded.graded_samples`.
    """
    last = samples[samples["checkpoint"] == samples["checkpoint"].max()]
    both = last[(last["label"] == 0) & (last[COMPARED] == 0)]
    order = pd.Series(
        [hashlib.sha256(key.encode()).hexdigest() for key in both["path"] + "\0" + both["row"].astype(str)]
    )
    chosen = both.iloc[order.argsort().to_numpy()].head(SAMPLED)
    copied = series.repository.licence != UNLICENSED
    rows = {path: read_rows(series, files, path) for path in chosen["path"].unique()} if copied else {}
    for sample in chosen.to_dict("records"):
        gold = rows[sample["path"]][sample["row"] - 1].gold if copied else ""
        yield {
            "repository": series.repository.name,
            "recipe": series.recipe,
            "benchmark": series.benchmark,
            "path": sample["path"],
            "row": sample["row"],
            "gold": gold,
            "answer": sample["answer"] if copied else "",
            "both": len(both),
            "samples": len(last),
        }


def with_readings(rejected: pd.DataFrame) -> pd.DataFrame:
    """The sample with `reading`, or "" for those that nobody has read."""
    read = pd.read_csv(READ)
    return rejected.merge(read, on=["path", "row"], how="left").fillna({"reading": ""})


def by_reading(rejected: pd.DataFrame, grades: pd.DataFrame) -> pd.DataFrame:
    """A row a printed score: how many samples both graders reject, how many of them were read, how many of these are
    right (`convention` apart), and the score that follows if the sample is like the rest: `ours`, and that share of
    what both reject. `reading_low`, `reading_high`: with the ends of the 95 % interval of Clopper and Pearson of that
    share, all else as it is."""
    from scipy.stats import binomtest

    rows = []
    for about, sample in rejected.groupby(list(ABOUT), sort=False):
        [graded] = grades[(grades[list(ABOUT)] == list(about)).all(axis=1)].to_dict("records")
        count = sample["reading"].value_counts()
        right, convention = int(count.get("right", 0)), int(count.get("convention", 0))
        read = right + convention + int(count.get("wrong", 0))
        rejects = 100 * sample["both"].iloc[0] / sample["samples"].iloc[0]
        likely = binomtest(right, read).proportion_ci(0.95) if read else (float("nan"), float("nan"))
        parts = (right / read if read else float("nan"), *likely)
        follows = [graded[COMPARED] + rejects * float(part) for part in parts]
        rows.append(
            dict(zip(ABOUT, about, strict=True))
            | {
                "both_reject": int(sample["both"].iloc[0]),
                "read": read,
                "right": right,
                "convention": convention,
                "labels": graded["labels"],
                "ours": graded[COMPARED],
                **dict(zip(("by_reading", "reading_low", "reading_high"), follows, strict=True)),
            }
        )
    return pd.DataFrame(rows)

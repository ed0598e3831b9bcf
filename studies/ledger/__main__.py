"""`python -m studies.ledger`: fetch the corpus, compute every table, write results/ledger/curves.md and .csv."""

from __future__ import annotations

import argparse
import os
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evals.audit import Audit, Evidence, Printed, Selection, audit, selection
from evals.files import write_text
from evals.stats.intervals import over_problems
from studies.ledger.corpus import SERIES, Series

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "results" / "ledger"


def main() -> None:
    """Read the arguments and write the tables."""
    home = Path(os.environ.get("RLVR_HOME", Path.home() / ".rlvr"))
    parser = argparse.ArgumentParser(prog="python -m studies.ledger", description=__doc__)
    parser.add_argument("--cache", type=Path, default=home / "ledger", help="git folders, owner+name each")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    rows, audits = [], []
    for series in SERIES:
        evidence = series.read(series.repository.fetched(given.cache))
        rows.append(summary(series, evidence))
        audits += [(series, audit(Printed(text, where), evidence)) for text, where in series.printed]
        print(f"{series.repository.name}: {series.recipe}, {series.benchmark}", flush=True)
    table = pd.DataFrame(rows)
    given.out.mkdir(parents=True, exist_ok=True)
    write_text(given.out / "curves.csv", table.to_csv(index=False, float_format="%.4f"))
    write_text(given.out / "curves.md", page(table, audits))


def summary(series: Series, evidence: Evidence) -> dict[str, Any]:
    """One row of the table: sizes, the last and the largest score, what selection alone gives, and the seeds."""
    last = evidence.last["value"]
    seeds = len(last)
    chosen = _selection(evidence)
    return {
        "repository": series.repository.name,
        "commit": series.repository.commit[:8],
        "licence": series.repository.licence,
        "recipe": series.recipe,
        "benchmark": series.benchmark,
        "verdicts": 0 if evidence.samples is None else len(evidence.samples),
        "seeds": seeds,
        "checkpoints": evidence.checkpoints,
        "last": 100 * last.mean(),
        "last_lowest_seed": 100 * last.min(),
        "last_highest_seed": 100 * last.max(),
        "seeds_sd": 100 * last.std(ddof=1) if seeds > 1 else np.nan,
        "mean_of_checkpoints": 100 * evidence.scores["value"].mean(),
        "largest": 100 * evidence.scores["value"].max(),
        "largest_of_equal": np.nan if chosen is None else 100 * chosen.expected,
        "chance_of_largest": np.nan if chosen is None else chosen.chance,
        "chosen_cross_fitted": np.nan if chosen is None or chosen.cross_fitted is None else 100 * chosen.cross_fitted,
        "seed_pairs": seeds * (seeds - 1) // 2,
        "seed_pairs_called_different": different_pairs(evidence),
        "note": series.note,
    }


def _selection(evidence: Evidence) -> Selection | None:
    """Of one run's checkpoints; several seeds, fewer than three checkpoints or an unknown size have none."""
    if evidence.scores["seed"].nunique() > 1 or evidence.checkpoints < 3:
        return None
    if evidence.samples is None and evidence.problems is None:
        return None
    largest = float(evidence.scores["value"].max()) - evidence.resolution / 2
    return selection(evidence, largest, np.random.default_rng(0))


def different_pairs(evidence: Evidence) -> float:
    """Pairs of seeds of this recipe that a paired 95 % interval over problems calls different; NaN without verdicts."""
    if evidence.samples is None or len(evidence.last) < 2:
        return np.nan
    means = [evidence.at(row).groupby("problem_id")["label"].mean() for _, row in evidence.last.iterrows()]
    count = 0
    for a, b in combinations(means, 2):
        interval = over_problems((a - b).dropna().to_numpy(dtype=float), bounds=(-1.0, 1.0))
        count += interval is not None and not interval.low <= 0 <= interval.high
    return float(count)


def page(table: pd.DataFrame, audits: list[tuple[Series, Audit]]) -> str:
    """The Markdown page."""
    verdicts = int(table["verdicts"].sum())
    runs = int(table["seeds"].sum())
    files = table[["repository", "commit", "licence"]].drop_duplicates()
    lines = [
        "# Training logs and verdicts of other labs",
        "",
        "Written by `python -m studies.ledger`, not by hand. Other labs published these files; nothing was trained or "
        "generated here. All verdicts are the authors' own. Scores are percent.",
        "",
        f"{table['repository'].nunique()} repositories, {len(table)} recipes on a benchmark, {runs} runs, "
        f"{int(table['checkpoints'].sum())} evaluations, {verdicts:,} verdicts.",
        "",
        "## Printed scores, and what their files say",
        "",
        "The verdicts are those of `rlvr audit`, by the rules in `evals/audit/audit.py`. A verdict is about a number "
        "and a file: the file may not be the one behind the number.",
        "",
        *_table(
            "recipe | benchmark | printed | where | last | verdict | why",
            [
                [
                    f"{series.repository.name}: {series.recipe}",
                    series.benchmark,
                    found.printed.text,
                    found.printed.where,
                    _number(None if found.file is None else 100 * found.file),
                    found.verdict,
                    "; ".join(cause.text for cause in found.causes),
                ]
                for series, found in audits
            ],
        ),
        "",
        "## One run, several checkpoints: the last, the largest, and the largest of equal models",
        "",
        "*of equal*: the expected largest score if all checkpoints were one model; *chance*: that it is then at least "
        "the largest one seen. Where there are only scores, both are upper bounds. *cross-fitted*: the checkpoint that "
        "is best on one half of the problems, measured on the other half.",
        "",
        *_table(
            "recipe | benchmark | evaluations | mean | last | largest | of equal | chance | cross-fitted | note",
            [
                [
                    f"{row['repository']}: {row['recipe']}",
                    row["benchmark"],
                    str(row["checkpoints"]),
                    *(_number(row[key]) for key in ("mean_of_checkpoints", "last", "largest", "largest_of_equal")),
                    _number(row["chance_of_largest"], 2),
                    _number(row["chosen_cross_fitted"]),
                    row["note"],
                ]
                for row in table[table["largest_of_equal"].notna()].to_dict("records")
            ],
        ),
        "",
        "## One recipe, several seeds",
        "",
        "*called different*: pairs of seeds of the same recipe whose paired 95 % interval over problems excludes zero. "
        "If such an interval said what another training gives, it would be 5 % of the pairs.",
        "",
        *_table(
            "recipe | benchmark | seeds | mean | lowest | highest | standard deviation | called different | note",
            [
                [
                    f"{row['repository']}: {row['recipe']}",
                    row["benchmark"],
                    str(row["seeds"]),
                    *(_number(row[key]) for key in ("last", "last_lowest_seed", "last_highest_seed", "seeds_sd")),
                    _pairs(row["seed_pairs_called_different"], row["seed_pairs"]),
                    row["note"],
                ]
                for row in table[table["seeds"] > 1].to_dict("records")
            ],
        ),
        "",
        "## Files",
        "",
        *_table("repository | commit | licence", files.to_numpy().tolist()),
    ]
    return "\n".join(lines) + "\n"


def _table(header: str, rows: list[list[str]]) -> list[str]:
    return [f"| {header} |", "| " + " | ".join("---" for _ in header.split(" | ")) + " |"] + [
        f"| {' | '.join(row)} |" for row in rows
    ]


def _number(value: Any, digits: int = 1) -> str:
    return "–" if value is None or pd.isna(value) else f"{value:.{digits}f}"


def _pairs(count: Any, pairs: Any) -> str:
    return "–" if pd.isna(count) else f"{count:.0f} of {pairs}"


if __name__ == "__main__":
    main()

"""The page of the ledger, from its tables alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from studies.ledger.tables import counts

Row = dict[Any, Any]


def page(tables: Mapping[str, pd.DataFrame]) -> str:
    """Printed scores, choices of checkpoints, seeds, graded responses, causes, files; without the empty ones."""
    none = pd.DataFrame()
    series, claims, grades = (tables.get(name, none) for name in ("series", "claims", "grades"))
    sizes = ", ".join(f"{count:,} {name}" for name, count in counts(tables).items())
    lines = [
        "# Files of other labs: every table",
        "",
        "Written by `python -m studies.ledger`, not by hand. Other labs published these files; nothing was trained or "
        "generated here. Scores are percent, intervals 95 % over problems (over seeds where there are several).",
        "",
        f"{sizes}.",
        "",
        *_section(
            "Printed scores, and what their files say",
            "The verdicts are those of `rlvr audit`, by the rules in `evals/audit/audit.py`. A verdict is about a "
            "number and a file: the file may not be the one behind the number. *file*: the last checkpoint by the "
            "authors' own verdicts. *ours*: by our verdicts on the same samples, which may be the wrong ones.",
            "recipe | benchmark | printed | where | file | ours | verdict | why",
            claims,
            lambda r: [
                _name(r), r["benchmark"], r["printed"], r["where"], _number(r["file"]) + _bounds(r["low"], r["high"]),
                _number(r["ours"]), r["verdict"], r["why"],
            ],
        ),
        *_section(
            "One run, several checkpoints: the last, the largest, and the largest of equal models",
            "*of equal*: the expected largest score if all checkpoints were one model; *chance*: that it is then at "
            "least the largest one seen. Where there are only scores, both are upper bounds. *cross-fitted*: the "
            "checkpoint that is best on one half of the problems, measured on the other half.",
            "recipe | benchmark | evaluations | mean | last | largest | of equal | chance | cross-fitted | note",
            series[series["largest_of_equal"].notna()],
            lambda r: [
                _name(r), r["benchmark"], r["checkpoints"],
                *(_number(r[key]) for key in ("mean_of_checkpoints", "last", "largest", "largest_of_equal")),
                _number(r["chance_of_largest"], 2), _number(r["chosen_cross_fitted"]), r["note"],
            ],
        ),
        *_section(
            "One recipe, several seeds",
            "*called different*: pairs of seeds of the same recipe whose paired 95 % interval over problems excludes "
            "zero. If such an interval said what another training gives, it would be 5 % of the pairs.",
            "recipe | benchmark | seeds | mean | lowest | highest | standard deviation | called different | note",
            series[series["seeds"] > 1],
            lambda r: [
                _name(r), r["benchmark"], r["seeds"],
                *(_number(r[key]) for key in ("last", "last_lowest_seed", "last_highest_seed", "seeds_sd")),
                _pairs(r["seed_pairs_called_different"], r["seed_pairs"]), r["note"],
            ],
        ),
        *_section(
            "Responses, graded again",
            "The last checkpoint of each. *labels*: from the authors' verdict on each sample. *boxed_last* to *qwen*: "
            "our verdicts under that extraction policy; *agree* and *causes* (points from labels to ours) are of "
            "`qwen`, the policy closest to these evaluators. Unscored samples are left out.",
            "recipe | benchmark | samples | printed | labels | boxed_last | boxed_strict | answer_tag | qwen | agree | "
            "unscored | causes",
            grades,
            lambda r: [
                _name(r), r["benchmark"], r["samples"], r["printed"],
                _number(r["labels"]) + _bounds(r["labels_low"], r["labels_high"]),
                *(_number(r[policy]) for policy in ("boxed_last", "boxed_strict", "answer_tag")),
                _number(r["qwen"]) + _bounds(r["qwen_low"], r["qwen_high"]), _number(r["agree"]), r["unscored"],
                r["causes"],
            ],
        ),
        *_section(
            "Why labels and verdicts differ",
            "Samples of repositories with a licence; each is a row of `disagreements.csv`.",
            "cause | samples | files",
            _causes(tables.get("disagreements", none)),
            lambda r: [r["cause"], r["size"], r["nunique"]],
        ),
        *_section(
            "Repositories",
            "Without a licence: computed and cited, nothing copied.",
            "repository | commit | licence",
            tables["repositories"],
            lambda r: [
                f"[{r['repository']}](https://github.com/{r['repository']}/tree/{r['commit']})", r["commit"][:8],
                r["licence"],
            ],
        ),
    ]  # fmt: skip
    return "\n".join(lines)


def _section(title: str, text: str, header: str, table: pd.DataFrame, cells: Callable[[Row], list[Any]]) -> list[str]:
    if table.empty:
        return []
    rows = [[_text(cell) for cell in cells(row)] for row in table.to_dict("records")]
    ruler = " | ".join("---" for _ in header.split(" | "))
    return [
        f"## {title}", "", text, "", f"| {header} |", f"| {ruler} |", *(f"| {' | '.join(row)} |" for row in rows), "",
    ]  # fmt: skip


def _causes(disagreements: pd.DataFrame) -> pd.DataFrame:
    if disagreements.empty:
        return disagreements
    causes = disagreements.groupby("cause")["path"].agg(["size", "nunique"]).reset_index()
    return causes.sort_values("size", ascending=False, kind="stable")


def _name(row: Row) -> str:
    return f"{row['repository']}: {row['recipe']}"


def _text(cell: Any) -> str:
    return "–" if cell is None or pd.isna(cell) or cell == "" else str(cell).replace("|", "\\|")


def _number(value: Any, digits: int = 1) -> str:
    return "–" if value is None or pd.isna(value) else f"{value:.{digits}f}"


def _bounds(low: Any, high: Any) -> str:
    return "" if low is None or pd.isna(low) else f" [{low:.1f}, {high:.1f}]"


def _pairs(count: Any, pairs: Any) -> str:
    return "–" if pd.isna(count) else f"{count:.0f} of {pairs}"

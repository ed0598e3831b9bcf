"""Samples behind the printed scores: what both graders read. Their repositories have licences that allow a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from studies.ledger.corpus import UNLICENSED, Series
from studies.ledger.graded import read_rows

MOST, LEAST = 4, 2  # per printed score
PROBLEM, RESPONSE = 600, 1500  # characters of their ends


def sample_rows(corpus: Sequence[Series], cache: Path, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A few samples of each printed score: those where label and verdict differ, one of each cause first. Where
    fewer than two differ and every sample has a verdict, the first ones that agree too.

    Returns:
        repository, commit, recipe, benchmark, path, row. The ends of `problem` and `response`. Gold, their_answer,
        our_answer, label (theirs), verdict (ours), cause ("" where the two agree).
    """
    differ, grades = tables["disagreements"].fillna({"their_answer": "", "our_answer": ""}), tables["grades"]
    samples_found: list[dict[str, object]] = []
    for series in corpus:
        about = series.repository
        if series.responses is None or not series.printed or about.licence == UNLICENSED:
            continue
        files = about.fetched(cache)
        path, _, _ = max(series.matches(files), key=lambda match: match[2])
        rows = read_rows(series, files, path)
        of_file = differ[(differ["repository"] == about.name) & (differ["path"] == path)]
        chosen = pd.concat([of_file.drop_duplicates("cause"), of_file]).drop_duplicates("row").head(MOST)
        samples = chosen.to_dict("records")
        keys = {"repository": about.name, "recipe": series.recipe, "benchmark": series.benchmark}
        graded = grades[(grades[list(keys)] == pd.Series(keys)).all(axis=1)]
        if len(samples) < LEAST and not graded["unscored"].any():
            agreeing = [number for number in range(1, len(rows) + 1) if number not in set(of_file["row"])]
            samples += [{"row": number} for number in agreeing[: LEAST - len(samples)]]
        for sample in samples:
            row = rows[sample["row"] - 1]
            label = "correct" if row.expected else "wrong"
            samples_found.append(
                {
                    **keys,
                    "commit": about.commit,
                    "path": path,
                    "row": sample["row"],
                    "problem": (row.problem or "")[-PROBLEM:],
                    "response": row.response[-RESPONSE:],
                    "gold": row.gold,
                    **{name: sample.get(name, "") for name in ("their_answer", "our_answer")},
                    "label": label,
                    "verdict": sample.get("verdict", label),
                    "cause": sample.get("cause", ""),
                }
            )
    return pd.DataFrame(samples_found)

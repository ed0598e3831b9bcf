"""Responses of the corpus, graded by us beside the authors' verdicts, and why the two differ."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa

from evals import answer_files, grading
from evals.answer_files.differing import GOLD_CUT, differing
from evals.answer_files.reading import Reading, read_answers
from evals.answer_files.sample import Sample
from evals.answer_files.table import columns_of_responses
from evals.audit import Evidence, graded
from evals.audit.graded import by_policy
from evals.files import write_parquet
from evals.grading import Grader
from evals.stats.intervals import Interval, over_problems
from evals.stats.score import score, score_text
from studies.ledger.corpus import Files, Series

POLICIES = ("boxed_last", "boxed_strict", "answer_tag", "qwen")  # whose scores the pages have
COMPARED = "ours"  # our verdict on the answer wherever it stands (`evals.answer_files.differing.anywhere`)
STRICT = "boxed_strict"


def graded_samples(series: Series, files: Files, cache: Path, grader: Grader) -> pd.DataFrame:
    """A row a sample: `seed`, `checkpoint`, `problem_id`, `label` (theirs), `ours`, `strict`, `truncated`, a column for
    each of `POLICIES`, and where label and verdict differ `cause`, `gold`, `their_answer`, `our_answer`.

    Labels and verdicts are 1 or 0, missing where there is none. Where the file cut its gold, a verdict against it says
    nothing: the label stands in `ours`, `qwen` and `strict`, and `gold_cut` is true.

    Args:
        cache: a folder. A file that was graded by the same rules is not graded again.
    Raises:
        ValueError: a file is of no known format.
    """
    parts = []
    for path, seed, checkpoint in series.matches(files):
        kept = cache / "grades" / f"{_key(files.hashes[path], series)}.parquet"
        if not kept.is_file():
            kept.parent.mkdir(parents=True, exist_ok=True)
            graded = _graded(read_rows(series, files, path), grader)
            write_parquet(pa.Table.from_pandas(graded, preserve_index=False), kept)
        parts.append(pd.read_parquet(kept).assign(seed=seed, checkpoint=checkpoint, path=path))
    table = pd.concat(parts, ignore_index=True)
    cut = table["cause"] == GOLD_CUT
    for column in (COMPARED, "qwen", "strict"):
        table[column] = table[column].where(~cut, table["label"])
    return table.assign(cause=table["cause"].where(~cut, None), gold_cut=cut)


def read_rows(series: Series, files: Files, path: str) -> list[Sample]:
    """The responses of a file, on the series' benchmark.

    Raises:
        ValueError: the file is of no known format.
    """
    with TemporaryDirectory() as folder:
        copied = Path(folder) / Path(path).name
        copied.write_bytes(files.content(path))
        rows = read_answers(copied, Reading(series.responses or {}, golds=series.golds)).rows
    return [row for row in rows if not series.only or row.benchmark == series.only]


def several_samples(series: Series, files: Files, evidence: Evidence, grader: Grader) -> str:
    """Where problems have several samples: pass@k of the last checkpoint by the authors' verdicts, and maj@k by ours
    where the responses are there."""
    if evidence.samples is None or evidence.samples_per_problem < 2:
        return ""
    ks = [2**power for power in range(1, evidence.samples_per_problem.bit_length())]
    samples = evidence.at(evidence.last.iloc[-1])
    verdicts = samples["label"].map({1.0: "correct", 0.0: "wrong"}).fillna("unscored")
    numbers = samples.groupby("problem_id").cumcount()
    table = samples[["problem_id"]].assign(verdict=verdicts, sample=numbers, answer_class=None, boxed=False)
    scores = score(table, ks=ks, metrics=("pass",))
    if series.verdicts and series.verdicts.get("each"):
        path, _, _ = max(series.matches(files), key=lambda match: match[2])
        rows = read_rows(series, files, path)
        grades = grader.grade_responses([(row.gold, row.response, None) for row in rows], "qwen")
        columns = pd.DataFrame(columns_of_responses(rows, grades, grader, "policy qwen"))
        scores += score(columns.assign(problem_id=[row.problem_id for row in rows]), ks=ks, metrics=("maj",))
    return ", ".join(f"{metric.name} {score_text(metric)}" for metric in scores)


def _key(content: str, series: Series) -> str:
    """The key of a graded file: its content, how it is read, and the code that reads and grades it."""
    code_of = (Path(grading.__file__).parent, Path(answer_files.__file__).parent)
    rules = [
        *(path for folder in code_of for path in sorted(folder.rglob("*.py"))),
        Path(graded.__file__),
        Path(__file__),
    ]
    code = [path.read_bytes() for path in rules]
    parts = [content.encode(), repr((series.responses, series.golds, series.only)).encode(), *code]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _graded(rows: Sequence[Sample], grader: Grader) -> pd.DataFrame:
    verdicts, grades = by_policy(rows, grader, POLICIES)
    table = verdicts.assign(strict=verdicts[STRICT], row=range(1, len(rows) + 1))
    differ = pd.DataFrame(
        [
            (d.row, d.cause, d.gold, d.their_answer, d.our_answer, d.verdict)
            for d in differing(rows, grades[COMPARED], grader, COMPARED)
        ],
        columns=["row", "cause", "gold", "their_answer", "our_answer", "verdict"],
    )
    return table.merge(differ.astype({name: object for name in differ if name != "row"}), on="row", how="left")


def share(samples: pd.DataFrame, column: str) -> tuple[float, Interval | None] | None:
    """The mean over problems of the share of ones, with its interval over problems, or None without any."""
    means = samples[[column, "problem_id"]].dropna().groupby("problem_id", sort=False)[column].mean()
    return (fmean(means), over_problems(means.to_numpy())) if len(means) else None


def gap(samples: pd.DataFrame) -> dict[str, float]:
    """Cause -> points (percent) that it moves the score by, from their labels to our verdicts (policy COMPARED).

    Each sample has weight 1 in its problem's mean. Unscored samples leave the mean. Their effect is a separate cause,
    so the causes add up to the whole gap. Empty if a sample has no label.
    """
    labels, our_share = share(samples, "label"), share(samples, COMPARED)
    if labels is None or samples["label"].isna().any():
        return {}
    of_problem = samples.groupby("problem_id")["label"].transform("size")
    points = (1 - 2 * samples["label"]) * 100 / (samples["problem_id"].nunique() * of_problem)
    by_cause = {str(cause): float(sum(moved)) for cause, moved in points.groupby(samples["cause"], sort=False)}
    rest = 0.0 if our_share is None else 100 * (our_share[0] - labels[0]) - sum(by_cause.values())
    return by_cause | ({"unscored samples, left out": rest} if abs(rest) > 1e-9 else {})


def explained(causes: Mapping[str, float], most: int) -> str:
    """The causes that move a score most, in points. The others together."""
    largest = sorted(causes.items(), key=lambda cause: -abs(cause[1]))
    words = [f"{name} {points:+.1f}" for name, points in largest[:most]]
    rest = [f"{len(largest) - most} more {sum(points for _, points in largest[most:]):+.1f}"] if largest[most:] else []
    return "; ".join(words + rest)


def disagreements(series: Series, samples: pd.DataFrame) -> Iterable[dict[str, object]]:
    """A row for each sample whose label and verdict differ."""
    about = {"repository": series.repository.name, "commit": series.repository.commit[:8]}
    for row in samples[samples["cause"].notna()].to_dict("records"):
        names = ("path", "row", "problem_id", "gold", "their_answer", "our_answer", "label", "verdict", "cause")
        yield {**about, "benchmark": series.benchmark, **{name: row[name] for name in names}}

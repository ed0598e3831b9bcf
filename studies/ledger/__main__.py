"""`python -m studies.ledger`: fetch the corpus, compute every table of results/ledger."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from evals.audit import Evidence, Printed, audit
from evals.files import write_text
from evals.grading import Grader
from evals.plots.plot import save
from harness.runs.track import home
from studies.ledger.corpus import UNLICENSED, Series, base_of, read_corpus
from studies.ledger.figures import figures
from studies.ledger.graded import disagreements, graded_samples, several_samples
from studies.ledger.page import page
from studies.ledger.rejected import by_reading, rejected_rows, with_readings
from studies.ledger.samples import sample_rows
from studies.ledger.tables import base_rows, claim_row, evaluation_rows, grade_row, history_rows, rate_row, series_row

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "results" / "ledger"
FIGURES = ROOT / "docs" / "ledger" / "figures"


def main() -> None:
    """Read the arguments and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m studies.ledger", description=__doc__)
    parser.add_argument("--cache", type=Path, default=home() / "ledger", help="git folders, owner+name each")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--figures", type=Path, default=FIGURES)
    parser.add_argument("--only", default="", help="print the tables of the repositories with this in their name")
    given = parser.parse_args()
    corpus = [series for series in read_corpus() if given.only in series.repository.name]
    if not corpus:
        parser.error(f"--only {given.only}: no repository has this in its name")
    tables = measure(corpus, given.cache, Grader()) | {"base_rows": base_rows()}
    if given.only:
        print(page(tables))
        return
    given.out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write_text(given.out / f"{name}.csv", table.to_csv(index=False, float_format="%.4f"))
    write_text(given.out / "README.md", page(tables))
    samples = sample_rows(corpus, given.cache, tables)
    write_text(given.out / "samples.jsonl", samples.to_json(orient="records", lines=True, force_ascii=False))
    for plot in figures(tables):
        save(plot, given.figures, ["svg"])


def measure(corpus: Sequence[Series], cache: Path, grader: Grader) -> dict[str, pd.DataFrame]:
    """Every table, by name."""
    rows: dict[str, list[object]] = defaultdict(list)
    evaluations, histories = [], []
    evidence_by_series: dict[Series, Evidence | None] = {}
    for series in corpus:
        files = series.repository.fetched(cache)
        about = series.repository
        rows["repositories"].append({"repository": about.name, "commit": files.commit, "licence": about.licence})
        if series.responses is None:
            evidence = series.evidence(files)
        else:
            samples = graded_samples(series, files, cache, grader)
            rows["grades"].append(grade_row(series, samples))
            if about.licence != UNLICENSED:
                rows["disagreements"] += disagreements(series, samples)
            if samples["label"].isna().all():
                continue
            if series.printed:
                rows["rejected"] += rejected_rows(series, files, samples)
            evidence = Evidence.of_samples(samples)
        evidence_by_series[series] = evidence
        if evidence is None:
            continue
        several = several_samples(series, files, evidence, grader)
        rows["series"].append(series_row(series, evidence) | {"several_samples": several})
        evaluations.append(evaluation_rows(series, evidence))
        if (rates := rate_row(series, evidence)) is not None:
            rows["rates"].append(rates)
        if series.verdicts and "history" in series.verdicts:
            histories.append(history_rows(evidence))
        print(f"{about.name}: {series.recipe}, {series.benchmark}", flush=True)
    for series, evidence in evidence_by_series.items():
        base = base_of(series, corpus)
        base_evidence = None if base is None else evidence_by_series[base]
        for text, where in series.printed:
            rows["claims"].append(claim_row(series, audit(Printed(text, where), evidence, base=base_evidence)))
    tables = {name: pd.DataFrame(of_table) for name, of_table in rows.items() if of_table}
    tables["repositories"] = tables["repositories"].drop_duplicates()
    tables["series"] = tables["series"].astype({"problems": "Int64"})  # unknown where a file states no number
    if rows["rejected"]:
        tables["rejected"] = with_readings(tables["rejected"])
        tables["by_reading"] = by_reading(tables["rejected"], tables["grades"])
    tables |= {"history": pd.concat(histories)} if histories else {}
    return tables | {"evaluations": pd.concat(evaluations, ignore_index=True)}


if __name__ == "__main__":
    main()

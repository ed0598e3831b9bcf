"""The texts about the ledger's tables: the page of findings, the findings by hand, the exported rows."""

from __future__ import annotations

import copy
import json
import os
import re
import sys
import uuid
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

from harness.spec import catalogue
from studies.ledger import export
from studies.ledger.tables import base_rows
from tests.docs.test_docs import load_hooks

ROOT = Path(__file__).resolve().parents[3]
TABLES = ROOT / "results" / "ledger"
PAGE = ROOT / "docs" / "ledger" / "index.md"
CACHE = Path(os.environ.get("RLVR_HOME", Path.home() / ".rlvr")) / "ledger"


def numbers_of_tables() -> list[float]:
    """Every number in the tables, also those in texts, and what the page derives from them."""
    tables = {path.stem: pd.read_csv(path) for path in TABLES.glob("*.csv")}
    numbers = [v for t in tables.values() for column in t.select_dtypes("number") for v in t[column].dropna().unique()]
    numbers += [float(text) for text in re.findall(r"\d+\.\d+", " ".join(tables["claims"]["why"].dropna()))]
    numbers += [float(number) for number in re.findall(r"\d+\.\d+", " ".join(tables["base_rows"]["others"]))]
    grades, history, evaluations = tables["grades"], tables["history"], tables["evaluations"]
    numbers += list((grades["ours"] - grades["labels"]).dropna())
    rates = history["mean"] * (1 - history["mean"]) / 8
    numbers += [rates.corr(history["sd"], method="spearman"), (history["sd"] / rates**0.5).median()]
    numbers.append(history["sd_even"].corr(history["sd_odd"], method="spearman"))
    of_s_grpo = evaluations[evaluations["repository"].str.endswith("S-GRPO")]
    four = of_s_grpo.groupby("checkpoint").filter(lambda g: len(g) == 4)
    means = four.groupby("checkpoint")[["percent", "ours"]].mean()
    numbers += [
        value for column in means for value in (means[column].mean(), means[column].max(), means[column].iloc[-1])
    ]
    return [*numbers, means["percent"].max() - means["percent"].iloc[-1]]


def test_the_counts_of_several_samples_give_the_last_score_and_pass_at_2() -> None:
    # pass@2 of a problem with c correct of n samples: 1 - C(n - c, 2) / C(n, 2)
    series = pd.read_csv(TABLES / "series.csv").set_index(["repository", "recipe", "benchmark"])
    several = series[series["several_samples"].notna()]
    rates = pd.read_csv(TABLES / "rates.csv").set_index(several.index.names)
    assert set(rates.index) == set(several.index)
    for name, row in rates.iterrows():
        pairs = [tuple(map(int, pair.split(":"))) for pair in row["correct"].split()]
        n, problems = row["samples"], sum(count for _, count in pairs)
        assert problems == row["problems"]
        score = sum(c * count for c, count in pairs) / (n * problems)
        assert 100 * score == pytest.approx(several.loc[name, "last"], abs=5e-5)
        twice = sum(count * (1 - (n - c) * (n - c - 1) / (n * (n - 1))) for c, count in pairs) / problems
        assert several.loc[name, "several_samples"].startswith(f"pass@2 {100 * twice:.1f} ")


def test_every_decimal_of_the_page_is_in_the_tables() -> None:
    text = re.sub(
        r"```.*?```|`[^`]*`|\(http[^)]*\)|arXiv \d+\.\d+|Qwen2\.5\S*|Sober Reasoning measures.*?seeds",
        "",
        PAGE.read_text(),
        flags=re.S,
    )
    known = numbers_of_tables()
    decimals = set(re.findall(r"(?<![\d.])\d+\.\d+(?![\d.])", text))
    unknown = {
        text
        for text in decimals
        if not any(abs(float(text) - value) <= 0.5 * 10 ** -len(text.partition(".")[2]) + 1e-9 for value in known)
    }
    assert len(decimals) > 40 and unknown == set()


def test_the_page_states_the_size_of_the_corpus() -> None:
    series, claims = (pd.read_csv(TABLES / f"{name}.csv") for name in ("series", "claims"))
    curves = series.loc[series["checkpoints"] > 2 * series["seeds"], "seeds"].sum()
    text, front = (" ".join(path.read_text().split()) for path in (PAGE, ROOT / "README.md"))
    for page in (text, front):
        assert f"{series['repository'].nunique()} public repositories" in page
        assert f"{series['verdicts'].sum():,} responses" in page
    assert f"{curves} training curves. The authors print {len(claims)} scores" in text
    pairs = series[(series["benchmark"] == "GSM8K") & series["seed_pairs_called_different"].notna()]
    called, all_pairs = pairs["seed_pairs_called_different"].sum(), pairs["seed_pairs"].sum()
    assert f"in {called:.0f} of {all_pairs}" in text
    chosen = series[series["largest_of_equal"].notna() & (series["checkpoints"] >= 5)]
    assert f"In {(chosen['chance_of_largest'] >= 0.05).sum()} of {len(chosen)} curves" in text
    earlier = (chosen["largest"] > chosen["last"]).sum()
    assert f"{len(chosen)} curves have five or more" in text and f"In {earlier} of these curves, an earlier" in text


def test_untrained_models_beside_what_others_measured() -> None:
    rows, grades = (pd.read_csv(TABLES / f"{name}.csv") for name in ("base_rows", "grades"))
    pd.testing.assert_frame_equal(rows, base_rows().astype({"published": float}))
    measured_elsewhere = rows[rows["by"].str.endswith("sober-reasoning")]
    gap = measured_elsewhere["others"].str.partition(" ")[0].astype(float) - measured_elsewhere["published"]
    page = " ".join(PAGE.read_text().split())
    assert f"{(gap > 0).sum()} of {len(gap)} printed scores are lower, five" in page and (gap > 10).sum() == 5
    assert "Eight are higher, two of these by 9 and 10 points. One is equal." in page
    assert ((gap < 0).sum(), (gap == 0).sum()) == (8, 1) and sorted(gap.round())[:3] == [-10, -9, -3]
    # responses of Qwen2.5-Math-7B, by our verdicts: those of the ledger
    (source,) = (source for source in catalogue.elsewhere() if source["repository"].endswith("SkyThought"))
    graded = grades[grades["repository"].str.endswith("SkyThought") & (grades["recipe"] == "Qwen2.5-Math-7B")]
    texts = [f"{row.ours:.1f} [{row.ours_low:.1f}, {row.ours_high:.1f}]" for row in graded.itertuples()]
    assert sorted(source["scores"]["Qwen/Qwen2.5-Math-7B"].values()) == sorted(texts)


def test_samples_are_of_licensed_files_and_each_is_linked_from_its_score() -> None:
    samples = pd.read_json(TABLES / "samples.jsonl", lines=True, dtype=False)
    repositories, differ = (pd.read_csv(TABLES / f"{name}.csv") for name in ("repositories", "disagreements"))
    licences = samples.merge(repositories, on=["repository", "commit"])["licence"]
    assert len(licences) == len(samples) > 80 and set(licences) == {"Apache-2.0"}
    listed = samples[samples["cause"] != ""].merge(differ, on=["repository", "path", "row", "verdict", "cause"])
    assert len(listed) == (samples["cause"] != "").sum() == (samples["label"] != samples["verdict"]).sum()
    hooks = load_hooks()
    places = re.findall(r'<h2 id="([^"]+)"', hooks._samples())
    links = re.findall(r'href="samples/#([^"]+)"', hooks._claims())
    assert sorted(links) == sorted(places) and len(set(places)) == len(places)
    assert hooks._html("```\n<script>") == "&#96;&#96;&#96;&#10;&lt;script&gt;"


def shown(notebook: Any) -> str:
    outputs = [output["data"]["text/plain"] for cell in notebook.cells for output in cell.get("outputs", [])]
    return " ".join(" ".join(outputs).split())


def test_the_notebook_by_hand_gives_the_numbers_of_the_tables() -> None:
    notebook = nbformat.read(PAGE.with_name("by_hand.ipynb"), as_version=4)
    modules = {name for cell in notebook.cells for name in re.findall(r"^(?:from|import) (\w+)", cell.source, re.M)}
    assert modules <= set(sys.stdlib_module_names) | {"pandas", "numpy"}  # and nothing of ours
    series, claims = (pd.read_csv(TABLES / f"{name}.csv") for name in ("series", "claims"))
    for row in claims[claims["repository"] == "knoveleng/open-rs"].itertuples():
        assert f" {row.largest_of_equal:.2f} {row.chance:.2f}" in shown(notebook)
    pairs = series[series["benchmark"] == "GSM8K"].dropna(subset="seed_pairs_called_different")
    called, total = pairs["seed_pairs_called_different"].sum(), pairs["seed_pairs"].sum()
    assert f"called different {called:.0f} pairs {total}" in shown(notebook)
    if not (CACHE / "knoveleng+open-rs").is_dir():
        pytest.skip("its outputs are those; not run again: the corpus is not fetched (nox -s ledger)")
    again = NotebookClient(copy.deepcopy(notebook), timeout=120).execute()
    assert shown(again) == shown(notebook)


def test_each_printed_score_is_a_record_of_every_eval_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # `main` checks each record against the schema of Every Eval Ever
    monkeypatch.setattr(sys, "argv", ["export", str(tmp_path)])
    export.main()
    claims = pd.read_csv(TABLES / "claims.csv").dropna(subset="file")
    files = sorted(tmp_path.glob("*.json"))
    assert {uuid.UUID(file.stem).version for file in files} == {4}  # the validator of 0.3.0 refuses other names
    records = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    assert len(records) == len(claims)
    seeds = {record["model_info"]["name"]: record["model_info"]["additional_details"] for record in records}
    intervals = {
        (record["model_info"]["name"], result["evaluation_name"]): result["score_details"].get("uncertainty")
        for record in records
        for result in record["evaluation_results"]
        if result["evaluation_result_id"].endswith(".file")
    }
    scores = {
        (record["model_info"]["name"], result["evaluation_result_id"]): result["score_details"]["score"]
        for record in records
        for result in record["evaluation_results"]
    }
    for claim in claims.to_dict("records"):
        assert scores[claim["recipe"], f"{claim['benchmark']}.file"] == pytest.approx(claim["file"] / 100)
        assert seeds[claim["recipe"]]["training_seeds"].isdigit()
        interval = intervals[claim["recipe"], claim["benchmark"]]
        assert (interval is None) == pd.isna(claim["low"])
        if interval is not None:
            assert ("seeds" in interval["confidence_interval"]["method"]) == (claim["seeds"] >= 3)


def test_each_printed_score_is_a_cell_of_a_trackio_logbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the grammar of Trackio's own reader: a rule, a comment with JSON, Markdown to the next cell."""
    monkeypatch.setattr(sys, "argv", ["export", str(tmp_path)])
    export.main()
    pages = tmp_path / ".trackio" / "logbook" / "pages"
    index = (pages / "index.md").read_text()
    slugs = re.findall(r"^\| \[[^]]+\]\(#/([A-Za-z0-9._-]+)\) \|$", index, flags=re.M)
    assert sorted(slugs) == sorted(path.parent.name for path in pages.glob("*/page.md"))
    cell = r"\n---\n<!-- trackio-cell\n(.*?)\n-->\n(.*?)(?=\n---\n<!-- trackio-cell\n|\s*$)"
    cells = [match for slug in slugs for match in re.findall(cell, (pages / slug / "page.md").read_text(), flags=re.S)]
    claims = pd.read_csv(TABLES / "claims.csv", dtype={"printed": str})
    assert len(cells) == len({json.loads(marker)["id"] for marker, _ in cells}) == len(claims)
    for (marker, body), claim in zip(cells, claims.to_dict("records"), strict=True):
        assert json.loads(marker)["title"] == f"{claim['recipe']}, {claim['benchmark']}: {claim['verdict']}"
        assert body.startswith(f"- Printed: {claim['printed']} ({claim['where']})")
    with pytest.raises(SystemExit, match="expected a folder without a logbook"):
        export.main()

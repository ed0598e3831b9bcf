"""What is written about the ledger's tables: the page of findings, the findings by hand, the exported rows."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from harness.spec import catalogue
from studies.ledger import by_hand, export
from studies.ledger.tables import base_rows
from tests.docs.test_docs import load_hooks

ROOT = Path(__file__).resolve().parents[3]
TABLES = ROOT / "results" / "ledger"
PAGE = ROOT / "docs" / "ledger" / "index.md"
CACHE = Path(os.environ.get("RLVR_HOME", Path.home() / ".rlvr")) / "ledger"


def numbers_of_tables() -> list[float]:
    """Every number in the tables, also those in texts, and what the page derives from them."""
    tables = {path.stem: pd.read_csv(path) for path in TABLES.glob("*.csv")}
    found = [v for t in tables.values() for column in t.select_dtypes("number") for v in t[column].dropna().unique()]
    found += [float(text) for text in re.findall(r"\d+\.\d+", " ".join(tables["claims"]["why"].dropna()))]
    found += list(tables["claims"]["printed"])
    found += [float(number) for number in re.findall(r"\d+\.\d+", " ".join(tables["base_rows"]["others"]))]
    grades, history, evaluations = tables["grades"], tables["history"], tables["evaluations"]
    found += list((grades["ours"] - grades["labels"]).dropna())
    rates = history["mean"] * (1 - history["mean"]) / 8
    found += [rates.corr(history["sd"], method="spearman"), (history["sd"] / rates**0.5).median()]
    found.append(history["sd_even"].corr(history["sd_odd"], method="spearman"))
    four = (
        evaluations[evaluations["repository"].str.endswith("S-GRPO")]
        .groupby("checkpoint")
        .filter(lambda g: len(g) == 4)
    )
    means = four.groupby("checkpoint")[["percent", "ours"]].mean()
    found += [
        value for column in means for value in (means[column].mean(), means[column].max(), means[column].iloc[-1])
    ]
    return [*found, means["percent"].max() - means["percent"].iloc[-1]]


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
        assert f"{series['verdicts'].sum():,} labelled generations" in page
    assert f"{curves} training curves, and {len(claims)} scores" in text
    pairs = series[(series["benchmark"] == "GSM8K") & series["seed_pairs_called_different"].notna()]
    called, all_pairs = pairs["seed_pairs_called_different"].sum(), pairs["seed_pairs"].sum()
    assert f"in {called:.0f} of {all_pairs}" in text
    chosen = series[series["largest_of_equal"].notna() & (series["checkpoints"] >= 5)]
    assert f"In {(chosen['chance_of_largest'] >= 0.05).sum()} of {len(chosen)} curves" in text
    assert (
        f"Of {len(chosen)} curves" in text and f"{(chosen['largest'] > chosen['last']).sum()} have an earlier" in text
    )


def test_untrained_models_beside_what_others_measured() -> None:
    rows, grades = (pd.read_csv(TABLES / f"{name}.csv") for name in ("base_rows", "grades"))
    pd.testing.assert_frame_equal(rows, base_rows().astype({"published": float}))
    theirs = rows[rows["by"].str.endswith("sober-reasoning")]
    gap = theirs["others"].str.partition(" ")[0].astype(float) - theirs["published"]
    assert (
        f"{(gap > 0).sum()} of {len(gap)} printed scores are lower, five" in PAGE.read_text() and (gap > 10).sum() == 5
    )
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


def test_by_hand_on_made_files() -> None:
    """Two evaluations of one model with 1/2 on one problem: the larger is 1 unless both fail, 3/4."""
    found = by_hand.largest_of_equal([0, 1], 1)
    assert (found["evaluations"], found["mean"], found["largest"]) == (2, 50, 100)
    assert found["chance"] == pytest.approx(0.75, abs=0.02)  # 20,000 draws: standard error 0.003
    files = [json.dumps({"per_q": [{"i": i, "correct": i < right} for i in range(40)]}) for right in (5, 35, 36)]
    assert by_hand.pairs_called_different(files) == (2, 3)  # 30 and 31 of 40 problems differ; 1 of 40 does not


@pytest.mark.skipif(not (CACHE / by_hand.OPEN_RS[0]).is_dir(), reason="the corpus is not fetched: nox -s ledger")
def test_two_findings_by_hand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["by_hand", str(CACHE)])
    by_hand.main()
    printed = capsys.readouterr().out
    assert "rho070 pairs called different: 14 of 15" in printed and "33 of 36" in printed
    assert re.search(r"largest of equal +44\.\d+ +78\.\d+", printed)


def test_each_printed_score_is_a_record_of_every_eval_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # `main` checks each record against the schema of Every Eval Ever
    monkeypatch.setattr(sys, "argv", ["export", str(tmp_path)])
    export.main()
    claims = pd.read_csv(TABLES / "claims.csv").dropna(subset="file")
    records = [json.loads(file.read_text(encoding="utf-8")) for file in tmp_path.glob("*.json")]
    assert len(records) == len(claims)
    scores = {
        (record["model_info"]["name"], result["evaluation_result_id"]): result["score_details"]["score"]
        for record in records
        for result in record["evaluation_results"]
    }
    for claim in claims.to_dict("records"):
        assert scores[claim["recipe"], f"{claim['benchmark']}.file"] == pytest.approx(claim["file"] / 100)


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

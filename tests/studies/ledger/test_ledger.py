"""The corpus is read from git at a commit, and its tables are counted from the files."""

from __future__ import annotations

import inspect
import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binom

from evals.answer_files.differing import anywhere
from evals.audit import Evidence
from evals.grading import Grader
from studies.ledger.__main__ import measure
from studies.ledger.corpus import UNLICENSED, Repository, Series, base_of, read_corpus, verdict_rows
from studies.ledger.graded import gap
from studies.ledger.page import page
from studies.ledger.rejected import ABOUT, by_reading, rejected_rows
from studies.ledger.samples import sample_rows
from studies.ledger.tables import different_pairs, series_row


def commit(folder: Path, files: dict[str, str]) -> str:
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "files"], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def test_files_are_those_of_the_commit(tmp_path: Path) -> None:
    folder = tmp_path / "owner+name" / "repo"
    first = commit(folder, {"log.csv": "step,acc\n1,50.0\n2,60.0\n3,55.0\n"})
    commit(folder, {"log.csv": "step,acc\n1,99.0\n"})
    series = Series(Repository("owner/name", first, "MIT"), "r", "b", r"log\.csv", curve="acc", problems=100)
    evidence = series.evidence(series.repository.fetched(tmp_path))
    row = series_row(series, evidence)
    assert evidence.scores["value"].tolist() == pytest.approx([0.5, 0.6, 0.55])
    assert (row["last"], row["largest"], row["mean_of_checkpoints"]) == pytest.approx((55.0, 60.0, 55.0))


def test_commits_are_fetched_into_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a host of one repository, whose address stands for the public one's. Two commits of it share a folder."""
    source = tmp_path / "host" / "owner" / "name"
    first = commit(source, {"log.csv": "step,acc\n1,50.0\n"})
    second = commit(source, {"log.csv": "step,acc\n1,60.0\n"})
    for key in ("allowAnySHA1InWant", "allowFilter"):
        subprocess.run(["git", "-C", str(source), "config", f"uploadpack.{key}", "true"], check=True)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{tmp_path / 'host'}/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/")
    texts = [Repository("owner/name", c, "MIT").fetched(tmp_path / "cache").text("log.csv") for c in (first, second)]
    assert [text.split(",")[-1].strip() for text in texts] == ["50.0", "60.0"]


def test_a_commit_or_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "owner+name" / "repo"
    commit_hash = commit(folder, {"a.csv": "step,acc\n1,0.5\n"})
    with pytest.raises(RuntimeError, match="rev-parse"):
        Repository("owner/name", "0" * 40, "MIT").fetched(tmp_path)
    repository = Repository("owner/name", commit_hash, "MIT")
    with pytest.raises(ValueError, match=r"b\\.csv"):
        Series(repository, "r", "b", r"b\.csv", curve="acc").evidence(repository.fetched(tmp_path))


def test_verdicts_of_seeds_are_told_apart_by_the_path(tmp_path: Path) -> None:
    rows = {
        f"s{seed}.json": json.dumps([{"i": i, "ok": i < correct} for i in range(40)])
        for seed, correct in ((1, 5), (2, 35))
    }
    repository = Repository("owner/name", commit(tmp_path / "owner+name" / "repo", rows), "MIT")
    columns = {"problem": "i", "correct": "ok"}
    series = Series(repository, "r", "b", r"s(?P<seed>\d)\.json", verdicts=columns)
    evidence = series.evidence(repository.fetched(tmp_path))
    assert evidence.last.set_index("seed")["value"].to_dict() == {"1": 0.125, "2": 0.875}
    assert different_pairs(evidence) == 1  # 30 of 40 problems differ, all in one direction


@pytest.mark.parametrize(
    ("document", "where", "expected"),
    [
        ([{"i": 1, "ok": True, "cut": True}], {"problem": "i", "correct": "ok", "truncated": "cut"}, [("1", 1)]),
        ({"q": [{"i": 1, "ok": [0, 1]}]}, {"rows": "q", "problem": "i", "correct": "ok"}, [("1", 0), ("1", 1)]),
        ([{"i": 1, "r": [{"ok": 1}]}], {"problem": "i", "each": "r", "correct": "ok"}, [("1", 1)]),
        (
            {"k": 3, "q": [{"i": 1, "n": 2}]},
            {"rows": "q", "problem": "i", "correct": "n", "total": "k"},
            [("1", 1), ("1", 1), ("1", 0)],
        ),
        ({"a": [0.5, 1.0], "b": [0.0]}, {"history": 2}, [("a", 1), ("a", 0), ("b", 0), ("b", 0)]),
    ],
    ids=["one", "list", "nested", "count", "history"],
)
def test_where_verdicts_stand(document: object, where: dict[str, str], expected: list[tuple[str, int]]) -> None:
    table = verdict_rows(json.dumps(document), **where)  # type: ignore[arg-type]
    assert list(table[["problem_id", "label"]].itertuples(index=False, name=None)) == expected
    assert "truncated" not in where or table["truncated"].tolist() == [1]


def test_a_score_of_json_files_and_a_curve_without_the_printed_score(tmp_path: Path) -> None:
    scores = {f"a_{step}_{task}.json": json.dumps({"r": {task: step / 10}}) for step in (1, 2) for task in ("x|0", "y")}
    commit_hash = commit(tmp_path / "owner+name" / "repo", {**scores, "sft.csv": "step,loss\n1,0.5\n"})
    repository = Repository("owner/name", commit_hash, "MIT")
    pattern = r"(?P<seed>a)_(?P<checkpoint>\d)_.*\.json"
    of_one = Series(repository, "r", "x", pattern, score=("r", "x|0"), problems=10)
    evidence = of_one.evidence(repository.fetched(tmp_path))
    assert evidence is not None and evidence.scores["value"].tolist() == [0.1, 0.2]
    without = Series(repository, "sft", "y", r"sft\.csv", curve="acc", printed=(("52.1", "a page"),))
    (claim,) = measure((of_one, without), tmp_path, Grader())["claims"].to_dict("records")
    assert (claim["verdict"], claim["file"], claim["why"][:23]) == ("cannot tell", None, "the files have no score")
    with pytest.raises(ValueError, match="loss"):  # a typing error in a series without a printed score
        Series(repository, "sft", "y", r"sft\.csv", curve="acc").evidence(repository.fetched(tmp_path))


def test_the_answer_counts_wherever_it_stands() -> None:
    """In a tag it is read as a whole. `qwen` takes the last number of it, the 2. Without a tag the box counts."""
    rows = [("1/2", "<answer>1/2</answer>", None), ("5", "so \\boxed{5}", None), ("1/2", "none", None)]
    tags, whole_text = (Grader().grade_responses(rows, policy) for policy in ("answer_tag", "qwen"))
    assert [grade.verdict for grade in whole_text] == ["wrong", "correct", "no_answer"]
    assert [grade.verdict for grade in anywhere(tags, whole_text)] == ["correct", "correct", "no_answer"]


def test_equal_seeds_are_not_called_different() -> None:
    rows = [{"seed": seed, "problem_id": i, "label": i % 2} for seed in "abc" for i in range(40)]
    assert different_pairs(Evidence.of_samples(pd.DataFrame(rows))) == 0


def test_every_series_is_pinned_and_named_once() -> None:
    corpus = read_corpus()
    names = [(series.repository.name, series.recipe, series.benchmark) for series in corpus]
    assert len(set(names)) == len(names)
    assert all(len(series.repository.commit) == 40 for series in corpus)
    assert all(base_of(series, corpus) for series in corpus if series.base)


def test_every_series_names_what_the_reader_takes() -> None:
    for series in read_corpus():
        inspect.signature(verdict_rows).bind("", **(series.verdicts or {}))


ROWS = [
    {
        "idx": "a",
        "gt": "5",
        "code": ["\\boxed{6}", "\\boxed{5}"],
        "pred": ["6", "5"],
        "score": [True, False],
    },
    {
        "idx": "b",
        "gt": "8.7e8",
        "code": ["\\boxed{8.7 \\times 10^8}"] * 2,
        "pred": ["8.7 \\times 10^8"] * 2,
        "score": [False, False],
    },
]
CURVE = "step,acc\n1,50.0\n2,60.0\n3,55.0\n"


def test_the_tables_of_a_small_corpus(tmp_path: Path) -> None:
    """Two problems of two samples: each sample weighs 25 points. Labels: 1/2 and 0, 25 %. ours: 1/2 and 1, 75 %.

    a: `6` is labelled correct and is not, `5` the other way round: -25 and +25 of one cause. b: two equal numbers in
    scientific notation, labelled incorrect: +50.
    """
    files = {"f.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS), "log.csv": CURVE}
    commit_hash = commit(tmp_path / "owner+name" / "repo", files)
    licensed, without = (Repository("owner/name", commit_hash, licence) for licence in ("MIT", UNLICENSED))
    printed = (("40.0", "README"),)
    corpus = (
        Series(licensed, "graded", "minerva", r"f\.jsonl", responses={}, printed=printed),
        Series(without, "not copied", "minerva", r"f\.jsonl", responses={}),
        Series(licensed, "curve", "gsm8k", r"log\.csv", curve="acc", problems=100, printed=(("60.0", "table 1"),)),
    )
    grader = Grader()
    tables = measure(corpus, tmp_path, grader)
    again = measure(corpus, tmp_path, grader)  # from the kept grades
    for name, table in tables.items():
        pd.testing.assert_frame_equal(table, again[name])
    row = tables["grades"].iloc[0]
    assert (row["labels"], row["ours"], row["agree"]) == pytest.approx((25, 75, 0))
    assert row["causes"].startswith("scientific notation +50.0")
    assert tables["series"]["several_samples"][0].startswith("pass@2 50.0 ")  # one of two problems has a correct one
    rates = tables["rates"].iloc[0]  # two samples of two problems: no correct one of one, one correct of the other
    assert (rates["samples"], rates["problems"], rates["correct"]) == (2, 2, "0:1 1:1")
    of_graded, of_curve = tables["claims"].to_dict("records")
    assert (of_graded["file"], of_graded["verdict"]) == (25, "not found among N readings")
    assert (of_curve["file"], of_curve["verdict"]) == (pytest.approx(55), "within selection")
    assert len(tables["disagreements"]) == 4  # none of the repository without a licence
    assert tables["evaluations"]["percent"].tolist() == pytest.approx([25, 25, 50, 60, 55])
    assert "| owner/name: curve | gsm8k | 60.0 | table 1 | 55.0 |" in page(tables)
    samples = sample_rows(corpus, tmp_path, tables)
    assert samples["recipe"].tolist() == ["graded"] * 4
    shown = samples.sort_values("row")[["response", "gold", "label", "verdict"]].values.tolist()
    assert shown[0] == ["\\boxed{6}", "5", "correct", "wrong"] and shown[1] == ["\\boxed{5}", "5", "wrong", "correct"]
    agreed = sample_rows(corpus, tmp_path, tables | {"disagreements": tables["disagreements"][:0]})
    assert agreed["row"].tolist() == [1, 2] and (agreed["label"] == agreed["verdict"]).all()


def test_unscored_samples_are_a_cause_of_their_own() -> None:
    """Labels 1/2. Ours 1 of the one scored problem: +50, of which no verdict that differs has a part."""
    samples = pd.DataFrame({"problem_id": ["a", "b"], "label": [1.0, 0.0], "ours": [1.0, None], "cause": [None, None]})
    assert gap(samples) == {"unscored samples, left out": pytest.approx(50)}


def test_what_both_graders_reject_is_sampled_by_path_and_row_alone(tmp_path: Path) -> None:
    """Both reject 40 of 60 samples. A verdict that changes takes one out and leaves the other 23. If a quarter
    of what was read is right, 10 of 60 samples are: 33.3 and 16.7 points."""
    row = {"gt": "5", "code": ["6"], "score": [False]}
    lines = "".join(json.dumps({"idx": str(i), **row}) + "\n" for i in range(60))
    commit_hash = commit(tmp_path / "owner+name" / "repo", {"f.jsonl": lines})
    series = Series(Repository("owner/name", commit_hash, "MIT"), "r", "b", r"f\.jsonl", responses={})
    files = series.repository.fetched(tmp_path)
    columns = {"checkpoint": 0, "path": "f.jsonl", "answer": "6"}
    samples = pd.DataFrame(
        [{"row": i + 1, "label": float(i >= 40), "ours": float(i >= 40), **columns} for i in range(60)]
    )
    first = list(rejected_rows(series, files, samples))
    assert len(first) == 24 and {row["both"] for row in first} == {40} and all(row["row"] <= 40 for row in first)
    changed = samples.assign(ours=samples["ours"].mask(samples["row"] == first[0]["row"], 1.0))
    assert {row["row"] for row in first[1:]} < {row["row"] for row in rejected_rows(series, files, changed)}
    read = pd.DataFrame(first).assign(reading=["right"] * 2 + ["wrong"] * 5 + ["convention"] + [""] * 16)
    grades = pd.DataFrame([dict(zip(ABOUT, ("owner/name", "r", "b"), strict=True)) | {"labels": 33.3, "ours": 33.3}])
    [row] = by_reading(read, grades).to_dict("records")
    assert (row["read"], row["right"], row["convention"]) == (8, 2, 1)
    assert row["by_reading"] == pytest.approx(33.3 + 100 * 40 / 60 / 4)
    # Clopper and Pearson's ends: 2 or more, and 2 or fewer, of 8 come in 2.5 % of samples
    low, high = ((row[end] - 33.3) * 60 / 4000 for end in ("reading_low", "reading_high"))
    assert (binom.sf(1, 8, low), binom.cdf(2, 8, high)) == (pytest.approx(0.025), pytest.approx(0.025))
    assert {(row["gold"], row["answer"]) for row in first} == {("5", "6")}
    hidden = Series(Repository("owner/name", commit_hash, UNLICENSED), "r", "b", r"f\.jsonl", responses={})
    assert {(row["gold"], row["answer"]) for row in rejected_rows(hidden, files, samples)} == {("", "")}

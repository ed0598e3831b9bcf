"""`rlvr analyze` on made-up verdicts, through the command line, and what it keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evals.analysis import token_pass
from evals.analysis.subjects import Subject
from evals.errors import DamagedFileError
from evals.files import read_json, write_json
from evals.grading.verdicts import schema
from evals.plots.plot import Plot
from harness.analysis.families import Family, plot_all
from harness.analysis.material import Material
from harness.analysis.runs import read_runs
from harness.analysis.token_cache import token_table
from harness.errors import UsageError
from harness.record.write import Recorder
from rlvr.cli import main
from tests.evals.analysis.verdict_tables import table
from tests.experiments import save_random_model
from tests.harness.record.folders import arm_record

pytestmark = pytest.mark.slow


def verdicts(benchmark: str, right: int, n: int = 4, problems: int = 6) -> pd.DataFrame:
    """All samples of the first `right` problems are correct."""
    rows = table({f"p{p}": ("c" if p < right else "w") * n for p in range(problems)})
    rows["answer"] = rows["answer_class"].astype(str)
    same = {"benchmark": benchmark, "tokens": 5, "seed": 0, "reason": None, "problem": "?", "thought_begun": False}
    return rows.assign(**same)[schema().names]


def evaluation(folder: Path, right: int) -> Path:
    (folder / "b").mkdir(parents=True)
    verdicts("b", right).to_parquet(folder / "b" / "verdicts.parquet")
    return folder


def job(folder: Path, arm: str, right: int, seed: int = 0, **more: Any) -> Path:
    """A finished run's folder, without its model."""
    evaluation(folder / "eval", right)
    recorder = Recorder(folder)
    record = {"paper": "made_up", "model": "m", "arm": arm, "scale": "tiny", "backend": "trl", "seed": seed}
    settings = {"base_model": {}, "learning_rate": {}}
    recorder.start(**arm_record(scale_label="tiny", **record, settings=settings, **more))
    link = {"experiment": "1", "run_id": f"{seed:032x}", "run": read_json(folder / "run.json")["id"]}
    write_json(folder / "mlflow.json", link)
    for step, reward in ((1, 0.5), (2, 0.25 + seed), (2, 9.0)):  # a step that was repeated after a kill
        recorder.metrics(step, {"train/reward": reward})
    files = recorder.hashes([folder / "metrics.jsonl", folder / "eval" / "b" / "verdicts.parquet"])
    recorder.update(training={"steps": 2}, files=files, state="finished", scores={"b": {}})
    return folder


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))


def test_a_job_an_evaluation_and_two_seeds_are_read(tmp_path: Path) -> None:
    base = evaluation(tmp_path / "base", 1)
    seeds = [job(tmp_path / f"grpo{s}", "grpo", 3, s) for s in (0, 1)]
    plain, grpo = read_runs([str(base), ",".join(map(str, seeds))], ["base", "GRPO"], data_dir=None)
    assert plain.tags == {} and plain.readable is None and "not on this machine" in plain.unread
    assert grpo.tags == {
        "paper": "made_up",
        "model": "m",
        "arm": "grpo",
        "scale": "tiny",
        "backend": "trl",
        "seed": "0,1",
    }
    assert sorted(grpo.subject.tables["b"]["train_seed"].unique()) == [0, 1]
    assert list(Material([plain, grpo], ["b"], tmp_path).curves()["train/reward"]) == [0.5, 0.25, 0.5, 1.25]


def test_names_come_from_the_arms_and_are_unique(tmp_path: Path) -> None:
    paths = [str(job(tmp_path / f"j{i}", arm, 2)) for i, arm in enumerate(("grpo", "egsw", "grpo"))]
    assert [m.name for m in read_runs(paths[:2], None, data_dir=None)] == ["grpo", "egsw"]
    names = [m.name for m in read_runs(paths, None, data_dir=None)]
    assert len(set(names)) == 3 and names[1].endswith("egsw (2)")
    with pytest.raises(UsageError, match="names: expected 2 different ones"):
        read_runs(paths[:2], ["a", "a"], data_dir=None)


def test_a_name_has_the_values_that_were_replaced_in_one_run_alone(tmp_path: Path) -> None:
    both = {"max_steps": 5, "data": "/home/ada/sums.jsonl"}
    a = job(tmp_path / "a", "grpo", 2, overrides=both)
    b = job(tmp_path / "b", "grpo", 3, overrides={**both, "learning_rate": 0.5})
    c = job(tmp_path / "c", "egsw", 3, overrides=both)
    names = [m.name for m in read_runs([str(a), str(b), str(c)], None, data_dir=None)]
    assert names == ["grpo", "grpo [learning_rate=0.5]", "egsw"]


def test_an_analysis_of_other_runs_of_the_same_names_has_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    made = {n: [job(tmp_path / f"{n}{i}", arm, 1 + i) for i, arm in enumerate(("grpo", "egsw"))] for n in "ac"}
    folders = []
    for runs in (made["a"], made["c"], made["a"]):
        assert main(["analyze", f"runs=[{runs[0]},{runs[1]}]", "only=verdicts", "--json"]) == 0
        folders.append(json.loads(capsys.readouterr().out)["folder"])
    assert folders[0] == folders[2] != folders[1]


def test_analyze_writes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = job(tmp_path / "a", "grpo", 1), job(tmp_path / "b", "egsw", 5)
    out = tmp_path / "out"
    command = ["analyze", f"runs=[{a},{b}]", "only=verdicts,words", f"out={out}", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["benchmarks"] == ["b"] and [m["name"] for m in document["models"]] == ["grpo", "egsw"]
    assert any(f["name"].startswith("pass_at_k") for f in document["figures"])
    for figure in document["figures"]:
        for ending in ("svg", "png", "csv"):
            assert (out / "verdicts" / f"{figure['name']}.{ending}").stat().st_size > 0
    # the models are not there: said, not hidden
    assert [text.split(":")[0] for text in document["skipped"]] == ["words, b"]
    index = (out / "README.md").read_text()
    assert "Tiny scale" in index and "words, b: grpo: its model is not" in index
    assert f"runs=[{a},{b}]" in index and f"out={out}" in index  # the command


def test_pages_of_two_seeds_are_two_files_and_each_names_its_seed(tmp_path: Path) -> None:
    first, second = (str(job(tmp_path / f"grpo{seed}", "grpo", 3, seed)) for seed in (0, 1))
    for runs in (first, second, f"{first},{second}", f"{second},{first}"):
        assert main(["page", runs, "only=none", "tokens=false"]) == 0
    made = sorted(path.name for path in (tmp_path / "runs" / "results" / "runs").glob("*.html"))
    assert made[-2:] == ["grpo0.html", "grpo1.html"] and len(made) == 4
    material = Material(read_runs([second], None, data_dir=None), [], tmp_path)
    assert set(material.curves()["seed"]) == {1}
    assert list(
        Material(read_runs([f"{second},{first}"], None, data_dir=None), [], tmp_path).curves()["seed"].unique()
    ) == [1, 0]


def test_runs_without_a_common_benchmark_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = evaluation(tmp_path / "a", 1)
    (tmp_path / "c" / "c").mkdir(parents=True)
    verdicts("c", 1).to_parquet(tmp_path / "c" / "c" / "verdicts.parquet")
    assert main(["analyze", f"runs=[{a},{tmp_path / 'c'}]"]) == 2
    assert "no benchmark that all of them were measured on" in capsys.readouterr().err


def test_graded_answers_without_lengths_are_analysed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "ours.parquet", tmp_path / "theirs.parquet"]
    for right, file in enumerate(files, 1):
        verdicts("b", right).drop(columns=["tokens", "finish_reason", "seed"]).to_parquet(file)
    command = ["analyze", f"runs=[{files[0]},{files[1]}]", "only=verdicts", f"out={tmp_path / 'out'}", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert [model["name"] for model in document["models"]] == ["ours", "theirs"]
    names = [figure["name"] for figure in document["figures"]]
    assert names == ["pass_at_k_b", "answer_diversity_b", "response_form_b", "cover_at_tau_b"]  # no figure of lengths
    assert "Truncation is not known" in document["figures"][2]["caption"]
    assert main([word for word in command if word != "only=verdicts"]) == 0  # what needs a training does not apply
    assert {text.split(",")[0] for text in json.loads(capsys.readouterr().out)["skipped"]} == {"tokens", "words"}


def test_a_family_that_fails_is_skipped_and_the_others_are_plotted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(material: Material) -> list[Plot]:
        raise ValueError("two models at least")

    first_plot = Plot("one", "One", "", "", pd.DataFrame(), lambda figure: None)
    b = Family(
        "B", (lambda m: [first_plot], fails), (lambda m, benchmark: [replace(first_plot, name="two", title="Two")],)
    )
    known = {"a": Family("A", (fails,)), "b": b, "c": Family("C", (fails,), by_name=True)}
    monkeypatch.setattr("harness.analysis.families.families", lambda: known)
    nothing = Material([], ["x"], tmp_path)
    second_plot = replace(first_plot, name="two_x", title="Two, x")
    assert plot_all(nothing, None) == (
        {"b": [first_plot, second_plot]},
        ["a: two models at least", "b: two models at least"],
    )
    assert plot_all(nothing, ["c"]) == ({}, ["c: two models at least"])
    known["d"] = Family("D", (lambda m: [first_plot],))
    with pytest.raises(ValueError, match="two are called 'one'"):
        plot_all(nothing, ["b", "d"])


def test_a_damaged_file_is_not_a_skipped_figure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def damaged(material: Material) -> list[Plot]:
        raise DamagedFileError(tmp_path / "verdicts.parquet", "its hash differs")

    monkeypatch.setattr("harness.analysis.families.families", lambda: {"a": Family("A", (damaged,))})
    with pytest.raises(DamagedFileError, match=r"verdicts\.parquet"):
        plot_all(Material([], [], tmp_path), None)


def test_a_token_table_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = save_random_model(tmp_path / "model")
    table = verdicts("b", 1, n=1, problems=2).assign(response="so 1 + 1")
    subject = Subject("a", {"b": table}, str(model), {"b": {"p0": "1 + 1 ?", "p1": "2 ?"}})
    first = token_table(subject, "b", tmp_path / "cache")
    assert set(first["problem_id"]) == {"p0", "p1"}

    def measured_again(*arguments: object) -> pd.DataFrame:
        raise AssertionError

    monkeypatch.setattr(token_pass, "token_table", measured_again)
    pd.testing.assert_frame_equal(token_table(subject, "b", tmp_path / "cache"), first)
    for changed in (
        replace(subject, tables={"b": table.assign(response="so 1 + 2")}),
        replace(subject, tables={"b": table.assign(verdict="unscored")}),
        replace(subject, prompts={"b": {"p0": "1 + 1 ?", "p1": "3 ?"}}),
    ):
        with pytest.raises(AssertionError):
            token_table(changed, "b", tmp_path / "cache")
    with pytest.raises(ValueError, match="a: expected a subject with model_path"):
        token_table(replace(subject, model_path=None), "b", tmp_path / "cache")
